//! Rooms: rows, the listing with its counts, names.
//! Unread and mention counts are read from stored numbers, so that the listing costs what it
//! answers and not what the rooms hold.

use std::{cmp::Reverse, collections::HashMap};

use guildhall_domain::{
    Refusal, Result, Timestamp,
    ids::{AuthorId, RoomId},
    members::AuthorSummary,
    rooms::{LimitOverrides, Room, RoomKind, RoomView, TEAM, TurnLimits, title_from_members},
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx, agents,
    members::{self, MembershipWindow},
    settings,
    transactions::{self, count, enum_column, enum_text, moment, stored},
    turns,
};

const COLUMNS: &str = "r.id, r.kind, r.slug, r.title, r.topic, r.archived, r.ambient_max_entries,
    r.well_known, r.fallback_seat, r.turn_limits_enabled, r.max_agent_depth,
    r.max_turns_per_agent_per_cascade, r.max_auto_turns_per_hour, r.created_at,
    r.last_activity_at, r.post_count";

/// A room's row: the room, except that a title which follows its members is still missing.
#[derive(Clone, Debug)]
struct RoomRow {
    room: Room,
    titled: bool,
    post_count: u64,
}

/// Which rooms a listing holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoomsQuery {
    /// Only this kind.
    pub kind: Option<RoomKind>,
    /// Archived ones too.
    pub include_archived: bool,
    /// Only rooms the viewer belongs to.
    pub only_own: bool,
}

/// The rooms as `viewer` sees them, newest activity first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn list(db: &ReadTx<'_>, viewer: AuthorId, ask: RoomsQuery) -> Result<Vec<RoomView>> {
    let inherited = InstallationDefaults::read(db)?;
    let mut rooms = db.all(
        &format!(
            "SELECT {COLUMNS}, m.read_others, m.mention_count, p.posts
             FROM rooms r
             LEFT JOIN members m ON m.room_id = r.id AND m.author_id = $1
             LEFT JOIN posters p ON p.room_id = r.id AND p.author_id = $1
             WHERE ($2 OR r.archived = 0) AND ($3 IS NULL OR r.kind = $3)
               AND (NOT $4 OR m.author_id IS NOT NULL)"
        ),
        (
            viewer.as_bytes(),
            ask.include_archived,
            ask.kind.map(|kind| enum_text(kind, &RoomKind::WORDS)),
            ask.only_own,
        ),
        |row| read_seen(row, &inherited),
    )?;
    rooms.sort_unstable_by_key(|(stored, _)| {
        Reverse((stored.room.last_activity_at, stored.room.id))
    });
    let has_dm = rooms
        .iter()
        .any(|(stored, ..)| stored.room.kind == RoomKind::Dm);
    let mut people = if has_dm {
        members::of_direct_messages(db)?
    } else {
        HashMap::new()
    };
    let working = turns::working(db)?;
    Ok(rooms
        .into_iter()
        .map(|(stored, numbers)| {
            let people = people.remove(&stored.room.id).unwrap_or_default();
            let working = working.get(&stored.room.id).copied().unwrap_or(0);
            seen(stored, numbers, people, working)
        })
        .collect())
}

/// One room as `viewer` sees it, whether or not it may.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn view_for(db: &ReadTx<'_>, id: RoomId, viewer: AuthorId) -> Result<Option<RoomView>> {
    let inherited = InstallationDefaults::read(db)?;
    let found = db.first(
        &format!(
            "SELECT {COLUMNS}, m.read_others, m.mention_count, p.posts
             FROM rooms r
             LEFT JOIN members m ON m.room_id = r.id AND m.author_id = $1
             LEFT JOIN posters p ON p.room_id = r.id AND p.author_id = $1
             WHERE r.id = $2"
        ),
        (viewer.as_bytes(), id.as_bytes()),
        |row| read_seen(row, &inherited),
    )?;
    let Some((stored, numbers)) = found else {
        return Ok(None);
    };
    let people = match stored.room.kind {
        RoomKind::Dm => members::summaries(db, id)?,
        RoomKind::Channel => Vec::new(),
    };
    let working = turns::working(db)?.remove(&id).unwrap_or(0);
    Ok(Some(seen(stored, numbers, people, working)))
}

/// One room without anything that depends on who looks.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: RoomId) -> Result<Option<Room>> {
    let inherited = InstallationDefaults::read(db)?;
    let found = db.first(
        &format!("SELECT {COLUMNS} FROM rooms r WHERE r.id = $1"),
        [id.as_bytes()],
        |row| read(row, &inherited),
    )?;
    let Some(stored) = found else { return Ok(None) };
    let people = match stored.room.kind {
        RoomKind::Dm if !stored.titled => members::summaries(db, id)?,
        _ => Vec::new(),
    };
    Ok(Some(finished(stored, &people)))
}

