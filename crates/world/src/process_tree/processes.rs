//! Processes as `/proc` shows them, see proc(5). Where there is no `/proc` there are none.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Dir, Mode, OFlags, open, readlinkat_raw},
    io::Errno,
};
use serde::{Deserialize, Serialize};

/// A process: its number and start time, which no other shares while the computer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// In clock ticks since the computer started.
    pub(super) start: u64,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessState {
    /// It runs, or waits for something.
    Running,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It has ended, and its parent has not waited for it.
    Ended,
}

/// What the file `stat` of a process or thread says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessStat {
    pub(super) state: ProcessState,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) start: u64,
}

/// Bytes of the longest file `stat`: 52 numbers of at most 20 digits and a name of 64 bytes.
const STAT_BYTES_MAX: usize = 1_280;

impl ProcessStat {
    /// That of a process; `None` where there is none. One whose first thread has ended runs while
    /// another does.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let stat = Self::read(Path::new(&format!("/proc/{pid}/stat")))?;
        match stat.state {
            ProcessState::Ended if has_running_thread(pid) => Some(Self {
                state: ProcessState::Running,
                ..stat
            }),
            _ => Some(stat),
        }
    }

    fn read(file: &Path) -> Option<Self> {
        // Read at once: of thousands of processes, each further call counts.
        let mut text = [0; STAT_BYTES_MAX];
        let length = File::open(file).ok()?.read(&mut text).ok()?;
        // The name may hold anything, the last bracket closes it.
        let name_end = text.get(..length)?.iter().rposition(|byte| *byte == b')')?;
        let fields = std::str::from_utf8(text.get(name_end + 1..length)?).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let state = match fields.next()? {
            "Z" | "X" => ProcessState::Ended,
            "T" | "t" => ProcessState::Stopped,
            _ => ProcessState::Running,
        };
        Some(Self {
            state,
            parent: fields.next()?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
            start: fields.nth(16)?.parse().ok()?,
        })
    }
}

impl Process {
    /// The process that has this number now.
    pub(super) fn with_number(pid: u32) -> Option<Self> {
        let start = ProcessStat::of(pid)?.start;
        Some(Self { pid, start })
    }

    /// What it does; `None` when it is gone.
    pub(super) fn state(self) -> Option<ProcessState> {
        let stat = ProcessStat::of(self.pid)?;
        (stat.start == self.start).then_some(stat.state)
    }

    /// Whether it has not ended.
    pub(super) fn lives(self) -> bool {
        matches!(
            self.state(),
            Some(ProcessState::Running | ProcessState::Stopped)
        )
    }

    /// What it is called, for people.
    pub(super) fn name(self) -> String {
        let name = fs::read_to_string(format!("/proc/{}/comm", self.pid)).unwrap_or_default();
        name.trim().to_owned()
    }

    /// Whether it may act as this user: now, or as its real or saved one. So may one that cannot be
    /// asked.
    pub(super) fn may_act_as(self, user: u32) -> bool {
        let users = status_line(&self.pid.to_string(), "Uid:").and_then(|line| {
            let users = line.split_ascii_whitespace().map(str::parse::<u32>);
            users.collect::<Result<Vec<_>, _>>().ok()
        });
        users.is_none_or(|users| users.contains(&user))
    }

    /// Whether its process namespace is ours: one in a namespace below has a number in that, too.
    pub(super) fn is_in_our_namespace(self) -> bool {
        let numbers = |process: &str| {
            let line = status_line(process, "NSpid:")?;
            Some(line.split_ascii_whitespace().count())
        };
        let of_process = numbers(&self.pid.to_string());
        of_process.is_some() && of_process == numbers("self")
    }

    /// Whether it was started with exactly this entry (`NAME=value`) in its environment; one that
    /// cannot be read is not ours, or has ended.
    pub(super) fn has_environment_entry(self, entry: &str) -> bool {
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|known| known == entry.as_bytes())
    }

    /// The descriptors of its first thread.
    pub(super) fn descriptors(self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd", self.pid))
    }

    /// Those of every thread: each may have its own, and the first may have ended before the
    /// others.
    pub(super) fn descriptors_by_thread(self) -> io::Result<impl Iterator<Item = PathBuf>> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid))?;
        Ok(threads.flatten().map(|thread| thread.path().join("fd")))
    }
}

/// What stands behind a name in the file `status` of a process.
fn status_line(process: &str, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.map(str::to_owned)
}

