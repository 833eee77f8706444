//! Turns of rooms on the wire. Source: contract 2.7.

use guildhall_domain::{
    Timestamp,
    ids::{AuthorId, EntryId, RoomId, SessionId, TurnId},
    turns,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// Where a turn stands.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// The agent was not meant; never stored.
    NotAddressed,
    /// A limit or the room said no; a person can have it run.
    Refused,
    /// More posts may join it.
    Collecting,
    /// It waits for the agent.
    Held,
    /// The agent works on it.
    Running,
    /// A person must answer the agent.
    Waiting,
    /// The agent replied.
    Answered,
    /// The agent said nothing.
    Silent,
    /// It broke off.
    Failed,
    /// A person stopped it.
    Stopped,
}

impl From<turns::TurnState> for TurnState {
    fn from(state: turns::TurnState) -> Self {
        use turns::TurnState as From;
        match state {
            From::NotAddressed => Self::NotAddressed,
            From::Refused => Self::Refused,
            From::Collecting => Self::Collecting,
            From::Held => Self::Held,
            From::Running => Self::Running,
            From::Waiting => Self::Waiting,
            From::Answered => Self::Answered,
            From::Silent => Self::Silent,
            From::Failed => Self::Failed,
            From::Stopped => Self::Stopped,
        }
    }
}

/// Which rule decided a turn.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is the contract's own word")]
pub enum TurnRule {
    Silent,
    NotNamed,
    NotEngaged,
    NotDirect,
    SeatStoodDown,
    Depth,
    Repeat,
    HourRoom,
    HourGlobal,
    RoomArchived,
    NotAMember,
    AgentGone,
    RuntimeUnavailable,
    Addressed,
    AgentBusy,
    Started,
    ByPerson,
    AwaitingPerson,
    Done,
    Error,
    Timeout,
    ServerRestart,
    Halted,
}

impl From<turns::TurnRule> for TurnRule {
    fn from(rule: turns::TurnRule) -> Self {
        use turns::TurnRule as From;
        match rule {
            From::Silent => Self::Silent,
            From::NotNamed => Self::NotNamed,
            From::NotEngaged => Self::NotEngaged,
            From::NotDirect => Self::NotDirect,
            From::SeatStoodDown => Self::SeatStoodDown,
            From::Depth => Self::Depth,
            From::Repeat => Self::Repeat,
            From::HourRoom => Self::HourRoom,
            From::HourGlobal => Self::HourGlobal,
            From::RoomArchived => Self::RoomArchived,
            From::NotAMember => Self::NotAMember,
            From::AgentGone => Self::AgentGone,
            From::RuntimeUnavailable => Self::RuntimeUnavailable,
            From::Addressed => Self::Addressed,
            From::AgentBusy => Self::AgentBusy,
            From::Started => Self::Started,
            From::ByPerson => Self::ByPerson,
            From::AwaitingPerson => Self::AwaitingPerson,
            From::Done => Self::Done,
            From::Error => Self::Error,
            From::Timeout => Self::Timeout,
            From::ServerRestart => Self::ServerRestart,
            From::Halted => Self::Halted,
        }
    }
}

/// Whose limit a turn met.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// The room's own.
    Room,
    /// The installation's.
    Install,
}

/// The limit that decided a turn.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReachedLimit {
    /// The room's field, or the setting.
    #[schema(example = "rooms.maxAgentDepth")]
    pub name: String,
    /// What it allows.
    pub value: u32,
    /// How much was used.
    pub used: u32,
    /// Whose it is.
    pub source: LimitSource,
}

/// An agent considered for a post, and what became of it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// UUIDv7; `""` for an agent that was not meant, whose turn is not kept.
    #[schema(example = "01a1fe26-ce7a-77e6-9c51-69b26c991bbe")]
    pub id: String,
    /// The room.
    #[schema(value_type = String)]
    pub room_id: RoomId,
    /// The agent's author.
    #[schema(value_type = String)]
    pub agent_author_id: AuthorId,
    /// The posts it answers, oldest first.
    #[schema(value_type = Vec<String>)]
    pub trigger_entry_ids: Vec<EntryId>,
    /// The post that began its cascade.
    #[schema(value_type = String)]
    pub cascade_root_id: EntryId,
    /// How many automatic replies its own would make in a row.
    pub depth: u32,
    /// Where it stands.
    pub state: TurnState,
    /// Which rule decided that.
    pub rule: TurnRule,
    /// The limit it met.
    #[schema(required = true)]
    pub limit: Option<ReachedLimit>,
    /// The session it runs in.
    #[schema(required = true, value_type = Option<String>)]
    pub session_id: Option<SessionId>,
    /// The reply.
    #[schema(required = true, value_type = Option<String>)]
    pub reply_entry_id: Option<EntryId>,
    /// When the agent was considered.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it began.
    #[schema(required = true, value_type = Option<String>)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[schema(required = true, value_type = Option<String>)]
    pub ended_at: Option<Timestamp>,
}

impl From<turns::Turn> for Turn {
    fn from(turn: turns::Turn) -> Self {
        Self {
            id: turn.id.as_ref().map(TurnId::to_string).unwrap_or_default(),
            room_id: turn.room_id,
            agent_author_id: turn.agent_author_id,
            trigger_entry_ids: turn.trigger_entry_ids,
            cascade_root_id: turn.cascade_root_id,
            depth: turn.depth,
            state: turn.state.into(),
            rule: turn.rule.into(),
            limit: turn.limit.map(|limit| ReachedLimit {
                name: limit.name,
                value: limit.value,
                used: limit.used,
                source: match limit.source {
                    turns::LimitSource::Room => LimitSource::Room,
                    turns::LimitSource::Install => LimitSource::Install,
                },
            }),
            session_id: turn.session_id,
            reply_entry_id: turn.reply_entry_id,
            created_at: turn.created_at,
            started_at: turn.started_at,
            ended_at: turn.ended_at,
        }
    }
}

/// What automatic turns the last hour took.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnBudget {
    /// In this room.
    pub room_used: u32,
    /// What this room may.
    pub room_max: u32,
    /// In all rooms.
    pub global_used: u32,
    /// What all rooms may.
    pub global_max: u32,
    /// When the oldest of them no longer counts; null when there is none.
    #[schema(required = true, value_type = Option<String>)]
    pub resets_at: Option<Timestamp>,
}

/// A run of a room's ledger.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Turns {
    /// Newest first.
    pub turns: Vec<Turn>,
    /// Where older ones begin; null when there are none.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
    /// What the hour has used.
    pub budget: TurnBudget,
}

impl Turns {
    /// A page with the cursor behind it.
    pub fn of(page: turns::TurnsPage, next_cursor: Option<String>) -> Self {
        Self {
            turns: page.turns.into_iter().map(Into::into).collect(),
            next_cursor,
            budget: TurnBudget {
                room_used: page.budget.room_used,
                room_max: page.budget.room_max,
                global_used: page.budget.global_used,
                global_max: page.budget.global_max,
                resets_at: page.budget.resets_at,
            },
        }
    }
}

/// Has a turn run; it takes no fields.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct RunTurn {}

impl FromFields for RunTurn {
    fn read(_fields: &mut Fields) -> Self {
        Self {}
    }
}

/// Stops turns; it takes no fields.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct HaltTurns {}

impl FromFields for HaltTurns {
    fn read(_fields: &mut Fields) -> Self {
        Self {}
    }
}

/// What was stopped.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct HaltedTurns {
    /// How many turns.
    pub stopped: u64,
}
