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
