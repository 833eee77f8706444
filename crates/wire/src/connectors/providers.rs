//! Provider instances on the wire. Source: contract 5.3.

use guildhall_domain::{
    Moment,
    connectors::{
        providers::{Provider, ProviderType},
        toolkits as rules,
    },
    ids::ProviderId,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::toolkits::Toolkit;
use crate::fields::{Ask, Fields};

/// A provider instance: one configured backend of connectors.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInstance {
    /// Its id.
    #[schema(value_type = String)]
    pub id: ProviderId,
    /// `openapi`, `mcp` or `rehearsal`.
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "openapi")]
    pub provider_type: ProviderType,
    /// What people call it.
    pub label: String,
    /// `available` or `unavailable`.
    #[schema(example = "available")]
    pub status: &'static str,
    /// Why it cannot be used, or null.
    #[schema(required = true)]
    pub status_detail: Option<String>,
    /// Rises by one with every change of a toolkit or secret, from 1.
    pub generation: u64,
    /// Its services in the order they were put.
    pub toolkits: Vec<Toolkit>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Moment,
    /// When it was changed last.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Moment,
}

impl From<(Provider, Vec<rules::Toolkit>)> for ProviderInstance {
    fn from((provider, toolkits): (Provider, Vec<rules::Toolkit>)) -> Self {
        Self {
            id: provider.id,
            provider_type: provider.provider_type,
            label: provider.label,
            status: match provider.unavailable {
                None => "available",
                Some(_) => "unavailable",
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
pub struct MakeProvider {
    /// `openapi` or `mcp`.
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "openapi")]
    pub provider_type: ProviderType,
    /// 1 to 200 characters.
    #[schema(example = "Pet shops")]
    pub label: String,
}

impl Ask for MakeProvider {
    fn read(fields: &mut Fields) -> Self {
        Self {
            provider_type: fields.word("type", &ProviderType::WORDS, ProviderType::Openapi),
            label: fields.text("label"),
        }
    }
}

/// Changes a provider instance.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ChangeProvider {
    /// 1 to 200 characters; absent to leave it.
    #[schema(required = false, example = "Pet shops")]
    pub label: Option<String>,
}

impl Ask for ChangeProvider {
    fn read(fields: &mut Fields) -> Self {
        Self {
            label: fields.maybe_text("label"),
        }
    }
}
