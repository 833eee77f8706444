//! Sessions on the wire. Source: contract 3.5.

use guildhall_domain::{
    Timestamp,
    ids::{AgentId, AuthorId, MessageId, RoomId, SessionId},
    sessions,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    interactions::Interaction,
    request_fields::{Fields, FromFields},
    transcript::Message,
    usage::Usage,
};

/// Where a session stands.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
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

impl From<sessions::SessionState> for SessionState {
    fn from(state: sessions::SessionState) -> Self {
        match state {
            sessions::SessionState::Idle => Self::Idle,
            sessions::SessionState::Starting => Self::Starting,
            sessions::SessionState::Running => Self::Running,
            sessions::SessionState::Waiting => Self::Waiting,
            sessions::SessionState::Cancelling => Self::Cancelling,
            sessions::SessionState::Failed => Self::Failed,
            sessions::SessionState::Closed => Self::Closed,
        }
    }
}

/// Where a session comes from.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionOrigin {
    /// A person opened it.
    Person,
    /// A room's turns run in it.
    Room,
    /// The agent's own command line made it.
    Terminal,
}

impl From<sessions::SessionOrigin> for SessionOrigin {
    fn from(origin: sessions::SessionOrigin) -> Self {
        match origin {
            sessions::SessionOrigin::Person => Self::Person,
            sessions::SessionOrigin::Room => Self::Room,
            sessions::SessionOrigin::Terminal => Self::Terminal,
        }
    }
}

/// One conversation with one agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// A UUID.
    #[schema(value_type = String, format = "uuid")]
    pub id: SessionId,
    /// Whose it is.
    #[schema(value_type = String)]
    pub agent_id: AgentId,
    /// The runtime's type; `rehearsal` is scripted.
    #[schema(example = "rehearsal")]
    pub runtime: String,
    /// The runtime's own id of it; `""` until it was opened.
    pub runtime_session_id: String,
    /// At most 200 characters.
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
    /// The room whose turns run in it; null for others.
    #[schema(required = true, value_type = Option<String>)]
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
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// What its turns used.
    pub usage: Usage,
}

impl From<sessions::Session> for Session {
    fn from(session: sessions::Session) -> Self {
        Self {
            id: session.id,
            agent_id: session.agent_id,
            runtime: session.runtime,
            runtime_session_id: session.runtime_session_id,
            title: session.title,
            cwd: session.cwd,
            permission_mode: session.permission_mode,
            model: session.model,
            effort: session.effort,
            state: session.state.into(),
            state_reason: session.state_reason,
            origin: session.origin.into(),
            room_id: session.room_id,
            read_only: session.read_only,
            queued_count: session.queued_count,
            pending_count: session.pending_count,
            last_message_preview: session.last_message_preview,
            created_at: session.created_at,
            updated_at: session.updated_at,
            usage: session.usage.into(),
        }
    }
}

/// A run of sessions.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sessions {
    /// The newest change first.
    pub sessions: Vec<Session>,
    /// Where the next page begins; null at the end.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
    /// What could not be read.
    pub warnings: Vec<String>,
}

/// Where the turns of a room run.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RoomSessions {
    /// One for each agent that had a turn there, the first opened first.
    pub bindings: Vec<RoomSession>,
}

