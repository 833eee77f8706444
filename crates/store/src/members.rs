//! Members of rooms: rows and look-ups.
//! Who may join whom is `domain::members` and `hall::members`.

use std::collections::{HashMap, HashSet};

use guildhall_domain::{
    Result, Timestamp,
    agents::ResponseMode,
    authors::Handle,
    ids::{AuthorId, RoomId},
    members::{AuthorSummary, Member, MemberOrigin},
};
use rusqlite::{Row, params_from_iter};

use crate::{
    ReadTx, Tx,
    authors::{self, COLUMNS, JOIN_HANDLE},
    transactions::{self, count, enum_column, enum_text, moment, stored},
};

fn select(condition: &str) -> String {
    format!(
        "SELECT {COLUMNS}, m.room_id, m.response_mode, m.joined_at, m.joined_seq, m.last_read_seq
         FROM members m JOIN authors a ON a.id = m.author_id {JOIN_HANDLE}
         WHERE {condition} ORDER BY m.seen_from, m.author_id"
    )
}

/// A room's members by joining.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_room(db: &ReadTx<'_>, room: RoomId) -> Result<Vec<Member>> {
    db.all(&select("m.room_id = $1"), [room.as_bytes()], read)
}

/// One member of a room.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, room: RoomId, author: AuthorId) -> Result<Option<Member>> {
    db.first(
        &select("m.room_id = $1 AND m.author_id = $2"),
        (room.as_bytes(), author.as_bytes()),
        read,
    )
}

/// Whether an author belongs to a room.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn is_member(db: &ReadTx<'_>, room: RoomId, author: AuthorId) -> Result<bool> {
    Ok(window(db, room, author)?.is_some())
}

/// Since when a member sees its room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembershipWindow {
    /// The entries above this seq.
    pub joined_seq: u64,
    /// The events from this seq on.
    pub seen_from: u64,
}

/// Since when an author sees a room; `None` when it is no member.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn window(db: &ReadTx<'_>, room: RoomId, author: AuthorId) -> Result<Option<MembershipWindow>> {
    db.first(
        "SELECT joined_seq, seen_from FROM members WHERE room_id = $1 AND author_id = $2",
        (room.as_bytes(), author.as_bytes()),
        |row| {
            Ok(MembershipWindow {
                joined_seq: count(row, 0)?,
                seen_from: count(row, 1)?,
            })
        },
    )
}

/// The ids of a room's members.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn ids(db: &ReadTx<'_>, room: RoomId) -> Result<HashSet<AuthorId>> {
    let ids = db.all(
        "SELECT author_id FROM members WHERE room_id = $1",
        [room.as_bytes()],
        |row| transactions::id(row, 0, AuthorId::from_bytes),
    )?;
    Ok(ids.into_iter().collect())
}

/// The rooms an author belongs to.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn rooms_of(db: &ReadTx<'_>, author: AuthorId) -> Result<Vec<RoomId>> {
    db.all(
        "SELECT room_id FROM members WHERE author_id = $1 ORDER BY room_id",
        [author.as_bytes()],
        |row| transactions::id(row, 0, RoomId::from_bytes),
    )
}

/// Whom the handles of a room's members name.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_handle(db: &ReadTx<'_>, room: RoomId) -> Result<HashMap<Handle, AuthorId>> {
    let named = db.all(
        "SELECT h.handle, m.author_id FROM members m
         JOIN handles h ON h.author_id = m.author_id AND h.released_at IS NULL
         WHERE m.room_id = $1",
        [room.as_bytes()],
        |row| {
            Ok((
                authors::handle(row, 0)?,
                transactions::id(row, 1, AuthorId::from_bytes)?,
            ))
        },
    )?;
    Ok(named.into_iter().collect())
}

/// A room's members for show, by joining.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn summaries(db: &ReadTx<'_>, room: RoomId) -> Result<Vec<AuthorSummary>> {
    db.all(
        &format!(
            "SELECT {COLUMNS} FROM members m JOIN authors a ON a.id = m.author_id {JOIN_HANDLE}
             WHERE m.room_id = $1 ORDER BY m.seen_from, m.author_id"
        ),
        [room.as_bytes()],
        |row| authors::summary_at(row, 0),
    )
}

/// The members of every direct message for show, by joining.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_direct_messages(db: &ReadTx<'_>) -> Result<HashMap<RoomId, Vec<AuthorSummary>>> {
    let all = db.all(
        &format!(
            "SELECT {COLUMNS}, m.room_id FROM rooms r JOIN members m ON m.room_id = r.id
             JOIN authors a ON a.id = m.author_id {JOIN_HANDLE}
             WHERE r.kind = 'dm' ORDER BY m.seen_from, m.author_id"
        ),
        [],
        read_in_room,
    )?;
    Ok(by_room(all))
}

