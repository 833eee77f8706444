//! Transcripts: messages made of parts, and how an agent's updates join into them.
//! Pure: what an agent sends is read by `world::acp`; rows are `store::messages`.

mod denied_privileges;
mod turn_calls;

pub use turn_calls::{MergedCall, TurnCalls};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Timestamp,
    ids::{AuthorId, MessageId, SessionId, SessionTurnId},
    limits,
};

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// A person, or a room's post handed to the agent.
    User,
    /// The agent.
    Assistant,
    /// The server.
    Notice,
}

impl MessageRole {
    /// Every role with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::User, "user"),
        (Self::Assistant, "assistant"),
        (Self::Notice, "notice"),
    ];
}

/// Where a message stands. Source: contract 3.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl MessageState {
    /// Every state with its word.
    pub const WORDS: [(Self, &str); 5] = [
        (Self::Queued, "queued"),
        (Self::Delivered, "delivered"),
        (Self::Streaming, "streaming"),
        (Self::Complete, "complete"),
        (Self::Interrupted, "interrupted"),
    ];
}

/// One message of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Its place in the session, from 1; 0 while it is queued.
    pub seq: u64,
    /// Its session.
    pub session_id: SessionId,
    /// The turn it belongs to; `None` while it is queued.
    pub turn_id: Option<SessionTurnId>,
    /// Who speaks.
    pub role: MessageRole,
    /// Who wrote it.
    pub author_id: AuthorId,
    /// Where it stands.
    pub state: MessageState,
    /// When it was accepted or begun.
    pub created_at: Timestamp,
    /// What it is made of, in order.
    pub parts: Vec<MessagePart>,
}

impl Message {
    /// The text of all its text parts, one after the other.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                MessagePart::Text { text } => Some(text.as_str()),
                MessagePart::Thinking { .. }
                | MessagePart::ToolCall(_)
                | MessagePart::Plan { .. }
                | MessagePart::Attachment { .. } => None,
            })
            .collect()
    }
}

/// A piece of a message. Source: contract 3.5.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[expect(
    clippy::large_enum_variant,
    reason = "most parts of a long message are calls"
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
    ToolCall(ToolCall),
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
        media_type: String,
        /// Its size in bytes.
        size: u64,
    },
}

/// Text of a message that grows. Source: contract 3.6.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// Words.
    Text,
    /// What the agent thinks aloud.
    Thinking,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
    /// `high`, `medium` or `low`; `""` when the agent gave none.
    pub priority: String,
}

/// What a tool does. Source: contract 3.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    #[default]
    Other,
}

impl ToolKind {
    /// Every kind with its word.
    pub const WORDS: [(Self, &str); 10] = [
        (Self::Read, "read"),
        (Self::Edit, "edit"),
        (Self::Delete, "delete"),
        (Self::Move, "move"),
        (Self::Search, "search"),
        (Self::Execute, "execute"),
        (Self::Think, "think"),
        (Self::Fetch, "fetch"),
        (Self::SwitchMode, "switch_mode"),
        (Self::Other, "other"),
    ];
}

/// Where a tool call stands; the last four are final. Source: contract 3.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Announced.
    #[default]
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

impl ToolStatus {
    /// Whether nothing follows it.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Denied | Self::Cancelled
        )
    }
}

/// What a tool call shows beside its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        /// Its text before; `None` for a new file.
        old_text: Option<String>,
        /// Its text after.
        new_text: String,
    },
    /// Something this version does not show; holds what kind the agent said it is.
    Unshown {
        /// The kind.
        kind: String,
    },
}

/// A place a tool call touches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolLocation {
    /// The file's path as the agent names it.
    pub path: String,
    /// The line, from 1; `None` for the file.
    pub line: Option<u32>,
}

/// A tool call with all that is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The agent's id of it, 1..256 characters.
    pub tool_call_id: String,
    /// One line; `""` until announced.
    pub title: String,
    /// The tool's own name; `""` when the agent told none.
    pub tool_name: String,
    /// What it does.
    pub kind: ToolKind,
    /// Where it stands.
    pub status: ToolStatus,
    /// The arguments as the agent sent them; null until it did.
    pub input: Value,
    /// What came out; null until it did. Cut at [`limits::TOOL_OUTPUT_STORED_MAX`].
    pub output: Value,
    /// Diffs and texts.
    pub content: Vec<ToolContent>,
    /// Places it touches.
    pub locations: Vec<ToolLocation>,
}

