//! Turns: how a post in a room becomes work of its agents, and the ledger that says why.
//! Pure: rows are `store::turns`, the dispatcher is `hall::turns`. Source: contract 2.6, 2.7.

mod addressing;
mod limits;
mod prompt;

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    ids::{AuthorId, EntryId, RoomId, SessionId, TurnId},
};

pub use addressing::{
    AddressableAgent, Addressing, EarlierPost, PostAudience, address_agents, is_engaged,
};
pub use limits::{TurnBounds, TurnCounts};
pub use prompt::{PromptEntry, PromptMember, TurnPrompt, render as written};

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

    /// Whether nothing follows; a refused turn may still be run by a person.
    pub fn is_final(self) -> bool {
        match self {
            Self::Collecting | Self::Held | Self::Running | Self::Waiting | Self::Refused => false,
            Self::NotAddressed | Self::Answered | Self::Silent | Self::Failed | Self::Stopped => {
                true
            }
        }
    }

    /// Whether the agent works on it or waits for a person.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Running | Self::Waiting)
    }

    /// Whether it has yet to start.
    pub fn is_pending(self) -> bool {
        matches!(self, Self::Collecting | Self::Held)
    }
}

/// The state that `rule` leads to from `state`; `None` where the ledger knows no such way.
///
/// A turn that is done is [`TurnState::Answered`] here; one without a reply is
/// [`TurnState::Silent`], which its reply decides and not its rule.
///
/// Source: contract 2.7.
pub fn next(state: TurnState, rule: TurnRule) -> Option<TurnState> {
    use TurnState::{Answered, Collecting, Failed, Held, Refused, Running, Stopped, Waiting};
    match (state, rule) {
        (
            Collecting | Held,
            TurnRule::Depth
            | TurnRule::Repeat
            | TurnRule::HourRoom
            | TurnRule::HourGlobal
            | TurnRule::RoomArchived
            | TurnRule::NotAMember
            | TurnRule::AgentGone
            | TurnRule::RuntimeUnavailable,
        ) => Some(Refused),
        (Collecting, TurnRule::AgentBusy) => Some(Held),
        (Collecting | Held, TurnRule::Started)
        | (Refused | Held, TurnRule::ByPerson)
        | (Waiting, TurnRule::Started | TurnRule::ByPerson) => Some(Running),
        (Running, TurnRule::AwaitingPerson) => Some(Waiting),
        (Running, TurnRule::Done) => Some(Answered),
        (Running | Waiting, TurnRule::Error | TurnRule::Timeout | TurnRule::ServerRestart) => {
            Some(Failed)
        }
        (Collecting | Held | Running | Waiting, TurnRule::Halted) => Some(Stopped),
        _ => None,
    }
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
pub struct ReachedLimit {
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
    pub limit: Option<ReachedLimit>,
    /// The session it runs in.
    pub session_id: Option<SessionId>,
    /// The reply.
    pub reply_entry_id: Option<EntryId>,
    /// When the agent was considered.
    pub created_at: Timestamp,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl Turn {
    /// Goes the way of `rule`, and says whether there is one from where the turn stands.
    pub fn apply_rule(&mut self, rule: TurnRule, now: Timestamp) -> bool {
        let Some(state) = next(self.state, rule) else {
            return false;
        };
        self.state = state;
        self.rule = rule;
        match state {
            TurnState::Running if self.started_at.is_none() => {
                self.started_at = Some(now);
                self.limit = None;
            }
            TurnState::Answered | TurnState::Silent | TurnState::Failed | TurnState::Stopped => {
                self.ended_at = Some(now);
            }
            _ => {}
        }
        true
    }
}

/// How long the agent has worked on a turn; it stands still while a person must answer.
///
/// Source: contract 2.6, step 7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnClock {
    /// Milliseconds before `since`.
    pub spent_ms: i64,
    /// Since when it runs; `None` while it stands.
    pub since: Option<Timestamp>,
}

impl TurnClock {
    /// Lets it run.
    pub fn run(&mut self, now: Timestamp) {
        self.since.get_or_insert(now);
    }

    /// Lets it stand.
    pub fn pause(&mut self, now: Timestamp) {
        self.spent_ms = self.at(now);
        self.since = None;
    }

    /// Milliseconds it shows.
    pub fn at(&self, now: Timestamp) -> i64 {
        let running = self
            .since
            .map_or(0, |since| now.as_millis().saturating_sub(since.as_millis()));
        self.spent_ms.saturating_add(running.max(0))
    }

    /// When it will show `ms`; `None` while it stands.
    pub fn shows_at(&self, ms: i64) -> Option<Timestamp> {
        let since = self.since?.as_millis();
        Some(Timestamp::from_millis(
            since.saturating_add(ms.saturating_sub(self.spent_ms)),
        ))
    }
}

/// A run of a room's ledger, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnsPage {
    /// The turns.
    pub turns: Vec<Turn>,
    /// The place of the last one when older ones follow.
    pub next: Option<TurnCursor>,
    /// What the hour has used.
    pub budget: TurnBudget,
}

/// Where a turn stands in a room's ledger: by its first post, then by the order of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TurnCursor {
    /// Seq of the first post it answers.
    pub seq: u64,
    /// Its place among the turns of that post.
    pub within: u64,
}

impl TurnCursor {
    /// The place as a page's cursor holds it.
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.seq) << 64 | u128::from(self.within)).to_be_bytes()
    }

    /// Reads it back.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let place = u128::from_be_bytes(bytes);
        let half = |part: u128| u64::try_from(part & u128::from(u64::MAX)).unwrap_or(u64::MAX);
        Self {
            seq: half(place >> 64),
            within: half(place),
        }
    }
}

/// Which turns of a room are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnsQuery {
    /// Only those that answer this post.
    pub entry: Option<EntryId>,
    /// Only this agent's.
    pub agent: Option<AuthorId>,
    /// Only in this state.
    pub state: Option<TurnState>,
    /// Only those below this place.
    pub below: Option<TurnCursor>,
    /// 1..200.
    pub limit: u32,
}

/// What automatic turns the last hour took. Source: contract 2.7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnBudget {
    /// In this room.
    pub room_used: u32,
    /// What this room may.
    pub room_max: u32,
    /// In all rooms.
    pub global_used: u32,
    /// What all rooms may.
    pub global_max: u32,
    /// When the oldest of them leaves the window; `None` when there is none.
    pub resets_at: Option<Timestamp>,
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
