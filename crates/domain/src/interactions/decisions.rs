//! Deciding: which of an agent's options a person's word becomes, and in which order a decision
//! is checked. Options are chosen by kind, never by position or id. Source: contract 3.8.1.

use super::{
    ApprovalState, DecisionReply, FormAnswers, InteractionKind, InteractionRecord,
    InteractionResponse, InteractionTrigger, PermissionChoice, PermissionChoiceKind, Question,
    convert,
};
use crate::{Refusal, Timestamp, errors::ResourceKind};

/// What a person decides.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Yes to a tool call.
    Approve {
        /// To all that is like it, too.
        always_allow: bool,
        /// The very option, where several are of the kind.
        option_id: Option<String>,
    },
    /// No to a tool call.
    Deny {
        /// Why, or `""`.
        reason: String,
    },
    /// Answers to a question.
    Answer(FormAnswers),
    /// A question that the person does not want to answer.
    Decline,
}

impl Decision {
    /// What kind of interaction it decides.
    pub fn kind(&self) -> InteractionKind {
        match self {
            Self::Approve { .. } | Self::Deny { .. } => InteractionKind::ToolCall,
            Self::Answer(_) | Self::Decline => InteractionKind::Question,
        }
    }

    /// What it does to the row.
    pub fn trigger(&self) -> InteractionTrigger {
        match self {
            Self::Approve { .. } => InteractionTrigger::Approve,
            Self::Deny { .. } | Self::Decline => InteractionTrigger::Deny,
            Self::Answer(_) => InteractionTrigger::Answer,
        }
    }
}

/// What a decision comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionResult {
    /// The row's next state.
    pub state: ApprovalState,
    /// What the agent is told, if it is there.
    pub answer: InteractionResponse,
    /// What is kept of the person's word.
    pub reply: DecisionReply,
}

/// Checks a decision on the row that was `found`, in the order of contract 3.8.1, rows 5 to 8;
/// `digest` is the one the person saw, `questions` those of the row.
///
/// # Errors
/// `NotFound` when there is no row or one of the other kind, `InteractionAlreadyResolved`,
/// `InteractionChanged`, `OptionNotOffered`, and `Validation` for answers that do not fit.
pub fn decide(
    found: Option<&InteractionRecord>,
    questions: &[Question],
    decision: &Decision,
    digest: Option<&str>,
    now: Timestamp,
) -> Result<DecisionResult, Refusal> {
    let missing = match decision.kind() {
        InteractionKind::ToolCall => Refusal::NotFound(ResourceKind::PendingApproval),
        InteractionKind::Question => Refusal::NotFound(ResourceKind::PendingQuestion),
    };
    let row = found
        .filter(|row| row.kind == decision.kind())
        .ok_or(missing)?;
    if let Some(resolved) = row.resolved(now) {
        let (resolution, at) = (resolved.resolution, resolved.at);
        return Err(Refusal::InteractionAlreadyResolved(resolution, at));
    }
    if digest.is_some_and(|digest| digest != row.digest) {
        return Err(Refusal::InteractionChanged(row.digest.clone()));
    }
    let answer = answer(row, questions, decision)?;
    // A row without resolution is pending, where every decision leads somewhere.
    let state = row.state.after(decision.trigger(), row.is_detached());
    Ok(DecisionResult {
        state: state.unwrap_or(row.state),
        reply: reply(row, decision, &answer),
        answer,
    })
}

fn reply(
    row: &InteractionRecord,
    decision: &Decision,
    answer: &InteractionResponse,
) -> DecisionReply {
    match (decision, answer) {
        (Decision::Approve { .. }, InteractionResponse::Selected(id)) => DecisionReply {
            option: row.option(id).cloned(),
            ..DecisionReply::default()
        },
        (Decision::Deny { reason }, _) => DecisionReply {
            deny_reason: Some(reason.clone()).filter(|reason| !reason.is_empty()),
            ..DecisionReply::default()
        },
        (Decision::Answer(_), InteractionResponse::Accepted(answers)) => DecisionReply {
            answers: Some(answers.clone()),
            ..DecisionReply::default()
        },
        (Decision::Approve { .. } | Decision::Answer(_) | Decision::Decline, _) => {
            DecisionReply::default()
        }
    }
}

fn answer(
    row: &InteractionRecord,
    questions: &[Question],
    decision: &Decision,
) -> Result<InteractionResponse, Refusal> {
    match decision {
        Decision::Approve {
            always_allow,
            option_id,
        } => option_to_allow(&row.options, *always_allow, option_id.as_deref())
            .map(|option| InteractionResponse::Selected(option.option_id.clone()))
            .ok_or_else(|| Refusal::OptionNotOffered(row.options.clone())),
        Decision::Deny { .. } => Ok(response_to_refuse(&row.options)),
        Decision::Answer(given) => convert(questions, given)
            .map(InteractionResponse::Accepted)
            .map_err(Refusal::Validation),
        Decision::Decline => Ok(InteractionResponse::Declined),
    }
}

/// The option that a yes selects: of kind `allow_once`, with `always_allow` of kind
/// `allow_always`, and with `option_id` that very one if it is of this kind.
///
/// Several `allow_always` differ in what they reach, so one must be named; of several
/// `allow_once` any means this once.
pub fn option_to_allow<'a>(
    options: &'a [PermissionChoice],
    always_allow: bool,
    option_id: Option<&str>,
) -> Option<&'a PermissionChoice> {
    let kind = if always_allow {
        PermissionChoiceKind::AllowAlways
    } else {
        PermissionChoiceKind::AllowOnce
    };
    let mut fitting = of_kind(options, kind)
        .filter(|option| option_id.is_none_or(|named| named == option.option_id));
    let first = fitting.next()?;
    let is_ambiguous = always_allow
        && option_id.is_none()
        && fitting.any(|other| other.option_id != first.option_id);
    (!is_ambiguous).then_some(first)
}

/// What a no, or the end of an ask that nobody answered, tells the agent: `reject_once` where it
/// is offered, else that the ask is cancelled; never `reject_always`.
pub fn response_to_refuse(options: &[PermissionChoice]) -> InteractionResponse {
    let option = of_kind(options, PermissionChoiceKind::RejectOnce).next();
    option.map_or(InteractionResponse::Cancelled, |option| {
        InteractionResponse::Selected(option.option_id.clone())
    })
}

/// The options of a kind. One whose id an option of another kind bears as well is none of them,
/// because the agent would be told the id alone.
fn of_kind(
    options: &[PermissionChoice],
    kind: PermissionChoiceKind,
) -> impl Iterator<Item = &PermissionChoice> {
    options.iter().filter(move |option| {
        let mut namesakes = options
            .iter()
            .filter(|other| other.option_id == option.option_id);
        namesakes.all(|other| other.kind == kind)
    })
}

#[cfg(test)]
#[path = "decisions_tests.rs"]
mod tests;
