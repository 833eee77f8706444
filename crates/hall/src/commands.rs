//! Commands: what can be typed in a folder, kept until something changes there.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use guildhall_domain::{
    Refusal, Result, Timestamp,
    callers::{AnyCaller, Gate},
    commands::{self as rules, AgentCommand, CommandListing, SlashCommand},
    events::Event,
    ids::SessionId,
    limits,
};
use guildhall_store::ReadSnapshot;
use guildhall_world::{
    agent_folders::AgentFolders,
    clock::Clock,
    command_files::{CommandScan, WatchedPaths},
    folder_watcher::{ChangedPaths, FolderWatcher},
};

use crate::{Hall, visibility};

/// Which commands are asked for.
#[derive(Clone, Debug, Default)]
pub struct CommandsQuery {
    /// The working folder; without one, the user's own commands alone.
    pub cwd: Option<String>,
    /// Only what agents of this runtime report; absent is every runtime.
    pub runtime: Option<String>,
    /// Whether to look now, whatever is kept.
    pub refresh: bool,
}

/// The commands of a folder.
#[derive(Clone, Debug)]
pub struct Commands {
    /// What there is, shared with what is kept.
    pub listing: Arc<CommandListing>,
    /// When the look began that found it.
    pub last_scanned: Timestamp,
}

impl Hall {
    /// What can be typed in a folder: the command files of project and user, and what live agents
    /// there report.
    ///
    /// # Errors
    /// [`Refusal::Validation`] for a folder that is no absolute path; then, of its folder,
    /// [`Refusal::OwnerOnly`], [`Refusal::OutsideBoundary`], `NotFound`,
    /// [`Refusal::NotADirectory`].
    ///
    /// Source: contract 3.9.
    pub async fn commands(
        &self,
        by: &AnyCaller,
        ask: CommandsQuery,
    ) -> Result<ReadSnapshot<Commands>> {
        let by = *by.caller();
        let path = match &ask.cwd {
            Some(cwd) => Some(self.absolute(cwd)?),
            None => None,
        };
        let is_asked = path.is_some();
        let reach = self
            .store()
            .read(move |db| {
                is_asked
                    .then(|| visibility::file_scope(db, &by))
                    .transpose()
            })
            .await?;
        let seq = reach.seq;
        let folder = match (path, reach.value) {
            (Some(path), Some(reach)) => {
                let find = self.with_files(move |confined, _| confined.folder(&reach, &path));
                Some(PathBuf::from(find.await?))
            }
            (Some(_) | None, _) => None,
        };
        let mut commands = match self.inner.commands.fresh(&folder, self.now()) {
            Some(fresh) if !ask.refresh => fresh,
            Some(_) | None => {
                let look = FolderScan::new(self, folder.clone(), ask.refresh);
                self.with_files(move |_, _| Ok(look.run())).await?
            }
        };
        if let Some(folder) = &folder {
            let reported = self.inner.commands.reported(folder, ask.runtime.as_deref());
            if !reported.is_empty() {
                commands.listing = Arc::new(CommandListing {
                    commands: rules::with_reported(&commands.listing.commands, reported),
                    warnings: commands.listing.warnings.clone(),
                });
            }
        }
        Ok(ReadSnapshot {
            value: commands,
            seq,
        })
    }

    /// Takes over what an agent of `runtime` reports for the folder `cwd`, an absolute path
    /// without links, and tells it in `session` when it is news. Kept in memory alone.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn record_agent_commands(
        &self,
        session: SessionId,
        runtime: &str,
        cwd: &str,
        commands: Vec<AgentCommand>,
    ) -> Result<()> {
        if !self.inner.commands.record_report(runtime, cwd, &commands) {
            return Ok(());
        }
        let now = self.now();
        let event = Event::CommandsChanged {
            session_id: session,
            runtime: runtime.to_owned(),
            cwd: cwd.to_owned(),
        };
        self.store()
            .write(move |tx| tx.append(now, None, &event).map(|_| ()))
            .await
    }

    /// Forgets what agents of `runtime` report for the folder `cwd`: none of them lives any more.
    pub fn forget_agent_commands(&self, runtime: &str, cwd: &str) {
        self.inner.commands.record_report(runtime, cwd, &[]);
    }

    /// The absolute path that a caller means by `path`, where `~` is home.
    fn absolute(&self, path: &str) -> Result<String, Refusal> {
        let home = self.inner.places.home.as_deref().and_then(Path::to_str);
        let absolute = match (path.strip_prefix('~'), home) {
            (Some(""), Some(home)) => home.to_owned(),
            (Some(rest), Some(home)) if rest.starts_with('/') => format!("{home}{rest}"),
            (Some(_) | None, _) => path.to_owned(),
        };
        if !absolute.starts_with('/') {
            return Err(Refusal::field("cwd", "must be an absolute path"));
        }
        if absolute.chars().count() > limits::CWD_CHARS_MAX {
            let most = limits::CWD_CHARS_MAX;
            return Err(Refusal::field(
                "cwd",
                format!("must have at most {most} characters"),
            ));
        }
        Ok(absolute)
    }
}

