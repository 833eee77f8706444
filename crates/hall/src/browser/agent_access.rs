//! What an agent may do with a shared tab: look at it, and act in it when it is its turn.
//! The tools themselves are in [`super::tools`]. Source: contract 7.8.

use std::collections::BTreeMap;

use guildhall_domain::{
    Result,
    browser::{ActionTicket, Tab, ToolDenial, event_payloads},
    events::Event,
    ids::{SessionId, TabId},
};
use guildhall_world::chromium::Chromium;
use tokio::sync::{mpsc, oneshot};

use super::{actor_requests::ActorRequest, screencast::ViewerUpdate};
use crate::Hall;

/// A tab that an agent may look at.
#[derive(Clone, Debug)]
pub(super) struct TabAccess {
    /// What Chromium is driven by.
    pub(super) chromium: Chromium,
    /// The tab that was named, else the one that is shown, else the first one within reach.
    pub(super) tab: TabId,
    /// All tabs within reach, in their order.
    pub(super) reach: Vec<Tab>,
    /// The one that is shown, when it is within reach.
    pub(super) selected: Option<TabId>,
}

/// An agent's turn at the mouse: it lasts until this is dropped.
#[derive(Debug)]
#[must_use = "the turn is over when this is dropped"]
pub(super) struct ControlTurn {
    pub(super) ticket: ActionTicket,
    pub(super) over: mpsc::UnboundedSender<ActionTicket>,
}

impl Drop for ControlTurn {
    fn drop(&mut self) {
        // Nobody waits for it any more once the actor is gone.
        let _ = self.over.send(self.ticket);
    }
}

/// An action that waits for its turn.
pub(super) struct WaitingAction {
    pub(super) session: SessionId,
    pub(super) tab: TabId,
    pub(super) reply: oneshot::Sender<Result<(TabAccess, ControlTurn), ToolDenial>>,
}

/// The actions that wait, by their numbers.
#[derive(Default)]
pub(super) struct WaitingActions {
    pub(super) waiting: BTreeMap<ActionTicket, WaitingAction>,
    pub(super) last: ActionTicket,
}

impl Hall {
    /// Lets the agent of a session look at a tab within its reach.
    ///
    /// # Errors
    /// [`ToolDenial::NotShared`], [`ToolDenial::Paused`], [`ToolDenial::TabNotFound`].
    pub(super) async fn access_browser_tab(
        &self,
        session: SessionId,
        tab: Option<TabId>,
    ) -> Result<TabAccess, ToolDenial> {
        self.ask_for_agent(|reply| ActorRequest::Look {
            session,
            tab,
            reply,
        })
        .await
    }

    /// Waits until the agent of a session may act in a tab within its reach. Who no longer waits
    /// has no turn.
    ///
    /// # Errors
    /// [`ToolDenial::NotShared`], [`ToolDenial::Paused`], [`ToolDenial::TabNotFound`],
    /// [`ToolDenial::RateLimited`], [`ToolDenial::PersonActive`].
    pub(super) async fn wait_for_control(
        &self,
        session: SessionId,
        tab: Option<TabId>,
    ) -> Result<(TabAccess, ControlTurn), ToolDenial> {
        self.ask_for_agent(|reply| ActorRequest::Act {
            session,
            tab,
            reply,
        })
        .await
    }

    /// Lets the agent of a session reach a tab that it opened.
    ///
    /// # Errors
    /// [`ToolDenial::NotShared`], [`ToolDenial::TabNotFound`].
    pub(super) async fn adopt_tab(&self, session: SessionId, tab: TabId) -> Result<(), ToolDenial> {
        self.ask_for_agent(|reply| ActorRequest::Adopt {
            session,
            tab,
            reply,
        })
        .await
    }

    /// Shows viewers where in a tab an agent does something.
    pub(super) async fn show_agent_cursor(
        &self,
        tab: TabId,
        (x, y): (f64, f64),
        action: &'static str,
    ) {
        let said = ViewerUpdate::AgentCursor { tab, x, y, action };
        // A stopping server has nobody to show it to.
        let _ = self
            .inner
            .browser
            .asks
            .send(ActorRequest::Cursor(said))
            .await;
    }

    /// Tells what an agent did in the browser, or was refused.
    ///
    /// # Errors
    /// A fault when the store refuses it.
    pub(super) async fn append_browser_action(
        &self,
        action: event_payloads::AgentAction,
    ) -> Result<()> {
        let now = self.now();
        self.store()
            .write(move |tx| {
                tx.append(now, None, &Event::BrowserAgentAction(action))?;
                Ok(())
            })
            .await
    }

    async fn ask_for_agent<T>(
        &self,
        ask: impl FnOnce(oneshot::Sender<Result<T, ToolDenial>>) -> ActorRequest,
    ) -> Result<T, ToolDenial> {
        let (reply, answer) = oneshot::channel();
        let sent = self.inner.browser.asks.try_send(ask(reply));
        sent.map_err(|_| ToolDenial::RateLimited)?;
        // It drops what it was asked only at its own end.
        answer.await.map_err(|_| ToolDenial::NotShared)?
    }
}
