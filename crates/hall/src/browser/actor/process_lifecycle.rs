//! The life of the process: its start, its end, and what is due in between.

use std::time::Duration;

use futures_util::FutureExt;
use guildhall_domain::{
    Error, Refusal,
    browser::{BrowserStatus, CloseReason, MachineEffect, MachineEvent, Tabs},
    ids::BrowserConnectionId,
    limits,
};
use guildhall_world::chromium::{BrowserError, ChromiumExit};
use tokio::{sync::oneshot, time::Instant};

use super::{Actor, BrowserProcess};
use crate::{
    Hall,
    browser::{
        as_refusal,
        jobs::{self, JobOutcome},
        launch::{self, LaunchOutcome},
    },
};

const LAUNCH_MAX: Duration = Duration::from_secs(limits::BROWSER_LAUNCH_MAX_S);
/// How often the browser is asked whether it is still there.
pub(super) const PING_EVERY: Duration = Duration::from_secs(5);

impl Actor {
    /// Begins the start that is due, once the process before has ended.
    pub(super) fn launch(&mut self) {
        if self.process.is_some() || self.beginning.is_some() {
            return;
        }
        if let Some(mode) = self.is_start_due.take() {
            let start = launch::start(self.hall.clone(), mode, self.viewport);
            self.beginning = Some(start.boxed());
        }
    }

    pub(super) fn launched(&mut self, begun: LaunchOutcome) {
        self.beginning = None;
        match begun {
            LaunchOutcome::Found => self.due.push_back(MachineEvent::Prepared),
            LaunchOutcome::Failed(failure) => {
                self.due.push_back(MachineEvent::CheckFailed(failure));
            }
            LaunchOutcome::Process(chromium, happenings, running) => {
                let id = Hall::new_id(BrowserConnectionId::from_bytes);
                let (tell, ended) = oneshot::channel();
                let tasks = self.hall.tasks();
                tasks.spawn("local browser process", self.hall.now(), async move {
                    // The actor goes only behind the process.
                    let _ = tell.send(running.await);
                });
                self.process = Some(BrowserProcess {
                    id,
                    chromium,
                    happenings,
                    is_silent: false,
                    ended,
                });
                self.alarms.launch = Some(Instant::now() + LAUNCH_MAX);
                self.due.push_back(MachineEvent::Started(id));
            }
        }
    }

    /// Nobody speaks at the other end any more. That is a crash whatever its exit code is, but of
    /// a window, which a person may have closed; so it shows before everything it started is gone.
    pub(super) fn pipe_closed(&mut self) {
        let process = self.process.as_ref().map(|process| process.id);
        if process.is_some() && self.machine.connection() == process && !self.is_window() {
            self.due.push_back(MachineEvent::Silent);
        }
    }

    /// The process has ended, with everything it started.
    pub(super) fn ended(&mut self, ended: Option<&ChromiumExit>) {
        self.catch_up();
        let process = self.process.take();
        (self.alarms.kill, self.alarms.ping) = (None, None);
        self.film.end();
        let is_meant = process.is_some_and(|one| self.machine.connection() == Some(one.id));
        let is_told = self.machine.status() == BrowserStatus::Failed;
        let code = ended.filter(|ended| !ended.is_garbage);
        let code = code.and_then(|ended| ended.code);
        if let Some(ended) = ended
            && (is_meant || is_told)
            && !matches!(self.machine.status(), BrowserStatus::Closing)
        {
            let (words, is_garbage) = (&ended.last_words, ended.is_garbage);
            tracing::warn!(
                ?code,
                is_garbage,
                words,
                "the local browser ended by itself"
            );
        }
        if is_meant {
            self.due.push_back(MachineEvent::Ended(code));
        }
        self.forget_tabs();
    }

    pub(super) fn forget_tabs(&mut self) {
        self.tabs = Tabs::default();
        self.questions.clear();
        self.cinema.forget_all();
        for waits in self.typing.forget_all() {
            self.report_input(waits, Err(Refusal::BrowserNotConnected.into()));
        }
    }