/// What is kept about commands.
#[derive(Default)]
pub(crate) struct CommandCache {
    /// A std mutex: held for single look-ups.
    folders: Mutex<CachedFolders>,
    /// Tells looks and asks apart in time.
    tickets: AtomicU64,
    /// By folder and runtime. A std mutex: held for single look-ups.
    reported: Mutex<BTreeMap<(PathBuf, String), Vec<SlashCommand>>>,
}

#[derive(Default)]
struct CachedFolders {
    /// `None` is the user's own commands alone.
    by_path: HashMap<Option<PathBuf>, Arc<CachedFolder>>,
    uses: u64,
}

/// What is kept about one folder.
#[derive(Default)]
struct CachedFolder {
    used: AtomicU64,
    /// Held while somebody looks, on a thread that may wait; others then take what it found.
    looking: Mutex<()>,
    /// A std mutex: held for single look-ups.
    state: Mutex<FolderState>,
}

#[derive(Default)]
struct FolderState {
    found: Option<ScannedCommands>,
    watched: WatchedPaths,
    /// Folders joined at the watcher.
    joined: Vec<PathBuf>,
    /// Whether something changed since the look began.
    is_stale: bool,
    /// Whether nothing is kept about this folder any more.
    is_dropped: bool,
}

#[derive(Clone)]
struct ScannedCommands {
    commands: Commands,
    ticket: u64,
}

impl CommandCache {
    /// What is kept about a folder, while it holds.
    fn fresh(&self, folder: &Option<PathBuf>, now: Timestamp) -> Option<Commands> {
        let slot = {
            let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            folders.uses += 1;
            let slot = folders.by_path.get(folder)?;
            slot.used.store(folders.uses, Ordering::Relaxed);
            Arc::clone(slot)
        };
        slot.fresh(now)
    }

    /// The slot of a folder; the one not asked for longest makes room for a new one.
    fn slot(&self, folder: &Option<PathBuf>, watching: &FolderWatcher) -> Arc<CachedFolder> {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = folders.by_path.get(folder) {
            return Arc::clone(slot);
        }
        if folders.by_path.len() >= limits::COMMAND_FOLDERS_KEPT_MAX {
            let used = |slot: &CachedFolder| slot.used.load(Ordering::Relaxed);
            let oldest = folders.by_path.iter().min_by_key(|(_, slot)| used(slot));
            let oldest = oldest.map(|(path, _)| path.clone());
            if let Some(slot) = oldest.and_then(|path| folders.by_path.remove(&path)) {
                slot.drop_watch(watching);
            }
        }
        folders.uses += 1;
        let slot = Arc::new(CachedFolder::default());
        slot.used.store(folders.uses, Ordering::Relaxed);
        folders.by_path.insert(folder.clone(), Arc::clone(&slot));
        slot
    }

    /// Marks what no longer holds.
    pub(crate) fn invalidate(&self, changed: &ChangedPaths) {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        for slot in folders.by_path.values() {
            let mut state = slot.state();
            let is_touched = changed.any(|path| state.watched.holds(path));
            state.is_stale |= is_touched;
        }
    }

    /// What live agents report for a folder.
    fn reported(&self, folder: &Path, runtime: Option<&str>) -> Vec<SlashCommand> {
        let reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let is_asked = |kind: &str| runtime.is_none_or(|runtime| runtime == kind);
        reported
            .iter()
            .filter(|((path, kind), _)| path == folder && is_asked(kind))
            .flat_map(|(_, commands)| commands.iter().cloned())
            .collect()
    }