/// The sockets in a list of descriptors, by their inodes.
///
/// # Errors
/// `PermissionDenied` for a process that cannot be looked into; otherwise it has ended.
pub(super) fn each_socket(
    descriptors: &Path,
    mut on_entry: impl FnMut(Option<u64>) -> bool,
) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = match open(descriptors, flags, Mode::empty()) {
        // A thread that ended and still has a number has no descriptors.
        Err(Errno::ACCESS | Errno::PERM) if has_ended(descriptors) => return Ok(()),
        opened => opened?,
    };
    let entries = match Dir::read_from(&folder) {
        Err(Errno::ACCESS | Errno::PERM) if has_ended(descriptors) => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = match entry {
            Err(Errno::ACCESS | Errno::PERM) if has_ended(descriptors) => return Ok(()),
            entry => entry?,
        };
        let mut target = [0; SOCKET_LINK_BYTES];
        // A descriptor may be closed while the list is read.
        let length = readlinkat_raw(&folder, entry.file_name(), &mut target).unwrap_or_default();
        if !on_entry(socket_inode(&target[..length])) {
            break;
        }
    }
    Ok(())
}

/// Bytes of the longest `socket:[<inode>]`.
const SOCKET_LINK_BYTES: usize = 32;

fn socket_inode(target: &[u8]) -> Option<u64> {
    let inode = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(inode).ok()?.parse().ok()
}

/// Whether the thread that has these descriptors has ended and still has a number.
pub(crate) fn has_ended(descriptors: &Path) -> bool {
    let stat = ProcessStat::read(&descriptors.with_file_name("stat"));
    stat.is_some_and(|stat| stat.state == ProcessState::Ended)
}

/// Whether a thread of this process has not ended.
fn has_running_thread(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    threads.into_iter().flatten().flatten().any(|thread| {
        let stat = ProcessStat::read(&thread.path().join("stat"));
        stat.is_some_and(|stat| stat.state != ProcessState::Ended)
    })
}

/// The number that a process or thread was given last (`proc_loadavg(5)`).
fn last_number() -> Option<u32> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_ascii_whitespace().nth(4)?.parse().ok()
}

/// The numbers of all processes.
fn numbers() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// All processes at one moment, and who is whose child.
#[derive(Debug, Default)]
pub(super) struct ProcessTable {
    stats: BTreeMap<u32, ProcessStat>,
    children: BTreeMap<u32, Vec<u32>>,
    /// Whether no process began or ended while it was read, so that none was missed.
    is_settled: bool,
}

impl ProcessTable {
    /// All processes; `None` when `may_go_on`, which is asked before each, says no.
    pub(super) fn read(mut may_go_on: impl FnMut() -> bool) -> Option<Self> {
        let before = last_number();
        let mut table = Self {
            is_settled: before.is_some(),
            ..Self::default()
        };
        for pid in numbers() {
            if !may_go_on() {
                return None;
            }
            match ProcessStat::of(pid) {
                Some(stat) => table.add(pid, stat),
                // One that ended meanwhile is no process any more, but may have left a child.
                None => table.is_settled = false,
            }
        }
        table.is_settled &= last_number() == before;
        Some(table)
    }

    pub(super) fn add(&mut self, pid: u32, stat: ProcessStat) {
        self.stats.insert(pid, stat);
        self.children.entry(stat.parent).or_default().push(pid);
    }

    pub(super) fn is_settled(&self) -> bool {
        self.is_settled
    }

    pub(super) fn processes(&self) -> impl Iterator<Item = Process> {
        let start = |(pid, stat): (&u32, &ProcessStat)| (*pid, stat.start);
        self.stats
            .iter()
            .map(start)
            .map(|(pid, start)| Process { pid, start })
    }

    pub(super) fn children(&self, parent: u32) -> impl Iterator<Item = Process> {
        let children = self.children.get(&parent).into_iter().flatten();
        children.filter_map(|pid| self.process(*pid))
    }

    pub(super) fn process(&self, pid: u32) -> Option<Process> {
        let start = self.stats.get(&pid)?.start;
        Some(Process { pid, start })
    }

    pub(super) fn stat(&self, pid: u32) -> Option<&ProcessStat> {
        self.stats.get(&pid)
    }

    /// A process, its parent, and so on.
    pub(super) fn upwards(&self, pid: u32) -> impl Iterator<Item = Process> {
        let first = self.process(pid);
        let next = |process: &Process| self.process(self.stats.get(&process.pid)?.parent);
        // A number used again while the table was read could make a circle.
        std::iter::successors(first, next).take(self.stats.len())
    }
}
