//! Search: the index of words, and finding entries by it, newest first.
//! What a query asks for is `domain::search`; who may find what is `hall::search`.
//!
//! The index is brought up once for a group of changes and not in each, because the engine
//! writes its part of the index out at every savepoint.

use std::fmt::Write;

use guildhall_domain::{
    Fault, Result,
    ids::{AuthorId, EntryId, RoomId},
    search::{SearchHit, SearchTerms, excerpt},
};
use rusqlite::{Connection, Row};

use crate::{
    ReadTx, Tx,
    sqlite_faults::fault,
    transactions::{self, count, moment, stored},
};

/// A part of the house in which is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchScope {
    /// One room, or all of them.
    pub room: Option<RoomId>,
    /// Only entries whose place among all entries lies above.
    pub above: u64,
}

/// The rooms an author belongs to, each from its joining on.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn fields_of(db: &ReadTx<'_>, author: AuthorId) -> Result<Vec<SearchScope>> {
    db.all(
        "SELECT m.room_id, COALESCE(e.number, 0) FROM members m
         LEFT JOIN entries e ON e.room_id = m.room_id AND e.seq = m.joined_seq
         WHERE m.author_id = $1",
        [author.as_bytes()],
        |row| {
            Ok(SearchScope {
                room: Some(transactions::id(row, 0, RoomId::from_bytes)?),
                above: count(row, 1)?,
            })
        },
    )
}

/// The place among all entries of the entry at `seq` of a room; 0 when there is none.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn place(db: &ReadTx<'_>, room: RoomId, seq: u64) -> Result<u64> {
    let place = db.first(
        "SELECT number FROM entries WHERE room_id = $1 AND seq = $2",
        (room.as_bytes(), stored(seq)),
        |row| count(row, 0),
    )?;
    Ok(place.unwrap_or(0))
}

/// The newest entries of `fields` below the place `below` that hold all wanted words.
///
/// Each field is searched on its own, so that what its seeker may not read costs nothing.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(
    db: &ReadTx<'_>,
    wanted: &SearchTerms,
    fields: &[SearchScope],
    below: u64,
    limit: u32,
) -> Result<Vec<SearchHit>> {
    let mut hits: Vec<SearchHit> = Vec::new();
    for field in fields {
        // Once there is a page, only what is newer than its last one can still enter it.
        let last = hits.get(limit as usize - 1).map_or(0, |hit| hit.place);
        hits.extend(db.all(
            "SELECT e.number, e.room_id, e.id, e.seq, e.author_id, e.created_at, e.text
             FROM entry_words w CROSS JOIN entries e ON e.number = w.rowid
             WHERE w.entry_words MATCH $1 AND w.rowid > $2 AND w.rowid < $3
             ORDER BY w.rowid DESC LIMIT $4",
            (
                expression(wanted, field.room),
                stored(field.above.max(last)),
                stored(below),
                i64::from(limit),
            ),
            |row| read(row, wanted),
        )?);
        hits.sort_unstable_by_key(|hit| std::cmp::Reverse(hit.place));
        hits.truncate(limit as usize);
    }
    Ok(hits)
}

/// Enters the entries above `number` into the index.
pub(crate) fn index_above(connection: &Connection, number: u64) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO entry_words (rowid, room, text)
             SELECT number, hex(room_id), text FROM entries
             WHERE number > $1 AND redacted_at IS NULL ORDER BY number",
        )
        .and_then(|mut statement| statement.execute([stored(number)]))
        .map(|_| ())
        .map_err(|error| fault("indexing new entries", error))
}

/// Takes an entry's words out of the index, which must know them.
pub(crate) fn forget(tx: &mut Tx<'_>, number: u64, room: RoomId, text: &str) -> Result<()> {
    tx.run(
        "INSERT INTO entry_words (entry_words, rowid, room, text)
         VALUES ('delete', $1, hex($2), $3)",
        (stored(number), room.as_bytes(), text),
    )?;
    Ok(())
}

/// The wanted words in the index's own language: each one quoted, so that nothing a person
/// writes is read as an operator.
fn expression(wanted: &SearchTerms, room: Option<RoomId>) -> String {
    let mut text = String::new();
    if let Some(room) = room {
        text.push_str("room : ");
        for byte in room.as_bytes() {
            // Writing to a text cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text.push_str(" AND ");
    }
    text.push_str("text : (");
    for (n, word) in wanted.words().iter().enumerate() {
        let and = if n > 0 { " AND " } else { "" };
        let _ = write!(text, "{and}\"{}\"", word.replace('"', "\"\""));
    }
    text.push_str(if wanted.last_is_open() { " *)" } else { ")" });
    text
}

fn read(row: &Row<'_>, wanted: &SearchTerms) -> rusqlite::Result<SearchHit> {
    Ok(SearchHit {
        place: count(row, 0)?,
        room_id: transactions::id(row, 1, RoomId::from_bytes)?,
        entry_id: transactions::id(row, 2, EntryId::from_bytes)?,
        seq: count(row, 3)?,
        author_id: transactions::id(row, 4, AuthorId::from_bytes)?,
        created_at: moment(row, 5)?,
        excerpt: excerpt(row.get_ref(6)?.as_str()?, wanted),
    })
}
