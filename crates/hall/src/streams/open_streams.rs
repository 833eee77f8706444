//! Open streams: how many there are, and how many one caller may hold.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use guildhall_domain::{Refusal, callers::Identity};
use tokio::sync::{Semaphore, SemaphorePermit};

/// How many streams may be open. Source: contract 1.11.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    /// All together.
    pub all: usize,
    /// One person's.
    pub per_human: usize,
    /// One agent's.
    pub per_agent: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            all: 5_000,
            per_human: 64,
            per_agent: 16,
        }
    }
}

/// Pages read at one moment; more streams than this wait for their turn, so that a crowd of
/// them never fills the store's queue.
const PAGES_AT_ONCE: usize = 64;

/// The streams that are open now.
#[derive(Debug)]
pub struct OpenStreams {
    limits: StreamLimits,
    pages: Semaphore,
    /// A std mutex: held for counting alone, never over an await.
    counts: Arc<Mutex<StreamCounts>>,
}

#[derive(Debug, Default)]
struct StreamCounts {
    all: usize,
    by_caller: HashMap<Identity, usize>,
}

/// One stream's place, given back when dropped.
#[derive(Debug)]
pub(super) struct StreamSlot {
    counts: Arc<Mutex<StreamCounts>>,
    caller: Identity,
}

impl OpenStreams {
    pub(crate) fn new(limits: StreamLimits) -> Self {
        Self {
            limits,
            pages: Semaphore::new(PAGES_AT_ONCE),
            counts: Arc::default(),
        }
    }

    /// How many streams are open.
    pub(crate) fn count(&self) -> usize {
        self.counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .all
    }

    /// Waits for the turn to read a page; `None` only if the gate were closed, which it never is.
    pub(super) async fn page_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.pages.acquire().await.ok()
    }

    /// Takes a place for one more stream of this caller.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`] when the server is full, [`Refusal::TooManyStreams`] when the
    /// caller is.
    pub(super) fn enter(&self, identity: Identity) -> Result<StreamSlot, Refusal> {
        let most = match identity {
            Identity::Owner | Identity::Person(_) => self.limits.per_human,
            Identity::Agent(_) => self.limits.per_agent,
        };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.all >= self.limits.all {
            return Err(Refusal::Overloaded);
        }
        let own = counts.by_caller.entry(identity).or_default();
        if *own >= most {
            return Err(Refusal::TooManyStreams);
        }
        *own += 1;
        counts.all += 1;
        Ok(StreamSlot {
            counts: Arc::clone(&self.counts),
            caller: identity,
        })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.all = counts.all.saturating_sub(1);
        if let Some(own) = counts.by_caller.get_mut(&self.caller) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                counts.by_caller.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::ids::{AccountId, AgentId};

    use super::*;

    #[test]
    fn each_caller_and_the_server_have_their_most() {
        let open = OpenStreams::new(StreamLimits {
            all: 3,
            per_human: 2,
            per_agent: 1,
        });
        let agent = |n| Identity::Agent(AgentId::from_bytes([n; 16]));
        let first = open.enter(Identity::Owner).unwrap();
        let _second = open.enter(Identity::Owner).unwrap();
        assert_eq!(
            open.enter(Identity::Owner).err(),
            Some(Refusal::TooManyStreams)
        );
        let _third = open.enter(agent(1)).unwrap();
        assert_eq!(open.enter(agent(2)).err(), Some(Refusal::Overloaded));
        drop(first);
        assert_eq!(open.count(), 2);
        assert_eq!(open.enter(agent(1)).err(), Some(Refusal::TooManyStreams));
        assert!(open.enter(agent(2)).is_ok());

        let open = OpenStreams::new(StreamLimits {
            all: 10,
            per_human: 1,
            per_agent: 1,
        });
        let person = |n| Identity::Person(AccountId::from_bytes([n; 16]));
        let _each = [Identity::Owner, person(1), person(2)].map(|who| open.enter(who).unwrap());
        let second = open.enter(person(1)).err();
        assert_eq!(
            second,
            Some(Refusal::TooManyStreams),
            "each person has its own"
        );
    }
}
