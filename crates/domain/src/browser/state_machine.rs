//! From one state of the browser to the next, and what is to be done on the way.
//! Source: contract 7.5.

use super::{
    BrowserFailure, BrowserStatus, CloseReason, DisplayMode, LastError, LaunchFault, LogEvent,
    MachineEffect, MachineEvent, OpenRequest, Preparation, PreparationStage, PreparedComponent,
    SavedTab, UnshareReason,
};
use crate::{
    Refusal, Timestamp,
    ids::{BrowserConnectionId, SessionId, TabId},
    limits,
};

/// What shall be done once it is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PendingOpen {
    tabs: Vec<SavedTab>,
    /// Whether the tab that is shown shall be shared once it is connected.
    shares: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Preparing(PreparationStage, u8),
    Checking(PendingOpen),
    Connecting(BrowserConnectionId, PendingOpen),
    Connected(BrowserConnectionId),
    Closing(BrowserConnectionId, AfterClose),
    Failed(PreparationStage, u8),
}

/// What follows once it is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AfterClose {
    Nothing(CloseReason),
    /// It comes up again in the mode that the machine says.
    Start(PendingOpen),
}

/// Where the browser stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateMachine {
    mode: DisplayMode,
    phase: Phase,
    session: Option<SessionId>,
    /// The process [`LogEvent::Shared`] was told of with that session, once it was.
    shared_in: Option<BrowserConnectionId>,
    paused: bool,
    last_error: Option<LastError>,
}

impl Default for StateMachine {
    fn default() -> Self {
        Self::new(DisplayMode::Embedded)
    }
}

