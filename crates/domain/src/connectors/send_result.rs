//! What came of sending an operation once, as precisely as it can be known from here.
//! Source: contract 5.6, the results and what may be tried again.

use serde_json::Value;

/// What came of sending an operation once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendResult {
    /// The service said yes.
    Done {
        /// What it said; `None` where that was more than is read.
        data: Option<Value>,
    },
    /// The service said no.
    Refused {
        /// The status of HTTP, 401 where it no longer takes the credentials; `None` where a
        /// tool said no.
        status: Option<u16>,
        /// What it said, at most [`CONNECTOR_REASON_CHARS_MAX`] characters.
        ///
        /// [`CONNECTOR_REASON_CHARS_MAX`]: crate::limits::connectors::CONNECTOR_REASON_CHARS_MAX
        message: String,
        /// Seconds it asks to wait before a second attempt.
        retry_after_s: Option<u64>,
    },
    /// Nothing left this computer.
    NotSent {
        /// Why, for people.
        message: String,
    },
    /// It was sent, or may have been, and no answer came.
    Lost {
        /// Why, for people.
        message: String,
    },
    /// It cannot be sent this way.
    Unsupported {
        /// Why, for people.
        reason: String,
    },
}
