//! What the house does with the browser for a person: tabs, addresses, answers, pictures.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use guildhall_domain::{
    browser::{BrowserAddress, Viewport, may_load},
    ids::TabId,
    limits,
};
use serde_json::{Value, json};

use super::{
    BrowserError, Chromium, ChromiumState, ScreencastFrame,
    devtools_pipe::DevtoolsClient,
    isolated_scripts,
    protocol_events::text,
    target_registry::{PendingAuthRequest, RegisteredPage, ScreencastSettings},
};
use crate::clock::Clock;

/// CSS pixels up to which a whole page is shown in one picture.
const PAGE_PX_MAX: f64 = 16_384.0;
/// Qualities that are tried until a picture is small enough.
const QUALITIES: [u8; 3] = [80, 50, 25];

/// A way through a tab's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryNavigation {
    /// To the page before.
    Back,
    /// To the page after.
    Forward,
    /// The same page anew.
    Reload,
    /// No further.
    Stop,
}

/// What a screenshot shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScreenshotOptions {
    /// The whole page, as far as 16,384 pixels, instead of what is in view.
    pub is_whole_page: bool,
    /// Pixels of its longest side, when it shall be made smaller.
    pub side_max: Option<f64>,
}

impl Chromium {
    /// Asks whether it still answers.
    ///
    /// # Errors
    /// [`BrowserError::Timeout`]: then it counts as crashed.
    pub async fn ping(&self) -> Result<(), BrowserError> {
        let answer = self.call("", "Browser.getVersion", json!({})).await;
        answer.map(|_| ())
    }

    /// Asks it to close, and does not wait: its end shows as that of [`super::ChromiumDriver`]. Kill it
    /// when that takes longer than [`limits::BROWSER_CLOSE_GRACE_S`].
    pub async fn close(&self) {
        self.send_notification("", "Browser.close", json!({})).await;
    }

    /// Ends it with everything it started, at once.
    pub fn kill(&self) {
        self.shared.stop.send_replace(true);
    }

    /// Opens a blank tab at the end and shows it. It is told as
    /// [`super::BrowserEvent::TabOpened`] before this answers.
    pub async fn new_tab(&self) -> Result<TabId, BrowserError> {
        let blank = json!({ "url": "about:blank" });
        let made = self.call("", "Target.createTarget", blank).await?;
        let target = text(&made, "/targetId").to_owned();
        let book = &self.shared.book;
        let known = async {
            loop {
                let opened = book.opened.notified();
                let mut opened = std::pin::pin!(opened);
                opened.as_mut().enable();
                let found = book
                    .open()
                    .of_target(&target)
                    .map(|(tab, page)| (tab, page.is_told));
                if let Some((tab, true)) = found {
                    return tab;
                }
                opened.await;
            }
        };
        let waits = Duration::from_secs(limits::CDP_CALL_MAX_S);
        let known = tokio::time::timeout(waits, known).await;
        known.map_err(|_| BrowserError::Timeout)
    }

    /// Closes a tab; that it is gone is told. A page that asks whether it may be left is left.
    ///
    /// # Errors
    /// [`BrowserError::NoTab`].
    pub async fn close_tab(&self, tab: TabId) -> Result<(), BrowserError> {
        let target = self.shared.book.page(tab, |page| page.target.clone())?;
        let target = json!({ "targetId": target });
        self.call("", "Target.closeTarget", target).await?;
        Ok(())
    }

    /// Brings a tab to the front: only that one can be filmed.
    ///
    /// # Errors
    /// [`BrowserError::NoTab`].
    pub async fn select(&self, tab: TabId) -> Result<(), BrowserError> {
        let target = self.shared.book.page(tab, |page| page.target.clone())?;
        let target = json!({ "targetId": target });
        self.call("", "Target.activateTarget", target).await?;
        Ok(())
    }

    /// Goes to an address, and answers when the load has begun. What becomes of it is told.
    ///
    /// # Errors
    /// [`BrowserError::NoTab`], [`BrowserError::Timeout`].
    pub async fn navigate(&self, tab: TabId, address: &BrowserAddress) -> Result<(), BrowserError> {
        let to = json!({ "url": address.as_str() });
        self.begin(tab, "Page.navigate", to).await
    }

