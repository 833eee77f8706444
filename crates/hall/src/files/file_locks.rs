//! The gate: who may change which file, and which names, at a time. Strictly first come, first
//! served.
//!
//! One save holds the locks of its file from its decision to its commit, so that rows follow one
//! another as the effects did. The gate for names it holds only while it touches the disk, never
//! over a transaction.
//!
//! Source: contract 6.6, "Gate".

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use guildhall_domain::{Refusal, Result, limits};
use tokio::{
    sync::{OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, watch},
    time::timeout,
};

use crate::Hall;

/// What two saves of one file have in common: the file itself, whatever its name, and the path,
/// whatever file is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum LockKey {
    /// Device and inode.
    Inode(u64, u64),
    /// The canonical path.
    Path(String),
}

type FileLock = Arc<tokio::sync::Mutex<()>>;

/// The gate of one installation.
#[derive(Debug, Default)]
pub struct FileLocks {
    /// Shared by what writes files, alone for what changes names. Its waiters are served in
    /// order, so that one who wants it alone holds back those who come later.
    names: Arc<RwLock<()>>,
    /// A std mutex: held for single look-ups and never over an await.
    files: Mutex<HashMap<LockKey, FileLock>>,
    waiting: AtomicUsize,
}

/// The locks of some files, until dropped.
#[derive(Debug)]
pub(crate) struct FileLockGuard {
    /// They are given back by being dropped.
    _turns: Vec<OwnedMutexGuard<()>>,
}

/// A place among those who wait.
struct WaiterCount<'a>(&'a AtomicUsize);

impl Drop for WaiterCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl FileLocks {
    /// Waits for the locks of everything in `keys`, in sorted order.
    ///
    /// # Errors
    /// [`Refusal::FileGateFull`], [`Refusal::FileGateTimeout`], [`Refusal::ShuttingDown`].
    pub(super) async fn lock(
        &self,
        mut keys: Vec<LockKey>,
        stopping: watch::Receiver<bool>,
    ) -> Result<FileLockGuard, Refusal> {
        keys.sort();
        keys.dedup();
        debug_assert!(keys.len() <= limits::GATE_KEYS_MAX);
        let all = async {
            let mut turns = Vec::with_capacity(keys.len());
            for key in keys {
                turns.push(self.lock_of(key).lock_owned().await);
            }
            FileLockGuard { _turns: turns }
        };
        self.wait(all, stopping).await
    }

    /// Waits until no name is being changed; a save that was let in goes on also while the server
    /// stops.
    ///
    /// # Errors
    /// As [`FileLocks::lock`].
    pub(super) async fn shared(&self) -> Result<OwnedRwLockReadGuard<()>, Refusal> {
        self.in_time(Arc::clone(&self.names).read_owned()).await
    }

    /// Waits until no file is being written and no name changed: for what changes names.
    ///
    /// # Errors
    /// [`Refusal::FileGateFull`], [`Refusal::FileGateTimeout`], [`Refusal::ShuttingDown`].
    pub async fn exclusive(
        &self,
        stopping: watch::Receiver<bool>,
    ) -> Result<OwnedRwLockWriteGuard<()>, Refusal> {
        self.wait(Arc::clone(&self.names).write_owned(), stopping)
            .await
    }

    async fn wait<T>(
        &self,
        turn: impl Future<Output = T>,
        mut stopping: watch::Receiver<bool>,
    ) -> Result<T, Refusal> {
        if *stopping.borrow() {
            return Err(Refusal::ShuttingDown);
        }
        tokio::select! {
            biased;
            turn = self.in_time(turn) => turn,
            _ = stopping.wait_for(|stop| *stop) => Err(Refusal::ShuttingDown),
        }
    }

    async fn in_time<T>(&self, turn: impl Future<Output = T>) -> Result<T, Refusal> {
        let _place = self.enter()?;
        let patience = Duration::from_secs(limits::GATE_WAIT_MAX_S);
        let turn = timeout(patience, turn).await;
        turn.map_err(|_| Refusal::FileGateTimeout)
    }

    fn enter(&self) -> Result<WaiterCount<'_>, Refusal> {
        let place = WaiterCount(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::SeqCst) >= limits::GATE_QUEUE_MAX {
            return Err(Refusal::FileGateFull);
        }
        Ok(place)
    }

    fn lock_of(&self, key: LockKey) -> FileLock {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(files.entry(key).or_default())
    }
}

