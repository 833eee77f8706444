//! Files: what becomes of a save, given what was asked and what is there.
//! Pure: the effect is `world::file_saving`, rows are `store::files`, deeds and the gate `hall::files`.

pub mod checkbox;
pub mod document_saves;
pub mod recovery;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use self::document_saves::DocumentSave;
use crate::limits;

pub use crate::attachments::Digest;

/// Which physical file a path leads to, as clients know it: opaque, equal for the same file alone.
///
/// Source: contract 6.3, `identity`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileIdentity(String);

impl FileIdentity {
    /// The identity with this written form.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Its written form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The SHA-256 of some bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::digest(bytes).into())
}

/// The SHA-256 of several parts, none of which runs into the next.
///
/// What makes two requests the same; it is stored in their place.
pub fn fingerprint(parts: &[&[u8]]) -> Digest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    Digest::from_bytes(hash.finalize().into())
}

/// Whether a save wrote. Source: contract 6.4, "200 body".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveEffect {
    /// The file holds the new content by this save.
    Changed,
    /// The file was left alone.
    NoOp,
}

/// By which route a file was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveRoute {
    /// The whole content.
    Save,
    /// One checkbox.
    Checkbox,
}

impl SaveRoute {
    /// Every route with its word.
    pub const WORDS: [(Self, &str); 2] = [(Self::Save, "save"), (Self::Checkbox, "checkbox")];
}

/// A file as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentFile {
    /// Which file it is.
    pub identity: FileIdentity,
    /// The SHA-256 of what it holds.
    pub hash: Digest,
}

/// What a save asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveRequest {
    /// The SHA-256 of the new content.
    pub content: Digest,
    /// What the file is to hold before; `None` overwrites whatever it holds.
    pub baseline: Option<Digest>,
    /// Which file is meant, when the client says so.
    pub identity: Option<FileIdentity>,
    /// What makes a retry the same request.
    pub lane: SaveTarget,
}

/// Whether a save is of a canvas document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveTarget {
    /// It is not; holds the request's fingerprint.
    Ordinary(Digest),
    /// It is.
    Document(Box<DocumentSave>),
}

/// The last save of a file that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastSave {
    /// The fingerprint of the request; `None` for a save of a document.
    pub request: Option<Digest>,
    /// What the file held after it.
    pub hash: Digest,
}

/// Which identities the file had before our own saves gave it the present one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentityHistory(pub Vec<FileIdentity>);

impl IdentityHistory {
    /// Whether `identity` is that of `current`, or of a file our saves made it from.
    pub fn holds(&self, current: &FileIdentity, identity: &FileIdentity) -> bool {
        identity == current || self.0.contains(identity)
    }
}

/// What is done when a save may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveVerdict {
    /// The new content is written.
    Write,
    /// It was written before by this very request.
    Retried,
    /// The file holds it already.
    Same,
}

/// Why a save may not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveConflict {
    /// Another file has taken the place of the one that is meant.
    IdentityChanged,
    /// The document shows another file.
    DocumentFileMismatch,
    /// The document was bound anew since.
    IncarnationChanged,
    /// The file holds something else than the baseline.
    Conflict,
}

/// Decides a save.
///
/// # Errors
/// Why it may not be, the first of these that fits.
///
/// Source: contract 6.4, rows 9 to 12.
pub fn decide(
    asked: &SaveRequest,
    current: &CurrentFile,
    last: Option<&LastSave>,
    lineage: &IdentityHistory,
) -> Result<SaveVerdict, SaveConflict> {
    let is_replaced = |identity: &FileIdentity| !lineage.holds(&current.identity, identity);
    if asked.identity.as_ref().is_some_and(is_replaced) {
        return Err(SaveConflict::IdentityChanged);
    }
    match &asked.lane {
        SaveTarget::Document(bound) => bound.check(current, lineage)?,
        SaveTarget::Ordinary(request) => {
            let is_retry = last.is_some_and(|last| {
                last.request.as_ref() == Some(request) && last.hash == current.hash
            });
            if is_retry {
                return Ok(SaveVerdict::Retried);
            }
        }
    }
    if asked
        .baseline
        .is_some_and(|baseline| baseline != current.hash)
    {
        return Err(SaveConflict::Conflict);
    }
    if asked.content == current.hash {
        return Ok(SaveVerdict::Same);
    }
    Ok(SaveVerdict::Write)
}

/// Why bytes are no text that can be edited here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextError {
    /// More than [`limits::FILE_SIZE_MAX`].
    TooLarge,
    /// A NUL byte.
    Binary,
    /// Not UTF-8.
    NotUtf8,
}

/// Reads a file's bytes as text.
///
/// # Errors
/// Why they are none.
///
/// Source: contract 6.3.
pub fn text(bytes: Vec<u8>) -> Result<String, TextError> {
    if bytes.len() as u64 > limits::FILE_SIZE_MAX {
        return Err(TextError::TooLarge);
    }
    if bytes.contains(&0) {
        return Err(TextError::Binary);
    }
    String::from_utf8(bytes).map_err(|_| TextError::NotUtf8)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
