//! The sign of life of an instance. Source: contract 5, part C.

use guildhall_domain::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// What an instance says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatRequest {
    /// What people call it.
    #[schema(max_length = 200, example = "workshop")]
    pub name: String,
    /// What it runs on.
    #[schema(max_length = 200, example = "linux-x86_64")]
    pub platform: String,
    /// Its version.
    #[schema(max_length = 200, example = "0.1.0")]
    pub version: String,
}

impl FromFields for HeartbeatRequest {
    fn read(fields: &mut Fields) -> Self {
        Self {
            name: fields.text("name"),
            platform: fields.text("platform"),
            version: fields.text("version"),
        }
    }
}

/// What the companion service knows of the instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// The instance's id at the service.
    pub instance_id: String,
    /// When it was heard of last, which is now.
    #[schema(value_type = String, format = DateTime)]
    pub last_seen_at: Timestamp,
    /// What the account it is linked to is called.
    #[schema(example = "ada@example.org")]
    pub account_label: String,
}
