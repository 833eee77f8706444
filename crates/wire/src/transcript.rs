//! Messages and what they are made of, on the wire. Source: contract 3.5.

use guildhall_domain::{
    Timestamp,
    ids::{AuthorId, MessageId, SessionId, SessionTurnId},
    transcript,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = MessageRole)]
pub enum MessageRole {
    /// A person, or a room's post handed to the agent.
    User,
    /// The agent.
    Assistant,
    /// The server.
    Notice,
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// Its turn has not begun.
    Queued,
    /// It was handed to the agent.
    Delivered,
    /// The agent is writing it.
    Streaming,
    /// It is whole.
    Complete,
    /// The agent stopped in the middle of it.
    Interrupted,
}

/// One message of a session.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// UUIDv7.
    #[schema(value_type = String)]
    pub id: MessageId,
    /// Its place in the session, from 1.
    pub seq: u64,
    /// Its session.
    #[schema(value_type = String)]
    pub session_id: SessionId,
    /// The turn it belongs to.
    #[schema(required = true, value_type = Option<String>)]
    pub turn_id: Option<SessionTurnId>,
    /// Who speaks.
    pub role: MessageRole,
    /// Who wrote it.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
    /// Where it stands.
    pub state: MessageState,
    /// When it was accepted or begun.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// What it is made of, in order.
    pub parts: Vec<MessagePart>,
}

impl From<transcript::Message> for Message {
    fn from(message: transcript::Message) -> Self {
        Self {
            id: message.id,
            seq: message.seq,
            session_id: message.session_id,
            turn_id: message.turn_id,
            role: match message.role {
                transcript::MessageRole::User => MessageRole::User,
                transcript::MessageRole::Assistant => MessageRole::Assistant,
                transcript::MessageRole::Notice => MessageRole::Notice,
            },
            author_id: message.author_id,
            state: match message.state {
                transcript::MessageState::Queued => MessageState::Queued,
                transcript::MessageState::Delivered => MessageState::Delivered,
                transcript::MessageState::Streaming => MessageState::Streaming,
                transcript::MessageState::Complete => MessageState::Complete,
                transcript::MessageState::Interrupted => MessageState::Interrupted,
            },
            created_at: message.created_at,
            parts: message.parts.into_iter().map(Into::into).collect(),
        }
    }
}

/// A piece of a message.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum MessagePart {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// What the agent thought aloud.
    Thinking {
        /// The words.
        text: String,
    },
    /// A tool at work.
    ToolCall(Box<ToolCall>),
    /// The agent's plan, as a whole.
    Plan {
        /// Its entries, in order.
        entries: Vec<PlanEntry>,
    },
    /// A file that came with the message.
    Attachment {
        /// Its name.
        name: String,
        /// Its media type.
        #[serde(rename = "mediaType")] // The document does not follow `rename_all_fields`.
        media_type: String,
        /// Its size in bytes.
        size: u64,
    },
}

impl From<transcript::MessagePart> for MessagePart {
    fn from(part: transcript::MessagePart) -> Self {
        match part {
            transcript::MessagePart::Text { text } => Self::Text { text },
            transcript::MessagePart::Thinking { text } => Self::Thinking { text },
            transcript::MessagePart::ToolCall(call) => Self::ToolCall(Box::new(call.into())),
            transcript::MessagePart::Plan { entries } => Self::Plan {
                entries: entries.into_iter().map(Into::into).collect(),
            },
            transcript::MessagePart::Attachment {
                name,
                media_type,
                size,
            } => Self::Attachment {
                name,
                media_type,
                size,
            },
        }
    }
}

/// A step of a plan.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
    /// `high`, `medium`, `low` or `""`.
    pub priority: String,
}

impl From<transcript::PlanEntry> for PlanEntry {
    fn from(entry: transcript::PlanEntry) -> Self {
        Self {
            content: entry.content,
            status: entry.status,
            priority: entry.priority,
        }
    }
}

/// What a tool does.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads.
    Read,
    /// Changes a file.
    Edit,
    /// Removes.
    Delete,
    /// Moves.
    Move,
    /// Searches.
    Search,
    /// Runs a program.
    Execute,
    /// Thinks.
    Think,
    /// Fetches from the network.
    Fetch,
    /// Switches the agent's mode.
    SwitchMode,
    /// Anything else.
    Other,
}

