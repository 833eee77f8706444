//! Cards: what a person is shown of an ask, and what its digest is taken over.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{InteractionKind, InteractionRequest, Question};
use crate::{
    ids::ApprovalId,
    limits,
    sessions::Session,
    transcript::{ToolCall, ToolContent, ToolKind, ToolLocation, is_nothing},
};

/// What a person is shown of an ask; stored as it stands here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InteractionCard {
    /// One line: the call's, or what the agent says beside its questions.
    pub title: String,
    /// The tool's own name, or `""`.
    pub tool_name: String,
    /// What the tool does.
    pub tool_kind: ToolKind,
    /// The arguments; the beginning of their JSON as text when `input_truncated`.
    pub input: Value,
    /// Whether `input` was cut at [`limits::INPUT_SHOWN_MAX`] bytes.
    pub input_truncated: bool,
    /// Full diffs and texts, never cut.
    pub content: Vec<ToolContent>,
    /// Places it touches.
    pub locations: Vec<ToolLocation>,
    /// The session's folder.
    pub cwd: String,
    /// The permission mode in force.
    pub mode: String,
    /// What is asked, for a question.
    pub questions: Vec<Question>,
    /// Whether there is nothing to show but an id.
    pub opaque: bool,
    /// Whether a tool server asks, and not the agent: its question is of no use any more once
    /// the call it came of is gone.
    #[serde(default)]
    pub of_server: bool,
}

/// An ask with all that is known of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RequestWithCall {
    call: ToolCall,
    title: String,
    questions: Vec<Question>,
}

impl InteractionRequest {
    /// What answer is wanted.
    pub fn kind(&self) -> InteractionKind {
        match self {
            Self::Permission { .. } => InteractionKind::ToolCall,
            Self::Form { .. } => InteractionKind::Question,
        }
    }

    /// The call it is about; `own`, the row's id, for a form without one.
    pub fn tool_call_id(&self, own: ApprovalId) -> String {
        match self {
            Self::Permission { tool_call_id, .. } => tool_call_id.clone(),
            Self::Form { tool_call_id, .. } => {
                tool_call_id.clone().unwrap_or_else(|| own.to_string())
            }
        }
    }

    /// Joins what is asked with what is known of its call, which may be nothing.
    fn whole(&self, call: Option<&ToolCall>) -> RequestWithCall {
        let call = call.cloned();
        match self {
            Self::Permission { tool_call_id, .. } => {
                let call = call.unwrap_or_else(|| ToolCall::unannounced(tool_call_id.clone()));
                RequestWithCall {
                    title: call.title.clone(),
                    call,
                    questions: Vec::new(),
                }
            }
            Self::Form {
                message, questions, ..
            } => RequestWithCall {
                call: call.unwrap_or_else(|| ToolCall::unannounced(String::new())),
                title: message.clone(),
                questions: questions.clone(),
            },
        }
    }

    /// What a person is shown.
    pub fn card(&self, session: &Session, call: Option<&ToolCall>) -> InteractionCard {
        self.whole(call).card(session)
    }

    /// What the digest is taken over: the members of contract 3.8.1 with the input uncut; for a
    /// form its questions stand beside the call's input.
    pub fn digest_input(&self, session: &Session, call: Option<&ToolCall>) -> Value {
        self.whole(call).digest_input(session, self.kind())
    }
}

impl RequestWithCall {
    fn card(self, session: &Session) -> InteractionCard {
        let Self {
            call,
            title,
            questions,
        } = self;
        let opaque = title.is_empty()
            && call.tool_name.is_empty()
            && is_nothing(&call.input)
            && call.content.is_empty()
            && call.locations.is_empty()
            && questions.is_empty();
        let (input, input_truncated) = shown_input(call.input);
        InteractionCard {
            title,
            tool_name: call.tool_name,
            tool_kind: call.kind,
            input,
            input_truncated,
            content: call.content,
            locations: call.locations,
            cwd: session.cwd.clone(),
            mode: session.permission_mode.clone(),
            questions,
            opaque,
            of_server: false,
        }
    }

    fn digest_input(self, session: &Session, kind: InteractionKind) -> Value {
        let input = match kind {
            InteractionKind::ToolCall => self.call.input,
            InteractionKind::Question => {
                json!({ "input": self.call.input, "questions": self.questions })
            }
        };
        json!({
            "runtime": session.runtime,
            "cwd": session.cwd,
            "toolName": self.call.tool_name,
            "toolKind": self.call.kind,
            "title": self.title,
            "input": input,
            "content": self.call.content,
        })
    }
}

/// The input as far as it is shown, and whether it was cut: a longer one becomes the beginning
/// of its JSON as text.
fn shown_input(input: Value) -> (Value, bool) {
    let text = input.to_string();
    if text.len() <= limits::INPUT_SHOWN_MAX {
        return (input, false);
    }
    let end = text.floor_char_boundary(limits::INPUT_SHOWN_MAX);
    (Value::String(text[..end].to_owned()), true)
}