/// The members of these rooms for show, by joining.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn summaries_in(
    db: &ReadTx<'_>,
    rooms: impl Iterator<Item = RoomId>,
) -> Result<HashMap<RoomId, Vec<AuthorSummary>>> {
    let rooms: HashSet<RoomId> = rooms.collect();
    if rooms.is_empty() {
        return Ok(HashMap::new());
    }
    let places: Vec<String> = (1..=rooms.len()).map(|n| format!("${n}")).collect();
    let all = db.all(
        &format!(
            "SELECT {COLUMNS}, m.room_id FROM members m
             JOIN authors a ON a.id = m.author_id {JOIN_HANDLE}
             WHERE m.room_id IN ({}) ORDER BY m.seen_from, m.author_id",
            places.join(", ")
        ),
        params_from_iter(rooms.iter().map(RoomId::as_bytes)),
        read_in_room,
    )?;
    Ok(by_room(all))
}

fn read_in_room(row: &Row<'_>) -> rusqlite::Result<(RoomId, AuthorSummary)> {
    Ok((
        transactions::id(row, 8, RoomId::from_bytes)?,
        authors::summary_at(row, 0)?,
    ))
}

fn by_room(members: Vec<(RoomId, AuthorSummary)>) -> HashMap<RoomId, Vec<AuthorSummary>> {
    let mut by_room: HashMap<RoomId, Vec<AuthorSummary>> = HashMap::new();
    for (room, author) in members {
        by_room.entry(room).or_default().push(author);
    }
    by_room
}

/// Authors who wrote in a room and are no members, for show.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn former(db: &ReadTx<'_>, room: RoomId) -> Result<Vec<AuthorSummary>> {
    db.all(
        &format!(
            "SELECT {COLUMNS} FROM posters p JOIN authors a ON a.id = p.author_id {JOIN_HANDLE}
             WHERE p.room_id = $1 AND NOT EXISTS
               (SELECT 1 FROM members m WHERE m.room_id = p.room_id AND m.author_id = p.author_id)
             ORDER BY a.id"
        ),
        [room.as_bytes()],
        |row| authors::summary_at(row, 0),
    )
}

/// How many agents and members a room has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberCounts {
    /// Members.
    pub members: u64,
    /// Agents among them.
    pub agents: u64,
}

/// Counts a room's members.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn headcount(db: &ReadTx<'_>, room: RoomId) -> Result<MemberCounts> {
    db.one(
        "SELECT COUNT(*), COALESCE(SUM(a.kind = 'agent'), 0) FROM members m
         JOIN authors a ON a.id = m.author_id WHERE m.room_id = $1",
        [room.as_bytes()],
        |row| {
            Ok(MemberCounts {
                members: count(row, 0)?,
                agents: count(row, 1)?,
            })
        },
    )
}

/// Somebody about to join.
#[derive(Clone, Copy, Debug)]
pub struct NewMember {
    /// The room.
    pub room: RoomId,
    /// Who joins.
    pub author: AuthorId,
    /// How it answers there.
    pub response_mode: ResponseMode,
    /// The event that tells of it; the member sees events from there on.
    pub seen_from: u64,
    /// When.
    pub now: Timestamp,
}

/// Makes an author a member that has read everything so far.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, joining: &NewMember) -> Result<Member> {
    let NewMember {
        room,
        author,
        response_mode,
        seen_from,
        now,
    } = joining;
    tx.run(
        "INSERT INTO members (room_id, author_id, response_mode, joined_at, joined_seq, seen_from,
           last_read_seq, cursor_moved_at, read_others)
         SELECT r.id, $1, $2, $3, r.last_seq, $4, r.last_seq, $3, r.post_count - COALESCE(p.posts, 0)
         FROM rooms r LEFT JOIN posters p ON p.room_id = r.id AND p.author_id = $1
         WHERE r.id = $5",
        (author.as_bytes(), enum_text(*response_mode, &ResponseMode::WORDS), now.as_millis(), stored(*seen_from), room.as_bytes()),
    )?;
    tx.one(
        &select("m.room_id = $1 AND m.author_id = $2"),
        (room.as_bytes(), author.as_bytes()),
        read,
    )
}

/// Sets how a member answers.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn set_response_mode(
    tx: &mut Tx<'_>,
    room: RoomId,
    author: AuthorId,
    mode: ResponseMode,
) -> Result<()> {
    tx.run(
        "UPDATE members SET response_mode = $1 WHERE room_id = $2 AND author_id = $3",
        (
            enum_text(mode, &ResponseMode::WORDS),
            room.as_bytes(),
            author.as_bytes(),
        ),
    )?;
    Ok(())
}

/// Ends a membership.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn remove(tx: &mut Tx<'_>, room: RoomId, author: AuthorId) -> Result<()> {
    tx.run(
        "DELETE FROM members WHERE room_id = $1 AND author_id = $2",
        (room.as_bytes(), author.as_bytes()),
    )?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Member> {
    let author = authors::summary_at(row, 0)?;
    Ok(Member {
        room_id: transactions::id(row, 8, RoomId::from_bytes)?,
        author_id: author.id,
        author,
        response_mode: enum_column(row, 9, &ResponseMode::WORDS)?,
        joined_at: moment(row, 10)?,
        joined_seq: count(row, 11)?,
        last_read_seq: count(row, 12)?,
        origin: MemberOrigin::Local,
    })
}
