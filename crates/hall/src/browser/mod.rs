//! The local browser: one Chromium for the whole house, driven by its owner at this computer.
//!
//! One actor owns it, see `browser::actor`: who asks, asks there, and is handed what Chromium is driven
//! by where that needs no order among those who ask. What a browser is and may be is
//! `domain::browser`, Chromium itself `world::chromium`. Source: contract chapter 7.

mod actor;
mod actor_requests;
mod agent_access;
mod agent_tools;
mod input_queue;
mod jobs;
mod launch;
mod screencast;
mod screencast_capture;
mod tab_control;

use std::{path::PathBuf, sync::Arc, time::Duration};

use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    browser::{
        BrowserAddress, BrowserState, BrowserStatus, CloseReason, DisplayMode, UnshareReason,
        event_payloads,
    },
    callers::OwnerHere,
    errors::ResourceKind,
    events::Event,
    ids::{SessionId, TabId},
    limits,
    sessions::SessionState,
    settings::BROWSER_ENABLED,
};
use guildhall_store::{
    Tx,
    browser::{self as rows, BrowserRow},
    sessions,
};
use guildhall_world::chromium::BrowserError;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};

/// A way along a tab's history.
pub use guildhall_world::chromium::HistoryNavigation;
pub use screencast::{ViewerFrame, ViewerUpdate};
pub use tab_control::{Viewer, ViewerInput};

use crate::Hall;
use actor_requests::{ActorRequest, BrowserAction};

/// Asks that wait for the actor; one more is refused as overload.
const ASKS_MAX: usize = 256;

/// How the browser of this house is started and kept.
#[derive(Clone, Debug)]
pub struct BrowserConfig {
    /// The executable, when the configuration names one: no other counts then.
    pub executable: Option<PathBuf>,
    /// Whether Chromium's own sandbox is switched off, because a person said so.
    pub is_unsandboxed: bool,
    /// The server's own port, where the kernel does not tell that a connection is the browser's:
    /// its pages cannot be refused then, so they do not reach it at all.
    pub walled_port: Option<u16>,
    /// How long an embedded browser stays open that nobody uses.
    pub idle: Duration,
}

impl Default for BrowserConfig {
    fn default() -> Self {
        Self {
            executable: None,
            is_unsandboxed: false,
            walled_port: None,
            idle: Duration::from_secs(limits::BROWSER_IDLE_CLOSE_S),
        }
    }
}

/// The way to the actor, and what it says.
pub(crate) struct BrowserHandle {
    how: BrowserConfig,
    asks: mpsc::Sender<ActorRequest>,
    /// Viewers that leave: at most as many as there are, so it needs no bound.
    leaves: mpsc::UnboundedSender<screencast::ViewerId>,
    state: watch::Receiver<Arc<BrowserState>>,
    listed: agent_tools::BrowserToolListings,
}

impl BrowserHandle {
    /// The way, and what the actor is made of.
    pub(crate) fn new(how: BrowserConfig, kept: BrowserRow) -> (Self, actor::ActorChannels) {
        let (asks, asked) = mpsc::channel(ASKS_MAX);
        let (leaves, left) = mpsc::unbounded_channel();
        let (told, state) = watch::channel(Arc::new(actor::first_state(&how, kept)));
        let beginning = actor::ActorChannels {
            asked,
            left,
            told,
            kept,
        };
        let browser = Self {
            how,
            asks,
            leaves,
            state,
            listed: agent_tools::BrowserToolListings::default(),
        };
        (browser, beginning)
    }
}

/// What a person asks for who opens the browser.
#[derive(Clone, Debug)]
pub struct OpenBrowser {
    /// Where it shall be shown.
    pub mode: DisplayMode,
    /// The chat a tab shall be shared with.
    pub session: Option<SessionId>,
    /// What shall be opened.
    pub url: Option<BrowserAddress>,
}

/// Where a tab shall go.
#[derive(Clone, Debug)]
pub enum Destination {
    /// To an address.
    To(BrowserAddress),
    /// Along its history, or nowhere.
    Along(HistoryNavigation),
}

/// Starts the actor.
pub(crate) fn start(hall: &Hall, beginning: actor::ActorChannels) {
    let actor = actor::Actor::new(hall.clone(), beginning);
    hall.tasks().spawn("local browser", hall.now(), actor.run());
}

/// Tells of what a server left open that ended before it could.
///
/// # Errors
/// A fault when the store refuses it.
///
/// Source: contract 7.11, "On start after an unclean end".
pub(crate) fn recover(tx: &mut Tx<'_>, now: Timestamp) -> Result<BrowserRow> {
    let kept = rows::load(tx)?;
    if let Some(connection_id) = kept.connection {
        let reason = CloseReason::Shutdown;
        let closed = event_payloads::Closed {
            connection_id,
            reason,
        };
        tx.append(now, None, &Event::BrowserClosed(closed))?;
    }
    if let Some((session_id, connection_id)) = kept.shared {
        let unshared = event_payloads::Unshared {
            session_id,
            connection_id,
            reason: UnshareReason::Restart,
        };
        tx.append(now, None, &Event::BrowserUnshared(unshared))?;
    }
    let left = BrowserRow {
        connection: None,
        shared: None,
        ..kept
    };
    if left != kept {
        rows::keep(tx, left)?;
    }
    Ok(left)
}

impl Hall {
    /// What the browser is now. Starts nothing.
    pub fn browser(&self, _by: &OwnerHere) -> Arc<BrowserState> {
        Arc::clone(&self.inner.browser.state.borrow())
    }

    /// What the browser is, and each time it is something else.
    pub(crate) fn browser_states(&self) -> watch::Receiver<Arc<BrowserState>> {
        self.inner.browser.state.clone()
    }

