//! Holds: the gated requests that wait for a person's word, a bounded number a requester, and
//! the bell that wakes them. Nothing of it is durable: a request that is not held any more is
//! sent again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use guildhall_domain::{approvals::Requester, limits};
use tokio::sync::watch;

/// The requests that are held.
#[derive(Debug)]
pub(crate) struct HeldRequests {
    /// How many of each requester; a std mutex, held for one look-up and never over an await.
    held: Arc<Mutex<HashMap<Requester, usize>>>,
    /// Rings whenever approvals moved on. People decide rarely, so one bell serves all.
    bell: watch::Sender<()>,
}

impl Default for HeldRequests {
    fn default() -> Self {
        Self {
            held: Arc::default(),
            bell: watch::Sender::new(()),
        }
    }
}

impl HeldRequests {
    /// A place to be held in; `None` where the requester has as many as it may.
    pub(super) fn enter(&self, requester: Requester) -> Option<HoldSlot> {
        let mut held = lock(&self.held);
        let count = held.entry(requester).or_default();
        if *count >= limits::APPROVAL_HOLDS_PER_REQUESTER_MAX {
            return None;
        }
        *count += 1;
        Some(HoldSlot {
            held: Arc::clone(&self.held),
            requester,
        })
    }

    /// Hears of every step from now on.
    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.bell.subscribe()
    }

    /// How many requests wait for the bell.
    #[cfg(test)]
    pub(super) fn listeners(&self) -> usize {
        self.bell.receiver_count()
    }

    /// Wakes every request that is held, after a commit.
    pub(crate) fn wake_all(&self) {
        self.bell.send_replace(());
    }
}

/// One request that is held, until it is dropped.
#[derive(Debug)]
pub(super) struct HoldSlot {
    held: Arc<Mutex<HashMap<Requester, usize>>>,
    requester: Requester,
}

impl Drop for HoldSlot {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        if let Some(count) = held.get_mut(&self.requester) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.requester);
            }
        }
    }
}

fn lock(held: &Mutex<HashMap<Requester, usize>>) -> MutexGuard<'_, HashMap<Requester, usize>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requester_holds_as_many_as_it_may_and_leaves_room_as_they_end() {
        let holds = HeldRequests::default();
        let (one, other) = (
            Requester::from_bytes([1; 16]),
            Requester::from_bytes([2; 16]),
        );
        let enter = |whose| holds.enter(whose);
        let mut places: Vec<HoldSlot> = std::iter::from_fn(|| enter(one)).take(100).collect();
        assert_eq!(places.len(), limits::APPROVAL_HOLDS_PER_REQUESTER_MAX);
        assert!(enter(other).is_some(), "each has its own places");
        places.pop();
        assert!(enter(one).is_some(), "and leaves it at once again");
        drop(places);
        assert!(lock(&holds.held).is_empty(), "nothing is remembered");
    }
}
