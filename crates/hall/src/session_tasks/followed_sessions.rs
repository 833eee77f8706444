//! The sessions whose tasks somebody cares for: what was read of each, and what was told of it.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use guildhall_domain::{
    ids::SessionId,
    limits,
    session_tasks::{Task, TranscriptDialect},
};
use guildhall_world::{
    agent_folders::AgentFolders,
    folder_watcher::{ChangedPaths, FolderWatcher},
    transcripts::{HeadCache, TranscriptFollower, find},
};

/// The followed sessions, bounded in number and bytes.
#[derive(Default)]
pub(crate) struct FollowedSessions {
    /// A std mutex: held for single look-ups.
    known: Mutex<FollowedById>,
    heads: HeadCache,
}

#[derive(Default)]
struct FollowedById {
    by_session: HashMap<SessionId, Arc<FollowedSession>>,
    uses: u64,
}

/// One followed session.
#[derive(Default)]
struct FollowedSession {
    used: AtomicU64,
    /// About how many bytes it takes.
    bytes: AtomicUsize,
    /// Where its transcript lies, once it was found. A std mutex: held for single look-ups.
    path: Mutex<Option<PathBuf>>,
    /// A std mutex: held while its transcript is read, on threads that may wait.
    reading: Mutex<TranscriptReader>,
    /// A std mutex: held for single comparisons.
    told: Mutex<PublishedTasks>,
}

#[derive(Default)]
struct TranscriptReader {
    follower: Option<TranscriptFollower>,
    /// The folder joined at the watcher.
    joined: Option<PathBuf>,
    /// Whether nobody follows it any more.
    is_dropped: bool,
}

#[derive(Default)]
struct PublishedTasks {
    /// `None` before anybody was told anything.
    tasks: Option<Vec<Task>>,
    has_notice: bool,
}

/// What there is to tell of a session.
pub(super) struct TaskUpdate {
    /// Whether its tasks are others than before.
    pub(super) is_changed: bool,
    /// Whether it must be said that tasks were dropped.
    pub(super) notice: bool,
}

/// What a transcript says.
pub(super) struct TranscriptTasks {
    pub(super) tasks: Vec<Task>,
    /// Whether it says anything about tasks.
    pub(super) has_operations: bool,
    pub(super) has_dropped: bool,
}

/// A look at a session's transcript, to be taken on a thread that may wait.
pub(super) struct TranscriptScan {
    pub(super) followed: Arc<FollowedSessions>,
    pub(super) watching: Arc<FolderWatcher>,
    pub(super) places: AgentFolders,
    pub(super) session: SessionId,
    /// What the transcript may be called.
    pub(super) names: Vec<String>,
    pub(super) dialects: Vec<TranscriptDialect>,
    /// Whether the session is followed even without a transcript.
    pub(super) is_ours: bool,
}

impl FollowedSessions {
    pub(super) fn heads(&self) -> &HeadCache {
        &self.heads
    }

    /// The followed sessions whose transcripts changed.
    pub(crate) fn changed(&self, changed: &ChangedPaths) -> Vec<SessionId> {
        let known = lock(&self.known);
        let is_touched = |follow: &FollowedSession| {
            let path = lock(&follow.path);
            path.as_deref()
                .is_some_and(|own| changed.any(|path| path == own))
        };
        let touched = known.by_session.iter();
        touched
            .filter(|(_, follow)| is_touched(follow))
            .map(|(session, _)| *session)
            .collect()
    }

    /// Takes note of what somebody was answered first; what follows is compared with it.
    pub(super) fn begin_published(
        &self,
        session: SessionId,
        tasks: &[Task],
        has_dropped: bool,
        watching: &FolderWatcher,
    ) {
        let Some(follow) = self.get(session) else {
            return;
        };
        let mut told = lock(&follow.told);
        if told.tasks.is_none() {
            told.tasks = Some(tasks.to_vec());
        }
        if has_dropped && !told.has_notice {
            // Whoever watches files tells it; asking changes nothing by itself.
            let path = lock(&follow.path).clone();
            path.into_iter()
                .for_each(|path| watching.record_change(path));
        }
    }

    /// What is to be told of a session whose tasks are these now.
    pub(super) fn changes_since_published(
        &self,
        session: SessionId,
        tasks: Vec<Task>,
        has_dropped: bool,
    ) -> TaskUpdate {
        let Some(follow) = self.get(session) else {
            return TaskUpdate {
                is_changed: false,
                notice: false,
            };
        };
        let mut told = lock(&follow.told);
        let before = told.tasks.as_deref().unwrap_or_default();
        let is_changed = before != tasks;
        told.tasks = Some(tasks);
        let notice = has_dropped && !told.has_notice;
        told.has_notice |= has_dropped;
        TaskUpdate { is_changed, notice }
    }

    fn get(&self, session: SessionId) -> Option<Arc<FollowedSession>> {
        let mut known = lock(&self.known);
        known.uses += 1;
        let follow = known.by_session.get(&session)?;
        follow.used.store(known.uses, Ordering::Relaxed);
        Some(Arc::clone(follow))
    }

