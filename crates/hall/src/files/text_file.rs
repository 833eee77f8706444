//! Text files: reading one whole, with what it is now.

use guildhall_domain::{
    Refusal, Result,
    errors::ConflictingFile,
    files::{CurrentFile, FileIdentity, TextError},
    limits,
};
use guildhall_world::{
    confined_fs::{ConfinedFs, FileScope, ReplaceTarget},
    file_reads::{HashedText, read_text},
};

/// A file with what it holds.
pub(crate) struct TextFile {
    /// The file and where it really lies.
    pub(crate) target: ReplaceTarget,
    /// Which file it is, and the hash of what it holds.
    pub(crate) current: CurrentFile,
    /// What it holds, or why that is no text.
    pub(crate) text: Result<String, TextError>,
}

impl TextFile {
    /// What the file of `target` is, while it has at most `most` bytes.
    ///
    /// # Errors
    /// [`Refusal::FileTooLarge`], those of reading it.
    pub(crate) fn of(confined: &ConfinedFs, target: ReplaceTarget, most: u64) -> Result<Self> {
        let identity = FileIdentity::new(confined.identity(target.file.physical()));
        let HashedText { hash, text, .. } = read_text(&target.file, most)?;
        Ok(Self {
            target,
            current: CurrentFile { identity, hash },
            text,
        })
    }

    /// The text file at an absolute path, within what the caller reaches.
    ///
    /// # Errors
    /// The refusals of contract 6.1, [`Refusal::NotAFile`], [`Refusal::FileTooLarge`].
    pub(crate) fn within(confined: &ConfinedFs, reach: &FileScope, path: &str) -> Result<Self> {
        let target = confined.target(reach, path)?;
        Self::of(confined, target, limits::FILE_SIZE_MAX)
    }

    /// The text, taken out.
    ///
    /// # Errors
    /// [`Refusal::FileTooLarge`], [`Refusal::BinaryFile`], [`Refusal::NotUtf8`].
    pub(crate) fn take_text(&mut self) -> Result<String, Refusal> {
        let text = std::mem::replace(&mut self.text, Ok(String::new()));
        text.map_err(Refusal::from)
    }

    /// What is told to a caller that meant it otherwise.
    pub(crate) fn now(self) -> ConflictingFile {
        ConflictingFile {
            hash: self.current.hash,
            content: self.text.ok(),
            identity: self.current.identity,
        }
    }
}
