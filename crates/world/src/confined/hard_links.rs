//! Hard links: a file of the data folder may have another name in a folder that callers reach.
//! Such a name leads to the data folder as a path into it does.
//!
//! Files with one name, nearly all, cost nothing. For another one every name in the data folder is
//! looked at, because a count of names says nothing: package managers and git link files too.

use std::{fs::Metadata, os::unix::fs::MetadataExt};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat},
    io::{Errno, Result},
};

use super::walk::{Base, file_type};

/// Whether this is a file of `data`.
///
/// # Errors
/// Where that cannot be looked up.
pub(super) fn is_of(data: &Base, file: &Metadata) -> Result<bool> {
    if file.nlink() < 2 {
        return Ok(false);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folders = vec![openat(&data.descriptor, ".", flags, Mode::empty())?];
    while let Some(folder) = folders.pop() {
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let stat = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            if (stat.st_dev, stat.st_ino) == (file.dev(), file.ino()) {
                return Ok(true);
            }
            if file_type(&stat) == FileType::Directory {
                match openat(&folder, name, flags, Mode::empty()) {
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                    opened => folders.push(opened?),
                }
            }
        }
    }
    Ok(false)
}
