//! Reactions: kept beside their entry, so that a page of entries brings them along.
//! Which may be added is `domain::reactions`.

use guildhall_domain::{
    Result, Timestamp,
    ids::{AuthorId, EntryId, RoomId},
    reactions::Reactions,
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    transactions::{self, count},
};

/// All reactions to an entry.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of(db: &ReadTx<'_>, entry: EntryId) -> Result<Reactions> {
    let kept = db.first(
        "SELECT reactions FROM responses WHERE entry_id = $1",
        [entry.as_bytes()],
        |row| read(row, 0),
    )?;
    Ok(kept.unwrap_or_default())
}

/// Keeps all reactions to an entry.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn keep(tx: &mut Tx<'_>, entry: EntryId, reactions: &Reactions) -> Result<()> {
    let text = (!reactions.is_empty())
        .then(|| serde_json::to_string(reactions))
        .transpose()
        .map_err(|error| transactions::broken("writing an entry's reactions", error))?;
    tx.run(
        "INSERT INTO responses (entry_id, reactions) VALUES ($1, $2)
         ON CONFLICT (entry_id) DO UPDATE SET reactions = excluded.reactions",
        (entry.as_bytes(), text),
    )?;
    Ok(())
}

/// How often an agent reacted lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentReactions {
    /// Reactions it added in the room.
    pub added: u64,
    /// When it added the first of them; `None` when there is none.
    pub first_at: Option<Timestamp>,
}

/// What an agent added in a room after `since`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn added_since(
    db: &ReadTx<'_>,
    room: RoomId,
    agent: AuthorId,
    since: Timestamp,
) -> Result<RecentReactions> {
    db.one(
        "SELECT COUNT(*), MIN(at) FROM agent_reactions
         WHERE room_id = $1 AND author_id = $2 AND at > $3",
        (room.as_bytes(), agent.as_bytes(), since.as_millis()),
        |row| {
            Ok(RecentReactions {
                added: count(row, 0)?,
                first_at: transactions::maybe_moment(row, 1)?,
            })
        },
    )
}

/// Notes that an agent reacted in a room, and drops its notes up to `until`.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn note(
    tx: &mut Tx<'_>,
    room: RoomId,
    agent: AuthorId,
    now: Timestamp,
    until: Timestamp,
) -> Result<()> {
    tx.run(
        "DELETE FROM agent_reactions WHERE room_id = $1 AND author_id = $2 AND at <= $3",
        (room.as_bytes(), agent.as_bytes(), until.as_millis()),
    )?;
    tx.run(
        "INSERT INTO agent_reactions (room_id, author_id, at) VALUES ($1, $2, $3)",
        (room.as_bytes(), agent.as_bytes(), now.as_millis()),
    )?;
    Ok(())
}

/// Reads a column that holds an entry's reactions or null.
pub(crate) fn read(row: &Row<'_>, column: usize) -> rusqlite::Result<Reactions> {
    match row.get_ref(column)?.as_str_or_null()? {
        Some(text) => {
            serde_json::from_str(text).map_err(|error| transactions::unreadable(column, error))
        }
        None => Ok(Reactions::default()),
    }
}
