//! What an agent may do with a tab that is shared with it. Whether one is, and whose turn it is,
//! is `hall::browser` to say. Source: contract 7.8, "Tool rule".

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use guildhall_domain::{
    browser::{BrowserAddress, MouseButton, PageOutline, ToolDenial, may_load},
    ids::TabId,
    limits,
};
use serde_json::{Value, json};
use tokio::time::{interval, timeout};

use super::{
    BrowserError, Chromium, HistoryNavigation, ScreenshotOptions,
    element_location::stale_ref_error,
    isolated_scripts, keys,
    target_registry::{RegisteredElement, RegisteredPage},
};

/// How often a page is asked whether it shows a text.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How often a page is read that changes under the eyes.
const SNAPSHOT_TRIES: usize = 3;
/// How long a page that is there may go on loading before it is told of.
const LOAD_MAX: Duration = Duration::from_secs(5);

/// A line of a page's console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleLine {
    /// `log`, `warning`, `error` …
    pub level: String,
    /// What it says, at most [`limits::BROWSER_CONSOLE_CHARS_MAX`] characters.
    pub text: String,
}

/// What a page looks like to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSnapshot {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// One line an element, see [`PageOutline`].
    pub text: String,
    /// Whether there was more.
    pub truncated: bool,
}

/// Where a navigation led.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NavigationResult {
    /// The address it ended at.
    pub url: String,
    /// The title of the page.
    pub title: String,
    /// The status of its answer, when it had one.
    pub status: Option<u16>,
    /// What went wrong.
    pub error: Option<String>,
}

/// What became of an action that was handed to Chromium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DispatchOutcome {
    /// Chromium took it.
    Done,
    /// Chromium did not say, and it may happen still. It is not to be done again unseen.
    Uncertain,
}

impl DispatchOutcome {
    /// What an answer means after the action was handed over.
    fn of(taken: Result<(), BrowserError>) -> Result<Self, BrowserError> {
        match taken {
            Ok(()) => Ok(Self::Done),
            Err(BrowserError::Timeout | BrowserError::Gone | BrowserError::NoTab) => {
                Ok(Self::Uncertain)
            }
            Err(other) => Err(other),
        }
    }
}