/// Every room without anything that depends on who looks, by id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn all(db: &ReadTx<'_>) -> Result<Vec<Room>> {
    let inherited = InstallationDefaults::read(db)?;
    let rooms = db.all(
        &format!("SELECT {COLUMNS} FROM rooms r ORDER BY r.id"),
        [],
        |row| read(row, &inherited),
    )?;
    let mut people = members::of_direct_messages(db)?;
    Ok(rooms
        .into_iter()
        .map(|stored| {
            let people = people.remove(&stored.room.id).unwrap_or_default();
            finished(stored, &people)
        })
        .collect())
}

/// How often a room's stored fields changed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn rev(db: &ReadTx<'_>, id: RoomId) -> Result<u64> {
    db.one(
        "SELECT rev FROM rooms WHERE id = $1",
        [id.as_bytes()],
        |row| count(row, 0),
    )
}

/// The room every installation has.
///
/// # Errors
/// A fault when the engine cannot read or there is none.
pub fn team(db: &ReadTx<'_>) -> Result<RoomId> {
    db.one(
        "SELECT id FROM rooms WHERE well_known = 'team'",
        [],
        |row| transactions::id(row, 0, RoomId::from_bytes),
    )
}

/// What a deed in a room depends on, in one small row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomAccessRow {
    /// Channel or direct message.
    pub kind: RoomKind,
    /// Whether the room takes no more changes.
    pub archived: bool,
    /// Whether an agent made it.
    pub made_by_agent: bool,
    /// Whether it is the room every installation has.
    pub is_team: bool,
    /// How deep automatic replies may go here; `None` inherits the installation's.
    pub max_agent_depth: Option<u32>,
    /// Since when the author sees it; `None` when it is no member.
    pub window: Option<MembershipWindow>,
}

/// How `author` stands to a room; `None` when there is no such room.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn access(db: &ReadTx<'_>, room: RoomId, author: AuthorId) -> Result<Option<RoomAccessRow>> {
    db.first(
        "SELECT r.kind, r.archived, r.made_by_agent, r.well_known = $1, r.max_agent_depth,
           m.joined_seq, m.seen_from
         FROM rooms r LEFT JOIN members m ON m.room_id = r.id AND m.author_id = $2
         WHERE r.id = $3",
        (TEAM, author.as_bytes(), room.as_bytes()),
        |row| {
            let joined: Option<i64> = row.get(5)?;
            Ok(RoomAccessRow {
                kind: enum_column(row, 0, &RoomKind::WORDS)?,
                archived: row.get(1)?,
                made_by_agent: row.get(2)?,
                is_team: row.get(3)?,
                max_agent_depth: row.get(4)?,
                window: match joined {
                    Some(seq) => Some(MembershipWindow {
                        joined_seq: seq.unsigned_abs(),
                        seen_from: count(row, 6)?,
                    }),
                    None => None,
                },
            })
        },
    )
}

/// How many rooms there are.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn count_all(db: &ReadTx<'_>) -> Result<u64> {
    db.one("SELECT COUNT(*) FROM rooms", [], |row| count(row, 0))
}

/// The direct message with exactly these members, each named once; the oldest, if there are more.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn dm_of(db: &ReadTx<'_>, members: &[AuthorId]) -> Result<Option<RoomId>> {
    let Some(first) = members.first() else {
        return Ok(None);
    };
    let seats = db.all(
        "SELECT r.id, theirs.author_id FROM members m JOIN rooms r ON r.id = m.room_id
         JOIN members theirs ON theirs.room_id = r.id
         WHERE m.author_id = $1 AND r.kind = 'dm'
           AND (SELECT COUNT(*) FROM members all_of WHERE all_of.room_id = r.id) = $2
         ORDER BY r.created_at, r.id",
        (first.as_bytes(), stored(members.len() as u64)),
        |row| {
            Ok((
                transactions::id(row, 0, RoomId::from_bytes)?,
                transactions::id(row, 1, AuthorId::from_bytes)?,
            ))
        },
    )?;
    let fits = |room: &[(RoomId, AuthorId)]| room.iter().all(|(_, seat)| members.contains(seat));
    let rooms = seats.chunk_by(|(one, _), (next, _)| one == next);
    Ok(rooms
        .filter(|room| fits(room))
        .find_map(|room| room.first().map(|(id, _)| *id)))
}

/// The rooms an author is seen in: where it belongs, and where it wrote.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn seen_with(db: &ReadTx<'_>, author: AuthorId) -> Result<Vec<RoomId>> {
    db.all(
        "SELECT room_id FROM members WHERE author_id = $1
         UNION SELECT room_id FROM posters WHERE author_id = $1 ORDER BY room_id",
        [author.as_bytes()],
        |row| transactions::id(row, 0, RoomId::from_bytes),
    )
}

