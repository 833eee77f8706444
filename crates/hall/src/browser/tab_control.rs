//! What the person does with tabs, by routes and by looking on. Source: contract 7.4, 7.6, 7.7.

use std::sync::Arc;

use guildhall_domain::{
    Error, Refusal, Result,
    browser::{BrowserAddress, BrowserState, InputStep, InputSteps, Viewport},
    callers::OwnerHere,
    ids::{BrowserConnectionId, TabId},
};
use guildhall_world::chromium::{BrowserError, ScreenshotOptions};
use tokio::sync::{mpsc, watch};

use super::{
    Destination,
    actor_requests::{ActorRequest, ChromiumAccess, ChromiumNeed},
    as_refusal,
    screencast::{ViewRequest, ViewerId, ViewerUpdate},
};
use crate::Hall;

impl Hall {
    /// Opens a tab at the end and shows it.
    ///
    /// # Errors
    /// [`Refusal::BrowserDisabled`], [`Refusal::BrowserNotConnected`],
    /// [`Refusal::BrowserTabLimit`], [`Refusal::BrowserTimeout`].
    pub async fn open_tab(
        &self,
        _by: &OwnerHere,
        url: Option<BrowserAddress>,
    ) -> Result<Arc<BrowserState>> {
        self.require_enabled().await?;
        let ChromiumAccess { chromium, .. } = self.chromium_access(ChromiumNeed::Room).await?;
        let tab = chromium.new_tab().await.map_err(as_refusal)?;
        if let Some(url) = url.filter(|url| *url != BrowserAddress::blank()) {
            chromium.navigate(tab, &url).await.map_err(load_error)?;
        }
        self.updated_browser(Some(tab), None).await
    }

    /// Shows a tab.
    ///
    /// # Errors
    /// [`Refusal::BrowserDisabled`], `NotFound`, [`Refusal::BrowserNotConnected`],
    /// [`Refusal::BrowserTimeout`].
    pub async fn select_tab(&self, _by: &OwnerHere, tab: TabId) -> Result<Arc<BrowserState>> {
        self.require_enabled().await?;
        let ChromiumAccess { chromium, .. } = self.chromium_access(ChromiumNeed::Tab(tab)).await?;
        chromium.select(tab).await.map_err(as_refusal)?;
        self.updated_browser(Some(tab), None).await
    }

    /// Closes a tab; an embedded browser has a blank one instead of its last.
    ///
    /// # Errors
    /// As [`Self::select_tab`].
    pub async fn close_tab(&self, _by: &OwnerHere, tab: TabId) -> Result<Arc<BrowserState>> {
        self.require_enabled().await?;
        let ChromiumAccess { chromium, is_last } =
            self.chromium_access(ChromiumNeed::Tab(tab)).await?;
        if is_last {
            // First, because without any tab Chromium might end.
            chromium.new_tab().await.map_err(as_refusal)?;
        }
        match chromium.close_tab(tab).await {
            // One that is gone already is what was asked for.
            Ok(()) | Err(BrowserError::NoTab) => {}
            Err(error) => return Err(as_refusal(error)),
        }
        self.updated_browser(None, Some(tab)).await
    }

    /// Sends a tab somewhere, and answers when the load has begun.
    ///
    /// # Errors
    /// As [`Self::select_tab`]; [`Refusal::BrowserUrlNotAllowed`] where Chromium says so.
    pub async fn navigate_tab(
        &self,
        _by: &OwnerHere,
        tab: TabId,
        to: Destination,
    ) -> Result<Arc<BrowserState>> {
        self.require_enabled().await?;
        let ChromiumAccess { chromium, .. } = self.chromium_access(ChromiumNeed::Tab(tab)).await?;
        match to {
            Destination::To(address) => chromium.navigate(tab, &address).await,
            Destination::Along(way) => chromium.go(tab, way).await,
        }
        .map_err(load_error)?;
        self.updated_browser(None, None).await
    }

    /// Does a person's steps in a tab of an embedded browser.
    ///
    /// # Errors
    /// [`Refusal::Validation`] for steps out of bounds, [`Refusal::BrowserDisabled`], `NotFound`,
    /// [`Refusal::BrowserNotConnected`], [`Refusal::BrowserStale`],
    /// [`Refusal::BrowserWrongMode`], [`Refusal::BrowserInputQueueFull`],
    /// [`Refusal::BrowserTimeout`].
    pub async fn type_in_tab(
        &self,
        by: &OwnerHere,
        tab: TabId,
        connection: Option<BrowserConnectionId>,
        steps: Vec<InputStep>,
    ) -> Result<Arc<BrowserState>> {
        let steps = InputSteps::checked(steps, self.browser(by).viewport)?;
        self.require_enabled().await?;
        self.ask_browser(|reply| ActorRequest::Input {
            tab,
            connection,
            steps,
            reply,
        })
        .await?;
        self.updated_browser(None, None).await
    }

    /// Gives the pages of an embedded browser another size.
    ///
    /// # Errors
    /// As [`Self::select_tab`], and [`Refusal::BrowserWrongMode`].
    pub async fn resize_tab(
        &self,
        _by: &OwnerHere,
        tab: TabId,
        viewport: Viewport,
    ) -> Result<Arc<BrowserState>> {
        self.require_enabled().await?;
        let ChromiumAccess { chromium, .. } = self
            .chromium_access(ChromiumNeed::Size(tab, viewport))
            .await?;
        chromium.set_viewport(viewport).await;
        self.updated_browser(None, None).await
    }

