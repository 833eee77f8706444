//! Process trees: which agent a process, and so a socket, belongs to, as the kernel tells.
//! An agent is everything below its keeper; what that allows is `hall::callers`.
//!
//! Costs nothing while no agent runs; else it reads `/proc` once or a few times a connection.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use guildhall_domain::ids::AgentId;
#[cfg(target_os = "linux")]
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How often a tree that changes while it is read is read again.
const ROUNDS_MAX: usize = 16;

/// Whose a socket is, as far as the trees of agents go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A process below the keeper of this agent.
    Agent(AgentId),
    /// A process below the server that belongs to no agent.
    Stray,
    /// No process below the server.
    Outside {
        /// Whether a process lives below the server that may hold it all the same: one whose
        /// descriptors cannot be read, or one among others that come and go too fast.
        is_in_doubt: bool,
    },
}

/// The keepers that run now. Cheap to clone; all clones share the list.
#[derive(Clone, Debug, Default)]
pub struct ProcessTrees {
    // A std mutex: held for a look-up or a copy and never over an await.
    keepers: Arc<Mutex<BTreeMap<u32, Option<AgentId>>>>,
}

/// A keeper's place in the list; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "the keeper leaves the list when this is dropped"]
pub struct Kept {
    trees: ProcessTrees,
    keeper: u32,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.trees.keepers().remove(&self.keeper);
    }
}

impl ProcessTrees {
    fn keepers(&self) -> MutexGuard<'_, BTreeMap<u32, Option<AgentId>>> {
        self.keepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on everything below `keeper` is `agent`; without one it is nobody.
    pub fn enter(&self, keeper: u32, agent: Option<AgentId>) -> Kept {
        self.keepers().insert(keeper, agent);
        Kept {
            trees: self.clone(),
            keeper,
        }
    }

    /// Whether no keeper runs.
    pub fn is_empty(&self) -> bool {
        self.keepers().is_empty()
    }

    /// Whose the socket of this inode is.
    ///
    /// Takes no time without keepers; else some milliseconds on a computer with hundreds of
    /// processes, and never waits.
    ///
    /// Source: contract 1.4, rows 1 and 1b, "in doubt".
    pub fn holder(&self, inode: u64) -> Holder {
        let keepers = self.keepers().clone();
        if keepers.is_empty() {
            return Holder::Outside { is_in_doubt: false };
        }
        search(&keepers, std::process::id(), inode)
    }
}

/// A process of the moment it was seen in: its number and start time, which no other shares.
type Seen = (u32, u64);

fn search(keepers: &BTreeMap<u32, Option<AgentId>>, root: u32, inode: u64) -> Holder {
    let socket = format!("socket:[{inode}]");
    let mut looked_at = BTreeSet::<Seen>::new();
    let mut unreadable = BTreeSet::<Seen>::new();
    for _ in 0..ROUNDS_MAX {
        let table = Table::read();
        let mut is_settled = true;
        let mut below = BTreeSet::new();
        for (process, holder) in table.below(root, keepers) {
            below.insert(process);
            if keepers.contains_key(&process.0) || !looked_at.insert(process) {
                continue;
            }
            is_settled = false;
            match holds(process.0, &socket) {
                Ok(true) => return holder,
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    unreadable.insert(process);
                }
                // It ended, and may have handed the socket on to one that was looked at.
                Err(_) => looked_at.clear(),
            }
        }
        if is_settled {
            // Who ended since cannot hold anything.
            let is_in_doubt = unreadable.iter().any(|process| below.contains(process));
            return Holder::Outside { is_in_doubt };
        }
    }
    Holder::Outside { is_in_doubt: true }
}

/// Whether a process has the socket among its descriptors.
fn holds(pid: u32, socket: &str) -> io::Result<bool> {
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        // A descriptor may be closed while the list is read.
        let target = entry.and_then(|entry| fs::read_link(entry.path()));
        if target.is_ok_and(|target| target.as_os_str() == socket) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Who is whose child, at one moment.
struct Table {
    children: BTreeMap<u32, Vec<Seen>>,
}

impl Table {
    fn read() -> Self {
        let mut children = BTreeMap::<u32, Vec<Seen>>::new();
        // Without `/proc` nothing is known, and then nobody can be looked up either.
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            // One that ended meanwhile is no process any more.
            if let Some((parent, start)) = parent_and_start(pid) {
                children.entry(parent).or_default().push((pid, start));
            }
        }
        Self { children }
    }

    /// Every process below `root`, with the agent of the nearest keeper above it.
    fn below(&self, root: u32, keepers: &BTreeMap<u32, Option<AgentId>>) -> Vec<(Seen, Holder)> {
        let mut found = Vec::new();
        let mut passed = BTreeSet::from([root]);
        let mut above = vec![(root, Holder::Stray)];
        while let Some((parent, holder)) = above.pop() {
            for &process in self.children.get(&parent).into_iter().flatten() {
                // A number used again while the list was read could make a circle.
                if !passed.insert(process.0) {
                    continue;
                }
                let holder = match keepers.get(&process.0) {
                    Some(Some(agent)) => Holder::Agent(*agent),
                    Some(None) => Holder::Stray,
                    None => holder,
                };
                found.push((process, holder));
                above.push((process.0, holder));
            }
        }
        found
    }
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

#[cfg(all(test, target_os = "linux"))]
#[path = "process_tree_tests.rs"]
mod tests;
