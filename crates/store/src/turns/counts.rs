//! What the limits of turns count, and who is at work.

use std::collections::HashMap;

use guildhall_domain::{
    Result, Timestamp,
    ids::{AuthorId, EntryId, RoomId},
};
use rusqlite::Row;

use crate::{
    ReadTx,
    transactions::{self, count, maybe_moment, stored},
};

/// How many turns of an agent run or wait, and whether one of them is in this room, or one waits
/// there in its session's queue.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn at_work(db: &ReadTx<'_>, agent: AuthorId, room: RoomId) -> Result<(u64, bool)> {
    db.one(
        "SELECT COUNT(*), COALESCE(MAX(room_id = $1), 0) OR EXISTS (
             SELECT 1 FROM turns WHERE room_id = $1 AND agent_author_id = $2
             AND state IN ('collecting', 'held') AND session_id IS NOT NULL)
         FROM turns
         WHERE agent_author_id = $2 AND state IN ('running', 'waiting')",
        (room.as_bytes(), agent.as_bytes()),
        |row| Ok((count(row, 0)?, row.get(1)?)),
    )
}

/// How many agents run or wait in each room where one does.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn working(db: &ReadTx<'_>) -> Result<HashMap<RoomId, u64>> {
    let rooms = db.all(
        "SELECT room_id, COUNT(DISTINCT agent_author_id) FROM turns
         WHERE state IN ('running', 'waiting') GROUP BY room_id",
        [],
        |row| {
            Ok((
                transactions::id(row, 0, RoomId::from_bytes)?,
                count(row, 1)?,
            ))
        },
    )?;
    Ok(rooms.into_iter().collect())
}

/// How many automatic turns began in the hour after `since`, of a room or of all, and when the
/// first of them did.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn started_since(
    db: &ReadTx<'_>,
    room: Option<RoomId>,
    since: Timestamp,
) -> Result<(u32, Option<Timestamp>)> {
    let read = |row: &Row<'_>| Ok((row.get(0)?, maybe_moment(row, 1)?));
    match room {
        None => db.one(
            "SELECT COUNT(*), MIN(taken_at) FROM turns WHERE taken_at > $1",
            [since.as_millis()],
            read,
        ),
        Some(room) => db.one(
            "SELECT COUNT(*), MIN(taken_at) FROM turns WHERE room_id = $1 AND taken_at > $2",
            (room.as_bytes(), since.as_millis()),
            read,
        ),
    }
}

/// How many turns an agent took in a cascade of a room, but for the one numbered `except`; those
/// that have yet to start count when they were recorded before `before`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn in_cascade(
    db: &ReadTx<'_>,
    cascade: EntryId,
    room: RoomId,
    agent: AuthorId,
    except: u64,
    before: u64,
) -> Result<u32> {
    db.one(
        "SELECT COUNT(*) FROM turns
         WHERE cascade_root_id = $1 AND room_id = $2 AND agent_author_id = $3 AND number <> $4
           AND (started_at IS NOT NULL OR (state IN ('collecting', 'held') AND number < $5))",
        (
            cascade.as_bytes(),
            room.as_bytes(),
            agent.as_bytes(),
            stored(except),
            stored(before),
        ),
        |row| row.get(0),
    )
}

/// Whether another turn of a room's cascade than the one numbered `except` met a limit of it.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn was_stopped(db: &ReadTx<'_>, cascade: EntryId, room: RoomId, except: u64) -> Result<bool> {
    let found = db.first(
        "SELECT 1 FROM turns WHERE cascade_root_id = $1 AND room_id = $2
           AND rule IN ('depth', 'repeat') AND number <> $3 LIMIT 1",
        (cascade.as_bytes(), room.as_bytes(), stored(except)),
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// Whether another turn of a room than the one numbered `except` met a limit of the hour since
/// then.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn was_over_budget(
    db: &ReadTx<'_>,
    room: RoomId,
    since: Timestamp,
    except: u64,
) -> Result<bool> {
    let found = db.first(
        "SELECT 1 FROM turns WHERE room_id = $1 AND rule IN ('hour_room', 'hour_global')
           AND created_at > $2 AND number <> $3 LIMIT 1",
        (room.as_bytes(), since.as_millis(), stored(except)),
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}
