//! Jobs: what is asked of one file, in the form that is decided and noted.

use guildhall_domain::{
    Result,
    callers::Caller,
    files::{
        self as rules, Asked, Digest, Identity, Lane, Via,
        document_saves::{Binding, Bound},
        recovery::Meant,
    },
    limits,
};
use guildhall_store::files::Intent;
use guildhall_world::file_saving::Mark;

use super::{
    save::{DocumentSave, Opened},
    text_file::TextFile,
};

/// What is asked of a file, and by whom.
pub(super) struct Job {
    pub(super) by: Caller,
    pub(super) cwd: String,
    pub(super) path: String,
    pub(super) deed: Deed,
    /// What makes a retry the same request.
    pub(super) request: Digest,
}

/// What is to become of the content.
pub(super) enum Deed {
    Save {
        content: String,
        baseline: Option<Digest>,
        identity: Option<Identity>,
        document: Option<Box<DocumentSave>>,
    },
    Checkbox {
        line: u64,
        expected: String,
        checked: bool,
    },
}

impl Deed {
    /// The document that is saved.
    pub(super) fn document(&self) -> Option<&DocumentSave> {
        match self {
            Self::Save { document, .. } => document.as_deref(),
            Self::Checkbox { .. } => None,
        }
    }

    /// Which file is meant.
    pub(super) fn identity(&self) -> Option<Identity> {
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

    fn via(&self) -> Via {
        match self {
            Self::Save { .. } => Via::Save,
            Self::Checkbox { .. } => Via::Checkbox,
        }
    }
}

impl Job {
    /// What is decided on.
    pub(super) fn asked(&self, content: &str, file: &TextFile, binding: Option<Binding>) -> Asked {
        let lane = match self.deed.document() {
            None => Lane::Ordinary(self.request),
            Some(save) => Lane::Document(Box::new(Bound {
                binding,
                claimed: save.claimed.clone(),
                path: file.target.file.path().to_owned(),
            })),
        };
        Asked {
            content: rules::digest(content.as_bytes()),
            baseline: self.deed.baseline(),
            identity: self.deed.identity(),
            lane,
        }
    }

    /// What is noted before the file is written.
    pub(super) fn intent(&self, opened: &Opened, content: &str) -> Result<Intent> {
        let document = self.deed.document();
        let file = &opened.file;
        Ok(Intent {
            mark: Mark::new()?.as_str().to_owned(),
            path: file.target.file.path().to_owned(),
            meant: Meant {
                identity: file.current.identity.clone(),
                inode: file.target.file.physical().lasting(),
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