    pub(super) fn next_alarm(&self) -> Option<Instant> {
        let idle = self.hall.inner.browser.how.idle;
        let control = self.control.next_deadline().map(|at| self.begun + at);
        let questions = self.questions.values();
        let questions = questions.flat_map(|one| [one.dialog, one.auth]).flatten();
        [
            self.alarms.flush,
            self.alarms.launch,
            self.alarms.kill,
            self.alarms.ping,
            self.alarms.lonely.map(|since| since + idle),
            self.film.next_retry(),
            control,
        ]
        .into_iter()
        .flatten()
        .chain(questions)
        .min()
    }

    /// Looks what is due.
    pub(super) async fn run_timers(&mut self) {
        let now = Instant::now();
        let is_due = |alarm: Option<Instant>| alarm.is_some_and(|at| at <= now);
        if is_due(self.alarms.launch) {
            self.alarms.launch = None;
            self.due.push_back(MachineEvent::LaunchOverdue);
        }
        if is_due(self.alarms.kill) {
            self.alarms.kill = None;
            self.carry_out(MachineEffect::Kill);
        }
        if is_due(self.alarms.ping) {
            self.alarms.ping = None;
            if let Some(id) = self.process.as_ref().map(|process| process.id) {
                self.spawn_job(|chromium| jobs::ping(chromium, id).boxed());
            }
        }
        let idle = self.hall.inner.browser.how.idle;
        if is_due(self.alarms.lonely.map(|since| since + idle)) {
            self.alarms.lonely = None;
            self.due.push_back(MachineEvent::Close(CloseReason::Idle));
        }
        let next = self.control.advance(self.begun.elapsed());
        self.give_turns(next);
        self.decline_overdue_prompts(now);
        if is_due(self.alarms.flush) {
            self.flush().await;
        }
    }

    /// Answers for the person what waited too long.
    pub(super) fn decline_overdue_prompts(&mut self, now: Instant) {
        let is_due = |alarm: Option<Instant>| alarm.is_some_and(|at| at <= now);
        let mut over = Vec::new();
        for (tab, questions) in &mut self.questions {
            if is_due(questions.dialog) {
                questions.dialog = None;
                over.push((*tab, jobs::UnansweredPrompt::Dialog));
            }
            if is_due(questions.auth) {
                questions.auth = None;
                over.push((*tab, jobs::UnansweredPrompt::Auth));
            }
        }
        for (tab, question) in over {
            self.spawn_job(|chromium| jobs::decline(chromium, tab, question).boxed());
        }
    }

    pub(super) fn pinged(&mut self, answer: &Result<(), BrowserError>) {
        match answer {
            Ok(()) => {
                self.alarms.ping = Some(Instant::now() + PING_EVERY);
                self.measure_window();
            }
            // Its end is told by itself.
            Err(BrowserError::Gone) => {}
            Err(_) => self.due.push_back(MachineEvent::Silent),
        }
    }

    pub(super) fn job_done(&mut self, done: JobOutcome) {
        // What a job's end means rests on what happened before.
        self.catch_up();
        match done {
            JobOutcome::Nothing => {}
            JobOutcome::Opened { shared, shows } => {
                if let Some(tab) = shows {
                    // One that is gone again is shown to nobody.
                    let _ = self.tabs.select(tab);
                }
                if let Some(tab) = shared
                    && self.machine.session().is_some()
                {
                    self.carry_out(MachineEffect::Share(Some(tab)));
                }
            }
            JobOutcome::Measured(viewport) => self.viewport = viewport,
            JobOutcome::Pinged(of, answer) => {
                if self.process.as_ref().map(|process| process.id) == Some(of) {
                    self.pinged(&answer);
                }
            }
            JobOutcome::Filmed(of, filmed) => {
                let is_present = self.process.as_ref().map(|process| process.id) == Some(of);
                let filmed = if is_present { filmed } else { Ok(None) };
                self.film.capture_changed(filmed, Instant::now());
            }
            JobOutcome::Typed(tab, waits, answer) => {
                if self.tabs.get(tab).is_ok() {
                    self.record_human_input();
                }
                self.report_input(waits, answer.map_err(typed_refused));
                if let Some(next) = self.typing.next(tab) {
                    self.run_input(tab, next);
                }
            }
        }
    }
}

fn typed_refused(error: BrowserError) -> Error {
    match error {
        // A page about a certificate takes no input.
        BrowserError::Refused(_) => Refusal::BrowserStale.into(),
        other => as_refusal(other),
    }
}
