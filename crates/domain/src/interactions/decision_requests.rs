//! What a person sends to decide, and what of it can be checked without looking at the row.

use std::collections::HashSet;

use super::FormAnswers;
use crate::{Refusal, field_validation::FieldValidator, limits};

/// A yes to a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApproveRequest {
    /// The call.
    pub tool_call_id: String,
    /// To all that is like it, too.
    pub always_allow: bool,
    /// The very option, where several are of the kind.
    pub option_id: Option<String>,
    /// The digest of what the person saw.
    pub digest: Option<String>,
}

/// A no to a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenyRequest {
    /// The call.
    pub tool_call_id: String,
    /// Why; `""` for no reason.
    pub reason: String,
    /// Whether the agent is told why, by the next message.
    pub tell_agent: bool,
}

/// Answers to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmitAnswersRequest {
    /// The call it belongs to, or the ask's own id.
    pub tool_call_id: String,
    /// The answers; `None` when the person does not want to answer.
    pub answers: Option<FormAnswers>,
    /// The digest of what the person saw.
    pub digest: Option<String>,
}

/// Several tool calls of one session that get the same word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRequest {
    /// The calls.
    pub tool_call_ids: Vec<String>,
}

impl ApproveRequest {
    /// Checks what can be checked without the row.
    ///
    /// # Errors
    /// [`Refusal::Validation`].
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        call(&mut check, "toolCallId", &self.tool_call_id);
        check.finish()
    }
}

impl DenyRequest {
    /// The same with the reason trimmed.
    ///
    /// # Errors
    /// [`Refusal::Validation`].
    pub fn checked(self) -> Result<Self, Refusal> {
        let reason = self.reason.trim().to_owned();
        let mut check = FieldValidator::new();
        call(&mut check, "toolCallId", &self.tool_call_id);
        check.chars("reason", &reason, 0, limits::DENY_REASON_CHARS_MAX);
        check.finish()?;
        Ok(Self { reason, ..self })
    }
}

impl SubmitAnswersRequest {
    /// Checks what can be checked without the row.
    ///
    /// # Errors
    /// [`Refusal::Validation`].
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        call(&mut check, "toolCallId", &self.tool_call_id);
        check.finish()
    }
}

impl BatchRequest {
    /// Checks what can be checked without the rows: how many there are, and that each is named
    /// once.
    ///
    /// # Errors
    /// [`Refusal::Validation`].
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        let range = limits::BATCH_ASKS;
        if !range.contains(&self.tool_call_ids.len()) {
            let problem = format!("must name {} to {} calls", range.start(), range.end());
            check.fail("toolCallIds", problem);
        }
        let mut seen = HashSet::new();
        for (n, id) in self.tool_call_ids.iter().enumerate() {
            let field = format!("toolCallIds.{n}");
            call(&mut check, &field, id);
            if !seen.insert(id) {
                check.fail(&field, "is named twice");
            }
        }
        check.finish()
    }
}

fn call(check: &mut FieldValidator, field: &str, id: &str) {
    let range = limits::TOOL_CALL_ID_CHARS;
    check.chars(field, id, *range.start(), *range.end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_names_one_to_fifty_calls_each_once() {
        let batch = |count: usize| BatchRequest {
            tool_call_ids: (0..count).map(|n| format!("call {n}")).collect(),
        };
        for (count, is_good) in [(0, false), (1, true), (50, true), (51, false)] {
            assert_eq!(batch(count).check().is_ok(), is_good, "{count}");
        }
        let mut twice = batch(2);
        twice.tool_call_ids.push("call 0".to_owned());
        assert!(twice.check().is_err());
    }

    #[test]
    fn a_call_is_named_by_1_to_256_characters_and_a_reason_has_at_most_1000() {
        let deny = |id: &str, reason: &str| {
            let ask = DenyRequest {
                tool_call_id: id.to_owned(),
                reason: reason.to_owned(),
                tell_agent: false,
            };
            ask.checked().map(|ask| ask.reason)
        };
        assert_eq!(deny("c", " no \n").as_deref(), Ok("no"));
        assert!(deny(&"é".repeat(256), &"é".repeat(1_000)).is_ok());
        for (id, reason) in [
            ("", ""),
            (&*"c".repeat(257), ""),
            ("c", &*"x".repeat(1_001)),
        ] {
            assert!(deny(id, reason).is_err(), "{id} {reason}");
        }
    }
}
