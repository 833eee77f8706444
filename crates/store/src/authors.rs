//! Authors and handles: rows, look-ups, taking and releasing a handle.
//! What a handle may look like is `domain::authors`; who may ask is `hall::authors`.

use std::collections::{HashMap, HashSet};

use guildhall_domain::{
    Refusal, Result, Timestamp,
    authors::{Author, AuthorKind, Handle, ReservedHandle},
    ids::{AgentId, AuthorId},
    members::AuthorSummary,
};
use rusqlite::{Row, params_from_iter};

use crate::{
    ReadTx, Tx,
    transactions::{self, enum_column, enum_text, moment},
};

/// The columns of an author, read by [`summary_at`] and [`read`].
pub(crate) const COLUMNS: &str = "a.id, a.kind, a.display_name, a.emoji, a.color, a.image_url,
    a.agent_id, h.handle";
/// Where those columns come from.
pub(crate) const JOIN_HANDLE: &str =
    "LEFT JOIN handles h ON h.author_id = a.id AND h.released_at IS NULL";

/// Which authors a listing holds.
#[derive(Clone, Debug, Default)]
pub struct AuthorsQuery {
    /// Part of the name or handle, without regard to ASCII case.
    pub q: Option<String>,
    /// Only this kind.
    pub kind: Option<AuthorKind>,
    /// Retired ones too.
    pub include_retired: bool,
    /// Only those this agent's author may see: itself, the system, whom it shares a room with.
    pub seen_by: Option<AuthorId>,
    /// Only ids above this one.
    pub after: Option<AuthorId>,
    /// How many.
    pub limit: u32,
}

/// One page of authors in the order of their ids, with one more than asked when there are more.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn list(db: &ReadTx<'_>, ask: &AuthorsQuery) -> Result<Vec<Author>> {
    let like = ask.q.as_deref().map(escape_like);
    db.all(
        &format!(
            "SELECT {COLUMNS}, a.retired FROM authors a {JOIN_HANDLE}
             WHERE a.id > $1 AND ($2 OR a.retired = 0) AND ($3 IS NULL OR a.kind = $3)
               AND ($4 IS NULL OR a.display_name LIKE $4 ESCAPE '\\' OR h.handle LIKE $4 ESCAPE '\\')
               AND ($5 IS NULL OR a.id = $5 OR a.kind = 'system' OR EXISTS
                 (SELECT 1 FROM members mine JOIN members theirs ON theirs.room_id = mine.room_id
                  WHERE mine.author_id = $5 AND theirs.author_id = a.id))
             ORDER BY a.id LIMIT $6"
        ),
        (
            ask.after.as_ref().map_or(&[][..], |id| &id.as_bytes()[..]),
            ask.include_retired,
            ask.kind.map(|kind| enum_text(kind, &AuthorKind::WORDS)),
            like,
            ask.seen_by.as_ref().map(AuthorId::as_bytes),
            i64::from(ask.limit) + 1,
        ),
        read,
    )
}

fn escape_like(q: &str) -> String {
    let mut like = String::from("%");
    for c in q.chars() {
        if matches!(c, '\\' | '%' | '_') {
            like.push('\\');
        }
        like.push(c);
    }
    like.push('%');
    like
}

/// The house's own author.
///
/// # Errors
/// A fault when the engine cannot read or there is none.
pub fn system(db: &ReadTx<'_>) -> Result<AuthorId> {
    db.one("SELECT id FROM authors WHERE kind = 'system'", [], |row| {
        transactions::id(row, 0, AuthorId::from_bytes)
    })
}

/// The author with this id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: AuthorId) -> Result<Option<Author>> {
    db.first(
        &format!("SELECT {COLUMNS}, a.retired FROM authors a {JOIN_HANDLE} WHERE a.id = $1"),
        [id.as_bytes()],
        read,
    )
}

/// Whether an agent's author may know `other`: itself, the system, or a room shared.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn is_visible_to(db: &ReadTx<'_>, other: AuthorId, viewer: AuthorId) -> Result<bool> {
    db.one(
        "SELECT $1 = $2 OR EXISTS (SELECT 1 FROM authors WHERE id = $1 AND kind = 'system')
           OR EXISTS (SELECT 1 FROM members mine JOIN members theirs ON theirs.room_id = mine.room_id
                      WHERE mine.author_id = $2 AND theirs.author_id = $1)",
        (other.as_bytes(), viewer.as_bytes()),
        |row| row.get(0),
    )
}

/// Adds an author without a handle.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, author: &Author) -> Result<()> {
    tx.run(
        "INSERT INTO authors (id, kind, display_name, emoji, color, image_url, agent_id, retired)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        (
            author.id.as_bytes(),
            enum_text(author.kind, &AuthorKind::WORDS),
            &author.display_name,
            &author.emoji,
            &author.color,
            &author.image_url,
            author.agent_ref.as_ref().map(AgentId::as_bytes),
            author.retired,
        ),
    )?;
    Ok(())
}

/// Writes everything of an author but its kind and handle.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn update(tx: &mut Tx<'_>, author: &Author) -> Result<()> {
    tx.run(
        "UPDATE authors SET display_name = $1, emoji = $2, color = $3, image_url = $4,
           agent_id = $5, retired = $6, rev = rev + 1 WHERE id = $7",
        (
            &author.display_name,
            &author.emoji,
            &author.color,
            &author.image_url,
            author.agent_ref.as_ref().map(AgentId::as_bytes),
            author.retired,
            author.id.as_bytes(),
        ),
    )?;
    Ok(())
}

