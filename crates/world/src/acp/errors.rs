//! Why something asked of an agent did not happen, and how its process ended.

use std::io;

use agent_client_protocol as acp;

/// Why something asked of an agent did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentCallError {
    /// The process could not be started.
    #[error("{program} could not be started: {why}")]
    NotStarted {
        /// The program.
        program: String,
        /// What the system said.
        why: String,
    },
    /// The process is gone, or its end began.
    #[error("{0}")]
    Gone(String),
    /// The agent answered with an error of its own.
    #[error("the agent answered: {message}")]
    Refused {
        /// The protocol's number of it; -32000 asks for a sign-in.
        code: i32,
        /// What the agent said, with its details.
        message: String,
    },
    /// The agent does not offer that.
    #[error("the agent offers no {0}")]
    NotOffered(String),
    /// The agent speaks another version of the protocol, or nothing that can be read.
    #[error("{0}")]
    Protocol(String),
}

impl AgentCallError {
    pub(super) fn not_started(program: &std::path::Path, error: &io::Error) -> Self {
        Self::NotStarted {
            program: program.display().to_string(),
            why: error.to_string(),
        }
    }

    /// An error as the crate hands it over; `None` when the connection itself is over.
    pub(super) fn of(error: &acp::Error) -> Option<Self> {
        if acp::is_connection_terminated(error) || acp::is_incoming_transport_closed(error) {
            return None;
        }
        let details = match &error.data {
            None => String::new(),
            Some(serde_json::Value::String(text)) => format!(": {text}"),
            Some(data) => match data.get("details").and_then(|details| details.as_str()) {
                Some(details) => format!(": {details}"),
                None => format!(": {data}"),
            },
        };
        let mut message = format!("{}{details}", error.message);
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        Some(Self::Refused {
            code: error.code.into(),
            message,
        })
    }
}

/// What stands between the reason and the last words in [`AgentExit::why`].
pub(super) const BEFORE_LAST_WORDS: &str = ":\n";

/// A reason without the agent's last words, which may hold anything: for readers that are not
/// of its session.
pub fn in_short(why: &str) -> &str {
    why.split_once(BEFORE_LAST_WORDS)
        .map_or(why, |(reason, _)| reason)
}

/// Bytes of an agent's error that are passed on.
const MESSAGE_BYTES_MAX: usize = 2_048;

/// What ended an agent's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCause {
    /// It was asked to, by [`super::AgentConnection::stop`].
    Asked,
    /// It ended by itself, or somebody else ended it.
    Exited,
    /// Its keeper was killed by somebody else; what it kept was killed as far as it was found.
    Lost,
    /// It broke the protocol and was stopped: `PROTOCOL_ERROR`.
    Protocol,
}

/// How an agent's process ended; nothing of its tree lives any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentExit {
    /// What ended it.
    pub kind: ExitCause,
    /// The same in a sentence, with the last words it wrote to its standard error; see
    /// [`in_short`].
    pub why: String,
    /// Its exit code, 128 and the signal when one ended it; `None` when nobody knows.
    pub code: Option<i32>,
}
