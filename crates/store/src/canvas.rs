//! Canvas documents: rows, look-ups and editing locks.
//! What a document may hold and who may change it is `domain::canvas` and `hall::canvas`.

use guildhall_domain::{
    Result, Timestamp,
    canvas::{CanvasDocument, CanvasScope, Content, EditLock, EvictionCandidate, TreeKind},
    files::{
        FileIdentity,
        document_saves::{DocumentBinding, Incarnation},
    },
    ids::{AuthorId, DocumentId, EntryId},
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    transactions::{self, count, enum_column, enum_text, moment, stored},
};

const COLUMNS: &str = "id, scope, content, author_id, pinned, position, rev, last_touched_by,
    last_touched_at, source_label, tree_kind, ahead_of_main, opened_at, last_active_at,
    thread_root_entry_id, editing_by, editing_until, identity, bound_at, channel_at, doc_seq";

/// Where a document's columns come from.
const DOCUMENTS: &str = "canvas_documents LEFT JOIN document_files ON document_id = id";

/// A stored document: as it shows at the moment of reading, and its lock, which may have expired.
#[derive(Clone, Debug)]
pub struct CanvasDocumentRow {
    /// The document; an expired lock does not show in it.
    pub document: CanvasDocument,
    /// Its lock.
    pub lock: Option<EditLock>,
    /// Which physical file it is bound to.
    pub binding: Option<DocumentBinding>,
}

/// The documents of a canvas at `now`, in its order.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn list(db: &ReadTx<'_>, scope: CanvasScope, now: Timestamp) -> Result<Vec<CanvasDocument>> {
    db.all(
        &format!("SELECT {COLUMNS} FROM {DOCUMENTS} WHERE scope = $1 ORDER BY position DESC"),
        [scope.to_string()],
        |row| Ok(read(row, now)?.document),
    )
}

/// One document of a canvas.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(
    db: &ReadTx<'_>,
    scope: CanvasScope,
    id: DocumentId,
    now: Timestamp,
) -> Result<Option<CanvasDocumentRow>> {
    db.first(
        &format!("SELECT {COLUMNS} FROM {DOCUMENTS} WHERE id = $1 AND scope = $2"),
        (id.as_bytes(), scope.to_string()),
        |row| read(row, now),
    )
}

/// One document of any canvas.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: DocumentId, now: Timestamp) -> Result<Option<CanvasDocumentRow>> {
    db.first(
        &format!("SELECT {COLUMNS} FROM {DOCUMENTS} WHERE id = $1"),
        [id.as_bytes()],
        |row| read(row, now),
    )
}

/// The document of a canvas that was opened with `key`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_key(
    db: &ReadTx<'_>,
    scope: CanvasScope,
    key: &str,
    now: Timestamp,
) -> Result<Option<CanvasDocumentRow>> {
    db.first(
        &format!("SELECT {COLUMNS} FROM {DOCUMENTS} WHERE scope = $1 AND key = $2"),
        (scope.to_string(), key),
        |row| read(row, now),
    )
}

/// The documents of a canvas that `author` holds a lock on, expired or not.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn edited_by(
    db: &ReadTx<'_>,
    scope: CanvasScope,
    author: AuthorId,
    now: Timestamp,
) -> Result<Vec<CanvasDocumentRow>> {
    db.all(
        &format!(
            "SELECT {COLUMNS} FROM {DOCUMENTS} WHERE scope = $1 AND editing_by = $2
             ORDER BY position DESC"
        ),
        (scope.to_string(), author.as_bytes()),
        |row| read(row, now),
    )
}

/// The documents of every canvas whose lock has expired, longest expired first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn expired(db: &ReadTx<'_>, now: Timestamp) -> Result<Vec<CanvasDocumentRow>> {
    db.all(
        &format!(
            "SELECT {COLUMNS} FROM {DOCUMENTS} WHERE editing_until <= $1
             ORDER BY editing_until, id"
        ),
        [now.as_millis()],
        |row| read(row, now),
    )
}

