//! Results: what an execution is answered with.
//! Source: contract 5.6, the table of results.

use serde_json::Value;

use super::{
    classification::Classification, event_payloads::ExecutionStatus, send_result::SendResult,
};
use crate::{
    ids::LogicalOperationId,
    limits::connectors::{CONNECTOR_REASON_CHARS_MAX, CONNECTOR_RESULT_BYTES_MAX},
};

/// The code of an answer that a tool calls an error.
pub const TOOL_ERROR: &str = "PROVIDER_TOOL_ERROR";
/// The code of a service that was not reached, or of a read whose answer did not come.
pub const UNREACHABLE: &str = "PROVIDER_UNREACHABLE";
/// The code of a change that may have happened.
pub const OUTCOME_UNKNOWN: &str = "PROVIDER_OUTCOME_UNKNOWN";
/// The code of an execution whose caller left in time.
pub const CANCELLED: &str = "CANCELLED_BEFORE_DISPATCH";

/// What an execution came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutionOutcome {
    /// The service said yes.
    Success {
        /// What it said; `None` where that is too large to be handed on.
        data: Option<Value>,
    },
    /// It said no, or nothing was sent, or a read was not answered.
    Error {
        /// The word of what went wrong.
        code: String,
        /// A sentence for people.
        message: String,
    },
    /// It was sent and no answer came.
    Unknown {
        /// A sentence for people.
        message: String,
    },
    /// The caller left before anything was sent.
    Cancelled,
    /// The instance cannot run it.
    Unsupported {
        /// Why.
        reason: String,
    },
}

/// What an execution is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionResult {
    /// The execution.
    pub id: LogicalOperationId,
    /// How many attempts were noted.
    pub attempt_count: u8,
    /// What it came to.
    pub outcome: ExecutionOutcome,
}

impl ExecutionOutcome {
    /// In one word.
    pub const fn status(&self) -> ExecutionStatus {
        match self {
            Self::Success { .. } => ExecutionStatus::Success,
            Self::Error { .. } => ExecutionStatus::Error,
            Self::Unknown { .. } => ExecutionStatus::OutcomeUnknown,
            Self::Cancelled => ExecutionStatus::Cancelled,
            Self::Unsupported { .. } => ExecutionStatus::Unsupported,
        }
    }

    /// The word of what went wrong.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Error { code, .. } => Some(code),
            Self::Unknown { .. } => Some(OUTCOME_UNKNOWN),
            Self::Cancelled => Some(CANCELLED),
            Self::Success { .. } | Self::Unsupported { .. } => None,
        }
    }

    /// What is told of it beside the code; `None` of a success.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Error { message, .. } | Self::Unknown { message } => Some(message),
            Self::Cancelled => Some("The caller left before anything was sent."),
            Self::Unsupported { reason } => Some(reason),
            Self::Success { .. } => None,
        }
    }

    /// The outcome behind what was kept of one that brought no data.
    pub fn from_stored(
        status: ExecutionStatus,
        code: Option<String>,
        message: Option<String>,
    ) -> Self {
        let message = message.unwrap_or_default();
        match status {
            ExecutionStatus::Success => Self::Success { data: None },
            ExecutionStatus::Error => Self::Error {
                code: code.unwrap_or_default(),
                message,
            },
            ExecutionStatus::OutcomeUnknown => Self::Unknown { message },
            ExecutionStatus::Cancelled => Self::Cancelled,
            ExecutionStatus::Unsupported => Self::Unsupported { reason: message },
        }
    }

    /// What becomes of an attempt that was under way when the server stopped: nobody knows
    /// whether it was sent, so that it is never sent again.
    pub fn interrupted(classification: Classification) -> Self {
        let message = "The server stopped before the answer came.".to_owned();
        lost(message, classification)
    }
}

/// What an attempt came to.
pub fn of(sent: SendResult, classification: Classification) -> ExecutionOutcome {
    match sent {
        SendResult::Done { data } => ExecutionOutcome::Success {
            data: data.filter(is_small),
        },
        SendResult::Refused {
            status: Some(status),
            message,
            ..
        } => ExecutionOutcome::Error {
            code: format!("PROVIDER_HTTP_{status}"),
            message: short(message),
        },
        SendResult::Refused {
            status: None,
            message,
            ..
        } => ExecutionOutcome::Error {
            code: TOOL_ERROR.to_owned(),
            message: short(message),
        },
        SendResult::NotSent { message } => ExecutionOutcome::Error {
            code: UNREACHABLE.to_owned(),
            message: short(message),
        },
        SendResult::Lost { message } => lost(short(message), classification),
        SendResult::Unsupported { reason } => ExecutionOutcome::Unsupported {
            reason: short(reason),
        },
    }
}

