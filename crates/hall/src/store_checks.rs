//! Store checks: the background job that checks the store after a bad end and once a day, and
//! keeps what is known of damage for the next start.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use guildhall_domain::{Fault, Timestamp, errors::FaultKind, limits};
use guildhall_store::CheckDepth;
use guildhall_world::store_state::StoreState;
use tokio::sync::watch;

use crate::Hall;

/// How often the job looks whether a check is due.
const PERIOD: Duration = Duration::from_secs(10 * 60);
/// How often the newest event is noted, so that a store that ends before it is noticed.
const NOTE_EVERY: Duration = Duration::from_secs(5);

/// What is known of the store beside it.
#[derive(Debug)]
pub(crate) struct StoreHealth {
    /// A std mutex: held for a change and the writing of a small file, never over an await.
    state: Mutex<StoreState>,
    /// Turns false once the check has passed that the last run left to do.
    is_check_due: watch::Sender<bool>,
}

/// What the last run left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckDue {
    /// Nothing; the next check comes in its time.
    InTime,
    /// The last run ended badly.
    Now,
    /// The last run noticed damage.
    WholeNow,
}

impl StoreHealth {
    /// Notes that the store is open, whose newest event is `newest_seq`; `loss` is what its
    /// write-ahead log showed. Answers what the last run left to do.
    pub(crate) fn open(
        data_dir: &Path,
        now: Timestamp,
        newest_seq: u64,
        loss: Option<String>,
    ) -> (Self, CheckDue) {
        let known = StoreState::read(data_dir).unwrap_or(StoreState {
            checked_at_ms: now.as_millis(),
            ..StoreState::default()
        });
        let due = match &known.damage {
            Some(_) => CheckDue::WholeNow,
            None if known.is_open => CheckDue::Now,
            None => CheckDue::InTime,
        };
        let loss = loss.or_else(|| {
            (newest_seq < known.newest_seq).then(|| {
                format!(
                    "its newest event is {newest_seq}, and {} was acknowledged",
                    known.newest_seq
                )
            })
        });
        let record = Self {
            state: Mutex::new(known),
            is_check_due: watch::Sender::new(due != CheckDue::InTime || loss.is_some()),
        };
        record.change(data_dir, |state| {
            state.is_open = true;
            // What is missing is told once: the next start takes the store as it is.
            state.newest_seq = newest_seq;
            if state.damage.is_none() {
                state.damage = loss.map(|why| format!("acknowledged changes are missing: {why}"));
            }
        });
        (record, due)
    }

    pub(crate) fn state(&self) -> StoreState {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn change(&self, data_dir: &Path, change: impl FnOnce(&mut StoreState)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.clone();
        change(&mut state);
        if *state == before {
            return;
        }
        if let Err(error) = state.write(data_dir) {
            tracing::warn!(%error, "what is known of the store could not be kept");
        }
    }
}

impl Hall {
    /// Notes that the server ends in good order, so that the next start checks nothing.
    pub fn record_clean_shutdown(&self) {
        let damage = self.store().damage().borrow().clone();
        let newest_seq = *self.store().head().borrow();
        self.update_health(|state| {
            state.is_open = false;
            state.newest_seq = newest_seq;
            state.damage = damage;
        });
    }

    /// Why nothing is written any more, if that is so.
    ///
    /// # Errors
    /// A fault of kind `StoreDamaged`.
    pub fn require_undamaged_store(&self) -> Result<(), Fault> {
        match self.store().damage().borrow().as_ref() {
            None => Ok(()),
            Some(why) => Err(Fault::new(
                FaultKind::StoreDamaged,
                "reading the store",
                why.clone(),
            )),
        }
    }

    /// Waits until the check has passed that the last run left to do, if it left one.
    pub(crate) async fn store_was_checked(&self) {
        let mut is_check_due = self.inner.store_record.is_check_due.subscribe();
        // An error would mean that the record is gone, and the server with it.
        let _ = is_check_due.wait_for(|due| !due).await;
    }

    /// What is known of the store beside it.
    pub(crate) fn store_state(&self) -> StoreState {
        self.inner.store_record.state()
    }

    pub(crate) fn update_health(&self, change: impl FnOnce(&mut StoreState)) {
        self.inner.store_record.change(&self.inner.data_dir, change);
    }
}

/// Starts the job; damage that the last run noticed counts on from here.
pub(crate) fn start(hall: &Hall, due: CheckDue) {
    if let Some(why) = hall.inner.store_record.state().damage {
        hall.store().notice_damage(&why);
    }
    let job = hall.clone();
    hall.tasks()
        .spawn("store checks", hall.now(), check_when_due(job, due));
    let (watching, mut stopping) = (hall.clone(), hall.tasks().stopping());
    hall.tasks().spawn("store damage", hall.now(), async move {
        let mut damage = watching.store().damage();
        let mut period = tokio::time::interval(NOTE_EVERY);
        loop {
            let why = damage.borrow_and_update().clone();
            // Committed and synced, so that only damage can take it away.
            let newest_seq = *watching.store().head().borrow();
            watching.update_health(|state| {
                state.damage = why;
                state.newest_seq = newest_seq;
            });
            tokio::select! {
                _ = period.tick() => {}
                // An error would mean that the store is gone.
                Ok(()) = damage.changed() => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
        }
    });
}

async fn check_when_due(hall: Hall, mut due: CheckDue) {
    let mut stopping = hall.tasks().stopping();
    let mut period = tokio::time::interval(PERIOD);
    loop {
        tokio::select! {
            _ = period.tick() => {}
            _ = stopping.wait_for(|stop| *stop) => return,
        }
        let next = hall
            .inner
            .store_record
            .state()
            .checked_at()
            .plus_seconds(limits::DATA_CHECK_S);
        if due == CheckDue::InTime && hall.now() < next {
            continue;
        }
        let how = match due {
            CheckDue::InTime | CheckDue::Now => CheckDepth::Quick,
            CheckDue::WholeNow => CheckDepth::Whole,
        };
        let checked = tokio::select! {
            checked = hall.store().check(how) => checked,
            _ = stopping.wait_for(|stop| *stop) => return,
        };
        match checked {
            Ok(()) => {
                if due == CheckDue::WholeNow {
                    tracing::warn!("the store was damaged and is whole now; it is written again");
                    hall.store().forget_damage();
                }
                hall.inner.store_record.is_check_due.send_replace(false);
                let now = hall.now();
                hall.update_health(|state| state.checked_at_ms = now.as_millis());
            }
            Err(fault) if fault.kind == FaultKind::StoreDamaged => {}
            Err(fault) => {
                tracing::error!(error = ?fault, "the store could not be checked");
                continue;
            }
        }
        due = CheckDue::InTime;
    }
}
