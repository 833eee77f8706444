//! Saving: giving a file other content so that it is whole at every moment, whoever else writes
//! it meanwhile. Everything is reached from the descriptor of the file's folder; which file that
//! may be is `confined_fs`, and whether it may be saved `domain::files`.
//!
//! Source: contract 6.6, steps 4 to 7 and the special targets.

mod attributes;
mod fault_hooks;
mod in_place_write;
mod journals;
mod recovery;
mod temp_file;

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::BorrowedFd,
        unix::fs::{FileExt, MetadataExt},
    },
};

use guildhall_domain::{Fault, files::Digest, limits};
use rustix::{
    fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat},
    io::Errno,
};
use sha2::{Digest as _, Sha256};

pub use fault_hooks::{SaveStep, at};
pub use journals::Journals;
pub use recovery::{RecoveryResult, recover};
use temp_file::TempFile;

use crate::{confined_fs::PhysicalId, host_key::hex, secret_tokens};

/// Bytes that are hashed at once.
const PIECE: usize = 64 << 10;
/// Bytes of a name that file systems take.
const NAME_BYTES_MAX: usize = 255;
/// What the names of temporary files end with, while they are written and for the exchange.
const TEMP_ENDING: &str = ".guildhall-tmp";
const SWAP_ENDING: &str = ".swap.guildhall-tmp";

/// What is asked at every step of a save: an error makes the save fail there.
pub type StepHook<'a> = &'a dyn Fn(SaveStep) -> io::Result<()>;

/// The name of one save, by which its temporary file and its journal are found: 16 hex digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveId(String);

impl SaveId {
    /// A new one.
    ///
    /// # Errors
    /// A fault when the machine gives no randomness.
    pub fn new() -> Result<Self, Fault> {
        let bytes = secret_tokens::random::<8>("naming a save")?;
        Ok(Self(hex(&bytes)))
    }

    /// One that was kept.
    pub fn kept(text: String) -> Self {
        Self(text)
    }

    /// As it is kept.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name under which a file is written that is to take the place of one called `name`.
    fn temp(&self, name: &OsStr) -> OsString {
        self.beside(name, TEMP_ENDING)
    }

    /// The name it has once it is whole, and from which it is exchanged: what was displaced lies
    /// there then, so that nothing half written and nothing of others are ever mixed up.
    fn swap(&self, name: &OsStr) -> OsString {
        self.beside(name, SWAP_ENDING)
    }

    /// A hidden name beside `name`; one that would be too long for the file system is cut.
    fn beside(&self, name: &OsStr, ending: &str) -> OsString {
        let ending = format!(".{}{ending}", self.0);
        let room = NAME_BYTES_MAX - 1 - ending.len();
        let name = name.to_string_lossy();
        let mut end = name.len().min(room);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        format!(".{}{ending}", &name[..end]).into()
    }
}

/// Where a file lies: the folder it really is in, and its name there.
#[derive(Clone, Copy, Debug)]
pub struct FileLocation<'a> {
    /// The folder.
    pub folder: BorrowedFd<'a>,
    /// The name.
    pub name: &'a OsStr,
}

/// A save that was decided.
#[derive(Clone, Copy, Debug)]
pub struct PlannedSave<'a> {
    /// Where the file lies.
    pub place: FileLocation<'a>,
    /// The file, opened for reading; kept open to the end, because an inode's number is given to
    /// another file as soon as it is free.
    pub file: &'a File,
    /// The SHA-256 of what it holds.
    pub old: Digest,
    /// What it is to hold.
    pub content: &'a [u8],
    /// The SHA-256 of that.
    pub new: Digest,
    /// The save's name.
    pub mark: &'a SaveId,
    /// Where old bytes are set aside.
    pub journals: &'a Journals,
}

/// Why a file was not saved; it holds what it held, or what another writer gave it.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Another file took its place meanwhile.
    #[error("the file was replaced meanwhile")]
    Replaced,
    /// Somebody wrote into it meanwhile.
    #[error("the file was written meanwhile")]
    Rewritten,
    /// The system refused.
    #[error("the system refused: {0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for SaveError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

/// Gives the file its new content; answers which file it is then.
///
/// This is the whole order of a save: another file is written beside it, the two exchange their
/// names, and what was displaced is looked at and removed. A file that cannot be exchanged is
/// written in place.
///
/// # Errors
/// Why not; nothing of ours is left in the folder then, or its intent is needed.
pub fn replace(save: &PlannedSave<'_>, at: StepHook<'_>) -> Result<PhysicalId, SaveError> {
    let before = save.file.metadata()?;
    let id0 = PhysicalId::of(&before);
    if before.nlink() > 1 {
        return in_place_write::write(save, &id0, at);
    }
    let Some(mut temp) = TempFile::make(save)? else {
        return in_place_write::write(save, &id0, at);
    };
    at(SaveStep::TempMade)?;
    write_halves(&temp.file, save.content, || at(SaveStep::TempHalfWritten))?;
    at(SaveStep::TempWritten)?;
    if attributes::copy(save.file, &before, &temp.file).is_err() {
        drop(temp);
        return in_place_write::write(save, &id0, at);
    }
    at(SaveStep::AttributesCopied)?;
    temp.file.sync_all()?;
    at(SaveStep::TempSynced)?;
    // While nobody else has it: once it is at its place, others may write in it.
    if !holds(&temp.file, save.new)? {
        return Err(io::Error::other("the file does not hold what was written").into());
    }
    at(SaveStep::ReadBack)?;
    temp.make_ready()?;
    at(SaveStep::Ready)?;
    match exchange(save.place, &temp.name) {
        Ok(()) => temp.is_ours = false,
        Err(Errno::NOENT) => return Err(SaveError::Replaced),
        Err(error) if is_unsupported(error) => return rename_over(save, &id0, temp, at),
        Err(error) => return Err(error.into()),
    }
    if let Err(failure) = confirm(save, &id0, &temp, at) {
        // What cannot be given back now is by the next start, because its intent is kept.
        let _ = give_back(save.place, &temp.name, &temp.file, save.new);
        return Err(failure);
    }
    // The save is done: whatever fails from here on, it is not undone.
    let _ = at(SaveStep::Unlinked);
    temp.folder.sync_all()?;
    Ok(temp.inode)
}