/// What a request without an answer comes to: a read that was lost changed nothing.
fn lost(message: String, classification: Classification) -> ExecutionOutcome {
    match classification {
        Classification::Read => ExecutionOutcome::Error {
            code: UNREACHABLE.to_owned(),
            message,
        },
        Classification::Write | Classification::Destructive => {
            ExecutionOutcome::Unknown { message }
        }
    }
}

/// Whether it is handed on.
fn is_small(data: &Value) -> bool {
    data.to_string().len() <= CONNECTOR_RESULT_BYTES_MAX
}

fn short(text: String) -> String {
    match text.char_indices().nth(CONNECTOR_REASON_CHARS_MAX) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_end_of_an_attempt_has_its_result() {
        use Classification::{Destructive, Read, Write};
        let told = || "why".to_owned();
        let refused = |status| SendResult::Refused {
            status,
            message: told(),
            retry_after_s: None,
        };
        for (sent, class, status, code) in [
            (
                SendResult::Done {
                    data: Some(json!(1)),
                },
                Write,
                ExecutionStatus::Success,
                None,
            ),
            (
                refused(Some(404)),
                Read,
                ExecutionStatus::Error,
                Some("PROVIDER_HTTP_404"),
            ),
            (
                refused(None),
                Write,
                ExecutionStatus::Error,
                Some(TOOL_ERROR),
            ),
            (
                SendResult::NotSent { message: told() },
                Write,
                ExecutionStatus::Error,
                Some(UNREACHABLE),
            ),
            (
                SendResult::Lost { message: told() },
                Read,
                ExecutionStatus::Error,
                Some(UNREACHABLE),
            ),
            (
                SendResult::Lost { message: told() },
                Write,
                ExecutionStatus::OutcomeUnknown,
                Some(OUTCOME_UNKNOWN),
            ),
            (
                SendResult::Lost { message: told() },
                Destructive,
                ExecutionStatus::OutcomeUnknown,
                Some(OUTCOME_UNKNOWN),
            ),
            (
                SendResult::Unsupported { reason: told() },
                Write,
                ExecutionStatus::Unsupported,
                None,
            ),
        ] {
            let outcome = of(sent.clone(), class);
            assert_eq!(outcome.status(), status, "{sent:?}");
            assert_eq!(outcome.code(), code, "{sent:?}");
            let is_success = status == ExecutionStatus::Success;
            assert_eq!(outcome.message().is_none(), is_success, "{sent:?}");
        }
    }

    #[test]
    fn data_beyond_its_bound_is_left_out() {
        // A text has two quotes about it.
        let text = |bytes: usize| json!("x".repeat(bytes - 2));
        let data = |data: Option<Value>| match of(SendResult::Done { data }, Classification::Read) {
            ExecutionOutcome::Success { data } => data,
            other => panic!("{other:?}"),
        };
        let largest = text(CONNECTOR_RESULT_BYTES_MAX);
        assert_eq!(data(Some(largest.clone())), Some(largest));
        assert_eq!(data(Some(text(CONNECTOR_RESULT_BYTES_MAX + 1))), None);
        assert_eq!(data(None), None);
    }

    #[test]
    fn a_message_is_cut_between_characters() {
        let message = "ü".repeat(CONNECTOR_REASON_CHARS_MAX + 1);
        let outcome = of(SendResult::Lost { message }, Classification::Write);
        let expected = "ü".repeat(CONNECTOR_REASON_CHARS_MAX);
        assert_eq!(outcome.message(), Some(expected.as_str()));
    }

    #[test]
    fn what_is_kept_of_an_outcome_says_the_same_but_for_its_data() {
        for outcome in [
            ExecutionOutcome::Success { data: None },
            ExecutionOutcome::interrupted(Classification::Read),
            ExecutionOutcome::interrupted(Classification::Write),
            ExecutionOutcome::Cancelled,
            ExecutionOutcome::Unsupported {
                reason: "why".to_owned(),
            },
        ] {
            let text = |text: Option<&str>| text.map(str::to_owned);
            let kept = ExecutionOutcome::from_stored(
                outcome.status(),
                text(outcome.code()),
                text(outcome.message()),
            );
            assert_eq!(kept, outcome);
        }
    }
}
