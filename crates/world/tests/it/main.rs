//! The world's ports against the real thing: processes, pipes and signals.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what went wrong by failing"
)]

mod acp;
mod chromium;
#[cfg(feature = "real-servers")]
mod conformance;
mod connectors;
#[cfg(feature = "real-servers")]
mod connectors_reference_server;
mod fake_agents;
mod mcp;
mod mcp_connections;
mod mcp_http;
#[cfg(feature = "real-servers")]
mod prism;
mod process_guard;
#[cfg(feature = "real-servers")]
mod reference_server;
