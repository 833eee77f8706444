//! What makes a browser a trusted one.

use serde::Serialize;
use utoipa::ToSchema;

/// An address that the owner's browser opens once.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustLink {
    /// Its path at this server.
    pub path: String,
    /// Until when it counts.
    #[schema(format = DateTime)]
    pub expires_at: String,
}
