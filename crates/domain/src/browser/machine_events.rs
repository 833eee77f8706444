//! What happens to the browser as a whole, what is to be done then, and what is told in the log.
//! What follows from what is [`super::Machine`]. Source: contract 7.5, 7.11.

use serde::{Deserialize, Serialize};

use super::{BrowserAddress, BrowserFailure, DisplayMode, PreparationStage};
use crate::ids::{BrowserConnectionId, SessionId, TabId};
#[cfg(doc)]
use crate::limits;

/// A wish to open the browser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenRequest {
    /// Where it shall be shown.
    pub mode: DisplayMode,
    /// The chat a tab shall be shared with; without one no share changes.
    pub session: Option<SessionId>,
    /// What shall be opened.
    pub url: Option<BrowserAddress>,
    /// The tabs that are open now, in order: opened again when the mode changes.
    pub tabs: Vec<SavedTab>,
}

/// A tab that outlives its browser's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedTab {
    /// Where it is.
    pub address: BrowserAddress,
    /// Whether it is the shared one.
    pub shared: bool,
}

/// Why a browser was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CloseReason {
    /// A person said so.
    Person,
    /// A person closed its last window.
    Window,
    /// Nobody used it.
    Idle,
    /// It comes up again in the other mode.
    Mode,
    /// The server stops.
    Shutdown,
}

impl CloseReason {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Window => "window",
            Self::Idle => "idle",
            Self::Mode => "mode",
            Self::Shutdown => "shutdown",
        }
    }
}

/// Why a share ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UnshareReason {
    /// The browser was closed.
    Closed,
    /// Another session has it now.
    Replaced,
    /// A person said so.
    Person,
    /// No shared tab is left.
    Tab,
    /// The session is over.
    SessionEnded,
    /// The browser crashed.
    Crashed,
    /// The server started again.
    Restart,
}

impl UnshareReason {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Replaced => "replaced",
            Self::Person => "person",
            Self::Tab => "tab",
            Self::SessionEnded => "sessionEnded",
            Self::Crashed => "crashed",
            Self::Restart => "restart",
        }
    }
}

/// What happens to the browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineEvent {
    /// Somebody wants it open.
    Open(OpenRequest),
    /// Somebody wants to know whether there is one, or has it fetched.
    Prepare {
        /// Whether it may be fetched.
        download: bool,
    },
    /// How far the fetching is: [`PreparationStage::Downloading`] or [`PreparationStage::Installing`], and percent.
    Progress(PreparationStage, u8),
    /// There is an executable.
    Prepared,
    /// Executable and display were found, and the process runs.
    Started(BrowserConnectionId),
    /// What [`MachineEffect::Start`] or [`MachineEffect::Prepare`] began has failed; no process runs.
    CheckFailed(BrowserFailure),
    /// It answered, and has its first tab; holds its version.
    Attached(String),
    /// [`limits::BROWSER_LAUNCH_MAX_S`] have passed since the start.
    LaunchOverdue,
    /// A ping had no answer in [`limits::CDP_CALL_MAX_S`].
    Silent,
    /// The process ended; holds its exit code where it is known.
    Ended(Option<i32>),
    /// It shall be closed.
    Close(CloseReason),
    /// A tab shall be shared, or none any more.
    Share {
        /// With whom; `None` ends the share.
        session: Option<SessionId>,
        /// Which; `None` is the one that is shown.
        tab: Option<TabId>,
    },
    /// The last shared tab is gone.
    SharedTabsGone,
    /// A session is over.
    SessionEnded(SessionId),
    /// Agents' tools are refused, or no longer.
    Pause(bool),
}

/// What is to be done, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineEffect {
    /// Look for executable and display, and start the process once the one before has ended.
    /// Answered by [`MachineEvent::Started`] or [`MachineEvent::CheckFailed`].
    Start(DisplayMode),
    /// Give that up, and end what was started.
    StopStarting,
    /// Look for an executable, or fetch one. Answered by [`MachineEvent::Prepared`] or
    /// [`MachineEvent::CheckFailed`].
    Prepare {
        /// Whether it may be fetched.
        download: bool,
    },
    /// Give that up.
    StopPreparing,
    /// Ask it to close; after [`limits::BROWSER_CLOSE_GRACE_S`] kill it. Answered by
    /// [`MachineEvent::Ended`].
    Close,
    /// Kill the whole group at once.
    Kill,
    /// Open these, each in a tab of its own; a blank first tab is used up first. Where one is the
    /// shared one, share it.
    Open(Vec<SavedTab>),
    /// Share this tab, or the one that is shown.
    Share(Option<TabId>),
    /// Share none any more.
    Unshare,
    /// Append the event, in the transaction of the change.
    Tell(LogEvent),
}

/// What is told in the log. Source: contract 7.11.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEvent {
    /// The process runs.
    Opened(BrowserConnectionId, DisplayMode),
    /// It can be used; holds its version.
    Connected(BrowserConnectionId, String),
    /// It was closed.
    Closed(BrowserConnectionId, CloseReason),
    /// It failed.
    Failed(BrowserFailure),
    /// A tab is shared.
    Shared(SessionId, BrowserConnectionId),
    /// None is any more; names the process that the share was told of, as both do.
    Unshared(SessionId, BrowserConnectionId, UnshareReason),
    /// Agents' tools are refused, or no longer.
    Paused(bool, Option<SessionId>),
}
