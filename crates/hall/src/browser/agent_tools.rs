//! The tools of agents: who has them, and what each does. Nothing is done twice: what was handed
//! to Chromium and not answered is `uncertain`. Source: contract 7.8.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use guildhall_domain::{
    Error, Fault, Refusal, Result,
    agent_tokens::TokenOrigin,
    browser::{
        AllowedOrigins, BrowserAddress, BrowserStatus, Tab, ToolDenial, event_payloads, may_load,
        quoted,
        tools::{
            ActionOutcome, BrowserToolCall, BrowserToolError, BrowserToolResult, ElementRef,
            HistoryMove, PageText, TabSummary, WaitCondition, origin_of,
        },
    },
    callers::{Agent, Credential, Gate},
    ids::{SessionId, TabId},
    limits,
    settings::BROWSER_AGENT_ORIGINS,
};
use guildhall_store::agent_tokens;
use guildhall_world::{
    chromium::{
        self, BrowserError, Chromium, HistoryNavigation, NavigationResult, ScreenshotOptions,
        TextCondition,
    },
    ids,
};
use tokio::time::timeout;

use super::{actor_requests::ChromiumNeed, agent_access::TabAccess};
use crate::Hall;

/// How long a text is waited for.
const WAIT_MAX: Duration = Duration::from_millis(limits::BROWSER_WAIT_MS_MAX);

/// Whether the tools stood in the list that a session's client read last.
#[derive(Default)]
pub(super) struct BrowserToolListings(
    // A std mutex: held for one look, never over an await.
    Mutex<HashMap<SessionId, bool>>,
);

impl BrowserToolListings {
    fn held(&self) -> MutexGuard<'_, HashMap<SessionId, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hall {
    /// Whether an agent has the tools now: its token was minted for the session that a tab is
    /// shared with. `is_read` when this goes into a list that the session's client reads.
    ///
    /// # Errors
    /// Faults alone.
    ///
    /// Source: contract 7.8, "Identity".
    pub async fn has_browser_tools(&self, by: &Agent, is_read: bool) -> Result<bool> {
        let Some(session) = self.session_of_token(by).await? else {
            return Ok(false);
        };
        let shares = self.shares_browser_with(session);
        if is_read {
            self.inner.browser.listed.held().insert(session, shares);
        }
        Ok(shares)
    }

    /// Does what an agent asks for with a tool, in its turn.
    ///
    /// # Errors
    /// Why nothing was done.
    pub async fn use_browser(
        &self,
        by: &Agent,
        call: BrowserToolCall,
    ) -> Result<BrowserToolResult, BrowserToolError> {
        let session = self.session_of_token(by).await?;
        let session = session.ok_or(ToolDenial::NotShared)?;
        if !call.tool().acts() {
            return self.run_read(session, &call).await;
        }
        self.require_enabled().await?;
        let origins = self.setting(&BROWSER_AGENT_ORIGINS).await?;
        let origins = AllowedOrigins::parse(origins.texts().iter().map(String::as_str));
        let origins = origins.map_err(|_| ToolDenial::UrlNotAllowed)?;
        // Who no longer waits for its turn does not act; who has it, acts to the end.
        let (look, turn) = match self.wait_for_control(session, call.tab()).await {
            Err(ToolDenial::PersonActive) => {
                let held_up = BrowserToolError::from(ToolDenial::PersonActive);
                self.append_action(session, &call, None, Err(&held_up))
                    .await;
                return Err(held_up);
            }
            turn => turn?,
        };
        let hall = self.clone();
        let acting = async move {
            let _turn = turn;
            hall.run_action(session, &look, &call, &origins).await
        };
        let acted = self.tasks().finish(acting).await;
        acted.unwrap_or_else(|| Err(Error::from(broken("it ended early")).into()))
    }

    /// Whether the list of tools that a session's client read last is another one than it has.
    pub(crate) fn is_browser_list_stale(&self, session: SessionId) -> bool {
        let listed = self.inner.browser.listed.held().get(&session).copied();
        listed.is_some_and(|listed| listed != self.shares_browser_with(session))
    }

