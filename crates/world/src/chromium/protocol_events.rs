//! What Chromium says unasked: targets that come and go, and what happens in each.
//!
//! Every target waits for us before its first request. Its documents are held until they were
//! looked at; only then does it go on.

use std::{future::Future, pin::Pin, sync::Arc};

use futures_util::{StreamExt, stream::FuturesUnordered};
use guildhall_domain::{
    browser::{DisplayMode, HttpAuthRequest, may_load, truncated},
    ids::TabId,
    limits,
};
use serde_json::{Value, json};

use super::{
    BrowserError, BrowserEvent, ChromiumState, browser_commands, devtools_pipe::DevtoolsMessage,
    isolated_scripts, target_registry::PendingAuthRequest,
};
use crate::{clock::Clock, ids};

/// What Chromium shows in place of a page that did not load.
const ERROR_PAGE: &str = "chrome-error:";
/// Net errors whose page offers a way round them.
const CERTIFICATE_ERRORS: [&str; 2] = ["net::ERR_CERT", "net::ERR_SSL"];
/// Characters of what a server calls itself when it asks for a password.
const REALM_CHARS_MAX: usize = 200;

/// A text inside JSON; `""` where there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

/// Listens to everything.
pub(super) struct ProtocolEventHandler {
    shared: Arc<ChromiumState>,
    /// What takes more than one question.
    work: FuturesUnordered<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl ProtocolEventHandler {
    pub(super) fn new(shared: Arc<ChromiumState>) -> Self {
        let listener = Self {
            shared: Arc::clone(&shared),
            work: FuturesUnordered::new(),
        };
        listener.work.push(Box::pin(async move {
            // Without it there is no first tab, and who waits for that learns so by its deadline.
            let _ = shared.greet().await;
        }));
        listener
    }

    /// Goes on with what takes more than one question. Cancel-safe; has no end while there is
    /// nothing to do.
    pub(super) async fn work(&mut self) {
        if self.work.is_empty() {
            return std::future::pending().await;
        }
        self.work.next().await;
    }

    /// Hears one event. What is not known means nothing here.
    pub(super) async fn handle(&mut self, message: &DevtoolsMessage<'_>) {
        let session = message.session.as_deref().unwrap_or_default();
        let Some(method) = message.method.as_deref() else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        match method {
            "Target.attachedToTarget" => self.attached(session, &message.params()).await,
            "Target.detachedFromTarget" => {
                let gone = shared
                    .book
                    .open()
                    .remove(text(&message.params(), "/sessionId"));
                if let Some(tab) = gone {
                    shared.mailbox.push(BrowserEvent::TabClosed(tab)).await;
                }
            }
            "Target.targetInfoChanged" => {
                let params = message.params();
                shared.is_called(&params).await;
                // The browser's own word, which comes after the page's: its history is known now.
                let target = text(&params, "/targetInfo/targetId");
                let known = shared
                    .book
                    .open()
                    .of_target(target)
                    .map(|(tab, page)| (tab, page.session.clone()));
                if let Some((tab, session)) = known {
                    self.look_at_history(tab, session);
                }
            }
            "Fetch.requestPaused" => shared.paused(session, &message.params()).await,
            "Fetch.authRequired" => shared.auth_required(session, &message.params()).await,
            "Page.frameStartedNavigating" => shared.navigates(session, &message.params()).await,
            "Page.frameNavigated" => shared.navigated(session, &message.params()).await,
            "Page.frameStartedLoading" => shared.loads(session, &message.params(), true).await,
            "Page.frameStoppedLoading" => shared.loads(session, &message.params(), false).await,
            "Network.responseReceived" => shared.responded(session, &message.params()),
            "Network.loadingFailed" => shared.failed(session, &message.params()).await,
            "Page.javascriptDialogOpening" => shared.dialog(session, &message.params()).await,
            "Page.javascriptDialogClosed" => shared.dialog_closed(session).await,
            "Page.fileChooserOpened" => {
                shared.set_page_error(session, "file chooser refused").await;
            }
            "Page.downloadWillBegin" => shared.set_page_error(session, "download refused").await,
            "Inspector.targetCrashed" => shared.crashed(session).await,
            "Page.screencastFrame" => {
                if let Some(tab) = shared.frame(session, &message.params()).await {
                    self.work.push(Box::pin(
                        async move { shared.restart_screencast(tab).await },
                    ));
                }
            }
            "Runtime.consoleAPICalled" => shared.console(session, &message.params()),
            "Runtime.exceptionThrown" => shared.exception(session, &message.params()),
            "Runtime.bindingCalled" => shared.bound(session, &message.params()).await,
            _ => {}
        }
    }

    async fn attached(&mut self, parent: &str, params: &Value) {
        let (session, info) = (text(params, "/sessionId").to_owned(), "/targetInfo");
        let shared = Arc::clone(&self.shared);
        let target = text(params, &format!("{info}/targetId")).to_owned();
        match text(params, &format!("{info}/type")) {
            "page" => {
                let (tab, opener) = {
                    let mut entries = shared.book.open();
                    if entries.pages.len() >= limits::BROWSER_TABS_MAX {
                        (None, None)
                    } else {
                        let opener = text(params, &format!("{info}/openerId"));
                        let opener = entries.of_target(opener).map(|(tab, _)| tab);
                        let tab = TabId::new(ids::new());
                        let page = entries.add(tab, &session, &target);
                        let called = |name| text(params, &format!("{info}/{name}"));
                        page.is_called(called("url"), called("title"));
                        (Some(tab), opener)
                    }
                };
                match tab {
                    Some(tab) => self.work.push(Box::pin(async move {
                        shared.take_in(tab, &session, opener).await;
                    })),
                    None => shared.close_target(&target).await,
                }
            }
            "iframe" => {
                let tab = shared.book.open().of_session(parent).map(|(tab, _)| tab);
                let Some(tab) = tab else {
                    // It would wait for ever, which is what a frame of nobody shall do.
                    return;
                };
                shared.book.open().sessions.insert(session.clone(), tab);
                self.work.push(Box::pin(async move {
                    if shared.guard(&session).await.is_ok() {
                        shared.wire.notify(&session, "Page.enable", json!({})).await;
                        shared.go_on(&session).await;
                    }
                }));
            }
            // It waits for us whether or not we ask for it. Nothing it says is about a tab.
            "worker" => self.work.push(Box::pin(async move {
                shared.bound_requests(&session).await;
                shared.go_on(&session).await;
            })),
            // The filter of our question lets no other kind through.
            _ => {}
        }
    }

    fn look_at_history(&self, tab: TabId, session: String) {
        let shared = Arc::clone(&self.shared);
        self.work.push(Box::pin(async move {
            let Ok((place, entries)) = browser_commands::history(&shared.wire, &session).await
            else {
                return;
            };
            // A tab that is gone has no history.
            let _ = shared.book.page(tab, |page| {
                page.facts.can_go_back = place > 0;
                page.facts.can_go_forward = place + 1 < entries.len();
            });
            shared.push_tab_changed(tab).await;
        }));
    }
}

impl ChromiumState {
    /// Says hello, refuses what is refused to every page, and asks for all targets.
    async fn greet(&self) -> Result<(), BrowserError> {
        let wire = &self.wire;
        let answer = wire
            .call_with_timeout("", "Browser.getVersion", json!({}))
            .await?;
        let version = truncated(text(&answer, "/product"), 100);
        self.book.open().version = version;
        let deny = json!({ "behavior": "deny", "eventsEnabled": true });
        wire.call_with_timeout("", "Browser.setDownloadBehavior", deny)
            .await?;
        // Granting none refuses all others.
        let none = json!({ "permissions": [] });
        wire.call_with_timeout("", "Browser.grantPermissions", none)
            .await?;
        let pages = json!([{ "type": "page" }, { "exclude": true }]);
        let discover = json!({ "discover": true, "filter": pages });
        wire.call_with_timeout("", "Target.setDiscoverTargets", discover)
            .await?;
        let attach = attach_to(&pages);
        wire.call_with_timeout("", "Target.setAutoAttach", attach)
            .await?;
        Ok(())
    }

