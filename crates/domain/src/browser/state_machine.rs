//! From one state of the browser to the next, and what is to be done on the way.
//! Source: contract 7.5.

use super::{
    CloseReason, Component, Effect, Event, Failure, KeptTab, LastError, LaunchFault, Mode, Open,
    Preparation, Stage, Status, Told, UnshareReason,
};
use crate::{
    Moment, Refusal,
    ids::{ConnectionId, SessionId, TabId},
    limits,
};

/// What shall be done once it is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wish {
    tabs: Vec<KeptTab>,
    /// Whether the tab that is shown shall be shared once it is connected.
    shares: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Preparing(Stage, u8),
    Checking(Wish),
    Connecting(ConnectionId, Wish),
    Connected(ConnectionId),
    Closing(ConnectionId, After),
    Failed(Stage, u8),
}

/// What follows once it is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum After {
    Nothing(CloseReason),
    /// It comes up again in the mode that the machine says.
    Start(Wish),
}

/// Where the browser stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    mode: Mode,
    phase: Phase,
    session: Option<SessionId>,
    /// The process [`Told::Shared`] was told of with that session, once it was.
    shared_in: Option<ConnectionId>,
    paused: bool,
    last_error: Option<LastError>,
}

impl Default for Machine {
    fn default() -> Self {
        Self::new(Mode::Embedded)
    }
}

impl Machine {
    /// Nothing runs; `mode` is that of the last browser. Source: contract 7.5, "After a server
    /// restart".
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            phase: Phase::Idle,
            session: None,
            shared_in: None,
            paused: false,
            last_error: None,
        }
    }

    /// Of the present or last browser; once another one is asked for, of that.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether there is one.
    pub fn status(&self) -> Status {
        match self.phase {
            Phase::Idle | Phase::Preparing(..) | Phase::Checking(_) => Status::Disconnected,
            Phase::Connecting(..) => Status::Connecting,
            Phase::Connected(_) => Status::Connected,
            Phase::Closing(..) => Status::Closing,
            Phase::Failed(..) => Status::Failed,
        }
    }

    /// How far it has been got ready.
    pub fn preparation(&self) -> Preparation {
        let (stage, percent) = match self.phase {
            Phase::Idle | Phase::Closing(..) => (Stage::Idle, 0),
            Phase::Preparing(stage, percent) | Phase::Failed(stage, percent) => (stage, percent),
            Phase::Checking(_) => (Stage::Checking, 0),
            Phase::Connecting(..) => (Stage::Launching, 0),
            Phase::Connected(_) => (Stage::Ready, 100),
        };
        Preparation {
            stage,
            component: Component::Chromium,
            percent,
        }
    }

    /// The present process.
    pub fn connection(&self) -> Option<ConnectionId> {
        match self.phase {
            Phase::Idle | Phase::Preparing(..) | Phase::Checking(_) | Phase::Failed(..) => None,
            Phase::Connecting(id, _) | Phase::Connected(id) | Phase::Closing(id, _) => Some(id),
        }
    }

    /// The process, while it can be used.
    ///
    /// # Errors
    /// [`Refusal::BrowserNotConnected`].
    pub fn connected(&self) -> Result<ConnectionId, Refusal> {
        match self.phase {
            Phase::Connected(id) => Ok(id),
            _ => Err(Refusal::BrowserNotConnected),
        }
    }

    /// The chat that shares a tab, or asked to.
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// Whether a person refuses agents' tools.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// What went wrong last.
    pub fn last_error(&self) -> Option<&LastError> {
        self.last_error.as_ref()
    }

    /// What follows from `event` at `now`: where the browser stands then, and what is to be done.
    /// An event that means nothing here changes nothing.
    ///
    /// # Errors
    /// [`Refusal::BrowserBusy`] of open and prepare, [`Refusal::BrowserNotConnected`] of share;
    /// of the other events none.
    pub fn next(&self, event: Event, now: Moment) -> Result<(Self, Vec<Effect>), Refusal> {
        let mut next = Way {
            to: self.clone(),
            effects: Vec::new(),
        };
        next.take(event, now)?;
        Ok((next.to, next.effects))
    }
}

/// A state on its way to the next.
struct Way {
    to: Machine,
    effects: Vec<Effect>,
}