impl From<transcript::ToolKind> for ToolKind {
    fn from(kind: transcript::ToolKind) -> Self {
        match kind {
            transcript::ToolKind::Read => Self::Read,
            transcript::ToolKind::Edit => Self::Edit,
            transcript::ToolKind::Delete => Self::Delete,
            transcript::ToolKind::Move => Self::Move,
            transcript::ToolKind::Search => Self::Search,
            transcript::ToolKind::Execute => Self::Execute,
            transcript::ToolKind::Think => Self::Think,
            transcript::ToolKind::Fetch => Self::Fetch,
            transcript::ToolKind::SwitchMode => Self::SwitchMode,
            transcript::ToolKind::Other => Self::Other,
        }
    }
}

/// Where a tool call stands; the last four are final.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Announced.
    Pending,
    /// A person must decide.
    Waiting,
    /// It runs.
    InProgress,
    /// It ended well.
    Completed,
    /// It ended badly.
    Failed,
    /// A person said no, or nobody answered in time.
    Denied,
    /// The turn ended first.
    Cancelled,
}

impl From<transcript::ToolStatus> for ToolStatus {
    fn from(status: transcript::ToolStatus) -> Self {
        match status {
            transcript::ToolStatus::Pending => Self::Pending,
            transcript::ToolStatus::Waiting => Self::Waiting,
            transcript::ToolStatus::InProgress => Self::InProgress,
            transcript::ToolStatus::Completed => Self::Completed,
            transcript::ToolStatus::Failed => Self::Failed,
            transcript::ToolStatus::Denied => Self::Denied,
            transcript::ToolStatus::Cancelled => Self::Cancelled,
        }
    }
}

/// A tool call with all that is known of it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The agent's id of it.
    pub tool_call_id: String,
    /// One line; `""` until announced.
    pub title: String,
    /// The tool's own name, or `""`.
    pub tool_name: String,
    /// What it does.
    pub kind: ToolKind,
    /// Where it stands.
    pub status: ToolStatus,
    /// The arguments as the agent sent them; null until it did.
    pub input: Value,
    /// What came out, at most 1 MiB; null until something did.
    pub output: Value,
    /// Diffs and texts.
    pub content: Vec<ToolContent>,
    /// Places it touches.
    pub locations: Vec<ToolLocation>,
}

impl From<transcript::ToolCall> for ToolCall {
    fn from(call: transcript::ToolCall) -> Self {
        Self {
            tool_call_id: call.tool_call_id,
            title: call.title,
            tool_name: call.tool_name,
            kind: call.kind.into(),
            status: call.status.into(),
            input: call.input,
            output: call.output,
            content: call.content.into_iter().map(Into::into).collect(),
            locations: call.locations.into_iter().map(Into::into).collect(),
        }
    }
}

/// What a tool call shows beside its output.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ToolContent {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A change of one file, whole on both sides.
    Diff {
        /// The file's path as the agent names it.
        path: String,
        /// Its text before; null for a new file.
        #[schema(required = true)]
        #[serde(rename = "oldText")] // The document does not follow `rename_all_fields`.
        old_text: Option<String>,
        /// Its text after.
        #[serde(rename = "newText")]
        new_text: String,
    },
    /// Something this version does not show.
    Unshown {
        /// What kind the agent said it is.
        kind: String,
    },
}

impl From<transcript::ToolContent> for ToolContent {
    fn from(content: transcript::ToolContent) -> Self {
        match content {
            transcript::ToolContent::Text { text } => Self::Text { text },
            transcript::ToolContent::Diff {
                path,
                old_text,
                new_text,
            } => Self::Diff {
                path,
                old_text,
                new_text,
            },
            transcript::ToolContent::Unshown { kind } => Self::Unshown { kind },
        }
    }
}

/// A place a tool call touches.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ToolLocation {
    /// The file's path as the agent names it.
    pub path: String,
    /// The line, from 1; null for the file.
    #[schema(required = true)]
    pub line: Option<u32>,
}

impl From<transcript::ToolLocation> for ToolLocation {
    fn from(location: transcript::ToolLocation) -> Self {
        Self {
            path: location.path,
            line: location.line,
        }
    }
}

/// A run of a session's messages.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Messages {
    /// Oldest first.
    pub messages: Vec<Message>,
    /// Where the next page begins; null at the end.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
}