/// The direct messages without a title of their own that an author belongs to.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn untitled_with(db: &ReadTx<'_>, author: AuthorId) -> Result<Vec<RoomId>> {
    db.all(
        "SELECT r.id FROM members m JOIN rooms r ON r.id = m.room_id
         WHERE m.author_id = $1 AND r.kind = 'dm' AND r.title IS NULL ORDER BY r.id",
        [author.as_bytes()],
        |row| transactions::id(row, 0, RoomId::from_bytes),
    )
}

/// Adds a room; a title of `None` follows the members' names.
///
/// # Errors
/// [`Refusal::SlugTaken`] when another channel that is not archived has the slug.
pub fn insert(
    tx: &mut Tx<'_>,
    room: &Room,
    title: Option<&str>,
    made_by_agent: bool,
) -> Result<()> {
    require_free_slug(tx, room)?;
    tx.run(
        "INSERT INTO rooms (id, kind, slug, title, topic, ambient_max_entries, well_known,
           made_by_agent, created_at, last_activity_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        (
            room.id.as_bytes(),
            enum_text(room.kind, &RoomKind::WORDS),
            &room.slug,
            title,
            &room.topic,
            room.ambient_max_entries,
            &room.well_known,
            made_by_agent,
            room.created_at.as_millis(),
            room.last_activity_at.as_millis(),
        ),
    )?;
    Ok(())
}

/// When a room was made; `None` when there is no such room.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn made_at(db: &ReadTx<'_>, id: RoomId) -> Result<Option<Timestamp>> {
    db.first(
        "SELECT created_at FROM rooms WHERE id = $1",
        [id.as_bytes()],
        |row| moment(row, 0),
    )
}

/// What the owner can change of a room.
#[derive(Clone, Debug)]
pub struct RoomChange {
    /// The room after the change, its limits aside.
    pub room: Room,
    /// A title given now; `None` leaves the stored one.
    pub title: Option<String>,
    /// A seat given now; `None` leaves the stored one, the inner `None` clears it.
    pub fallback_seat: Option<Option<AuthorId>>,
    /// The room's own limits.
    pub overrides: LimitOverrides,
}

/// Writes a changed room, whose slug is free.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn update(tx: &mut Tx<'_>, change: &RoomChange) -> Result<()> {
    let RoomChange {
        room,
        title,
        fallback_seat,
        overrides,
    } = change;
    tx.run(
        "UPDATE rooms SET slug = $1, title = COALESCE($2, title), topic = $3, archived = $4,
           ambient_max_entries = $5,
           fallback_seat = CASE WHEN $6 THEN $7 ELSE fallback_seat END,
           turn_limits_enabled = $8, max_agent_depth = $9,
           max_turns_per_agent_per_cascade = $10, max_auto_turns_per_hour = $11
         WHERE id = $12",
        (
            &room.slug,
            title,
            &room.topic,
            room.archived,
            room.ambient_max_entries,
            fallback_seat.is_some(),
            fallback_seat.flatten().as_ref().map(AuthorId::as_bytes),
            overrides.turn_limits_enabled,
            overrides.max_agent_depth,
            overrides.max_turns_per_agent_per_cascade,
            overrides.max_auto_turns_per_hour,
            room.id.as_bytes(),
        ),
    )?;
    Ok(())
}

/// Counts a change of a room's stored fields.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn count_change(tx: &mut Tx<'_>, id: RoomId) -> Result<()> {
    tx.run(
        "UPDATE rooms SET rev = rev + 1 WHERE id = $1",
        [id.as_bytes()],
    )?;
    Ok(())
}

/// Clears the fallback seat where an author that leaves holds it.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn clear_fallback_seat(tx: &mut Tx<'_>, room: RoomId, author: AuthorId) -> Result<bool> {
    let touched = tx.run(
        "UPDATE rooms SET fallback_seat = NULL WHERE id = $1 AND fallback_seat = $2",
        (room.as_bytes(), author.as_bytes()),
    )?;
    Ok(touched > 0)
}

/// Counts one more entry: answers its seq.
///
/// # Errors
/// A fault when the engine refuses the row.
pub(crate) fn next_seq(tx: &mut Tx<'_>, room: RoomId, posts: u64, now: Timestamp) -> Result<u64> {
    tx.one(
        "UPDATE rooms SET last_seq = last_seq + 1, post_count = post_count + $1,
           last_activity_at = $2 WHERE id = $3 RETURNING last_seq",
        (stored(posts), now.as_millis(), room.as_bytes()),
        |row| count(row, 0),
    )
}

