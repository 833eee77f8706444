//! Backups: making them, in time and when somebody asks, verifying them, and dropping those that
//! are not kept any more. Which are kept is `domain::backups`; going back to one is `restore`.

pub mod outside;
mod second_folder;

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    backups::{self as rules, Backup, BackupReason, VerifiedBackup},
    callers::{Owner, OwnerInteractive},
    errors::{FaultKind, ResourceKind},
    ids::BackupId,
    settings::BACKUP_BYTES_MAX,
};
use guildhall_store::backups::{self as copies, StoreCopy};
use guildhall_world::backups::{BackupFiles, OpenArchive};
use tokio::sync::Semaphore;

pub use self::second_folder::SecondBackupFolder;
use crate::Hall;

/// How often the job looks whether something was written.
const PERIOD: Duration = Duration::from_secs(15 * 60);

/// The backups of one server.
#[derive(Debug)]
pub(crate) struct Backups {
    files: BackupFiles,
    /// One is made, verified or removed at a time.
    turn: Semaphore,
    /// A std mutex: held for single look-ups and never over an await.
    last: Mutex<LastBackup>,
    second_folder: second_folder::Copying,
    /// Whether the server is to start again from a backup.
    restart_asked: AtomicBool,
    /// One revived credential is decided at a time.
    pub(crate) deciding: tokio::sync::Mutex<()>,
}

/// What the last backup of this run came to.
#[derive(Clone, Debug, Default)]
struct LastBackup {
    /// Changes written when it was begun.
    changes: u64,
    outcome: Option<BackupOutcome>,
}

/// What the making of a backup came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupOutcome {
    /// When it was begun.
    pub at: Timestamp,
    /// Why there is none; `None` when it was made.
    pub problem: Option<String>,
}

/// The backups there are.
#[derive(Clone, Debug)]
pub struct BackupList {
    /// The newest first.
    pub backups: Vec<Backup>,
    /// Bytes they may take together.
    pub bytes_max: u64,
    /// What the last one of this run came to.
    pub last: Option<BackupOutcome>,
    /// The second folder, where one is set.
    pub second_folder: Option<SecondBackupFolder>,
}

/// A backup's compressed file, open for reading.
pub struct BackupFile {
    /// The backup.
    pub backup: Backup,
    file: Arc<OpenArchive>,
    /// How far it was read.
    offset: u64,
}

impl BackupFile {
    /// The next bytes; empty at the end.
    ///
    /// # Errors
    /// A fault when the disk does not answer.
    pub async fn next(&mut self, bytes_max: usize) -> Result<Vec<u8>> {
        let (file, offset) = (Arc::clone(&self.file), self.offset);
        let read = tokio::task::spawn_blocking(move || file.read(offset, bytes_max)).await;
        let part = read.map_err(|error| Fault::broken("reading a backup", error))??;
        self.offset += part.len() as u64;
        Ok(part)
    }
}

