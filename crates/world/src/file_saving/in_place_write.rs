//! Writing in place: for a file that has several names, lies in a folder that takes no file, or
//! has attributes that cannot be given to another. It stays the same file.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
};

use guildhall_domain::{files, limits};
use rustix::{
    fs::{Mode, OFlags, openat},
    io::Errno,
};

use super::{
    FileLocation, PhysicalId, PlannedSave, SaveError, SaveStep, StepHook, holds, inode_at,
    write_halves,
};

/// Writes the new content over the old, which is set aside before; answers which file it is.
pub(super) fn write(
    save: &PlannedSave<'_>,
    id0: &PhysicalId,
    at: StepHook<'_>,
) -> Result<PhysicalId, SaveError> {
    let Some(file) = open(save.place)? else {
        return Err(SaveError::Replaced);
    };
    if PhysicalId::of(&file.metadata()?) != *id0 {
        return Err(SaveError::Replaced);
    }
    let Some(old) = text(&file)?.filter(|old| files::digest(old) == save.old) else {
        return Err(SaveError::Rewritten);
    };
    let written = journaled(save, id0, (&file, &old), at);
    let is_torn = matches!(written, Err(SaveError::Io(_)))
        && !holds(&file, save.old).is_ok_and(|is_old| is_old);
    if !is_torn {
        // From here on it would undo what others write. What stays is removed at the next start.
        let _ = save.journals.remove(save.mark);
    }
    written.map(|()| *id0)
}

/// Sets the old bytes aside and writes the new ones.
fn journaled(
    save: &PlannedSave<'_>,
    id0: &PhysicalId,
    (file, old): (&File, &[u8]),
    at: StepHook<'_>,
) -> Result<(), SaveError> {
    let is_there =
        || Ok::<_, SaveError>(inode_at(save.place.folder, save.place.name)? == Some(*id0));
    save.journals
        .write_journal(save.mark, (old, save.content), at)?;
    at(SaveStep::Journaled)?;
    // That took its time, in which others may have come.
    if !is_there()? {
        return Err(SaveError::Replaced);
    }
    if !holds(file, save.old)? {
        return Err(SaveError::Rewritten);
    }
    fill(file, save, at).inspect_err(|_| {
        // What cannot be written back now is by the next start, because its intent is kept.
        let _ = write_back(file, old);
    })?;
    // Whoever wrote since has the last word.
    if !holds(file, save.new)? {
        return Err(SaveError::Rewritten);
    }
    if !is_there()? {
        // Nothing of ours stays under the other names of a file that was replaced.
        write_back(file, old)?;
        return Err(SaveError::Replaced);
    }
    Ok(())
}

fn fill(file: &File, save: &PlannedSave<'_>, at: StepHook<'_>) -> io::Result<()> {
    write_halves(file, save.content, || at(SaveStep::HalfWritten))?;
    file.set_len(save.content.len() as u64)?;
    file.sync_all()?;
    at(SaveStep::Written)
}

/// Gives a file the bytes back that were set aside.
pub(super) fn write_back(file: &File, old: &[u8]) -> io::Result<()> {
    file.write_all_at(old, 0)?;
    file.set_len(old.len() as u64)?;
    file.sync_all()
}

/// Opens the file at a place for reading and writing; `None` where no file is any more.
pub(super) fn open(place: FileLocation<'_>) -> Result<Option<File>, Errno> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = flags | OFlags::NOCTTY | OFlags::CLOEXEC;
    match openat(place.folder, place.name, flags, Mode::empty()) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => Ok(None),
        Err(error) => Err(error),
    }
}

/// All that a file holds, read from its beginning; `None` of more than is ever saved.
pub(super) fn text(mut file: &File) -> io::Result<Option<Vec<u8>>> {
    let most = limits::FILE_SIZE_MAX;
    let mut bytes = Vec::new();
    io::Seek::rewind(&mut file)?;
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}
