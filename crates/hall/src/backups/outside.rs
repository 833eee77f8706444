//! Backups in a folder outside of the data folder, read without a server: listing them, verifying
//! one, and taking one into a data folder, from where `restore` goes back to it.

use std::path::Path;

use guildhall_domain::{
    Fault,
    attachments::Digest,
    backups::{Backup, VerifiedBackup},
    ids::BackupId,
};
use guildhall_store::backups as copies;
use guildhall_world::{
    backups::{BackupFiles, unpacking::UnpackingFolder},
    data_dir::DataDir,
};

/// A folder with the backups of one data folder.
#[derive(Clone, Debug)]
pub struct BackupFolder(BackupFiles);

impl BackupFolder {
    /// Opens `folder`, or the only folder of backups in it.
    ///
    /// # Errors
    /// One sentence without its end, for a person: it cannot be read, there are no backups in it,
    /// or backups of several data folders.
    pub fn open(folder: &Path) -> Result<Self, String> {
        let shown = folder.display();
        let mut found = BackupFiles::found_in(folder)
            .map_err(|error| format!("{shown} cannot be read: {error}"))?;
        match (found.len(), found.pop()) {
            (1, Some(one)) => Ok(Self(one)),
            (_, None) => Err(format!("there are no backups in {shown}")),
            (_, Some(last)) => {
                let all = found.iter().chain([&last]);
                let paths: Vec<String> = all
                    .map(|files| files.path().display().to_string())
                    .collect();
                let paths = paths.join(", ");
                Err(format!(
                    "{shown} holds backups of several data folders; name one of these: {paths}"
                ))
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The backups in it, the newest first.
    ///
    /// # Errors
    /// A fault when the folder cannot be read.
    pub fn list(&self) -> Result<Vec<Backup>, Fault> {
        self.0.list()
    }

    /// The backup with this id, the newest one without; `None` when there is none.
    ///
    /// # Errors
    /// A fault when the folder cannot be read.
    pub fn find(&self, id: Option<BackupId>) -> Result<Option<Backup>, Fault> {
        let mut all = self.list()?.into_iter();
        Ok(match id {
            Some(id) => all.find(|backup| backup.id == id),
            None => all.next(),
        })
    }

    /// Unpacks a backup into the temporary folder and checks it from end to end, with the
    /// attachments it names; nothing is changed in the folder of backups.
    ///
    /// # Errors
    /// A fault when a disk does not answer or is full.
    pub fn verify(&self, backup: Backup) -> Result<VerifiedBackup, Fault> {
        let unpacking = UnpackingFolder::new()?;
        super::verify_files(&self.0, backup, &unpacking.path().join("unpacked.sqlite"))
    }

    /// Takes a backup with its attachments into the data folder, also in place of files that are
    /// damaged there. Attachments that are whole nowhere are left out.
    ///
    /// # Errors
    /// A fault when the backup is damaged or a disk refuses; nothing of the data is changed.
    pub fn take(&self, backup: &Backup, data_dir: &DataDir) -> Result<(), Fault> {
        let files = BackupFiles::open(data_dir.path())?;
        let named = self.attachments_of(backup)?;
        let wanted = files.damaged_attachments(&named);
        files.copy_attachments(&self.0, &wanted, &|_| true)?;
        files.copy_backup(&self.0, backup, &named, &|_| true)
    }

    /// The attachments that a backup's list names, or its rows where the list is damaged.
    fn attachments_of(&self, backup: &Backup) -> Result<Vec<Digest>, Fault> {
        match self.0.attachments_of(backup.id) {
            Ok(named) if named.len() as u64 == backup.attachments => Ok(named),
            Ok(_) | Err(_) => {
                let unpacking = UnpackingFolder::new()?;
                let unpacked = unpacking.path().join("unpacked.sqlite");
                self.0.unpack(backup, &unpacked)?;
                Ok(copies::inspect(&unpacked)?.attachments)
            }
        }
    }
}
