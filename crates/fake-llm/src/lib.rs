//! A model server for tests: it speaks the four wires that coding agents speak, and answers from
//! the directives in the last user message. It keeps nothing between requests but its log, and
//! which `#status` it has already answered.
//! Source: contract "Testing with coding agents" 3.

pub mod agent_client;
mod api_formats;
mod api_keys;
mod model_reply;
mod model_request;
pub mod real_agents;
mod request_log;
mod schema;
mod server;

pub use request_log::LoggedRequest;
pub use server::{FakeLlm, FakeLlmOptions};

/// The only model there is.
pub const MODEL: &str = "fake-model";
