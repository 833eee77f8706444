//! Limits of connectors. Source: contract 5.3 to 5.6 and 5.13; the others are ours.

use std::ops::RangeInclusive;

/// Characters of a toolkit's slug.
pub const TOOLKIT_SLUG_CHARS_MAX: usize = 64;
/// Characters of a toolkit as a request names it.
pub const TOOLKIT_NAMED_CHARS: RangeInclusive<usize> = 1..=200;
/// Characters of the label of an instance or connection.
pub const CONNECTOR_LABEL_CHARS: RangeInclusive<usize> = 1..=200;
/// Characters of a toolkit's name.
pub const TOOLKIT_DISPLAY_NAME_CHARS: RangeInclusive<usize> = 1..=200;
/// Characters of a toolkit's description.
pub const TOOLKIT_DESCRIPTION_CHARS_MAX: usize = 2_000;
/// Bytes of an OpenAPI document: 4 MiB.
pub const OPENAPI_DOCUMENT_BYTES_MAX: usize = 4 << 20;
/// Values of an OpenAPI document that is fetched, what it repeats included.
pub const OPENAPI_DOCUMENT_VALUES_MAX: usize = 400_000;
/// Problems of a document or of arguments that are told.
pub const CONNECTOR_PROBLEMS_MAX: usize = 20;
/// Bytes of a client secret or key: 8 KiB.
pub const CONNECTOR_SECRET_BYTES_MAX: usize = 8 << 10;
/// Provider instances of one installation.
pub const PROVIDERS_MAX: u64 = 100;
/// Toolkits of one instance.
pub const TOOLKITS_MAX: u64 = 200;
/// Characters of an operation's name.
pub const OPERATION_SLUG_CHARS_MAX: usize = 200;
/// Characters of an operation's title.
pub const OPERATION_TITLE_CHARS_MAX: usize = 200;
/// Characters of an operation's description.
pub const OPERATION_DESCRIPTION_CHARS_MAX: usize = 4_000;
/// Characters of a toolkit's version.
pub const TOOLKIT_VERSION_CHARS_MAX: usize = 200;
/// Bytes of the schema of one operation's arguments: 256 KiB.
pub const OPERATION_SCHEMA_BYTES_MAX: usize = 256 << 10;
/// Bytes of the schemas of one toolkit's arguments: 32 MiB.
pub const TOOLKIT_SCHEMAS_BYTES_MAX: usize = 32 << 20;
/// Operations of one document that are kept.
pub const OPERATIONS_MAX: usize = 10_000;
/// Operations that cannot be run and are told with their reason; all are counted.
pub const LEFT_OUT_TOLD_MAX: usize = 20;
/// Overrides of one toolkit.
pub const TOOLKIT_OVERRIDES_MAX: usize = 1_000;
/// Scopes of one OAuth sign-in.
pub const OAUTH_SCOPES_MAX: usize = 100;
/// Characters of an address of a toolkit.
pub const TOOLKIT_URL_CHARS_MAX: usize = 2_048;
/// Characters of a name or path in a toolkit's sign-in and account.
pub const TOOLKIT_WORD_CHARS_MAX: usize = 500;
/// Operations of one toolkit that a review shows: 20 pages of 100.
pub const TOOLKIT_OPERATIONS_MAX: usize = 2_000;
/// Services of one page of the catalog.
pub const CATALOG_ITEMS: RangeInclusive<u32> = 1..=100;
/// Pages of an MCP server's list of tools.
pub const CATALOG_PAGES_MAX: usize = 20;

/// Characters of a flow's idempotency key.
pub const FLOW_KEY_CHARS: RangeInclusive<usize> = 1..=200;
/// Seconds a flow can go on: 15 minutes.
pub const CONNECTOR_FLOW_TTL_S: i64 = 15 * 60;
/// Flows that are open at a time.
pub const CONNECTOR_OPEN_FLOWS_MAX: u64 = 20;
/// Seconds a flow is listed from its beginning: half an hour, so that one is seen for a quarter of
/// an hour after its time at least.
pub const CONNECTOR_FLOWS_LISTED_S: i64 = 2 * CONNECTOR_FLOW_TTL_S;
/// Flows that are listed.
pub const CONNECTOR_FLOWS_LISTED_MAX: u32 = 50;
/// Characters of the reason of a flow, and of the message of a result.
pub const CONNECTOR_REASON_CHARS_MAX: usize = 1_000;
/// Seconds a review can be applied: 10 minutes.
pub const CONNECTOR_REVIEW_TTL_S: i64 = 10 * 60;
/// Attempts of one execution.
pub const CONNECTOR_ATTEMPTS_MAX: u8 = 2;
/// Seconds of one attempt.
pub const CONNECTOR_ATTEMPT_WAIT_S: u64 = 60;
/// Seconds of one execution in all.
pub const CONNECTOR_EXECUTION_WAIT_S: u64 = 120;
/// Seconds the service may ask to wait before the second attempt.
pub const CONNECTOR_RETRY_AFTER_S_MAX: u64 = 10;
/// Bytes of arguments: 256 KiB.
pub const CONNECTOR_ARGUMENT_BYTES_MAX: usize = 256 << 10;
/// Keys of arguments, counted at every depth.
pub const CONNECTOR_ARGUMENT_KEYS_MAX: usize = 200;
/// How deep arguments nest.
pub const CONNECTOR_ARGUMENT_DEPTH_MAX: usize = 32;
/// Bytes of an answer that are read: 4 MiB.
pub const CONNECTOR_ANSWER_BYTES_MAX: usize = 4 << 20;
/// Bytes of an answer that are handed on: 1 MiB.
pub const CONNECTOR_RESULT_BYTES_MAX: usize = 1 << 20;
/// Redirects a read follows, on the same origin.
pub const CONNECTOR_REDIRECTS_MAX: usize = 3;
/// Characters of the purpose for which an agent asks for access.
pub const CONNECTOR_PURPOSE_CHARS_MAX: usize = 500;
/// Milliseconds before the second attempt, where the service does not say how long.
pub const CONNECTOR_RETRY_PAUSE_MS: u64 = 250;
