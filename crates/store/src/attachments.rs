//! Attachments: rows of uploaded and posted files, and the bytes they take together.
//! The bytes themselves are `world::blobs`; a blob that no row names any more may go.

use std::collections::HashMap;

use guildhall_domain::{
    Result, Timestamp,
    attachments::{Attachment, Digest, ImageFormat, Preview},
    entries::Entry,
    ids::{AttachmentId, AuthorId, EntryId, RoomId},
};
use rusqlite::{Row, params_from_iter};

use crate::{
    ReadTx, Tx, idempotency,
    transactions::{self, count, enum_column, enum_text, moment, stored},
};

const COLUMNS: &str = "id, room_id, name, mime_type, picture, size, sha256, uploader_id, entry_seq";

/// An uploaded file about to be noted.
#[derive(Clone, Debug)]
pub struct NewAttachment {
    /// Its id.
    pub id: AttachmentId,
    /// Its room.
    pub room: RoomId,
    /// Who sent it.
    pub uploader: AuthorId,
    /// The name it is kept under.
    pub name: String,
    /// Its type, as declared.
    pub mime_type: String,
    /// What its bytes are.
    pub picture: Option<ImageFormat>,
    /// Bytes.
    pub size: u64,
    /// The digest of its bytes.
    pub sha256: Digest,
    /// When.
    pub now: Timestamp,
}

/// A file with what decides who may have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentRow {
    /// As the interface shows it.
    pub attachment: Attachment,
    /// What its bytes are.
    pub picture: Option<ImageFormat>,
    /// Who sent it.
    pub uploader: AuthorId,
    /// The seq of its entry, once it is posted.
    pub entry_seq: Option<u64>,
}

/// Notes an uploaded file; it waits for its entry.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn insert(tx: &mut Tx<'_>, new: NewAttachment) -> Result<Attachment> {
    if !is_needed(tx, new.sha256)? {
        tx.run(
            "UPDATE attachment_store SET bytes = bytes + $1",
            [stored(new.size)],
        )?;
    }
    tx.run(
        "INSERT INTO attachments (id, room_id, uploader_id, name, mime_type, picture, size, sha256,
           created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        (
            new.id.as_bytes(),
            new.room.as_bytes(),
            new.uploader.as_bytes(),
            &new.name,
            &new.mime_type,
            new.picture
                .map(|picture| enum_text(picture, &ImageFormat::WORDS)),
            stored(new.size),
            new.sha256.as_bytes(),
            new.now.as_millis(),
        ),
    )?;
    Ok(Attachment {
        id: new.id,
        room_id: new.room,
        name: new.name,
        mime_type: new.mime_type,
        size: new.size,
        sha256: new.sha256,
        preview: new.picture.map(|_| Preview::Image),
        url: Attachment::url_of(new.room, new.id),
    })
}

/// The file with this id, if it lies in `room`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, room: RoomId, id: AttachmentId) -> Result<Option<AttachmentRow>> {
    db.first(
        &format!("SELECT {COLUMNS} FROM attachments WHERE id = $1 AND room_id = $2"),
        (id.as_bytes(), room.as_bytes()),
        |row| {
            Ok(AttachmentRow {
                attachment: read(row)?,
                picture: picture(row)?,
                uploader: transactions::id(row, 7, AuthorId::from_bytes)?,
                entry_seq: row.get::<_, Option<i64>>(8)?.map(i64::unsigned_abs),
            })
        },
    )
}

/// Makes uploaded files part of `entry`, in the order given.
///
/// # Errors
/// A fault when the engine refuses a change.
pub fn post(tx: &mut Tx<'_>, entry: &mut Entry, files: Vec<Attachment>) -> Result<()> {
    for (place, file) in (0_i64..).zip(&files) {
        tx.run(
            "UPDATE attachments SET entry_id = $1, entry_seq = $2, place = $3 WHERE id = $4",
            (
                entry.id.as_bytes(),
                stored(entry.seq),
                place,
                file.id.as_bytes(),
            ),
        )?;
    }
    entry.attachments = files;
    Ok(())
}

/// Gives entries their attachments, in one query for all of them.
///
/// # Errors
/// A fault when the engine cannot read.
pub(crate) fn fill<'a>(
    db: &ReadTx<'_>,
    entries: impl IntoIterator<Item = &'a mut Entry>,
) -> Result<()> {
    let mut entries: HashMap<EntryId, &mut Entry> =
        entries.into_iter().map(|entry| (entry.id, entry)).collect();
    if entries.is_empty() {
        return Ok(());
    }
    let places: Vec<String> = (1..=entries.len()).map(|n| format!("${n}")).collect();
    let sql = format!(
        "SELECT {COLUMNS}, entry_id FROM attachments WHERE entry_id IN ({})
         ORDER BY entry_id, place",
        places.join(", ")
    );
    let ids: Vec<[u8; 16]> = entries.keys().map(|id| *id.as_bytes()).collect();
    let found = db.all(&sql, params_from_iter(ids), |row| {
        Ok((transactions::id(row, 9, EntryId::from_bytes)?, read(row)?))
    })?;
    for (entry, attachment) in found {
        if let Some(entry) = entries.get_mut(&entry) {
            entry.attachments.push(attachment);
        }
    }
    Ok(())
}

