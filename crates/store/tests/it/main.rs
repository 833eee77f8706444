//! The store as the hall uses it, on real files.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what went wrong by failing"
)]

mod agent_tokens;
mod attachments;
mod backups;
mod damage;
mod events;
mod executions;
mod files;
mod idempotency;
mod sign_ins;
mod usage;
