//! The log: what was asked, one record a request. It holds no message and no key.

use serde::Serialize;

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoggedRequest {
    /// Milliseconds since the server's start.
    pub at_ms: u64,
    /// `GET`, `POST`, …
    pub method: String,
    /// Path without query.
    pub path: String,
    /// `anthropic`, `chat`, `responses`, `gemini`; `""` for none of them.
    pub wire: &'static str,
    /// The model that was asked for, or `""`.
    pub model: String,
    /// Whether the answer was to be streamed.
    pub stream: bool,
    /// The tools that were offered, by name.
    pub tools: Vec<String>,
    /// The tool that was called, or `""`.
    pub picked: String,
    /// How many messages of people and results of tools the conversation held, earlier turns
    /// included.
    pub conversation: usize,
    /// How many tool results stood after the last user message.
    pub results: usize,
    /// What those results said, each at most 2 000 characters; for tests that read them.
    #[serde(skip)]
    pub result_texts: Vec<String>,
    /// Whether the key was a key of the test; true when there was none on a request that needs none.
    pub key_known: bool,
    /// The status that was answered.
    pub status: u16,
    /// SHA-256 of the body as it came, 64 hex digits.
    pub body_hash: String,
}
