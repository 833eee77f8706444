//! A folder of agents' own files that is read without being led out of it: links are followed
//! while they stay inside.

use std::{fs::File, io, path::Path};

use rustix::{
    fs::{Dir, FileType, Mode, OFlags, openat},
    io::Errno,
};

use super::{
    folder::{DirEntry, DirEntryKind, readable},
    guarded_folder::GuardedFolder,
    path_walk::{BaseFolder, InodeId, WalkResult},
};

/// An open folder.
#[derive(Debug)]
pub(crate) struct ContainedFolder {
    base: BaseFolder,
    /// What no path may lead into, although it lies inside.
    shunned: Option<GuardedFolder>,
}

impl ContainedFolder {
    /// The folder at `path`.
    ///
    /// # Errors
    /// Those of opening it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            base: BaseFolder::open(path)?,
            shunned: None,
        })
    }

    /// The same, without the folder `shunned` and what lies in it.
    ///
    /// # Errors
    /// Those of looking at it, unless it is missing.
    pub(crate) fn excluding(mut self, shunned: &Path) -> io::Result<Self> {
        self.shunned = match GuardedFolder::open(shunned) {
            Ok(shunned) => Some(shunned),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(self)
    }

    fn shunned(&self) -> Option<InodeId> {
        self.shunned.as_ref().map(GuardedFolder::here)
    }

    /// Its path without links.
    pub(crate) fn path(&self) -> &Path {
        &self.base.path
    }

    /// What lies in the folder at `path`, in no order; at most `most` names that are text.
    ///
    /// # Errors
    /// `CrossesDevices` when the path leads out, else those of the file system.
    pub(crate) fn list(&self, path: &Path, most: usize) -> io::Result<Vec<DirEntry>> {
        let WalkResult::Folder(place) = self.base.folder(path, self.shunned())? else {
            return Err(Errno::NOTDIR.into());
        };
        let mut entries = Vec::new();
        for entry in Dir::new(readable(&place.descriptor)?)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() == most {
                break;
            }
            entries.push(DirEntry {
                name: name.to_owned(),
                kind: entry.file_type().into(),
            });
        }
        Ok(entries)
    }

    /// The regular file at `path`, opened for reading; anything else is `InvalidInput`.
    ///
    /// # Errors
    /// As [`ContainedFolder::list`].
    pub(crate) fn file(&self, path: &Path) -> io::Result<File> {
        let WalkResult::Other(place, name, FileType::RegularFile) =
            self.base.file(path, self.shunned())?
        else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        // What takes the file's place now may be waited for on opening, or be a link.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let file = openat(
            &place.descriptor,
            name,
            flags | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let file = File::from(file);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        match &self.shunned {
            Some(shunned) if shunned.holds(&metadata)? => Err(Errno::XDEV.into()),
            _ => Ok(file),
        }
    }

    /// What a link at `path` leads to.
    ///
    /// # Errors
    /// As [`ContainedFolder::list`].
    pub(crate) fn kind(&self, path: &Path) -> io::Result<DirEntryKind> {
        Ok(match self.base.file(path, self.shunned())? {
            WalkResult::Folder(_) => DirEntryKind::Folder,
            WalkResult::Other(_, _, kind) => kind.into(),
        })
    }
}
