//! Turns: how a post in a room becomes work of its agents, and the ledger that says why.
//! Pure: rows are `store::turns`, the dispatcher is `hall::turns`. Source: contract 2.6, 2.7.

use serde::{Deserialize, Serialize};

use crate::{
    Moment,
    ids::{AuthorId, EntryId, RoomId, SessionId, TurnId},
};

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// The agent was not meant; never stored.
    NotAddressed,
    /// A limit or the room said no.
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

impl TurnState {
    /// Every state with its word.
    pub const WORDS: [(Self, &str); 10] = [
        (Self::NotAddressed, "not_addressed"),
        (Self::Refused, "refused"),
        (Self::Collecting, "collecting"),
        (Self::Held, "held"),
        (Self::Running, "running"),
        (Self::Waiting, "waiting"),
        (Self::Answered, "answered"),
        (Self::Silent, "silent"),
        (Self::Failed, "failed"),
        (Self::Stopped, "stopped"),
    ];
}

/// Whose limit a turn met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// The room's own.
    Room,
    /// The installation's.
    Install,
}

/// The limit that decided a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitMet {
    /// The room field or setting.
    pub name: String,
    /// What it allows.
    pub value: u32,
    /// How much was used.
    pub used: u32,
    /// Whose it is.
    pub source: LimitSource,
}

/// Which rule decided a turn. Source: contract 2.7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

impl TurnRule {
    /// Every rule with its word.
    pub const WORDS: [(Self, &str); 23] = [
        (Self::Silent, "silent"),
        (Self::NotNamed, "not_named"),
        (Self::NotEngaged, "not_engaged"),
        (Self::NotDirect, "not_direct"),
        (Self::SeatStoodDown, "seat_stood_down"),
        (Self::Depth, "depth"),
        (Self::Repeat, "repeat"),
        (Self::HourRoom, "hour_room"),
        (Self::HourGlobal, "hour_global"),
        (Self::RoomArchived, "room_archived"),
        (Self::NotAMember, "not_a_member"),
        (Self::AgentGone, "agent_gone"),
        (Self::RuntimeUnavailable, "runtime_unavailable"),
        (Self::Addressed, "addressed"),
        (Self::AgentBusy, "agent_busy"),
        (Self::Started, "started"),
        (Self::ByPerson, "by_person"),
        (Self::AwaitingPerson, "awaiting_person"),
        (Self::Done, "done"),
        (Self::Error, "error"),
        (Self::Timeout, "timeout"),
        (Self::ServerRestart, "server_restart"),
        (Self::Halted, "halted"),
    ];
}

/// A row of the ledger. Source: contract 2.7.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Its id; `None` for one that is not stored, shown as `""`.
    pub id: Option<TurnId>,
    /// The room.
    pub room_id: RoomId,
    /// The agent's author.
    pub agent_author_id: AuthorId,
    /// The posts it answers, oldest first.
    pub trigger_entry_ids: Vec<EntryId>,
    /// The person's post that began the cascade.
    pub cascade_root_id: EntryId,
    /// How many agents' turns lie between.
    pub depth: u32,
    /// Where it stands.
    pub state: TurnState,
    /// Which rule decided that.
    pub rule: TurnRule,
    /// The limit it met.
    pub limit: Option<LimitMet>,
    /// The session it runs in.
    pub session_id: Option<SessionId>,
    /// The reply.
    pub reply_entry_id: Option<EntryId>,
    /// When the agent was considered.
    pub created_at: Moment,
    /// When it began.
    pub started_at: Option<Moment>,
    /// When it ended.
    pub ended_at: Option<Moment>,
}