    /// Makes the documents of a target wait for [`Self::paused`], from its first one on.
    async fn guard(&self, session: &str) -> Result<(), BrowserError> {
        let documents = json!({
            "patterns": [{ "urlPattern": "*", "resourceType": "Document" }],
            "handleAuthRequests": true,
        });
        // The only question whose answer is waited for: others have none before the target goes on.
        self.wire.call(session, "Fetch.enable", documents).await?;
        self.bound_requests(session).await;
        Ok(())
    }

    /// Keeps what a target and its own frames and workers ask for within bounds.
    async fn bound_requests(&self, session: &str) {
        let inner = json!([{ "type": "iframe" }, { "type": "worker" }, { "exclude": true }]);
        let tell = async |method, params| self.wire.notify(session, method, params).await;
        tell("Target.setAutoAttach", attach_to(&inner)).await;
        tell("Network.enable", json!({})).await;
        if self.mode == DisplayMode::Embedded {
            let blocked = ["file:*", "chrome:*", "devtools:*", "chrome-untrusted:*"];
            let blocked = blocked.map(|pattern| json!({ "urlPattern": pattern, "block": true }));
            tell("Network.setBlockedURLs", json!({ "urlPatterns": blocked })).await;
        }
    }

    async fn go_on(&self, session: &str) {
        self.wire
            .notify(session, "Runtime.runIfWaitingForDebugger", json!({}))
            .await;
    }

