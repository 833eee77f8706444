//! Approvals: deeds that a person must allow first, and what became of the asking.
//! Pure: rows are `store::approvals`, holding a request and spending a yes is `hall::approvals`.
//! Tool calls and questions of sessions stand in the same table and are `interactions`.
//! Source: contract 4.5.

mod approval_required;
mod display;
mod gating;
mod states;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Timestamp,
    callers::{Caller, Credential, Gate, OwnerInteractive},
    ids::{AgentId, ApprovalId, AuthorId, RoomId, SessionId},
    members::AuthorSummary,
};

pub use approval_required::{
    ApprovalRequiredReason, ApprovalRequirement, ApprovalToken, Denial, refuse_other_requester,
};
pub use display::{ApprovalDisplay, summary};
pub use gating::{GatingDecision, GatingFacts, PresentedToken, decide};
pub use states::{ApprovalState, ApprovalTrigger};

/// What an approval is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// A deed that somebody asked for.
    Capability,
    /// What was allowed before looks different now.
    Repin,
    /// An agent wants to use a connector.
    Access,
    /// A tool call of a session.
    ToolCall,
    /// A question of a session.
    Question,
}

impl ApprovalKind {
    /// Every kind with its word.
    pub const WORDS: [(Self, &str); 5] = [
        (Self::Capability, "capability"),
        (Self::Repin, "repin"),
        (Self::Access, "access"),
        (Self::ToolCall, "tool_call"),
        (Self::Question, "question"),
    ];

    /// Whether it is asked and decided in a session.
    pub fn is_of_session(self) -> bool {
        match self {
            Self::ToolCall | Self::Question => true,
            Self::Capability | Self::Repin | Self::Access => false,
        }
    }

    /// Whether a yes to it is the deed itself.
    pub fn is_used_as_given(self) -> bool {
        match self {
            Self::Repin | Self::Access => true,
            Self::Capability | Self::ToolCall | Self::Question => false,
        }
    }

    /// What its deed costs where no capability says it: a tool runs what is not ours.
    pub fn tier(self) -> RiskTier {
        match self {
            Self::Question => RiskTier::Observe,
            Self::Capability | Self::Repin | Self::Access | Self::ToolCall => RiskTier::Destructive,
        }
    }
}

/// What a deed costs if it was wrong. Source: contract 4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskTier {
    /// It reads only.
    Observe,
    /// It can be undone.
    Act,
    /// It runs foreign code, spends, or cannot be undone.
    Destructive,
}

impl RiskTier {
    /// Every tier with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Observe, "observe"),
        (Self::Act, "act"),
        (Self::Destructive, "destructive"),
    ];
}

/// Every deed that a person must allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Adding an MCP server to an agent.
    McpAdd,
    /// Changing or enabling an MCP server of an agent.
    McpUpdate,
    /// Removing an MCP server of an agent.
    McpRemove,
    /// Adding an MCP server found in an agent's folder.
    McpImport,
    /// Going on with an MCP server that looks different now.
    McpRepin,
    /// Running a destructive operation of a connector.
    ConnectorsExecute,
    /// Using a service of the connectors at all.
    ConnectorsAccess,
}

impl Capability {
    /// Every capability with its word.
    pub const WORDS: [(Self, &str); 7] = [
        (Self::McpAdd, "mcp.add"),
        (Self::McpUpdate, "mcp.update"),
        (Self::McpRemove, "mcp.remove"),
        (Self::McpImport, "mcp.import"),
        (Self::McpRepin, "mcp.repin"),
        (Self::ConnectorsExecute, "connectors.execute"),
        (Self::ConnectorsAccess, "connectors.access"),
    ];

    /// Its word, which its digest names.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::McpAdd => "mcp.add",
            Self::McpUpdate => "mcp.update",
            Self::McpRemove => "mcp.remove",
            Self::McpImport => "mcp.import",
            Self::McpRepin => "mcp.repin",
            Self::ConnectorsExecute => "connectors.execute",
            Self::ConnectorsAccess => "connectors.access",
        }
    }

    /// What a person reads above the card.
    pub const fn title(self) -> &'static str {
        match self {
            Self::McpAdd => "Add an MCP server",
            Self::McpUpdate => "Change an MCP server",
            Self::McpRemove => "Remove an MCP server",
            Self::McpImport => "Import an MCP server",
            Self::McpRepin => "Go on with a changed MCP server",
            Self::ConnectorsExecute => "Run a destructive operation of a connected service",
            Self::ConnectorsAccess => "Use a service",
        }
    }

    /// What it costs if it was wrong; the operation decides it and no request can lower it.
    pub const fn tier(self) -> RiskTier {
        match self {
            Self::McpAdd
            | Self::McpUpdate
            | Self::McpRemove
            | Self::McpImport
            | Self::McpRepin
            | Self::ConnectorsExecute
            | Self::ConnectorsAccess => RiskTier::Destructive,
        }
    }

    /// Whether it waits for a card also where a person asks. What is to run here from then on is
    /// approved by whoever has read what it is, and who leaves a credential out is told from a
    /// person by nothing; what ends or is done once, a person decides by asking for it.
    pub const fn asks_people(self) -> bool {
        match self {
            Self::McpAdd | Self::McpUpdate | Self::McpImport | Self::McpRepin => true,
            Self::McpRemove | Self::ConnectorsExecute | Self::ConnectorsAccess => false,
        }
    }

    /// Whether a request of `caller` for it waits for a card.
    pub fn needs_card(self, caller: &Caller) -> bool {
        self.asks_people() || !is_person(caller)
    }
}

