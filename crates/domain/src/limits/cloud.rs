//! Limits of the link to a cloud service and of its billing pages. Source: contract 5.10, 5.11
//! and 5.13.

use std::ops::RangeInclusive;

/// Seconds between two heartbeats, before chance is added: 15 minutes.
pub const CLOUD_HEARTBEAT_PERIOD_S: i64 = 15 * 60;
/// By how many percent chance lengthens or shortens the time between two heartbeats.
pub const CLOUD_HEARTBEAT_CHANCE_PERCENT: i64 = 20;
/// Seconds for which the answer to a check is used again.
pub const CLOUD_CHECK_REUSE_S: i64 = 15;
/// Seconds a check waits for the service.
pub const CLOUD_CHECK_WAIT_S: u64 = 10;
/// Seconds of one request to the service, and so what a cancel waits for at most.
pub const CLOUD_REQUEST_WAIT_S: u64 = 30;
/// Bytes of an answer of the service that are read: 1 MiB.
pub const CLOUD_ANSWER_BYTES_MAX: usize = 1 << 20;
/// Bytes of a problem of the service that are handed on: 16 KiB.
pub const CLOUD_PROBLEM_BYTES_MAX: usize = 16 << 10;
/// Characters of an address of a billing page.
pub const BILLING_URL_CHARS_MAX: usize = 4_096;
/// Characters of the id of an offer.
pub const SKU_ID_CHARS: RangeInclusive<usize> = 1..=200;
/// Characters of a code that a person types, and of an account's name, as the service says them.
pub const CLOUD_WORD_CHARS_MAX: usize = 200;
/// Offers of one answer.
pub const CLOUD_OFFERS_MAX: usize = 1_000;