impl From<Vec<sessions::RoomSession>> for RoomSessions {
    fn from(bindings: Vec<sessions::RoomSession>) -> Self {
        Self {
            bindings: bindings.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<sessions::RoomSession> for RoomSession {
    fn from(binding: sessions::RoomSession) -> Self {
        Self {
            author_id: binding.author_id,
            session_id: binding.session_id,
        }
    }
}

/// The session in which an agent's turns of a room run.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomSession {
    /// The agent's author.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
    /// The session.
    #[schema(value_type = String, format = "uuid")]
    pub session_id: SessionId,
}

/// Opens a session with an agent, or with the agent of a folder.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"agentId": "01a1fe26-ce7a-77e6-9c51-69b26c991bbe", "title": "Release notes"}))]
pub struct OpenSession {
    /// A UUID of the asker's own; the same body under the same id opens nothing twice.
    #[schema(nullable = false, value_type = Option<String>, format = "uuid")]
    pub id: Option<SessionId>,
    /// Whose it is to be.
    #[schema(nullable = false, value_type = Option<String>)]
    pub agent_id: Option<AgentId>,
    /// In place of the agent: its folder, absolute; a folder without an agent gets one.
    #[schema(nullable = false)]
    pub cwd: Option<String>,
    /// The runtime of that folder's agent.
    #[schema(nullable = false)]
    pub runtime: Option<String>,
    /// 1..200 characters; the first line of the first message when absent.
    #[schema(nullable = false)]
    pub title: Option<String>,
    /// The agent's own when absent.
    #[schema(nullable = false)]
    pub permission_mode: Option<String>,
    /// The agent's own when absent.
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// The agent's own when absent.
    #[schema(nullable = false)]
    pub effort: Option<String>,
    /// Whether a person acknowledged a mode that acts unattended.
    #[schema(nullable = false)]
    pub acknowledged_autonomy: Option<bool>,
    /// A session of the agent's own command line to go on with.
    #[schema(nullable = false, value_type = Option<String>, format = "uuid")]
    pub resume_id: Option<SessionId>,
}

impl FromFields for OpenSession {
    fn read(fields: &mut Fields) -> Self {
        Self {
            id: maybe_uuid(fields, "id"),
            agent_id: fields.maybe_text("agentId").map(|id| AgentId::named(&id)),
            cwd: fields.maybe_text("cwd"),
            runtime: fields.maybe_text("runtime"),
            title: fields.maybe_text("title"),
            permission_mode: fields.maybe_text("permissionMode"),
            model: fields.maybe_text("model"),
            effort: fields.maybe_text("effort"),
            acknowledged_autonomy: fields.maybe_flag("acknowledgedAutonomy"),
            resume_id: maybe_uuid(fields, "resumeId"),
        }
    }
}

fn maybe_uuid(fields: &mut Fields, name: &str) -> Option<SessionId> {
    let text = fields.maybe_text(name)?;
    let id = SessionId::parse(&text.to_ascii_lowercase());
    if id.is_none() {
        fields.fail_field(name, "must be a UUID");
    }
    id
}

impl From<OpenSession> for sessions::NewSession {
    fn from(ask: OpenSession) -> Self {
        Self {
            id: ask.id,
            agent: ask.agent_id,
            cwd: ask.cwd,
            runtime: ask.runtime,
            title: ask.title,
            permission_mode: ask.permission_mode,
            model: ask.model,
            effort: ask.effort,
            acknowledged_autonomy: ask.acknowledged_autonomy.unwrap_or(false),
            resume: ask.resume_id,
        }
    }
}

/// Changes a session; absent fields stay.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"title": "Release notes", "permissionMode": "default"}))]
pub struct UpdateSession {
    /// 1..200 characters.
    #[schema(nullable = false)]
    pub title: Option<String>,
    /// One of the runtime's modes; counts at once.
    #[schema(nullable = false)]
    pub permission_mode: Option<String>,
    /// Whether a person acknowledged a mode that acts unattended.
    #[schema(nullable = false)]
    pub acknowledged_autonomy: Option<bool>,
    /// `""` is the runtime's own.
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// `""` is the runtime's own.
    #[schema(nullable = false)]
    pub effort: Option<String>,
}

impl FromFields for UpdateSession {
    fn read(fields: &mut Fields) -> Self {
        Self {
            title: fields.maybe_text("title"),
            permission_mode: fields.maybe_text("permissionMode"),
            acknowledged_autonomy: fields.maybe_flag("acknowledgedAutonomy"),
            model: fields.maybe_text("model"),
            effort: fields.maybe_text("effort"),
        }
    }
}

impl From<UpdateSession> for sessions::SessionPatch {
    fn from(ask: UpdateSession) -> Self {
        Self {
            title: ask.title,
            permission_mode: ask.permission_mode,
            model: ask.model,
            effort: ask.effort,
            acknowledged_autonomy: ask.acknowledged_autonomy.unwrap_or(false),
        }
    }
}

/// Sends a message.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SendMessage {
    /// 1..100,000 characters.
    #[schema(example = "Run the tests")]
    pub content: String,
    /// Empty: a session takes no files yet; an agent reads them by their path.
    #[schema(max_items = 0, example = json!([]))]
    pub attachments: Option<Vec<String>>,
}

impl FromFields for SendMessage {
    fn read(fields: &mut Fields) -> Self {
        let attachments = fields.maybe_texts("attachments");
        if attachments.as_ref().is_some_and(|files| !files.is_empty()) {
            fields.fail_field("attachments", "a session takes no files; name them by path");
        }
        Self {
            content: fields.text("content"),
            attachments,
        }
    }
}

/// Whether a message's turn started at once.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendOutcome {
    /// Its turn starts now.
    Started,
    /// It waits.
    Queued,
}

/// What became of a message.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentMessage {
    /// Its session.
    #[schema(value_type = String)]
    pub session_id: SessionId,
    /// Its id.
    #[schema(value_type = String)]
    pub message_id: MessageId,
    /// Whether its turn started at once.
    pub outcome: SendOutcome,
    /// Its place in the queue, from 1.
    pub queue_position: u32,
}

/// Changes the words of a message that waits.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UpdateQueuedMessage {
    /// 1..100,000 characters.
    #[schema(example = "Run the tests again")]
    pub content: String,
}

impl FromFields for UpdateQueuedMessage {
    fn read(fields: &mut Fields) -> Self {
        Self {
            content: fields.text("content"),
        }
    }
}

/// A message that waits.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedMessage {
    /// Its id.
    #[schema(value_type = String)]
    pub id: MessageId,
    /// Its words.
    pub content: String,
    /// When it was accepted.
    #[schema(value_type = String, format = DateTime)]
    pub enqueued_at: Timestamp,
    /// Who wrote it.
    #[schema(value_type = String)]
    pub enqueued_by: AuthorId,
}

/// What waits in a session.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MessageQueue {
    /// In order.
    pub queue: Vec<QueuedMessage>,
}

/// Stops the turn of a session.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelTurn {
    /// Whether what waits stays; false when absent.
    #[schema(nullable = false)]
    pub keep_queue: Option<bool>,
}

impl FromFields for CancelTurn {
    fn read(fields: &mut Fields) -> Self {
        Self {
            keep_queue: fields.maybe_flag("keepQueue"),
        }
    }
}

/// What became of a turn that was to stop.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelledTurn {
    /// Whether one ran.
    pub ok: bool,
    /// Messages taken out of the queue.
    pub cancelled_queued: u32,
}

/// A session as it was at a cursor.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSnapshot {
    /// Events up to here are in it.
    pub cursor: u64,
    /// The session.
    pub session: Session,
    /// Its newest 50 messages, oldest first.
    pub messages: Vec<Message>,
    /// Its asks that wait for a person, oldest first.
    pub pending_interactions: Vec<Interaction>,
    /// What waits, in order.
    pub queue: Vec<QueuedMessage>,
}
