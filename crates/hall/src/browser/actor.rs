//! The actor: owns the process, walks the machine, keeps what is durable, and says what the
//! browser is. Whatever takes time it has done beside itself, in `jobs`, so that it
//! hears all the while.
//!
//! The revision moves when something is seen to differ, at most once in
//! [`limits::BROWSER_STATE_COALESCE_MS`] and at once for who is answered. It is reserved ahead in
//! the store, so that a page that changes all the time is no write each time.

mod agent_turns;
mod chromium_events;
mod input_handling;
mod process_lifecycle;
mod request_handling;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use futures_util::{
    FutureExt, StreamExt,
    future::{BoxFuture, pending},
    stream::FuturesUnordered,
};
use guildhall_domain::{
    Result, Timestamp,
    browser::{
        ActionRateLimiter, ActionTicket, BrowserState, BrowserStatus, CloseReason, ControlHolder,
        DisplayMode, LogEvent, MachineEffect, MachineEvent, MouseControl, StateMachine, Tabs,
        ToolDenial, Viewport,
    },
    ids::{AuthorId, BrowserConnectionId, TabId},
    limits,
};
use guildhall_store::browser::{self as rows, BrowserRow};
use guildhall_world::chromium::{BrowserEvent, Chromium, ChromiumExit, EventReceiver};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep_until},
};

use super::{
    BrowserConfig,
    actor_requests::ActorRequest,
    agent_access::WaitingActions,
    input_queue::InputQueues,
    jobs::{self, JobOutcome},
    launch::{self, LaunchOutcome},
    screencast::{Screencast, ViewerId},
    screencast_capture::ScreencastCapture,
};
use crate::Hall;

const COALESCE: Duration = Duration::from_millis(limits::BROWSER_STATE_COALESCE_MS);
const CLOSE_GRACE: Duration = Duration::from_secs(limits::BROWSER_CLOSE_GRACE_S);
/// Revisions that are reserved at a time.
const REVISIONS_AHEAD: u64 = 100;

/// What the actor is made of.
pub(crate) struct ActorChannels {
    pub(super) asked: mpsc::Receiver<ActorRequest>,
    pub(super) left: mpsc::UnboundedReceiver<ViewerId>,
    pub(super) told: watch::Sender<Arc<BrowserState>>,
    pub(super) kept: BrowserRow,
}

/// What everybody is shown before anything happened.
pub(super) fn first_state(how: &BrowserConfig, kept: BrowserRow) -> BrowserState {
    let machine = StateMachine::new(kept.mode);
    BrowserState {
        mode: machine.mode(),
        status: machine.status(),
        preparation: machine.preparation(),
        connection_id: None,
        session_id: None,
        paused: false,
        tabs: Vec::new(),
        selected_tab_id: None,
        revision: kept.revision + 1,
        holder: ControlHolder::None,
        held_since: None,
        viewport: Viewport::default(),
        sandboxed: !how.is_unsandboxed,
        last_error: None,
    }
}

/// A process, until nothing of it lives any more.
struct BrowserProcess {
    id: BrowserConnectionId,
    chromium: Chromium,
    happenings: EventReceiver,
    /// Whether nothing happens any more.
    is_silent: bool,
    /// How it ended, once it has.
    ended: oneshot::Receiver<ChromiumExit>,
}

/// When the actor has to look again.
#[derive(Default)]
struct Timers {
    flush: Option<Instant>,
    launch: Option<Instant>,
    kill: Option<Instant>,
    ping: Option<Instant>,
    /// Since when nobody uses the browser.
    lonely: Option<Instant>,
}

/// Until when a tab's dialog and its request for a password wait.
#[derive(Clone, Copy, Default)]
struct PromptDeadlines {
    dialog: Option<Instant>,
    auth: Option<Instant>,
}