/// Holds back a room whose slug is taken.
///
/// # Errors
/// [`Refusal::SlugTaken`] when another channel that is not archived has the slug.
pub fn require_free_slug(db: &ReadTx<'_>, room: &Room) -> Result<()> {
    if room.kind != RoomKind::Channel || room.archived {
        return Ok(());
    }
    let taken = db.first(
        "SELECT 1 FROM rooms WHERE slug = $1 AND kind = 'channel' AND archived = 0 AND id <> $2",
        (&room.slug, room.id.as_bytes()),
        |_| Ok(()),
    )?;
    if taken.is_some() {
        Err(Refusal::SlugTaken.into())
    } else {
        Ok(())
    }
}

/// The author that answers in `team` when nobody else was named: the default agent, while a member.
fn default_seat(db: &ReadTx<'_>) -> Result<Option<AuthorId>> {
    let Some(author) = agents::default_author(db)? else {
        return Ok(None);
    };
    Ok(members::is_member(db, team(db)?, author)?.then_some(author))
}

/// What rooms take over from the installation.
struct InstallationDefaults {
    limits: TurnLimits,
    default_seat: Option<AuthorId>,
}

impl InstallationDefaults {
    fn read(db: &ReadTx<'_>) -> Result<Self> {
        Ok(Self {
            limits: settings::turn_limits(db)?,
            default_seat: default_seat(db)?,
        })
    }
}

/// What the viewer's rows say: `None` for a non-member, `None` for one who never wrote.
#[derive(Clone, Copy)]
struct ViewerCounts {
    read_others: Option<u64>,
    mention_count: Option<u64>,
    posts: Option<u64>,
}

fn seen(
    stored: RoomRow,
    numbers: ViewerCounts,
    people: Vec<AuthorSummary>,
    working: u64,
) -> RoomView {
    let own = numbers.posts.unwrap_or(0);
    let others = stored.post_count.saturating_sub(own);
    let is_dm = stored.room.kind == RoomKind::Dm;
    RoomView {
        unread_count: numbers.read_others.map(|read| others.saturating_sub(read)),
        mention_count: numbers.mention_count,
        viewer_has_posted: numbers.posts.is_some(),
        working,
        room: finished(stored, &people),
        participants: is_dm.then_some(people),
    }
}

fn finished(stored: RoomRow, people: &[AuthorSummary]) -> Room {
    let mut room = stored.room;
    if !stored.titled {
        room.title = title_from_members(people.iter().map(|author| author.display_name.as_str()));
    }
    room
}

fn read_seen(
    row: &Row<'_>,
    inherited: &InstallationDefaults,
) -> rusqlite::Result<(RoomRow, ViewerCounts)> {
    let maybe = |column| -> rusqlite::Result<Option<u64>> {
        Ok(row.get::<_, Option<i64>>(column)?.map(i64::unsigned_abs))
    };
    let numbers = ViewerCounts {
        read_others: maybe(16)?,
        mention_count: maybe(17)?,
        posts: maybe(18)?,
    };
    Ok((read(row, inherited)?, numbers))
}

fn read(row: &Row<'_>, inherited: &InstallationDefaults) -> rusqlite::Result<RoomRow> {
    let title: Option<String> = row.get(3)?;
    let limit_overrides = LimitOverrides {
        turn_limits_enabled: row.get(9)?,
        max_agent_depth: row.get(10)?,
        max_turns_per_agent_per_cascade: row.get(11)?,
        max_auto_turns_per_hour: row.get(12)?,
    };
    let limits = limit_overrides.over(&inherited.limits);
    let well_known: String = row.get(7)?;
    let default_seat = inherited.default_seat.filter(|_| well_known == TEAM);
    let fallback_seat = transactions::maybe_id(row, 8, AuthorId::from_bytes)?;
    Ok(RoomRow {
        titled: title.is_some(),
        post_count: count(row, 15)?,
        room: Room {
            id: transactions::id(row, 0, RoomId::from_bytes)?,
            kind: enum_column(row, 1, &RoomKind::WORDS)?,
            slug: row.get(2)?,
            title: title.unwrap_or_default(),
            topic: row.get(4)?,
            archived: row.get(5)?,
            ambient_max_entries: row.get(6)?,
            well_known,
            fallback_seat_author_id: fallback_seat.or(default_seat),
            turn_limits_enabled: limits.turn_limits_enabled,
            max_agent_depth: limits.max_agent_depth,
            max_turns_per_agent_per_cascade: limits.max_turns_per_agent_per_cascade,
            max_auto_turns_per_hour: limits.max_auto_turns_per_hour,
            limit_overrides,
            created_at: moment(row, 13)?,
            last_activity_at: moment(row, 14)?,
            bridge: None,
        },
    })
}
