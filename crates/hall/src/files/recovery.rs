//! Recovery: what becomes of saves that were interrupted, at a start or by the next save of the
//! file. Source: contract 6.6, "restart with an intent row".

use std::{os::fd::AsFd, path::Path};

use guildhall_domain::{
    Error, Fault, Refusal, Result,
    errors::{FaultKind, ResourceKind},
    files::FileIdentity,
};
use guildhall_store::files::{self, SaveIntentRow};
use guildhall_world::{
    confined_fs::{ConfinedFs, FileScope},
    file_saving::{self, FileLocation, Journals, RecoveryResult, SaveId},
};

use super::commit::{WrittenSave, record_save};
use crate::Hall;

/// Settles every save that was interrupted; one that cannot be now stays noted.
///
/// # Errors
/// Faults of the store alone.
pub(crate) async fn recover(hall: &Hall) -> Result<()> {
    let intents = hall.store().read(files::intents).await?.value;
    for intent in intents {
        let path = intent.path.clone();
        match hall.recover_save(intent).await {
            Ok(true) => {}
            Ok(false) => tracing::warn!(
                path,
                "a save that was interrupted stays open: its file is not there, or others wrote \
                 in it since; what it held is kept in the data folder for seven days"
            ),
            Err(error) => tracing::warn!(
                path,
                ?error,
                "a save that was interrupted is left for the next start"
            ),
        }
    }
    let kept = hall.store().read(files::intents).await?.value;
    let marks: Vec<_> = kept
        .into_iter()
        .map(|left| SaveId::kept(left.mark))
        .collect();
    let swept = hall.with_files(move |_, journals| {
        let swept = journals.sweep(&marks);
        Ok(swept.map_err(|error| Fault::broken("removing old journals", error))?)
    });
    if let Err(Error::Fault(fault)) = swept.await {
        tracing::warn!(error = ?fault, "old journals stay");
    }
    Ok(())
}

impl Hall {
    /// Settles what is left of earlier saves of the file at `path`, whose locks are held.
    pub(super) async fn recover_saves_of(&self, path: &str) -> Result<()> {
        let path = path.to_owned();
        let left = self
            .store()
            .read(move |db| files::intents_of(db, &path))
            .await?;
        for intent in left.value {
            self.recover_save(intent).await?;
        }
        Ok(())
    }

    /// Settles one save; answers whether nothing of it is needed any more.
    async fn recover_save(&self, intent: SaveIntentRow) -> Result<bool> {
        let looked = intent.clone();
        let found = self
            .with_files(move |confined, journals| recover_on_disk(confined, journals, &looked))
            .await?;
        let Some(settled) = found else {
            return Ok(false);
        };
        let mark = intent.mark.clone();
        let (hall, now) = (self.clone(), self.now());
        let is_over = self
            .store()
            .write(move |tx| {
                match settled {
                    // What the path holds by now is not of a save that was none before.
                    RecoveryResult::Done(physical) if !intent.is_undone => {
                        let done = WrittenSave {
                            intent,
                            identity: FileIdentity::new(hall.confined().identity(physical)),
                            is_told: false,
                        };
                        record_save(tx, &done, now)?;
                    }
                    RecoveryResult::Done(_) | RecoveryResult::Undone => {
                        files::remove_intent(tx, &intent.mark)?;
                    }
                    RecoveryResult::Open => {
                        files::undo_intent(tx, &intent.mark)?;
                        return Ok(false);
                    }
                }
                Ok(true)
            })
            .await?;
        if is_over {
            self.with_files(move |_, journals| {
                // What stays is removed at the next start.
                let _ = journals.remove(&SaveId::kept(mark));
                Ok(())
            })
            .await?;
        }
        Ok(is_over)
    }
}

/// Settles what is on the disk; `None` while the file's folder is not there.
fn recover_on_disk(
    confined: &ConfinedFs,
    journals: &Journals,
    intent: &SaveIntentRow,
) -> Result<Option<RecoveryResult>> {
    let path = Path::new(&intent.path);
    let parent = path.parent().and_then(Path::to_str);
    let (Some(parent), Some(name)) = (parent, path.file_name()) else {
        return Ok(Some(RecoveryResult::Undone));
    };
    let folder = match confined.open_folder(&FileScope::Roots, parent) {
        Err(Error::Refusal(Refusal::NotFound(ResourceKind::Path))) => return Ok(None),
        found => found?,
    };
    // Another one is there while the volume of the file is not, or because somebody made it anew.
    if folder.identity()?.to_inode() != intent.meant.folder {
        return Ok(None);
    }
    let place = FileLocation {
        folder: folder.as_fd(),
        name,
    };
    let mark = SaveId::kept(intent.mark.clone());
    let settled = file_saving::recover(place, &mark, &intent.meant, journals);
    let settled = settled
        .map_err(|error| Fault::new(FaultKind::FileSave, "settling an interrupted save", error))?;
    Ok(Some(settled))
}
