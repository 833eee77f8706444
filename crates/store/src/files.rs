//! Files: what is kept of saves. What it means is `domain::files`.

use guildhall_domain::{
    Result, Timestamp,
    files::{
        Digest, FileIdentity, IdentityHistory, LastSave, SaveRoute,
        document_saves::{CompletedSave, Incarnation},
        recovery::{PersistentInode, SaveIntent},
    },
    ids::{AuthorId, DocumentId},
};
use rusqlite::{Row, types::Type};

use crate::{
    ReadTx, Tx,
    transactions::{self, count, enum_column, enum_text, moment, stored},
};

/// A save on its way to the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveIntentRow {
    /// Names its temporary file and its journal.
    pub mark: String,
    /// The file's canonical path.
    pub path: String,
    /// What it is to do.
    pub meant: SaveIntent,
    /// Bytes of the new content.
    pub size: u64,
    /// The fingerprint of the request.
    pub request: Digest,
    /// By which route.
    pub via: SaveRoute,
    /// Who saves.
    pub author: AuthorId,
    /// The document that is saved, with the client's id of the save.
    pub document: Option<(DocumentId, String)>,
    /// Whether it was interrupted and is no save any more, but kept for what it left.
    pub is_undone: bool,
}

/// The last save of the file at `path`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn last_save(db: &ReadTx<'_>, path: &str) -> Result<Option<LastSave>> {
    db.first(
        "SELECT request, hash FROM file_saves WHERE path = $1",
        [path],
        |row| {
            Ok(LastSave {
                request: row.get::<_, Option<[u8; 32]>>(0)?.map(Digest::from_bytes),
                hash: digest(row, 1)?,
            })
        },
    )
}

/// Keeps the last save of the file at `path`.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn put_last_save(tx: &mut Tx<'_>, path: &str, last: &LastSave, now: Timestamp) -> Result<()> {
    tx.run(
        "INSERT OR REPLACE INTO file_saves (path, request, hash, saved_at) VALUES ($1, $2, $3, $4)",
        (
            path,
            last.request.as_ref().map(Digest::as_bytes),
            last.hash.as_bytes(),
            now.as_millis(),
        ),
    )?;
    Ok(())
}

/// Those of `asked` that the file `current` had before, by our own saves.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn lineage(
    db: &ReadTx<'_>,
    current: &FileIdentity,
    asked: &[FileIdentity],
) -> Result<IdentityHistory> {
    let mut held = Vec::new();
    for identity in asked {
        let is_ancestor = db.first(
            "SELECT 1 FROM file_lineage a JOIN file_lineage b ON a.line = b.line
             WHERE a.identity = $1 AND b.identity = $2 AND a.place < b.place",
            (identity.as_str(), current.as_str()),
            |_| Ok(()),
        )?;
        if is_ancestor.is_some() {
            held.push(identity.clone());
        }
    }
    Ok(IdentityHistory(held))
}

/// Notes that a save made the file `to` of `from`.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn add_identity(
    tx: &mut Tx<'_>,
    from: &FileIdentity,
    to: &FileIdentity,
    now: Timestamp,
) -> Result<()> {
    if from == to {
        return Ok(());
    }
    let known = tx.first(
        "SELECT line, place FROM file_lineage WHERE identity = $1",
        [from.as_str()],
        |row| Ok((row.get::<_, String>(0)?, count(row, 1)?)),
    )?;
    let (line, place) = known.unwrap_or_else(|| (from.as_str().to_owned(), 0));
    for (identity, place) in [(from, place), (to, place + 1)] {
        tx.run(
            "INSERT OR REPLACE INTO file_lineage (identity, line, place, at) VALUES ($1, $2, $3, $4)",
            (identity.as_str(), &line, stored(place), now.as_millis()),
        )?;
    }
    Ok(())
}

/// Forgets lineage, last saves and saves that could not be settled from before `before`.
///
/// # Errors
/// A fault when the engine refuses.
pub fn drop_old(tx: &mut Tx<'_>, before: Timestamp) -> Result<()> {
    tx.run(
        "DELETE FROM file_lineage WHERE at < $1",
        [before.as_millis()],
    )?;
    tx.run(
        "DELETE FROM file_saves WHERE saved_at < $1",
        [before.as_millis()],
    )?;
    tx.run(
        "DELETE FROM file_intents WHERE begun_at < $1",
        [before.as_millis()],
    )?;
    Ok(())
}

const INTENT: &str = "mark, path, identity, inode, folder, old, new, size, request, via, author_id,
    document_id, event_id, undone";

/// Every save on its way, which at a start are those that were interrupted.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn intents(db: &ReadTx<'_>) -> Result<Vec<SaveIntentRow>> {
    db.all(
        &format!("SELECT {INTENT} FROM file_intents ORDER BY begun_at, mark"),
        (),
        read_intent,
    )
}