impl Backups {
    pub(crate) fn new(files: BackupFiles) -> Self {
        Self {
            files,
            turn: Semaphore::new(1),
            last: Mutex::default(),
            second_folder: second_folder::Copying::default(),
            restart_asked: AtomicBool::new(false),
            deciding: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn ask_restart(&self) {
        self.restart_asked.store(true, Ordering::Release);
    }

    pub(crate) fn is_restart_asked(&self) -> bool {
        self.restart_asked.load(Ordering::Acquire)
    }

    fn last(&self) -> LastBackup {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    fn set_last(&self, changes: u64, outcome: BackupOutcome) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = LastBackup {
            changes,
            outcome: Some(outcome),
        };
    }
}

impl Hall {
    /// The backups there are, and what became of the last one.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn backups(&self, by: &Owner) -> Result<BackupList> {
        let bytes_max = self.setting(&BACKUP_BYTES_MAX).await?.number();
        Ok(BackupList {
            backups: self.with_backups(|files| files.list()).await?,
            bytes_max,
            last: self.inner.backups.last().outcome,
            second_folder: self.second_backup_folder(by).await?,
        })
    }

    /// Makes a backup now; it is made to its end also when nobody waits for it any more.
    ///
    /// # Errors
    /// A fault, of kind `StorageFull` when the disk is, `StoreDamaged` when the store is.
    pub async fn back_up(&self, _by: &Owner) -> Result<Backup> {
        let hall = self.clone();
        let making = async move { hall.make_backup(BackupReason::Manual).await };
        let made = self.tasks().finish(making).await;
        made.unwrap_or_else(|| Err(Fault::broken("making a backup", "it panicked").into()))
    }

    /// Unpacks a backup and checks it from end to end, with the attachments it names.
    ///
    /// # Errors
    /// `NotFound`; a fault when the disk does not answer or is full.
    pub async fn verify_backup(&self, _by: &Owner, id: BackupId) -> Result<VerifiedBackup> {
        self.verify(id).await
    }

    /// The same, for whoever has let its caller in.
    pub(crate) async fn verify(&self, id: BackupId) -> Result<VerifiedBackup> {
        let backup = self.backup(id).await?;
        // It is unpacked; how large it was is not noted, and the store is about as large.
        self.disk_has_room_for(self.store_bytes()?)?;
        let _turn = self.backup_permit().await?;
        let check_id = Hall::new_id(BackupId::from_bytes);
        let verified = self
            .with_backups(move |files| {
                let verified = verify_files(files, backup, &files.draft(check_id));
                files.drop_draft(check_id);
                verified
            })
            .await?;
        Ok(verified)
    }

    /// A backup's compressed file. It holds everything: whoever has it reads every room.
    ///
    /// # Errors
    /// `NotFound`; a fault when the disk does not answer.
    pub async fn backup_file(&self, _by: &OwnerInteractive, id: BackupId) -> Result<BackupFile> {
        let backup = self.backup(id).await?;
        let file = self.with_backups(move |files| files.read(id)).await?;
        Ok(BackupFile {
            backup,
            file: Arc::new(file),
            offset: 0,
        })
    }

    /// The files of the backups.
    pub(crate) fn backup_files(&self) -> BackupFiles {
        self.inner.backups.files.clone()
    }

    async fn backup(&self, id: BackupId) -> Result<Backup> {
        let all = self.with_backups(|files| files.list()).await?;
        let found = all.into_iter().find(|backup| backup.id == id);
        Ok(found.ok_or(Refusal::NotFound(ResourceKind::Backup))?)
    }

    async fn make_backup(&self, reason: BackupReason) -> Result<Backup> {
        let _turn = self.backup_permit().await?;
        let (at, changes) = (self.now(), self.written().changes);
        let made = self.try_make_backup(reason, at).await;
        let problem = match &made {
            Ok(_) => None,
            Err(Error::Fault(fault)) => Some(format!("{fault}: {}", fault.source)),
            Err(other) => Some(format!("{other:?}")),
        };
        let outcome = BackupOutcome { at, problem };
        self.inner.backups.set_last(changes, outcome);
        made
    }

    async fn try_make_backup(&self, reason: BackupReason, at: Timestamp) -> Result<Backup> {
        self.require_undamaged_store()?;
        let newest = self.with_backups(|files| files.list()).await?;
        let store = self.store_bytes()?;
        // The first one may be as large as the store.
        let compressed = newest.first().map_or(store, |backup| backup.bytes);
        self.disk_has_room_for(store.saturating_add(compressed))?;
        let id = Hall::new_id(BackupId::from_bytes);
        let draft = self.inner.backups.files.draft(id);
        let copied = self.store().copy_to(draft).await;
        let made = match copied {
            Ok(copy) => {
                let keep = move |files: &BackupFiles| pack_backup(files, id, at, reason, &copy);
                self.with_backups(keep).await
            }
            Err(fault) => Err(fault.into()),
        };
        self.with_backups(move |files| {
            files.drop_draft(id);
            Ok(())
        })
        .await?;
        let backup = made?;
        if let Err(error) = self.drop_old_backups().await {
            // The next backup tries again; this one is made.
            tracing::error!(?error, "old backups could not be removed");
        }
        self.copy_backups();
        Ok(backup)
    }

    async fn drop_old_backups(&self) -> Result<()> {
        let bytes_max = self.setting(&BACKUP_BYTES_MAX).await?.number();
        let now = self.now();
        self.with_backups(move |files| drop_old(files, now, bytes_max))
            .await
    }

    /// Bytes of the store and its write-ahead log, which a copy takes at most.
    fn store_bytes(&self) -> Result<u64, Fault> {
        let files = self.store().file_bytes();
        files.map_err(|error| Fault::broken("measuring the store", error))
    }

    async fn backup_permit(&self) -> Result<tokio::sync::SemaphorePermit<'_>> {
        let turn = self.inner.backups.turn.acquire().await;
        Ok(turn.map_err(|_| Refusal::ShuttingDown)?)
    }

