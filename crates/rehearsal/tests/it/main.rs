//! The scripted agent, driven over a pipe in memory as a client drives it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what went wrong by failing"
)]

mod calls;
mod connection_faults;
mod sessions;
mod turns;
mod with_session;
