//! The catalog on the wire. Source: contract 5.3.

use guildhall_domain::{
    connectors::{catalog as rules, toolkits},
    ids::ProviderId,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::approvals::wire_enums;

wire_enums! {
    /// How a service is shown who asks.
    ConnectorAuthKind = toolkits::ToolkitAuthKind {
        /// It is not.
        None,
        /// By a key that a person types.
        #[serde(rename = "api-key")]
        ApiKey,
        /// By a token that a person's sign-in brings.
        Oauth2,
    }
}

/// A service one can connect.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogService {
    /// The provider instance.
    #[schema(value_type = String)]
    pub provider_instance_id: ProviderId,
    /// The toolkit's slug.
    #[schema(example = "rehearsal")]
    pub toolkit: String,
    /// What people call it.
    pub display_name: String,
    /// What it is for.
    pub description: String,
    /// How it is shown who asks.
    pub auth_kind: ConnectorAuthKind,
    /// How many operations it has; 0 of an MCP server whose tools are listed after a sign-in.
    pub operation_count: u32,
    /// Whether it can be connected now.
    pub available: bool,
    /// Why not, or null.
    #[schema(required = true)]
    pub reason: Option<String>,
}

impl From<rules::CatalogService> for CatalogService {
    fn from(service: rules::CatalogService) -> Self {
        Self {
            provider_instance_id: service.provider_id,
            toolkit: service.toolkit.to_string(),
            display_name: service.display_name,
            description: service.description,
            auth_kind: service.auth_kind.into(),
            operation_count: service.operation_count,
            available: service.unavailable.is_none(),
            reason: service.unavailable,
        }
    }
}

/// A page of the catalog.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Catalog {
    /// In the order they were put.
    pub services: Vec<CatalogService>,
    /// What `cursor` takes for the next page; null on the last one.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
    /// What people should know of these services, one sentence each.
    pub warnings: Vec<String>,
}
