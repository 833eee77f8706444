//! Restore: going back to a backup while no server has the data open. What was there is set aside
//! and never deleted, and the event log becomes another one, so that every reader begins anew.
//! A running server only notes the request and ends; its next start restores before it serves.

use std::{io, path::Path};

use guildhall_domain::{
    Fault, Refusal, Result, Timestamp,
    backups::Backup,
    callers::{Gate, OwnerInteractive},
    ids::{BackupId, LogId},
};
use guildhall_store::{backups as copies, revived};
use guildhall_world::{
    backups::BackupFiles,
    data_dir::DataDir,
    restores::{RestoreRecord, RestoreRequest},
    store_state::StoreState,
};

use crate::Hall;

impl Hall {
    /// Has the server restart from a backup: verifies it, notes the request for the next start,
    /// and begins to stop.
    ///
    /// # Errors
    /// `NotFound`, [`Refusal::BackupDamaged`], [`Refusal::ShuttingDown`]; a fault when the disk is
    /// full or refuses. Nothing is changed then.
    pub async fn request_restore(&self, by: &OwnerInteractive, id: BackupId) -> Result<Backup> {
        let verified = self.verify(id).await?;
        if let Some(problem) = verified.problem {
            return Err(Refusal::BackupDamaged(problem).into());
        }
        if *self.tasks().stopping().borrow() {
            return Err(Refusal::ShuttingDown.into());
        }
        let request = RestoreRequest {
            backup: verified.backup.clone(),
            asked_at: self.now(),
            port: None,
        };
        let data_dir = self.inner.data_dir.clone();
        let noted = tokio::task::spawn_blocking(move || request.write(&data_dir)).await;
        noted
            .map_err(io::Error::other)
            .flatten()
            .map_err(|error| Fault::broken("noting a restore", error))?;
        tracing::warn!(backup = %id, by = %by.caller().author, "the server restarts from a backup");
        self.inner.backups.ask_restart();
        self.tasks().stop();
        Ok(verified.backup)
    }

    /// Whether the server is to start again once it has ended, because a restore was asked for.
    pub fn is_restart_asked(&self) -> bool {
        self.inner.backups.is_restart_asked()
    }
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
/// in the middle, the next start of a server goes on, and so does the same call.
///
/// # Errors
/// A fault when the backup is damaged or the disk refuses.
pub fn restore(
    data_dir: &DataDir,
    id: Option<BackupId>,
    now: Timestamp,
) -> Result<Option<RestoreRecord>, Fault> {
    let files = BackupFiles::open(data_dir.path())?;
    let mut all = files.list()?.into_iter();
    let found = match id {
        Some(id) => all.find(|backup| backup.id == id),
        None => all.next(),
    };
    found
        .map(|backup| go_back(data_dir, &files, backup, now))
        .transpose()
}

/// Does the restore that was asked for, or begun and not completed, before a server opens the
/// data. When it cannot even begin, the data stays as it is and the record says why.
///
/// # Errors
/// A fault when the data of before is set aside and the restored data is not in its place, or
/// what is known of the restore cannot be read or kept; no server may start then.
pub fn complete_requested(data_dir: &DataDir, now: Timestamp) -> Result<(), Fault> {
    let broken = |during| move |error: io::Error| Fault::broken(during, error);
    let folder = data_dir.path();
    let request = RestoreRequest::read(folder).map_err(broken("reading which restore is due"))?;
    let Some(request) = request else {
        return Ok(());
    };
    let id = request.backup.id;
    tracing::warn!(backup = %id, "going back to a backup");
    let problem = match restore(data_dir, Some(id), now) {
        Ok(Some(_)) => return Ok(()),
        Ok(None) => Fault::broken("going back to a backup", "it is not there any more"),
        Err(fault) => fault,
    };
    if data_dir.is_set_aside(&request.asked_at.to_string()) {
        return Err(problem);
    }
    let problem = format!("{problem}: {}", problem.source);
    tracing::error!(problem, "nothing was restored; the data is as it was");
    let record = RestoreRecord {
        at: now,
        backup: request.backup,
        problem: Some(problem),
        set_aside: None,
        attachments_missing: 0,
        revived: Some(Vec::new()),
    };
    record
        .write(folder)
        .and_then(|()| RestoreRequest::remove(folder))
        .map_err(broken("noting that nothing was restored"))
}

fn go_back(
    data_dir: &DataDir,
    files: &BackupFiles,
    backup: Backup,
    now: Timestamp,
) -> Result<RestoreRecord, Fault> {
    let broken = |during| move |error: io::Error| Fault::broken(during, error);
    let (folder, unpacked) = (data_dir.path(), data_dir.restoring());
    let drop_unpacked = || {
        let dropped = data_dir.drop_restoring();
        dropped.map_err(broken("dropping what an earlier restore unpacked"))
    };
    drop_unpacked()?;
    let ready = files
        .unpack(&backup, &unpacked)
        .and_then(|()| copies::inspect(&unpacked))
        .and_then(|_| copies::begin_new_log(&unpacked, Hall::new_id(LogId::from_bytes)));
    if let Err(fault) = ready {
        drop_unpacked()?;
        return Err(fault);
    }
    let begun = RestoreRequest::read(folder).map_err(broken("reading which restore is due"))?;
    let request = RestoreRequest {
        backup: backup.clone(),
        // A restore that did not come to its end has set the data aside already.
        asked_at: begun.as_ref().map_or(now, |begun| begun.asked_at),
        port: begun.and_then(|begun| begun.port),
    };
    request.write(folder).map_err(broken("noting a restore"))?;
    let set_aside = data_dir
        .set_data_aside(&request.asked_at.to_string())
        .map_err(broken("setting the data of before aside"))?;
    let named = files.attachments_of(backup.id)?;
    let missing = files.restore_attachments(&named, &data_dir.blobs())?;
    StoreState::remove(folder).map_err(broken("forgetting what was known of the store"))?;
    let revived = match set_aside.as_deref().map(DataDir::database_in) {
        None => Some(Vec::new()),
        Some(before) => revived::revived_credentials(&before, &unpacked)
            .inspect_err(
                |fault| tracing::warn!(error = ?fault, "what the restore revives is unknown"),
            )
            .ok(),
    };
    data_dir
        .take_restored()
        .map_err(broken("putting the restored data in its place"))?;
    let record = RestoreRecord {
        at: now,
        backup,
        problem: None,
        set_aside,
        attachments_missing: missing.len() as u64,
        revived,
    };
    record
        .write(folder)
        .and_then(|()| RestoreRequest::remove(folder))
        .map_err(broken("noting what was restored"))?;
    Ok(record)
}
