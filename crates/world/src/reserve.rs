//! The reserve: a file that keeps room on the disk, given back when the disk is full, so that
//! removing things, which writes too, still works.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::{FallocateFlags, fallocate};

/// Bytes it keeps.
pub const RESERVE_BYTES: u64 = 64 * 1024 * 1024;
/// Its name in the data folder.
const FILE: &str = "reserve";
/// The unit of [`MetadataExt::blocks`].
const BLOCK_BYTES: u64 = 512;

/// The reserve of one data folder.
#[derive(Clone, Debug)]
pub struct Reserve(PathBuf);

impl Reserve {
    /// The one of the data folder at `data_dir`, made or not.
    pub fn at(data_dir: &Path) -> Self {
        Self(data_dir.join(FILE))
    }

    /// Whether the room is really taken.
    pub fn is_made(&self) -> bool {
        fs::metadata(&self.0).is_ok_and(|file| file.blocks() * BLOCK_BYTES >= RESERVE_BYTES)
    }

    /// Takes the room.
    ///
    /// # Errors
    /// Whatever the file system answers; nothing is left then. `Unsupported` where it cannot
    /// promise room.
    pub fn make(&self) -> io::Result<()> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&self.0)?;
        let made = fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES);
        made.map_err(io::Error::from)
            .and_then(|()| file.sync_all())
            .inspect_err(|_| {
                // What is left of it is of no use; the next making starts from anything.
                let _ = fs::remove_file(&self.0);
            })
    }

    /// Gives the room back.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn release(&self) -> io::Result<()> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_is_really_taken_and_given_back() {
        let scratch = crate::scratch::Scratch::new("reserve");
        let reserve = Reserve::at(scratch.path());
        assert!(!reserve.is_made());
        // A sparse file of the right length keeps no room.
        let sparse = fs::File::create(scratch.path().join(FILE)).unwrap();
        sparse.set_len(RESERVE_BYTES).unwrap();
        assert!(!reserve.is_made());
        for _ in 0..2 {
            reserve.make().unwrap();
            assert!(reserve.is_made());
            reserve.release().unwrap();
            assert!(!reserve.is_made());
        }
        reserve.release().unwrap();
    }
}
