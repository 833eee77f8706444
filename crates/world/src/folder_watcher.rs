//! Watching folders: which of them had something written, made or removed in them.
//! One watcher for the whole server; it starts with the first folder, and what it hears is
//! gathered for a moment before anybody is woken.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use notify::{RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, NoCache, new_debouncer_opt};
use tokio::sync::Notify;

/// How long changes are gathered.
const GATHERED: Duration = Duration::from_millis(200);
/// Paths that are gathered; of more, everything counts as changed.
const PATHS_MAX: usize = 4_096;
/// Folders watched at once.
const FOLDERS_MAX: usize = 4_096;

/// The watcher.
#[derive(Default)]
pub struct FolderWatcher {
    /// A std mutex: adding a folder asks the kernel, which does not wait for anything.
    folders: Mutex<WatchedFolders>,
    heard: Arc<PendingChanges>,
}

#[derive(Default)]
struct WatchedFolders {
    watcher: Option<Debouncer<RecommendedWatcher, NoCache>>,
    /// How often each was added.
    counts: HashMap<PathBuf, usize>,
}

#[derive(Default)]
struct PendingChanges {
    /// A std mutex: held for single insertions.
    changed: Mutex<ChangedPaths>,
    wake: Notify,
}

/// What was written, made or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedPaths {
    paths: HashSet<PathBuf>,
    /// Whether there was more than could be told.
    is_everything: bool,
}

impl ChangedPaths {
    /// Whether anything that happened counts, by `counts`.
    pub fn any(&self, counts: impl Fn(&Path) -> bool) -> bool {
        self.is_everything || self.paths.iter().any(|path| counts(path))
    }
}

impl std::fmt::Debug for FolderWatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watching").finish_non_exhaustive()
    }
}

impl FolderWatcher {
    /// Watches what is directly in `folder`, an absolute path without links; answers whether it
    /// can be. Each success asks for one [`FolderWatcher::remove_watch`].
    pub fn add_watch(&self, folder: &Path) -> bool {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = folders.counts.get_mut(folder) {
            *count += 1;
            return true;
        }
        if folders.counts.len() >= FOLDERS_MAX {
            return false;
        }
        if folders.watcher.is_none() {
            folders.watcher = self.start();
        }
        let Some(watcher) = &mut folders.watcher else {
            return false;
        };
        if watcher.watch(folder, RecursiveMode::NonRecursive).is_err() {
            return false;
        }
        folders.counts.insert(folder.to_owned(), 1);
        true
    }

    /// Takes one joining back.
    pub fn remove_watch(&self, folder: &Path) {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = folders.counts.get_mut(folder) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            folders.counts.remove(folder);
            if let Some(watcher) = &mut folders.watcher {
                // A folder that is gone is no longer watched anyway.
                let _ = watcher.unwatch(folder);
            }
        }
    }

    /// Says that something may have happened to `path`.
    pub fn record_change(&self, path: PathBuf) {
        self.heard.note([path]);
    }

    /// Waits until something happened, and takes it. Nothing is lost when the wait is given up.
    pub async fn changed(&self) -> ChangedPaths {
        loop {
            let woken = self.heard.wake.notified();
            let changed = self.heard.take();
            if changed != ChangedPaths::default() {
                return changed;
            }
            woken.await;
        }
    }

    fn start(&self) -> Option<Debouncer<RecommendedWatcher, NoCache>> {
        let heard = Arc::clone(&self.heard);
        let hear = move |events: DebounceEventResult| match events {
            // Reading is an event as well, and here it would never end.
            Ok(events) => heard.note(
                events
                    .into_iter()
                    .filter(|event| !event.kind.is_access())
                    .flat_map(|event| event.event.paths),
            ),
            Err(_) => heard.note_everything(),
        };
        let config = notify::Config::default();
        new_debouncer_opt(GATHERED, None, hear, NoCache, config).ok()
    }
}

impl PendingChanges {
    fn note(&self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        for path in paths {
            if changed.paths.len() == PATHS_MAX {
                changed.is_everything = true;
                break;
            }
            changed.paths.insert(path);
        }
        if *changed != ChangedPaths::default() {
            self.wake.notify_one();
        }
    }

    fn note_everything(&self) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.is_everything = true;
        self.wake.notify_one();
    }

    fn take(&self) -> ChangedPaths {
        std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