/// Those of one file.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn intents_of(db: &ReadTx<'_>, path: &str) -> Result<Vec<SaveIntentRow>> {
    db.all(
        &format!("SELECT {INTENT} FROM file_intents WHERE path = $1 ORDER BY begun_at, mark"),
        [path],
        read_intent,
    )
}

/// Notes a save before it is done.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert_intent(tx: &mut Tx<'_>, intent: &SaveIntentRow, now: Timestamp) -> Result<()> {
    let document = intent.document.as_ref();
    tx.run(
        &format!(
            "INSERT INTO file_intents ({INTENT}, begun_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
        ),
        (
            &intent.mark,
            &intent.path,
            intent.meant.identity.as_str(),
            intent.meant.inode.as_str(),
            intent.meant.folder.as_str(),
            intent.meant.old.as_bytes(),
            intent.meant.new.as_bytes(),
            stored(intent.size),
            intent.request.as_bytes(),
            enum_text(intent.via, &SaveRoute::WORDS),
            intent.author.as_bytes(),
            document.map(|(id, _)| id.as_bytes()),
            document.map(|(_, event)| event),
            intent.is_undone,
            now.as_millis(),
        ),
    )?;
    Ok(())
}

/// Notes that a save is none any more, while what it left is still needed.
///
/// # Errors
/// A fault when the engine refuses.
pub fn undo_intent(tx: &mut Tx<'_>, mark: &str) -> Result<()> {
    tx.run("UPDATE file_intents SET undone = 1 WHERE mark = $1", [mark])?;
    Ok(())
}

/// Forgets the intent of a save that is over.
///
/// # Errors
/// A fault when the engine refuses.
pub fn remove_intent(tx: &mut Tx<'_>, mark: &str) -> Result<()> {
    tx.run("DELETE FROM file_intents WHERE mark = $1", [mark])?;
    Ok(())
}

/// The committed save of a document under the client's id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn completion(
    db: &ReadTx<'_>,
    document: DocumentId,
    event: &str,
) -> Result<Option<CompletedSave>> {
    db.first(
        "SELECT request, bound_at, channel_at, doc_seq, file_hash, identity, told
         FROM document_saves WHERE document_id = $1 AND event_id = $2",
        (document.as_bytes(), event),
        |row| {
            Ok(CompletedSave {
                request: digest(row, 0)?,
                incarnation: Incarnation::of(document, moment(row, 1)?, moment(row, 2)?),
                doc_seq: count(row, 3)?,
                file_hash: digest(row, 4)?,
                identity: FileIdentity::new(row.get::<_, String>(5)?),
                is_told: row.get(6)?,
            })
        },
    )
}

/// Keeps a committed save of a document.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert_completion(
    tx: &mut Tx<'_>,
    document: DocumentId,
    event: &str,
    done: &CompletedSave,
) -> Result<()> {
    tx.run(
        "INSERT INTO document_saves (document_id, event_id, request, bound_at, channel_at, doc_seq,
           file_hash, identity, told)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        (
            document.as_bytes(),
            event,
            done.request.as_bytes(),
            done.incarnation.physical_opened_at.as_millis(),
            done.incarnation.channel_created_at.as_millis(),
            stored(done.doc_seq),
            done.file_hash.as_bytes(),
            done.identity.as_str(),
            done.is_told,
        ),
    )?;
    Ok(())
}

/// Notes that the client is answered; answers whether this is the first time.
///
/// # Errors
/// A fault when the engine refuses.
pub fn mark_completion_announced(
    tx: &mut Tx<'_>,
    document: DocumentId,
    event: &str,
) -> Result<bool> {
    let noted = tx.run(
        "UPDATE document_saves SET told = 1 WHERE document_id = $1 AND event_id = $2 AND told = 0",
        (document.as_bytes(), event),
    )?;
    Ok(noted > 0)
}

fn read_intent(row: &Row<'_>) -> rusqlite::Result<SaveIntentRow> {
    let document = transactions::maybe_id(row, 11, DocumentId::from_bytes)?;
    let event: Option<String> = row.get(12)?;
    Ok(SaveIntentRow {
        mark: row.get(0)?,
        path: row.get(1)?,
        meant: SaveIntent {
            identity: FileIdentity::new(row.get::<_, String>(2)?),
            inode: PersistentInode::new(row.get::<_, String>(3)?),
            folder: PersistentInode::new(row.get::<_, String>(4)?),
            old: digest(row, 5)?,
            new: digest(row, 6)?,
        },
        size: count(row, 7)?,
        request: digest(row, 8)?,
        via: enum_column(row, 9, &SaveRoute::WORDS)?,
        author: transactions::id(row, 10, AuthorId::from_bytes)?,
        document: document.zip(event),
        is_undone: row.get(13)?,
    })
}

fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Digest> {
    let bytes: Vec<u8> = row.get(column)?;
    let bytes = bytes.try_into().map_err(|bytes: Vec<u8>| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            Type::Blob,
            format!("{} bytes are no digest", bytes.len()).into(),
        )
    })?;
    Ok(Digest::from_bytes(bytes))
}
