//! What is told of the browser: the payloads of its events. None holds a whole address, or what
//! somebody typed. Source: contract 7.11.

use serde::{Deserialize, Serialize};

use super::{CloseReason, DisplayMode, LogEvent, UnshareReason};
use crate::{
    events::Event,
    ids::{BrowserConnectionId, SessionId},
};

/// A process runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// Where it is shown.
    pub mode: DisplayMode,
    /// The process.
    pub connection_id: BrowserConnectionId,
}

/// It can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connected {
    /// The process.
    pub connection_id: BrowserConnectionId,
    /// What it calls itself.
    pub version: String,
}

/// It was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Closed {
    /// The process.
    pub connection_id: BrowserConnectionId,
    /// Why.
    pub reason: CloseReason,
}

/// It did not come up, or ended by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failed {
    /// What it was.
    pub code: String,
    /// The same for a person.
    pub message: String,
}

/// A tab is shared with a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shared {
    /// The session.
    pub session_id: SessionId,
    /// The process.
    pub connection_id: BrowserConnectionId,
}

/// No tab is shared with a session any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unshared {
    /// The session.
    pub session_id: SessionId,
    /// The process that the share was told of.
    pub connection_id: BrowserConnectionId,
    /// Why.
    pub reason: UnshareReason,
}

/// Agents' tools are refused, or no longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Paused {
    /// Whether they are refused.
    pub paused: bool,
    /// The session that shares a tab. The frame's scopes say so, and the data does not.
    #[serde(skip)]
    pub session_id: Option<SessionId>,
}

/// An agent did something in the browser, or was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentAction {
    /// The tool.
    pub tool: String,
    /// Where: an origin, never a whole address.
    pub origin: String,
    /// `done`, `rejected` or `uncertain`.
    pub outcome: String,
    /// Why it was rejected.
    pub code: Option<String>,
    /// The session. The frame's scopes say so, and the data does not.
    #[serde(skip)]
    pub session_id: Option<SessionId>,
}

impl From<&LogEvent> for Event {
    fn from(told: &LogEvent) -> Self {
        match told {
            &LogEvent::Opened(connection_id, mode) => Self::BrowserOpened(Opened {
                mode,
                connection_id,
            }),
            LogEvent::Connected(connection_id, version) => Self::BrowserConnected(Connected {
                connection_id: *connection_id,
                version: version.clone(),
            }),
            &LogEvent::Closed(connection_id, reason) => Self::BrowserClosed(Closed {
                connection_id,
                reason,
            }),
            LogEvent::Failed(failure) => Self::BrowserFailed(Failed {
                code: failure.code().to_owned(),
                message: failure.message().to_owned(),
            }),
            &LogEvent::Shared(session_id, connection_id) => Self::BrowserShared(Shared {
                session_id,
                connection_id,
            }),
            &LogEvent::Unshared(session_id, connection_id, reason) => {
                Self::BrowserUnshared(Unshared {
                    session_id,
                    connection_id,
                    reason,
                })
            }
            &LogEvent::Paused(paused, session_id) => {
                Self::BrowserPaused(Paused { paused, session_id })
            }
        }
    }
}
