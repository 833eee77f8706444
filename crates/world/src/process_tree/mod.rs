//! Process trees: which agent a process, and so a socket, belongs to, as the kernel tells.
//! An agent is everything below its keeper; what that allows is `hall::callers`.
//!
//! This is the second line, behind the enclosure: an enclosed agent cannot connect to the server
//! at all. Of one that can, a process may hide its descriptors or leave its tree; then nobody
//! knows whose a connection is, and it is in doubt.
//!
//! Costs next to nothing while no process runs below the server. Otherwise one search of `/proc`
//! answers for all connections that wait; it runs on a thread of its own, within a budget.

mod kill;
mod lost_guards;
mod processes;
mod socket_search;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use guildhall_domain::ids::AgentId;
use tokio::sync::oneshot;

pub(crate) use self::kill::{LeftoverProcesses, kill_below};
use self::{
    lost_guards::{GuardRecordFile, LostGuard, StartedGuard},
    processes::{Process, ProcessState, ProcessTable},
    socket_search::{SearchResult, search},
};

/// How many processes are remembered that held sockets of people.
const REMEMBERED_MAX: usize = 64;
/// How many processes are logged, each once, as long as they live: those beyond are not named.
const LOGGED_MAX: usize = 256;
/// How often sockets are searched for while keepers are being lost.
const SEARCHES_MAX: usize = 3;
/// How long the word on a keeper that has ended is waited for.
const EXPLAINED_TRIES: usize = 5;
const EXPLAINED_PAUSE: Duration = Duration::from_millis(2);
/// How long lies between two looks at whether anything lives that a lost keeper kept.
const LOST_CHECK_PAUSE: Duration = Duration::from_secs(1);

/// What everything below a keeper counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeOwner {
    /// This agent.
    Agent(AgentId),
    /// Nobody.
    Nobody,
    /// The local browser: a page, whoever drives it.
    Browser,
}

impl From<Option<AgentId>> for TreeOwner {
    fn from(agent: Option<AgentId>) -> Self {
        agent.map_or(Self::Nobody, Self::Agent)
    }
}

/// Whose a socket is, as far as the trees of agents go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketHolder {
    /// A process below the keeper of this agent.
    Agent(AgentId),
    /// A process of the local browser.
    Browser,
    /// A process below the server that belongs to no agent.
    Stray,
    /// A process that is no agent's; or one that cannot be looked into, where every agent since
    /// the computer started was kept from connecting.
    Outside,
    /// It may be an agent's: a process that cannot be looked into, one that a killed keeper may
    /// have kept, or one among more than can be searched.
    InDoubt {
        /// Whether the owner's word for a browser settles it: not where it may just as well be a
        /// process in the tree of an agent that runs.
        can_be_settled: bool,
    },
    /// No process at all, though each can be looked into: the socket is hidden, such as on its
    /// way from one process to another.
    Nobody,
}

impl SocketHolder {
    /// Nobody could look.
    const LOST: Self = Self::InDoubt {
        can_be_settled: false,
    };
}

/// A keeper that was entered.
#[derive(Clone, Debug)]
struct RegisteredGuard {
    entered: StartedGuard,
    whose: TreeOwner,
    /// By what all that it keeps is found, where that never hides.
    left: Option<LeftoverProcesses>,
    /// Whether what it keeps cannot connect to the server.
    is_enclosed: bool,
    /// Whether nobody waits for it any more.
    is_given_up: bool,
}

impl RegisteredGuard {
    /// Whether it is recorded: an agent's that is not enclosed.
    fn is_recorded(&self) -> bool {
        !self.is_enclosed && self.whose != TreeOwner::Browser
    }

    fn lost(&self) -> LostGuard {
        LostGuard {
            keeper: self.entered.clone(),
            left: self.left.clone(),
        }
    }
}

/// The keepers that run now. Cheap to clone; all clones share the list.
#[derive(Clone, Debug, Default)]
pub struct ProcessTrees {
    shared: Arc<ProcessTreesState>,
}

#[derive(Debug, Default)]
struct ProcessTreesState {
    // A std mutex: held for a few instructions and never over an await.
    known: Mutex<GuardRegistry>,
    // The same.
    questions: Mutex<PendingLookups>,
    /// When the last look began at whether anything lives that a lost keeper kept.
    // The same.
    lost_checked: Mutex<Option<Instant>>,
    /// Held while the record is written, so that the last one written is the newest.
    record: Mutex<Option<GuardRecordFile>>,
}

#[derive(Debug, Default)]
struct GuardRegistry {
    keepers: BTreeMap<u32, RegisteredGuard>,
    lost: Vec<LostGuard>,
    /// Whether an agent that was not enclosed has run since the computer started.
    was_open: bool,
    likely: VecDeque<Process>,
    logged: BTreeSet<Process>,
}

