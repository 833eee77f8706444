//! The book of tabs: which of Chromium's targets is which of ours, and what is known of it.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
};

use guildhall_domain::{
    browser::{PageState, Viewport, truncated},
    ids::TabId,
    limits::{self, BROWSER_CONSOLE_MAX},
};
use tokio::sync::{Notify, watch};

use super::{BrowserError, ConsoleLine, click_count::ClickCounter};

/// What a ref stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RegisteredElement {
    /// Chromium's number for the node.
    pub(super) node: i64,
    /// The frame it is in.
    pub(super) frame: String,
}

/// A password that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingAuthRequest {
    /// The session that asks; a frame may have one of its own.
    pub(super) session: String,
    /// Chromium's name for it.
    pub(super) request: String,
}

/// Everything known of a tab.
#[derive(Debug)]
pub(super) struct RegisteredPage {
    pub(super) session: String,
    /// Also the name of its main frame.
    pub(super) target: String,
    pub(super) facts: PageState,
    /// The title that Chromium told last: until it knows the document's own, its address.
    chromium_title: String,
    /// The title that the document told through our script.
    document_title: Option<String>,
    /// Whether the tab was told of.
    pub(super) is_told: bool,
    /// The facts that were told last.
    pub(super) told: Option<PageState>,
    /// Names the document: another one after each navigation.
    pub(super) document: String,
    /// The load that is under way, or was last.
    pub(super) load: String,
    /// The status of the last document, when it had one.
    pub(super) status: Option<u16>,
    /// How many loads have begun.
    pub(super) loads: watch::Sender<u64>,
    /// Turns true while a dialog is open: until then input has no answer.
    pub(super) dialogs: watch::Sender<bool>,
    /// Whether it is loading, for who waits for that.
    pub(super) loading: watch::Sender<bool>,
    /// The buttons of the mouse that are down in it.
    pub(super) buttons: u8,
    /// How often in a row one of them was pressed.
    pub(super) presses: ClickCounter,
    /// Nodes of this document that are, or once were, fields for secrets.
    pub(super) secrets: HashSet<i64>,
    /// The elements of the last snapshot.
    pub(super) elements: BTreeMap<u64, RegisteredElement>,
    pub(super) console: VecDeque<ConsoleLine>,
    pub(super) auth: Option<PendingAuthRequest>,
    /// Whether it shows Chromium's own page about a certificate, which offers a way round it.
    pub(super) is_certificate_refused: bool,
    /// How pictures are taken of it, while they are.
    pub(super) film: Option<ScreencastSettings>,
    /// When its document came, by Chromium's clock in seconds: pictures taken before that may show
    /// the one before. `None` when no such picture is to be expected any more.
    pub(super) pictures_since: Option<f64>,
}

/// How pictures are taken of a tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScreencastSettings {
    /// Pixels at most.
    pub(super) width: u32,
    /// Pixels at most.
    pub(super) height: u32,
    /// Whether it is being begun anew.
    pub(super) is_renewed: bool,
}

/// What is done with a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FramePolicy {
    /// It is told.
    Document,
    /// It may show the document before; another one is on its way.
    Before,
    /// The same, and another one has to be asked for.
    BeforeAndLast,
    /// Nobody looks at the tab.
    Nothing,
}

impl RegisteredPage {
    fn new(session: &str, target: &str) -> Self {
        Self {
            session: session.to_owned(),
            target: target.to_owned(),
            facts: PageState::default(),
            chromium_title: String::new(),
            document_title: None,
            is_told: false,
            told: None,
            document: String::new(),
            load: String::new(),
            status: None,
            loads: watch::Sender::new(0),
            dialogs: watch::Sender::new(false),
            loading: watch::Sender::new(false),
            buttons: 0,
            presses: ClickCounter::default(),
            secrets: HashSet::new(),
            elements: BTreeMap::new(),
            console: VecDeque::new(),
            auth: None,
            is_certificate_refused: false,
            film: None,
            pictures_since: None,
        }
    }

    /// Takes note of what the tab is called.
    pub(super) fn is_called(&mut self, url: &str, title: &str) {
        self.facts.url = truncated(url, limits::BROWSER_URL_CHARS_MAX);
        self.chromium_title = truncated(title, limits::BROWSER_TITLE_CHARS_MAX);
        self.set_title();
    }

    /// Takes note of the title that the document told itself.
    pub(super) fn has_title(&mut self, title: &str) {
        self.document_title = Some(truncated(title, limits::BROWSER_TITLE_CHARS_MAX));
        self.set_title();
    }

