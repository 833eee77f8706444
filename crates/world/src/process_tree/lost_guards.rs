//! What is left where a keeper did not end by itself: processes that are in no tree any more and
//! may still be an agent's.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    kill::LeftoverProcesses,
    processes::{Process, ProcessState, ProcessTable},
};
use crate::peer_lookup::own_uid;

/// A keeper that somebody else killed or stopped.
#[derive(Clone, Debug)]
pub(super) struct LostGuard {
    pub(super) keeper: StartedGuard,
    /// By what all that it kept is found; `None` where that may hide, as an agent may.
    pub(super) left: Option<LeftoverProcesses>,
}

/// A keeper as it was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StartedGuard {
    pub(super) process: Process,
    /// The processes above it then. What loses its parent is given to one of these.
    pub(super) above: Vec<Process>,
}

impl StartedGuard {
    /// That of a keeper which runs.
    pub(super) fn now(keeper: u32) -> Self {
        let mut above = Vec::new();
        let mut next = super::processes::ProcessStat::of(keeper).map(|stat| stat.parent);
        while let Some(process) = next.and_then(Process::with_number) {
            above.push(process);
            next = super::processes::ProcessStat::of(process.pid).map(|stat| stat.parent);
        }
        let gone = Process {
            pid: keeper,
            start: 0,
        };
        Self {
            process: Process::with_number(keeper).unwrap_or(gone),
            above,
        }
    }

    /// Any keeper there may have been.
    pub(super) fn unknown() -> Self {
        Self {
            process: Process { pid: 0, start: 0 },
            above: Vec::new(),
        }
    }

    /// Whether a process may once have been below this keeper.
    ///
    /// One that was is now below a process that was above the keeper, or is so itself, by way of
    /// processes that were all started after the keeper. So whoever hangs there by one that is
    /// older than the keeper was never below it.
    pub(super) fn may_have_kept(&self, table: &ProcessTable, process: Process) -> bool {
        if self.above.contains(&process) {
            return false;
        }
        let way = table.upwards(process.pid);
        let oldest = way
            .take_while(|process| !self.above.contains(process))
            .last();
        oldest.is_none_or(|oldest| oldest.start >= self.process.start)
    }
}

impl LostGuard {
    /// Whether any of what it kept may live; `is_known` says which processes are somebody else's.
    pub(super) fn may_live(
        &self,
        table: &ProcessTable,
        is_known: impl Fn(Process) -> bool,
    ) -> bool {
        if let Some(left) = &self.left {
            return !left.living().is_empty();
        }
        let own = own_uid();
        table.processes().any(|process| {
            let stat = table.stat(process.pid);
            stat.is_some_and(|stat| stat.state != ProcessState::Ended)
                && !is_known(process)
                && self.keeper.may_have_kept(table, process)
                && process.may_act_as(own)
        })
    }
}

/// What must be known after the server has ended: the agents that ran without being kept from the
/// server's ports, since the computer started.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GuardRecord {
    boot_id: String,
    /// The keepers of those that have not ended, or not as they should.
    pub(super) keepers: Vec<StartedGuard>,
}

/// Where it is kept.
#[derive(Clone, Debug)]
pub(super) struct GuardRecordFile(PathBuf);

impl GuardRecordFile {
    pub(super) fn in_folder(data_dir: &Path) -> Self {
        Self(data_dir.join("unenclosed-agents.json"))
    }

    /// What it says of this run of the computer; `None` when no such agent has run.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub(super) fn read(&self) -> io::Result<Option<GuardRecord>> {
        let text = match fs::read_to_string(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let record: GuardRecord = serde_json::from_str(&text)?;
        Ok((record.boot_id == boot_id()).then_some(record))
    }

    /// Writes it durably.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn write(&self, keepers: Vec<StartedGuard>) -> io::Result<()> {
        let record = GuardRecord {
            boot_id: boot_id(),
            keepers,
        };
        let next = self.0.with_extension("json.new");
        let mut file = File::create(&next)?;
        file.write_all(&serde_json::to_vec(&record)?)?;
        file.sync_all()?;
        fs::rename(&next, &self.0)?;
        match self.0.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}

/// Another one each time the computer starts (`random(4)`); empty where there is none.
fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_before_the_computer_started_is_not_in_doubt() {
        let scratch = crate::scratch::Scratch::new("unenclosed-agents");
        let file = GuardRecordFile::in_folder(scratch.path());
        assert!(file.read().unwrap().is_none());
        file.write(vec![StartedGuard::unknown()]).unwrap();
        assert_eq!(
            file.read().unwrap().unwrap().keepers,
            [StartedGuard::unknown()]
        );
        let now = fs::read_to_string(&file.0).unwrap();
        fs::write(&file.0, now.replace(&boot_id(), "another-start")).unwrap();
        assert!(file.read().unwrap().is_none());
    }
}
