//! Control groups (cgroups(7), version 2): a group for each keeper, so that all that it kept can
//! be killed at once, also what has left its tree. Only where the server may make groups below its
//! own, as in a systemd user session.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// The names of our groups begin with this.
const PREFIX: &str = "guildhall-";

/// The group of one keeper; dropped, it is removed if it is empty.
#[derive(Debug)]
pub(crate) struct GuardCgroup(PathBuf);

impl GuardCgroup {
    /// A new group with this process in it; `None` where there can be none.
    pub(crate) fn create_with(process: u32) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let own = own_group()?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = own.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Self(path);
        fs::write(group.0.join("cgroup.procs"), process.to_string()).ok()?;
        Some(group)
    }

    /// Kills every process in it (`cgroup.kill`, from Linux 5.14).
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn kill(&self) -> io::Result<()> {
        fs::write(self.0.join("cgroup.kill"), "1")
    }

    /// Whether a process in it has not ended.
    pub(crate) fn is_populated(&self) -> bool {
        let events = fs::read_to_string(self.0.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "populated 1")
    }
}

impl Drop for GuardCgroup {
    fn drop(&mut self) {
        // One that is not empty stays.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Removes empty groups that servers before left behind.
pub fn remove_leftover() {
    let own = own_group().and_then(|own| fs::read_dir(own).ok());
    for entry in own.into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // One that is not empty stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The folder of the group this process is in.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = folder(&groups, &mounts)?;
    own.join("cgroup.procs").exists().then_some(own)
}

/// The folder of the group in `groups` (`/proc/pid/cgroup`) by `mounts` (`/proc/pid/mountinfo`).
fn folder(groups: &str, mounts: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        let below = Path::new(own).strip_prefix(root).ok()?;
        Some(Path::new(place).join(below))
    })
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