/// What a gated deed wants a person to approve; without `Debug`, because it holds secrets.
#[derive(Clone)]
pub struct ApprovalRequest {
    /// The deed.
    pub capability: Capability,
    /// The agent it is about.
    pub agent_id: Option<AgentId>,
    /// The session that asks, where it is known.
    pub session_id: Option<SessionId>,
    /// One line for people; longer ones are cut at [`crate::limits::APPROVAL_SUMMARY_CHARS_MAX`].
    pub summary: String,
    /// What a person is shown; no secret.
    pub card: Value,
    /// The rules that led to the question, strictest last.
    pub why: Vec<String>,
    /// The parsed request with defaults filled in and secrets in clear: for the digest alone,
    /// never stored.
    pub input: Value,
    /// What of the machine it rests on: for the digest alone.
    pub pin: Value,
}

/// An approval as the interface shows it, of any kind. Source: contract 4.5.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its row.
    pub id: ApprovalId,
    /// What it is about.
    pub kind: ApprovalKind,
    /// Where it stands.
    pub state: ApprovalState,
    /// The deed, or the kind where a session asks.
    pub capability: String,
    /// One line above the card.
    pub title: String,
    /// What the deed costs if it was wrong.
    pub tier: RiskTier,
    /// One line of this very deed.
    pub summary: String,
    /// What is to be shown.
    pub card: Value,
    /// The rules that led to the question, strictest last.
    pub why: Vec<String>,
    /// 64 hex digits over what is asked; another input has another.
    pub digest: String,
    /// Who asks; the system author for a `repin`.
    pub requested_by: AuthorSummary,
    /// The agent it is about.
    pub agent_id: Option<AgentId>,
    /// The session that asks.
    pub session_id: Option<SessionId>,
    /// The room whose turns run in that session.
    pub room_id: Option<RoomId>,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// Until when it may be decided, and once it is granted used.
    pub expires_at: Timestamp,
    /// When nobody had answered for a while.
    pub parked_at: Option<Timestamp>,
    /// When a person decided.
    pub decided_at: Option<Timestamp>,
    /// When a yes was used.
    pub consumed_at: Option<Timestamp>,
    /// Who decided.
    pub decided_by: Option<AuthorSummary>,
    /// Why a person said no.
    pub deny_reason: Option<String>,
}

/// Whose a request for an approval is: what a token of it is bound to. An agent is itself with
/// each of its tokens, and so is a person at each screen; a program is its key, so that another
/// key of the same person has nothing of it. Source: contract 4.5, "the same requester identity".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requester([u8; 16]);

impl Requester {
    /// Whose requests those of `caller` are.
    pub fn of(caller: &Caller) -> Self {
        match caller.credential {
            Credential::ApiKey(key) => Self(*key.as_bytes()),
            Credential::Loopback
            | Credential::Cookie(_)
            | Credential::LocalToken
            | Credential::AgentToken(_)
            | Credential::Process => Self(*caller.author.as_bytes()),
        }
    }

    /// Whose requests those of the agent with this author are.
    pub const fn of_agent(author: AuthorId) -> Self {
        Self(*author.as_bytes())
    }

    /// As the store keeps it.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The one behind stored bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

/// Whether the caller is a person at a screen. Another account is a program here, and so is an
/// owner's connection that may be an agent's. Source: contract 4.1.
pub fn is_person(caller: &Caller) -> bool {
    OwnerInteractive::admit(*caller).is_ok()
}

/// Which approvals a page of the listing holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalsQuery {
    /// In which effective state.
    pub state: ApprovalState,
    /// Of which kind alone.
    pub kind: Option<ApprovalKind>,
    /// About which agent alone.
    pub agent: Option<AgentId>,
    /// Asked by which session alone.
    pub session: Option<SessionId>,
    /// Those behind this one.
    pub after: Option<ApprovalId>,
    /// How many.
    pub limit: u32,
}

/// Whose approvals somebody may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalVisibility {
    /// All.
    All,
    /// Those it asked for itself; of an agent also what its sessions ask and what the server
    /// asks about its servers.
    Own(Requester, Option<AgentId>),
}

impl ApprovalVisibility {
    /// What `caller` may see.
    pub fn of(caller: &Caller) -> Self {
        if is_person(caller) {
            Self::All
        } else {
            Self::Own(Requester::of(caller), caller.agent())
        }
    }
    /// Whether it holds what `requester` asks about `agent`; `None` where a session or the
    /// server asks.
    pub fn shows(self, requester: Option<Requester>, agent: Option<AgentId>) -> bool {
        match (self, requester) {
            (Self::All, _) => true,
            (Self::Own(own, _), Some(requester)) => own == requester,
            (Self::Own(_, own), None) => own.is_some() && own == agent,
        }
    }
}

#[cfg(test)]
#[path = "approvals_tests.rs"]
mod tests;
