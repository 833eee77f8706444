//! The state of the local browser as everybody is shown it. Source: contract 7.2.

use serde::{Deserialize, Serialize};

use super::{Tab, Viewport};
use crate::{
    Timestamp,
    ids::{BrowserConnectionId, SessionId, TabId},
};

/// Where the browser is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DisplayMode {
    /// In guildhall's own page, as pictures.
    #[default]
    Embedded,
    /// In a window of its own.
    Window,
}

impl DisplayMode {
    /// Each with its word.
    pub const WORDS: [(Self, &str); 2] = [(Self::Embedded, "embedded"), (Self::Window, "window")];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Window => "window",
        }
    }
}

/// Whether there is a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BrowserStatus {
    /// None runs.
    Disconnected,
    /// The process runs and has no tab yet.
    Connecting,
    /// It can be used.
    Connected,
    /// It is on its way out.
    Closing,
    /// It did not come up, or ended by itself.
    Failed,
}

/// How far a browser has been got ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PreparationStage {
    /// None is, and none is being got ready.
    Idle,
    /// The executable and the display are looked for.
    Checking,
    /// It is fetched, because a person said so.
    Downloading,
    /// What was fetched is unpacked.
    Installing,
    /// The process runs.
    Launching,
    /// It has a tab.
    Ready,
    /// One of these failed.
    Failed,
}

impl PreparationStage {
    /// Whether more follows by itself.
    pub fn is_on_its_way(self) -> bool {
        match self {
            Self::Checking | Self::Downloading | Self::Installing | Self::Launching => true,
            Self::Idle | Self::Ready | Self::Failed => false,
        }
    }
}

/// What is got ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PreparedComponent {
    /// The browser itself.
    #[default]
    Chromium,
}

/// How far the browser has been got ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparation {
    /// The step.
    pub stage: PreparationStage,
    /// What it is about.
    pub component: PreparedComponent,
    /// 0 to 100; 0 when unknown.
    pub percent: u8,
}

/// Who has the mouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ControlHolder {
    /// Nobody.
    #[default]
    None,
    /// The person.
    Person,
    /// An agent, until its action ends.
    Agent,
}

/// Why a process did not become a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaunchFault {
    /// Chromium's sandbox does not work for this user, such as root.
    Sandbox,
    /// It could not be started at all.
    Start,
    /// It ended before it had a tab.
    Exited,
    /// It was not ready in time.
    Deadline,
}

/// What went wrong with the browser as a whole. Source: contract 7.5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrowserFailure {
    /// There is no executable.
    NotInstalled {
        /// Where it was looked for.
        searched: Vec<String>,
        /// Whether `prepare` could fetch one.
        can_download: bool,
    },
    /// There is no display for a window.
    NoDisplay,
    /// What could be fetched did not arrive whole, or could not be unpacked.
    PrepareFailed,
    /// The process did not become a browser.
    LaunchFailed(LaunchFault),
    /// It ended by itself, or no longer answers.
    Crashed,
}

impl BrowserFailure {
    /// Its code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotInstalled { .. } => "BROWSER_NOT_INSTALLED",
            Self::NoDisplay => "NO_DISPLAY",
            Self::PrepareFailed => "PREPARE_FAILED",
            Self::LaunchFailed(_) => "LAUNCH_FAILED",
            Self::Crashed => "BROWSER_CRASHED",
        }
    }

    /// One sentence that says what to do next.
    pub fn message(&self) -> &'static str {
        match self {
            Self::NotInstalled { .. } => {
                "No Chromium was found on this computer. Install one, or name one with GUILDHALL_BROWSER."
            }
            Self::NoDisplay => {
                "There is no screen for a browser window here. Open it in the page instead."
            }
            Self::PrepareFailed => "The browser could not be fetched. Try again.",
            Self::LaunchFailed(LaunchFault::Sandbox) => {
                "Chromium's sandbox does not work for root. Run the server as another user; in a container, GUILDHALL_BROWSER_NO_SANDBOX=1 does without it."
            }
            Self::LaunchFailed(LaunchFault::Start) => "The browser could not be started.",
            Self::LaunchFailed(LaunchFault::Exited) => "The browser ended while it was starting.",
            Self::LaunchFailed(LaunchFault::Deadline) => "The browser did not start in time.",
            Self::Crashed => "The browser ended by itself. Open it again.",
        }
    }
}

/// What went wrong last, until the next open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    /// What it was.
    pub failure: BrowserFailure,
    /// When.
    pub at: Timestamp,
}

/// The whole state. Source: contract 7.2.
#[derive(Clone, Debug, PartialEq)]
pub struct BrowserState {
    /// Of the present or last browser.
    pub mode: DisplayMode,
    /// Whether there is one.
    pub status: BrowserStatus,
    /// How far it has been got ready.
    pub preparation: Preparation,
    /// The present process.
    pub connection_id: Option<BrowserConnectionId>,
    /// The chat that shares a tab, from the first answer of the open that named it.
    pub session_id: Option<SessionId>,
    /// Whether a person refuses agents' tools.
    pub paused: bool,
    /// In visual order.
    pub tabs: Vec<Tab>,
    /// The one that is shown.
    pub selected_tab_id: Option<TabId>,
    /// One more with each observable change; never falls.
    pub revision: u64,
    /// Who has the mouse.
    pub holder: ControlHolder,
    /// Since when; `None` with [`ControlHolder::None`].
    pub held_since: Option<Timestamp>,
    /// The size of the page.
    pub viewport: Viewport,
    /// Whether Chromium's sandbox is on.
    pub sandboxed: bool,
    /// What went wrong last.
    pub last_error: Option<LastError>,
}

impl BrowserState {
    /// Whether both look the same to whoever is shown them: all but the revision.
    pub fn looks_like(&self, other: &Self) -> bool {
        let revision = self.revision;
        *self
            == Self {
                revision,
                ..other.clone()
            }
    }
}
