//! The second folder of backups, on another disk: the background job that copies there what is
//! missing and drops what is not kept any more. Neither a backup nor a change waits for it.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    backups::{self as rules, Backup},
    callers::Owner,
    errors::FaultKind,
    settings::{BACKUP_BYTES_MAX, BACKUP_FOLDER, SettingsPatch},
};
use guildhall_store::{ReadTx, authors, settings};
use guildhall_world::backups::{
    BackupFiles,
    second_folder::{self, GoOn, SecondFolder},
};
use tokio::sync::Notify;

use crate::Hall;

/// How many times as long as it read the copying rests: it takes half of the disk's time.
const REST_FACTOR: u32 = 1;
/// How long one rest lasts at most.
const REST_MAX: Duration = Duration::from_millis(250);

/// The second folder of backups, as it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondBackupFolder {
    /// Its path.
    pub folder: String,
    /// Whether the job copies there, or is about to.
    pub is_copying: bool,
    /// When the job last came to an end; `None` before the first time since the start.
    pub at: Option<Timestamp>,
    /// Why the backups are not all there; `None` when they are.
    pub problem: Option<String>,
}

/// What the job was asked and came to.
#[derive(Debug, Default)]
pub(super) struct Copying {
    asked: Notify,
    /// A std mutex: held for single look-ups and never over an await.
    state: Mutex<CopyingState>,
}

#[derive(Clone, Debug, Default)]
struct CopyingState {
    /// How often the job was asked.
    asked: u64,
    /// How many of these it is done with.
    done: u64,
    /// What it came to last.
    last: Option<CopyOutcome>,
}

#[derive(Clone, Debug)]
struct CopyOutcome {
    folder: String,
    at: Timestamp,
    problem: Option<String>,
}

