//! Restore: going back to a backup while no server has the data open. What was there is set aside
//! and never deleted, and the event log becomes another one, so that every reader begins anew.
//! A running server only notes the request and ends; its next start restores before it serves.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use guildhall_domain::{
    Fault, Refusal, Result, Timestamp,
    attachments::Digest,
    backups::Backup,
    callers::{Gate, OwnerInteractive},
    ids::{AccountId, AuthorId, BackupId, LogId},
    restores::{RevivedCredential, RevivedKind},
};
use guildhall_store::{
    backups as copies,
    revived::{self, Revived},
};
use guildhall_world::{
    backups::BackupFiles,
    data_dir::DataDir,
    restores::{RestoreRecord, RestoreRequest},
    store_state::StoreState,
};

use crate::Hall;

impl Hall {
    /// Has the server restart from a backup: verifies it, notes the request for the next start,
    /// and begins to stop; also when nobody waits for it any more.
    ///
    /// # Errors
    /// `NotFound`, [`Refusal::BackupDamaged`], [`Refusal::ShuttingDown`]; a fault when the disk is
    /// full or refuses. Nothing is changed then.
    pub async fn request_restore(&self, by: &OwnerInteractive, id: BackupId) -> Result<Backup> {
        let (hall, author) = (self.clone(), by.caller().author);
        let requesting = async move { hall.try_request_restore(author, id).await };
        let requested = self.tasks().finish(requesting).await;
        requested.unwrap_or_else(|| Err(Fault::broken("noting a restore", "it panicked").into()))
    }

    async fn try_request_restore(&self, by: AuthorId, id: BackupId) -> Result<Backup> {
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
        let noted = tokio::task::spawn_blocking(move || note(&request, &data_dir)).await;
        noted
            .map_err(io::Error::other)
            .flatten()
            .map_err(|error| Fault::broken("noting a restore", error))?;
        tracing::warn!(backup = %id, %by, "the server restarts from a backup");
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
    // What an earlier restore left to decide is still to be decided.
    let earlier = EarlierRestore::read(folder);
    let record = RestoreRecord {
        at: now,
        backup: request.backup,
        problem: Some(problem),
        set_aside: earlier.set_aside,
        attachments_missing: 0,
        revived: earlier.revived,
        revived_unknown: earlier.revived_unknown,
        later_passwords: earlier.later_passwords,
    };
    record
        .write(folder)
        .and_then(|()| RestoreRequest::remove(folder))
        .map_err(broken("noting that nothing was restored"))
}

/// Whether a restore has set data of before aside and did not come to its end.
pub fn is_begun(data_dir: &DataDir) -> bool {
    let request = RestoreRequest::read(data_dir.path());
    let request = request.ok().flatten();
    request.is_some_and(|request| data_dir.is_set_aside(&request.asked_at.to_string()))
}

/// Keeps a request, or nothing of it.
fn note(request: &RestoreRequest, data_dir: &Path) -> io::Result<()> {
    // It may be in its place although the writing failed; the next start would go back.
    request.write(data_dir).inspect_err(|_| take_back(data_dir))
}

fn take_back(data_dir: &Path) {
    if let Err(error) = RestoreRequest::remove(data_dir) {
        tracing::error!(%error, "the request of a restore could not be taken back");
    }
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
    let named = match unpack(files, &backup, &unpacked) {
        Ok(named) => named,
        Err(fault) => {
            drop_unpacked()?;
            return Err(fault);
        }
    };
    // Before anything is moved, because it takes as long as reading all of them.
    let damaged = files.damaged_attachments(&named);
    let begun = RestoreRequest::read(folder).unwrap_or_else(|error| {
        tracing::warn!(%error, "which restore was due is unknown; this one is done");
        None
    });
    let request = RestoreRequest {
        backup: backup.clone(),
        // A restore that did not come to its end has set the data aside already.
        asked_at: begun.as_ref().map_or(now, |begun| begun.asked_at),
        port: begun.as_ref().and_then(|begun| begun.port),
    };
    let set_aside = set_aside(data_dir, &request, begun.is_some())?;
    let before = set_aside.as_deref();
    let blobs_before = before.map(DataDir::blobs_in);
    let missing =
        files.restore_attachments(&named, &damaged, blobs_before.as_deref(), &data_dir.blobs())?;
    StoreState::remove(folder).map_err(broken("forgetting what was known of the store"))?;
    let database_before = before.map(DataDir::database_in);
    revived::end_revived_sign_ins(database_before.as_deref(), &unpacked)?;
    let found = match &database_before {
        None => Revived::default(),
        Some(before) => revived::revived_credentials(before, &unpacked)?,
    };
    let (found, later_passwords) = EarlierRestore::read(folder).added_to(found, &unpacked);
    data_dir
        .take_restored()
        .map_err(broken("putting the restored data in its place"))?;
    let record = RestoreRecord {
        at: now,
        backup,
        problem: None,
        set_aside,
        attachments_missing: missing.len() as u64,
        // Nothing to decide and something unknown: the owner has to look through all.
        revived: match (&found.credentials[..], &found.unknown[..]) {
            ([], [_, ..]) => None,
            _ => Some(found.credentials),
        },
        revived_unknown: found.unknown,
        later_passwords,
    };
    record
        .write(folder)
        .and_then(|()| RestoreRequest::remove(folder))
        .map_err(broken("noting what was restored"))?;
    Ok(record)
}

/// Unpacks a backup's copy of the store, checks it, and makes it a log of its own; answers the
/// attachments that it names.
fn unpack(files: &BackupFiles, backup: &Backup, to: &Path) -> Result<Vec<Digest>, Fault> {
    files.unpack(backup, to)?;
    let copy = copies::inspect(to)?;
    copies::begin_new_log(to, Hall::new_id(LogId::from_bytes))?;
    Ok(copy.attachments)
}

/// Notes the restore and moves the data of before aside. Where not even that begins, nothing is
/// noted, so that the next start goes back to nothing; a restore that was `begun` stays noted.
fn set_aside(
    data_dir: &DataDir,
    request: &RestoreRequest,
    begun: bool,
) -> Result<Option<PathBuf>, Fault> {
    let broken = |during| move |error: io::Error| Fault::broken(during, error);
    let (folder, name) = (data_dir.path(), request.asked_at.to_string());
    let noted = match begun {
        true => request.write(folder),
        false => note(request, folder),
    };
    noted.map_err(broken("noting a restore"))?;
    data_dir.set_data_aside(&name).map_err(|error| {
        if !begun && !data_dir.is_set_aside(&name) {
            take_back(folder);
        }
        broken("setting the data of before aside")(error)
    })
}

/// What the restore before this one left to decide.
struct EarlierRestore {
    set_aside: Option<PathBuf>,
    revived: Option<Vec<RevivedCredential>>,
    revived_unknown: Vec<RevivedKind>,
    later_passwords: BTreeMap<String, PathBuf>,
}

impl EarlierRestore {
    fn read(data_dir: &Path) -> Self {
        let record = RestoreRecord::read(data_dir).unwrap_or_else(|error| {
            tracing::warn!(%error, "what an earlier restore left to decide is unknown");
            None
        });
        match record {
            None => Self {
                set_aside: None,
                revived: Some(Vec::new()),
                revived_unknown: Vec::new(),
                later_passwords: BTreeMap::new(),
            },
            Some(record) => Self {
                set_aside: record.set_aside,
                revived: record.revived,
                revived_unknown: record.revived_unknown,
                later_passwords: record.later_passwords,
            },
        }
    }

