//! Interactions on the wire: what agents ask, and how people decide. Source: contract 3.8.

use std::collections::BTreeMap;

use guildhall_domain::{
    Timestamp,
    ids::{AgentId, ApprovalId, AuthorId, RoomId, SessionId},
    interactions as rules,
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    request_fields::{Fields, FromFields},
    transcript::{ToolContent, ToolKind, ToolLocation},
};

macro_rules! wire_enums {
    ($($(#[$doc:meta])* $name:ident = $from:path { $($(#[$inner:meta])* $variant:ident,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Serialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$inner])* $variant,)+
        }

        impl From<$from> for $name {
            fn from(word: $from) -> Self {
                use $from as From;
                match word {
                    $(From::$variant => Self::$variant,)+
                }
            }
        }
    )+};
}

wire_enums! {
    /// What kind of answer is wanted.
    InteractionKind = rules::InteractionKind {
        /// A tool call wants a yes or a no.
        ToolCall,
        /// A question wants words.
        Question,
    }
    /// Where it stands.
    InteractionState = rules::ApprovalState {
        /// A person must decide.
        Pending,
        /// Allowed, and not used yet.
        Granted,
        /// Refused.
        Denied,
        /// Nobody decided in time, or it was not used in time.
        Expired,
        /// It no longer matters.
        Withdrawn,
        /// Allowed and used, or answered.
        Consumed,
    }
    /// Why it is over.
    Resolution = rules::Resolution {
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
    /// What an option does.
    PermissionChoiceKind = rules::PermissionChoiceKind {
        /// Allows this once.
        AllowOnce,
        /// Allows this and all that is like it.
        AllowAlways,
        /// Rejects this once.
        RejectOnce,
        /// Rejects this and all that is like it.
        RejectAlways,
    }
    /// How a question is answered.
    QuestionType = rules::QuestionType {
        /// In words.
        Text,
        /// By a number.
        Number,
        /// By `true` or `false`.
        Boolean,
        /// By one of the options.
        Choice,
        /// By some of the options.
        Multi,
        /// By opening a link; it takes no answer.
        Link,
    }
}

/// An answer the agent offers.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionChoice {
    /// The agent's id of it.
    pub option_id: String,
    /// The agent's words.
    pub name: String,
    /// What it does.
    pub kind: PermissionChoiceKind,
}

/// One of a question's choices.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct QuestionChoice {
    /// What is answered.
    pub value: String,
    /// What a person reads.
    pub label: String,
}

/// One question of a form.
#[derive(Clone, Debug, Serialize, ToSchema)]
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
    /// What it is unless answered; null for nothing.
    pub default: Value,
}

/// What a person decided with, beside yes and no.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionReply {
    /// The agent's option that a yes selected; null for anything else.
    #[schema(required = true)]
    pub option: Option<PermissionChoice>,
    /// Why a person said no; null where no word was given.
    #[schema(required = true)]
    pub deny_reason: Option<String>,
    /// The answers to a question, by question; null where none were given.
    #[schema(required = true, value_type = Option<BTreeMap<String, Value>>)]
    pub answers: Option<Map<String, Value>>,
}

/// What an agent asks a person.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Interaction {
    /// UUIDv7.
    #[schema(value_type = String)]
    pub id: ApprovalId,
    /// The session that asks.
    #[schema(value_type = String)]
    pub session_id: SessionId,
    /// The call it is about; the interaction's own id for a question without one.
    pub tool_call_id: String,
    /// What answer is wanted.
    pub kind: InteractionKind,
    /// Where it stands.
    pub state: InteractionState,
    /// One line, in the agent's words.
    pub title: String,
    /// The tool's own name, or `""`.
    pub tool_name: String,
    /// What the tool does.
    pub tool_kind: ToolKind,
    /// The arguments; the beginning of their JSON as text when `inputTruncated`.
    pub input: Value,
    /// Whether `input` was cut at 256 KiB.
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
    #[schema(value_type = String, format = DateTime)]
    pub opened_at: Timestamp,
    /// When it is parked.
    #[schema(value_type = String, format = DateTime)]
    pub parks_at: Timestamp,
    /// When it is refused for want of an answer.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// Milliseconds until then, by the server's clock; 0 when it is over.
    pub remaining_ms: i64,
    /// Whether nobody answered for a while.
    pub parked: bool,
    /// Whether the agent that asked is gone; a yes then waits for it.
    pub detached: bool,
    /// Why it is over; null while it is not.
    #[schema(required = true)]
    pub resolution: Option<Resolution>,
    /// Who ended it; null for the clock and the server.
    #[schema(required = true, value_type = Option<String>)]
    pub resolved_by: Option<AuthorId>,
    /// When it ended; null while it has not.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub resolved_at: Option<Timestamp>,
    /// What a person decided with; null where nobody did.
    #[schema(required = true)]
    pub reply: Option<DecisionReply>,
}

