//! Read cursors: moving one recounts only what it passes over.

use guildhall_domain::{
    Result, Timestamp,
    ids::{AuthorId, RoomId},
    read_cursors::{self, ReadCursor},
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    transactions::{count, moment, stored},
};

/// Where a member's cursor stands; `None` for a non-member.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, room: RoomId, author: AuthorId) -> Result<Option<ReadCursor>> {
    db.first(
        "SELECT m.last_read_seq, r.post_count - COALESCE(p.posts, 0) - m.read_others,
           m.mention_count, m.cursor_moved_at
         FROM members m JOIN rooms r ON r.id = m.room_id
         LEFT JOIN posters p ON p.room_id = m.room_id AND p.author_id = m.author_id
         WHERE m.room_id = $1 AND m.author_id = $2",
        (room.as_bytes(), author.as_bytes()),
        |row| read(row, room, author),
    )
}

/// Moves a member's cursor; answers where it stands and whether it moved, `None` for a non-member.
///
/// # Errors
/// A fault when the engine refuses.
pub fn set(
    tx: &mut Tx<'_>,
    room: RoomId,
    author: AuthorId,
    asked: u64,
    allow_back: bool,
    now: Timestamp,
) -> Result<Option<(ReadCursor, bool)>> {
    let Some(old) = find(tx, room, author)? else {
        return Ok(None);
    };
    let newest = tx.one(
        "SELECT last_seq FROM rooms WHERE id = $1",
        [room.as_bytes()],
        |row| count(row, 0),
    )?;
    let target = read_cursors::next_position(old.last_read_seq, asked, newest, allow_back);
    if target == old.last_read_seq {
        return Ok(Some((old, false)));
    }
    let unread = if target == newest {
        0
    } else {
        unread_at(tx, &old, target)?
    };
    let mentions = tx.one(
        "SELECT COUNT(*) FROM mentions WHERE room_id = $1 AND author_id = $2 AND seq > $3",
        (room.as_bytes(), author.as_bytes(), stored(target)),
        |row| count(row, 0),
    )?;
    tx.run(
        "UPDATE members SET last_read_seq = $1, read_others = read_others + $2,
           mention_count = $3, cursor_moved_at = $4
         WHERE room_id = $5 AND author_id = $6",
        (
            stored(target),
            stored(old.unread_count) - stored(unread),
            stored(mentions),
            now.as_millis(),
            room.as_bytes(),
            author.as_bytes(),
        ),
    )?;
    let cursor = ReadCursor {
        last_read_seq: target,
        unread_count: unread,
        mention_count: mentions,
        updated_at: now,
        ..old
    };
    Ok(Some((cursor, true)))
}

/// The unread posts once the cursor stands at `target`: the old number, less or plus what
/// lies between.
fn unread_at(tx: &Tx<'_>, old: &ReadCursor, target: u64) -> Result<u64> {
    let (low, high) = (target.min(old.last_read_seq), target.max(old.last_read_seq));
    let between = tx.one(
        "SELECT COUNT(*) FROM entries
         WHERE room_id = $1 AND seq > $2 AND seq <= $3 AND author_id <> $4 AND kind = 'post'",
        (
            old.room_id.as_bytes(),
            stored(low),
            stored(high),
            old.author_id.as_bytes(),
        ),
        |row| count(row, 0),
    )?;
    Ok(if target > old.last_read_seq {
        old.unread_count.saturating_sub(between)
    } else {
        old.unread_count + between
    })
}

fn read(row: &Row<'_>, room_id: RoomId, author_id: AuthorId) -> rusqlite::Result<ReadCursor> {
    Ok(ReadCursor {
        room_id,
        author_id,
        last_read_seq: count(row, 0)?,
        unread_count: count(row, 1)?,
        mention_count: count(row, 2)?,
        updated_at: moment(row, 3)?,
    })
}
