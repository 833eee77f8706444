//! Export: a whole room as lines, one after another. Source: contract 2.3, "Export".
//! Pure: reading it is `hall::export`, its written form `wire::export`.

use crate::{
    Timestamp, attachments::Digest, canvas::CanvasDocument, entries::Entry, members::Member,
    rooms::Room,
};

/// One line of an export, in the order they come.
#[derive(Clone, Debug)]
pub enum ExportLine {
    /// The first: what is exported.
    Head {
        /// When.
        exported_at: Timestamp,
        /// The room.
        room: Box<Room>,
        /// Who belongs to it.
        members: Vec<Member>,
    },
    /// One entry, by seq.
    Entry(Box<Entry>),
    /// One document of the room's canvas, behind the entries, the foremost first.
    Canvas(Box<CanvasDocument>),
    /// The last: what the lines before it are.
    Summary(ExportSummary),
}

/// What an export holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportSummary {
    /// How many entries.
    pub entry_count: u64,
    /// Seq of the first one, `None` when there is none.
    pub first_seq: Option<u64>,
    /// Seq of the last one.
    pub last_seq: Option<u64>,
    /// Over every byte before the summary.
    pub sha256: Digest,
}