    /// The client of a session reads its list of tools anew.
    pub(crate) fn forget_browser_list(&self, session: SessionId) {
        self.inner.browser.listed.held().remove(&session);
    }

    fn shares_browser_with(&self, session: SessionId) -> bool {
        let state = self.inner.browser.state.borrow();
        state.session_id == Some(session) && state.status == BrowserStatus::Connected
    }

    /// The session that the token of a caller was minted for. Neither a process's token nor one
    /// that a person minted is of any.
    async fn session_of_token(&self, by: &Agent) -> Result<Option<SessionId>> {
        let Credential::AgentToken(token) = by.caller().credential else {
            return Ok(None);
        };
        let found = self.store().read(move |db| agent_tokens::by_id(db, token));
        let bearer = found.await?.value;
        let token = bearer.map(|bearer| bearer.token);
        let spawned = token.filter(|token| token.origin == TokenOrigin::Spawn);
        Ok(spawned.and_then(|token| token.session_id))
    }

    async fn run_read(
        &self,
        session: SessionId,
        call: &BrowserToolCall,
    ) -> Result<BrowserToolResult, BrowserToolError> {
        let look = self.access_browser_tab(session, call.tab()).await;
        let look = match look {
            Err(ToolDenial::TabNotFound) if *call == BrowserToolCall::Tabs => {
                return Ok(BrowserToolResult::Tabs(Vec::new()));
            }
            look => look?,
        };
        let answer = self.read_tab(&look, call).await?;
        // What was read is told only to who may read it still.
        self.access_browser_tab(session, Some(look.tab)).await?;
        Ok(answer)
    }

    async fn read_tab(
        &self,
        look: &TabAccess,
        call: &BrowserToolCall,
    ) -> Result<BrowserToolResult, BrowserToolError> {
        let (chromium, tab) = (&look.chromium, look.tab);
        match call {
            BrowserToolCall::Snapshot(_) => {
                let page = chromium
                    .snapshot(tab)
                    .await
                    .map_err(|error| denied(&error))?;
                let origin = origin_of(&page.url);
                Ok(BrowserToolResult::Text(PageText {
                    tab,
                    text: block(&page.text, &origin),
                    origin,
                    url: page.url,
                    title: page.title,
                    truncated: page.truncated,
                }))
            }
            BrowserToolCall::Screenshot { is_whole_page, .. } => {
                let shot = ScreenshotOptions {
                    is_whole_page: *is_whole_page,
                    side_max: Some(limits::BROWSER_AGENT_SHOT_PX_MAX),
                };
                let origin = origin_of(&look.page().page.url);
                let jpeg = chromium
                    .agent_screenshot(tab, shot)
                    .await
                    .map_err(|error| denied(&error))?;
                Ok(BrowserToolResult::Picture { tab, origin, jpeg })
            }
            BrowserToolCall::WaitFor(awaited) => self.wait_with(chromium, tab, awaited).await,
            BrowserToolCall::Console(count) => {
                let lines = chromium
                    .console(tab, *count)
                    .map_err(|error| denied(&error))?;
                let written = lines
                    .iter()
                    .map(|line| format!("[{}] {}\n", line.level, line.text));
                let page = &look.page().page;
                let origin = origin_of(&page.url);
                Ok(BrowserToolResult::Text(PageText {
                    tab,
                    text: block(&written.collect::<String>(), &origin),
                    origin,
                    url: page.url.clone(),
                    title: page.title.clone(),
                    truncated: false,
                }))
            }
            // The others act.
            _ => Ok(look.tabs()),
        }
    }

    async fn wait_with(
        &self,
        chromium: &Chromium,
        tab: TabId,
        awaited: &WaitCondition,
    ) -> Result<BrowserToolResult, BrowserToolError> {
        let wanted = match awaited {
            WaitCondition::Text(text) => TextCondition::Text(text),
            WaitCondition::TextGone(text) => TextCondition::TextGone(text),
            WaitCondition::Ms(ms) => {
                let mut stopping = self.tasks().stopping();
                // That it is over, or that the server stops, comes to the same.
                let _ = timeout(Duration::from_millis(*ms), stopping.wait_for(|stop| *stop)).await;
                return Ok(BrowserToolResult::Came(ActionOutcome::Done));
            }
        };
        let came = chromium.wait_for(tab, wanted, WAIT_MAX).await;
        match came.map_err(|error| denied(&error))? {
            true => Ok(BrowserToolResult::Came(ActionOutcome::Done)),
            false => Err(BrowserToolError::NotComeAbout),
        }
    }

