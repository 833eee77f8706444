//! Provider instances: configured backends, whose every change is counted.
//! Source: contract 5.1 and 5.3.

use serde::{Deserialize, Serialize};

use crate::{Timestamp, ids::ProviderId};

/// What an instance speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderType {
    /// HTTP services with an OpenAPI document each.
    Openapi,
    /// MCP servers.
    Mcp,
    /// The scripted one of every installation, which no packet leaves.
    Rehearsal,
}

impl ProviderType {
    /// Every type with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Openapi, "openapi"),
        (Self::Mcp, "mcp"),
        (Self::Rehearsal, "rehearsal"),
    ];
}

/// A provider instance without its toolkits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its id.
    pub id: ProviderId,
    /// What it speaks.
    pub provider_type: ProviderType,
    /// What people call it; 1 to 200 characters.
    pub label: String,
    /// Why it cannot be used; `None` while it can.
    pub unavailable: Option<String>,
    /// Rises by one with every change of configuration, secret or toolkit; 1 at first.
    pub generation: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

/// What happened to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderChange {
    /// It was made.
    Created,
    /// Its label changed.
    Updated,
    /// It is gone.
    Removed,
    /// A toolkit was put, or took the place of another.
    ToolkitPut,
    /// A toolkit is gone.
    ToolkitRemoved,
    /// The client secret of a toolkit was saved or erased.
    CredentialChanged,
}