    async fn with_backups<T: Send + 'static>(
        &self,
        work: impl FnOnce(&BackupFiles) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let files = self.inner.backups.files.clone();
        let done = tokio::task::spawn_blocking(move || work(&files)).await;
        Ok(done.map_err(|error| Fault::broken("reaching the backups", error))??)
    }
}

/// Checks a backup from end to end, with the attachments it names; its copy of the store is
/// unpacked into the new file at `unpacked`, which is left to the caller.
fn verify_files(
    files: &BackupFiles,
    backup: Backup,
    unpacked: &Path,
) -> Result<VerifiedBackup, Fault> {
    let whole = files
        .unpack(&backup, unpacked)
        .and_then(|()| copies::inspect(unpacked));
    let (named, problem) = match whole {
        // What its rows name, as a restore takes it; the list beside it has no checksum.
        Ok(copy) => (copy.attachments, None),
        Err(fault) if fault.kind == FaultKind::StorageFull => return Err(fault),
        Err(fault) => {
            let named = files.attachments_of(backup.id).unwrap_or_default();
            (named, Some(format!("{fault}: {}", fault.source)))
        }
    };
    Ok(VerifiedBackup {
        backup,
        problem,
        attachments_checked: named.len() as u64,
        attachments_damaged: files.damaged_attachments(&named).len() as u64,
        attachments_missing: files.missing_attachments(&named).len() as u64,
    })
}

/// Removes the backups that are not kept any more.
fn drop_old(files: &BackupFiles, now: Timestamp, bytes_max: u64) -> Result<(), Fault> {
    let all = files.list()?;
    let kept = rules::backups_to_keep(&all, now, bytes_max);
    let ids = all.iter().map(|backup| backup.id);
    let old: Vec<BackupId> = ids.filter(|id| !kept.contains(id)).collect();
    match old.is_empty() {
        true => Ok(()),
        false => files.remove(&old),
    }
}

/// Makes a backup of a checked copy of the store, which lies where the draft of `id` does.
fn pack_backup(
    files: &BackupFiles,
    id: BackupId,
    at: Timestamp,
    reason: BackupReason,
    copy: &StoreCopy,
) -> Result<Backup, Fault> {
    let packed = files.compress(id)?;
    let missing = files.keep_attachments(&copy.attachments)?;
    if !missing.is_empty() {
        // Removed from the store since the copy, or lost before.
        tracing::warn!(count = missing.len(), "a backup lacks files of attachments");
    }
    let backup = Backup {
        id,
        created_at: at,
        reason,
        bytes: packed.bytes,
        sha256: packed.sha256.to_string(),
        attachments: copy.attachments.len() as u64,
        holds: copy.holds,
    };
    files.describe(&backup, &copy.attachments)?;
    Ok(backup)
}

/// Makes a backup of a store that the next opening brings to another schema.
///
/// # Errors
/// A fault; the store is then better left as it is.
pub(crate) fn before_migration(
    files: &BackupFiles,
    database: &Path,
    now: Timestamp,
) -> Result<(), Fault> {
    if !copies::awaits_migration(database)? {
        return Ok(());
    }
    let id = Hall::new_id(BackupId::from_bytes);
    let copied = copies::copy_closed(database, &files.draft(id));
    let kept =
        copied.and_then(|copy| pack_backup(files, id, now, BackupReason::BeforeMigration, &copy));
    files.drop_draft(id);
    let backup = kept?;
    tracing::info!(backup = %backup.id, "a backup was made before the schema changes");
    Ok(())
}

/// Starts the jobs.
pub(crate) fn start(hall: &Hall) {
    second_folder::start(hall);
    let mut stopping = hall.tasks().stopping();
    let job = hall.clone();
    hall.tasks().spawn("backups", hall.now(), async move {
        let mut period = tokio::time::interval_at(tokio::time::Instant::now() + PERIOD, PERIOD);
        loop {
            tokio::select! {
                _ = period.tick() => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            let is_written = job.written().changes > job.inner.backups.last().changes;
            if !is_written || job.require_undamaged_store().is_err() {
                continue;
            }
            let made = tokio::select! {
                made = job.make_backup(BackupReason::Scheduled) => made,
                _ = stopping.wait_for(|stop| *stop) => return,
            };
            if let Err(error) = made {
                tracing::error!(?error, "no backup could be made");
            }
        }
    });
}
