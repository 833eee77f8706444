//! Hard links: a file of the data folder may have another name in a folder that callers reach.
//! Such a name leads to the data folder as a path into it does.
//!
//! Files with one name, nearly all, cost nothing. For others every name in the data folder is
//! looked at, because a count of names says nothing: package managers and git link files too.
//! What was seen then counts for every file that has not changed since: a new name changes the
//! file's own time of change (`ctime`), which no program can set.

use std::{
    collections::HashSet,
    fs::Metadata,
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat},
    io::{Errno, Result},
};

use super::path_walk::{BaseFolder, InodeId, file_type};

/// How much earlier than a look a file must have changed for the look to count: more than clocks
/// of file systems are coarse.
const MARGIN: Duration = Duration::from_secs(2);

/// A folder that no path and no other name of a file may lead into.
#[derive(Debug)]
pub(super) struct GuardedFolder {
    /// Held open so that its numbers stay its own.
    base: BaseFolder,
    /// A std mutex: callers are on threads that may wait, and one look serves them all.
    last: Mutex<Option<HardLinkScan>>,
}

/// What a look into the folder found.
#[derive(Debug)]
struct HardLinkScan {
    began: SystemTime,
    /// Files with more names than one, by device and inode.
    linked: HashSet<(u64, u64)>,
}

impl GuardedFolder {
    /// Opens the folder at `path`.
    ///
    /// # Errors
    /// Those of opening it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            base: BaseFolder::open(path)?,
            last: Mutex::default(),
        })
    }

    /// The folder itself.
    pub(super) fn here(&self) -> InodeId {
        self.base.here
    }

    /// The folder it lies in.
    ///
    /// # Errors
    /// Where that cannot be looked up.
    pub(super) fn above(&self) -> Result<InodeId> {
        InodeId::at(&self.base.descriptor, "..".as_ref())
    }

    /// Whether an open file is one of the folder's.
    ///
    /// # Errors
    /// Where that cannot be looked up.
    pub(super) fn holds(&self, file: &Metadata) -> Result<bool> {
        if file.nlink() < 2 {
            return Ok(false);
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let look = match last.take() {
            Some(look) if is_before(file, look.began) => look,
            _ => HardLinkScan {
                began: now(),
                linked: linked(&self.base)?,
            },
        };
        let is_held = look.linked.contains(&(file.dev(), file.ino()));
        *last = Some(look);
        Ok(is_held)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "compared with times that the kernel gave to files"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Whether a file last changed surely before `began`.
fn is_before(file: &Metadata, began: SystemTime) -> bool {
    let Some(limit) = began.checked_sub(MARGIN) else {
        return false;
    };
    let changed = u64::try_from(file.ctime()).map(Duration::from_secs);
    changed.is_ok_and(|changed| UNIX_EPOCH + changed < limit)
}

/// The files below a folder that have more names than one.
fn linked(folder: &BaseFolder) -> Result<HashSet<(u64, u64)>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folders = vec![openat(&folder.descriptor, ".", flags, Mode::empty())?];
    let mut linked = HashSet::new();
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
            if file_type(&stat) == FileType::Directory {
                match openat(&folder, name, flags, Mode::empty()) {
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                    opened => folders.push(opened?),
                }
            } else if stat.st_nlink > 1 {
                linked.insert((stat.st_dev, stat.st_ino));
            }
        }
    }
    Ok(linked)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_look_counts_for_files_that_have_not_changed_since() {
        let scratch = Scratch::new("hard-links");
        let (data, other) = (scratch.path().join("data"), scratch.path().join("other"));
        fs::create_dir(&data).unwrap();
        fs::write(data.join("secret"), "text").unwrap();
        fs::write(&other, "text").unwrap();
        fs::hard_link(&other, scratch.path().join("other again")).unwrap();
        let guarded = GuardedFolder::open(&data).unwrap();
        let of = |name: &str| {
            let file = File::open(scratch.path().join(name)).unwrap();
            guarded.holds(&file.metadata().unwrap()).unwrap()
        };
        assert!(!of("other"));
        // A name that is given after the look is seen all the same.
        fs::hard_link(data.join("secret"), scratch.path().join("found")).unwrap();
        assert!(of("found"));
        assert!(!of("other"));
        // What changed long before the look is answered by it.
        let metadata = File::open(&other).unwrap().metadata().unwrap();
        let later = now() + Duration::from_secs(60);
        *guarded.last.lock().unwrap() = Some(HardLinkScan {
            began: later,
            linked: HashSet::from([(metadata.dev(), metadata.ino())]),
        });
        assert!(of("other"), "the look was not repeated");
        assert!(!is_before(&metadata, now()));
    }
}