/// Connections that wait to be known.
#[derive(Debug, Default)]
struct PendingLookups {
    waiting: Vec<(u64, oneshot::Sender<SocketHolder>)>,
    is_searching: bool,
}

/// A keeper's place in the list; dropped, it ends as soon as the keeper has ended.
#[derive(Debug)]
#[must_use = "the keeper leaves the list when this is dropped"]
pub struct GuardRegistration {
    trees: ProcessTrees,
    keeper: u32,
}

impl GuardRegistration {
    /// Says that the keeper was killed by somebody else. Where what it kept is not enclosed, all
    /// that it may have kept is in doubt from now on, until none of it lives.
    pub(crate) fn is_lost(&self) {
        let mut known = self.trees.known();
        let keeper = known.keepers.get(&self.keeper);
        if let Some(keeper) = keeper.filter(|keeper| !keeper.is_enclosed) {
            let lost = keeper.lost();
            known.lost.push(lost);
        }
    }

    /// Says that nobody waits for the keeper any more: once it has ended, all that it kept has.
    pub(crate) fn has_ended(&self) {
        if let Some(keeper) = self.trees.known().keepers.get_mut(&self.keeper) {
            keeper.is_given_up = true;
        }
        self.trees.forget_the_dead();
    }
}

impl Drop for GuardRegistration {
    fn drop(&mut self) {
        self.has_ended();
    }
}

impl ProcessTrees {
    /// Trees with what is recorded in the data folder of agents that ran before, and where agents
    /// will be recorded.
    pub fn recorded_in(data_dir: &Path) -> Self {
        let file = GuardRecordFile::in_folder(data_dir);
        let (was_open, keepers) = match file.read() {
            Ok(None) => (false, Vec::new()),
            Ok(Some(record)) => (true, record.keepers),
            Err(error) => {
                tracing::warn!(%error, "which agents ran without an enclosure cannot be read");
                (true, vec![StartedGuard::unknown()])
            }
        };
        let lost = keepers
            .into_iter()
            .map(|keeper| LostGuard { keeper, left: None });
        let known = GuardRegistry {
            lost: lost.collect(),
            was_open,
            ..GuardRegistry::default()
        };
        Self {
            shared: Arc::new(ProcessTreesState {
                known: Mutex::new(known),
                record: Mutex::new(Some(file)),
                ..ProcessTreesState::default()
            }),
        }
    }

