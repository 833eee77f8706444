//! What the actor is asked. Each ask has one answer.

use std::sync::Arc;

use guildhall_domain::{
    Result,
    browser::{Denied, State, Steps, Viewport},
    ids::{AuthorId, ConnectionId, SessionId, TabId},
};
use guildhall_world::chromium::Chromium;
use tokio::sync::{mpsc, oneshot};

use super::{
    OpenBrowser,
    agent_access::{Look, Turn},
    screencast::{Said, ViewAsk, ViewerId},
};

pub(super) type Reply<T> = oneshot::Sender<Result<T>>;

/// What changes the browser as a whole.
#[derive(Debug)]
pub(super) enum Deed {
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
pub(super) enum Need {
    /// Something with this tab.
    Tab(TabId),
    /// One tab more.
    Room,
    /// Another size of this tab's pages.
    Size(TabId, Viewport),
}

/// What Chromium is driven by, and what stands around it.
pub(super) struct Reached {
    pub(super) chromium: Chromium,
    /// Whether the tab is the last one of an embedded browser, which is never without one.
    pub(super) is_last: bool,
}

pub(super) enum Ask {
    /// Do this, and answer what came of it.
    Do {
        deed: Deed,
        by: AuthorId,
        reply: Reply<Arc<State>>,
    },
    /// Hand out what Chromium is driven by.
    Reach { need: Need, reply: Reply<Reached> },
    /// Something was done: answer what the browser is now. `shows` is a tab that is shown from now
    /// on, `gone` one that was closed.
    Settle {
        shows: Option<TabId>,
        gone: Option<TabId>,
        reply: Reply<Arc<State>>,
    },
    /// A person's steps, by a route.
    Input {
        tab: TabId,
        connection: Option<ConnectionId>,
        steps: Steps,
        reply: Reply<()>,
    },
    /// Somebody wants to look on.
    Enter {
        reply: Reply<(ViewerId, mpsc::Receiver<Said>)>,
    },
    /// A viewer wants to see something, or nothing.
    View(ViewerId, Option<ViewAsk>),
    /// A viewer has seen a picture.
    Seen(ViewerId, u32),
    /// A viewer's steps.
    Typed {
        viewer: ViewerId,
        id: u32,
        view: u32,
        steps: Vec<guildhall_domain::browser::Step>,
    },
    /// A session is over.
    SessionEnded(SessionId),
    /// An agent does something at a place that viewers are shown.
    Cursor(Said),
    /// An agent wants to look at a tab.
    Look {
        session: SessionId,
        tab: Option<TabId>,
        reply: oneshot::Sender<Result<Look, Denied>>,
    },
    /// An agent wants to do something in a tab.
    Act {
        session: SessionId,
        tab: Option<TabId>,
        reply: oneshot::Sender<Result<(Look, Turn), Denied>>,
    },
    /// The agent of a session opened this tab.
    Adopt {
        session: SessionId,
        tab: TabId,
        reply: oneshot::Sender<Result<(), Denied>>,
    },
}