    /// Takes over a report; answers whether it is news.
    fn record_report(&self, runtime: &str, cwd: &str, commands: &[AgentCommand]) -> bool {
        let commands = commands.iter().take(limits::COMMANDS_REPORTED_MAX);
        let commands: Vec<SlashCommand> = commands.map(SlashCommand::from).collect();
        let key = (PathBuf::from(cwd), runtime.to_owned());
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if commands.is_empty() {
            return reported.remove(&key).is_some();
        }
        if reported.len() >= limits::COMMAND_FOLDERS_KEPT_MAX && !reported.contains_key(&key) {
            reported.pop_first();
        }
        let before = reported.insert(key, commands.clone());
        before.is_none_or(|before| before != commands)
    }
}

impl CachedFolder {
    fn state(&self) -> std::sync::MutexGuard<'_, FolderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(&self, now: Timestamp) -> Option<Commands> {
        let state = self.state();
        let commands = &state.found.as_ref()?.commands;
        let ends = commands
            .last_scanned
            .plus_seconds(limits::COMMANDS_CACHE_MAX_S);
        (!state.is_stale && now < ends).then(|| commands.clone())
    }

    /// Watches these places instead of those before, and holds what happens there from now on
    /// against the look that follows.
    fn watch(&self, watched: WatchedPaths, watching: &FolderWatcher) {
        let folders = watched.to_watch().into_iter();
        let joined = folders.filter(|folder| watching.add_watch(folder));
        let joined: Vec<PathBuf> = joined.map(Path::to_owned).collect();
        let mut state = self.state();
        let before = std::mem::replace(&mut state.joined, joined);
        state.watched = watched;
        state.is_stale = false;
        let leaving = match state.is_dropped {
            true => std::mem::take(&mut state.joined),
            false => Vec::new(),
        };
        drop(state);
        for folder in before.into_iter().chain(leaving) {
            watching.remove_watch(&folder);
        }
    }

    fn drop_watch(&self, watching: &FolderWatcher) {
        let mut state = self.state();
        state.is_dropped = true;
        let joined = std::mem::take(&mut state.joined);
        drop(state);
        for folder in joined {
            watching.remove_watch(&folder);
        }
    }
}

/// A look at the files of a folder, to be taken on a thread that may wait.
struct FolderScan {
    kept: Arc<CommandCache>,
    watching: Arc<FolderWatcher>,
    clock: Clock,
    places: AgentFolders,
    data_dir: PathBuf,
    folder: Option<PathBuf>,
    is_refresh: bool,
    /// When it was asked for.
    ticket: u64,
}

impl FolderScan {
    fn new(hall: &Hall, folder: Option<PathBuf>, is_refresh: bool) -> Self {
        let kept = Arc::clone(&hall.inner.commands);
        Self {
            ticket: kept.tickets.fetch_add(1, Ordering::SeqCst),
            kept,
            watching: Arc::clone(&hall.inner.watching),
            clock: hall.inner.clock.clone(),
            places: hall.inner.places.clone(),
            data_dir: hall.inner.data_dir.clone(),
            folder,
            is_refresh,
        }
    }

    fn run(self) -> Commands {
        let slot = self.kept.slot(&self.folder, &self.watching);
        let _alone = slot.looking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = self.found_since(&slot) {
            return found;
        }
        let ticket = self.kept.tickets.fetch_add(1, Ordering::SeqCst);
        let shunned = self.data_dir.canonicalize().unwrap_or(self.data_dir);
        let scan = CommandScan {
            cwd: self.folder.as_deref(),
            home: self.places.home.as_deref(),
            shunned: &shunned,
        };
        slot.watch(scan.watched(), &self.watching);
        let last_scanned = self.clock.now();
        let commands = Commands {
            listing: Arc::new(scan.run().listing),
            last_scanned,
        };
        slot.state().found = Some(ScannedCommands {
            commands: commands.clone(),
            ticket,
        });
        commands
    }

    /// What another look found that began after this one was asked for.
    fn found_since(&self, slot: &CachedFolder) -> Option<Commands> {
        let found = slot.state().found.clone()?;
        if found.ticket > self.ticket {
            return Some(found.commands);
        }
        slot.fresh(self.clock.now()).filter(|_| !self.is_refresh)
    }
}