/// When the next lock of any canvas expires; `None` when nothing is locked.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn next_expiry(db: &ReadTx<'_>) -> Result<Option<Timestamp>> {
    db.one(
        "SELECT MIN(editing_until) FROM canvas_documents WHERE editing_until IS NOT NULL",
        [],
        |row| transactions::maybe_moment(row, 0),
    )
}

/// How many documents a canvas has.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn count_of(db: &ReadTx<'_>, scope: CanvasScope) -> Result<u64> {
    db.one(
        "SELECT COUNT(*) FROM canvas_documents WHERE scope = $1",
        [scope.to_string()],
        |row| count(row, 0),
    )
}

/// The position in front of all documents of a canvas.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn front(db: &ReadTx<'_>, scope: CanvasScope) -> Result<u64> {
    db.one(
        "SELECT COALESCE(MAX(position), 0) + 1 FROM canvas_documents WHERE scope = $1",
        [scope.to_string()],
        |row| count(row, 0),
    )
}

/// The unpinned documents of a canvas, lowest position first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn unpinned(
    db: &ReadTx<'_>,
    scope: CanvasScope,
    now: Timestamp,
) -> Result<Vec<EvictionCandidate>> {
    db.all(
        "SELECT id, COALESCE(editing_until, 0) > $1 FROM canvas_documents
         WHERE scope = $2 AND pinned = 0 ORDER BY position",
        (now.as_millis(), scope.to_string()),
        |row| {
            Ok(EvictionCandidate {
                id: transactions::id(row, 0, DocumentId::from_bytes)?,
                locked: row.get(1)?,
            })
        },
    )
}

/// Adds a document that nobody edits.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, document: &CanvasDocument, key: Option<&str>) -> Result<()> {
    tx.run(
        "INSERT INTO canvas_documents (id, scope, key, content, author_id, pinned, position, rev,
           last_touched_by, last_touched_at, source_label, tree_kind, ahead_of_main, opened_at,
           last_active_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        (
            document.id.as_bytes(),
            document.scope.to_string(),
            key,
            written(&document.content)?,
            document.author_id.as_bytes(),
            document.pinned,
            stored(document.position),
            stored(document.rev),
            document.last_touched_by.as_bytes(),
            document.last_touched_at.as_millis(),
            &document.source_label,
            enum_text(document.tree_kind, &TreeKind::WORDS),
            // One more than was counted; 0 stands for what was not measured.
            stored(document.ahead_of_main.map_or(0, |count| count + 1)),
            document.opened_at.as_millis(),
            document.last_active_at.as_millis(),
        ),
    )?;
    Ok(())
}

/// Writes what can change of a document, its lock aside.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn update(tx: &mut Tx<'_>, document: &CanvasDocument) -> Result<()> {
    tx.run(
        "UPDATE canvas_documents SET content = $1, pinned = $2, position = $3, rev = $4,
           last_touched_by = $5, last_touched_at = $6, last_active_at = $7,
           thread_root_entry_id = $8
         WHERE id = $9",
        (
            written(&document.content)?,
            document.pinned,
            stored(document.position),
            stored(document.rev),
            document.last_touched_by.as_bytes(),
            document.last_touched_at.as_millis(),
            document.last_active_at.as_millis(),
            document
                .thread_root_entry_id
                .as_ref()
                .map(EntryId::as_bytes),
            document.id.as_bytes(),
        ),
    )?;
    Ok(())
}

/// Sets or clears a document's lock.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn set_lock(tx: &mut Tx<'_>, id: DocumentId, lock: Option<EditLock>) -> Result<()> {
    tx.run(
        "UPDATE canvas_documents SET editing_by = $1, editing_until = $2 WHERE id = $3",
        (
            lock.as_ref().map(|lock| lock.by.as_bytes()),
            lock.map(|lock| lock.until.as_millis()),
            id.as_bytes(),
        ),
    )?;
    Ok(())
}