    /// Follows a session; the ones not asked for longest make room.
    fn follow(&self, session: SessionId, watching: &FolderWatcher) -> Arc<FollowedSession> {
        let mut known = lock(&self.known);
        known.uses += 1;
        let uses = known.uses;
        let follow = Arc::clone(known.by_session.entry(session).or_default());
        follow.used.store(uses, Ordering::Relaxed);
        let dropped = known.make_room();
        drop(known);
        for follow in dropped {
            follow.drop_watch(watching);
        }
        follow
    }

    fn forget(&self, session: SessionId, watching: &FolderWatcher) {
        let follow = lock(&self.known).by_session.remove(&session);
        if let Some(follow) = follow {
            follow.drop_watch(watching);
        }
    }
}

impl FollowedById {
    /// Takes out what is over the bounds, but never what was used last.
    fn make_room(&mut self) -> Vec<Arc<FollowedSession>> {
        let mut dropped = Vec::new();
        loop {
            let follows = self.by_session.values();
            let bytes: usize = follows.map(|one| one.bytes.load(Ordering::Relaxed)).sum();
            let is_over = self.by_session.len() > limits::SESSIONS_FOLLOWED_MAX
                || bytes > limits::SESSIONS_FOLLOWED_BYTES_MAX;
            if !is_over || self.by_session.len() < 2 {
                return dropped;
            }
            let used = |follow: &FollowedSession| follow.used.load(Ordering::Relaxed);
            let oldest = self.by_session.iter().min_by_key(|(_, one)| used(one));
            let oldest = oldest.map(|(session, _)| *session);
            dropped.extend(oldest.and_then(|session| self.by_session.remove(&session)));
        }
    }
}

impl TranscriptScan {
    /// What the session's transcript says; `None` when there is none.
    pub(super) fn run(self) -> Option<TranscriptTasks> {
        let follow = match self.followed.get(self.session) {
            Some(known) => known,
            None if self.is_ours => self.followed.follow(self.session, &self.watching),
            None => {
                let follower = self.find()?;
                let follow = self.followed.follow(self.session, &self.watching);
                lock(&follow.reading).follower.get_or_insert(follower);
                follow
            }
        };
        let mut reading = lock(&follow.reading);
        let read = self.read(&follow, &mut reading);
        if read.is_none() && !self.is_ours {
            drop(reading);
            self.followed.forget(self.session, &self.watching);
        }
        read
    }

    fn find(&self) -> Option<TranscriptFollower> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        find(&self.places, &self.dialects, &names).map(TranscriptFollower::new)
    }

    fn read(
        &self,
        follow: &FollowedSession,
        reading: &mut TranscriptReader,
    ) -> Option<TranscriptTasks> {
        if reading.follower.is_none() {
            reading.follower = self.find();
        }
        let mut outcome = self.read_on(follow, reading);
        if is_missing(&outcome) {
            // It may have moved to another folder.
            reading.follower = self.find();
            outcome = self.read_on(follow, reading);
        }
        if let Err(error) = outcome {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(session = %self.session, %error, "a transcript could not be read");
            }
            return None;
        }
        let follower = reading.follower.as_mut()?;
        follow.bytes.store(follower.bytes(), Ordering::Relaxed);
        Some(TranscriptTasks {
            tasks: follower.tasks().to_vec(),
            has_operations: follower.has_operations(),
            has_dropped: follower.has_dropped(),
        })
    }

    /// Watches the transcript, then reads on in it, so that nothing is missed between.
    fn read_on(&self, follow: &FollowedSession, reading: &mut TranscriptReader) -> io::Result<()> {
        let Some(follower) = &mut reading.follower else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let path = follower.path();
        let folder = path.parent().map(Path::to_owned);
        if reading.joined != folder && !reading.is_dropped {
            let joined = folder.filter(|folder| self.watching.add_watch(folder));
            let before = std::mem::replace(&mut reading.joined, joined);
            before
                .iter()
                .for_each(|before| self.watching.remove_watch(before));
        }
        *lock(&follow.path) = Some(path);
        let read = follower.read_new_lines();
        if let Ok(read) = &read
            && read.is_anew
            && follower.skipped() > 0
        {
            let skipped = follower.skipped();
            tracing::debug!(session = %self.session, skipped, "lines could not be read");
        }
        if is_missing(&read) {
            reading.follower = None;
        }
        read.map(|_| ())
    }
}

impl FollowedSession {
    fn drop_watch(&self, watching: &FolderWatcher) {
        let mut reading = lock(&self.reading);
        reading.is_dropped = true;
        let joined = reading.joined.take();
        joined
            .iter()
            .for_each(|folder| watching.remove_watch(folder));
    }
}

fn is_missing<T>(outcome: &io::Result<T>) -> bool {
    matches!(outcome, Err(error) if error.kind() == io::ErrorKind::NotFound)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