    /// Adds what is left to decide and counts in the restored store as well to what the comparison
    /// `found`: to that it counted before as well. Answers also where later passwords are that are
    /// not in the data just set aside.
    fn added_to(self, mut found: Revived, restored: &Path) -> (Revived, BTreeMap<String, PathBuf>) {
        let mut later_passwords = BTreeMap::new();
        for credential in self.revived.into_iter().flatten() {
            let counts = revived::counts(restored, &credential).unwrap_or_else(|error| {
                tracing::warn!(?error, "an undecided credential is kept in the list");
                true
            });
            if !counts {
                continue;
            }
            if credential.kind == RevivedKind::Password
                && let Some(later) = self
                    .later_passwords
                    .get(&credential.id)
                    .or(self.set_aside.as_ref())
            {
                if is_password_of(later, restored, &credential) {
                    continue;
                }
                later_passwords.insert(credential.id.clone(), later.clone());
            }
            let is_known =
                |one: &RevivedCredential| (one.kind, &one.id) == (credential.kind, &credential.id);
            if !found.credentials.iter().any(is_known) {
                found.credentials.push(credential);
            }
        }
        (found, later_passwords)
    }
}

/// Whether an account's password in the restored store is the one in the data set aside in
/// `folder`; false where that cannot say.
fn is_password_of(folder: &Path, restored: &Path, credential: &RevivedCredential) -> bool {
    let account = AccountId::named(&credential.id);
    let password = |store: &Path| revived::password_in(store, account).ok().flatten();
    let later = password(&DataDir::database_in(folder));
    later.is_some() && later == password(restored)
}
