//! Sessions: one conversation with one agent, a turn at a time.
//! Pure: rows are `store::sessions`, deeds are `hall::sessions`. Source: contract 3.5, 3.6.

use serde::{Deserialize, Serialize};

use crate::{
    Moment, Refusal,
    ids::{AgentId, RoomId, SessionId},
    runtimes::Width,
    usage::Usage,
};

/// Where a session stands. Source: contract 3.6.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Nothing runs.
    Idle,
    /// The agent is started or the session opened.
    Starting,
    /// A turn runs.
    Running,
    /// A turn runs, and a person must answer.
    Waiting,
    /// A turn is being stopped.
    Cancelling,
    /// The last turn could not begin, or broke off.
    Failed,
    /// It is over.
    Closed,
}

impl SessionState {
    /// Every state with its word.
    pub const WORDS: [(Self, &str); 7] = [
        (Self::Idle, "idle"),
        (Self::Starting, "starting"),
        (Self::Running, "running"),
        (Self::Waiting, "waiting"),
        (Self::Cancelling, "cancelling"),
        (Self::Failed, "failed"),
        (Self::Closed, "closed"),
    ];

    /// Whether a turn is on its way.
    pub fn is_busy(self) -> bool {
        match self {
            Self::Starting | Self::Running | Self::Waiting | Self::Cancelling => true,
            Self::Idle | Self::Failed | Self::Closed => false,
        }
    }
}

/// Where a session comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A person opened it.
    Person,
    /// A room's turns run in it.
    Room,
    /// The agent's own command line made it; we read it alone.
    Terminal,
}

impl Origin {
    /// Every origin with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Person, "person"),
        (Self::Room, "room"),
        (Self::Terminal, "terminal"),
    ];
}

/// How a turn of a session ended. Source: contract 3.6.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The agent was done.
    EndTurn,
    /// It ran out of tokens.
    MaxTokens,
    /// It asked its model too often.
    MaxTurnRequests,
    /// It refused to go on.
    Refusal,
    /// It was stopped.
    Cancelled,
    /// Its process or the server ended.
    Interrupted,
    /// It answered with an error.
    Failed,
}

impl TurnOutcome {
    /// Every outcome with its word.
    pub const WORDS: [(Self, &str); 7] = [
        (Self::EndTurn, "end_turn"),
        (Self::MaxTokens, "max_tokens"),
        (Self::MaxTurnRequests, "max_turn_requests"),
        (Self::Refusal, "refusal"),
        (Self::Cancelled, "cancelled"),
        (Self::Interrupted, "interrupted"),
        (Self::Failed, "failed"),
    ];
}

/// A person's word that a mode which acts unattended may be used. Source: contract 3.6.4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Acknowledgement {
    /// The mode's id.
    pub mode: String,
    /// How wide the mode was then; a wider one needs a new word.
    pub width: Width,
    /// Who gave it.
    pub by: crate::ids::AuthorId,
    /// When.
    pub at: Moment,
}

/// A session, as the interface shows it. Source: contract 3.5.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Its id; any UUID.
    pub id: SessionId,
    /// Whose it is.
    pub agent_id: AgentId,
    /// The runtime's type.
    pub runtime: String,
    /// The runtime's own id of it; `""` until it was opened.
    pub runtime_session_id: String,
    /// 1..200 characters; `""` until the first message.
    pub title: String,
    /// Its folder, absolute.
    pub cwd: String,
    /// The mode it runs in.
    pub permission_mode: String,
    /// `""` is the runtime's own.
    pub model: String,
    /// `""` is the runtime's own.
    pub effort: String,
    /// Where it stands.
    pub state: SessionState,
    /// Why, for a person; `""` when there is nothing to say.
    pub state_reason: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The room whose turns run in it.
    pub room_id: Option<RoomId>,
    /// Whether nothing can be sent.
    pub read_only: bool,
    /// Messages that wait.
    pub queued_count: u32,
    /// Asks that wait for a person.
    pub pending_count: u32,
    /// At most 200 characters.
    pub last_message_preview: String,
    /// When it was made.
    pub created_at: Moment,
    /// When it last changed.
    pub updated_at: Moment,
    /// What its turns used.
    pub usage: Usage,
}

impl SessionId {
    /// Reads the id of a session as a request names it: a UUID of any version, in either case.
    ///
    /// # Errors
    /// [`Refusal::Validation`] for any other text.
    ///
    /// Source: contract 3.5 and 3.7.
    pub fn asked(text: &str) -> Result<Self, Refusal> {
        Self::parse(&text.to_ascii_lowercase())
            .ok_or_else(|| Refusal::field("id", "must be a UUID, 36 characters with hyphens"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_named_by_a_uuid_of_any_version() {
        for text in [
            "5b1f7c2e-8d34-4e0a-9c61-2f7d0a4be913",
            "5B1F7C2E-8D34-4E0A-9C61-2F7D0A4BE913",
            "00000000-0000-0000-0000-000000000000",
        ] {
            let id = SessionId::asked(text).unwrap();
            assert_eq!(id.to_string(), text.to_ascii_lowercase());
        }
        for text in ["", "ada", "5b1f7c2e8d344e0a9c612f7d0a4be913", "x/../y"] {
            assert!(SessionId::asked(text).is_err(), "{text}");
        }
    }
}
