//! The error envelope.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Every refusal and every fault. Source: spec, "Error envelope"; contract 1.2.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorEnvelope {
    /// One plain sentence for a person.
    pub error: String,
    /// What programs branch on, `UPPER_SNAKE`.
    #[schema(example = "ROOM_NOT_FOUND")]
    pub code: String,
    /// Null unless the code defines it.
    #[schema(required = true)]
    pub details: Option<Value>,
}

/// The same facts for callers that ask for `application/problem+json`. Source: RFC 9457.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// The page that describes the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code's title.
    pub title: String,
    /// The status.
    pub status: u16,
    /// One plain sentence for a person.
    pub detail: String,
    /// The request, as a URN.
    pub instance: String,
    /// What programs branch on.
    pub code: String,
    /// Null unless the code defines it.
    pub details: Option<Value>,
}
