//! Killing what an agent started, by its place in the tree, its group, or an entry of its
//! environment.

use std::collections::BTreeSet;

use super::processes::{Process, ProcessState, ProcessTable};

/// How often processes that start others meanwhile are looked for again.
const ROUNDS_MAX: usize = 16;

/// Kills every process below `root`, whatever its group, as they are now; answers how many.
///
/// Who forks meanwhile is for the next call.
pub(crate) fn kill_below(root: u32) -> usize {
    let Some(table) = ProcessTable::read(|| true) else {
        return 0;
    };
    let mut below = BTreeSet::new();
    let mut above = vec![root];
    while let Some(parent) = above.pop() {
        for process in table.children(parent) {
            // A number used again while the table was read could make a circle.
            if process.pid != root && below.insert(process) {
                above.push(process.pid);
            }
        }
    }
    for process in &below {
        kill(*process);
    }
    below.len()
}

/// What is known of processes that have left every tree.
#[derive(Clone, Debug)]
pub(crate) struct LeftoverProcesses {
    /// The group they were started in.
    pub(crate) group: u32,
    /// `NAME=value` of the environment they were started with, which nothing else has.
    pub(crate) mark: String,
}

impl LeftoverProcesses {
    /// Those that live.
    pub(super) fn living(&self) -> Vec<Process> {
        let table = ProcessTable::read(|| true).unwrap_or_default();
        let is_left = |process: &Process| {
            let stat = table.stat(process.pid);
            stat.is_some_and(|stat| stat.state != ProcessState::Ended)
                && process.pid != std::process::id()
                && (stat.is_some_and(|stat| stat.group == self.group)
                    || process.has_environment_entry(&self.mark))
        };
        table.processes().filter(is_left).collect()
    }

    /// Kills them until there are none; answers those that did not end.
    pub(crate) fn kill(&self) -> usize {
        let mut living = self.living();
        for _ in 0..ROUNDS_MAX {
            if living.is_empty() {
                break;
            }
            for process in &living {
                kill(*process);
            }
            living = self.living();
        }
        living.len()
    }
}

/// Kills a process unless its number has gone to another one.
#[cfg(target_os = "linux")]
pub(super) fn kill(process: Process) {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    let handle = i32::try_from(process.pid)
        .ok()
        .and_then(Pid::from_raw)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    if let Some(handle) = handle
        && process.state().is_some()
    {
        // An error means that it has ended.
        let _ = pidfd_send_signal(handle, Signal::KILL);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn kill(_: Process) {}
