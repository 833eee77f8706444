//! Process trees: which agent a process, and so a socket, belongs to, as the kernel tells.
//! An agent is everything below its keeper; what that allows is `hall::callers`.
//!
//! Costs next to nothing while no process runs below the server; else it reads `/proc` once or a
//! few times a connection.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use guildhall_domain::ids::AgentId;
#[cfg(target_os = "linux")]
use rustix::{
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
    },
};

/// How often a tree that changes while it is read is read again.
const ROUNDS_MAX: usize = 16;

/// What everything below a keeper counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This agent.
    Agent(AgentId),
    /// Nobody.
    Nobody,
    /// The local browser: a page, whoever drives it.
    Browser,
}

impl From<Option<AgentId>> for Whose {
    fn from(agent: Option<AgentId>) -> Self {
        agent.map_or(Self::Nobody, Self::Agent)
    }
}

/// Whose a socket is, as far as the trees of agents go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A process below the keeper of this agent.
    Agent(AgentId),
    /// A process of the local browser.
    Browser,
    /// A process below the server that belongs to no agent.
    Stray,
    /// No process below the server.
    Outside {
        /// Whether a process below the server may hold it all the same: one whose descriptors
        /// cannot be read, or one among others that come and go too fast.
        is_in_doubt: bool,
    },
    /// No process at all, though each can be looked into: the socket is hidden, such as on its
    /// way from one process to another.
    Nobody,
}

/// The keepers that run now. Cheap to clone; all clones share the list.
#[derive(Clone, Debug, Default)]
pub struct ProcessTrees {
    // A std mutex: held for a look-up or a copy and never over an await.
    known: Arc<Mutex<Known>>,
    /// Whether a keeper was killed by somebody else, so that what it kept may live on unknown.
    is_one_lost: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Known {
    keepers: BTreeMap<u32, Whose>,
    /// Those of them that nobody waits for any more, with their start times.
    given_up: BTreeMap<u32, u64>,
    /// What killed keepers of browsers left behind, until it is gone.
    left: Vec<Left>,
}

/// What the killed keeper of a browser left behind. Chromium stays in its keeper's group but for
/// the handlers of its crashes, which leave it with the mark they were started with.
#[derive(Debug)]
struct Left {
    group: u32,
    mark: String,
}

impl Left {
    /// Whether any of it lives.
    fn lives(&self) -> bool {
        // Where there is no `/proc` nobody is in doubt either.
        numbers().any(|pid| {
            let is_of_group = group_of(pid) == Some(self.group);
            (is_of_group || carries(pid, &self.mark))
                && !has_ended(Path::new(&format!("/proc/{pid}/fd")))
        })
    }
}

/// A keeper's place in the list; dropped, it ends as soon as the keeper has ended.
#[derive(Debug)]
#[must_use = "the keeper leaves the list when this is dropped"]
pub struct Kept {
    trees: ProcessTrees,
    keeper: Seen,
}

impl Kept {
    /// Says that the keeper was killed by somebody else. What it kept may have left every tree,
    /// so from now on each holder outside of them is in doubt: until the server starts again, and
    /// of a browser with a `mark`, which never hides, until its group and all that carry the mark
    /// are gone.
    pub fn is_lost(&self, mark: Option<&str>) {
        let (group, _) = self.keeper;
        let mut known = self.trees.known();
        match (known.keepers.get(&group), mark) {
            (Some(Whose::Browser), Some(mark)) => known.left.push(Left {
                group,
                mark: mark.to_owned(),
            }),
            _ => self.trees.is_one_lost.store(true, Ordering::Release),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let (keeper, start) = self.keeper;
        let mut known = self.trees.known();
        known.given_up.insert(keeper, start);
        known.forget_the_dead();
    }
}

impl Known {
    /// Takes those off the list that were given up and have ended: until then what is below
    /// them is still theirs.
    fn forget_the_dead(&mut self) {
        let keepers = &mut self.keepers;
        self.given_up.retain(|&keeper, &mut start| {
            let lives = lives((keeper, start));
            if !lives {
                keepers.remove(&keeper);
            }
            lives
        });
    }
}

/// Whether a process has not ended.
fn lives((pid, start): Seen) -> bool {
    let is_known = parent_and_start(pid).is_some_and(|(_, now)| now == start);
    is_known && !has_ended(Path::new(&format!("/proc/{pid}/fd")))
}

impl ProcessTrees {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keepers(&self) -> BTreeMap<u32, Whose> {
        let mut known = self.known();
        known.forget_the_dead();
        known.keepers.clone()
    }

