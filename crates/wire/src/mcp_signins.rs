//! Signing in with tool servers on the wire. Source: contract 4.8.

use guildhall_domain::{
    Timestamp,
    ids::{SessionId, SigninFlowId},
    mcp_signins::{ManualOauthClient, SigninFailure, SigninFlow, SigninPhase, SigninStatus},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// Starts a sign-in.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({}))]
pub struct StartMcpSignin {
    /// The session that is told when it is finished; a session's own token says so by itself.
    #[schema(required = false, value_type = Option<String>)]
    pub session_id: Option<SessionId>,
}

impl FromFields for StartMcpSignin {
    fn read(fields: &mut Fields) -> Self {
        let session = fields.maybe_text("sessionId");
        Self {
            session_id: session.map(|id| SessionId::named(&id.to_ascii_lowercase())),
        }
    }
}

/// A sign-in that was started, or one that counts already.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartedMcpSignin {
    /// What to ask after; null when there is nothing to be done.
    #[schema(required = true, value_type = Option<String>)]
    pub flow_id: Option<SigninFlowId>,
    /// The link that the owner opens in a browser; it is of no use to an agent.
    #[schema(required = true)]
    pub sign_in_url: Option<String>,
    /// Whether the server takes the stored sign-in.
    pub already_connected: bool,
    /// What a person should know before.
    pub disclosure: String,
    /// What to do next.
    pub message: String,
    /// Until when the link counts.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
}

/// How a sign-in stands.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpSignin {
    /// `pending`, `connected` or `failed`.
    #[schema(value_type = String, example = "pending")]
    pub status: SigninStatus,
    /// `waiting`, `opened`, `exchanging` or `done`.
    #[schema(value_type = String, example = "waiting")]
    pub phase: SigninPhase,
    /// Why it failed, for programs; or null.
    #[schema(required = true, value_type = Option<String>)]
    pub code: Option<SigninFailure>,
    /// The same for people.
    #[schema(required = true)]
    pub error: Option<String>,
    /// How many tools the server has; null until it is connected.
    #[schema(required = true)]
    pub tool_count: Option<u32>,
}

impl From<SigninFlow> for McpSignin {
    fn from(flow: SigninFlow) -> Self {
        Self {
            status: flow.status(),
            phase: flow.phase,
            code: flow.code,
            error: flow.code.map(|code| code.sentence().to_owned()),
            tool_count: flow.tool_count,
        }
    }
}

/// What came of signing out.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedOutOfMcp {
    /// Whether there was a sign-in to end.
    pub signed_out: bool,
}

/// The client that a person registered at a tool server's sign-in page.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"clientId": "my-guildhall"}))]
pub struct SetMcpClient {
    /// 1 to 512 characters.
    pub client_id: String,
    /// At most 4096 characters; absent for a client without one.
    #[schema(required = false)]
    pub client_secret: Option<String>,
}

impl FromFields for SetMcpClient {
    fn read(fields: &mut Fields) -> Self {
        Self {
            client_id: fields.text("clientId"),
            client_secret: fields.maybe_text("clientSecret"),
        }
    }
}

impl From<SetMcpClient> for ManualOauthClient {
    fn from(ask: SetMcpClient) -> Self {
        Self {
            id: ask.client_id,
            secret: ask.client_secret,
        }
    }
}

/// A client was saved.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct SavedMcpClient {
    /// True.
    pub saved: bool,
}
