//! Saves of canvas documents: which file a document is bound to, and what a save of it leaves.
//! Source: contract 6.5.

use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::{CurrentFile, Digest, FileIdentity, IdentityHistory, SaveConflict, digest};
use crate::{Timestamp, ids::DocumentId};

/// The version of [`Incarnation`].
const VERSION: u64 = 1;
/// What a generation's hash begins with, so that it is no hash of anything else.
const TAG: &str = "guildhall.canvas.incarnation";

/// One binding of a document to a physical file, as clients know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Incarnation {
    /// The version of this form, 1.
    pub v: u64,
    /// The document.
    pub document_id: DocumentId,
    /// When it was bound to its present physical file.
    pub physical_opened_at: Timestamp,
    /// When its room or session was made.
    pub channel_created_at: Timestamp,
    /// SHA-256 of the others, 64 hex digits.
    pub generation: Digest,
}

impl Incarnation {
    /// The incarnation of a document that was bound at `physical_opened_at`.
    pub fn of(
        document_id: DocumentId,
        physical_opened_at: Timestamp,
        channel_created_at: Timestamp,
    ) -> Self {
        let members = json!([
            TAG,
            VERSION,
            document_id,
            physical_opened_at,
            channel_created_at
        ]);
        Self {
            v: VERSION,
            document_id,
            physical_opened_at,
            channel_created_at,
            generation: digest(members.to_string().as_bytes()),
        }
    }
}

/// Reads the id a client gives a save, a UUID in any of its forms; answers the one written form,
/// so that the same id is known again.
pub fn event_id(text: &str) -> Option<String> {
    let id = Uuid::try_parse(text).ok()?;
    Some(id.hyphenated().to_string())
}

/// The incarnation a client means, as it wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IncarnationClaim {
    /// All its members.
    Whole(ClaimedIncarnation),
    /// Its generation alone.
    Generation(String),
}

/// [`Incarnation`] as a client wrote it; nothing of it is read but compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimedIncarnation {
    /// See [`Incarnation::v`].
    pub v: u64,
    /// See [`Incarnation::document_id`].
    pub document_id: String,
    /// See [`Incarnation::physical_opened_at`].
    pub physical_opened_at: String,
    /// See [`Incarnation::channel_created_at`].
    pub channel_created_at: String,
    /// See [`Incarnation::generation`].
    pub generation: String,
}

impl IncarnationClaim {
    /// Whether `incarnation` is meant; every member counts.
    pub fn matches(&self, incarnation: &Incarnation) -> bool {
        let generation = incarnation.generation.to_string();
        match self {
            Self::Generation(claimed) => *claimed == generation,
            Self::Whole(claimed) => {
                *claimed
                    == ClaimedIncarnation {
                        v: incarnation.v,
                        document_id: incarnation.document_id.to_string(),
                        physical_opened_at: incarnation.physical_opened_at.to_string(),
                        channel_created_at: incarnation.channel_created_at.to_string(),
                        generation,
                    }
            }
        }
    }
}

/// Which file a document is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentBinding {
    /// The file's canonical path.
    pub path: String,
    /// Which physical file.
    pub identity: FileIdentity,
    /// The incarnation this binding is.
    pub incarnation: Incarnation,
    /// The saves that were committed since it was bound.
    pub doc_seq: u64,
}

impl DocumentBinding {
    /// A document bound to the file at `path` for the first time, at `now`.
    pub fn first(
        document: DocumentId,
        path: String,
        identity: FileIdentity,
        channel_created_at: Timestamp,
        now: Timestamp,
    ) -> Self {
        Self {
            path,
            identity,
            incarnation: Incarnation::of(document, now, channel_created_at),
            doc_seq: 0,
        }
    }

    /// The binding of the same document to the file that is at `path` now: this one when the file
    /// is still the same or was made of it by our own saves, else a new one, whose incarnation
    /// differs also when no time has passed.
    #[must_use]
    pub fn renewed(
        self,
        path: String,
        current: &FileIdentity,
        lineage: &IdentityHistory,
        now: Timestamp,
    ) -> Self {
        if self.path == path && lineage.holds(current, &self.identity) {
            return Self {
                identity: current.clone(),
                ..self
            };
        }
        let before = self.incarnation.physical_opened_at;
        let after_before = Timestamp::from_millis(before.as_millis() + 1);
        Self::first(
            self.incarnation.document_id,
            path,
            current.clone(),
            self.incarnation.channel_created_at,
            now.max(after_before),
        )
    }
}

/// A save of a document, held against what the document is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentSave {
    /// What it is bound to; `None` for one that was opened before there were bindings.
    pub binding: Option<DocumentBinding>,
    /// The incarnation the client means.
    pub claimed: IncarnationClaim,
    /// The canonical path of the file that is to be saved.
    pub path: String,
}

impl DocumentSave {
    /// Holds back a save of a document that is bound otherwise.
    ///
    /// The bound file's identity is looked at where the save is of that file; a save of another
    /// one is a mismatch, whatever became of the bound one.
    ///
    /// # Errors
    /// Why, in the order of contract 6.4, rows 9 and 10.
    pub(super) fn check(
        &self,
        current: &CurrentFile,
        lineage: &IdentityHistory,
    ) -> Result<(), SaveConflict> {
        let Some(binding) = &self.binding else {
            return Err(SaveConflict::IncarnationChanged);
        };
        if binding.path != self.path {
            return Err(SaveConflict::DocumentFileMismatch);
        }
        if !lineage.holds(&current.identity, &binding.identity) {
            return Err(SaveConflict::IdentityChanged);
        }
        if !self.claimed.matches(&binding.incarnation) {
            return Err(SaveConflict::IncarnationChanged);
        }
        Ok(())
    }
}

/// A committed save of a document, kept as long as the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedSave {
    /// The fingerprint of the request.
    pub request: Digest,
    /// The incarnation it was saved in.
    pub incarnation: Incarnation,
    /// Its number in that incarnation, from 1.
    pub doc_seq: u64,
    /// What the file held after it.
    pub file_hash: Digest,
    /// Which file it was after it.
    pub identity: FileIdentity,
    /// Whether the client may have heard of it: false for one that was found done after a crash.
    pub is_told: bool,
}

/// What a request is answered whose event id was used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// As the first answer would have been, which nobody got.
    First,
    /// That it was done.
    Duplicate,
    /// That the id was used for something else.
    Conflict,
}

impl CompletedSave {
    /// What a request with this fingerprint is answered.
    pub fn replay(&self, request: &Digest) -> ReplayOutcome {
        match (self.request == *request, self.is_told) {
            (false, _) => ReplayOutcome::Conflict,
            (true, false) => ReplayOutcome::First,
            (true, true) => ReplayOutcome::Duplicate,
        }
    }
}

/// Whether a receipt is of the save itself. Source: contract 6.5, "Receipt".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptStatus {
    /// It was saved now.
    Accepted,
    /// It was saved before.
    Duplicate,
}

/// What a client is given for a committed save of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveReceipt {
    /// The document.
    pub document_id: DocumentId,
    /// The client's id of the save.
    pub event_id: String,
    /// The incarnation it was saved in.
    pub incarnation: Incarnation,
    /// Its number in that incarnation.
    pub doc_seq: u64,
    /// What the file held after it.
    pub file_hash: Digest,
    /// Whether it was saved now.
    pub status: ReceiptStatus,
}
