//! The driver of a session: takes its messages up one at a time, and runs a turn for each.
//! There is one while there is something to do, and none else.

use std::time::Duration;

use guildhall_domain::{
    Error, Result,
    errors::FaultKind,
    ids::{SessionId, SessionTurnId},
    limits,
};
use guildhall_store::Tx;
use tokio::sync::watch;

use super::{
    live_sessions::DriverSignals,
    reload,
    turn_loop::TurnLoop,
    turn_rows::{self, BeginOutcome, TurnJob},
    turn_setup::TurnSetup,
};
use crate::Hall;

/// How long the store is given to take a write again that it refused.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a store that is broken is given before it is asked again.
const AFTER_FAULTS: Duration = Duration::from_secs(30);
/// Why a turn ended that could not be written.
const UNWRITTEN: &str = "what happened could not be written";
/// How often a turn is made ready anew because mode, model or effort changed meanwhile.
const READY_TRIES: usize = 5;

/// The store cannot take what a session has to write, now or later.
#[derive(Debug)]
pub(super) struct StoreUnavailable;

/// What writing for a session comes to.
pub(super) type WriteResult<T> = Result<T, StoreUnavailable>;

impl Hall {
    /// Sees to it that the session's next message is taken up, now or when its turn is over.
    pub(crate) fn wake_session(&self, id: SessionId) {
        if let Some(wants) = self.inner.live.wake(id) {
            let driver = SessionDriver {
                hall: self.clone(),
                id,
                has_left: false,
            };
            self.tasks()
                .spawn("session", self.now(), driver.drive(wants));
        }
    }

    /// Writes until the store takes it: what an agent did must not be lost to a full disk.
    ///
    /// # Errors
    /// [`StoreUnavailable`] for what trying again cannot mend.
    pub(super) async fn write_until_accepted<T: Send + 'static>(
        &self,
        job: impl Fn(&mut Tx<'_>) -> Result<T> + Clone + Send + 'static,
    ) -> WriteResult<T> {
        let mut again = tokio::time::interval(AGAIN);
        loop {
            again.tick().await;
            let error = match self.store().write(job.clone()).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            if !may_pass(&error) {
                tracing::error!(?error, "a session could not be written");
                return Err(StoreUnavailable);
            }
            tracing::warn!(?error, "a session could not be written; trying again");
        }
    }
}

/// Whether a write may succeed later.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::Fault(fault) => match fault.kind {
            FaultKind::StorageFull | FaultKind::StorageIo | FaultKind::Unavailable => true,
            FaultKind::AttachmentDamaged
            | FaultKind::Broken
            | FaultKind::FileIo
            | FaultKind::FileSave
            | FaultKind::StoreDamaged => false,
        },
        Error::Refusal(refusal) => matches!(refusal, guildhall_domain::Refusal::Overloaded),
        Error::Repeated(_) => false,
    }
}

/// The task of one session. Dropped before it left in order, by a panic, it ends the session's
/// turn and lets another one take over.
struct SessionDriver {
    hall: Hall,
    id: SessionId,
    has_left: bool,
}

impl Drop for SessionDriver {
    fn drop(&mut self) {
        if self.has_left {
            return;
        }
        let (hall, id) = (self.hall.clone(), self.id);
        hall.inner.live.remove(id);
        let tasks = hall.tasks().clone();
        let now = hall.now();
        tasks.spawn("session", now, async move {
            hall.abort_work(id, "its turn broke off on our side").await;
            hall.wake_session(id);
        });
    }
}

impl SessionDriver {
    async fn drive(mut self, mut wants: watch::Receiver<DriverSignals>) {
        let mut stopping = self.hall.tasks().stopping();
        loop {
            // A stop counts from before the message is taken up.
            let cancels = wants.borrow_and_update().cancels;
            let (id, hall, now) = (self.id, self.hall.clone(), self.hall.now());
            let next = tokio::select! {
                next = self.hall.write_until_accepted(move |tx| turn_rows::next(tx, &hall, id, now)) => next,
                () = is_true(&mut stopping) => break,
            };
            let work = async {
                match next {
                    Ok(Some(job)) => self.hall.run_message(job, &wants, cancels).await,
                    Ok(None) => return self.hall.inner.live.leave(id, &wants),
                    Err(StoreUnavailable) => self.hall.abort_work(id, UNWRITTEN).await,
                }
                false
            };
            // The server's end interrupts the turn; the next start says so.
            tokio::select! {
                has_left = work => if has_left { break },
                () = is_true(&mut stopping) => break,
            }
        }
        self.has_left = true;
    }
}

/// Waits for a flag; what it looked at is let go at once.
async fn is_true(flag: &mut watch::Receiver<bool>) {
    // An error means that the supervisor is gone, which ends the server as well.
    drop(flag.wait_for(|flag| *flag).await);
}