impl Hall {
    /// Holds back saves of the file at `path`, its path without links: for what tells by the
    /// file's identity whether it was replaced. A save gives it another one, and writes down in
    /// the end alone that it was a save.
    ///
    /// # Errors
    /// [`Refusal::FileGateFull`], [`Refusal::FileGateTimeout`], [`Refusal::ShuttingDown`].
    pub(crate) async fn lock_file(&self, path: &str) -> Result<FileLockGuard> {
        let keys = vec![LockKey::Path(path.to_owned())];
        Ok(self.inner.gate.lock(keys, self.tasks().stopping()).await?)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    fn path(path: &str) -> LockKey {
        LockKey::Path(path.to_owned())
    }

    fn running() -> (watch::Sender<bool>, watch::Receiver<bool>) {
        watch::channel(false)
    }

    #[tokio::test]
    async fn two_names_of_one_file_collide_and_two_files_do_not() {
        let gate = FileLocks::default();
        let (_run, on) = running();
        let of = |name: &str, ino| vec![path(name), LockKey::Inode(1, ino)];
        let first = gate.lock(of("/a", 7), on.clone()).await.unwrap();
        let mut link = Box::pin(gate.lock(of("/b", 7), on.clone()));
        let mut other = Box::pin(gate.lock(of("/a", 8), on.clone()));
        assert!(poll!(&mut link).is_pending());
        assert!(poll!(&mut other).is_pending());
        gate.lock(of("/c", 9), on.clone()).await.unwrap();
        drop(first);
        assert!(poll!(&mut link).is_ready());
        assert!(poll!(&mut other).is_ready());
    }

    #[tokio::test]
    async fn a_change_of_names_waits_for_saves_and_holds_back_those_that_come_later() {
        let gate = FileLocks::default();
        let (_run, on) = running();
        let (one, two) = (gate.shared().await, gate.shared().await);
        let mut alone = Box::pin(gate.exclusive(on.clone()));
        assert!(poll!(&mut alone).is_pending());
        let mut later = Box::pin(gate.shared());
        assert!(poll!(&mut later).is_pending());
        drop(one.unwrap());
        assert!(poll!(&mut alone).is_pending());
        drop(two.unwrap());
        let held = alone.await.unwrap();
        assert!(poll!(&mut later).is_pending());
        drop(held);
        later.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_half_a_minute_nor_behind_more_than_may() {
        let gate = FileLocks::default();
        let (_run, on) = running();
        let _held = gate.lock(vec![path("/a")], on.clone()).await.unwrap();
        let waiters: Vec<_> = (0..limits::GATE_QUEUE_MAX)
            .map(|_| gate.lock(vec![path("/a")], on.clone()))
            .collect();
        let mut waiters: Vec<_> = waiters.into_iter().map(Box::pin).collect();
        for waiter in &mut waiters {
            assert!(poll!(waiter).is_pending());
        }
        let one_more = gate.lock(vec![path("/b")], on.clone()).await;
        assert_eq!(one_more.unwrap_err(), Refusal::FileGateFull);
        let begun = tokio::time::Instant::now();
        assert_eq!(
            waiters.remove(0).await.unwrap_err(),
            Refusal::FileGateTimeout
        );
        assert_eq!(begun.elapsed().as_secs(), limits::GATE_WAIT_MAX_S);
        drop(waiters);
        gate.lock(vec![path("/b")], on).await.unwrap();
    }

    #[tokio::test]
    async fn a_server_that_stops_lets_nobody_in_and_sends_those_away_who_wait() {
        let gate = FileLocks::default();
        let (run, on) = running();
        let held = gate.lock(vec![path("/a")], on.clone()).await.unwrap();
        let mut waiter = Box::pin(gate.lock(vec![path("/a")], on.clone()));
        assert!(poll!(&mut waiter).is_pending());
        run.send(true).unwrap();
        assert_eq!(waiter.await.unwrap_err(), Refusal::ShuttingDown);
        let later = gate.lock(vec![path("/b")], on).await;
        assert_eq!(later.unwrap_err(), Refusal::ShuttingDown);
        drop(held);
    }
}
