//! The posts that agents are considered for, and what an agent is handed of them.

use guildhall_domain::{
    Result, Timestamp,
    entries::Entry,
    ids::{AuthorId, EntryId, RoomId},
    turns::EarlierPost,
};
use rusqlite::{Row, params_from_iter};

use crate::{
    ReadTx, attachments, entries,
    transactions::{self, count, moment, stored},
};

/// The posts of a room below `seq`, newest first, down to `since`, and at most `most`; a thread's
/// when one is named, with its root.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn earlier_posts(
    db: &ReadTx<'_>,
    room: RoomId,
    thread: Option<EntryId>,
    seq: u64,
    since: Timestamp,
    most: usize,
) -> Result<Vec<EarlierPost>> {
    const SAID: &str = "SELECT id, author_id, mentions, thread_root_id, created_at FROM entries";
    let mut left = most;
    let is_enough = |said: &EarlierPost| {
        left = left.saturating_sub(1);
        said.at < since || left == 0
    };
    let Some(root) = thread else {
        return db.until(
            &format!("{SAID} WHERE room_id = $1 AND seq < $2 AND kind = 'post' ORDER BY seq DESC"),
            (room.as_bytes(), stored(seq)),
            read_said,
            is_enough,
        );
    };
    let mut said = db.until(
        &format!("{SAID} WHERE thread_root_id = $1 AND seq < $2 ORDER BY seq DESC"),
        (root.as_bytes(), stored(seq)),
        read_said,
        is_enough,
    )?;
    said.extend(db.first(
        &format!("{SAID} WHERE id = $1 AND kind = 'post'"),
        [root.as_bytes()],
        read_said,
    )?);
    Ok(said)
}

fn read_said(row: &Row<'_>) -> rusqlite::Result<EarlierPost> {
    Ok(EarlierPost {
        id: transactions::id(row, 0, EntryId::from_bytes)?,
        author: transactions::id(row, 1, AuthorId::from_bytes)?,
        names: entries::distinct(&entries::read_spans(row, 2)?),
        thread_root: transactions::maybe_id(row, 3, EntryId::from_bytes)?,
        at: moment(row, 4)?,
    })
}

/// The newest `most` posts of a room above `floor`, oldest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn newest_posts(db: &ReadTx<'_>, room: RoomId, floor: u64, most: u32) -> Result<Vec<Entry>> {
    let mut posts = db.all(
        &entries::select(
            "e.room_id = $1 AND e.seq > $2 AND e.kind = 'post' ORDER BY e.seq DESC LIMIT $3",
        ),
        (room.as_bytes(), stored(floor), i64::from(most)),
        entries::read,
    )?;
    posts.reverse();
    Ok(posts)
}

/// Posts of a room by id, oldest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_ids(db: &ReadTx<'_>, room: RoomId, ids: &[EntryId]) -> Result<Vec<Entry>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<String> = (2..=ids.len() + 1).map(|n| format!("${n}")).collect();
    let values = std::iter::once(room.as_bytes()).chain(ids.iter().map(EntryId::as_bytes));
    let mut found = db.all(
        &entries::select(&format!(
            "e.room_id = $1 AND e.id IN ({}) ORDER BY e.seq",
            places.join(", ")
        )),
        params_from_iter(values),
        entries::read,
    )?;
    attachments::fill(db, &mut found)?;
    Ok(found)
}

/// What an agent has not seen of a room: posts of others above `above` the
/// newest `most` of them, oldest first, and how many there are altogether.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn unseen_entries(
    db: &ReadTx<'_>,
    room: RoomId,
    agent: AuthorId,
    above: u64,
    most: u32,
) -> Result<(Vec<Entry>, u64)> {
    const UNSEEN: &str = "e.room_id = $1 AND e.seq > $2 AND e.kind = 'post' AND e.author_id <> $3
         AND e.redacted_at IS NULL";
    let key = (room.as_bytes(), stored(above), agent.as_bytes());
    let all = db.one(
        &format!("SELECT COUNT(*) FROM entries e WHERE {UNSEEN}"),
        key,
        |row| count(row, 0),
    )?;
    let mut found = db.all(
        &entries::select(&format!("{UNSEEN} ORDER BY e.seq DESC LIMIT $4")),
        (key.0, key.1, key.2, i64::from(most)),
        entries::read,
    )?;
    found.reverse();
    attachments::fill(db, &mut found)?;
    Ok((found, all))
}