    /// Acts, and tells of it.
    async fn run_action(
        &self,
        session: SessionId,
        look: &TabAccess,
        call: &BrowserToolCall,
        origins: &AllowedOrigins,
    ) -> Result<BrowserToolResult, BrowserToolError> {
        let place = look.target_tab(call);
        let url = match (call, &place) {
            (BrowserToolCall::Visit(url) | BrowserToolCall::TabNew(Some(url)), _) => {
                BrowserAddress::typed(url).ok()
            }
            (_, Ok(tab)) => BrowserAddress::typed(&tab.page.url).ok(),
            (_, Err(_)) => None,
        };
        let acted = match place {
            Ok(tab) => self.act_with(session, look, (tab.id, call), origins).await,
            Err(denied) => Err(denied.into()),
        };
        self.append_action(session, call, url, acted.as_ref()).await;
        acted
    }

    /// Tells what an action came to, and where. What was refused at once, before it waited for
    /// its turn, is told in its answer alone: an agent that tries again and again would fill the
    /// log.
    async fn append_action(
        &self,
        session: SessionId,
        call: &BrowserToolCall,
        at: Option<BrowserAddress>,
        came: Result<&BrowserToolResult, &BrowserToolError>,
    ) {
        let (outcome, code) = match came {
            Ok(answer) => (answer.outcome(), None),
            Err(why) => (ActionOutcome::Rejected, Some(code_of(why))),
        };
        let action = event_payloads::AgentAction {
            tool: call.tool().name().to_owned(),
            origin: at.map_or_else(|| "null".to_owned(), |at| at.origin()),
            outcome: outcome.as_str().to_owned(),
            code: code.map(str::to_owned),
            session_id: Some(session),
        };
        // It was done, whether or not it can be told of.
        if let Err(error) = self.append_browser_action(action).await {
            tracing::warn!(
                ?error,
                "what an agent did in the local browser was not told"
            );
        }
    }

    async fn act_with(
        &self,
        session: SessionId,
        look: &TabAccess,
        (tab, call): (TabId, &BrowserToolCall),
        origins: &AllowedOrigins,
    ) -> Result<BrowserToolResult, BrowserToolError> {
        let chromium = &look.chromium;
        if let Some(reference) = call.element() {
            self.show_pointer(chromium, tab, reference, call.tool().name())
                .await;
        }
        let came = match call {
            BrowserToolCall::Visit(url) => {
                let address = for_agent(url, origins)?;
                return visited(tab, chromium.navigate_and_wait(tab, &address).await);
            }
            BrowserToolCall::Turn(way) => {
                let way = match way {
                    HistoryMove::Back => HistoryNavigation::Back,
                    HistoryMove::Forward => HistoryNavigation::Forward,
                    HistoryMove::Reload => HistoryNavigation::Reload,
                };
                return visited(tab, chromium.history_navigate(tab, way).await);
            }
            BrowserToolCall::TabNew(url) => {
                let url = url.as_deref().map(|url| for_agent(url, origins));
                return self.new_tab_for(session, chromium, url.transpose()?).await;
            }
            BrowserToolCall::TabSelect(_) => {
                if let Some(uncertain) = uncertain(chromium.select(tab).await)? {
                    return Ok(uncertain);
                }
                self.updated_browser(Some(tab), None).await?;
                return self.tabs_of(session).await;
            }
            BrowserToolCall::TabClose(_) => return self.close_tab_for(session, tab).await,
            BrowserToolCall::Click {
                on,
                button,
                is_double,
            } => chromium.click(tab, *on, *button, *is_double).await,
            BrowserToolCall::Hover(over) => chromium.hover(tab, *over).await,
            BrowserToolCall::Type {
                into,
                text,
                submits,
            } => chromium.type_text(tab, *into, text, *submits).await,
            BrowserToolCall::PressKey { key, modifiers } => {
                chromium.press_key(tab, key, *modifiers).await
            }
            BrowserToolCall::SelectOption { list, values } => {
                chromium.select_option(tab, *list, values).await
            }
            BrowserToolCall::Scroll {
                over,
                delta_x,
                delta_y,
            } => chromium.scroll(tab, *over, (*delta_x, *delta_y)).await,
            BrowserToolCall::Tabs
            | BrowserToolCall::Snapshot(_)
            | BrowserToolCall::Screenshot { .. }
            | BrowserToolCall::WaitFor(_)
            | BrowserToolCall::Console(_) => return self.read_tab(look, call).await,
        };
        match came {
            Ok(chromium::DispatchOutcome::Done) => Ok(BrowserToolResult::Came(ActionOutcome::Done)),
            Ok(chromium::DispatchOutcome::Uncertain) => {
                Ok(BrowserToolResult::Came(ActionOutcome::Uncertain))
            }
            Err(error) => Err(denied(&error)),
        }
    }