    /// Goes back, forward, or nowhere; answers as [`Self::navigate`]. Where there is no such page
    /// nothing happens.
    ///
    /// # Errors
    /// As [`Self::navigate`].
    pub async fn go(&self, tab: TabId, way: HistoryNavigation) -> Result<(), BrowserError> {
        let session = self.session(tab)?;
        let step = match way {
            HistoryNavigation::Reload => return self.begin(tab, "Page.reload", json!({})).await,
            HistoryNavigation::Stop => {
                self.call(&session, "Page.stopLoading", json!({})).await?;
                return Ok(());
            }
            HistoryNavigation::Back => -1,
            HistoryNavigation::Forward => 1,
        };
        let (place, entries) = history(&self.shared.wire, &session).await?;
        let entry = place
            .checked_add_signed(step)
            .and_then(|place| entries.get(place));
        let Some(entry) = entry else {
            return Ok(());
        };
        let is_guarded = {
            let entries = self.shared.book.open();
            self.shared.is_guarded(&entries, tab)
        };
        if is_guarded && !may_load(text(entry, "/url"), false) {
            return Ok(());
        }
        let entry = json!({ "entryId": entry["id"] });
        self.begin(tab, "Page.navigateToHistoryEntry", entry).await
    }

    /// Asks for a load, and waits until it was begun or refused.
    async fn begin(&self, tab: TabId, method: &str, params: Value) -> Result<(), BrowserError> {
        let look = |page: &mut super::target_registry::RegisteredPage| {
            (page.session.clone(), page.loads.subscribe())
        };
        let (session, mut loads) = self.shared.book.page(tab, look)?;
        tokio::select! {
            // First, so that it is asked before a load that somebody else began counts.
            biased;
            answer = self.call(&session, method, params) => answer.map(|_| ()),
            // An error means that the tab is gone, and so its load.
            _ = loads.changed() => Ok(()),
        }
    }

    /// Gives every page this size, now and later. In mode window nothing happens.
    pub async fn set_viewport(&self, viewport: Viewport) {
        let sessions: Vec<String> = {
            let mut entries = self.shared.book.open();
            if self.shared.mode == guildhall_domain::browser::DisplayMode::Window {
                return;
            }
            entries.viewport = Some(viewport);
            let pages = entries.pages.values();
            pages.map(|page| page.session.clone()).collect()
        };
        for session in sessions {
            let metrics = metrics(viewport);
            self.send_notification(&session, "Emulation.setDeviceMetricsOverride", metrics)
                .await;
        }
    }

    /// The size of the window that shows a tab.
    ///
    /// # Errors
    /// [`BrowserError::NoTab`], [`BrowserError::Timeout`].
    pub async fn window_size(&self, tab: TabId) -> Result<Viewport, BrowserError> {
        let target = self.shared.book.page(tab, |page| page.target.clone())?;
        let target = json!({ "targetId": target });
        let window = self.call("", "Browser.getWindowForTarget", target).await?;
        let side = |pointer| window.pointer(pointer).and_then(Value::as_u64);
        let side = |pointer| side(pointer).and_then(|side| u32::try_from(side).ok());
        Ok(Viewport {
            width: side("/bounds/width").unwrap_or_default(),
            height: side("/bounds/height").unwrap_or_default(),
            scale: 1.0,
        })
    }

    /// In mode window: whether the documents of this tab are checked, as those of a shared one
    /// are. In mode embedded all are.
    pub fn guard(&self, tab: TabId, is_guarded: bool) {
        let mut entries = self.shared.book.open();
        if is_guarded {
            entries.guarded.insert(tab);
        } else {
            entries.guarded.remove(&tab);
        }
    }

    /// Answers the dialog of a tab.
    ///
    /// # Errors
    /// [`BrowserError::NothingAsked`] when there is none.
    pub async fn answer_dialog(
        &self,
        tab: TabId,
        accept: bool,
        words: Option<&str>,
    ) -> Result<(), BrowserError> {
        let (session, has_dialog) = self.shared.book.page(tab, |page| {
            (page.session.clone(), page.facts.dialog.is_some())
        })?;
        if !has_dialog {
            return Err(BrowserError::NothingAsked);
        }
        let mut answer = json!({ "accept": accept });
        if let Some(words) = words {
            answer["promptText"] = words.into();
        }
        let answered = self
            .call(&session, "Page.handleJavaScriptDialog", answer)
            .await;
        match answered {
            // The page took it back meanwhile.
            Err(BrowserError::Refused(_)) => Err(BrowserError::NothingAsked),
            answered => answered.map(|_| ()),
        }
    }

    /// Answers the request for a password with a name and one, or cancels it. Neither is kept.
    ///
    /// # Errors
    /// [`BrowserError::NothingAsked`] when there is none.
    pub async fn answer_auth(
        &self,
        tab: TabId,
        credentials: Option<(&str, &str)>,
    ) -> Result<(), BrowserError> {
        let request = self.shared.book.page(tab, |page| {
            page.facts.auth = None;
            page.auth.take()
        })?;
        let request = request.ok_or(BrowserError::NothingAsked)?;
        answer_auth(&self.shared.wire, &request, credentials).await;
        self.shared.push_tab_changed(tab).await;
        Ok(())
    }