pub(crate) struct Actor {
    hall: Hall,
    asked: mpsc::Receiver<ActorRequest>,
    left: mpsc::UnboundedReceiver<ViewerId>,
    told: watch::Sender<Arc<BrowserState>>,
    kept: BrowserRow,
    machine: StateMachine,
    tabs: Tabs,
    questions: BTreeMap<TabId, PromptDeadlines>,
    viewport: Viewport,
    process: Option<BrowserProcess>,
    /// A start, once the process before has ended.
    is_start_due: Option<DisplayMode>,
    beginning: Option<BoxFuture<'static, LaunchOutcome>>,
    jobs: FuturesUnordered<BoxFuture<'static, JobOutcome>>,
    /// What follows from what was done just now.
    due: VecDeque<MachineEvent>,
    typing: InputQueues,
    cinema: Screencast,
    film: ScreencastCapture,
    control: MouseControl,
    rate: ActionRateLimiter,
    acting: WaitingActions,
    /// Where turns of agents say that they are over; as many as there are.
    turns_over: mpsc::UnboundedSender<ActionTicket>,
    turns_done: mpsc::UnboundedReceiver<ActionTicket>,
    /// Who has the mouse, and since when.
    held: (ControlHolder, Option<Timestamp>),
    alarms: Timers,
    begun: Instant,
    is_stopping: bool,
}

/// What a process says.
enum ProcessEvent {
    Happening(BrowserEvent),
    /// Nothing more: its pipe is closed, and its end is near.
    Silence,
    /// It has ended; `None` when nobody knows how.
    Ended(Option<ChromiumExit>),
}

/// What the actor woke for.
enum WakeReason {
    Stop,
    Ask(ActorRequest),
    Left(ViewerId),
    Process(ProcessEvent),
    Begun(LaunchOutcome),
    Done(JobOutcome),
    TurnOver(ActionTicket),
    Alarm,
}

impl Actor {
    pub(super) fn new(hall: Hall, beginning: ActorChannels) -> Self {
        let (turns_over, turns_done) = mpsc::unbounded_channel();
        Self {
            hall,
            asked: beginning.asked,
            left: beginning.left,
            told: beginning.told,
            machine: StateMachine::new(beginning.kept.mode),
            kept: beginning.kept,
            tabs: Tabs::default(),
            questions: BTreeMap::new(),
            viewport: Viewport::default(),
            process: None,
            is_start_due: None,
            beginning: None,
            jobs: FuturesUnordered::new(),
            due: VecDeque::new(),
            typing: InputQueues::default(),
            cinema: Screencast::default(),
            film: ScreencastCapture::default(),
            control: MouseControl::default(),
            rate: ActionRateLimiter::default(),
            acting: WaitingActions::default(),
            turns_over,
            turns_done,
            held: (ControlHolder::None, None),
            alarms: Timers::default(),
            begun: Instant::now(),
            is_stopping: false,
        }
    }

    pub(super) async fn run(mut self) {
        let mut stopping = self.hall.tasks().stopping();
        while !(self.is_stopping && self.process.is_none()) {
            let alarm = self.next_alarm();
            let woken = tokio::select! {
                // An error means that the supervisor is gone, which is a stop as well.
                _ = stopping.wait_for(|stop| *stop), if !self.is_stopping => WakeReason::Stop,
                Some(ask) = self.asked.recv(), if !self.is_stopping => WakeReason::Ask(ask),
                Some(viewer) = self.left.recv() => WakeReason::Left(viewer),
                heard = next_process_event(&mut self.process) => WakeReason::Process(heard),
                begun = begin(&mut self.beginning) => WakeReason::Begun(begun),
                Some(done) = self.jobs.next() => WakeReason::Done(done),
                Some(ticket) = self.turns_done.recv() => WakeReason::TurnOver(ticket),
                () = sleep_until_alarm(alarm) => WakeReason::Alarm,
            };
            self.wake(woken).await;
            self.follow_up().await;
        }
        self.end().await;
    }

    async fn wake(&mut self, woken: WakeReason) {
        match woken {
            WakeReason::Stop => {
                self.is_stopping = true;
                // Who asks from now on is told that the server stops.
                self.asked.close();
                self.due
                    .push_back(MachineEvent::Close(CloseReason::Shutdown));
            }
            WakeReason::Ask(ask) => self.handle(ask).await,
            WakeReason::Left(viewer) => self.leave(viewer),
            WakeReason::Process(ProcessEvent::Happening(happening)) => self.handle_event(happening),
            WakeReason::Process(ProcessEvent::Silence) => self.pipe_closed(),
            WakeReason::Process(ProcessEvent::Ended(ended)) => self.ended(ended.as_ref()),
            WakeReason::Begun(begun) => self.launched(begun),
            WakeReason::Done(done) => self.job_done(done),
            WakeReason::TurnOver(ticket) => {
                let next = self.control.done(ticket, self.begun.elapsed());
                self.give_turns(next);
            }
            WakeReason::Alarm => self.run_timers().await,
        }
    }