    async fn close_target(&self, target: &str) {
        let target = json!({ "targetId": target });
        self.wire.notify("", "Target.closeTarget", target).await;
    }

    /// Makes a new target a tab; one that cannot be guarded is closed.
    async fn take_in(&self, tab: TabId, session: &str, opener: Option<TabId>) {
        if self.guard(session).await.is_err() {
            if let Ok(target) = self.book.page(tab, |page| page.target.clone()) {
                self.close_target(&target).await;
            }
            return;
        }
        let tell = async |method, params| self.wire.notify(session, method, params).await;
        tell("Page.enable", json!({})).await;
        tell("Runtime.enable", json!({})).await;
        let binding = json!({
            "name": isolated_scripts::BINDING, "executionContextName": isolated_scripts::WORLD,
        });
        tell("Runtime.addBinding", binding).await;
        tell(ON_EACH_DOCUMENT, on_each_document(isolated_scripts::NAME)).await;
        match self.mode {
            DisplayMode::Embedded => {
                let refused = json!({ "enabled": true, "cancel": true });
                tell("Page.setInterceptFileChooserDialog", refused).await;
                let viewport = self.book.open().viewport;
                if let Some(viewport) = viewport {
                    tell(
                        "Emulation.setDeviceMetricsOverride",
                        browser_commands::metrics(viewport),
                    )
                    .await;
                }
            }
            DisplayMode::Window => {
                tell(ON_EACH_DOCUMENT, on_each_document(isolated_scripts::WATCH)).await;
            }
        }
        self.go_on(session).await;
        let first = {
            let mut entries = self.book.open();
            let Some(page) = entries.pages.get_mut(&tab) else {
                return;
            };
            page.is_told = true;
            let is_first = !std::mem::replace(&mut entries.is_ready, true);
            is_first.then(|| entries.version.clone())
        };
        self.mailbox
            .push(BrowserEvent::TabOpened { tab, opener })
            .await;
        self.push_tab_changed(tab).await;
        self.book.opened.notify_waiters();
        if let Some(version) = first {
            self.mailbox.push(BrowserEvent::Ready(version)).await;
        }
    }

    /// Tells what is in a tab, when it is news.
    pub(super) async fn push_tab_changed(&self, tab: TabId) {
        let news = self.book.page(tab, |page| {
            let is_news = page.is_told && page.told.as_ref() != Some(&page.facts);
            is_news.then(|| {
                page.told = Some(page.facts.clone());
                page.facts.clone()
            })
        });
        if let Ok(Some(page)) = news {
            self.mailbox
                .push(BrowserEvent::TabChanged { tab, page })
                .await;
        }
    }

    async fn is_called(&self, params: &Value) {
        let target = text(params, "/targetInfo/targetId");
        let tab = self.book.open().of_target(target).map(|(tab, page)| {
            page.is_called(
                text(params, "/targetInfo/url"),
                text(params, "/targetInfo/title"),
            );
            tab
        });
        if let Some(tab) = tab {
            self.push_tab_changed(tab).await;
        }
    }

