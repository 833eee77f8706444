//! Restores beside the store, in small files of the data folder: the one that is to be done or
//! goes on, and what the last one came to. Neither is part of a store, which a restore replaces.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use guildhall_domain::{
    Timestamp,
    backups::Backup,
    restores::{RevivedCredential, RevivedKind},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::data_dir::{sync_folder, write_private};

const REQUEST: &str = "run/restore-request.json";
const RECORD: &str = "run/last-restore.json";

/// A restore that is to be done; it stands until the restore is complete, so that the next start
/// goes on where a crash ended it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreRequest {
    /// The backup to go back to.
    pub backup: Backup,
    /// When it was asked for; the data of before is set aside under this name.
    pub asked_at: Timestamp,
    /// The port of the server that was asked, for a restart that would take any.
    pub port: Option<u16>,
}

/// What the last restore came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreRecord {
    /// When it came to its end.
    pub at: Timestamp,
    /// The backup.
    pub backup: Backup,
    /// Why nothing was restored; `None` when it was.
    pub problem: Option<String>,
    /// Where the data of before is now; `None` when there was none.
    pub set_aside: Option<PathBuf>,
    /// Attachments that the backup names and that were not to be had whole.
    pub attachments_missing: u64,
    /// Credentials that count again and are not decided yet; `None` when the data of before could
    /// not say.
    pub revived: Option<Vec<RevivedCredential>>,
    /// Kinds of which the data of before could not say which count again.
    #[serde(default)]
    pub revived_unknown: Vec<RevivedKind>,
    /// Where the later password is that a revived one replaced, by its id, where a restore before
    /// this one revived it: in the data that was set aside then.
    #[serde(default)]
    pub later_passwords: BTreeMap<String, PathBuf>,
}

impl RestoreRequest {
    /// The one that stands in the data folder at `data_dir`.
    ///
    /// # Errors
    /// Whatever the file system answers; `InvalidData` for a file that cannot be understood.
    pub fn read(data_dir: &Path) -> io::Result<Option<Self>> {
        read(&Self::file(data_dir))
    }

    /// Keeps it, whole or not at all.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn write(&self, data_dir: &Path) -> io::Result<()> {
        write_private(&Self::file(data_dir), &serde_json::to_string(self)?)
    }

    /// Takes it back, for good.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn remove(data_dir: &Path) -> io::Result<()> {
        let file = Self::file(data_dir);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Until then a power cut may bring it back.
        file.parent().map_or(Ok(()), sync_folder)
    }

    /// Where it stands in the data folder at `data_dir`.
    pub fn file(data_dir: &Path) -> PathBuf {
        data_dir.join(REQUEST)
    }
}

impl RestoreRecord {
    /// What the data folder at `data_dir` says; `None` before the first restore.
    ///
    /// # Errors
    /// Whatever the file system answers; `InvalidData` for a file that cannot be understood.
    pub fn read(data_dir: &Path) -> io::Result<Option<Self>> {
        read(&data_dir.join(RECORD))
    }

    /// Keeps it, whole or not at all.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn write(&self, data_dir: &Path) -> io::Result<()> {
        write_private(&data_dir.join(RECORD), &serde_json::to_string(self)?)
    }
}

fn read<T: DeserializeOwned>(file: &Path) -> io::Result<Option<T>> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