    /// Shows viewers what an agent is about to do, where it can be seen.
    async fn show_pointer(
        &self,
        chromium: &Chromium,
        tab: TabId,
        reference: ElementRef,
        action: &'static str,
    ) {
        if let Some(place) = chromium.reachable_point(tab, reference).await {
            self.show_agent_cursor(tab, place, action).await;
        }
    }

    async fn new_tab_for(
        &self,
        session: SessionId,
        chromium: &Chromium,
        url: Option<BrowserAddress>,
    ) -> Result<BrowserToolResult, BrowserToolError> {
        self.chromium_access(ChromiumNeed::Room).await?;
        let tab = match chromium.new_tab().await {
            Err(BrowserError::Timeout) => {
                return Ok(BrowserToolResult::Came(ActionOutcome::Uncertain));
            }
            tab => tab.map_err(|error| denied(&error))?,
        };
        if let Err(denied) = self.adopt_tab(session, tab).await {
            // A tab that is gone already is what is wanted.
            let _ = chromium.close_tab(tab).await;
            return Err(denied.into());
        }
        if let Some(url) = url.filter(|url| *url != BrowserAddress::blank()) {
            // What became of the load is in the list.
            let _ = chromium.navigate_and_wait(tab, &url).await;
        }
        self.updated_browser(Some(tab), None).await?;
        self.tabs_of(session).await
    }

    async fn close_tab_for(
        &self,
        session: SessionId,
        tab: TabId,
    ) -> Result<BrowserToolResult, BrowserToolError> {
        let reached = self.chromium_access(ChromiumNeed::Tab(tab)).await?;
        let chromium = reached.chromium;
        if reached.is_last {
            // First, because without any tab Chromium might end.
            chromium.new_tab().await.map_err(|error| denied(&error))?;
        }
        match chromium.close_tab(tab).await {
            // One that is gone already is what was asked for.
            Ok(()) | Err(BrowserError::NoTab) => {}
            closed => {
                if let Some(uncertain) = uncertain(closed)? {
                    return Ok(uncertain);
                }
            }
        }
        self.updated_browser(None, Some(tab)).await?;
        self.tabs_of(session).await
    }

    /// The tabs within reach after something was done; none when that ended the share.
    async fn tabs_of(&self, session: SessionId) -> Result<BrowserToolResult, BrowserToolError> {
        match self.access_browser_tab(session, None).await {
            Ok(look) => Ok(look.tabs()),
            Err(_) => Ok(BrowserToolResult::Tabs(Vec::new())),
        }
    }
}

impl TabAccess {
    /// The tab that is looked at.
    fn page(&self) -> Tab {
        self.reached(self.tab).cloned().unwrap_or_else(|_| Tab {
            id: self.tab,
            page: guildhall_domain::browser::PageState::default(),
            shared: true,
        })
    }

    fn reached(&self, tab: TabId) -> Result<&Tab, ToolDenial> {
        let found = self.reach.iter().find(|one| one.id == tab);
        found.ok_or(ToolDenial::TabNotFound)
    }

