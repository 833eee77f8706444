//! Provider instances on the wire. Source: contract 5.3.

use guildhall_domain::{
    Timestamp,
    connectors::{
        providers::{self, Provider},
        toolkits as rules,
    },
    ids::ProviderId,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::toolkits::Toolkit;
use crate::{
    approvals::wire_enums,
    request_fields::{Fields, FromFields},
};

wire_enums! {
    /// What a provider instance speaks.
    ProviderType = providers::ProviderType {
        /// HTTP services with an OpenAPI document each.
        Openapi,
        /// MCP servers.
        Mcp,
        /// The scripted one of every installation, which no packet leaves.
        Rehearsal,
    }
}

/// Whether a provider instance can be used.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderStatus {
    /// Now.
    Available,
    /// When somebody has mended it.
    Unavailable,
}

/// What a new provider instance can speak.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewProviderType {
    /// HTTP services with an OpenAPI document each.
    Openapi,
    /// MCP servers.
    Mcp,
}

impl From<NewProviderType> for providers::ProviderType {
    fn from(wanted: NewProviderType) -> Self {
        match wanted {
            NewProviderType::Openapi => Self::Openapi,
            NewProviderType::Mcp => Self::Mcp,
        }
    }
}

/// A provider instance: one configured backend of connectors.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInstance {
    /// Its id.
    #[schema(value_type = String)]
    pub id: ProviderId,
    /// What it speaks.
    #[serde(rename = "type")]
    pub provider_type: ProviderType,
    /// What people call it.
    pub label: String,
    /// Whether it can be used.
    pub status: ProviderStatus,
    /// Why it cannot be used, or null.
    #[schema(required = true)]
    pub status_detail: Option<String>,
    /// Rises by one with every change of a toolkit or secret, from 1.
    pub generation: u64,
    /// Its services in the order they were put.
    pub toolkits: Vec<Toolkit>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it was changed last.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<(Provider, Vec<rules::Toolkit>)> for ProviderInstance {
    fn from((provider, toolkits): (Provider, Vec<rules::Toolkit>)) -> Self {
        Self {
            id: provider.id,
            provider_type: provider.provider_type.into(),
            label: provider.label,
            status: match provider.unavailable {
                None => ProviderStatus::Available,
                Some(_) => ProviderStatus::Unavailable,
            },
            status_detail: provider.unavailable,
            generation: provider.generation,
            toolkits: toolkits.into_iter().map(Into::into).collect(),
            created_at: provider.created_at,
            updated_at: provider.updated_at,
        }
    }
}

/// Every provider instance.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ProviderInstances {
    /// In the order they were made.
    pub providers: Vec<ProviderInstance>,
}

/// Makes a provider instance.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CreateProvider {
    /// What it speaks.
    #[serde(rename = "type")]
    pub provider_type: NewProviderType,
    /// 1 to 200 characters.
    #[schema(example = "Pet shops")]
    pub label: String,
}

impl FromFields for CreateProvider {
    fn read(fields: &mut Fields) -> Self {
        const TYPES: [(NewProviderType, &str); 2] = [
            (NewProviderType::Openapi, "openapi"),
            (NewProviderType::Mcp, "mcp"),
        ];
        Self {
            provider_type: fields.choice("type", &TYPES, NewProviderType::Openapi),
            label: fields.text("label"),
        }
    }
}

/// Changes a provider instance.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UpdateProvider {
    /// 1 to 200 characters; absent to leave it.
    #[schema(required = false, example = "Pet shops")]
    pub label: Option<String>,
}

impl FromFields for UpdateProvider {
    fn read(fields: &mut Fields) -> Self {
        Self {
            label: fields.maybe_text("label"),
        }
    }
}
