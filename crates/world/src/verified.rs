//! Verified files: those that were read whole and hold what their digest says, so that a part of a
//! large one is read without reading the rest again.
//! A file counts until the file system says that it changed. A disk that damages a file says
//! nothing: that is found by whoever reads it whole again, as the check of attachments does.

use std::{
    collections::HashMap,
    fs::File,
    io,
    os::unix::fs::MetadataExt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use guildhall_domain::attachments::Digest;

/// Files remembered; with one more, the one that was asked for longest ago is forgotten.
const FILES_MAX: usize = 4_096;

/// Which files were verified.
#[derive(Debug, Default)]
pub(crate) struct VerifiedFiles(
    /// A std mutex: held for single look-ups and never over an await.
    Mutex<Known>,
);

#[derive(Debug, Default)]
struct Known {
    files: HashMap<FileState, Verified>,
    /// Counts the look-ups, as their time.
    uses: u64,
}

#[derive(Debug)]
struct Verified {
    digest: Digest,
    used: u64,
}

/// A file as it is: every change of its bytes through the file system makes another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileState {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileState {
    /// What the file system says of an open file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let now = file.metadata()?;
        Ok(Self {
            device: now.dev(),
            inode: now.ino(),
            size: now.size(),
            modified: (now.mtime(), now.mtime_nsec()),
            changed: (now.ctime(), now.ctime_nsec()),
        })
    }
}

impl VerifiedFiles {
    /// Whether the file in this state was found to hold what `digest` says.
    pub(crate) fn holds(&self, state: FileState, digest: Digest) -> bool {
        let mut known = self.known();
        known.uses += 1;
        let now = known.uses;
        let found = known.files.get_mut(&state);
        found.is_some_and(|verified| {
            verified.used = now;
            verified.digest == digest
        })
    }

    /// Remembers that the file holds what `digest` says; `before` is its state before it was read.
    pub(crate) fn remember(&self, before: FileState, file: &File, digest: Digest) {
        // One that changed while it was read is verified again the next time.
        if FileState::of(file).is_ok_and(|after| after == before) {
            self.insert(before, digest);
        }
    }

    fn insert(&self, state: FileState, digest: Digest) {
        let mut known = self.known();
        known.uses += 1;
        if known.files.len() >= FILES_MAX && !known.files.contains_key(&state) {
            let oldest = known.files.iter().min_by_key(|(_, verified)| verified.used);
            if let Some(oldest) = oldest.map(|(state, _)| *state) {
                known.files.remove(&oldest);
            }
        }
        let used = known.uses;
        known.files.insert(state, Verified { digest, used });
    }

    /// Forgets a file, whose bytes are others although the file system says nothing of it.
    pub(crate) fn forget(&self, state: FileState) {
        self.known().files.remove(&state);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(inode: u64) -> FileState {
        FileState {
            device: 1,
            inode,
            size: 1,
            modified: (0, 0),
            changed: (0, 0),
        }
    }

    #[test]
    fn a_file_counts_until_anything_of_its_state_is_another() {
        let files = VerifiedFiles::default();
        let (digest, other) = (Digest::from_bytes([1; 32]), Digest::from_bytes([2; 32]));
        files.insert(state(1), digest);
        assert!(files.holds(state(1), digest));
        assert!(!files.holds(state(1), other));
        let changed = [
            FileState {
                device: 2,
                ..state(1)
            },
            FileState {
                inode: 2,
                ..state(1)
            },
            FileState {
                size: 2,
                ..state(1)
            },
            FileState {
                modified: (0, 1),
                ..state(1)
            },
            FileState {
                changed: (0, 1),
                ..state(1)
            },
        ];
        for changed in changed {
            assert!(!files.holds(changed, digest), "{changed:?}");
        }
        files.forget(state(1));
        assert!(!files.holds(state(1), digest));
    }

    #[test]
    fn the_file_that_was_asked_for_longest_ago_is_forgotten_first() {
        let files = VerifiedFiles::default();
        let digest = Digest::from_bytes([1; 32]);
        for inode in 0..FILES_MAX as u64 {
            files.insert(state(inode), digest);
        }
        assert!(files.holds(state(0), digest));
        files.insert(state(FILES_MAX as u64), digest);
        assert!(files.holds(state(0), digest), "just asked for");
        assert!(!files.holds(state(1), digest));
        assert_eq!(files.known().files.len(), FILES_MAX);
    }
}