impl ToolCall {
    /// A call of which only the id is known.
    pub fn unannounced(id: String) -> Self {
        Self {
            tool_call_id: id,
            title: String::new(),
            tool_name: String::new(),
            kind: ToolKind::Other,
            status: ToolStatus::Pending,
            input: Value::Null,
            output: Value::Null,
            content: Vec::new(),
            locations: Vec::new(),
        }
    }

    /// Whether a person who decided on one of the calls decided on the other as well.
    pub fn is_same_request(&self, other: &Self) -> bool {
        self.title == other.title
            && self.tool_name == other.tool_name
            && self.kind == other.kind
            && self.input == other.input
            && self.content == other.content
            && self.locations == other.locations
    }

    /// Takes in what an agent says of the call, in whatever order and however often it says it:
    /// the last field that holds something wins, and a final status stays.
    ///
    /// Source: contract 3.3.3, the table of quirks.
    pub fn join(&mut self, patch: ToolCallPatch) {
        fn take<T>(old: &mut T, new: Option<T>, is_empty: impl Fn(&T) -> bool) {
            if let Some(new) = new.filter(|new| !is_empty(new)) {
                *old = new;
            }
        }
        if self.tool_name.is_empty()
            && self.title.is_empty()
            && let Some(title) = &patch.title
            && is_name(title)
        {
            self.tool_name.clone_from(title);
        }
        take(&mut self.title, patch.title, String::is_empty);
        take(&mut self.tool_name, patch.tool_name, String::is_empty);
        take(&mut self.kind, patch.kind, |kind| *kind == ToolKind::Other);
        take(&mut self.input, patch.input, is_nothing);
        take(&mut self.output, patch.output.map(bounded), is_nothing);
        take(&mut self.content, patch.content, Vec::is_empty);
        take(&mut self.locations, patch.locations, Vec::is_empty);
        if let Some(status) = patch.status
            && !self.status.is_final()
        {
            self.status = status;
        }
    }
}

/// Whether a call's first title is its tool's name, as agents that send no name have it.
fn is_name(title: &str) -> bool {
    let mut chars = title.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a JSON value says nothing.
pub(crate) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// An output that may be kept: a longer one becomes its beginning as text, with a mark.
fn bounded(value: Value) -> Value {
    let text = match value {
        Value::String(text) if text.len() > limits::TOOL_OUTPUT_STORED_MAX => text,
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => return value,
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() <= limits::TOOL_OUTPUT_STORED_MAX {
                return value;
            }
            text
        }
    };
    let end = text.floor_char_boundary(limits::TOOL_OUTPUT_STORED_MAX);
    Value::String(format!(
        "{}\n[cut: {} bytes in all]",
        &text[..end],
        text.len()
    ))
}

/// What an agent says of a tool call at one time; absent says nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCallPatch {
    /// The agent's id of it.
    pub tool_call_id: String,
    /// One line.
    pub title: Option<String>,
    /// The tool's own name.
    pub tool_name: Option<String>,
    /// What it does.
    pub kind: Option<ToolKind>,
    /// Where it stands.
    pub status: Option<ToolStatus>,
    /// The arguments.
    pub input: Option<Value>,
    /// What came out.
    pub output: Option<Value>,
    /// Diffs and texts.
    pub content: Option<Vec<ToolContent>>,
    /// Places it touches.
    pub locations: Option<Vec<ToolLocation>>,
}

impl ToolCallPatch {
    /// Says nothing but which call is meant.
    pub fn of(tool_call_id: impl Into<String>) -> Self {
        Self {
            tool_call_id: tool_call_id.into(),
            title: None,
            tool_name: None,
            kind: None,
            status: None,
            input: None,
            output: None,
            content: None,
            locations: None,
        }
    }
}
