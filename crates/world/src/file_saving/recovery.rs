//! Recovery: looking what a save left behind that was interrupted, and doing with it what
//! `domain::files::recovery` decides.

use std::{ffi::OsStr, fs::File, io, os::fd::BorrowedFd};

use guildhall_domain::files::{
    Digest,
    recovery::{
        self as rules, FoundFile, JournalState, SaveIntent, SaveRemains, SaveResolution,
        TempFileAction,
    },
};
use rustix::{
    fs::{Mode, OFlags, openat},
    io::Errno,
};

use super::{
    FileLocation, Journals, PhysicalId, SaveId, give_back, hash_of_text, in_place_write, inode_at,
    remove, syncable,
};

/// What became of a save that was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryResult {
    /// It is done, and this is the file now.
    Done(PhysicalId),
    /// Nothing of it remains.
    Undone,
    /// It is to be settled another time; what it set aside or displaced is still needed.
    Open,
}

/// What lies under a name.
pub(super) struct ObservedFile {
    physical: PhysicalId,
    /// A file, with the hash of what it holds when it is as large as is saved.
    file: Option<(File, Option<Digest>)>,
}

/// Settles a save that was interrupted, and makes sure that it stays so.
///
/// # Errors
/// Those of the file system; it can be done again then.
pub fn recover(
    place: FileLocation<'_>,
    mark: &SaveId,
    meant: &SaveIntent,
    journals: &Journals,
) -> io::Result<RecoveryResult> {
    // What is still written lies there, and nothing else.
    remove(place.folder, &mark.temp(place.name))?;
    let swap = mark.swap(place.name);
    let (target, temp) = (
        observe(place.folder, place.name)?,
        observe(place.folder, &swap)?,
    );
    let set_aside = journals.read(mark, meant)?;
    let left = SaveRemains {
        target: target.as_ref().map(ObservedFile::found),
        temp: temp.as_ref().map(ObservedFile::found),
        journal: match (&set_aside, &target) {
            (None, _) => JournalState::None,
            (Some(set_aside), Some(target)) if target.is_torn(set_aside)? => JournalState::OfTorn,
            (Some(_), _) => JournalState::OfOther,
        },
    };
    let settlement = rules::plan_recovery(meant, &left);
    match (settlement.temp, &target) {
        (TempFileAction::Remove, _) => remove(place.folder, &swap)?,
        (
            TempFileAction::GiveBack,
            Some(ObservedFile {
                file: Some((ours, _)),
                ..
            }),
        ) => {
            give_back(place, &swap, ours, meant.new)?;
        }
        (TempFileAction::None | TempFileAction::Leave | TempFileAction::GiveBack, _) => {}
    }
    if let (true, Some(set_aside), Some(target)) = (settlement.restores, set_aside, &target) {
        restore(place, target, &set_aside)?;
    }
    // Before the row goes that tells of it.
    if let Some(folder) = syncable(place.folder)? {
        folder.sync_all()?;
    }
    Ok(match (settlement.end, target) {
        (SaveResolution::Done, Some(target)) => RecoveryResult::Done(target.physical),
        (SaveResolution::Done | SaveResolution::Undone, _) => RecoveryResult::Undone,
        (SaveResolution::Open, _) => RecoveryResult::Open,
    })
}

/// Writes the old bytes back into the file that was seen, if it still is what it was.
pub(super) fn restore(
    place: FileLocation<'_>,
    seen: &ObservedFile,
    set_aside: &(Vec<u8>, Vec<u8>),
) -> io::Result<()> {
    let (old, new) = set_aside;
    if let Some(file) = in_place_write::open(place)?
        && PhysicalId::of(&file.metadata()?) == seen.physical
        && in_place_write::text(&file)?.is_some_and(|found| rules::is_torn(&found, old, new))
    {
        return in_place_write::write_back(&file, old);
    }
    Err(io::Error::other("the file changed while it was looked at"))
}

/// What lies under a name of a folder; `None` when nothing does.
pub(super) fn observe(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<ObservedFile>> {
    if let Some(file) = regular(folder, name)? {
        let (physical, hash) = (PhysicalId::of(&file.metadata()?), hash_of_text(&file)?);
        let file = Some((file, hash));
        return Ok(Some(ObservedFile { physical, file }));
    }
    let found = inode_at(folder, name)?;
    Ok(found.map(|physical| ObservedFile {
        physical,
        file: None,
    }))
}

/// The regular file under a name of a folder, opened for reading; `None` when there is none.
fn regular(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = flags | OFlags::NOCTTY | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        Ok(file) => {
            let file = File::from(file);
            Ok(file.metadata()?.is_file().then_some(file))
        }
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl ObservedFile {
    fn found(&self) -> FoundFile {
        FoundFile {
            inode: self.physical.to_inode(),
            hash: self.file.as_ref().and_then(|(_, hash)| *hash),
        }
    }

    fn is_torn(&self, (old, new): &(Vec<u8>, Vec<u8>)) -> io::Result<bool> {
        let Some((file, _)) = &self.file else {
            return Ok(false);
        };
        let found = in_place_write::text(file)?;
        Ok(found.is_some_and(|found| rules::is_torn(&found, old, new)))
    }
}
