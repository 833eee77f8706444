//! What happens in the browser, and what follows from it.

use std::time::Duration;

use futures_util::FutureExt;
use guildhall_domain::{
    Refusal,
    browser::{ControlHolder, MachineEvent, PageState},
    errors::ResourceKind,
    ids::TabId,
    limits,
};
use guildhall_world::chromium::BrowserEvent;
use tokio::time::Instant;

use super::{Actor, process_lifecycle::PING_EVERY};
use crate::browser::jobs;

const DIALOG_WAIT: Duration = Duration::from_secs(limits::BROWSER_DIALOG_S);
const AUTH_WAIT: Duration = Duration::from_secs(limits::BROWSER_AUTH_S);

impl Actor {
    /// Hears everything that has happened up to now.
    pub(super) fn catch_up(&mut self) {
        while let Some(Some(happening)) = self
            .process
            .as_mut()
            .and_then(|process| process.happenings.next().now_or_never())
        {
            self.handle_event(happening);
        }
    }

    pub(super) fn handle_event(&mut self, happening: BrowserEvent) {
        let process = self.process.as_ref().map(|process| process.id);
        if process.is_none() || self.machine.connection() != process {
            // One that was given up, and is on its way out.
            return;
        }
        match happening {
            BrowserEvent::Ready(version) => {
                self.due.push_back(MachineEvent::Attached(version));
                self.alarms.ping = Some(Instant::now() + PING_EVERY);
                self.measure_window();
            }
            BrowserEvent::TabOpened { tab, opener } => self.tab_opened(tab, opener),
            BrowserEvent::TabChanged { tab, page } => self.tab_changed(tab, page),
            BrowserEvent::NewDocument(tab) => self.document_replaced(tab),
            BrowserEvent::TabClosed(tab) => self.tab_closed(tab),
            BrowserEvent::Frame(frame) => {
                self.cinema
                    .publish_frame(frame, self.hall.now(), Instant::now());
            }
            BrowserEvent::HumanInput(_) => {
                // What an agent does in a window looks the same.
                if self.control.holder() != ControlHolder::Agent {
                    self.record_human_input();
                }
            }
            BrowserEvent::Visible(tab) => {
                // One that is gone again was visible for nobody.
                let _ = self.tabs.select(tab);
                self.measure_window();
            }
        }
    }

    pub(super) fn tab_opened(&mut self, tab: TabId, opener: Option<TabId>) {
        if self.tabs.has_room().is_err() {
            self.spawn_job(|chromium| jobs::close_tab(chromium, tab).boxed());
            return;
        }
        let is_from_shown = opener.is_some() && opener == self.tabs.selected();
        self.tabs.opened(tab, opener);
        if is_from_shown && !self.is_window() {
            self.select(tab);
        }
        self.set_url_guard();
    }

    pub(super) fn tab_changed(&mut self, tab: TabId, page: PageState) {
        let now = Instant::now();
        let questions = self.questions.entry(tab).or_default();
        let until = |asked: bool, known: Option<Instant>, wait: Duration| {
            asked.then(|| known.unwrap_or(now + wait))
        };
        questions.dialog = until(page.dialog.is_some(), questions.dialog, DIALOG_WAIT);
        questions.auth = until(page.auth.is_some(), questions.auth, AUTH_WAIT);
        self.tabs.changed(tab, page);
    }

    /// What people meant for the document before never reaches this one.
    fn document_replaced(&mut self, tab: TabId) {
        self.film.document_replaced(tab);
        for waits in self.typing.drop_stale_input(tab) {
            self.report_input(waits, Err(Refusal::BrowserStale.into()));
        }
        let Some(connection) = self.machine.connection() else {
            return;
        };
        let (held, unseen) = self.cinema.document_replaced(tab, connection);
        self.release_held(tab, &held);
        for frame in unseen {
            self.spawn_job(|chromium| jobs::acknowledge(chromium, frame).boxed());
        }
    }

    pub(super) fn tab_closed(&mut self, tab: TabId) {
        let Some(gone) = self.tabs.closed(tab) else {
            return;
        };
        self.questions.remove(&tab);
        self.cinema.forget(tab);
        for waits in self.typing.forget(tab) {
            self.report_input(waits, Err(Refusal::NotFound(ResourceKind::Tab).into()));
        }
        if gone.was_last_shared {
            self.due.push_back(MachineEvent::SharedTabsGone);
        }
        if self.is_window() || self.machine.connected().is_err() {
            return;
        }
        if gone.was_last {
            self.spawn_job(|chromium| jobs::new_tab(chromium).boxed());
        } else if let Some(next) = gone.selects {
            self.select(next);
        }
    }

    /// Shows a tab of an embedded browser, also to Chromium.
    pub(super) fn select(&mut self, tab: TabId) {
        if self.tabs.select(tab).is_ok() {
            self.spawn_job(|chromium| jobs::select(chromium, tab).boxed());
        }
    }

    /// The size of a window is what it is.
    pub(super) fn measure_window(&mut self) {
        if let Some(tab) = self.tabs.selected().filter(|_| self.is_window()) {
            self.spawn_job(|chromium| jobs::measure(chromium, tab).boxed());
        }
    }

    /// Has filmed what is looked at, and nothing else.
    pub(super) fn update_capture(&mut self) {
        let is_embedded = self.machine.connected().is_ok() && !self.is_window();
        let wanted = self.cinema.wanted(self.tabs.selected());
        let wanted = wanted.filter(|_| is_embedded);
        let Some(id) = self.process.as_ref().map(|process| process.id) else {
            return;
        };
        let Some(change) = self.film.change(wanted, Instant::now()) else {
            return;
        };
        self.spawn_job(|chromium| jobs::change_capture(chromium, id, change).boxed());
    }
}
