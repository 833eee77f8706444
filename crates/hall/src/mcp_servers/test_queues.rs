//! Whose turn it is: one test of an entry at a time, so that nobody starts its program over and
//! over; who comes meanwhile waits in line.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use guildhall_domain::{ids::AgentId, mcp_servers::ServerName};
use tokio::{sync::OwnedMutexGuard, time::timeout};

/// An agent, and the name of an entry as it is compared.
type TestKey = (AgentId, String);

/// The lines of entries that are being tested.
#[derive(Debug, Default)]
pub(crate) struct TestQueues {
    /// A std mutex: held for single look-ups and never over an await.
    known: Mutex<HashMap<TestKey, Weak<tokio::sync::Mutex<()>>>>,
}

/// The turn of one test; dropped, it is the next one's.
#[derive(Debug)]
pub(super) struct TestTurn {
    _turn: OwnedMutexGuard<()>,
}

impl TestQueues {
    /// Waits in the line of an entry; `None` when that took too long.
    pub(super) async fn turn(
        &self,
        agent: AgentId,
        name: &ServerName,
        within: Duration,
    ) -> Option<TestTurn> {
        let line = self.line((agent, name.folded()));
        let turn = timeout(within, line.lock_owned()).await.ok()?;
        Some(TestTurn { _turn: turn })
    }

    fn line(&self, entry: TestKey) -> Arc<tokio::sync::Mutex<()>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // A line in which nobody stands is forgotten.
        known.retain(|_, line| line.strong_count() > 0);
        let line = known.get(&entry).and_then(Weak::upgrade);
        let line = line.unwrap_or_default();
        known.insert(entry, Arc::downgrade(&line));
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_entry_is_tested_at_a_time_and_others_beside_it() {
        let (lines, agent) = (TestQueues::default(), AgentId::from_bytes([1; 16]));
        let name = |text| ServerName::parse(text).unwrap();
        let turn = |agent, text| {
            let (lines, name) = (&lines, name(text));
            async move { lines.turn(agent, &name, Duration::from_millis(20)).await }
        };
        let first = turn(agent, "files").await;
        assert!(first.is_some());
        assert!(turn(agent, "FILES").await.is_none());
        assert!(turn(agent, "other").await.is_some());
        assert!(turn(AgentId::from_bytes([2; 16]), "files").await.is_some());
        let (next, ()) = tokio::join!(turn(agent, "files"), async { drop(first) });
        assert!(next.is_some());
        drop(next);
        turn(agent, "last").await;
        assert_eq!(lines.known.lock().unwrap().len(), 1);
    }
}
