//! Jobs: what is asked of one file, in the form that is decided and noted.

use guildhall_domain::{
    Result,
    callers::Caller,
    files::{
        self as rules, Digest, FileIdentity, SaveRequest, SaveRoute, SaveTarget,
        document_saves::{DocumentBinding, DocumentSave},
        recovery::SaveIntent,
    },
    limits,
};
use guildhall_store::files::SaveIntentRow;
use guildhall_world::file_saving::SaveId;

use super::{
    save::{DocumentSaveRequest, OpenedFile},
    text_file::TextFile,
};

/// What is asked of a file, and by whom.
pub(super) struct SaveJob {
    pub(super) by: Caller,
    pub(super) cwd: String,
    pub(super) path: String,
    pub(super) deed: SaveAction,
    /// What makes a retry the same request.
    pub(super) request: Digest,
}

/// What is to become of the content.
pub(super) enum SaveAction {
    Save {
        content: String,
        baseline: Option<Digest>,
        identity: Option<FileIdentity>,
        document: Option<Box<DocumentSaveRequest>>,
    },
    Checkbox {
        line: u64,
        expected: String,
        checked: bool,
    },
}

impl SaveAction {
    /// The document that is saved.
    pub(super) fn document(&self) -> Option<&DocumentSaveRequest> {
        match self {
            Self::Save { document, .. } => document.as_deref(),
            Self::Checkbox { .. } => None,
        }
    }

    /// Which file is meant.
    pub(super) fn identity(&self) -> Option<FileIdentity> {
        match self {
            Self::Save { identity, .. } => identity.clone(),
            Self::Checkbox { .. } => None,
        }
    }

    /// What the file is to hold before; of a checkbox its line was compared, and stands for the
    /// rest.
    fn baseline(&self) -> Option<Digest> {
        match self {
            Self::Save { baseline, .. } => *baseline,
            Self::Checkbox { .. } => None,
        }
    }

    /// Whether it was said what the file is to hold before.
    pub(super) fn has_baseline(&self) -> bool {
        self.baseline().is_some()
    }

    /// Bytes of the file that are looked at. One that is too large is never written, and its hash
    /// is told to a save that has a baseline alone.
    pub(super) fn looked_at_max(&self) -> u64 {
        match self.baseline() {
            Some(_) => limits::FILE_HASHED_MAX,
            None => limits::FILE_SIZE_MAX,
        }
    }

    fn via(&self) -> SaveRoute {
        match self {
            Self::Save { .. } => SaveRoute::Save,
            Self::Checkbox { .. } => SaveRoute::Checkbox,
        }
    }
}

impl SaveJob {
    /// What is decided on.
    pub(super) fn facts_for_decision(
        &self,
        content: &str,
        file: &TextFile,
        binding: Option<DocumentBinding>,
    ) -> SaveRequest {
        let lane = match self.deed.document() {
            None => SaveTarget::Ordinary(self.request),
            Some(save) => SaveTarget::Document(Box::new(DocumentSave {
                binding,
                claimed: save.claimed.clone(),
                path: file.target.file.path().to_owned(),
            })),
        };
        SaveRequest {
            content: rules::digest(content.as_bytes()),
            baseline: self.deed.baseline(),
            identity: self.deed.identity(),
            lane,
        }
    }

    /// What is noted before the file is written.
    pub(super) fn intent(&self, opened: &OpenedFile, content: &str) -> Result<SaveIntentRow> {
        let document = self.deed.document();
        let file = &opened.file;
        Ok(SaveIntentRow {
            mark: SaveId::new()?.as_str().to_owned(),
            path: file.target.file.path().to_owned(),
            meant: SaveIntent {
                identity: file.current.identity.clone(),
                inode: file.target.file.physical().to_inode(),
                folder: opened.folder.clone(),
                old: file.current.hash,
                new: rules::digest(content.as_bytes()),
            },
            size: content.len() as u64,
            request: self.request,
            via: self.deed.via(),
            author: self.by.author,
            document: document.map(|save| (save.document, save.event.clone())),
            is_undone: false,
        })
    }
}
