//! What is known of the store from one start to the next, beside it in the data folder: whether a
//! server has it open, when it was checked, and damage that was noticed.
//! A file of its own, because a damaged store is not written any more.

use std::{io, path::Path};

use guildhall_domain::Timestamp;
use serde::{Deserialize, Serialize};

use crate::data_dir::write_private;

/// The file's name in the data folder.
const FILE: &str = "run/store-state.json";

/// What is known of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreState {
    /// Whether a server has it open; at a start, whether the last one ended badly.
    pub is_open: bool,
    /// When it was checked last, in milliseconds since 1970.
    pub checked_at_ms: i64,
    /// The newest event that was known to be on the disk; none of it may be missing later.
    #[serde(default)]
    pub newest_seq: u64,
    /// The damage noticed, until a check of the whole file finds none.
    pub damage: Option<String>,
    /// When all attachments were checked last, in milliseconds since 1970; 0 before that.
    #[serde(default)]
    pub attachments_checked_at_ms: i64,
    /// Digests of attachments that were found damaged then and could not be restored.
    #[serde(default)]
    pub attachments_damaged: Vec<String>,
    /// Whether the disk was full and the reserve is not made again yet.
    #[serde(default)]
    pub is_reserve_released: bool,
}

impl StoreState {
    /// What the data folder at `data_dir` says; `None` before the first start.
    ///
    /// A file that cannot be read counts as one of a server that ended badly.
    pub fn read(data_dir: &Path) -> Option<Self> {
        match std::fs::read(data_dir.join(FILE)) {
            Ok(bytes) => Some(serde_json::from_slice(&bytes).unwrap_or(Self {
                is_open: true,
                ..Self::default()
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => Some(Self {
                is_open: true,
                ..Self::default()
            }),
        }
    }

    /// Keeps it, whole or not at all.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn write(&self, data_dir: &Path) -> io::Result<()> {
        let text = serde_json::to_string(self)?;
        write_private(&data_dir.join(FILE), &text)
    }

    /// Forgets it: another store takes the place of the one it tells of.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn remove(data_dir: &Path) -> io::Result<()> {
        match std::fs::remove_file(data_dir.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// When it was checked last.
    pub fn checked_at(&self) -> Timestamp {
        Timestamp::from_millis(self.checked_at_ms)
    }

    /// When all attachments were checked last; `None` before the first time.
    pub fn attachments_checked_at(&self) -> Option<Timestamp> {
        let at = self.attachments_checked_at_ms;
        (at > 0).then(|| Timestamp::from_millis(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_outlives_the_process_and_what_is_unreadable_counts_as_a_bad_end() {
        let scratch = crate::scratch::Scratch::new("store-state");
        let data = scratch.path();
        std::fs::create_dir(data.join("run")).unwrap();
        assert_eq!(StoreState::read(data), None);
        let state = StoreState {
            is_open: false,
            checked_at_ms: 7,
            newest_seq: 3,
            damage: Some("page 3".to_owned()),
            attachments_checked_at_ms: 8,
            attachments_damaged: vec!["ab".to_owned()],
            is_reserve_released: true,
        };
        state.write(data).unwrap();
        assert_eq!(StoreState::read(data), Some(state));
        std::fs::write(data.join(FILE), "{").unwrap();
        assert!(StoreState::read(data).unwrap().is_open);
        StoreState::remove(data).unwrap();
        StoreState::remove(data).unwrap();
        assert_eq!(StoreState::read(data), None);
    }
}