/// Looks whether what was displaced is the file that was meant, makes the exchange last, and
/// removes what was displaced.
fn confirm(
    save: &PlannedSave<'_>,
    id0: &PhysicalId,
    temp: &TempFile<'_>,
    at: StepHook<'_>,
) -> Result<(), SaveError> {
    at(SaveStep::Exchanged)?;
    if inode_at(save.place.folder, &temp.name)? != Some(*id0) {
        return Err(SaveError::Replaced);
    }
    if !holds(save.file, save.old)? {
        return Err(SaveError::Rewritten);
    }
    at(SaveStep::Checked)?;
    temp.folder.sync_all()?;
    at(SaveStep::FolderSynced)?;
    Ok(remove(save.place.folder, &temp.name)?)
}

/// The same where two names cannot be exchanged: between the look and the rename another's file
/// can be lost, which is the small window the contract allows.
fn rename_over(
    save: &PlannedSave<'_>,
    id0: &PhysicalId,
    mut temp: TempFile<'_>,
    at: StepHook<'_>,
) -> Result<PhysicalId, SaveError> {
    let FileLocation { folder, name } = save.place;
    if inode_at(folder, name)? != Some(*id0) {
        return Err(SaveError::Replaced);
    }
    if !holds(save.file, save.old)? {
        return Err(SaveError::Rewritten);
    }
    renameat(folder, &temp.name, folder, name)?;
    temp.is_ours = false;
    at(SaveStep::Exchanged)?;
    temp.folder.sync_all()?;
    at(SaveStep::FolderSynced)?;
    Ok(temp.inode)
}

/// Gives what was displaced its place back and removes `ours`, which holds `new`.
///
/// Where yet another file has taken the place meanwhile, or others wrote into ours, theirs stays:
/// it replaced what was displaced as much as ours.
fn give_back(
    place: FileLocation<'_>,
    displaced: &OsStr,
    ours: &File,
    new: Digest,
) -> io::Result<()> {
    exchange(place, displaced)?;
    let taken_back = inode_at(place.folder, displaced)?;
    let is_ours = taken_back == Some(PhysicalId::of(&ours.metadata()?)) && holds(ours, new)?;
    if !is_ours {
        exchange(place, displaced)?;
    }
    Ok(remove(place.folder, displaced)?)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(place: FileLocation<'_>, other: &OsStr) -> Result<(), Errno> {
    use rustix::fs::{RenameFlags, renameat_with};
    let flags = RenameFlags::EXCHANGE;
    renameat_with(place.folder, other, place.folder, place.name, flags)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_place: FileLocation<'_>, _other: &OsStr) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

fn is_denied(error: Errno) -> bool {
    matches!(error, Errno::ACCESS | Errno::PERM | Errno::ROFS)
}

/// Writes all of `content` from the beginning of the file, and stops half way for `between`.
fn write_halves(
    file: &File,
    content: &[u8],
    between: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let (first, second) = content.split_at(content.len() / 2);
    file.write_all_at(first, 0)?;
    between()?;
    file.write_all_at(second, first.len() as u64)
}

/// The SHA-256 of a file as large as is saved; `None` of a larger one, however much it grows.
fn hash_of_text(file: &File) -> io::Result<Option<Digest>> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE];
    let mut place = 0;
    loop {
        match file.read_at(&mut piece, place) {
            Ok(0) => return Ok(Some(Digest::from_bytes(hash.finalize().into()))),
            Ok(count) => {
                hash.update(&piece[..count]);
                place += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if place > limits::FILE_SIZE_MAX {
            return Ok(None);
        }
    }
}

/// Whether a file holds the content with this SHA-256.
fn holds(file: &File, content: Digest) -> io::Result<bool> {
    Ok(hash_of_text(file)? == Some(content))
}

/// What lies under a name of a folder; `None` when nothing does.
fn inode_at(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<PhysicalId>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    let flags = OFlags::PATH | (flags & OFlags::CLOEXEC);
    match openat(folder, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(file) => Ok(Some(PhysicalId::of(&File::from(file).metadata()?))),
        Err(Errno::NOENT) => Ok(None),
        // A link, where it cannot be opened itself: it is no file that was meant.
        Err(Errno::LOOP) => Ok(Some(PhysicalId {
            dev: 0,
            ino: 0,
            born: None,
        })),
        Err(error) => Err(error.into()),
    }
}

/// Removes a name of a folder; that nothing lies there is fine.
fn remove(folder: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::NOENT) | Ok(()) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a folder so that it can be synced; `None` where it does not let itself be read.
fn syncable(folder: BorrowedFd<'_>) -> Result<Option<File>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(folder, ".", flags, Mode::empty()) {
        Ok(folder) => Ok(Some(folder.into())),
        Err(error) if is_denied(error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[path = "file_saving_tests.rs"]
mod tests;