    /// Answers the dialog of a tab.
    ///
    /// # Errors
    /// As [`Self::select_tab`], and [`Refusal::BrowserNoDialog`].
    pub async fn answer_dialog(
        &self,
        _by: &OwnerHere,
        tab: TabId,
        accept: bool,
        text: Option<&str>,
    ) -> Result<Arc<BrowserState>> {
        self.require_enabled().await?;
        let ChromiumAccess { chromium, .. } = self.chromium_access(ChromiumNeed::Tab(tab)).await?;
        let answered = chromium.answer_dialog(tab, accept, text).await;
        answered.map_err(as_refusal)?;
        self.updated_browser(None, None).await
    }

    /// Answers a tab's request for a name and a password, or cancels it. Neither is kept or told.
    ///
    /// # Errors
    /// As [`Self::select_tab`], and [`Refusal::BrowserNoAuthRequest`].
    pub async fn answer_auth(
        &self,
        _by: &OwnerHere,
        tab: TabId,
        credentials: Option<(&str, &str)>,
    ) -> Result<Arc<BrowserState>> {
        self.require_enabled().await?;
        let ChromiumAccess { chromium, .. } = self.chromium_access(ChromiumNeed::Tab(tab)).await?;
        let answered = chromium.answer_auth(tab, credentials).await;
        answered.map_err(|error| match error {
            BrowserError::NothingAsked => Refusal::BrowserNoAuthRequest.into(),
            other => as_refusal(other),
        })?;
        self.updated_browser(None, None).await
    }

    /// The text that is selected in a tab.
    ///
    /// # Errors
    /// `NotFound`, [`Refusal::BrowserNotConnected`], [`Refusal::BrowserTimeout`].
    pub async fn tab_selection(&self, _by: &OwnerHere, tab: TabId) -> Result<String> {
        let ChromiumAccess { chromium, .. } = self.chromium_access(ChromiumNeed::Tab(tab)).await?;
        chromium.selection(tab).await.map_err(as_refusal)
    }

    /// A picture of a tab, as JPEG.
    ///
    /// # Errors
    /// As [`Self::tab_selection`].
    pub async fn tab_screenshot(&self, _by: &OwnerHere, tab: TabId) -> Result<Vec<u8>> {
        let ChromiumAccess { chromium, .. } = self.chromium_access(ChromiumNeed::Tab(tab)).await?;
        let shot = chromium.screenshot(tab, ScreenshotOptions::default()).await;
        shot.map_err(as_refusal)
    }

    /// Looks on from now.
    ///
    /// # Errors
    /// [`Refusal::BrowserTooManyViewers`].
    pub async fn watch_browser(&self, _by: &OwnerHere) -> Result<Viewer> {
        let (id, said) = self
            .ask_browser(|reply| ActorRequest::Enter { reply })
            .await?;
        Ok(Viewer {
            typist: ViewerInput {
                id,
                asks: self.inner.browser.asks.clone(),
                leaves: self.inner.browser.leaves.clone(),
            },
            said,
            states: self.browser_states(),
        })
    }

    pub(super) async fn chromium_access(&self, need: ChromiumNeed) -> Result<ChromiumAccess> {
        self.ask_browser(|reply| ActorRequest::Reach { need, reply })
            .await
    }

    pub(super) async fn updated_browser(
        &self,
        shows: Option<TabId>,
        gone: Option<TabId>,
    ) -> Result<Arc<BrowserState>> {
        self.ask_browser(|reply| ActorRequest::Settle { shows, gone, reply })
            .await
    }
}

/// What an error means for who wanted a load: Chromium refuses addresses it cannot read.
fn load_error(error: BrowserError) -> Error {
    match error {
        BrowserError::Refused(_) => Refusal::BrowserUrlNotAllowed.into(),
        other => as_refusal(other),
    }
}

/// Somebody who looks on.
pub struct Viewer {
    /// What it does itself.
    pub typist: ViewerInput,
    /// What it is told beside the state.
    pub said: mpsc::Receiver<ViewerUpdate>,
    /// The state.
    pub states: watch::Receiver<Arc<BrowserState>>,
}

/// The doing half of a viewer; dropped, it leaves.
pub struct ViewerInput {
    id: ViewerId,
    asks: mpsc::Sender<ActorRequest>,
    leaves: mpsc::UnboundedSender<ViewerId>,
}

impl ViewerInput {
    /// Wants pictures of a tab, at most this many pixels wide and high; or none.
    pub async fn view(&self, view: Option<(TabId, u32, u32)>) {
        let ask = view.map(|(tab, width, height)| ViewRequest { tab, width, height });
        self.ask(ActorRequest::View(self.id, ask)).await;
    }

    /// Says that a picture was seen, whichever view it belonged to.
    pub async fn seen(&self, sequence: u32) {
        self.ask(ActorRequest::Seen(self.id, sequence)).await;
    }

    /// Does steps in the tab of a view; what becomes of them is told as [`ViewerUpdate::Typed`].
    pub async fn input(&self, id: u32, view: u32, steps: Vec<InputStep>) {
        self.ask(ActorRequest::Typed {
            viewer: self.id,
            id,
            view,
            steps,
        })
        .await;
    }

    async fn ask(&self, ask: ActorRequest) {
        // Without an actor the server stops, which ends the stream as well.
        let _ = self.asks.send(ask).await;
    }
}

impl Drop for ViewerInput {
    fn drop(&mut self) {
        // Without an actor there is nothing to leave.
        let _ = self.leaves.send(self.id);
    }
}