impl Copying {
    fn with_state<T>(&self, change: impl FnOnce(&mut CopyingState) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Hall {
    /// The second folder and what was copied there last; `None` when none is set.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn second_backup_folder(&self, _by: &Owner) -> Result<Option<SecondBackupFolder>> {
        let folder = self.setting(&BACKUP_FOLDER).await?.text().to_owned();
        if folder.is_empty() {
            return Ok(None);
        }
        let state = self.inner.backups.second_folder.with_state(|it| it.clone());
        // What became of another folder says nothing of this one.
        let last = state.last.filter(|last| last.folder == folder);
        Ok(Some(SecondBackupFolder {
            folder,
            is_copying: state.asked > state.done,
            at: last.as_ref().map(|last| last.at),
            problem: last.and_then(|last| last.problem),
        }))
    }

    /// Has the job copy what is missing in the second folder.
    pub(crate) fn copy_backups(&self) {
        let copying = &self.inner.backups.second_folder;
        copying.with_state(|state| state.asked += 1);
        copying.asked.notify_one();
    }

    /// The folder of this server's backups in the second folder, where one is set.
    ///
    /// # Errors
    /// A fault when the engine cannot read.
    pub(crate) fn own_backup_folder(db: &ReadTx<'_>) -> Result<Option<PathBuf>> {
        let around = settings::get(db, &BACKUP_FOLDER)?.value;
        if around.text().is_empty() {
            return Ok(None);
        }
        let own = SecondFolder::at(Path::new(around.text()), authors::system(db)?);
        Ok(Some(own.path().to_owned()))
    }

    /// Holds back a second folder that cannot be one.
    ///
    /// # Errors
    /// [`Refusal::Validation`] with the reason.
    pub(crate) async fn require_backup_folder(&self, patch: &SettingsPatch) -> Result<()> {
        let Some(folder) = folder_in(patch) else {
            return Ok(());
        };
        let data_dir = self.inner.data_dir.clone();
        // A folder may lie on a disk that does not answer.
        let look = move || second_folder::require_usable(&folder, &data_dir);
        let usable = tokio::task::spawn_blocking(look)
            .await
            .map_err(|error| Fault::broken("looking for a folder", error))?;
        usable.map_err(|why| Refusal::field(BACKUP_FOLDER.key, why).into())
    }

    /// Copies what is missing in the second folder; what it came to is remembered.
    async fn copy_to_second_folder(&self) {
        let copying = &self.inner.backups.second_folder;
        let asked = copying.with_state(|state| state.asked);
        let last = match self.try_copy_to_second_folder().await {
            Ok(last) => last,
            Err(error) => {
                tracing::error!(?error, "the second folder of backups cannot be told");
                None
            }
        };
        if let Some(CopyOutcome {
            folder,
            problem: Some(problem),
            ..
        }) = &last
        {
            tracing::error!(folder, problem, "not all backups are in the second folder");
        }
        copying.with_state(|state| {
            state.done = asked;
            state.last = last;
        });
    }

    async fn try_copy_to_second_folder(&self) -> Result<Option<CopyOutcome>> {
        let folder = self.setting(&BACKUP_FOLDER).await?.text().to_owned();
        if folder.is_empty() {
            return Ok(None);
        }
        let bytes_max = self.setting(&BACKUP_BYTES_MAX).await?.number();
        let id = self.store().read(authors::system).await?.value;
        let second = SecondFolder::at(Path::new(&folder), id);
        let (now, data_dir) = (self.now(), self.inner.data_dir.clone());
        let stopping = self.tasks().stopping();
        let copied = self
            .with_backups(move |files| {
                let go_on = |worked: Duration| {
                    std::thread::park_timeout((worked * REST_FACTOR).min(REST_MAX));
                    !*stopping.borrow()
                };
                Ok(second
                    .open(&data_dir)
                    .and_then(|there| copy_missing(files, &there, now, bytes_max, &go_on)))
            })
            .await;
        let problem = match copied {
            Ok(copied) => copied.err(),
            Err(Error::Fault(fault)) => Some(sentence(&fault)),
            Err(error) => return Err(error),
        };
        let at = self.now();
        Ok(Some(CopyOutcome {
            folder,
            at,
            problem,
        }))
    }
}

/// The folder that a change of settings names.
fn folder_in(patch: &SettingsPatch) -> Option<PathBuf> {
    let named = patch.iter().find(|(key, _)| *key == BACKUP_FOLDER.key);
    let folder = named?.1.as_ref()?.text();
    (!folder.is_empty()).then(|| PathBuf::from(folder))
}

/// Copies the backups that are to be kept and are not there yet, the newest first, and drops those
/// that are there and not kept any more.
///
/// # Errors
/// Why one of them could not be copied; the others may be there.
fn copy_missing(
    here: &BackupFiles,
    there: &BackupFiles,
    now: Timestamp,
    bytes_max: u64,
    go_on: GoOn<'_>,
) -> Result<(), String> {
    // Before as well, so that what is too old does not take the room of what is new.
    super::drop_old(there, now, bytes_max).map_err(|fault| sentence(&fault))?;
    let list = |files: &BackupFiles| files.list().map_err(|fault| sentence(&fault));
    let (all_here, mut all) = (list(here)?, list(there)?);
    let is_missing = |backup: &&Backup| !all.iter().any(|other| other.id == backup.id);
    let missing: Vec<Backup> = all_here.iter().filter(is_missing).cloned().collect();
    all.extend(missing.iter().cloned());
    let kept = rules::backups_to_keep(&all, now, bytes_max);
    let mut problem = None;
    for backup in missing.iter().filter(|backup| kept.contains(&backup.id)) {
        let Err(fault) = copy_one(here, there, backup, go_on) else {
            continue;
        };
        if !list(here)?.contains(backup) {
            // Dropped meanwhile.
            continue;
        }
        let is_damaged_here = fault.kind == FaultKind::StoreDamaged;
        problem.get_or_insert(sentence(&fault));
        if !is_damaged_here {
            break;
        }
    }
    super::drop_old(there, now, bytes_max).map_err(|fault| sentence(&fault))?;
    problem.map_or(Ok(()), Err)
}

fn copy_one(
    here: &BackupFiles,
    there: &BackupFiles,
    backup: &Backup,
    go_on: GoOn<'_>,
) -> Result<(), Fault> {
    let named = here.attachments_of(backup.id)?;
    let missing = there.missing_attachments(&named);
    let damaged = there.copy_attachments(here, &missing, go_on)?;
    if !damaged.is_empty() {
        tracing::warn!(
            count = damaged.len(),
            "files of attachments are not whole beside the backups and were not copied"
        );
    }
    there.copy_backup(here, backup, &named, go_on)
}

fn sentence(fault: &Fault) -> String {
    format!("{fault}: {}", fault.source)
}

/// Starts the job.
pub(super) fn start(hall: &Hall) {
    // What an earlier run could not copy.
    hall.copy_backups();
    let mut stopping = hall.tasks().stopping();
    let job = hall.clone();
    let name = "second folder of backups";
    hall.tasks().spawn(name, hall.now(), async move {
        loop {
            tokio::select! {
                () = job.inner.backups.second_folder.asked.notified() => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            tokio::select! {
                () = job.copy_to_second_folder() => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
        }
    });
}