impl Hall {
    /// Runs the turn of one message, and lets its room hear of its end.
    async fn run_message(
        &self,
        job: TurnJob,
        wants: &watch::Receiver<DriverSignals>,
        cancels: u64,
    ) {
        let (id, is_of_room) = (job.session.id, job.message.room_turn.is_some());
        if self.run(job, wants, cancels).await.is_err() {
            self.abort_work(id, UNWRITTEN).await;
        }
        if is_of_room {
            self.wake_turns();
        }
    }

    /// Runs the turn of one message, from the agent's start to its end.
    async fn run(
        &self,
        job: TurnJob,
        wants: &watch::Receiver<DriverSignals>,
        cancels: u64,
    ) -> WriteResult<()> {
        let start = async {
            // While all agents are busy the session waits, for as long as that takes.
            let place = self.acquire_process_slot(job.session.agent_id).await;
            let limit = Duration::from_secs(limits::START_MAX_S);
            let stage = tokio::time::timeout(limit, self.set_up_turn(place, &job.session)).await;
            stage.unwrap_or_else(|_| Err(too_slow()))
        };
        let stage = tokio::select! {
            stage = start => stage,
            () = stopped(wants, cancels) => {
                let now = self.now();
                return self.write_until_accepted(move |tx| turn_rows::abandon(tx, &job, now)).await;
            }
        };
        match stage {
            Ok(stage) => self.begin(job, stage, wants, cancels).await,
            Err(why) => self.fail_start(job, why).await,
        }
    }

    /// Lets the turn begin under the mode that is in force, and follows it to its end.
    async fn begin(
        &self,
        job: TurnJob,
        mut stage: TurnSetup,
        wants: &watch::Receiver<DriverSignals>,
        cancels: u64,
    ) -> WriteResult<()> {
        let turn = Self::new_id(SessionTurnId::from_bytes);
        for _ in 0..READY_TRIES {
            let changes = wants.borrow().changes;
            stage.discard_early_messages().await;
            if stage.is_switched() {
                // What the agent switched to before the prompt stays where a person's word allows.
                self.agent_switched(&stage.process, job.session.id).await?;
                if let Err(why) = stage.prepare(self).await {
                    return self.fail_start(job, why).await;
                }
            }
            let (begun, native, applied) =
                (job.clone(), stage.native.clone(), stage.applied.clone());
            let now = self.now();
            let begun = self.write_until_accepted(move |tx| {
                turn_rows::begin(tx, &begun, turn, &native, &applied, now)
            });
            match begun.await? {
                BeginOutcome::Running(job) => {
                    let talk = TurnLoop::new(self.clone(), *job, turn, stage);
                    return talk.run(wants, cancels, changes).await;
                }
                BeginOutcome::Changed => {
                    if let Err(why) = stage.prepare(self).await {
                        return self.fail_start(job, why).await;
                    }
                }
                BeginOutcome::Displaced => return Ok(()),
                BeginOutcome::Over => {
                    let now = self.now();
                    return self
                        .write_until_accepted(move |tx| turn_rows::abandon(tx, &job, now))
                        .await;
                }
            }
        }
        let why = "its mode changed again and again before the prompt".to_owned();
        self.fail_start(job, why).await
    }

    async fn fail_start(&self, job: TurnJob, why: String) -> WriteResult<()> {
        let now = self.now();
        self.write_until_accepted(move |tx| turn_rows::start_failed(tx, &job, &why, now))
            .await
    }

    /// Ends whatever a session has at work, as soon as the store takes it, and the process of its
    /// agent: what it does now would be seen by nobody.
    async fn abort_work(&self, id: SessionId, why: &'static str) {
        let agent = self.store().read(move |db| Ok(reload(db, id)?.agent_id));
        match agent.await {
            Ok(agent) => self.inner.processes.stop(agent.value),
            Err(error) => tracing::error!(?error, "an agent could not be stopped"),
        }
        let mut again = tokio::time::interval(AFTER_FAULTS);
        loop {
            again.tick().await;
            let now = self.now();
            let given_up = self
                .store()
                .write(move |tx| turn_rows::break_off(tx, id, why, now));
            match given_up.await {
                Ok(withdrawn) => return self.answer_withdrawn(id, &withdrawn),
                Err(error) => tracing::error!(?error, "a session could not be given up"),
            }
        }
    }
}

fn too_slow() -> String {
    let seconds = limits::START_MAX_S;
    format!("the agent did not start within {seconds} seconds")
}

/// Waits until the turn is to be stopped or the session is over.
pub(super) async fn stopped(wants: &watch::Receiver<DriverSignals>, cancels: u64) {
    let mut wants = wants.clone();
    let stopped = wants.wait_for(|wants| wants.is_closed || wants.cancels > cancels);
    if stopped.await.is_err() {
        std::future::pending::<()>().await;
    }
}