    /// The tab a call is about: that of its element, else the one that is looked at.
    fn target_tab(&self, call: &BrowserToolCall) -> Result<&Tab, ToolDenial> {
        match call.element() {
            None => self.reached(self.tab),
            Some(reference) => {
                let tab = self
                    .chromium
                    .tab_of(reference)
                    .ok_or(ToolDenial::StaleRef)?;
                // Of a tab beyond its reach an agent learns not even that it has one.
                self.reached(tab).map_err(|_| ToolDenial::StaleRef)
            }
        }
    }

    fn tabs(&self) -> BrowserToolResult {
        let line = |tab: &Tab| {
            let page = Some(&tab.page).filter(|page| may_load(&page.url, false));
            TabSummary {
                id: tab.id,
                url: page.map(|page| page.url.clone()).unwrap_or_default(),
                title: page.map(|page| page.title.clone()).unwrap_or_default(),
                is_selected: self.selected == Some(tab.id),
            }
        };
        BrowserToolResult::Tabs(self.reach.iter().map(line).collect())
    }
}

fn for_agent(url: &str, origins: &AllowedOrigins) -> Result<BrowserAddress, ToolDenial> {
    BrowserAddress::for_agent(url, origins).map_err(|_| ToolDenial::UrlNotAllowed)
}

/// Text of a page, in a block whose end it cannot know.
fn block(text: &str, origin: &str) -> String {
    quoted(text, origin, &ids::new().to_string())
}

/// What a navigation came to; of a place that is not for agents they learn nothing.
fn visited(
    tab: TabId,
    visited: Result<NavigationResult, BrowserError>,
) -> Result<BrowserToolResult, BrowserToolError> {
    match visited {
        Ok(page) if may_load(&page.url, false) => Ok(BrowserToolResult::Visited {
            tab,
            origin: origin_of(&page.url),
            url: page.url,
            title: page.title,
            status: page.status,
            error: page.error,
        }),
        Ok(_) | Err(BrowserError::Refused(_)) => Err(ToolDenial::UrlNotAllowed.into()),
        Err(BrowserError::Timeout | BrowserError::Gone | BrowserError::NoTab) => {
            Ok(BrowserToolResult::Came(ActionOutcome::Uncertain))
        }
        Err(error) => Err(denied(&error)),
    }
}

/// What an unanswered deed means; `None` when it was answered.
fn uncertain(
    done: Result<(), BrowserError>,
) -> Result<Option<BrowserToolResult>, BrowserToolError> {
    match done {
        Ok(()) => Ok(None),
        Err(BrowserError::Timeout) => Ok(Some(BrowserToolResult::Came(ActionOutcome::Uncertain))),
        Err(error) => Err(denied(&error)),
    }
}

/// What an error means before anything was done.
fn denied(error: &BrowserError) -> BrowserToolError {
    match error {
        BrowserError::Denied(denied) => (*denied).into(),
        BrowserError::Timeout => ToolDenial::Timeout.into(),
        BrowserError::NoTab => ToolDenial::TabNotFound.into(),
        // A share ends with its browser.
        BrowserError::Gone => ToolDenial::NotShared.into(),
        BrowserError::NothingAsked => ToolDenial::DialogOpen.into(),
        // An element that cannot do this, or a page about a certificate, which takes no input.
        BrowserError::Refused(_) => {
            let problem = "the page does not take this: it is no such field, list or option";
            Refusal::field("ref", problem).into()
        }
    }
}

fn broken(why: &str) -> Fault {
    Fault::broken("using the local browser", why.to_owned())
}

/// The code under which a refusal is told of.
fn code_of(why: &BrowserToolError) -> &'static str {
    match why {
        BrowserToolError::Denied(denied) => denied.code(),
        BrowserToolError::NotComeAbout => ToolDenial::Timeout.code(),
        BrowserToolError::Error(Error::Refusal(Refusal::BrowserTabLimit)) => "TAB_LIMIT",
        BrowserToolError::Error(Error::Refusal(Refusal::Validation(_))) => "VALIDATION_FAILED",
        BrowserToolError::Error(Error::Refusal(Refusal::BrowserNotConnected)) => "NOT_CONNECTED",
        BrowserToolError::Error(_) => "INTERNAL_ERROR",
    }
}
