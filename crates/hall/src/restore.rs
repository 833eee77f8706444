//! Restore: going back to a backup while no server runs. What was there is set aside and never
//! deleted, and the event log becomes another one, so that every reader begins anew.

use std::{
    io,
    path::{Path, PathBuf},
};

use guildhall_domain::{
    Fault, Moment,
    backups::Backup,
    ids::{BackupId, LogId},
};
use guildhall_store::backups as copies;
use guildhall_world::{backups::BackupFiles, data_dir::DataDir, store_state::StoreState};

use crate::Hall;

/// What going back to a backup did.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The backup.
    pub backup: Backup,
    /// Where the data of before is now; `None` when there was none.
    pub set_aside: Option<PathBuf>,
    /// Attachments that the backup names and that were not to be had whole.
    pub attachments_missing: u64,
    /// Labels of agent tokens that count again, although they were revoked since; `None` when the
    /// data of before cannot say.
    pub tokens_revived: Option<Vec<String>>,
}

/// The backups in a data folder, the newest first; also while a server runs.
///
/// # Errors
/// A fault when they cannot be read.
pub fn list(data_dir: &Path) -> Result<Vec<Backup>, Fault> {
    BackupFiles::at(data_dir).list()
}

/// Goes back to a backup, the newest one unless named. `None` when there is no such backup.
///
/// The copy is unpacked and checked before anything of the data is moved. Where the machine ends
/// in the middle, the server does not start, and the same command goes on.
///
/// # Errors
/// A fault when the backup is damaged or the disk refuses.
pub fn restore(
    data_dir: &DataDir,
    id: Option<BackupId>,
    now: Moment,
) -> Result<Option<Restored>, Fault> {
    let files = BackupFiles::open(data_dir.path())?;
    let mut all = files.list()?.into_iter();
    let found = match id {
        Some(id) => all.find(|backup| backup.id == id),
        None => all.next(),
    };
    let Some(backup) = found else {
        return Ok(None);
    };
    let unpacked = data_dir.restoring();
    files.unpack(&backup, &unpacked)?;
    copies::inspect(&unpacked)?;
    copies::begin_new_log(&unpacked, Hall::new_id(LogId::from_bytes))?;
    let failed = |error: io::Error| Fault::broken("setting the data of before aside", error);
    let set_aside = data_dir.set_data_aside(&now.to_string()).map_err(failed)?;
    let named = files.attachments_of(backup.id)?;
    let missing = files.restore_attachments(&named, &data_dir.blobs())?;
    StoreState::remove(data_dir.path())
        .map_err(|error| Fault::broken("forgetting what was known of the store", error))?;
    let tokens_revived = set_aside.as_deref().and_then(|folder| {
        let before = DataDir::database_in(folder);
        copies::revived_tokens(&before, &unpacked).ok()
    });
    data_dir
        .take_restored()
        .map_err(|error| Fault::broken("putting the restored data in its place", error))?;
    Ok(Some(Restored {
        backup,
        set_aside,
        attachments_missing: missing.len() as u64,
        tokens_revived,
    }))
}