    /// The document's own word counts: Chromium's may come later and be older.
    fn set_title(&mut self) {
        let title = self.document_title.as_ref();
        self.facts
            .title
            .clone_from(title.unwrap_or(&self.chromium_title));
    }

    /// What a picture shows that was taken at this moment; `0` is a moment nobody knows.
    pub(super) fn shows(&mut self, taken_at: f64) -> FramePolicy {
        let Some(film) = &mut self.film else {
            return FramePolicy::Nothing;
        };
        let is_before = self.pictures_since.is_some_and(|since| taken_at < since);
        match (is_before && taken_at > 0.0, film.is_renewed) {
            (false, _) => FramePolicy::Document,
            (true, true) => FramePolicy::Before,
            (true, false) => {
                film.is_renewed = true;
                FramePolicy::BeforeAndLast
            }
        }
    }

    /// Takes note that another document is in it.
    pub(super) fn has_document(&mut self, name: &str) {
        name.clone_into(&mut self.document);
        self.document_title = None;
        self.set_title();
        self.elements.clear();
        self.secrets.clear();
        self.console.clear();
        self.auth = None;
        self.facts.auth = None;
        self.facts.dialog = None;
        self.dialogs.send_replace(false);
    }

    /// Keeps a message of its console.
    pub(super) fn push_console_line(&mut self, line: ConsoleLine) {
        if self.console.len() == BROWSER_CONSOLE_MAX {
            self.console.pop_front();
        }
        self.console.push_back(line);
    }
}

/// What Chromium shows, by our names and by its own.
#[derive(Debug, Default)]
pub(super) struct TargetRegistry {
    // A std mutex: held for a look and never over an await.
    entries: Mutex<RegistryEntries>,
    /// Tells whenever a tab was told of.
    pub(super) opened: Notify,
    /// The number of the last ref: none is used twice, in no tab, so that an old one means
    /// nothing, and one tab's nothing in another. Changed while the entries are held.
    pub(super) last_ref: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct RegistryEntries {
    pub(super) pages: HashMap<TabId, RegisteredPage>,
    /// Whose session is whose; frames of another process have their own.
    pub(super) sessions: HashMap<String, TabId>,
    /// In mode window, the tabs whose documents are checked.
    pub(super) guarded: HashSet<TabId>,
    /// The size every page shall have.
    pub(super) viewport: Option<Viewport>,
    /// The browser's own word for what it is.
    pub(super) version: String,
    /// Whether the first tab was told.
    pub(super) is_ready: bool,
}

impl RegistryEntries {
    pub(super) fn add(&mut self, tab: TabId, session: &str, target: &str) -> &mut RegisteredPage {
        self.sessions.insert(session.to_owned(), tab);
        let page = RegisteredPage::new(session, target);
        self.pages.entry(tab).insert_entry(page).into_mut()
    }

    pub(super) fn of_target(&mut self, target: &str) -> Option<(TabId, &mut RegisteredPage)> {
        let mut pages = self.pages.iter_mut();
        let found = pages.find(|(_, page)| page.target == target);
        found.map(|(tab, page)| (*tab, page))
    }

    pub(super) fn of_session(&mut self, session: &str) -> Option<(TabId, &mut RegisteredPage)> {
        let tab = *self.sessions.get(session)?;
        Some((tab, self.pages.get_mut(&tab)?))
    }

    /// Forgets a session; answers the tab when it was a whole one's.
    pub(super) fn remove(&mut self, session: &str) -> Option<TabId> {
        let tab = self.sessions.remove(session)?;
        let is_whole = self
            .pages
            .get(&tab)
            .is_some_and(|page| page.session == session);
        if !is_whole {
            return None;
        }
        self.pages.remove(&tab);
        self.guarded.remove(&tab);
        self.sessions.retain(|_, of| *of != tab);
        Some(tab)
    }
}

impl TargetRegistry {
    pub(super) fn open(&self) -> MutexGuard<'_, RegistryEntries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks something up of a tab, or changes it.
    ///
    /// # Errors
    /// [`BrowserError::NoTab`].
    pub(super) fn page<T>(
        &self,
        tab: TabId,
        look: impl FnOnce(&mut RegisteredPage) -> T,
    ) -> Result<T, BrowserError> {
        let mut entries = self.open();
        let page = entries.pages.get_mut(&tab);
        page.map(look).ok_or(BrowserError::NoTab)
    }

    /// The session of a tab.
    ///
    /// # Errors
    /// [`BrowserError::NoTab`].
    pub(super) fn session(&self, tab: TabId) -> Result<String, BrowserError> {
        self.page(tab, |page| page.session.clone())
    }
}
