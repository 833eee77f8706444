//! Agent tokens on the wire. Source: contract 1.4, "Agent tokens".

use guildhall_domain::{
    Timestamp, agent_tokens,
    ids::{AgentId, AgentTokenId, SessionId},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// Who made a token.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenOrigin {
    /// The server, for a process it started.
    Spawn,
    /// The owner.
    Person,
}

/// A token's row; never the token.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentToken {
    /// Its id.
    #[schema(value_type = String)]
    pub id: AgentTokenId,
    /// For people.
    pub label: String,
    /// Who made it.
    pub origin: TokenOrigin,
    /// The session it names, for a session's token.
    #[schema(required = true, value_type = Option<String>)]
    pub session_id: Option<SessionId>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it was last used, to five minutes.
    #[schema(required = true, value_type = Option<String>)]
    pub last_used_at: Option<Timestamp>,
    /// When it dies of disuse.
    #[schema(value_type = String, format = DateTime)]
    pub idle_expires_at: Timestamp,
    /// When it dies of age.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// When it was revoked.
    #[schema(required = true, value_type = Option<String>)]
    pub revoked_at: Option<Timestamp>,
}

impl From<agent_tokens::AgentToken> for AgentToken {
    fn from(token: agent_tokens::AgentToken) -> Self {
        Self {
            idle_expires_at: token.idle_expires_at(),
            expires_at: token.expires_at(),
            id: token.id,
            label: token.label,
            origin: match token.origin {
                agent_tokens::TokenOrigin::Spawn => TokenOrigin::Spawn,
                agent_tokens::TokenOrigin::Person => TokenOrigin::Person,
            },
            session_id: token.session_id,
            created_at: token.created_at,
            last_used_at: token.last_used_at,
            revoked_at: token.revoked_at,
        }
    }
}

/// The tokens of an agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AgentTokens {
    /// Oldest first, revoked ones too.
    pub tokens: Vec<AgentToken>,
}

/// Mints a token.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MintToken {
    /// 1..80 characters.
    #[schema(example = "laptop")]
    pub label: String,
}

impl FromFields for MintToken {
    fn read(fields: &mut Fields) -> Self {
        Self {
            label: fields.text("label"),
        }
    }
}

/// A new token; its text is shown this once.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MintedToken {
    /// Its id.
    #[schema(value_type = String)]
    pub id: AgentTokenId,
    /// Whom it names.
    #[schema(value_type = String)]
    pub agent_id: AgentId,
    /// For people.
    pub label: String,
    /// What the agent sends as `X-Service-Agent`; 47 characters.
    pub token: String,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it dies of disuse.
    #[schema(value_type = String, format = DateTime)]
    pub idle_expires_at: Timestamp,
    /// When it dies of age.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

impl MintedToken {
    /// The answer that shows a token's text.
    pub fn new(token: agent_tokens::AgentToken, text: String) -> Self {
        Self {
            idle_expires_at: token.idle_expires_at(),
            expires_at: token.expires_at(),
            id: token.id,
            agent_id: token.agent_id,
            label: token.label,
            token: text,
            created_at: token.created_at,
        }
    }
}
