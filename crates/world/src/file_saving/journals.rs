//! Journals: the old bytes of files that are written in place, set aside in the data folder with
//! the new ones until these are on the disk.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use guildhall_domain::{
    Fault,
    files::{self, recovery::SaveIntent},
};

use super::{SaveId, SaveStep, StepHook};

/// The folder they lie in.
const FOLDER: &str = "journal";

/// Where old bytes are set aside.
#[derive(Clone, Debug)]
pub struct Journals(PathBuf);

impl Journals {
    /// The journals of a data folder.
    ///
    /// # Errors
    /// A fault when their folder cannot be made.
    pub fn open(data_dir: &Path) -> Result<Self, Fault> {
        let path = data_dir.join(FOLDER);
        let made = match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            // A journal lasts no longer than its folder.
            made => made.and_then(|()| File::open(data_dir)?.sync_all()),
        };
        made.map_err(|error| Fault::broken("making the folder of journals", error))?;
        Ok(Self(path))
    }

    /// Sets the bytes aside that a file holds and those it is to hold, so that a crash of the
    /// machine does not lose them: what a write that was cut off leaves is known by both.
    pub(super) fn write_journal(
        &self,
        mark: &SaveId,
        (old, new): (&[u8], &[u8]),
        at: StepHook<'_>,
    ) -> io::Result<()> {
        let mut journal = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(self.file(mark))?;
        journal.write_all(&(old.len() as u64).to_be_bytes())?;
        journal.write_all(old)?;
        at(SaveStep::JournalHalfWritten)?;
        journal.write_all(new)?;
        journal.sync_all()?;
        File::open(&self.0)?.sync_all()
    }

    /// The old and the new bytes that were set aside; `None` when they were not, or not whole.
    pub(super) fn read(
        &self,
        mark: &SaveId,
        meant: &SaveIntent,
    ) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
        let bytes = match std::fs::read(self.file(mark)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let parts = bytes.split_first_chunk().and_then(|(length, rest)| {
            rest.split_at_checked(usize::try_from(u64::from_be_bytes(*length)).ok()?)
        });
        let is_whole = |(old, new): &(&[u8], &[u8])| {
            (files::digest(old), files::digest(new)) == (meant.old, meant.new)
        };
        let parts = parts.filter(is_whole);
        Ok(parts.map(|(old, new)| (old.to_owned(), new.to_owned())))
    }

    /// Removes what was set aside, once it is not needed any more.
    ///
    /// # Errors
    /// Those of the file system; that nothing was set aside is none.
    pub fn remove(&self, mark: &SaveId) -> io::Result<()> {
        match std::fs::remove_file(self.file(mark)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes all but those of `kept`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn sweep(&self, kept: &[SaveId]) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            if !kept.iter().any(|mark| name == mark.as_str()) {
                std::fs::remove_file(self.0.join(name))?;
            }
        }
        Ok(())
    }

    fn file(&self, mark: &SaveId) -> PathBuf {
        self.0.join(mark.as_str())
    }
}
