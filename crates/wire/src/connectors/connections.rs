//! Connections on the wire. Source: contract 5.4.

use guildhall_domain::{
    Timestamp,
    connectors::connections::{self as domain, ConnectionPatch},
    ids::{ConnectorConnectionId, ProviderId},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    approvals::wire_enums,
    request_fields::{Fields, FromFields},
};

wire_enums! {
    /// Whether a connection can be used, in one word.
    ConnectorReadinessState = domain::ReadinessState {
        /// Now.
        Ready,
        /// When somebody resumes it.
        Paused,
        /// When a person has signed in again.
        NeedsYou,
        /// When its provider instance is back.
        Unavailable,
        /// Never again.
        Gone,
    }
    /// Where a connection is in its life.
    ConnectorLifecycle = domain::ConnectionLifecycle {
        /// It can be used, unless something else stands against it.
        Connected,
        /// A person holds it.
        Paused,
        /// Its secrets are erased; its name remains.
        Disconnected,
    }
    /// What the service last said of the account.
    ConnectorAccountStatus = domain::AccountStatus {
        /// It takes the credentials.
        Active,
        /// They ran out and could not be renewed.
        Expired,
        /// It no longer takes them.
        Revoked,
    }
    /// What became of the credentials at the service after they were erased here.
    ConnectorExternalCleanup = domain::ExternalCleanup {
        /// There is nothing to give back.
        NotRequired,
        /// They are being given back.
        Pending,
        /// The service took them back.
        Complete,
        /// It could not be reached, or said no.
        Failed,
    }
}

/// Whether a connection can be used, why not, and the one thing that mends it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ConnectorReadiness)]
pub struct Readiness {
    /// In one word.
    pub state: ConnectorReadinessState,
    /// Why not; null when it is ready.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// What to do about it; null where nothing helps or nothing is needed.
    #[schema(required = true)]
    pub fix: Option<String>,
}

impl From<domain::Readiness> for Readiness {
    fn from(readiness: domain::Readiness) -> Self {
        Self {
            state: readiness.state.into(),
            reason: readiness.reason,
            fix: readiness.fix,
        }
    }
}

/// An external account that is signed in; never its credentials.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ConnectorConnection)]
pub struct Connection {
    /// Its id.
    #[schema(value_type = String)]
    pub id: ConnectorConnectionId,
    /// The provider instance it goes through.
    #[schema(value_type = String)]
    pub provider_instance_id: ProviderId,
    /// The service.
    pub toolkit: String,
    /// What people call it.
    pub label: String,
    /// What the service calls the account, where it says so.
    #[schema(required = true)]
    pub account_label: Option<String>,
    /// Where it is in its life.
    pub lifecycle: ConnectorLifecycle,
    /// What the service last said of the account.
    pub account_status: ConnectorAccountStatus,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Whether it can be used.
    pub readiness: Readiness,
    /// What became of its credentials at the service.
    pub external_cleanup: ConnectorExternalCleanup,
    /// How many grants rest on it.
    pub grant_count: u32,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it was changed last.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl Connection {
    /// A connection, whether it can be used, and how many grants rest on it.
    pub fn new(
        connection: domain::Connection,
        readiness: domain::Readiness,
        grant_count: u32,
    ) -> Self {
        Self {
            id: connection.id,
            provider_instance_id: connection.provider_id,
            toolkit: connection.toolkit.to_string(),
            label: connection.label,
            account_label: connection.account_label,
            lifecycle: connection.lifecycle.into(),
            account_status: connection.account_status.into(),
            enabled: connection.enabled,
            readiness: readiness.into(),
            external_cleanup: connection.external_cleanup.into(),
            grant_count,
            created_at: connection.created_at,
            updated_at: connection.updated_at,
        }
    }
}

/// All connections.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ConnectorConnections)]
pub struct Connections {
    /// The oldest first.
    pub connections: Vec<Connection>,
}

/// What of a connection is to be otherwise.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({"enabled": false}))]
pub struct UpdateConnection {
    /// 1 to 200 characters.
    #[schema(required = false)]
    pub label: Option<String>,
    /// Whether it is switched on.
    #[schema(required = false)]
    pub enabled: Option<bool>,
}

impl FromFields for UpdateConnection {
    fn read(fields: &mut Fields) -> Self {
        let ask = Self {
            label: fields.maybe_text("label"),
            enabled: fields.maybe_flag("enabled"),
        };
        fields.fail_others();
        ask
    }
}

impl From<UpdateConnection> for ConnectionPatch {
    fn from(ask: UpdateConnection) -> Self {
        Self {
            label: ask.label,
            enabled: ask.enabled,
        }
    }
}
