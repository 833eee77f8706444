//! Text files: reading one whole, with what it is now.

use guildhall_domain::{
    Refusal, Result,
    errors::FileNow,
    files::{Current, Identity, NoText},
    limits,
};
use guildhall_world::{
    confined_fs::{Confined, Reach, Target},
    file_reads::{Held, held},
};

/// A file with what it holds.
pub(crate) struct TextFile {
    /// The file and where it really lies.
    pub(crate) target: Target,
    /// Which file it is, and the hash of what it holds.
    pub(crate) current: Current,
    /// What it holds, or why that is no text.
    pub(crate) text: Result<String, NoText>,
}

impl TextFile {
    /// What the file of `target` is, while it has at most `most` bytes.
    ///
    /// # Errors
    /// [`Refusal::FileTooLarge`], those of reading it.
    pub(crate) fn of(confined: &Confined, target: Target, most: u64) -> Result<Self> {
        let identity = Identity::new(confined.identity(target.file.physical()));
        let Held { hash, text, .. } = held(&target.file, most)?;
        Ok(Self {
            target,
            current: Current { identity, hash },
            text,
        })
    }

    /// The text file at an absolute path, within what the caller reaches.
    ///
    /// # Errors
    /// The refusals of contract 6.1, [`Refusal::NotAFile`], [`Refusal::FileTooLarge`].
    pub(crate) fn within(confined: &Confined, reach: &Reach, path: &str) -> Result<Self> {
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
    pub(crate) fn now(self) -> FileNow {
        FileNow {
            hash: self.current.hash,
            content: self.text.ok(),
            identity: self.current.identity,
        }
    }
}