    /// The text that is selected, at most [`limits::BROWSER_SELECTION_BYTES_MAX`] bytes; never
    /// that of a password field.
    ///
    /// # Errors
    /// [`BrowserError::NoTab`], [`BrowserError::Timeout`].
    pub async fn selection(&self, tab: TabId) -> Result<String, BrowserError> {
        let (session, target) = self
            .shared
            .book
            .page(tab, |page| (page.session.clone(), page.target.clone()))?;
        let world = self.isolated_world(&session, &target).await?;
        let ask = json!({
            "expression": isolated_scripts::SELECTION, "contextId": world, "returnByValue": true,
        });
        let answer = self.call(&session, "Runtime.evaluate", ask).await?;
        let mut selected = text(&answer, "/result/value").to_owned();
        let end = selected.floor_char_boundary(limits::BROWSER_SELECTION_BYTES_MAX);
        selected.truncate(end);
        Ok(selected)
    }

    /// A picture of a tab as JPEG, at most [`limits::BROWSER_FRAME_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// [`BrowserError::NoTab`], [`BrowserError::Timeout`], [`BrowserError::Refused`] when no
    /// quality makes it small enough.
    pub async fn screenshot(
        &self,
        tab: TabId,
        shot: ScreenshotOptions,
    ) -> Result<Vec<u8>, BrowserError> {
        let session = self.session(tab)?;
        let mut ask = json!({ "format": "jpeg", "captureBeyondViewport": shot.is_whole_page });
        if shot.is_whole_page || shot.side_max.is_some() {
            ask["clip"] = self.clip(&session, shot).await?;
        }
        for quality in QUALITIES {
            ask["quality"] = quality.into();
            let taken = self.call(&session, "Page.captureScreenshot", ask.clone());
            let taken = taken.await?;
            let jpeg = STANDARD.decode(text(&taken, "/data")).unwrap_or_default();
            if !jpeg.is_empty() && jpeg.len() <= limits::BROWSER_FRAME_BYTES_MAX {
                return Ok(jpeg);
            }
        }
        Err(BrowserError::Refused("the picture is too large".to_owned()))
    }

    async fn clip(&self, session: &str, shot: ScreenshotOptions) -> Result<Value, BrowserError> {
        let metrics = self
            .call(session, "Page.getLayoutMetrics", json!({}))
            .await?;
        let number = |pointer: &str| {
            let found = metrics.pointer(pointer).and_then(Value::as_f64);
            found.unwrap_or_default()
        };
        let (x, y, width, height) = if shot.is_whole_page {
            let (width, height) = ("/cssContentSize/width", "/cssContentSize/height");
            (0.0, 0.0, number(width), number(height))
        } else {
            let view = "/cssVisualViewport";
            (
                number(&format!("{view}/pageX")),
                number(&format!("{view}/pageY")),
                number(&format!("{view}/clientWidth")),
                number(&format!("{view}/clientHeight")),
            )
        };
        let (width, height) = (
            width.clamp(1.0, PAGE_PX_MAX),
            height.clamp(1.0, PAGE_PX_MAX),
        );
        // A picture has more pixels than the page where one of these is several.
        let density = self
            .shared
            .book
            .open()
            .viewport
            .map_or(1.0, |view| view.scale);
        let longest = width.max(height) * density;
        let scale = shot.side_max.map_or(1.0, |max| (max / longest).min(1.0));
        Ok(json!({ "x": x, "y": y, "width": width, "height": height, "scale": scale }))
    }

    /// Takes pictures of a tab from now on, at most this many pixels wide and high. Each is told
    /// as [`super::BrowserEvent::Frame`]; the next one comes after [`Self::acknowledge_frame`].
    ///
    /// # Errors
    /// [`BrowserError::NoTab`], [`BrowserError::Timeout`].
    pub async fn start_screencast(
        &self,
        tab: TabId,
        width: u32,
        height: u32,
    ) -> Result<(), BrowserError> {
        self.select(tab).await?;
        let film = ScreencastSettings {
            width,
            height,
            is_renewed: false,
        };
        let session = self.shared.book.page(tab, |page| {
            page.film = Some(film);
            page.session.clone()
        })?;
        self.call(&session, START, how(film)).await?;
        Ok(())
    }

    /// Takes no more pictures of a tab.
    ///
    /// # Errors
    /// [`BrowserError::NoTab`], [`BrowserError::Timeout`].
    pub async fn stop_screencast(&self, tab: TabId) -> Result<(), BrowserError> {
        let session = self.shared.book.page(tab, |page| {
            page.film = None;
            page.session.clone()
        })?;
        self.call(&session, STOP, json!({})).await?;
        Ok(())
    }

