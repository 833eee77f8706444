//! Sessions: one conversation with one agent, a turn at a time.
//! Pure: rows are `store::sessions`, deeds are `hall::sessions`. Source: contract 3.5, 3.6.

use serde::{Deserialize, Serialize};

use crate::{
    Refusal, Timestamp,
    field_validation::FieldValidator,
    ids::{AgentId, AuthorId, RoomId, SessionId},
    limits,
    runtimes::AutonomyLevel,
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
pub enum SessionOrigin {
    /// A person opened it.
    Person,
    /// A room's turns run in it.
    Room,
    /// The agent's own command line made it; we read it alone.
    Terminal,
}

impl SessionOrigin {
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
pub struct AutonomyConsent {
    /// The mode's id.
    pub mode: String,
    /// How wide the mode was then; a wider one needs a new word.
    pub width: AutonomyLevel,
    /// Who gave it.
    pub by: AuthorId,
    /// When.
    pub at: Timestamp,
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
    pub origin: SessionOrigin,
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
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// What its turns used.
    pub usage: Usage,
}

/// The session in which the turns of an agent run in a room. Source: contract 2.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomSession {
    /// The agent's author.
    pub author_id: AuthorId,
    /// The session.
    pub session_id: SessionId,
}

/// The changes a person may make to a session; absent leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct SessionPatch {
    /// 1..200 characters after trimming.
    pub title: Option<String>,
    /// One of the runtime's modes.
    pub permission_mode: Option<String>,
    /// `""` is the runtime's own.
    pub model: Option<String>,
    /// `""` is the runtime's own.
    pub effort: Option<String>,
    /// Whether the person acknowledged a mode that acts unattended.
    pub acknowledged_autonomy: bool,
}

impl SessionPatch {
    /// Checks the shape of every given field.
    ///
    /// # Errors
    /// [`Refusal::Validation`] with all fields that are wrong.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        if let Some(title) = &self.title {
            check_title(&mut check, title);
        }
        check_options(&mut check, self.model.as_deref(), self.effort.as_deref());
        check.finish()
    }

    /// The session after the change.
    #[must_use]
    pub fn apply(&self, session: &Session) -> Session {
        let take = |new: &Option<String>, old: &String| new.clone().unwrap_or_else(|| old.clone());
        Session {
            title: take(&self.title, &session.title).trim().to_owned(),
            permission_mode: take(&self.permission_mode, &session.permission_mode),
            model: take(&self.model, &session.model),
            effort: take(&self.effort, &session.effort),
            ..session.clone()
        }
    }
}

/// A session, as asked for. Source: contract 3.5.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// Its id, when the asker names it.
    pub id: Option<SessionId>,
    /// Whose it is to be.
    pub agent: Option<AgentId>,
    /// The folder of an agent, in place of the agent.
    pub cwd: Option<String>,
    /// The runtime of that agent.
    pub runtime: Option<String>,
    /// 1..200 characters after trimming.
    pub title: Option<String>,
    /// The agent's own when absent.
    pub permission_mode: Option<String>,
    /// The agent's own when absent.
    pub model: Option<String>,
    /// The agent's own when absent.
    pub effort: Option<String>,
    /// Whether the person acknowledged a mode that acts unattended.
    pub acknowledged_autonomy: bool,
    /// A session of the agent's own command line that this one goes on with.
    pub resume: Option<SessionId>,
}

impl NewSession {
    /// Checks the shape of every field.
    ///
    /// # Errors
    /// [`Refusal::Validation`] with all fields that are wrong.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        match (&self.agent, &self.cwd) {
            (None, None) => check.fail("agentId", "name an agent, or a folder as cwd"),
            (Some(_), Some(_)) => check.fail("cwd", "name an agent or a folder, not both"),
            (Some(_), None) | (None, Some(_)) => {}
        }
        if let Some(cwd) = &self.cwd {
            check.chars("cwd", cwd, 1, limits::CWD_CHARS_MAX);
            if !cwd.is_empty() && !cwd.starts_with('/') {
                check.fail("cwd", "must be an absolute path");
            }
        }
        if let Some(title) = &self.title {
            check_title(&mut check, title);
        }
        if let (Some(id), Some(resumed)) = (self.id, self.resume)
            && id != resumed
        {
            check.fail("id", "is that of the session to resume, or absent");
        }
        check_options(&mut check, self.model.as_deref(), self.effort.as_deref());
        check.finish()
    }
}

fn check_title(check: &mut FieldValidator, title: &str) {
    let range = limits::SESSION_TITLE_CHARS;
    check.chars("title", title.trim(), *range.start(), *range.end());
    check.one_line("title", title);
}

fn check_options(check: &mut FieldValidator, model: Option<&str>, effort: Option<&str>) {
    for (field, text) in [("model", model), ("effort", effort)] {
        if let Some(text) = text {
            check.chars(field, text, 0, limits::AGENT_OPTION_CHARS_MAX);
            check.one_line(field, text);
        }
    }
}

impl SessionId {
    /// Reads the id of a session as a request names it: a UUID of any version, in either case.
    ///
    /// # Errors
    /// [`Refusal::Validation`] for any other text.
    ///
    /// Source: contract 3.5 and 3.7.
    pub fn parse_id(text: &str) -> Result<Self, Refusal> {
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
            let id = SessionId::parse_id(text).unwrap();
            assert_eq!(id.to_string(), text.to_ascii_lowercase());
        }
        for text in ["", "ada", "5b1f7c2e8d344e0a9c612f7d0a4be913", "x/../y"] {
            assert!(SessionId::parse_id(text).is_err(), "{text}");
        }
    }
}