    /// From now on everything below `keeper`, which runs, is `whose`: an agent or `None` too.
    /// The keeper itself is ours: see [`crate::keeper`].
    pub fn enter(&self, keeper: u32, whose: impl Into<Whose>) -> Kept {
        let start = parent_and_start(keeper).map_or(0, |(_, start)| start);
        let mut known = self.known();
        // One that had this number before has ended.
        known.given_up.remove(&keeper);
        known.keepers.insert(keeper, whose.into());
        drop(known);
        Kept {
            trees: self.clone(),
            keeper: (keeper, start),
        }
    }

    /// Whether no keeper runs.
    pub fn is_empty(&self) -> bool {
        self.keepers().is_empty()
    }

    /// Whether a keeper was killed by somebody else, see [`Kept::is_lost`].
    pub fn is_one_lost(&self) -> bool {
        let mut known = self.known();
        known.left.retain(Left::lives);
        !known.left.is_empty() || self.is_one_lost.load(Ordering::Acquire)
    }

    /// Whose the socket of this inode is.
    ///
    /// Takes no time while the server has no children; else some milliseconds on a computer with
    /// hundreds of processes, and never waits.
    ///
    /// Source: contract 1.4, rows 1 and 1b, "in doubt".
    pub fn holder(&self, inode: u64) -> Holder {
        let keepers = self.keepers();
        let holder = if keepers.is_empty() && !has_children() {
            Holder::Outside { is_in_doubt: false }
        } else {
            search(&keepers, std::process::id(), inode)
        };
        match holder {
            Holder::Outside { is_in_doubt } => Holder::Outside {
                is_in_doubt: is_in_doubt || self.is_one_lost(),
            },
            Holder::Agent(_) | Holder::Browser | Holder::Stray | Holder::Nobody => holder,
        }
    }
}

/// Whether this process has children, ended ones that nobody waited for included.
#[cfg(target_os = "linux")]
fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

#[cfg(not(target_os = "linux"))]
fn has_children() -> bool {
    false
}

/// A process of the moment it was seen in: its number and start time, which no other shares.
type Seen = (u32, u64);

fn search(keepers: &BTreeMap<u32, Whose>, root: u32, inode: u64) -> Holder {
    let socket = format!("socket:[{inode}]");
    let mut looked_at = BTreeSet::<Seen>::new();
    let mut unreadable = BTreeSet::<Seen>::new();
    for _ in 0..ROUNDS_MAX {
        let table = Table::read();
        let mut is_settled = true;
        let mut below = BTreeSet::new();
        for (process, holder) in table.below(root, keepers) {
            below.insert(process);
            if !looked_at.insert(process) {
                continue;
            }
            is_settled = false;
            match look(process.0, &socket) {
                Look::Holds => return holder,
                Look::HoldsNot => {}
                Look::Unreadable => {
                    unreadable.insert(process);
                }
                // It may have handed the socket on to one that was looked at.
                Look::Changed => looked_at.clear(),
            }
        }
        if is_settled {
            // Who ended since cannot hold anything.
            let may_be_below = unreadable.iter().any(|process| below.contains(process));
            // Without anybody below nobody can hide it.
            let may_hide = !keepers.is_empty() || !below.is_empty();
            if !may_be_below && may_hide && !is_held_elsewhere(&table, &below, keepers, &socket) {
                return Holder::Nobody;
            }
            return Holder::Outside {
                is_in_doubt: may_be_below,
            };
        }
    }
    Holder::Outside { is_in_doubt: true }
}

/// Whether a process outside of every tree holds the socket, or may hold it because it cannot be
/// looked into, as a forwarding `sshd` cannot.
fn is_held_elsewhere(
    table: &Table,
    below: &BTreeSet<Seen>,
    keepers: &BTreeMap<u32, Whose>,
    socket: &str,
) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let others = table.children.values().flatten();
    others
        .filter(|process| !below.contains(process) && !keepers.contains_key(&process.0))
        .any(|&(pid, _)| match look(pid, socket) {
            Look::Holds => true,
            Look::Unreadable => user_of(pid) == Some(own),
            Look::HoldsNot | Look::Changed => false,
        })
}

/// What a look into one process showed.
enum Look {
    Holds,
    HoldsNot,
    Unreadable,
    /// It, or one of its threads, ended while it was looked into.
    Changed,
}

/// Looks for the socket among the descriptors of every thread: each may have its own, and the
/// first may have ended before the others.
fn look(pid: u32, socket: &str) -> Look {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Look::Changed;
    };
    let mut found = Look::HoldsNot;
    for thread in threads {
        let holds = thread.and_then(|thread| holds(&thread.path().join("fd"), socket));
        match holds {
            Ok(true) => return Look::Holds,
            Ok(false) => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                found = Look::Unreadable;
            }
            Err(_) if matches!(found, Look::Unreadable) => {}
            Err(_) => found = Look::Changed,
        }
    }
    found
}

