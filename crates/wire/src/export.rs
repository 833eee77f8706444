//! A room's export on the wire: one JSON object a line. Source: contract 2.3, "Export".

use std::io;

use guildhall_domain::{Timestamp, export, rooms};
use serde::Serialize;

use crate::{canvas::CanvasDocument, entries::Entry, members::Member};

/// The form of an export that `version` names.
const VERSION: u32 = 1;

#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
enum ExportLine {
    RoomExport {
        version: u32,
        exported_at: Timestamp,
        /// As in `room_updated`: without what depends on who looks.
        room: Box<rooms::Room>,
        members: Vec<Member>,
    },
    Entry {
        entry: Box<Entry>,
    },
    Canvas {
        document: Box<CanvasDocument>,
    },
    Summary {
        entry_count: u64,
        first_seq: Option<u64>,
        last_seq: Option<u64>,
        sha256: String,
    },
}

impl From<export::ExportLine> for ExportLine {
    fn from(line: export::ExportLine) -> Self {
        match line {
            export::ExportLine::Head {
                exported_at,
                room,
                members,
            } => Self::RoomExport {
                version: VERSION,
                exported_at,
                room,
                members: members.into_iter().map(Into::into).collect(),
            },
            export::ExportLine::Entry(entry) => Self::Entry {
                entry: Box::new((*entry).into()),
            },
            export::ExportLine::Canvas(document) => Self::Canvas {
                document: Box::new((*document).into()),
            },
            export::ExportLine::Summary(summary) => Self::Summary {
                entry_count: summary.entry_count,
                first_seq: summary.first_seq,
                last_seq: summary.last_seq,
                sha256: summary.sha256.to_string(),
            },
        }
    }
}

/// Writes a line with its line feed behind what is there.
///
/// # Errors
/// What the serializer says; a line of plain values always serializes.
pub fn write(line: export::ExportLine, into: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(&mut *into, &ExportLine::from(line))?;
    into.push(b'\n');
    Ok(())
}