impl Way {
    fn take(&mut self, event: Event, now: Moment) -> Result<(), Refusal> {
        match event {
            Event::Open(open) => self.open(open)?,
            Event::Prepare { download } => self.prepare(download)?,
            Event::Progress(stage, percent) => {
                if let Phase::Preparing(now_stage, now_percent) = &mut self.to.phase {
                    (*now_stage, *now_percent) = (stage, percent.min(100));
                }
            }
            Event::Prepared => {
                if let Phase::Preparing(..) = self.to.phase {
                    self.to.phase = Phase::Idle;
                }
            }
            Event::Started(connection) => self.started(connection),
            Event::CheckFailed(failure) => match self.to.phase {
                Phase::Checking(_) => self.fail(failure, Stage::Failed, 0, now),
                Phase::Preparing(_, percent) => self.fail(failure, Stage::Failed, percent, now),
                _ => {}
            },
            Event::Attached(version) => self.attached(version),
            Event::LaunchOverdue => {
                if let Phase::Connecting(..) = self.to.phase {
                    self.effects.push(Effect::Kill);
                    let failure = Failure::LaunchFailed(LaunchFault::Deadline);
                    self.fail(failure, Stage::Failed, 0, now);
                }
            }
            Event::Silent => {
                if let Phase::Connected(_) = self.to.phase {
                    self.crashed(now);
                }
            }
            Event::Ended(code) => self.ended(code, now),
            Event::Close(reason) => self.close(reason),
            Event::Share { session, tab } => self.share(session, tab)?,
            Event::SharedTabsGone => self.unshare(UnshareReason::Tab),
            Event::SessionEnded(session) => {
                if self.to.session == Some(session) {
                    self.unshare(UnshareReason::SessionEnded);
                }
            }
            Event::Pause(paused) => {
                if self.to.paused != paused {
                    self.to.paused = paused;
                    self.tell(Told::Paused(paused, self.to.session));
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, open: Open) -> Result<(), Refusal> {
        let is_same_mode = self.to.mode == open.mode;
        let url = open.url.map(|address| KeptTab {
            address,
            shared: false,
        });
        match &mut self.to.phase {
            Phase::Idle | Phase::Failed(..) => {
                let wish = Wish {
                    tabs: url.into_iter().collect(),
                    shares: open.session.is_some(),
                };
                self.to.session = open.session;
                self.to.mode = open.mode;
                self.to.last_error = None;
                self.to.phase = Phase::Checking(wish);
                self.effects.push(Effect::Start(open.mode));
            }
            Phase::Checking(wish) | Phase::Connecting(_, wish) if is_same_mode => {
                let has_room = wish.tabs.len() < limits::BROWSER_TABS_MAX;
                wish.tabs.extend(url.filter(|_| has_room));
                let is_other = open.session != self.to.session;
                if open.session.is_none() {
                    self.unshare(UnshareReason::Person);
                } else if is_other {
                    wish.shares = true;
                    self.end_share(UnshareReason::Replaced);
                    self.to.session = open.session;
                }
            }
            Phase::Connected(_) if is_same_mode => {
                if let Some(url) = url {
                    self.effects.push(Effect::Open(vec![url]));
                }
                self.share(open.session, None)?;
            }
            &mut Phase::Connected(connection) => {
                let mut tabs = open.tabs;
                tabs.extend(url);
                let is_other = open.session != self.to.session;
                if open.session.is_none() {
                    self.unshare(UnshareReason::Person);
                } else if is_other {
                    self.end_share(UnshareReason::Replaced);
                    self.to.session = open.session;
                }
                // A share that goes on stays with its own tab, where that one can be opened again.
                let has_shared_tab = tabs.iter().any(|tab| tab.shared);
                let goes_on = !is_other && has_shared_tab;
                if !goes_on {
                    for tab in &mut tabs {
                        tab.shared = false;
                    }
                }
                let wish = Wish {
                    tabs,
                    shares: self.to.session.is_some() && !goes_on,
                };
                self.to.mode = open.mode;
                self.to.last_error = None;
                self.to.phase = Phase::Closing(connection, After::Start(wish));
                self.effects.push(Effect::Close);
            }
            Phase::Preparing(..)
            | Phase::Checking(_)
            | Phase::Connecting(..)
            | Phase::Closing(..) => return Err(Refusal::BrowserBusy),
        }
        Ok(())
    }

    fn prepare(&mut self, download: bool) -> Result<(), Refusal> {
        let (Phase::Idle | Phase::Failed(..)) = self.to.phase else {
            return Err(Refusal::BrowserBusy);
        };
        self.to.phase = Phase::Preparing(Stage::Checking, 0);
        self.effects.push(Effect::Prepare { download });
        Ok(())
    }

    fn started(&mut self, connection: ConnectionId) {
        if let Phase::Checking(wish) = &mut self.to.phase {
            let wish = std::mem::take(wish);
            self.to.phase = Phase::Connecting(connection, wish);
            self.tell(Told::Opened(connection, self.to.mode));
        } else {
            // Nobody waits for it any more.
            self.effects.push(Effect::Kill);
        }
    }

    fn attached(&mut self, version: String) {
        let Phase::Connecting(connection, wish) = &mut self.to.phase else {
            return;
        };
        let (connection, wish) = (*connection, std::mem::take(wish));
        self.to.phase = Phase::Connected(connection);
        self.tell(Told::Connected(connection, version));
        if !wish.tabs.is_empty() {
            self.effects.push(Effect::Open(wish.tabs));
        }
        if let Some(session) = self.to.session {
            if wish.shares {
                self.effects.push(Effect::Share(None));
            }
            if self.to.shared_in.is_none() {
                self.to.shared_in = Some(connection);
                self.tell(Told::Shared(session, connection));
            }
        }
    }

    fn ended(&mut self, code: Option<i32>, now: Moment) {
        match &mut self.to.phase {
            Phase::Connecting(..) => {
                self.effects.push(Effect::Kill);
                let failure = Failure::LaunchFailed(LaunchFault::Exited);
                self.fail(failure, Stage::Failed, 0, now);
            }
            &mut Phase::Connected(connection) => {
                if code == Some(0) && self.to.mode == Mode::Window {
                    self.unshare(UnshareReason::Closed);
                    self.to.phase = Phase::Idle;
                    self.tell(Told::Closed(connection, CloseReason::Window));
                } else {
                    self.crashed(now);
                }
            }
            Phase::Closing(connection, after) => {
                let connection = *connection;
                match std::mem::replace(after, After::Nothing(CloseReason::Mode)) {
                    After::Nothing(reason) => {
                        self.to.phase = Phase::Idle;
                        self.tell(Told::Closed(connection, reason));
                    }
                    After::Start(wish) => {
                        self.to.phase = Phase::Checking(wish);
                        self.tell(Told::Closed(connection, CloseReason::Mode));
                        self.effects.push(Effect::Start(self.to.mode));
                    }
                }
            }
            Phase::Idle | Phase::Preparing(..) | Phase::Checking(_) | Phase::Failed(..) => {}
        }
    }

    fn close(&mut self, reason: CloseReason) {
        match &mut self.to.phase {
            Phase::Idle | Phase::Failed(..) => {}
            Phase::Preparing(..) => {
                self.to.phase = Phase::Idle;
                self.effects.push(Effect::StopPreparing);
            }
            Phase::Checking(_) => {
                self.unshare(UnshareReason::Closed);
                self.to.phase = Phase::Idle;
                self.effects.push(Effect::StopStarting);
            }
            &mut (Phase::Connecting(connection, _) | Phase::Connected(connection)) => {
                self.unshare(UnshareReason::Closed);
                self.to.phase = Phase::Closing(connection, After::Nothing(reason));
                self.effects.push(Effect::Close);
            }
            Phase::Closing(_, after @ After::Start(_)) => {
                *after = After::Nothing(reason);
                self.unshare(UnshareReason::Closed);
            }
            Phase::Closing(_, After::Nothing(_)) => {}
        }
    }

    fn share(&mut self, session: Option<SessionId>, tab: Option<TabId>) -> Result<(), Refusal> {
        let connection = self.to.connected()?;
        let Some(session) = session else {
            self.unshare(UnshareReason::Person);
            return Ok(());
        };
        if self.to.session != Some(session) {
            self.end_share(UnshareReason::Replaced);
            self.to.session = Some(session);
            self.to.shared_in = Some(connection);
            self.tell(Told::Shared(session, connection));
        } else if tab.is_none() {
            // Who opens again what it has keeps its tab.
            return Ok(());
        }
        self.effects.push(Effect::Share(tab));
        Ok(())
    }

    /// Ends the share, whatever becomes of the browser.
    fn unshare(&mut self, reason: UnshareReason) {
        if self.to.session.is_some() {
            self.effects.push(Effect::Unshare);
        }
        self.end_share(reason);
        match &mut self.to.phase {
            Phase::Checking(wish)
            | Phase::Connecting(_, wish)
            | Phase::Closing(_, After::Start(wish)) => {
                wish.shares = false;
                for tab in &mut wish.tabs {
                    tab.shared = false;
                }
            }
            Phase::Idle
            | Phase::Preparing(..)
            | Phase::Connected(_)
            | Phase::Closing(_, After::Nothing(_))
            | Phase::Failed(..) => {}
        }
    }

    /// Forgets the session, and tells so when its share was told.
    fn end_share(&mut self, reason: UnshareReason) {
        let Some(session) = self.to.session.take() else {
            return;
        };
        if let Some(connection) = self.to.shared_in.take() {
            self.tell(Told::Unshared(session, connection, reason));
        }
    }

    fn crashed(&mut self, now: Moment) {
        self.effects.push(Effect::Kill);
        self.fail(Failure::Crashed, Stage::Idle, 0, now);
    }

    fn fail(&mut self, failure: Failure, stage: Stage, percent: u8, now: Moment) {
        self.unshare(UnshareReason::Crashed);
        self.to.phase = Phase::Failed(stage, percent);
        self.to.last_error = Some(LastError {
            failure: failure.clone(),
            at: now,
        });
        self.tell(Told::Failed(failure));
    }

    fn tell(&mut self, told: Told) {
        self.effects.push(Effect::Tell(told));
    }
}

#[cfg(test)]
#[path = "state_machine_tests.rs"]
mod tests;
