//! The model server over its four wires, and real agents that ask it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what went wrong by failing"
)]

mod api_formats;
mod plain_http;
#[cfg(feature = "real-agents")]
mod real_agents;
mod rules;