    /// Opens the browser, or joins an open that is on its way; answers at once, or when it is
    /// open, it failed or `wait` is over.
    ///
    /// # Errors
    /// [`Refusal::BrowserDisabled`], `NotFound` for a session that is not there or is closed,
    /// [`Refusal::BrowserBusy`], [`Refusal::BrowserProfileInUse`].
    ///
    /// Source: contract 7.5.
    pub async fn open_browser(
        &self,
        by: &OwnerHere,
        ask: OpenBrowser,
        wait: Option<Duration>,
    ) -> Result<Arc<BrowserState>> {
        self.require_enabled().await?;
        if let Some(session) = ask.session {
            self.require_sharable(session).await?;
        }
        let state = self.perform(by, BrowserAction::Open(ask)).await?;
        let Some(wait) = wait else {
            return Ok(state);
        };
        let (mut states, mut stopping) = (self.browser_states(), self.tasks().stopping());
        let is_over = |state: &Arc<BrowserState>| match state.status {
            BrowserStatus::Connected | BrowserStatus::Failed => true,
            BrowserStatus::Disconnected => !state.preparation.stage.is_on_its_way(),
            BrowserStatus::Connecting | BrowserStatus::Closing => false,
        };
        // Neither sender goes before the actor does, which is an end as well.
        let _ = timeout(wait, async {
            tokio::select! {
                _ = states.wait_for(is_over) => {}
                _ = stopping.wait_for(|stop| *stop) => {}
            }
        })
        .await;
        Ok(self.browser(by))
    }

    /// Looks for an executable; with `download` fetches one where that is possible.
    ///
    /// # Errors
    /// [`Refusal::BrowserDisabled`], [`Refusal::BrowserBusy`].
    pub async fn prepare_browser(
        &self,
        by: &OwnerHere,
        download: bool,
    ) -> Result<Arc<BrowserState>> {
        self.require_enabled().await?;
        self.perform(by, BrowserAction::Prepare { download }).await
    }

    /// Closes the browser, or gives up opening or fetching it; also when it is switched off, for
    /// then it is all that is left to do with one that runs.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`], [`Refusal::ShuttingDown`].
    pub async fn close_browser(&self, by: &OwnerHere) -> Result<Arc<BrowserState>> {
        self.perform(by, BrowserAction::Close).await
    }

    /// Shares a tab with a session, the one that is shown unless one is named; without a session
    /// ends the share.
    ///
    /// # Errors
    /// [`Refusal::BrowserDisabled`], `NotFound` of session and tab,
    /// [`Refusal::BrowserNotConnected`].
    pub async fn share_browser(
        &self,
        by: &OwnerHere,
        session: Option<SessionId>,
        tab: Option<TabId>,
    ) -> Result<Arc<BrowserState>> {
        self.require_enabled().await?;
        if let Some(session) = session {
            self.require_sharable(session).await?;
        }
        self.perform(by, BrowserAction::Share { session, tab })
            .await
    }

    /// Refuses agents' tools, or lets them on.
    ///
    /// # Errors
    /// [`Refusal::BrowserDisabled`], [`Refusal::BrowserNotConnected`].
    pub async fn pause_browser(&self, by: &OwnerHere, paused: bool) -> Result<Arc<BrowserState>> {
        self.require_enabled().await?;
        self.perform(by, BrowserAction::Pause(paused)).await
    }

    /// Ends the share of a session that is over.
    pub(crate) async fn unshare_browser_of(&self, session: SessionId) {
        self.forget_browser_list(session);
        // Only a stopping server has no actor, and no share then either.
        let _ = self
            .inner
            .browser
            .asks
            .send(ActorRequest::SessionEnded(session))
            .await;
    }

    /// Holds back what would change something while the browser is switched off.
    async fn require_enabled(&self) -> Result<()> {
        if self.setting(&BROWSER_ENABLED).await?.is_on() {
            Ok(())
        } else {
            Err(Refusal::BrowserDisabled.into())
        }
    }

    async fn require_sharable(&self, session: SessionId) -> Result<()> {
        let found = self
            .store()
            .read(move |db| sessions::by_id(db, session))
            .await?
            .value;
        // A share ends with its session, so a closed one never has any.
        match found.filter(|session| session.state != SessionState::Closed) {
            Some(_) => Ok(()),
            None => Err(Refusal::NotFound(ResourceKind::Session).into()),
        }
    }

    async fn perform(&self, by: &OwnerHere, deed: BrowserAction) -> Result<Arc<BrowserState>> {
        let by = by.caller().author;
        self.ask_browser(|reply| ActorRequest::Do { deed, by, reply })
            .await
    }

    /// Asks the actor, and waits for its answer.
    async fn ask_browser<T>(
        &self,
        ask: impl FnOnce(oneshot::Sender<Result<T>>) -> ActorRequest,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let sent = self.inner.browser.asks.try_send(ask(reply));
        sent.map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Refusal::Overloaded,
            mpsc::error::TrySendError::Closed(_) => Refusal::ShuttingDown,
        })?;
        // It drops what it was asked only at its own end.
        answer.await.map_err(|_| Refusal::ShuttingDown)?
    }
}

/// What an error of the browser means for a person who asked for something.
fn as_refusal(error: BrowserError) -> Error {
    match error {
        BrowserError::Gone => Refusal::BrowserNotConnected.into(),
        BrowserError::Timeout => Refusal::BrowserTimeout.into(),
        BrowserError::NoTab => Refusal::NotFound(ResourceKind::Tab).into(),
        BrowserError::NothingAsked => Refusal::BrowserNoDialog.into(),
        // A dialog is over the page that was meant.
        BrowserError::Denied(_) => Refusal::BrowserStale.into(),
        BrowserError::Refused(why) => Fault::broken("asking the local browser", why).into(),
    }
}
