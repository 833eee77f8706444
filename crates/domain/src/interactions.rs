//! Interactions: what an agent asks a person during a turn, and what a decision answers it.
//! Pure: rows are `store::approvals`, deciding is `hall::interactions`. Source: contract 3.8.

mod approval_card;
mod decision_requests;
mod decisions;
mod form_answers;
mod resume_messages;
mod states;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Timestamp,
    ids::{AgentId, ApprovalId, AuthorId, RoomId, SessionId},
    transcript::{ToolContent, ToolKind, ToolLocation},
};

pub use crate::approvals::ApprovalState;
pub use approval_card::InteractionCard;
pub use decision_requests::{ApproveRequest, BatchRequest, DenyRequest, SubmitAnswersRequest};
pub use decisions::{Decision, DecisionResult, decide, option_to_allow, response_to_refuse};
pub use form_answers::{FormAnswers, convert};
pub use resume_messages::{answer_message, grant_message, opaque_message};
pub use states::{InteractionRecord, InteractionTrigger};

/// What kind of answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InteractionKind {
    /// A tool call wants a yes or a no.
    ToolCall,
    /// A question wants words.
    Question,
}

impl InteractionKind {
    /// Every kind with its word.
    pub const WORDS: [(Self, &str); 2] =
        [(Self::ToolCall, "tool_call"), (Self::Question, "question")];

    /// Its word, which is also the capability its digest names.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToolCall => "tool_call",
            Self::Question => "question",
        }
    }
}

/// What an option does. Source: the Agent Client Protocol's permission options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionChoiceKind {
    /// This once.
    AllowOnce,
    /// This and all that is like it.
    AllowAlways,
    /// Not this once.
    RejectOnce,
    /// Not this and nothing that is like it.
    RejectAlways,
}

/// An answer the agent offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionChoice {
    /// The agent's id of it.
    pub option_id: String,
    /// Its words.
    pub name: String,
    /// What it does.
    pub kind: PermissionChoiceKind,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionType {
    /// In words.
    Text,
    /// By a number.
    Number,
    /// By yes or no.
    Boolean,
    /// By one of the options.
    Choice,
    /// By some of the options.
    Multi,
    /// By opening a link.
    Link,
}

/// One of a question's choices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionChoice {
    /// What is answered.
    pub value: String,
    /// What a person reads.
    pub label: String,
}

/// One question of a form. Source: contract 3.8.1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The form's name of it.
    pub id: String,
    /// What a person reads.
    pub title: String,
    /// More words, or `""`; the address of a link.
    pub description: String,
    /// How it is answered.
    #[serde(rename = "type")]
    pub kind: QuestionType,
    /// The choices, for a choice.
    pub options: Vec<QuestionChoice>,
    /// Whether it must be answered.
    pub required: bool,
    /// What it is unless answered.
    pub default: Option<Value>,
}

/// Why an interaction is over, as a person reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// A person said yes.
    Approved,
    /// A person said no.
    Denied,
    /// A person answered.
    Answered,
    /// Nobody answered in time.
    Expired,
    /// The turn ended first.
    Cancelled,
}

/// What a person decided with, beside yes and no.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionReply {
    /// The agent's option that a yes selected.
    pub option: Option<PermissionChoice>,
    /// Why a person said no.
    pub deny_reason: Option<String>,
    /// The answers to a question, by question.
    pub answers: Option<Map<String, Value>>,
}

/// An interaction as the interface shows it. Source: contract 3.8.1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interaction {
    /// The approval's row.
    pub id: ApprovalId,
    /// The session that asks.
    pub session_id: SessionId,
    /// The call it is about; the row's id for a question without one.
    pub tool_call_id: String,
    /// What answer is wanted.
    pub kind: InteractionKind,
    /// Where it stands.
    pub state: ApprovalState,
    /// One line.
    pub title: String,
    /// The tool's own name, or `""`.
    pub tool_name: String,
    /// What the tool does.
    pub tool_kind: ToolKind,
    /// The arguments, at most [`crate::limits::INPUT_SHOWN_MAX`] bytes of JSON.
    pub input: Value,
    /// Whether `input` was cut.
    pub input_truncated: bool,
    /// Full diffs and texts.
    pub content: Vec<ToolContent>,
    /// Places it touches.
    pub locations: Vec<ToolLocation>,
    /// The session's folder.
    pub cwd: String,
    /// The permission mode in force.
    pub mode: String,
    /// The answers the agent offers.
    pub options: Vec<PermissionChoice>,
    /// What is asked, for a question.
    pub questions: Vec<Question>,
    /// 64 hex digits over what is asked; another input has another.
    pub digest: String,
    /// Whether there is nothing to show but an id.
    pub opaque: bool,
    /// When it was asked.
    pub opened_at: Timestamp,
    /// When it is parked.
    pub parks_at: Timestamp,
    /// When it is refused for want of an answer.
    pub expires_at: Timestamp,
    /// Milliseconds until then.
    pub remaining_ms: i64,
    /// Whether nobody answered for a while.
    pub parked: bool,
    /// Whether the agent that asked is gone.
    pub detached: bool,
    /// Why it is over; `None` while it is not.
    pub resolution: Option<Resolution>,
    /// Who ended it; `None` for the clock and the server.
    pub resolved_by: Option<AuthorId>,
    /// When it ended.
    pub resolved_at: Option<Timestamp>,
    /// What a person decided with; `None` while nobody did.
    pub reply: Option<DecisionReply>,
}

/// An interaction in a list over all sessions. Source: contract 3.8.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedInteraction {
    /// The interaction.
    pub interaction: Interaction,
    /// Whose session asks.
    pub agent_id: AgentId,
    /// The room whose turns run in the session.
    pub room_id: Option<RoomId>,
}

/// What an agent asks, as it comes in.
#[derive(Clone, Debug, PartialEq)]
pub enum InteractionRequest {
    /// A tool call wants a yes or a no; the call is known by its id.
    Permission {
        /// The call.
        tool_call_id: String,
        /// The answers offered.
        options: Vec<PermissionChoice>,
    },
    /// A form wants answers.
    Form {
        /// The call it belongs to, if any.
        tool_call_id: Option<String>,
        /// What the agent says.
        message: String,
        /// What is asked.
        questions: Vec<Question>,
    },
}

/// What an agent is told.
#[derive(Clone, Debug, PartialEq)]
pub enum InteractionResponse {
    /// One of the options it offered.
    Selected(String),
    /// A form's values by question.
    Accepted(Map<String, Value>),
    /// The person does not want to answer.
    Declined,
    /// The turn is over.
    Cancelled,
}
