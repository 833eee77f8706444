//! Results: what an execution is answered with.
//! Source: contract 5.6, the table of results.

use serde_json::Value;

use super::{classification::Classification, event_payloads::Status, send_result::Sent};
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
pub enum Outcome {
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
pub struct Executed {
    /// The execution.
    pub id: LogicalOperationId,
    /// How many attempts were noted.
    pub attempt_count: u8,
    /// What it came to.
    pub outcome: Outcome,
}

impl Outcome {
    /// In one word.
    pub const fn status(&self) -> Status {
        match self {
            Self::Success { .. } => Status::Success,
            Self::Error { .. } => Status::Error,
            Self::Unknown { .. } => Status::OutcomeUnknown,
            Self::Cancelled => Status::Cancelled,
            Self::Unsupported { .. } => Status::Unsupported,
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
    pub fn kept(status: Status, code: Option<String>, message: Option<String>) -> Self {
        let message = message.unwrap_or_default();
        match status {
            Status::Success => Self::Success { data: None },
            Status::Error => Self::Error {
                code: code.unwrap_or_default(),
                message,
            },
            Status::OutcomeUnknown => Self::Unknown { message },
            Status::Cancelled => Self::Cancelled,
            Status::Unsupported => Self::Unsupported { reason: message },
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
pub fn of(sent: Sent, classification: Classification) -> Outcome {
    match sent {
        Sent::Done { data } => Outcome::Success {
            data: data.filter(is_small),
        },
        Sent::Refused {
            status: Some(status),
            message,
            ..
        } => Outcome::Error {
            code: format!("PROVIDER_HTTP_{status}"),
            message: short(message),
        },
        Sent::Refused {
            status: None,
            message,
            ..
        } => Outcome::Error {
            code: TOOL_ERROR.to_owned(),
            message: short(message),
        },
        Sent::NotSent { message } => Outcome::Error {
            code: UNREACHABLE.to_owned(),
            message: short(message),
        },
        Sent::Lost { message } => lost(short(message), classification),
        Sent::Unsupported { reason } => Outcome::Unsupported {
            reason: short(reason),
        },
    }
}

/// What a request without an answer comes to: a read that was lost changed nothing.
fn lost(message: String, classification: Classification) -> Outcome {
    match classification {
        Classification::Read => Outcome::Error {
            code: UNREACHABLE.to_owned(),
            message,
        },
        Classification::Write | Classification::Destructive => Outcome::Unknown { message },
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
        let refused = |status| Sent::Refused {
            status,
            message: told(),
            retry_after_s: None,
        };
        for (sent, class, status, code) in [
            (
                Sent::Done {
                    data: Some(json!(1)),
                },
                Write,
                Status::Success,
                None,
            ),
            (
                refused(Some(404)),
                Read,
                Status::Error,
                Some("PROVIDER_HTTP_404"),
            ),
            (refused(None), Write, Status::Error, Some(TOOL_ERROR)),
            (
                Sent::NotSent { message: told() },
                Write,
                Status::Error,
                Some(UNREACHABLE),
            ),
            (
                Sent::Lost { message: told() },
                Read,
                Status::Error,
                Some(UNREACHABLE),
            ),
            (
                Sent::Lost { message: told() },
                Write,
                Status::OutcomeUnknown,
                Some(OUTCOME_UNKNOWN),
            ),
            (
                Sent::Lost { message: told() },
                Destructive,
                Status::OutcomeUnknown,
                Some(OUTCOME_UNKNOWN),
            ),
            (
                Sent::Unsupported { reason: told() },
                Write,
                Status::Unsupported,
                None,
            ),
        ] {
            let outcome = of(sent.clone(), class);
            assert_eq!(outcome.status(), status, "{sent:?}");
            assert_eq!(outcome.code(), code, "{sent:?}");
            let is_success = status == Status::Success;
            assert_eq!(outcome.message().is_none(), is_success, "{sent:?}");
        }
    }

    #[test]
    fn data_beyond_its_bound_is_left_out() {
        // A text has two quotes about it.
        let text = |bytes: usize| json!("x".repeat(bytes - 2));
        let data = |data: Option<Value>| match of(Sent::Done { data }, Classification::Read) {
            Outcome::Success { data } => data,
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
        let outcome = of(Sent::Lost { message }, Classification::Write);
        let expected = "ü".repeat(CONNECTOR_REASON_CHARS_MAX);
        assert_eq!(outcome.message(), Some(expected.as_str()));
    }

    #[test]
    fn what_is_kept_of_an_outcome_says_the_same_but_for_its_data() {
        for outcome in [
            Outcome::Success { data: None },
            Outcome::interrupted(Classification::Read),
            Outcome::interrupted(Classification::Write),
            Outcome::Cancelled,
            Outcome::Unsupported {
                reason: "why".to_owned(),
            },
        ] {
            let text = |text: Option<&str>| text.map(str::to_owned);
            let kept = Outcome::kept(
                outcome.status(),
                text(outcome.code()),
                text(outcome.message()),
            );
            assert_eq!(kept, outcome);
        }
    }
}