/// Whether the socket is in this list of descriptors.
fn holds(descriptors: &Path, socket: &str) -> io::Result<bool> {
    let entries = match fs::read_dir(descriptors) {
        // A thread that ended and still has a number has no descriptors.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && has_ended(descriptors) => {
            return Ok(false);
        }
        entries => entries?,
    };
    for entry in entries {
        // A descriptor may be closed while the list is read.
        let target = entry.and_then(|entry| fs::read_link(entry.path()));
        if target.is_ok_and(|target| target.as_os_str() == socket) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the thread that has these descriptors is a zombie (proc(5), field 3).
pub(crate) fn has_ended(descriptors: &Path) -> bool {
    let stat = fs::read_to_string(descriptors.with_file_name("stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    matches!(state, Some('Z' | 'X'))
}

/// The effective user of a process (proc(5), `/proc/pid/status`).
fn user_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Who is whose child, at one moment.
struct Table {
    children: BTreeMap<u32, Vec<Seen>>,
}

impl Table {
    fn read() -> Self {
        let mut children = BTreeMap::<u32, Vec<Seen>>::new();
        for pid in numbers() {
            // One that ended meanwhile is no process any more.
            if let Some((parent, start)) = parent_and_start(pid) {
                children.entry(parent).or_default().push((pid, start));
            }
        }
        Self { children }
    }

    /// Every process below `root` and below the keepers, which are left out, with the agent of
    /// the nearest keeper above it.
    fn below(&self, root: u32, keepers: &BTreeMap<u32, Whose>) -> Vec<(Seen, Holder)> {
        let by = |whose: &Whose| match whose {
            Whose::Agent(agent) => Holder::Agent(*agent),
            Whose::Nobody => Holder::Stray,
            Whose::Browser => Holder::Browser,
        };
        let mut found = Vec::new();
        let mut passed: BTreeSet<u32> = keepers.keys().copied().chain([root]).collect();
        // A keeper is a place to begin by itself: systems may hide it from the list.
        let mut above: Vec<(u32, Holder)> = keepers
            .iter()
            .map(|(keeper, agent)| (*keeper, by(agent)))
            .chain([(root, Holder::Stray)])
            .collect();
        while let Some((parent, holder)) = above.pop() {
            for &process in self.children.get(&parent).into_iter().flatten() {
                // A number used again while the list was read could make a circle.
                if !passed.insert(process.0) {
                    continue;
                }
                found.push((process, holder));
                above.push((process.0, holder));
            }
        }
        found
    }
}

/// The numbers of all processes.
fn numbers() -> impl Iterator<Item = u32> {
    // Without `/proc` nothing is known, and then nobody can be looked up either.
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A process's group (proc(5), `/proc/pid/stat`, field 5).
fn group_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    fields.nth(2)?.parse().ok()
}

/// A process's parent and start time (proc(5), `/proc/pid/stat`, fields 4 and 22).
fn parent_and_start(pid: u32) -> Option<(u32, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, the last bracket closes it.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some((parent, start))
}

/// Kills every process below `root`, whatever its group, as they are now; answers how many.
///
/// Who forks meanwhile is for the next call.
pub(crate) fn kill_below(root: u32) -> usize {
    let below = Table::read().below(root, &BTreeMap::new());
    for (process, _) in &below {
        kill(*process);
    }
    below.len()
}

/// Kills every process of this group, as they are now.
pub(crate) fn kill_group(group: u32) {
    let members = numbers().filter(|pid| group_of(*pid) == Some(group));
    for pid in members {
        if let Some((_, start)) = parent_and_start(pid) {
            kill((pid, start));
        }
    }
}

/// Kills every process that was started with exactly this entry (`NAME=value`) in its
/// environment, until there is none.
pub(crate) fn kill_carrying(entry: &str) {
    for _ in 0..ROUNDS_MAX {
        let table = Table::read();
        let carriers = table
            .children
            .into_values()
            .flatten()
            .filter(|(pid, _)| *pid != std::process::id() && carries(*pid, entry));
        let mut found = false;
        for process in carriers {
            found = true;
            kill(process);
        }
        if !found {
            return;
        }
    }
}

fn carries(pid: u32, entry: &str) -> bool {
    // One that cannot be read is not ours, or has ended.
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|known| known == entry.as_bytes())
}

/// Kills a process unless its number has gone to another one.
#[cfg(target_os = "linux")]
fn kill((pid, start): Seen) {
    let handle = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    if let Some(handle) = handle
        && parent_and_start(pid).is_some_and(|(_, now)| now == start)
    {
        // An error means that it has ended.
        let _ = pidfd_send_signal(handle, Signal::KILL);
    }
}

#[cfg(not(target_os = "linux"))]
fn kill(_: Seen) {}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "process_tree_tests.rs"]
mod tests;
