//! The temporary file of a save.

use std::{ffi::OsString, fs::File};

use rustix::{
    fs::{Mode, OFlags, openat, renameat},
    io::Errno,
};

use super::{FileLocation, PhysicalId, PlannedSave, SaveError, is_denied, remove, syncable};

/// A file beside another whose place it is to take; removed when dropped before that.
pub(super) struct TempFile<'a> {
    place: FileLocation<'a>,
    /// The folder, which can be synced.
    pub(super) folder: File,
    /// Its name.
    pub(super) name: OsString,
    /// The name it gets when it is whole.
    swap: OsString,
    pub(super) file: File,
    /// Which file it is.
    pub(super) inode: PhysicalId,
    /// Whether it still lies under its name.
    pub(super) is_ours: bool,
}

impl<'a> TempFile<'a> {
    /// Makes an empty one, mode 0600; `None` where the folder takes no file.
    pub(super) fn make(save: &PlannedSave<'a>) -> Result<Option<Self>, SaveError> {
        let place = save.place;
        let Some(folder) = syncable(place.folder)? else {
            return Ok(None);
        };
        let name = save.mark.temp(place.name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = match openat(place.folder, &name, flags, mode) {
            Ok(file) => File::from(file),
            Err(error) if is_denied(error) => return Ok(None),
            // The folder itself is gone.
            Err(Errno::NOENT) => return Err(SaveError::Replaced),
            Err(error) => return Err(error.into()),
        };
        let inode = PhysicalId::of(&file.metadata()?);
        Ok(Some(Self {
            place,
            folder,
            name,
            swap: save.mark.swap(place.name),
            file,
            inode,
            is_ours: true,
        }))
    }

    /// Gives it the name from which it is exchanged.
    pub(super) fn make_ready(&mut self) -> Result<(), Errno> {
        renameat(self.place.folder, &self.name, self.place.folder, &self.swap)?;
        self.name.clone_from(&self.swap);
        Ok(())
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if self.is_ours {
            // What cannot be removed now is by the next start, because its intent is kept.
            let _ = remove(self.place.folder, &self.name);
        }
    }
}