/// An interaction in the list over all sessions.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingInteraction {
    /// What is asked.
    #[serde(flatten)]
    pub interaction: Interaction,
    /// Whose session asks.
    #[schema(value_type = String)]
    pub agent_id: AgentId,
    /// The room whose turns run in the session; null for one of its own.
    #[schema(required = true, value_type = Option<String>)]
    pub room_id: Option<RoomId>,
}

/// What waits for a person.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PendingInteractions {
    /// Oldest first.
    pub interactions: Vec<PendingInteraction>,
}

/// A page of what a session asked.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Interactions {
    /// Oldest first.
    pub interactions: Vec<Interaction>,
    /// Where the page with the ones before begins.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
}

/// A decision was taken.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct DecisionResponse {
    /// Always true.
    #[schema(example = true)]
    pub ok: bool,
}

/// What became of one call of a batch.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchResult {
    /// The call.
    pub tool_call_id: String,
    /// Whether it was decided.
    pub ok: bool,
    /// The code of the refusal, or `""`.
    pub code: String,
}

/// What became of a batch.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BatchResults {
    /// In the order of the request.
    pub results: Vec<BatchResult>,
}

impl From<rules::ListedInteraction> for PendingInteraction {
    fn from(listed: rules::ListedInteraction) -> Self {
        Self {
            interaction: listed.interaction.into(),
            agent_id: listed.agent_id,
            room_id: listed.room_id,
        }
    }
}

impl From<rules::Interaction> for Interaction {
    fn from(interaction: rules::Interaction) -> Self {
        Self {
            id: interaction.id,
            session_id: interaction.session_id,
            tool_call_id: interaction.tool_call_id,
            kind: interaction.kind.into(),
            state: interaction.state.into(),
            title: interaction.title,
            tool_name: interaction.tool_name,
            tool_kind: interaction.tool_kind.into(),
            input: interaction.input,
            input_truncated: interaction.input_truncated,
            content: interaction.content.into_iter().map(Into::into).collect(),
            locations: interaction.locations.into_iter().map(Into::into).collect(),
            cwd: interaction.cwd,
            mode: interaction.mode,
            options: interaction.options.into_iter().map(Into::into).collect(),
            questions: interaction.questions.into_iter().map(Into::into).collect(),
            digest: interaction.digest,
            opaque: interaction.opaque,
            opened_at: interaction.opened_at,
            parks_at: interaction.parks_at,
            expires_at: interaction.expires_at,
            remaining_ms: interaction.remaining_ms,
            parked: interaction.parked,
            detached: interaction.detached,
            resolution: interaction.resolution.map(Into::into),
            resolved_by: interaction.resolved_by,
            resolved_at: interaction.resolved_at,
            reply: interaction.reply.map(Into::into),
        }
    }
}

impl From<rules::DecisionReply> for DecisionReply {
    fn from(reply: rules::DecisionReply) -> Self {
        Self {
            option: reply.option.map(Into::into),
            deny_reason: reply.deny_reason,
            answers: reply.answers,
        }
    }
}

impl From<rules::PermissionChoice> for PermissionChoice {
    fn from(option: rules::PermissionChoice) -> Self {
        Self {
            option_id: option.option_id,
            name: option.name,
            kind: option.kind.into(),
        }
    }
}

impl From<rules::Question> for Question {
    fn from(question: rules::Question) -> Self {
        let choice = |choice: rules::QuestionChoice| QuestionChoice {
            value: choice.value,
            label: choice.label,
        };
        Self {
            id: question.id,
            title: question.title,
            description: question.description,
            kind: question.kind.into(),
            options: question.options.into_iter().map(choice).collect(),
            required: question.required,
            default: question.default.unwrap_or_default(),
        }
    }
}

