//! Auth flows on the wire. Source: contract 5.4.

use guildhall_domain::{
    Timestamp,
    connectors::auth_flows::{self as rules, ConnectionRequest, Flow, FlowInstructions},
    ids::{AuthFlowId, ConnectorConnectionId, ProviderId},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    approvals::wire_enums,
    request_fields::{Fields, FromFields},
};

wire_enums! {
    /// Where a sign-in with a connector is; the last four are final.
    AuthFlowState = rules::FlowState {
        /// It is written down, and the service was not asked or did not answer yet.
        Starting,
        /// It waits for the person.
        Pending,
        /// Its connection stands.
        Connected,
        /// It was refused, cancelled, or its configuration changed.
        Failed,
        /// Its time is over.
        Expired,
        /// The service was or may have been asked, and nobody knows what came of it.
        StartUnknown,
    }
    /// What the person has to do now.
    AuthFlowStep = rules::FlowStepKind {
        /// Nothing.
        None,
        /// Open the link.
        Browser,
        /// Type the code at the service.
        Device,
        /// Type the key here.
        Credential,
    }
}

/// A wish for a connection.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"providerInstanceId": "0192f0c1-2d3e-7abc-8def-0123456789ab",
    "toolkit": "rehearsal", "idempotencyKey": "my-first-connection", "label": "To try it"}))]
pub struct ConnectService {
    /// The provider instance.
    #[schema(min_length = 1)]
    pub provider_instance_id: String,
    /// The service: the name of a toolkit of the instance, 1 to 200 characters.
    #[schema(example = "rehearsal")]
    pub toolkit: String,
    /// The same wish under the same key is begun once; 1 to 200 characters.
    #[schema(example = "my-first-connection")]
    pub idempotency_key: String,
    /// What the connection is to be called, 1 to 200 characters; the service's name unless said.
    #[schema(required = false)]
    pub label: Option<String>,
}

impl FromFields for ConnectService {
    fn read(fields: &mut Fields) -> Self {
        let ask = Self {
            provider_instance_id: fields.text("providerInstanceId"),
            toolkit: fields.text("toolkit"),
            idempotency_key: fields.text("idempotencyKey"),
            label: fields.maybe_text("label"),
        };
        fields.fail_others();
        ask
    }
}

impl From<ConnectService> for ConnectionRequest {
    fn from(ask: ConnectService) -> Self {
        Self {
            provider: ask.provider_instance_id,
            toolkit: ask.toolkit,
            key: ask.idempotency_key,
            label: ask.label,
        }
    }
}

/// A wish to sign in anew with a connection.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReconnectService {
    /// The same wish under the same key is begun once; 1 to 200 characters.
    #[schema(example = "once-more")]
    pub idempotency_key: String,
}

impl FromFields for ReconnectService {
    fn read(fields: &mut Fields) -> Self {
        let ask = Self {
            idempotency_key: fields.text("idempotencyKey"),
        };
        fields.fail_others();
        ask
    }
}

/// A key for a service. Without `Debug`, because it is secret.
#[derive(Clone, Serialize, ToSchema)]
pub struct EnterApiKey {
    /// The key, at most 8 KiB; it is never shown again.
    #[schema(example = "the-key-of-the-service")]
    pub secret: String,
}

impl FromFields for EnterApiKey {
    fn read(fields: &mut Fields) -> Self {
        let ask = Self {
            secret: fields.text("secret"),
        };
        fields.fail_others();
        ask
    }
}

/// How far a sign-in with a connector is. Without `Debug`, because its link and code are for the
/// owner's eyes.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthFlow {
    /// Its id.
    #[schema(value_type = String)]
    pub flow_id: AuthFlowId,
    /// The provider instance.
    #[schema(value_type = String)]
    pub provider_instance_id: ProviderId,
    /// The service.
    pub toolkit: String,
    /// When it was begun.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Until when it can go on.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// Where it is.
    pub state: AuthFlowState,
    /// What the person has to do now.
    pub step: AuthFlowStep,
    /// Step `browser`: the link to open.
    #[schema(required = true)]
    pub authorize_url: Option<String>,
    /// Step `device`: the code to type.
    #[schema(required = true)]
    pub user_code: Option<String>,
    /// Step `device`: where to type it.
    #[schema(required = true)]
    pub verification_uri: Option<String>,
    /// The same with the code in it, where the service has that.
    #[schema(required = true)]
    pub verification_uri_complete: Option<String>,
    /// What came of it.
    #[schema(required = true, value_type = Option<String>)]
    pub connection_id: Option<ConnectorConnectionId>,
    /// Why it ended without a connection.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// When it ended.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub completed_at: Option<Timestamp>,
    /// The connection that is signed in anew, if it is one.
    #[schema(required = true, value_type = Option<String>)]
    pub reconnect_of: Option<ConnectorConnectionId>,
}

/// Sign-ins that were begun in the last half hour.
#[derive(Clone, Serialize, ToSchema)]
pub struct AuthFlows {
    /// Those that are open first, then the newest; at most 50.
    pub flows: Vec<AuthFlow>,
}

impl AuthFlow {
    /// A flow, and what its person needs.
    pub fn new(flow: Flow, shown: FlowInstructions) -> Self {
        Self {
            flow_id: flow.id,
            provider_instance_id: flow.provider_id,
            toolkit: flow.toolkit.to_string(),
            created_at: flow.created_at,
            expires_at: flow.expires_at,
            state: flow.state.into(),
            step: flow.step.into(),
            authorize_url: shown.authorize_url,
            user_code: shown.user_code,
            verification_uri: shown.verification_uri,
            verification_uri_complete: shown.verification_uri_complete,
            connection_id: flow.connection_id,
            reason: flow.reason,
            completed_at: flow.completed_at,
            reconnect_of: flow.reconnect_of,
        }
    }
}
