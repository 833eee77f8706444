//! What the folders above one say of it: which copy of a project it belongs to, and which of its
//! names the project ignores.

use std::{
    ffi::OsStr,
    fs::File,
    io::Read,
    os::fd::{AsFd, BorrowedFd},
};

use guildhall_domain::canvas::TreeKind;
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, openat, statat},
    io::Errno,
};

use super::{
    folder::Folder,
    path_walk::{self, InodeId},
};

/// The copy of a project that `folder` lies in, by the nearest `.git` up to the folder `stop`.
pub(super) fn of(folder: &Folder, stop: InodeId) -> TreeKind {
    let mut tree = None;
    // What cannot be looked into is no sign of a repository.
    let _ = path_walk::walk_up(&folder.own().descriptor, stop, |folder, _| {
        tree = at(folder);
        match tree {
            None => Ok(()),
            // The nearest one decides.
            Some(_) => Err(Errno::CANCELED),
        }
    });
    tree.unwrap_or_default()
}

/// The `.gitignore` of each folder above `folder`, nearest first, up to the top of its repository;
/// none where that is not seen from the effective root. What is read is taken off `budget`.
pub(crate) fn ignored_above(folder: &Folder, budget: &mut u64) -> Vec<Option<String>> {
    let (own, within) = (folder.own(), folder.effective_root());
    let mut found = Vec::new();
    let top = path_walk::walk_up(&own.descriptor, within.here, |above, here| {
        if here != own.here {
            found.push(ignored_in(above, budget));
        }
        let git = statat(above, ".git", AtFlags::SYMLINK_NOFOLLOW);
        match git {
            Ok(_) => Err(Errno::CANCELED),
            Err(_) => Ok(()),
        }
    });
    match top {
        Err(Errno::CANCELED) => found,
        Ok(()) | Err(_) => Vec::new(),
    }
}

/// The `.gitignore` of a folder, as far as `budget` reaches, which it is taken off: rules take a
/// hundred times the memory they are written with. As a link it is none, as it is for git.
pub(crate) fn ignored_in(folder: impl AsFd, budget: &mut u64) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let flags = flags | OFlags::CLOEXEC;
    let file = File::from(openat(folder, ".gitignore", flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(*budget).read_to_end(&mut bytes).ok()?;
    *budget -= bytes.len() as u64;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a `.git` says of the folder it lies in. A folder is a repository's own, a file leads to
/// the repository: from a linked working tree into its `worktrees`, else from a submodule.
fn at(folder: BorrowedFd<'_>) -> Option<TreeKind> {
    /// Bytes of such a file that are read: a path and a word before it.
    const GIT_FILE_BYTES_MAX: u64 = 8_192;
    let git = OsStr::new(".git");
    let stat = statat(folder, git, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if path_walk::file_type(&stat) != FileType::RegularFile {
        return Some(TreeKind::RoomMain);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let mut text = Vec::new();
    // What cannot be read is no sign of a linked working tree.
    let file = openat(folder, git, flags | OFlags::CLOEXEC, Mode::empty()).map(File::from);
    let file = file.map(|file| file.take(GIT_FILE_BYTES_MAX));
    let is_read = file.is_ok_and(|mut file| file.read_to_end(&mut text).is_ok());
    let is_linked = is_read && String::from_utf8_lossy(&text).contains("/worktrees/");
    Some(if is_linked {
        TreeKind::Worktree
    } else {
        TreeKind::RoomMain
    })
}