    /// Does what follows from what was done, and has it seen.
    async fn follow_up(&mut self) {
        while let Some(event) = self.due.pop_front() {
            if let Err(error) = self.step(event, None, true).await {
                tracing::error!(?error, "an event of the local browser could not be taken");
            }
        }
        self.launch();
        self.update_capture();
        let is_lonely = self.machine.status() == BrowserStatus::Connected
            && self.machine.mode() == DisplayMode::Embedded
            && self.machine.session().is_none()
            && self.cinema.is_empty();
        match is_lonely {
            true => self.alarms.lonely = self.alarms.lonely.or_else(|| Some(Instant::now())),
            false => self.alarms.lonely = None,
        }
        let holder = self.control.holder();
        if holder != self.held.0 {
            let since = (holder != ControlHolder::None).then(|| self.hall.now());
            self.held = (holder, since);
        }
        self.alarms.flush = self
            .alarms
            .flush
            .or_else(|| Some(Instant::now() + COALESCE));
        // Unless something differs, nobody has to look for that.
        if self.state().looks_like(&self.told.borrow()) {
            self.alarms.flush = None;
        }
    }

    /// Takes one step, durable where it is told of; what `must` happen has happened, whether or
    /// not it can be kept.
    async fn step(&mut self, event: MachineEvent, by: Option<AuthorId>, must: bool) -> Result<()> {
        let (next, effects) = self.machine.next(event, self.hall.now())?;
        let told: Vec<LogEvent> = effects
            .iter()
            .filter_map(|effect| match effect {
                MachineEffect::Tell(told) => Some(told.clone()),
                _ => None,
            })
            .collect();
        if !told.is_empty()
            && let Err(error) = self.keep(next.mode(), &told, by).await
        {
            if !must {
                return Err(error);
            }
            tracing::error!(?error, "what became of the local browser could not be kept");
        }
        self.machine = next;
        for effect in effects {
            self.carry_out(effect);
        }
        if self.machine.connection().is_none() {
            self.forget_tabs();
        }
        if self.machine.status() != BrowserStatus::Connecting {
            self.alarms.launch = None;
        }
        Ok(())
    }

    /// Keeps what outlives the server, with its events, in one transaction.
    async fn keep(
        &mut self,
        mode: DisplayMode,
        told: &[LogEvent],
        by: Option<AuthorId>,
    ) -> Result<()> {
        let mut kept = BrowserRow { mode, ..self.kept };
        for told in told {
            match *told {
                LogEvent::Opened(connection, _) => kept.connection = Some(connection),
                LogEvent::Closed(..) | LogEvent::Failed(_) => kept.connection = None,
                LogEvent::Shared(session, connection) => kept.shared = Some((session, connection)),
                LogEvent::Unshared(..) => kept.shared = None,
                LogEvent::Connected(..) | LogEvent::Paused(..) => {}
            }
        }
        let now = self.hall.now();
        let events: Vec<_> = told
            .iter()
            .map(guildhall_domain::events::Event::from)
            .collect();
        self.hall
            .store()
            .write(move |tx| {
                rows::keep(tx, kept)?;
                for event in &events {
                    tx.append(now, by, event)?;
                }
                Ok(())
            })
            .await?;
        self.kept = kept;
        Ok(())
    }

    fn carry_out(&mut self, effect: MachineEffect) {
        match effect {
            MachineEffect::Start(mode) => self.is_start_due = Some(mode),
            MachineEffect::StopStarting => {
                self.is_start_due = None;
                self.beginning = None;
            }
            // Nothing can be fetched yet, whether or not it might be.
            MachineEffect::Prepare { download: _ } => {
                self.beginning = Some(launch::prepare(self.hall.clone()).boxed());
            }
            MachineEffect::StopPreparing => self.beginning = None,
            MachineEffect::Close => {
                self.alarms.kill = Some(Instant::now() + CLOSE_GRACE);
                self.spawn_job(|chromium| jobs::close(chromium).boxed());
            }
            MachineEffect::Kill => {
                if let Some(process) = &self.process {
                    process.chromium.kill();
                }
            }
            MachineEffect::Open(tabs) => {
                let blank = match self.tabs.all() {
                    [only] if matches!(only.page.url.as_str(), "" | "about:blank") => Some(only.id),
                    _ => None,
                };
                self.spawn_job(|chromium| jobs::open(chromium, blank, tabs).boxed());
            }
            MachineEffect::Share(tab) => {
                if self.tabs.share(tab).is_err() {
                    self.due.push_back(MachineEvent::SharedTabsGone);
                }
                self.set_url_guard();
            }
            MachineEffect::Unshare => {
                self.tabs.unshare();
                self.set_url_guard();
                self.refuse_waiting(ToolDenial::NotShared);
            }
            MachineEffect::Tell(_) => {}
        }
    }