/// The handles an author gave up and may take back, newest release first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn reserved(db: &ReadTx<'_>, author: AuthorId) -> Result<Vec<ReservedHandle>> {
    db.all(
        "SELECT handle, released_at FROM handles
         WHERE author_id = $1 AND released_at IS NOT NULL ORDER BY released_at DESC, handle",
        [author.as_bytes()],
        |row| {
            Ok(ReservedHandle {
                handle: handle(row, 0)?,
                released_at: moment(row, 1)?,
            })
        },
    )
}

/// Gives `handle` to an author; the one it had is kept for it.
///
/// # Errors
/// [`Refusal::HandleTaken`] when it is live on another author, [`Refusal::HandleReserved`]
/// when another author released it. Nothing is written then.
pub fn take_handle(
    tx: &mut Tx<'_>,
    author: AuthorId,
    handle: &Handle,
    now: Timestamp,
) -> Result<()> {
    match holder(tx, handle)? {
        Some((holder, true)) if holder != author => return Err(Refusal::HandleTaken.into()),
        Some((holder, false)) if holder != author => return Err(Refusal::HandleReserved.into()),
        _ => {}
    }
    release_handle(tx, author, now)?;
    tx.run(
        "INSERT INTO handles (handle, author_id, released_at) VALUES ($1, $2, NULL)
         ON CONFLICT (handle) DO UPDATE SET released_at = NULL",
        (handle.as_str(), author.as_bytes()),
    )?;
    Ok(())
}

/// Whether `author` could take `handle` now.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn is_free_for(db: &ReadTx<'_>, handle: &Handle, author: AuthorId) -> Result<bool> {
    Ok(holder(db, handle)?.is_none_or(|(holder, live)| holder == author && !live))
}

/// Releases the author's handle, if it has one; it stays kept for this author.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn release_handle(tx: &mut Tx<'_>, author: AuthorId, now: Timestamp) -> Result<()> {
    tx.run(
        "UPDATE handles SET released_at = $1 WHERE author_id = $2 AND released_at IS NULL",
        (now.as_millis(), author.as_bytes()),
    )?;
    Ok(())
}

/// Keeps a word for an author without ever making it live.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn reserve_handle(
    tx: &mut Tx<'_>,
    author: AuthorId,
    handle: &Handle,
    now: Timestamp,
) -> Result<()> {
    tx.run(
        "INSERT INTO handles (handle, author_id, released_at) VALUES ($1, $2, $3)",
        (handle.as_str(), author.as_bytes(), now.as_millis()),
    )?;
    Ok(())
}

/// How often an author's stored fields changed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn rev(db: &ReadTx<'_>, id: AuthorId) -> Result<u64> {
    db.one(
        "SELECT rev FROM authors WHERE id = $1",
        [id.as_bytes()],
        |row| transactions::count(row, 0),
    )
}

/// Counts a change of an author that lies outside its own row, such as of its handle.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn count_change(tx: &mut Tx<'_>, id: AuthorId) -> Result<()> {
    tx.run(
        "UPDATE authors SET rev = rev + 1 WHERE id = $1",
        [id.as_bytes()],
    )?;
    Ok(())
}

/// Who holds a handle, and whether it is live there.
fn holder(db: &ReadTx<'_>, handle: &Handle) -> Result<Option<(AuthorId, bool)>> {
    db.first(
        "SELECT author_id, released_at IS NULL FROM handles WHERE handle = $1",
        [handle.as_str()],
        |row| Ok((transactions::id(row, 0, AuthorId::from_bytes)?, row.get(1)?)),
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<Author> {
    let summary = summary_at(row, 0)?;
    Ok(Author {
        id: summary.id,
        kind: summary.kind,
        display_name: summary.display_name,
        emoji: summary.emoji,
        color: summary.color,
        image_url: summary.image_url,
        agent_ref: summary.agent_ref,
        handle: summary.handle,
        retired: row.get(8)?,
    })
}

/// These authors for show.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn summaries(
    db: &ReadTx<'_>,
    authors: impl Iterator<Item = AuthorId>,
) -> Result<HashMap<AuthorId, AuthorSummary>> {
    let authors: HashSet<AuthorId> = authors.collect();
    if authors.is_empty() {
        return Ok(HashMap::new());
    }
    let places: Vec<String> = (1..=authors.len()).map(|n| format!("${n}")).collect();
    let all = db.all(
        &format!(
            "SELECT {COLUMNS} FROM authors a {JOIN_HANDLE} WHERE a.id IN ({})",
            places.join(", ")
        ),
        params_from_iter(authors.iter().map(AuthorId::as_bytes)),
        |row| summary_at(row, 0),
    )?;
    Ok(all.into_iter().map(|author| (author.id, author)).collect())
}

/// Reads [`COLUMNS`] beginning at column `at`.
pub(crate) fn summary_at(row: &Row<'_>, at: usize) -> rusqlite::Result<AuthorSummary> {
    Ok(AuthorSummary {
        id: transactions::id(row, at, AuthorId::from_bytes)?,
        kind: enum_column(row, at + 1, &AuthorKind::WORDS)?,
        display_name: row.get(at + 2)?,
        emoji: row.get(at + 3)?,
        color: row.get(at + 4)?,
        image_url: row.get(at + 5)?,
        agent_ref: transactions::maybe_id(row, at + 6, AgentId::from_bytes)?,
        handle: maybe_handle(row, at + 7)?,
    })
}

pub(crate) fn maybe_handle(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Handle>> {
    row.get::<_, Option<String>>(column)?
        .map(|text| to_handle(column, text))
        .transpose()
}

pub(crate) fn handle(row: &Row<'_>, column: usize) -> rusqlite::Result<Handle> {
    to_handle(column, row.get(column)?)
}

fn to_handle(column: usize, text: String) -> rusqlite::Result<Handle> {
    Handle::try_from(text).map_err(|why| transactions::unreadable(column, why))
}
