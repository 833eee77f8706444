//! Agents on the wire. Source: contract 3.2.

use guildhall_domain::{
    Timestamp, agents,
    authors::Handle,
    ids::{AgentId, AuthorId},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    members::{ResponseMode, maybe_mode},
    request_fields::{Fields, FromFields},
};

/// Whether an agent can work.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgentState {
    /// Its runtime is there.
    Ready,
    /// Its runtime is not registered here.
    RuntimeMissing,
    /// It was taken off the registry.
    Retired,
}

impl From<agents::AgentState> for AgentState {
    fn from(state: agents::AgentState) -> Self {
        match state {
            agents::AgentState::Ready => Self::Ready,
            agents::AgentState::RuntimeMissing => Self::RuntimeMissing,
            agents::AgentState::Retired => Self::Retired,
        }
    }
}

/// A registered agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// UUIDv7.
    #[schema(value_type = String)]
    pub id: AgentId,
    /// The author it writes as.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
    /// The author's handle or `""`.
    pub handle: String,
    /// 1..64 characters.
    pub name: String,
    /// At most 500 characters.
    pub description: String,
    /// The runtime's type; `rehearsal` is scripted.
    #[schema(example = "rehearsal")]
    pub runtime: String,
    /// Its working directory, absolute.
    pub cwd: String,
    /// What it does in a channel that says nothing else.
    pub response_mode: ResponseMode,
    /// For new sessions.
    pub permission_mode: String,
    /// For new sessions; `""` is the runtime's own.
    pub model: String,
    /// For new sessions; `""` is the runtime's own.
    pub effort: String,
    /// Whether its processes are kept from the server's ports and files, as far as this computer
    /// can.
    pub enclosed: bool,
    /// Ready, without a runtime, or retired.
    pub state: AgentState,
    /// Whether a process of it runs now.
    pub live_process: bool,
    /// When it was registered.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When a field last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<agents::Agent> for Agent {
    fn from(agent: agents::Agent) -> Self {
        Self {
            id: agent.id,
            author_id: agent.author_id,
            handle: agent.handle.map(Handle::into).unwrap_or_default(),
            name: agent.name,
            description: agent.description,
            runtime: agent.runtime,
            cwd: agent.cwd,
            response_mode: agent.response_mode.into(),
            permission_mode: agent.permission_mode,
            model: agent.model,
            effort: agent.effort,
            enclosed: agent.enclosed,
            state: agent.state.into(),
            live_process: agent.live_process,
            created_at: agent.created_at,
            updated_at: agent.updated_at,
        }
    }
}

/// The registry.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Agents {
    /// In the order of registration.
    pub agents: Vec<Agent>,
    /// What is wrong with single runtimes; empty when all is well.
    pub warnings: Vec<String>,
}

/// Registers an agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"name": "Ada", "cwd": "/home/ada/site", "runtime": "rehearsal"}))]
pub struct RegisterAgent {
    /// 1..64 characters.
    #[schema(example = "Ada")]
    pub name: String,
    /// Absolute path of an existing folder.
    pub cwd: String,
    /// The runtime's type; the default runtime when absent.
    #[schema(nullable = false, example = "rehearsal")]
    pub runtime: Option<String>,
    /// At most 500 characters.
    #[schema(nullable = false)]
    pub description: Option<String>,
    /// What it does in channels; `engaged` when absent.
    #[schema(nullable = false)]
    pub response_mode: Option<ResponseMode>,
    /// For new sessions; the runtime's default when absent.
    #[schema(nullable = false)]
    pub permission_mode: Option<String>,
    /// For new sessions.
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// For new sessions.
    #[schema(nullable = false)]
    pub effort: Option<String>,
    /// Whether it becomes a member of `team`; true when absent.
    #[schema(nullable = false)]
    pub join_team: Option<bool>,
    /// Whether a person acknowledged a mode that acts unattended.
    #[schema(nullable = false)]
    pub acknowledged_autonomy: Option<bool>,
}

impl FromFields for RegisterAgent {
    fn read(fields: &mut Fields) -> Self {
        Self {
            name: fields.text("name"),
            cwd: fields.text("cwd"),
            runtime: fields.maybe_text("runtime"),
            description: fields.maybe_text("description"),
            response_mode: maybe_mode(fields),
            permission_mode: fields.maybe_text("permissionMode"),
            model: fields.maybe_text("model"),
            effort: fields.maybe_text("effort"),
            join_team: fields.maybe_flag("joinTeam"),
            acknowledged_autonomy: fields.maybe_flag("acknowledgedAutonomy"),
        }
    }
}

impl From<RegisterAgent> for agents::NewAgent {
    fn from(ask: RegisterAgent) -> Self {
        Self {
            name: ask.name,
            runtime: ask.runtime,
            cwd: ask.cwd,
            description: ask.description.unwrap_or_default(),
            response_mode: ask.response_mode.map(Into::into),
            permission_mode: ask.permission_mode,
            model: ask.model.unwrap_or_default(),
            effort: ask.effort.unwrap_or_default(),
            join_team: ask.join_team.unwrap_or(true),
            acknowledged_autonomy: ask.acknowledged_autonomy.unwrap_or(false),
        }
    }
}

/// Changes an agent; absent fields stay.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"description": "Looks after the site", "responseMode": "always"}))]
pub struct UpdateAgent {
    /// 1..64 characters.
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// At most 500 characters.
    #[schema(nullable = false)]
    pub description: Option<String>,
    /// What it does in channels.
    #[schema(nullable = false)]
    pub response_mode: Option<ResponseMode>,
    /// For new sessions.
    #[schema(nullable = false)]
    pub permission_mode: Option<String>,
    /// For new sessions.
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// For new sessions.
    #[schema(nullable = false)]
    pub effort: Option<String>,
    /// Whether its processes are enclosed, from their next start on. Only the owner at a screen can
    /// set `false`.
    #[schema(nullable = false)]
    pub enclosed: Option<bool>,
    /// Whether a person acknowledged a mode that acts unattended.
    #[schema(nullable = false)]
    pub acknowledged_autonomy: Option<bool>,
}

impl FromFields for UpdateAgent {
    fn read(fields: &mut Fields) -> Self {
        Self {
            name: fields.maybe_text("name"),
            description: fields.maybe_text("description"),
            response_mode: maybe_mode(fields),
            permission_mode: fields.maybe_text("permissionMode"),
            model: fields.maybe_text("model"),
            effort: fields.maybe_text("effort"),
            enclosed: fields.maybe_flag("enclosed"),
            acknowledged_autonomy: fields.maybe_flag("acknowledgedAutonomy"),
        }
    }
}

impl From<UpdateAgent> for agents::AgentPatch {
    fn from(ask: UpdateAgent) -> Self {
        Self {
            name: ask.name,
            description: ask.description,
            response_mode: ask.response_mode.map(Into::into),
            permission_mode: ask.permission_mode,
            model: ask.model,
            effort: ask.effort,
            enclosed: ask.enclosed,
            acknowledged_autonomy: ask.acknowledged_autonomy.unwrap_or(false),
        }
    }
}