    /// Has something done beside, by the process there is.
    fn spawn_job(&mut self, job: impl FnOnce(Chromium) -> BoxFuture<'static, JobOutcome>) {
        if let Some(process) = &self.process {
            self.jobs.push(job(process.chromium.clone()));
        }
    }

    /// In a window the documents of shared tabs alone are checked.
    fn set_url_guard(&self) {
        if let Some(process) = self.process.as_ref().filter(|_| self.is_window()) {
            for tab in self.tabs.all() {
                process.chromium.guard(tab.id, tab.shared);
            }
        }
    }

    fn is_window(&self) -> bool {
        self.machine.mode() == DisplayMode::Window
    }

    /// What everybody may see now, under the revision that was told last.
    fn state(&self) -> BrowserState {
        BrowserState {
            mode: self.machine.mode(),
            status: self.machine.status(),
            preparation: self.machine.preparation(),
            connection_id: self.machine.connection(),
            session_id: self.machine.session(),
            paused: self.machine.is_paused(),
            tabs: self.tabs.all().to_vec(),
            selected_tab_id: self.tabs.selected(),
            revision: self.told.borrow().revision,
            holder: self.held.0,
            held_since: self.held.1,
            viewport: self.viewport,
            sandboxed: !self.hall.inner.browser.how.is_unsandboxed,
            last_error: self.machine.last_error().cloned(),
        }
    }

    /// Has everybody see what is different now.
    async fn flush(&mut self) -> Arc<BrowserState> {
        self.alarms.flush = None;
        let state = self.state();
        let known = Arc::clone(&self.told.borrow());
        if state.looks_like(&known) {
            return known;
        }
        let revision = known.revision + 1;
        if revision > self.kept.revision {
            self.reserve(revision + REVISIONS_AHEAD).await;
        }
        let state = Arc::new(BrowserState { revision, ..state });
        self.told.send_replace(Arc::clone(&state));
        state
    }

    async fn reserve(&mut self, revision: u64) {
        let kept = BrowserRow {
            revision,
            ..self.kept
        };
        match self
            .hall
            .store()
            .write(move |tx| rows::keep(tx, kept))
            .await
        {
            Ok(()) => self.kept = kept,
            // A browser that goes on is worth more than a number.
            Err(error) => tracing::error!(?error, "revisions could not be reserved"),
        }
    }

    /// The last words: what the revision came to, if anything was ever different.
    async fn end(mut self) {
        let state = self.flush().await;
        if state.revision != self.kept.revision + 1 {
            self.reserve(state.revision).await;
        }
    }
}

async fn next_process_event(process: &mut Option<BrowserProcess>) -> ProcessEvent {
    let Some(process) = process else {
        return pending().await;
    };
    let BrowserProcess {
        happenings,
        is_silent,
        ended,
        ..
    } = process;
    let happening = async {
        if *is_silent {
            return pending().await;
        }
        match happenings.next().await {
            Some(happening) => ProcessEvent::Happening(happening),
            None => {
                *is_silent = true;
                ProcessEvent::Silence
            }
        }
    };
    tokio::select! {
        // Its end is told behind everything that happened before.
        biased;
        happening = happening => happening,
        ended = ended => ProcessEvent::Ended(ended.ok()),
    }
}

async fn begin(beginning: &mut Option<BoxFuture<'static, LaunchOutcome>>) -> LaunchOutcome {
    match beginning {
        Some(beginning) => beginning.await,
        None => pending().await,
    }
}

async fn sleep_until_alarm(alarm: Option<Instant>) {
    match alarm {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}