/// A text that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextCondition<'a> {
    /// It shall be there.
    Text(&'a str),
    /// It shall not be there any more.
    TextGone(&'a str),
}

impl Chromium {
    /// What the page looks like, with new refs: those of earlier snapshots mean nothing any more.
    ///
    /// # Errors
    /// [`ToolDenial::UrlNotAllowed`], [`ToolDenial::DialogOpen`], [`BrowserError::NoTab`],
    /// [`BrowserError::Timeout`].
    pub async fn snapshot(&self, tab: TabId) -> Result<PageSnapshot, BrowserError> {
        for _ in 0..SNAPSHOT_TRIES {
            if let Some(snapshot) = self.snapshot_once(tab).await? {
                return Ok(snapshot);
            }
        }
        Err(BrowserError::Timeout)
    }

    /// `None` when the page went elsewhere while it was read.
    async fn snapshot_once(&self, tab: TabId) -> Result<Option<PageSnapshot>, BrowserError> {
        let look = |page: &mut RegisteredPage| {
            (
                page.session.clone(),
                page.document.clone(),
                page.secrets.clone(),
            )
        };
        let (session, document, secrets) = self.for_agents(tab, look)?;
        let read = self.read(&session, secrets).await?;
        self.for_agents(tab, |page| {
            if page.document != document {
                return None;
            }
            let last = &self.shared.book.last_ref;
            let outline = PageOutline::of(&read.lines, last.load(Relaxed) + 1);
            last.fetch_add(outline.refs.len() as u64, Relaxed);
            let elements = read.elements;
            page.elements = outline
                .refs
                .iter()
                .filter_map(|(number, place)| Some((*number, elements.get(*place)?.clone())))
                .collect();
            page.secrets = read.secrets;
            Some(PageSnapshot {
                url: page.facts.url.clone(),
                title: page.facts.title.clone(),
                text: outline.text,
                truncated: outline.truncated,
            })
        })
    }

    /// The tab whose last snapshot has this ref; `None` for one that means nothing any more.
    pub fn tab_of(&self, reference: u64) -> Option<TabId> {
        let entries = self.shared.book.open();
        let mut pages = entries.pages.iter();
        let found = pages.find(|(_, page)| page.elements.contains_key(&reference));
        found.map(|(tab, _)| *tab)
    }

    /// Where in its page an element is, scrolled into view; `None` when a click does not reach it.
    pub async fn reachable_point(&self, tab: TabId, reference: u64) -> Option<(f64, f64)> {
        let (session, element) = self.element(tab, reference).ok()?;
        self.click_point(&session, &element).await.ok()
    }

    /// A picture of a tab for an agent, as [`Self::screenshot`].
    ///
    /// # Errors
    /// [`ToolDenial::UrlNotAllowed`], [`ToolDenial::DialogOpen`], else as [`Self::screenshot`].
    pub async fn agent_screenshot(
        &self,
        tab: TabId,
        shot: ScreenshotOptions,
    ) -> Result<Vec<u8>, BrowserError> {
        self.for_agents(tab, |_| ())?;
        let taken = self.screenshot(tab, shot).await?;
        // The page may have gone elsewhere meanwhile.
        self.for_agents_at_all(tab, |_| taken)
    }

    /// Goes along the history of a tab and waits until the page is there.
    ///
    /// # Errors
    /// [`ToolDenial::UrlNotAllowed`], [`ToolDenial::DialogOpen`], [`BrowserError::Timeout`]: it may come
    /// still.
    pub async fn history_navigate(
        &self,
        tab: TabId,
        way: HistoryNavigation,
    ) -> Result<NavigationResult, BrowserError> {
        self.for_agents(tab, |_| ())?;
        let gone = self.go(tab, way);
        self.unless_dialog(tab, gone).await?;
        self.wait_for_load(tab).await
    }

    /// Goes to an address and waits until its page is there.
    ///
    /// # Errors
    /// [`ToolDenial::DialogOpen`], [`BrowserError::Timeout`]: it may come still.
    pub async fn navigate_and_wait(
        &self,
        tab: TabId,
        address: &BrowserAddress,
    ) -> Result<NavigationResult, BrowserError> {
        let look = |page: &mut RegisteredPage| (page.session.clone(), page.facts.dialog.is_some());
        let (session, has_dialog) = self.shared.book.page(tab, look)?;
        if has_dialog {
            return Err(ToolDenial::DialogOpen.into());
        }
        let to = json!({ "url": address.as_str() });
        let call = self.call(&session, "Page.navigate", to);
        self.unless_dialog(tab, async { call.await.map(|_| ()) })
            .await?;
        self.wait_for_load(tab).await
    }

    /// Where a tab is, once its page is there or five seconds have passed.
    ///
    /// # Errors
    /// [`BrowserError::NoTab`].
    pub async fn wait_for_load(&self, tab: TabId) -> Result<NavigationResult, BrowserError> {
        let look = |page: &mut RegisteredPage| (page.session.clone(), page.loading.subscribe());
        let (session, mut loading) = self.shared.book.page(tab, look)?;
        let there = async {
            // An error means that the tab is gone.
            let _ = loading.wait_for(|is_loading| !is_loading).await;
            let error = self
                .shared
                .book
                .page(tab, |page| page.facts.error.clone())?;
            if error.is_none() {
                // Chromium tells the end of a load itself, perhaps before what its page told during
                // the load, such as its title. Behind the page's next answer all of that is known.
                let nothing = json!({ "expression": "0" });
                self.call(&session, "Runtime.evaluate", nothing).await?;
            }
            Ok(())
        };
        // A page that goes on loading, or asks something, is told of all the same.
        let _ = timeout(LOAD_MAX, self.unless_dialog(tab, there)).await;
        self.shared.book.page(tab, |page| NavigationResult {
            url: page.facts.url.clone(),
            title: page.facts.title.clone(),
            status: page.status,
            error: page.facts.error.clone(),
        })
    }

    /// Clicks in the middle of an element.
    ///
    /// # Errors
    /// [`ToolDenial::StaleRef`], [`ToolDenial::Covered`], [`ToolDenial::DialogOpen`],
    /// [`ToolDenial::UrlNotAllowed`], [`BrowserError::Timeout`]: nothing was done.
    pub async fn click(
        &self,
        tab: TabId,
        reference: u64,
        button: MouseButton,
        is_double: bool,
    ) -> Result<DispatchOutcome, BrowserError> {
        let (session, element) = self.element(tab, reference)?;
        let place = self.click_point(&session, &element).await?;
        let count = if is_double { 2 } else { 1 };
        DispatchOutcome::of(self.click_at(tab, &session, place, button, count).await)
    }

    /// Moves the pointer over an element.
    ///
    /// # Errors
    /// As [`Self::click`].
    pub async fn hover(&self, tab: TabId, reference: u64) -> Result<DispatchOutcome, BrowserError> {
        let (session, element) = self.element(tab, reference)?;
        let place = self.click_point(&session, &element).await?;
        DispatchOutcome::of(self.move_to(tab, &session, place).await)
    }

    /// Writes a text into a field in place of what stands there, and presses Enter where asked.
    ///
    /// # Errors
    /// [`ToolDenial::SecretField`], [`BrowserError::Refused`] when it is no field; else as
    /// [`Self::click`].
    pub async fn type_text(
        &self,
        tab: TabId,
        reference: u64,
        words: &str,
        submits: bool,
    ) -> Result<DispatchOutcome, BrowserError> {
        let (session, element) = self.element(tab, reference)?;
        let is_known = self
            .shared
            .book
            .page(tab, |page| page.secrets.contains(&element.node))?;
        let is_secret = self.is_secret(&session, element.node).await;
        if is_known || is_secret.map_err(stale_ref_error)? {
            return Err(ToolDenial::SecretField.into());
        }
        let node = json!({ "backendNodeId": element.node });
        self.call(&session, "DOM.scrollIntoViewIfNeeded", node.clone())
            .await
            .map_err(stale_ref_error)?;
        let focus = self.call(&session, "DOM.focus", node).await;
        let no_field =
            || BrowserError::Refused("this is no field that can be written in".to_owned());
        if let Err(error) = focus {
            return Err(match error {
                BrowserError::Refused(_) => no_field(),
                other => other,
            });
        }
        let selected = self
            .run(&session, &element, isolated_scripts::SELECT_ALL, &[])
            .await?;
        if selected != true {
            return Err(no_field());
        }
        let write = async {
            if words.is_empty() {
                self.press_and_release(tab, &session, "Delete", 0).await?;
            } else {
                let words = json!({ "text": words });
                self.dispatch(tab, &session, "Input.insertText", words)
                    .await?;
            }
            if submits {
                self.press_and_release(tab, &session, "Enter", 0).await?;
            }
            Ok(())
        };
        DispatchOutcome::of(write.await)
    }

    /// Presses a key and lets it go, wherever the focus is.
    ///
    /// # Errors
    /// [`ToolDenial::SecretField`] for a key that writes into one; else as [`Self::click`].
    pub async fn press_key(
        &self,
        tab: TabId,
        key: &str,
        modifiers: u8,
    ) -> Result<DispatchOutcome, BrowserError> {
        let look = |page: &mut RegisteredPage| (page.session.clone(), page.target.clone());
        let (session, target) = self.for_agents(tab, look)?;
        let is_word = keys::typed_text(key, modifiers).is_some_and(|written| written != "\r");
        // Ctrl+V writes as well.
        if (is_word || modifiers != 0) && self.is_focus_secret(tab, &session, &target).await? {
            return Err(ToolDenial::SecretField.into());
        }
        DispatchOutcome::of(self.press_and_release(tab, &session, key, modifiers).await)
    }

    async fn press_and_release(
        &self,
        tab: TabId,
        session: &str,
        key: &str,
        modifiers: u8,
    ) -> Result<(), BrowserError> {
        self.key_down(tab, session, key, "", modifiers).await?;
        match self.key_up(tab, session, key, "", modifiers).await {
            // The key opened it; it comes up with its answer.
            Err(BrowserError::Denied(ToolDenial::DialogOpen)) => Ok(()),
            up => up,
        }
    }

    /// Chooses in a list, by values or labels.
    ///
    /// # Errors
    /// [`BrowserError::Refused`] when it is no list, or has not all of them; else as
    /// [`Self::click`].
    pub async fn select_option(
        &self,
        tab: TabId,
        reference: u64,
        values: &[String],
    ) -> Result<DispatchOutcome, BrowserError> {
        let (session, element) = self.element(tab, reference)?;
        let values = [json!({ "value": values })];
        let chosen = self
            .run(&session, &element, isolated_scripts::CHOOSE, &values)
            .await;
        match chosen {
            Ok(Value::Bool(true)) => Ok(DispatchOutcome::Done),
            Ok(_) => Err(BrowserError::Refused(
                "this list has not all of these options".to_owned(),
            )),
            Err(BrowserError::Timeout | BrowserError::Gone) => Ok(DispatchOutcome::Uncertain),
            Err(other) => Err(other),
        }
    }

    /// Turns the wheel over an element, or over the middle of the page.
    ///
    /// # Errors
    /// As [`Self::click`].
    pub async fn scroll(
        &self,
        tab: TabId,
        reference: Option<u64>,
        (delta_x, delta_y): (f64, f64),
    ) -> Result<DispatchOutcome, BrowserError> {
        let session = self.for_agents(tab, |page| page.session.clone())?;
        let (x, y) = match reference {
            Some(reference) => {
                let (_, element) = self.element(tab, reference)?;
                self.click_point(&session, &element).await?
            }
            None => {
                let view = self.view(&session).await?;
                (view.width / 2.0, view.height / 2.0)
            }
        };
        let max = limits::BROWSER_WHEEL_MAX;
        let event = json!({
            "type": "mouseWheel", "x": x, "y": y,
            "deltaX": delta_x.clamp(-max, max), "deltaY": delta_y.clamp(-max, max),
        });
        let turned = self.dispatch(tab, &session, "Input.dispatchMouseEvent", event);
        DispatchOutcome::of(turned.await)
    }

    /// Waits until a page shows a text, or does not any more; whether it came to that.
    ///
    /// # Errors
    /// [`ToolDenial::UrlNotAllowed`], [`ToolDenial::DialogOpen`], [`BrowserError::NoTab`].
    pub async fn wait_for(
        &self,
        tab: TabId,
        wanted: TextCondition<'_>,
        at_most: Duration,
    ) -> Result<bool, BrowserError> {
        let (words, is_wanted) = match wanted {
            TextCondition::Text(words) => (words, true),
            TextCondition::TextGone(words) => (words, false),
        };
        let looks = async {
            let mut again = interval(LOOK_AGAIN);
            loop {
                again.tick().await;
                match self.shows(tab, words).await {
                    Ok(shows) if shows == is_wanted => return Ok(true),
                    // Between two documents there is nothing to look at.
                    Ok(_) | Err(BrowserError::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        };
        timeout(at_most, looks).await.unwrap_or(Ok(false))
    }

    async fn shows(&self, tab: TabId, words: &str) -> Result<bool, BrowserError> {
        let look = |page: &mut RegisteredPage| (page.session.clone(), page.target.clone());
        let (session, target) = self.for_agents(tab, look)?;
        let world = self.isolated_world(&session, &target).await?;
        let ask = json!({
            "functionDeclaration": isolated_scripts::SHOWS, "executionContextId": world,
            "arguments": [{ "value": words }], "returnByValue": true,
        });
        let answer = self.call(&session, "Runtime.callFunctionOn", ask).await?;
        Ok(answer.pointer("/result/value") == Some(&Value::Bool(true)))
    }

    /// What the page wrote to its console since its last navigation, the newest `count`.
    ///
    /// # Errors
    /// [`ToolDenial::UrlNotAllowed`], [`BrowserError::NoTab`].
    pub fn console(&self, tab: TabId, count: usize) -> Result<Vec<ConsoleLine>, BrowserError> {
        self.for_agents_at_all(tab, |page| {
            let skipped = page.console.len().saturating_sub(count);
            page.console.iter().skip(skipped).cloned().collect()
        })
    }

    /// Looks a tab up for an agent that wants to do something there.
    fn for_agents<T>(
        &self,
        tab: TabId,
        look: impl FnOnce(&mut RegisteredPage) -> T,
    ) -> Result<T, BrowserError> {
        self.for_agents_at_all(tab, |page| {
            if page.facts.dialog.is_some() {
                return Err(ToolDenial::DialogOpen.into());
            }
            Ok(look(page))
        })?
    }

    /// Looks a tab up for an agent: of one that is elsewhere than in the web it learns nothing.
    fn for_agents_at_all<T>(
        &self,
        tab: TabId,
        look: impl FnOnce(&mut RegisteredPage) -> T,
    ) -> Result<T, BrowserError> {
        let page = self.shared.book.page(tab, |page| {
            may_load(&page.facts.url, false).then(|| look(page))
        });
        page?.ok_or_else(|| ToolDenial::UrlNotAllowed.into())
    }

    fn element(
        &self,
        tab: TabId,
        reference: u64,
    ) -> Result<(String, RegisteredElement), BrowserError> {
        let found = self.for_agents(tab, |page| {
            let element = page.elements.get(&reference).cloned();
            Some((page.session.clone(), element?))
        })?;
        found.ok_or_else(|| ToolDenial::StaleRef.into())
    }
}
