//! What the actor is asked. Each ask has one answer.

use std::sync::Arc;

use guildhall_domain::{
    Result,
    browser::{BrowserState, InputSteps, ToolDenial, Viewport},
    ids::{AuthorId, BrowserConnectionId, SessionId, TabId},
};
use guildhall_world::chromium::Chromium;
use tokio::sync::{mpsc, oneshot};

use super::{
    OpenBrowser,
    agent_access::{ControlTurn, TabAccess},
    screencast::{ViewRequest, ViewerId, ViewerUpdate},
};

pub(super) type ReplySender<T> = oneshot::Sender<Result<T>>;

/// What changes the browser as a whole.
#[derive(Debug)]
pub(super) enum BrowserAction {
    Open(OpenBrowser),
    Prepare {
        download: bool,
    },
    Close,
    Share {
        session: Option<SessionId>,
        tab: Option<TabId>,
    },
    Pause(bool),
}

/// What somebody needs Chromium for.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChromiumNeed {
    /// Something with this tab.
    Tab(TabId),
    /// One tab more.
    Room,
    /// Another size of this tab's pages.
    Size(TabId, Viewport),
}

/// What Chromium is driven by, and what stands around it.
pub(super) struct ChromiumAccess {
    pub(super) chromium: Chromium,
    /// Whether the tab is the last one of an embedded browser, which is never without one.
    pub(super) is_last: bool,
}

pub(super) enum ActorRequest {
    /// Do this, and answer what came of it.
    Do {
        deed: BrowserAction,
        by: AuthorId,
        reply: ReplySender<Arc<BrowserState>>,
    },
    /// Hand out what Chromium is driven by.
    Reach {
        need: ChromiumNeed,
        reply: ReplySender<ChromiumAccess>,
    },
    /// Something was done: answer what the browser is now. `shows` is a tab that is shown from now
    /// on, `gone` one that was closed.
    Settle {
        shows: Option<TabId>,
        gone: Option<TabId>,
        reply: ReplySender<Arc<BrowserState>>,
    },
    /// A person's steps, by a route.
    Input {
        tab: TabId,
        connection: Option<BrowserConnectionId>,
        steps: InputSteps,
        reply: ReplySender<()>,
    },
    /// Somebody wants to look on.
    Enter {
        reply: ReplySender<(ViewerId, mpsc::Receiver<ViewerUpdate>)>,
    },
    /// A viewer wants to see something, or nothing.
    View(ViewerId, Option<ViewRequest>),
    /// A viewer has seen a picture.
    Seen(ViewerId, u32),
    /// A viewer's steps.
    Typed {
        viewer: ViewerId,
        id: u32,
        view: u32,
        steps: Vec<guildhall_domain::browser::InputStep>,
    },
    /// A session is over.
    SessionEnded(SessionId),
    /// An agent does something at a place that viewers are shown.
    Cursor(ViewerUpdate),
    /// An agent wants to look at a tab.
    Look {
        session: SessionId,
        tab: Option<TabId>,
        reply: oneshot::Sender<Result<TabAccess, ToolDenial>>,
    },
    /// An agent wants to do something in a tab.
    Act {
        session: SessionId,
        tab: Option<TabId>,
        reply: oneshot::Sender<Result<(TabAccess, ControlTurn), ToolDenial>>,
    },
    /// The agent of a session opened this tab.
    Adopt {
        session: SessionId,
        tab: TabId,
        reply: oneshot::Sender<Result<(), ToolDenial>>,
    },
}