    /// Says that a picture was seen.
    pub async fn acknowledge_frame(&self, frame: &ScreencastFrame) {
        // A tab that is gone takes no more pictures.
        if let Ok(session) = self.session(frame.tab) {
            self.shared.acknowledge_frame(&session, frame.number).await;
        }
    }

    /// The isolated world of a frame, where our own scripts run.
    pub(super) async fn isolated_world(
        &self,
        session: &str,
        frame: &str,
    ) -> Result<i64, BrowserError> {
        let world = json!({ "frameId": frame, "worldName": isolated_scripts::WORLD });
        let world = self
            .call(session, "Page.createIsolatedWorld", world)
            .await?;
        Ok(world["executionContextId"].as_i64().unwrap_or_default())
    }

    pub(super) fn session(&self, tab: TabId) -> Result<String, BrowserError> {
        self.shared.book.session(tab)
    }

    pub(super) async fn call(
        &self,
        session: &str,
        method: &str,
        params: Value,
    ) -> Result<Value, BrowserError> {
        self.shared.wire.call(session, method, params).await
    }

    pub(super) async fn send_notification(&self, session: &str, method: &str, params: Value) {
        self.shared.wire.notify(session, method, params).await;
    }
}

impl ChromiumState {
    /// Begins the film of a tab anew, because a picture of it was left out: a page that does not
    /// move makes no other by itself.
    ///
    /// Whatever comes behind that is told, so that a clock that jumped costs one picture and not
    /// all of them.
    pub(super) async fn restart_screencast(&self, tab: TabId) {
        loop {
            let look =
                |page: &mut RegisteredPage| (page.session.clone(), page.film, page.pictures_since);
            let Ok((session, Some(film), since)) = self.book.page(tab, look) else {
                return;
            };
            // What is not filmed any more needs no end.
            let _ = self.wire.call(&session, STOP, json!({})).await;
            let begun = self.wire.call(&session, START, how(film)).await;
            // A page that is just being replaced is not filmed for a moment.
            let is_refused = matches!(begun, Err(BrowserError::Refused(_)));
            let ends = |page: &mut RegisteredPage| {
                // Else another document came, or another size is wanted.
                let is_same = page.pictures_since == since && page.film == Some(film);
                if let Some(film) = page.film.as_mut().filter(|_| is_same && !is_refused) {
                    film.is_renewed = false;
                    page.pictures_since = None;
                }
                (page.film.is_some(), is_same)
            };
            match self.book.page(tab, ends) {
                // It was ended meanwhile, perhaps before it was begun anew.
                Ok((false, _)) => return self.wire.notify(&session, STOP, json!({})).await,
                Ok(_) if is_refused => Clock::System.wait(AGAIN_AFTER).await,
                Ok((true, false)) => {}
                Ok((true, true)) | Err(_) => return,
            }
        }
    }
}

/// After how long a film that was refused is asked for again.
const AGAIN_AFTER: Duration = Duration::from_millis(200);
const START: &str = "Page.startScreencast";
const STOP: &str = "Page.stopScreencast";

/// How pictures are asked for.
fn how(film: ScreencastSettings) -> Value {
    json!({
        "format": "jpeg", "quality": 60, "maxWidth": film.width, "maxHeight": film.height,
        "everyNthFrame": 1,
    })
}

/// Where a tab is in its history, and the history.
pub(super) async fn history(
    wire: &DevtoolsClient,
    session: &str,
) -> Result<(usize, Vec<Value>), BrowserError> {
    let mut history = wire
        .call(session, "Page.getNavigationHistory", json!({}))
        .await?;
    let place = history["currentIndex"].as_u64().unwrap_or_default();
    let entries = match history["entries"].take() {
        Value::Array(entries) => entries,
        _ => Vec::new(),
    };
    Ok((usize::try_from(place).unwrap_or_default(), entries))
}

pub(super) async fn answer_auth(
    wire: &DevtoolsClient,
    request: &PendingAuthRequest,
    credentials: Option<(&str, &str)>,
) {
    let answer = match credentials {
        Some((username, password)) => json!({
            "response": "ProvideCredentials", "username": username, "password": password,
        }),
        None => json!({ "response": "CancelAuth" }),
    };
    let params = json!({ "requestId": request.request, "authChallengeResponse": answer });
    wire.notify(&request.session, "Fetch.continueWithAuth", params)
        .await;
}

pub(super) fn metrics(viewport: Viewport) -> Value {
    json!({
        "width": viewport.width, "height": viewport.height,
        "deviceScaleFactor": viewport.scale, "mobile": false,
    })
}