/// Says yes to a tool call.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"toolCallId": "toolu_01"}))]
pub struct ApproveToolCall {
    /// The call; 1..256 characters.
    pub tool_call_id: String,
    /// Whether to allow all that is like it, too; false when absent.
    #[schema(nullable = false)]
    pub always_allow: Option<bool>,
    /// The very option, where several are of the kind.
    #[schema(nullable = false)]
    pub option_id: Option<String>,
    /// The digest of what was shown; the answer is refused when it is another by now.
    #[schema(nullable = false)]
    pub digest: Option<String>,
}

impl FromFields for ApproveToolCall {
    fn read(fields: &mut Fields) -> Self {
        Self {
            tool_call_id: fields.text("toolCallId"),
            always_allow: fields.maybe_flag("alwaysAllow"),
            option_id: fields.maybe_text("optionId"),
            digest: fields.maybe_text("digest"),
        }
    }
}

impl From<ApproveToolCall> for rules::ApproveRequest {
    fn from(ask: ApproveToolCall) -> Self {
        Self {
            tool_call_id: ask.tool_call_id,
            always_allow: ask.always_allow.unwrap_or(false),
            option_id: ask.option_id,
            digest: ask.digest,
        }
    }
}

/// Says no to a tool call.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"toolCallId": "toolu_01", "reason": "Use the staging database"}))]
pub struct DenyToolCall {
    /// The call; 1..256 characters.
    pub tool_call_id: String,
    /// Why; at most 1000 characters.
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// Whether the agent gets the reason as its next message; false when absent.
    #[schema(nullable = false)]
    pub tell_agent: Option<bool>,
}

impl FromFields for DenyToolCall {
    fn read(fields: &mut Fields) -> Self {
        Self {
            tool_call_id: fields.text("toolCallId"),
            reason: fields.maybe_text("reason"),
            tell_agent: fields.maybe_flag("tellAgent"),
        }
    }
}

impl From<DenyToolCall> for rules::DenyRequest {
    fn from(ask: DenyToolCall) -> Self {
        Self {
            tool_call_id: ask.tool_call_id,
            reason: ask.reason.unwrap_or_default(),
            tell_agent: ask.tell_agent.unwrap_or(false),
        }
    }
}

/// Decides on several tool calls.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecideBatch {
    /// 1 to 50 calls, each once.
    #[schema(example = json!(["toolu_01", "toolu_02"]))]
    pub tool_call_ids: Vec<String>,
}

impl FromFields for DecideBatch {
    fn read(fields: &mut Fields) -> Self {
        Self {
            tool_call_ids: fields.texts("toolCallIds"),
        }
    }
}

impl From<DecideBatch> for rules::BatchRequest {
    fn from(ask: DecideBatch) -> Self {
        Self {
            tool_call_ids: ask.tool_call_ids,
        }
    }
}

/// Answers a question.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"toolCallId": "toolu_01", "answers": {"colour": "green"}}))]
pub struct SubmitAnswers {
    /// The call it belongs to, or the interaction's own id; 1..256 characters.
    pub tool_call_id: String,
    /// By question: a text, or a list of texts where several options may be chosen.
    #[schema(nullable = false, value_type = Option<BTreeMap<String, Value>>)]
    pub answers: Option<BTreeMap<String, Vec<String>>>,
    /// Whether you do not want to answer; false when absent.
    #[schema(nullable = false)]
    pub decline: Option<bool>,
    /// The digest of what was shown; the answer is refused when it is another by now.
    #[schema(nullable = false)]
    pub digest: Option<String>,
}

impl FromFields for SubmitAnswers {
    fn read(fields: &mut Fields) -> Self {
        let ask = Self {
            tool_call_id: fields.text("toolCallId"),
            answers: fields.maybe_text_lists("answers"),
            decline: fields.maybe_flag("decline"),
            digest: fields.maybe_text("digest"),
        };
        if ask.answers.is_none() && ask.decline != Some(true) {
            fields.fail_field("answers", "is required unless decline is true");
        }
        ask
    }
}

impl From<SubmitAnswers> for rules::SubmitAnswersRequest {
    fn from(ask: SubmitAnswers) -> Self {
        let declines = ask.decline.unwrap_or(false);
        Self {
            tool_call_id: ask.tool_call_id,
            answers: ask.answers.filter(|_| !declines),
            digest: ask.digest,
        }
    }
}
