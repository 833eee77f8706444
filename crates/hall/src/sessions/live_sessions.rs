//! Live sessions: which have a driver now, and what each of those has to hear.
//! What a driver must hear is a count that only rises, so that nothing is lost and nothing
//! queues up.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use guildhall_domain::ids::SessionId;
use tokio::sync::watch;

/// What a driver was told so far; each count rises when it is told again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DriverSignals {
    /// There may be something in the queue.
    pub(super) wakes: u64,
    /// The turn is to be stopped.
    pub(super) cancels: u64,
    /// Mode, model or effort may be others.
    pub(super) changes: u64,
    /// The session is over.
    pub(super) is_closed: bool,
}

/// The drivers at work.
#[derive(Default)]
pub(crate) struct LiveSessions {
    /// A std mutex: held for single look-ups and never over an await.
    drivers: Mutex<HashMap<SessionId, watch::Sender<DriverSignals>>>,
}

impl LiveSessions {
    /// Wakes the session's driver; answers what a new one listens to when there is none.
    pub(super) fn wake(&self, id: SessionId) -> Option<watch::Receiver<DriverSignals>> {
        let mut drivers = self.lock();
        if let Some(known) = drivers.get(&id) {
            known.send_modify(|wants| wants.wakes += 1);
            return None;
        }
        let (sender, receiver) = watch::channel(DriverSignals::default());
        drivers.insert(id, sender);
        Some(receiver)
    }

    /// Takes a driver off the list, unless it was told something it has not looked at.
    pub(super) fn leave(&self, id: SessionId, heard: &watch::Receiver<DriverSignals>) -> bool {
        let mut drivers = self.lock();
        if heard.has_changed().unwrap_or(false) {
            return false;
        }
        drivers.remove(&id);
        true
    }

    /// Takes a driver off the list that cannot leave by itself.
    pub(super) fn remove(&self, id: SessionId) {
        self.lock().remove(&id);
    }

    /// Asks the session's driver to stop its turn.
    pub(super) fn cancel(&self, id: SessionId) {
        self.tell(id, |wants| wants.cancels += 1);
    }

    /// Tells the session's driver that mode, model or effort may be others.
    pub(super) fn settings_changed(&self, id: SessionId) {
        self.tell(id, |wants| wants.changes += 1);
    }

    /// Tells the session's driver that the session is over.
    pub(crate) fn close(&self, id: SessionId) {
        self.tell(id, |wants| wants.is_closed = true);
    }

    fn tell(&self, id: SessionId, what: impl FnOnce(&mut DriverSignals)) {
        if let Some(driver) = self.lock().get(&id) {
            driver.send_modify(what);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, watch::Sender<DriverSignals>>> {
        self.drivers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_was_told_something_does_not_leave() {
        let live = LiveSessions::default();
        let id = SessionId::from_bytes([1; 16]);
        let mut heard = live.wake(id).unwrap();
        assert!(live.wake(id).is_none(), "a session has one driver");
        assert!(!live.leave(id, &heard), "it was woken meanwhile");
        heard.borrow_and_update();
        assert!(live.leave(id, &heard));
        assert!(live.wake(id).is_some());
    }
}