impl StateMachine {
    /// Nothing runs; `mode` is that of the last browser. Source: contract 7.5, "After a server
    /// restart".
    pub fn new(mode: DisplayMode) -> Self {
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
    pub fn mode(&self) -> DisplayMode {
        self.mode
    }

    /// Whether there is one.
    pub fn status(&self) -> BrowserStatus {
        match self.phase {
            Phase::Idle | Phase::Preparing(..) | Phase::Checking(_) => BrowserStatus::Disconnected,
            Phase::Connecting(..) => BrowserStatus::Connecting,
            Phase::Connected(_) => BrowserStatus::Connected,
            Phase::Closing(..) => BrowserStatus::Closing,
            Phase::Failed(..) => BrowserStatus::Failed,
        }
    }

    /// How far it has been got ready.
    pub fn preparation(&self) -> Preparation {
        let (stage, percent) = match self.phase {
            Phase::Idle | Phase::Closing(..) => (PreparationStage::Idle, 0),
            Phase::Preparing(stage, percent) | Phase::Failed(stage, percent) => (stage, percent),
            Phase::Checking(_) => (PreparationStage::Checking, 0),
            Phase::Connecting(..) => (PreparationStage::Launching, 0),
            Phase::Connected(_) => (PreparationStage::Ready, 100),
        };
        Preparation {
            stage,
            component: PreparedComponent::Chromium,
            percent,
        }
    }

    /// The present process.
    pub fn connection(&self) -> Option<BrowserConnectionId> {
        match self.phase {
            Phase::Idle | Phase::Preparing(..) | Phase::Checking(_) | Phase::Failed(..) => None,
            Phase::Connecting(id, _) | Phase::Connected(id) | Phase::Closing(id, _) => Some(id),
        }
    }

    /// The process, while it can be used.
    ///
    /// # Errors
    /// [`Refusal::BrowserNotConnected`].
    pub fn connected(&self) -> Result<BrowserConnectionId, Refusal> {
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
    pub fn next(
        &self,
        event: MachineEvent,
        now: Timestamp,
    ) -> Result<(Self, Vec<MachineEffect>), Refusal> {
        let mut next = Transition {
            to: self.clone(),
            effects: Vec::new(),
        };
        next.take(event, now)?;
        Ok((next.to, next.effects))
    }
}

/// A state on its way to the next.
struct Transition {
    to: StateMachine,
    effects: Vec<MachineEffect>,
}

impl Transition {
    fn take(&mut self, event: MachineEvent, now: Timestamp) -> Result<(), Refusal> {
        match event {
            MachineEvent::Open(open) => self.open(open)?,
            MachineEvent::Prepare { download } => self.prepare(download)?,
            MachineEvent::Progress(stage, percent) => {
                if let Phase::Preparing(now_stage, now_percent) = &mut self.to.phase {
                    (*now_stage, *now_percent) = (stage, percent.min(100));
                }
            }
            MachineEvent::Prepared => {
                if let Phase::Preparing(..) = self.to.phase {
                    self.to.phase = Phase::Idle;
                }
            }
            MachineEvent::Started(connection) => self.started(connection),
            MachineEvent::CheckFailed(failure) => match self.to.phase {
                Phase::Checking(_) => self.fail(failure, PreparationStage::Failed, 0, now),
                Phase::Preparing(_, percent) => {
                    self.fail(failure, PreparationStage::Failed, percent, now);
                }
                _ => {}
            },
            MachineEvent::Attached(version) => self.attached(version),
            MachineEvent::LaunchOverdue => {
                if let Phase::Connecting(..) = self.to.phase {
                    self.effects.push(MachineEffect::Kill);
                    let failure = BrowserFailure::LaunchFailed(LaunchFault::Deadline);
                    self.fail(failure, PreparationStage::Failed, 0, now);
                }
            }
            MachineEvent::Silent => {
                if let Phase::Connected(_) = self.to.phase {
                    self.crashed(now);
                }
            }
            MachineEvent::Ended(code) => self.ended(code, now),
            MachineEvent::Close(reason) => self.close(reason),
            MachineEvent::Share { session, tab } => self.share(session, tab)?,
            MachineEvent::SharedTabsGone => self.unshare(UnshareReason::Tab),
            MachineEvent::SessionEnded(session) => {
                if self.to.session == Some(session) {
                    self.unshare(UnshareReason::SessionEnded);
                }
            }
            MachineEvent::Pause(paused) => {
                if self.to.paused != paused {
                    self.to.paused = paused;
                    self.tell(LogEvent::Paused(paused, self.to.session));
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, open: OpenRequest) -> Result<(), Refusal> {
        let is_same_mode = self.to.mode == open.mode;
        let url = open.url.map(|address| SavedTab {
            address,
            shared: false,
        });
        match &mut self.to.phase {
            Phase::Idle | Phase::Failed(..) => {
                let wish = PendingOpen {
                    tabs: url.into_iter().collect(),
                    shares: open.session.is_some(),
                };
                self.to.session = open.session;
                self.to.mode = open.mode;
                self.to.last_error = None;
                self.to.phase = Phase::Checking(wish);
                self.effects.push(MachineEffect::Start(open.mode));
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
                    self.effects.push(MachineEffect::Open(vec![url]));
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
                let wish = PendingOpen {
                    tabs,
                    shares: self.to.session.is_some() && !goes_on,
                };
                self.to.mode = open.mode;
                self.to.last_error = None;
                self.to.phase = Phase::Closing(connection, AfterClose::Start(wish));
                self.effects.push(MachineEffect::Close);
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
        self.to.phase = Phase::Preparing(PreparationStage::Checking, 0);
        self.effects.push(MachineEffect::Prepare { download });
        Ok(())
    }

    fn started(&mut self, connection: BrowserConnectionId) {
        if let Phase::Checking(wish) = &mut self.to.phase {
            let wish = std::mem::take(wish);
            self.to.phase = Phase::Connecting(connection, wish);
            self.tell(LogEvent::Opened(connection, self.to.mode));
        } else {
            // Nobody waits for it any more.
            self.effects.push(MachineEffect::Kill);
        }
    }

    fn attached(&mut self, version: String) {
        let Phase::Connecting(connection, wish) = &mut self.to.phase else {
            return;
        };
        let (connection, wish) = (*connection, std::mem::take(wish));
        self.to.phase = Phase::Connected(connection);
        self.tell(LogEvent::Connected(connection, version));
        if !wish.tabs.is_empty() {
            self.effects.push(MachineEffect::Open(wish.tabs));
        }
        if let Some(session) = self.to.session {
            if wish.shares {
                self.effects.push(MachineEffect::Share(None));
            }
            if self.to.shared_in.is_none() {
                self.to.shared_in = Some(connection);
                self.tell(LogEvent::Shared(session, connection));
            }
        }
    }

    fn ended(&mut self, code: Option<i32>, now: Timestamp) {
        match &mut self.to.phase {
            Phase::Connecting(..) => {
                self.effects.push(MachineEffect::Kill);
                let failure = BrowserFailure::LaunchFailed(LaunchFault::Exited);
                self.fail(failure, PreparationStage::Failed, 0, now);
            }
            &mut Phase::Connected(connection) => {
                if code == Some(0) && self.to.mode == DisplayMode::Window {
                    self.unshare(UnshareReason::Closed);
                    self.to.phase = Phase::Idle;
                    self.tell(LogEvent::Closed(connection, CloseReason::Window));
                } else {
                    self.crashed(now);
                }
            }
            Phase::Closing(connection, after) => {
                let connection = *connection;
                match std::mem::replace(after, AfterClose::Nothing(CloseReason::Mode)) {
                    AfterClose::Nothing(reason) => {
                        self.to.phase = Phase::Idle;
                        self.tell(LogEvent::Closed(connection, reason));
                    }
                    AfterClose::Start(wish) => {
                        self.to.phase = Phase::Checking(wish);
                        self.tell(LogEvent::Closed(connection, CloseReason::Mode));
                        self.effects.push(MachineEffect::Start(self.to.mode));
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
                self.effects.push(MachineEffect::StopPreparing);
            }
            Phase::Checking(_) => {
                self.unshare(UnshareReason::Closed);
                self.to.phase = Phase::Idle;
                self.effects.push(MachineEffect::StopStarting);
            }
            &mut (Phase::Connecting(connection, _) | Phase::Connected(connection)) => {
                self.unshare(UnshareReason::Closed);
                self.to.phase = Phase::Closing(connection, AfterClose::Nothing(reason));
                self.effects.push(MachineEffect::Close);
            }
            Phase::Closing(_, after @ AfterClose::Start(_)) => {
                *after = AfterClose::Nothing(reason);
                self.unshare(UnshareReason::Closed);
            }
            Phase::Closing(_, AfterClose::Nothing(_)) => {}
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
            self.tell(LogEvent::Shared(session, connection));
        } else if tab.is_none() {
            // Who opens again what it has keeps its tab.
            return Ok(());
        }
        self.effects.push(MachineEffect::Share(tab));
        Ok(())
    }

    /// Ends the share, whatever becomes of the browser.
    fn unshare(&mut self, reason: UnshareReason) {
        if self.to.session.is_some() {
            self.effects.push(MachineEffect::Unshare);
        }
        self.end_share(reason);
        match &mut self.to.phase {
            Phase::Checking(wish)
            | Phase::Connecting(_, wish)
            | Phase::Closing(_, AfterClose::Start(wish)) => {
                wish.shares = false;
                for tab in &mut wish.tabs {
                    tab.shared = false;
                }
            }
            Phase::Idle
            | Phase::Preparing(..)
            | Phase::Connected(_)
            | Phase::Closing(_, AfterClose::Nothing(_))
            | Phase::Failed(..) => {}
        }
    }

    /// Forgets the session, and tells so when its share was told.
    fn end_share(&mut self, reason: UnshareReason) {
        let Some(session) = self.to.session.take() else {
            return;
        };
        if let Some(connection) = self.to.shared_in.take() {
            self.tell(LogEvent::Unshared(session, connection, reason));
        }
    }

    fn crashed(&mut self, now: Timestamp) {
        self.effects.push(MachineEffect::Kill);
        self.fail(BrowserFailure::Crashed, PreparationStage::Idle, 0, now);
    }

    fn fail(
        &mut self,
        failure: BrowserFailure,
        stage: PreparationStage,
        percent: u8,
        now: Timestamp,
    ) {
        self.unshare(UnshareReason::Crashed);
        self.to.phase = Phase::Failed(stage, percent);
        self.to.last_error = Some(LastError {
            failure: failure.clone(),
            at: now,
        });
        self.tell(LogEvent::Failed(failure));
    }

    fn tell(&mut self, told: LogEvent) {
        self.effects.push(MachineEffect::Tell(told));
    }
}

#[cfg(test)]
#[path = "state_machine_tests.rs"]
mod tests;