    fn known(&self) -> MutexGuard<'_, GuardRegistry> {
        let known = self.shared.known.lock();
        known.unwrap_or_else(PoisonError::into_inner)
    }

    fn questions(&self) -> MutexGuard<'_, PendingLookups> {
        let questions = self.shared.questions.lock();
        questions.unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on everything below `keeper`, which runs, is `whose`: an agent or `None` too.
    /// The keeper itself is ours: see [`crate::process_guard`]. `is_enclosed` says that what it keeps
    /// cannot connect to the server; `mark` is an entry of its environment (`NAME=value`) that
    /// nothing else has. Waits for the disk where it can connect.
    ///
    /// # Errors
    /// Where that cannot be recorded.
    pub fn register(
        &self,
        keeper: u32,
        whose: impl Into<TreeOwner>,
        is_enclosed: bool,
        mark: Option<&str>,
    ) -> io::Result<GuardRegistration> {
        let whose = whose.into();
        // An agent may hide, so what is found of it says nothing.
        let mark = mark.filter(|_| whose == TreeOwner::Browser);
        let entry = RegisteredGuard {
            entered: StartedGuard::now(keeper),
            whose,
            left: mark.map(|mark| LeftoverProcesses {
                group: keeper,
                mark: mark.to_owned(),
            }),
            is_enclosed,
            is_given_up: false,
        };
        let is_recorded = entry.is_recorded();
        {
            let mut known = self.known();
            known.was_open |= is_recorded;
            // One that had this number before has ended.
            known.keepers.insert(keeper, entry);
        }
        let kept = GuardRegistration {
            trees: self.clone(),
            keeper,
        };
        if is_recorded {
            self.record()?;
        }
        Ok(kept)
    }

    /// Records the agents that are not enclosed.
    fn record(&self) -> io::Result<()> {
        let file = self.shared.record.lock();
        let file = file.unwrap_or_else(PoisonError::into_inner);
        let Some(file) = file.as_ref() else {
            return Ok(());
        };
        let keepers = {
            let known = self.known();
            let running = known.keepers.values().filter(|keeper| keeper.is_recorded());
            let running = running.map(|keeper| keeper.entered.clone());
            let lost = known.lost.iter().filter(|lost| lost.left.is_none());
            let mut all: Vec<StartedGuard> = running.collect();
            all.extend(lost.map(|lost| lost.keeper.clone()));
            all
        };
        file.write(keepers)
    }

    /// Takes those off the list that were given up and have ended: until then what is below them
    /// is still theirs.
    fn forget_the_dead(&self) {
        let mut is_record_old = false;
        self.known().keepers.retain(|_, keeper| {
            let stays = !keeper.is_given_up || keeper.entered.process.lives();
            is_record_old |= !stays && keeper.is_recorded();
            stays
        });
        if is_record_old && let Err(error) = self.record() {
            // Too much stays recorded, so that more is in doubt after the next start.
            tracing::warn!(%error, "the end of an agent could not be recorded");
        }
    }

    /// Whether no keeper runs.
    pub fn is_empty(&self) -> bool {
        self.forget_the_dead();
        self.known().keepers.is_empty()
    }

    /// Whether what a killed keeper kept may live on.
    pub fn is_one_lost(&self) -> bool {
        self.forget_the_lost();
        !self.known().lost.is_empty()
    }

    /// Forgets lost keepers of which nothing can be alive, beside the questions: nobody waits while
    /// all processes are read once more.
    fn check_the_lost(&self) {
        if self.known().lost.is_empty() {
            return;
        }
        let mut checked = self
            .shared
            .lost_checked
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if checked.is_some_and(|at| at.elapsed() < LOST_CHECK_PAUSE) {
            return;
        }
        *checked = Some(Instant::now());
        drop(checked);
        let trees = self.clone();
        let thread = thread::Builder::new().name("lost-keepers".to_owned());
        if let Err(error) = thread.spawn(move || trees.forget_the_lost()) {
            tracing::warn!(%error, "lost keepers are not looked after");
        }
    }

    /// Forgets lost keepers of which nothing can be alive.
    fn forget_the_lost(&self) {
        let (lost, keepers) = {
            let known = self.known();
            (known.lost.clone(), known.keepers.clone())
        };
        if lost.is_empty() {
            return;
        }
        // What forks all the time may be missed by every reading of the table.
        let Some(table) = ProcessTable::read(|| true).filter(ProcessTable::is_settled) else {
            return;
        };
        let root = std::process::id();
        let below = socket_search::below(&table, root, &keepers);
        let is_known = |process: Process| {
            process.pid == root
                || keepers.contains_key(&process.pid)
                || below.contains_key(&process)
        };
        let gone: Vec<Process> = lost
            .iter()
            .filter(|lost| !lost.may_live(&table, is_known))
            .map(|lost| lost.keeper.process)
            .collect();
        if gone.is_empty() {
            return;
        }
        self.known()
            .lost
            .retain(|lost| !gone.contains(&lost.keeper.process));
        if let Err(error) = self.record() {
            tracing::warn!(%error, "the end of an agent could not be recorded");
        }
    }

    /// Whose the socket of this inode is.
    ///
    /// Takes no time while the server has no children; else some milliseconds, and at most some
    /// 50 whatever agents do.
    ///
    /// Source: contract 1.4, rows 1 and 1b, "in doubt".
    pub async fn holder(&self, inode: u64) -> SocketHolder {
        if self.is_quiet() {
            return SocketHolder::Outside;
        }
        let (answer, answered) = oneshot::channel();
        let is_first = {
            let mut questions = self.questions();
            questions.waiting.push((inode, answer));
            !std::mem::replace(&mut questions.is_searching, true)
        };
        if is_first {
            let trees = self.clone();
            // Of its own: the runtime's may all be busy with the files of agents.
            let thread = thread::Builder::new().name("process-trees".to_owned());
            if let Err(error) = thread.spawn(move || trees.answer_all()) {
                tracing::warn!(%error, "nobody can be looked up");
                *self.questions() = PendingLookups::default();
            }
        }
        answered.await.unwrap_or(SocketHolder::LOST)
    }

    /// Whether who holds a socket may change from one request to the next: an agent that can
    /// connect may hand its sockets on, and take them back.
    pub fn may_be_open(&self) -> bool {
        self.search_known().may_be_hidden()
    }

    /// Whether there is nobody who could be an agent.
    fn is_quiet(&self) -> bool {
        self.forget_the_dead();
        let known = self.known();
        let is_quiet = known.keepers.is_empty() && known.lost.is_empty() && !known.was_open;
        drop(known);
        is_quiet && !has_children()
    }

    /// Answers everybody who waits, until nobody does.
    fn answer_all(&self) {
        /// Lets the next question begin anew, also after a panic.
        struct LookupTurn<'a>(&'a ProcessTrees);
        impl Drop for LookupTurn<'_> {
            fn drop(&mut self) {
                *self.0.questions() = PendingLookups::default();
            }
        }
        let end = LookupTurn(self);
        loop {
            let asked = {
                let mut questions = self.questions();
                let asked = std::mem::take(&mut questions.waiting);
                if asked.is_empty() {
                    questions.is_searching = false;
                    std::mem::forget(end);
                    return;
                }
                asked
            };
            let inodes = asked.iter().map(|(inode, _)| *inode).collect();
            let holders = self.search(&inodes);
            for (inode, answer) in asked {
                let holder = holders.get(&inode).copied();
                // An error means that the connection ended meanwhile.
                let _ = answer.send(holder.unwrap_or(SocketHolder::LOST));
            }
            self.check_the_lost();
        }
    }

    /// Says whose each of these sockets is.
    fn search(&self, inodes: &BTreeSet<u64>) -> BTreeMap<u64, SocketHolder> {
        self.forget_the_dead();
        let root = std::process::id();
        for _ in 0..SEARCHES_MAX {
            let before = self.settled();
            let found = search(&before, root, inodes);
            // A keeper that was lost meanwhile leaves processes that may have been looked for in
            // the wrong place.
            if before.is_lost_alike(&self.search_known()) {
                self.note(&found);
                return found.holders;
            }
        }
        BTreeMap::new()
    }

    /// What a search has to know. Waits a moment for the word on keepers that have just ended.
    fn settled(&self) -> socket_search::SearchContext {
        let is_explained = |known: &socket_search::SearchContext| {
            let mut keepers = known.keepers.values();
            keepers.all(|it| it.is_enclosed || it.entered.process.state().is_some())
        };
        for _ in 0..EXPLAINED_TRIES {
            let known = self.search_known();
            if is_explained(&known) {
                return known;
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "no event tells of another's child"
            )]
            thread::sleep(EXPLAINED_PAUSE);
        }
        self.search_known()
    }

    /// What is known now. Keepers that have ended or are stopped, and whose end nobody has
    /// explained yet, count as lost.
    fn search_known(&self) -> socket_search::SearchContext {
        let known = self.known();
        let mut lost = known.lost.clone();
        for keeper in known.keepers.values().filter(|keeper| !keeper.is_enclosed) {
            if !is_sound(keeper.entered.process) {
                lost.push(keeper.lost());
            }
        }
        socket_search::SearchContext {
            keepers: known.keepers.clone(),
            lost,
            was_open: known.was_open,
            likely: known.likely.clone(),
        }
    }

    /// Remembers who held sockets, and logs once who leaves others in doubt.
    fn note(&self, found: &SearchResult) {
        let mut known = self.known();
        for process in &found.people {
            known.likely.retain(|known| known != process);
            known.likely.push_front(*process);
        }
        known.likely.truncate(REMEMBERED_MAX);
        if found
            .suspects
            .iter()
            .all(|suspect| known.logged.contains(suspect))
        {
            return;
        }
        known.logged.retain(|process| process.lives());
        for process in &found.suspects {
            if known.logged.len() >= LOGGED_MAX || !known.logged.insert(*process) {
                continue;
            }
            tracing::warn!(
                pid = process.pid,
                name = process.name(),
                "this process cannot be told from an agent's: connections that may be its own are \
                 nobody's"
            );
        }
    }
}

/// Whether a keeper runs, or has ended by itself, with all that it kept.
fn is_sound(keeper: Process) -> bool {
    match keeper.state() {
        Some(ProcessState::Running) => true,
        Some(ProcessState::Stopped) | None => false,
        Some(ProcessState::Ended) => has_exited(keeper),
    }
}

/// Whether a child that nobody has waited for ended by itself.
#[cfg(target_os = "linux")]
fn has_exited(child: Process) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    let Some(pid) = i32::try_from(child.pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), look).is_ok_and(|status| status.is_some_and(|it| it.exited()))
}

#[cfg(not(target_os = "linux"))]
fn has_exited(_: Process) -> bool {
    false
}

/// Whether this process has children, ended ones that nobody waited for included.
#[cfg(target_os = "linux")]
fn has_children() -> bool {
    use rustix::{
        io::Errno,
        process::{WaitId, WaitIdOptions, waitid},
    };

    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

#[cfg(not(target_os = "linux"))]
fn has_children() -> bool {
    false
}

/// Whether a process has ended, and nobody has waited for it.
pub(crate) fn has_ended(pid: u32) -> bool {
    Process::with_number(pid).and_then(Process::state) == Some(ProcessState::Ended)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "../process_tree_tests.rs"]
mod tests;
