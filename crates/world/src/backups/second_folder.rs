//! The second folder of backups, on another disk: each data folder has a folder of its own there,
//! `guildhall-<id>`, with the same files as its folder `backups`. The id is the one of the store's
//! system author, which a restore keeps, so that a restored server goes on in the same folder.
//! The disk may be gone at any time: a folder that is not there is never made again.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use guildhall_domain::ids::AuthorId;

pub use super::copying::GoOn;
use super::{BackupFiles, private, remove_if_there, sync_folder};
use crate::{data_dir::write_private, ids};

/// What the name of a data folder's own folder begins with.
const PREFIX: &str = "guildhall-";
/// The file in the data folder's `backups` that names the second folder in which a folder was
/// made: what was there once and is not any more is on a disk that is gone.
const NOTE: &str = "second-folder";

/// The folder of one data folder's backups in the second folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondFolder {
    /// The second folder.
    around: PathBuf,
    /// The data folder's own folder in it.
    own: PathBuf,
}

/// Says why `folder` cannot be the second folder of the data folder at `data_dir`.
///
/// # Errors
/// One sentence without its end, for a person.
pub fn require_usable(folder: &Path, data_dir: &Path) -> Result<(), String> {
    require_there(folder, data_dir)?;
    let probe = folder.join(format!(".{PREFIX}{}", ids::new()));
    private(&probe)
        .map(drop)
        .and_then(|()| remove_if_there(&probe))
        .map_err(|error| format!("{} cannot be written: {error}", folder.display()))
}

fn require_there(folder: &Path, data_dir: &Path) -> Result<(), String> {
    let shown = folder.display();
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(format!("{shown} is no folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!("{shown} is not there; is its disk connected?"));
        }
        Err(error) => return Err(format!("{shown} cannot be reached: {error}")),
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match real(folder).starts_with(real(data_dir)) {
        true => Err("must lie outside of the data folder".to_owned()),
        false => Ok(()),
    }
}

impl SecondFolder {
    /// Names the folder in `around` of the store whose system author is `id`.
    pub fn at(around: &Path, id: AuthorId) -> Self {
        Self {
            around: around.to_owned(),
            own: around.join(format!("{PREFIX}{id}")),
        }
    }

    /// Where the backups are.
    pub fn path(&self) -> &Path {
        &self.own
    }

    /// Opens it for the backups of the data folder at `data_dir`; made once, if it is not there.
    ///
    /// # Errors
    /// One sentence without its end, for a person.
    pub fn open(&self, data_dir: &Path) -> Result<BackupFiles, String> {
        require_there(&self.around, data_dir)?;
        let here = BackupFiles::at(data_dir);
        let note = here.folder.join(NOTE);
        let around = self.around.to_string_lossy();
        let noted = fs::read_to_string(&note).unwrap_or_default();
        if !self.own.is_dir() {
            let own = self.own.display();
            if noted == around {
                // An empty mount point looks like an empty disk.
                return Err(format!(
                    "{own} is not there any more; connect its disk, or make this folder on a new one"
                ));
            }
            let made = DirBuilder::new().mode(0o700).create(&self.own);
            made.and_then(|()| sync_folder(&self.around))
                .map_err(|error| format!("{own} cannot be made: {error}"))?;
        }
        if noted != around {
            write_private(&note, &around)
                .map_err(|error| format!("the data folder does not take a note: {error}"))?;
        }
        let files = BackupFiles::in_folder(&self.own, &here);
        files
            .drop_drafts()
            .and_then(|()| files.drop_undescribed())
            .map_err(|error| format!("{} cannot be written: {error}", self.own.display()))?;
        Ok(files)
    }
}

impl BackupFiles {
    /// The backups in `folder`, whose attachments come from `here`.
    fn in_folder(folder: &Path, here: &Self) -> Self {
        Self {
            folder: folder.to_owned(),
            blobs: here.attachments(),
        }
    }

    /// The folders of backups in `folder`: itself when it is one, else those of data folders in
    /// it. Nothing is changed there.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn found_in(folder: &Path) -> io::Result<Vec<Self>> {
        let files_at = |path: &Path| Self {
            folder: path.to_owned(),
            blobs: PathBuf::new(),
        };
        let has_backups = |files: &Self| files.list().is_ok_and(|backups| !backups.is_empty());
        let entries = fs::read_dir(folder)?;
        let itself = files_at(folder);
        if has_backups(&itself) {
            return Ok(vec![itself]);
        }
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let is_of_data_folder = entry.file_name().to_string_lossy().starts_with(PREFIX);
            let files = files_at(&entry.path());
            if is_of_data_folder && has_backups(&files) {
                found.push(files);
            }
        }
        found.sort_by(|one, other| one.folder.cmp(&other.folder));
        Ok(found)
    }

    /// Where they are.
    pub fn path(&self) -> &Path {
        &self.folder
    }
}
