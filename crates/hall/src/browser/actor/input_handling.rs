//! People's steps, on their way into a tab. Source: contract 7.7.

use futures_util::FutureExt;
use guildhall_domain::{
    Error, Refusal, Result,
    browser::{InputStep, InputSteps, Viewport},
    ids::{BrowserConnectionId, TabId},
    limits,
};

use super::Actor;
use crate::browser::{
    input_queue::{InputWaiter, QueuedInput},
    jobs,
    screencast::{ViewerId, ViewerUpdate},
};

impl Actor {
    pub(super) fn leave(&mut self, viewer: ViewerId) {
        if let Some((tab, steps)) = self.cinema.leave(viewer) {
            self.release_held(tab, &steps);
        }
    }

    /// Lets go of what somebody held down who is gone.
    pub(super) fn release_held(&mut self, tab: TabId, steps: &[InputStep]) {
        let everywhere = Viewport {
            width: u32::MAX,
            height: u32::MAX,
            scale: 1.0,
        };
        for some in steps.chunks(*limits::BROWSER_STEPS.end()) {
            if let Ok(steps) = InputSteps::checked(some.to_vec(), everywhere) {
                let waits = InputWaiter::Nobody;
                self.queue_input(tab, QueuedInput { steps, waits });
            }
        }
    }

    pub(super) fn queue_input(&mut self, tab: TabId, typed: QueuedInput) {
        self.record_human_input();
        match self.typing.add(tab, typed) {
            Ok(Some(now)) => self.run_input(tab, now),
            Ok(None) => {}
            Err((waits, error)) => self.report_input(waits, Err(error)),
        }
    }

    pub(super) fn run_input(&mut self, tab: TabId, typed: QueuedInput) {
        let QueuedInput { steps, waits } = typed;
        match &self.process {
            Some(process) => {
                let chromium = process.chromium.clone();
                self.jobs
                    .push(jobs::input(chromium, tab, steps, waits).boxed());
            }
            None => self.report_input(waits, Err(Refusal::BrowserNotConnected.into())),
        }
    }

    pub(super) fn report_input(&self, waits: InputWaiter, answer: Result<()>) {
        match waits {
            InputWaiter::Nobody => {}
            InputWaiter::Route(reply) => {
                // Who asked may be gone.
                let _ = reply.send(answer);
            }
            InputWaiter::Viewer(viewer, id) => {
                let refused = match answer {
                    Ok(()) => None,
                    Err(Error::Refusal(refusal)) => Some(refusal),
                    Err(_) => Some(Refusal::BrowserTimeout),
                };
                self.cinema
                    .send(viewer, ViewerUpdate::Typed { id, refused });
            }
        }
    }

    /// The person did something.
    pub(super) fn record_human_input(&mut self) {
        let next = self.control.human_input(self.begun.elapsed());
        self.give_turns(next);
    }

    pub(super) fn require_may_type(
        &self,
        tab: TabId,
        connection: Option<BrowserConnectionId>,
    ) -> Result<(), Refusal> {
        self.tabs.get(tab)?;
        let present = self.machine.connected()?;
        if connection != Some(present) {
            return Err(Refusal::BrowserStale);
        }
        if self.is_window() {
            return Err(Refusal::BrowserWrongMode);
        }
        Ok(())
    }

    pub(super) fn viewer_input(
        &mut self,
        viewer: ViewerId,
        (id, view): (u32, u32),
        steps: Vec<InputStep>,
    ) {
        let waits = InputWaiter::Viewer(viewer, id);
        let checked = self.cinema.tab_of(viewer, view).and_then(|tab| {
            self.require_may_type(tab, self.machine.connection())?;
            Ok((tab, InputSteps::checked(steps, self.viewport)?))
        });
        match checked {
            Ok((tab, steps)) => {
                self.cinema.record_input(viewer, steps.all());
                self.queue_input(tab, QueuedInput { steps, waits });
            }
            Err(refusal) => self.report_input(waits, Err(refusal.into())),
        }
    }
}