/// Binds a document to a physical file, or to none.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn bind(tx: &mut Tx<'_>, id: DocumentId, binding: Option<&DocumentBinding>) -> Result<()> {
    let Some(binding) = binding else {
        tx.run(
            "DELETE FROM document_files WHERE document_id = $1",
            [id.as_bytes()],
        )?;
        return Ok(());
    };
    tx.run(
        "INSERT OR REPLACE INTO document_files (document_id, identity, bound_at, channel_at, doc_seq)
         VALUES ($1, $2, $3, $4, $5)",
        (
            id.as_bytes(),
            binding.identity.as_str(),
            binding.incarnation.physical_opened_at.as_millis(),
            binding.incarnation.channel_created_at.as_millis(),
            stored(binding.doc_seq),
        ),
    )?;
    Ok(())
}

/// Binds every document of the file `from` to `to`, which a save of ours made of it.
///
/// # Errors
/// A fault when the engine refuses.
pub fn follow(tx: &mut Tx<'_>, from: &FileIdentity, to: &FileIdentity) -> Result<()> {
    tx.run(
        "UPDATE document_files SET identity = $1 WHERE identity = $2",
        (to.as_str(), from.as_str()),
    )?;
    Ok(())
}

/// Takes a document away.
///
/// # Errors
/// A fault when the engine refuses.
pub fn delete(tx: &mut Tx<'_>, id: DocumentId) -> Result<()> {
    tx.run(
        "DELETE FROM canvas_documents WHERE id = $1",
        [id.as_bytes()],
    )?;
    Ok(())
}

fn written(content: &Content) -> Result<String> {
    serde_json::to_string(content)
        .map_err(|error| transactions::broken("writing a canvas document's content", error))
}

fn read(row: &Row<'_>, now: Timestamp) -> rusqlite::Result<CanvasDocumentRow> {
    let scope = CanvasScope::parse(row.get_ref(1)?.as_str()?)
        .ok_or_else(|| transactions::unreadable(1, "not a scope"))?;
    let content: Content = serde_json::from_str(row.get_ref(2)?.as_str()?)
        .map_err(|error| transactions::unreadable(2, error))?;
    let editing = transactions::maybe_id(row, 15, AuthorId::from_bytes)?;
    let lock = editing
        .zip(transactions::maybe_moment(row, 16)?)
        .map(|(by, until)| EditLock { by, until });
    let id = transactions::id(row, 0, DocumentId::from_bytes)?;
    let identity: Option<String> = row.get(17)?;
    let binding = match (identity, content.path()) {
        (Some(identity), Some(path)) => Some(DocumentBinding {
            path: path.to_owned(),
            identity: FileIdentity::new(identity),
            incarnation: Incarnation::of(id, moment(row, 18)?, moment(row, 19)?),
            doc_seq: count(row, 20)?,
        }),
        _ => None,
    };
    let document = CanvasDocument {
        id,
        scope,
        room_id: scope.room(),
        title: content.title().to_owned(),
        content_type: content.content_type(),
        content,
        author_id: transactions::id(row, 3, AuthorId::from_bytes)?,
        pinned: row.get(4)?,
        position: count(row, 5)?,
        rev: count(row, 6)?,
        last_touched_by: transactions::id(row, 7, AuthorId::from_bytes)?,
        last_touched_at: moment(row, 8)?,
        editing_by: lock.filter(|lock| lock.is_live(now)).map(|lock| lock.by),
        source_label: row.get(9)?,
        tree_kind: enum_column(row, 10, &TreeKind::WORDS)?,
        ahead_of_main: count(row, 11)?.checked_sub(1),
        opened_at: moment(row, 12)?,
        last_active_at: moment(row, 13)?,
        thread_root_entry_id: transactions::maybe_id(row, 14, EntryId::from_bytes)?,
        incarnation: binding.as_ref().map(|binding| binding.incarnation.clone()),
    };
    Ok(CanvasDocumentRow {
        document,
        lock,
        binding,
    })
}