/// Bytes of all stored files together; files with the same bytes count once.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn bytes_stored(db: &ReadTx<'_>) -> Result<u64> {
    db.one("SELECT bytes FROM attachment_store", [], |row| {
        count(row, 0)
    })
}

/// Forgets the files of an entry; answers the blobs that nobody needs any more, to be removed
/// after the commit.
///
/// # Errors
/// A fault when the engine refuses a change.
pub fn forget_of_entry(tx: &mut Tx<'_>, entry: EntryId) -> Result<Vec<Digest>> {
    let files = tx.all(
        "SELECT id, sha256, size, created_at FROM attachments WHERE entry_id = $1",
        [entry.as_bytes()],
        read_leaving,
    )?;
    forget(tx, files)
}

/// Forgets up to `limit` uploads from before `before` that were never posted; answers how many,
/// and the blobs that nobody needs any more.
///
/// # Errors
/// A fault when the engine refuses a change.
pub fn forget_unposted(
    tx: &mut Tx<'_>,
    before: Timestamp,
    limit: u32,
) -> Result<(usize, Vec<Digest>)> {
    let files = tx.all(
        "SELECT id, sha256, size, created_at FROM attachments
         WHERE entry_id IS NULL AND created_at < $1 ORDER BY created_at LIMIT $2",
        (before.as_millis(), limit),
        read_leaving,
    )?;
    Ok((files.len(), forget(tx, files)?))
}

/// Which blobs are needed whose digest begins with `first`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn needed_on_shelf(db: &ReadTx<'_>, first: u8) -> Result<Vec<Digest>> {
    let (mut low, mut high) = ([0; 32], [0xff; 32]);
    (low[0], high[0]) = (first, first);
    db.all(
        "SELECT DISTINCT sha256 FROM attachments WHERE sha256 BETWEEN $1 AND $2",
        (low, high),
        |row| row.get(0).map(Digest::from_bytes),
    )
}

/// Which of these blobs are needed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn needed(db: &ReadTx<'_>, digests: &[Digest]) -> Result<Vec<Digest>> {
    let mut needed = Vec::new();
    for digest in digests {
        if is_needed(db, *digest)? {
            needed.push(*digest);
        }
    }
    Ok(needed)
}

fn is_needed(db: &ReadTx<'_>, digest: Digest) -> Result<bool> {
    let found = db.first(
        "SELECT 1 FROM attachments WHERE sha256 = $1 LIMIT 1",
        [digest.as_bytes()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// A row about to be deleted.
struct DeletedAttachment {
    id: AttachmentId,
    sha256: Digest,
    size: u64,
    uploaded_at: Timestamp,
}

fn forget(tx: &mut Tx<'_>, files: Vec<DeletedAttachment>) -> Result<Vec<Digest>> {
    let mut free = Vec::new();
    for file in files {
        tx.run(
            "DELETE FROM attachments WHERE id = $1",
            [file.id.as_bytes()],
        )?;
        idempotency::forget_attachment(tx, file.id, file.uploaded_at)?;
        if !is_needed(tx, file.sha256)? {
            tx.run(
                "UPDATE attachment_store SET bytes = bytes - $1",
                [stored(file.size)],
            )?;
            free.push(file.sha256);
        }
    }
    Ok(free)
}

fn read_leaving(row: &Row<'_>) -> rusqlite::Result<DeletedAttachment> {
    Ok(DeletedAttachment {
        id: transactions::id(row, 0, AttachmentId::from_bytes)?,
        sha256: row.get(1).map(Digest::from_bytes)?,
        size: count(row, 2)?,
        uploaded_at: moment(row, 3)?,
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Attachment> {
    let id = transactions::id(row, 0, AttachmentId::from_bytes)?;
    let room = transactions::id(row, 1, RoomId::from_bytes)?;
    Ok(Attachment {
        id,
        room_id: room,
        name: row.get(2)?,
        mime_type: row.get(3)?,
        preview: picture(row)?.map(|_| Preview::Image),
        size: count(row, 5)?,
        sha256: row.get(6).map(Digest::from_bytes)?,
        url: Attachment::url_of(room, id),
    })
}

fn picture(row: &Row<'_>) -> rusqlite::Result<Option<ImageFormat>> {
    match row.get_ref(4)?.as_str_or_null()? {
        Some(_) => enum_column(row, 4, &ImageFormat::WORDS).map(Some),
        None => Ok(None),
    }
}
