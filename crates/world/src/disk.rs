//! The disk: how much room is left where the data lies, how much a folder takes, and what its
//! errors mean.

use std::{
    collections::HashSet,
    fs::{self, Metadata},
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use guildhall_domain::{Fault, errors::FaultKind};
use rustix::io::Errno;

/// Bytes below which the disk counts as full.
pub const DISK_FREE_MIN_BYTES: u64 = 64 * 1024 * 1024;
/// Files and folders that are counted in one measuring; with more, the rest is not counted.
pub const FILES_MEASURED_MAX: usize = 200_000;
/// The unit of [`MetadataExt::blocks`].
const BLOCK_BYTES: u64 = 512;

/// The room of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRoom {
    /// Bytes of all.
    pub total: u64,
    /// Bytes this process may still write.
    pub free: u64,
}

/// The room where `path` lies.
///
/// # Errors
/// A fault when the file system does not say.
pub fn room(path: &Path) -> Result<DiskRoom, Fault> {
    let stat = rustix::fs::statvfs(path)
        .map_err(|error| Fault::broken("asking for the room left on the disk", error))?;
    Ok(DiskRoom {
        total: stat.f_blocks.saturating_mul(stat.f_frsize),
        free: stat.f_bavail.saturating_mul(stat.f_frsize),
    })
}

/// Bytes this process may still write beneath `path`.
///
/// # Errors
/// A fault when the file system does not say.
pub fn free_bytes(path: &Path) -> Result<u64, Fault> {
    room(path).map(|room| room.free)
}

/// Measures how much of the disk files take; a file with several names counts where it is met
/// first, and never is a link followed.
#[derive(Debug)]
pub struct Measuring {
    /// Files with several names that were counted.
    counted: HashSet<(u64, u64)>,
    left: usize,
}

impl Default for Measuring {
    fn default() -> Self {
        Self {
            counted: HashSet::new(),
            left: FILES_MEASURED_MAX,
        }
    }
}

impl Measuring {
    /// Bytes that a file, or a folder with everything in it, takes; 0 where nothing is.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn bytes_of(&mut self, path: &Path) -> io::Result<u64> {
        let mut open: Vec<PathBuf> = vec![path.to_owned()];
        let mut bytes = 0;
        while let Some(path) = open.pop() {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let found = match fs::symlink_metadata(&path) {
                Ok(found) => found,
                // Removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            bytes += self.count(&found);
            if found.is_dir() {
                for entry in fs::read_dir(&path)? {
                    open.push(entry?.path());
                }
            }
        }
        Ok(bytes)
    }

    /// Whether there were more files than are counted.
    pub fn is_partial(&self) -> bool {
        self.left == 0
    }

    fn count(&mut self, found: &Metadata) -> u64 {
        let has_other_names = found.is_file() && found.nlink() > 1;
        if has_other_names && !self.counted.insert((found.dev(), found.ino())) {
            return 0;
        }
        found.blocks() * BLOCK_BYTES
    }
}

/// What an error at the server's own files means to a caller.
pub(crate) fn fault_kind(error: &io::Error) -> FaultKind {
    match (error.kind(), Errno::from_io_error(error)) {
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, _) => FaultKind::StorageFull,
        // A file system that met an error takes no writes any more.
        (ErrorKind::ReadOnlyFilesystem, _) | (_, Some(Errno::IO)) => FaultKind::StorageIo,
        _ => FaultKind::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_says_how_much_room_is_left() {
        let room = room(&std::env::temp_dir()).unwrap();
        assert!(room.free > 0 && room.total >= room.free);
        assert!(free_bytes(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn a_disk_that_is_full_or_fails_is_told_from_our_mistakes() {
        let kind = |errno: Errno| fault_kind(&errno.into());
        assert_eq!(kind(Errno::NOSPC), FaultKind::StorageFull);
        assert_eq!(kind(Errno::IO), FaultKind::StorageIo);
        assert_eq!(kind(Errno::ROFS), FaultKind::StorageIo);
        assert_eq!(kind(Errno::BADF), FaultKind::Broken);
    }

    #[test]
    fn a_file_with_two_names_counts_once_and_a_link_leads_nowhere() {
        let scratch = crate::scratch::Scratch::new("measuring");
        let (one, two) = (scratch.path().join("one"), scratch.path().join("two"));
        for folder in [&one, &two] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(one.join("file"), vec![7; 100_000]).unwrap();
        fs::hard_link(one.join("file"), two.join("file")).unwrap();
        std::os::unix::fs::symlink("/usr", two.join("link")).unwrap();
        let mut measuring = Measuring::default();
        assert!(measuring.bytes_of(&one).unwrap() >= 100_000);
        assert!(measuring.bytes_of(&two).unwrap() < 100_000);
        assert_eq!(measuring.bytes_of(&two.join("none")).unwrap(), 0);
        assert!(!measuring.is_partial());
        let mut few = Measuring {
            left: 2,
            ..Measuring::default()
        };
        few.bytes_of(scratch.path()).unwrap();
        assert!(few.is_partial());
    }
}