    /// Lets a document load, or not.
    async fn paused(&self, session: &str, params: &Value) {
        let request = text(params, "/requestId");
        let is_checked = {
            let mut entries = self.book.open();
            let of = entries.of_session(session).map(|(tab, page)| {
                let is_main = page.session == session && page.target == text(params, "/frameId");
                if is_main {
                    page.loads.send_modify(|loads| *loads += 1);
                }
                (tab, is_main)
            });
            of.map(|(tab, is_main)| (self.is_guarded(&entries, tab), is_main))
        };
        let url = text(params, "/request/url");
        let may = match is_checked {
            Some((true, is_main)) => may_load(url, !is_main),
            Some((false, _)) => true,
            // Of a target that is gone, or never was ours.
            None => false,
        };
        let (method, params) = if may {
            ("Fetch.continueRequest", json!({ "requestId": request }))
        } else {
            let refused = json!({ "requestId": request, "errorReason": "BlockedByClient" });
            ("Fetch.failRequest", refused)
        };
        self.wire.notify(session, method, params).await;
    }

    pub(super) fn is_guarded(
        &self,
        entries: &super::target_registry::RegistryEntries,
        tab: TabId,
    ) -> bool {
        self.mode == DisplayMode::Embedded || entries.guarded.contains(&tab)
    }

    async fn auth_required(&self, session: &str, params: &Value) {
        let request = PendingAuthRequest {
            session: session.to_owned(),
            request: text(params, "/requestId").to_owned(),
        };
        let plain = |pointer| truncated(text(params, pointer), REALM_CHARS_MAX);
        let asked = HttpAuthRequest {
            origin: plain("/authChallenge/origin"),
            realm: plain("/authChallenge/realm"),
            scheme: plain("/authChallenge/scheme"),
        };
        let older = {
            let mut entries = self.book.open();
            let Some((tab, page)) = entries.of_session(session) else {
                return;
            };
            page.facts.auth = Some(asked);
            (tab, page.auth.replace(request))
        };
        let (tab, older) = older;
        if let Some(older) = older {
            browser_commands::answer_auth(&self.wire, &older, None).await;
        }
        self.push_tab_changed(tab).await;
    }

    /// A load begins. Chromium itself goes to some places that are not fetched, such as `chrome:`.
    async fn navigates(&self, session: &str, params: &Value) {
        let url = text(params, "/url");
        let is_refused = {
            let mut entries = self.book.open();
            let Some((tab, page)) = entries.of_session(session) else {
                return;
            };
            if page.target != text(params, "/frameId") {
                return;
            }
            text(params, "/loaderId").clone_into(&mut page.load);
            page.status = None;
            self.is_guarded(&entries, tab) && !may_load(url, false)
        };
        if is_refused {
            self.wire
                .notify(session, "Page.stopLoading", json!({}))
                .await;
        }
    }

    async fn navigated(&self, session: &str, params: &Value) {
        let url = text(params, "/frame/url");
        let (tab, is_refused) = {
            let mut entries = self.book.open();
            let Some((tab, page)) = entries.of_session(session) else {
                return;
            };
            if page.target != text(params, "/frame/id") {
                return;
            }
            page.has_document(text(params, "/frame/loaderId"));
            page.pictures_since = Some(seconds_now());
            let is_error = url.starts_with(ERROR_PAGE);
            if !is_error {
                page.facts.error = None;
            }
            let error = page.facts.error.as_deref().unwrap_or_default();
            page.is_certificate_refused = CERTIFICATE_ERRORS
                .iter()
                .any(|errors| error.starts_with(errors));
            let is_refused = self.is_guarded(&entries, tab) && !is_error && !may_load(url, false);
            (tab, is_refused)
        };
        self.mailbox.push(BrowserEvent::NewDocument(tab)).await;
        if is_refused {
            let blank = json!({ "url": "about:blank" });
            self.wire.notify(session, "Page.navigate", blank).await;
        }
        self.push_tab_changed(tab).await;
    }

    async fn loads(&self, session: &str, params: &Value, is_loading: bool) {
        self.change(session, |page| {
            if page.target == text(params, "/frameId") {
                page.facts.loading = is_loading;
                page.loading.send_replace(is_loading);
            }
        })
        .await;
    }
}

/// The wall clock as Chromium writes it: seconds since 1970.
fn seconds_now() -> f64 {
    Clock::System.now().as_millis() as f64 / 1_000.0
}

/// How a script is run on each document.
const ON_EACH_DOCUMENT: &str = "Page.addScriptToEvaluateOnNewDocument";

fn on_each_document(script: &str) -> Value {
    json!({ "source": script, "worldName": isolated_scripts::WORLD, "runImmediately": true })
}

/// Attaches to all targets of these kinds, before they do anything.
fn attach_to(kinds: &Value) -> Value {
    json!({
        "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": kinds,
    })
}
