//! Export: a whole room as lines, of one consistent reading, made no faster than it is taken.
//! The reading has a thread and a snapshot of its own, so that a slow reader keeps nobody
//! waiting; it ends with its reader, and when the reader takes nothing for a while.

use std::time::Duration;

use guildhall_domain::{
    Fault, Refusal, Result, Timestamp,
    callers::{Caller, Gate, Human},
    canvas::CanvasScope,
    entries::EntriesQuery,
    errors::ResourceKind,
    export::{ExportLine, ExportSummary},
    ids::RoomId,
    limits,
    rooms::Room,
};
use guildhall_store::{DetachedRead, ReadTx, canvas, entries, members, rooms};
use guildhall_world::digests::DigestBuilder;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    time::{Instant, timeout_at},
};

use crate::{Hall, visibility};

/// Writes a line's form on the wire, with its line feed.
pub type WriteLine = fn(ExportLine, &mut Vec<u8>) -> std::io::Result<()>;

/// A room on its way out.
#[derive(Debug)]
pub struct Export {
    /// The room as it was read.
    pub room: Room,
    /// When it was read.
    pub exported_at: Timestamp,
    chunks: mpsc::Receiver<Vec<u8>>,
    /// `None` once it has told its end.
    reading: Option<DetachedRead>,
}

impl Hall {
    /// Begins to export a room, an archived one too.
    ///
    /// # Errors
    /// `NotFound`; [`Refusal::Overloaded`] when as many exports run as may.
    ///
    /// Source: contract 2.3, "Export".
    pub async fn export(&self, by: &Human, room: RoomId, write: WriteLine) -> Result<Export> {
        let (by, now) = (*by.caller(), self.now());
        let (begun, beginning) = oneshot::channel();
        let (sender, chunks) = mpsc::channel(limits::EXPORT_CHUNKS_AHEAD);
        let mut sheet = ExportWriter {
            write,
            runtime: Handle::current(),
            sender,
            digesting: DigestBuilder::default(),
            chunk: Vec::new(),
            until: Instant::now() + Duration::from_secs(limits::EXPORT_TOTAL_S),
        };
        let reading = self.store().read_detached(move |db| {
            let (room, head) = head(db, &by, room, now)?;
            // Whoever no longer waits takes no chunk either.
            let _ = begun.send(room.clone());
            sheet.line(head)?;
            let entries = sheet.entries(db, room.id)?;
            for document in canvas::list(db, CanvasScope::Room(room.id), now)? {
                sheet.line(ExportLine::Canvas(Box::new(document)))?;
            }
            sheet.end(entries)
        })?;
        match beginning.await {
            Ok(room) => Ok(Export {
                room,
                exported_at: now,
                chunks,
                reading: Some(reading),
            }),
            Err(_) => match reading.ended().await {
                Err(error) => Err(error),
                Ok(()) => Err(Fault::broken("exporting a room", "it ended unbegun").into()),
            },
        }
    }
}

impl Export {
    /// The next bytes; `None` behind the last ones.
    ///
    /// # Errors
    /// A fault when the store could not be read on, or the reader rested too long: what was
    /// taken so far is not the whole room.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>>> {
        if let Some(chunk) = self.chunks.recv().await {
            return Some(Ok(chunk));
        }
        self.reading.take()?.ended().await.err().map(Err)
    }
}

fn head(
    db: &ReadTx<'_>,
    by: &Caller,
    room: RoomId,
    exported_at: Timestamp,
) -> Result<(Room, ExportLine)> {
    visibility::room(db, by, room)?;
    let room = rooms::by_id(db, room)?.ok_or(Refusal::NotFound(ResourceKind::Room))?;
    let head = ExportLine::Head {
        exported_at,
        room: Box::new(room.clone()),
        members: members::of_room(db, room.id)?,
    };
    Ok((room, head))
}

/// What the lines are written on, chunk after chunk.
struct ExportWriter {
    write: WriteLine,
    runtime: Handle,
    sender: mpsc::Sender<Vec<u8>>,
    digesting: DigestBuilder,
    chunk: Vec<u8>,
    /// When it ends whatever its reader does, because its snapshot keeps old pages alive.
    until: Instant,
}

/// The entries an export holds.
#[derive(Clone, Copy, Debug, Default)]
struct ExportedRange {
    count: u64,
    first: Option<u64>,
    last: Option<u64>,
}

impl ExportWriter {
    /// Every entry of the room, a page at a time.
    fn entries(&mut self, db: &ReadTx<'_>, room: RoomId) -> Result<ExportedRange> {
        let mut run = ExportedRange::default();
        loop {
            let ask = EntriesQuery {
                before: None,
                after: Some(run.last.unwrap_or(0)),
                limit: limits::EXPORT_PAGE,
            };
            let page = entries::page(db, room, 0, ask)?;
            for entry in page.entries {
                run.first.get_or_insert(entry.seq);
                run.last = Some(entry.seq);
                run.count += 1;
                self.line(ExportLine::Entry(Box::new(entry)))?;
            }
            if !page.has_more {
                return Ok(run);
            }
        }
    }

    fn end(mut self, run: ExportedRange) -> Result<()> {
        self.digesting.add(&self.chunk);
        let summary = ExportSummary {
            entry_count: run.count,
            first_seq: run.first,
            last_seq: run.last,
            sha256: self.digesting.clone().finish(),
        };
        self.append(ExportLine::Summary(summary))?;
        self.send_chunk()
    }

    fn line(&mut self, line: ExportLine) -> Result<()> {
        self.append(line)?;
        if self.chunk.len() < limits::EXPORT_CHUNK_BYTES {
            return Ok(());
        }
        self.digesting.add(&self.chunk);
        self.send_chunk()
    }

    fn append(&mut self, line: ExportLine) -> Result<()> {
        (self.write)(line, &mut self.chunk)
            .map_err(|error| Fault::broken("writing an export", error).into())
    }

    /// Waits until there is place for the chunk.
    fn send_chunk(&mut self) -> Result<()> {
        let room_for_next = limits::EXPORT_CHUNK_BYTES + limits::EXPORT_CHUNK_BYTES / 4;
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(room_for_next));
        let rested = Instant::now() + Duration::from_secs(limits::EXPORT_STALL_S);
        let end = self.until.min(rested);
        let sent = self
            .runtime
            .block_on(async { timeout_at(end, self.sender.send(chunk)).await });
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Fault::broken("exporting a room", "its reader went away").into()),
            Err(_) => Err(Fault::broken("exporting a room", "its reader was too slow").into()),
        }
    }
}
