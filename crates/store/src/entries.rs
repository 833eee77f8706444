//! Entries of rooms: rows, pages, and the counts a new post moves.

use guildhall_domain::{
    Result, Timestamp,
    attachments::Digest,
    entries::{EntriesPage, EntriesQuery, Entry, EntryKind, Notice},
    events::Event,
    ids::{AuthorId, EntryId, RoomId, SessionId, TurnId},
    mentions::MentionSpan,
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx, attachments, events, idempotency, reactions, rooms, search, threads,
    transactions::{self, count, enum_column, enum_text, maybe_moment, moment, stored},
};

/// What [`read`] reads, of the entry `e` with its responses `s`.
pub(crate) const COLUMNS: &str = "e.id, e.room_id, e.seq, e.author_id, e.kind, e.text, e.mentions,
    e.cascade_root_id, e.cascade_depth, e.created_at, e.thread_root_id, e.redacted_at,
    s.reply_count, s.last_reply_at, s.reactions, e.notice, e.session_id, e.turn_id";
/// How many columns these are.
pub(crate) const COLUMN_COUNT: usize = 18;

/// A query of entries with what others added to them.
pub(crate) fn select(condition: &str) -> String {
    format!(
        "SELECT {COLUMNS} FROM entries e LEFT JOIN responses s ON s.entry_id = e.id
         WHERE {condition}"
    )
}

/// A post about to be written.
#[derive(Clone, Debug)]
pub struct NewPost {
    /// Its id.
    pub id: EntryId,
    /// Its room.
    pub room: RoomId,
    /// Who writes.
    pub author: AuthorId,
    /// What it says.
    pub text: String,
    /// The entry it answers in a thread.
    pub thread_root: Option<Entry>,
    /// Whom it names, and where.
    pub mention_spans: Vec<MentionSpan>,
    /// The chain of automatic turns it belongs to.
    pub cascade: Cascade,
    /// When.
    pub now: Timestamp,
}

/// Which chain of automatic turns a post belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cascade {
    /// The post that began it; `None` for one that begins its own.
    pub root: Option<EntryId>,
    /// Automatic replies between that post and this one.
    pub depth: u32,
    /// The turn it was written in.
    pub turn: Option<TurnId>,
    /// The session it was written in.
    pub session: Option<SessionId>,
}

/// A notice about to be written.
#[derive(Clone, Debug)]
pub struct NewNotice {
    /// Its id.
    pub id: EntryId,
    /// Its room.
    pub room: RoomId,
    /// The system's author.
    pub author: AuthorId,
    /// What it says to people.
    pub text: String,
    /// What it says to programs.
    pub notice: Notice,
    /// When.
    pub now: Timestamp,
}

/// A run of a room's entries above `floor`, which hides what came before a member joined.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn page(db: &ReadTx<'_>, room: RoomId, floor: u64, ask: EntriesQuery) -> Result<EntriesPage> {
    let above = ask.after.unwrap_or(0).max(floor);
    let below = ask.before.unwrap_or(u64::MAX);
    let forward = ask.after.is_some() && ask.before.is_none();
    let order = if forward { "ASC" } else { "DESC" };
    let mut entries = db.all(
        &select(&format!(
            "e.room_id = $1 AND e.seq > $2 AND e.seq < $3 ORDER BY e.seq {order} LIMIT $4"
        )),
        (
            room.as_bytes(),
            stored(above),
            stored(below),
            i64::from(ask.limit) + 1,
        ),
        read,
    )?;
    let has_more = entries.len() > ask.limit as usize;
    entries.truncate(ask.limit as usize);
    if !forward {
        entries.reverse();
    }
    let mut thread_roots = roots_outside(db, floor, &entries)?;
    attachments::fill(db, entries.iter_mut().chain(&mut thread_roots))?;
    Ok(EntriesPage {
        thread_roots,
        entries,
        has_more,
    })
}

/// The roots above `floor` that a page of one room names and does not hold.
fn roots_outside(db: &ReadTx<'_>, floor: u64, page: &[Entry]) -> Result<Vec<Entry>> {
    let (Some(first), Some(last)) = (page.first(), page.last()) else {
        return Ok(Vec::new());
    };
    if page
        .iter()
        .all(|entry| entry.thread_root_entry_id.is_none())
    {
        return Ok(Vec::new());
    }
    // A root is older than its replies, so that those outside the page lie before it.
    db.all(
        &select(
            "e.id IN (SELECT reply.thread_root_id FROM entries reply
                      WHERE reply.room_id = $1 AND reply.seq >= $2 AND reply.seq <= $3
                        AND reply.thread_root_id IS NOT NULL)
               AND e.seq < $2 AND e.seq > $4 ORDER BY e.seq",
        ),
        (
            first.room_id.as_bytes(),
            stored(first.seq),
            stored(last.seq),
            stored(floor),
        ),
        read,
    )
}

/// The entry with this id, if it lies in `room` above `floor`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, room: RoomId, floor: u64, id: EntryId) -> Result<Option<Entry>> {
    let mut found = db.first(
        &select("e.id = $1 AND e.room_id = $2 AND e.seq > $3"),
        (id.as_bytes(), room.as_bytes(), stored(floor)),
        read,
    )?;
    attachments::fill(db, &mut found)?;
    Ok(found)
}

/// An entry's place in its room; 0 for one that is not there.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn seq(db: &ReadTx<'_>, id: EntryId) -> Result<u64> {
    let seq = db.first(
        "SELECT seq FROM entries WHERE id = $1",
        [id.as_bytes()],
        |row| count(row, 0),
    )?;
    Ok(seq.unwrap_or(0))
}

/// Writes a post and moves every count it touches.
///
/// The event that brings it must be the next one that is appended.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn insert(tx: &mut Tx<'_>, post: NewPost) -> Result<Entry> {
    let seq = rooms::next_seq(tx, post.room, 1, post.now)?;
    let number = tx.number_entry();
    let told_in = tx.next_event();
    let spans = spans_text(&post.mention_spans)?;
    let cascade_root = post.cascade.root.unwrap_or(post.id);
    tx.run(
        "INSERT INTO entries (id, room_id, seq, author_id, kind, text, mentions, cascade_root_id,
           cascade_depth, created_at, number, told_in, thread_root_id, session_id, turn_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        (
            post.id.as_bytes(),
            post.room.as_bytes(),
            stored(seq),
            post.author.as_bytes(),
            enum_text(EntryKind::Post, &EntryKind::WORDS),
            &post.text,
            spans,
            cascade_root.as_bytes(),
            post.cascade.depth,
            post.now.as_millis(),
            stored(number),
            stored(told_in),
            post.thread_root.as_ref().map(|root| root.id.as_bytes()),
            post.cascade.session.as_ref().map(SessionId::as_bytes),
            post.cascade.turn.as_ref().map(TurnId::as_bytes),
        ),
    )?;
    if let Some(root) = &post.thread_root {
        threads::count_reply(tx, root, post.author, number, post.now)?;
    }
    tx.run(
        "INSERT INTO posters (room_id, author_id, posts) VALUES ($1, $2, 1)
         ON CONFLICT (room_id, author_id) DO UPDATE SET posts = posts + 1",
        (post.room.as_bytes(), post.author.as_bytes()),
    )?;
    let mentions = distinct(&post.mention_spans);
    for named in mentions.iter().filter(|named| **named != post.author) {
        note_mention(tx, post.room, *named, seq)?;
    }
    Ok(Entry {
        id: post.id,
        room_id: post.room,
        seq,
        author_id: post.author,
        kind: EntryKind::Post,
        text: post.text,
        notice: None,
        mentions,
        mention_spans: post.mention_spans,
        thread_root_entry_id: post.thread_root.map(|root| root.id),
        thread_reply_count: 0,
        thread_last_reply_at: None,
        session_id: post.cascade.session,
        turn_id: post.cascade.turn,
        cascade_root_id: cascade_root,
        cascade_depth: post.cascade.depth,
        canvas_ops: [],
        attachments: Vec::new(),
        reactions: Vec::new(),
        redacted_at: None,
        created_at: post.now,
    })
}

/// Writes a notice; it moves no count but the room's newest entry.
///
/// The event that brings it must be the next one that is appended.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn insert_notice(tx: &mut Tx<'_>, new: NewNotice) -> Result<Entry> {
    let seq = rooms::next_seq(tx, new.room, 0, new.now)?;
    let number = tx.number_entry();
    let told_in = tx.next_event();
    let notice = serde_json::to_string(&new.notice)
        .map_err(|error| transactions::broken("writing a notice", error))?;
    tx.run(
        "INSERT INTO entries (id, room_id, seq, author_id, kind, text, cascade_root_id,
           cascade_depth, created_at, number, told_in, notice)
         VALUES ($1, $2, $3, $4, $5, $6, $1, 0, $7, $8, $9, $10)",
        (
            new.id.as_bytes(),
            new.room.as_bytes(),
            stored(seq),
            new.author.as_bytes(),
            enum_text(EntryKind::Notice, &EntryKind::WORDS),
            &new.text,
            new.now.as_millis(),
            stored(number),
            stored(told_in),
            notice,
        ),
    )?;
    Ok(Entry {
        id: new.id,
        room_id: new.room,
        seq,
        author_id: new.author,
        kind: EntryKind::Notice,
        text: new.text,
        notice: Some(new.notice),
        mentions: Vec::new(),
        mention_spans: Vec::new(),
        thread_root_entry_id: None,
        thread_reply_count: 0,
        thread_last_reply_at: None,
        session_id: None,
        turn_id: None,
        cascade_root_id: new.id,
        cascade_depth: 0,
        canvas_ops: [],
        attachments: Vec::new(),
        reactions: Vec::new(),
        redacted_at: None,
        created_at: new.now,
    })
}

/// Reads the spans of a column.
pub(crate) fn read_spans(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<MentionSpan>> {
    match row.get_ref(column)?.as_str_or_null()? {
        Some(text) => {
            serde_json::from_str(text).map_err(|error| transactions::unreadable(column, error))
        }
        None => Ok(Vec::new()),
    }
}

/// Whether the row of an entry that `event` brings says that it is told at `seq`.
pub(crate) fn is_told_in(db: &ReadTx<'_>, event: &Event, seq: u64) -> Result<bool> {
    let Event::EntryAdded { entry } = event else {
        return Ok(true);
    };
    let told_in = db.first(
        "SELECT told_in FROM entries WHERE id = $1",
        [entry.id.as_bytes()],
        |row| count(row, 0),
    )?;
    Ok(told_in.is_none_or(|told_in| told_in == seq))
}

/// Takes an entry's text out of its row, the index of words and the event that brought it, and
/// has the engine forget the pages that held it once this is committed. Answers the blobs of its
/// files that nobody needs any more, to be removed after the commit.
///
/// # Errors
/// A fault when the engine refuses a change.
///
/// Source: contract 2.3, "DELETE …/entries/{entryId}".
pub fn redact(tx: &mut Tx<'_>, entry: &mut Entry, now: Timestamp) -> Result<Vec<Digest>> {
    let (number, told_in) = tx.one(
        "SELECT number, told_in FROM entries WHERE id = $1",
        [entry.id.as_bytes()],
        |row| Ok((count(row, 0)?, row.get::<_, Option<i64>>(1)?)),
    )?;
    // What was posted in this very group is indexed only at its end, without its text.
    if number <= tx.indexed_to() {
        search::forget(tx, number, entry.room_id, &entry.text)?;
    }
    if let Some(told_in) = told_in {
        events::redact_entry(tx, told_in, now)?;
    }
    idempotency::redact_entry(tx, entry.id, entry.created_at, now)?;
    // Whom it named stays counted; where and how the text did so goes with it.
    let nowhere = entry.mention_spans.iter().map(|span| MentionSpan {
        offset: 0,
        length: 0,
        ..*span
    });
    let spans = spans_text(&nowhere.collect::<Vec<_>>())?;
    tx.run(
        "UPDATE entries SET text = '', mentions = $1, redacted_at = $2 WHERE id = $3",
        (spans, now.as_millis(), entry.id.as_bytes()),
    )?;
    let files = attachments::forget_of_entry(tx, entry.id)?;
    entry.redact(now);
    tx.forget_pages();
    Ok(files)
}

/// The spans as they are stored; `None` for none.
fn spans_text(spans: &[MentionSpan]) -> Result<Option<String>> {
    (!spans.is_empty())
        .then(|| serde_json::to_string(spans))
        .transpose()
        .map_err(|error| transactions::broken("writing an entry's mentions", error))
}

fn note_mention(tx: &mut Tx<'_>, room: RoomId, named: AuthorId, seq: u64) -> Result<()> {
    tx.run(
        "INSERT INTO mentions (room_id, author_id, seq) VALUES ($1, $2, $3)",
        (room.as_bytes(), named.as_bytes(), stored(seq)),
    )?;
    tx.run(
        "UPDATE members SET mention_count = mention_count + 1 WHERE room_id = $1 AND author_id = $2",
        (room.as_bytes(), named.as_bytes()),
    )?;
    Ok(())
}

pub(crate) fn distinct(spans: &[MentionSpan]) -> Vec<AuthorId> {
    let mut named = Vec::new();
    for span in spans {
        if !named.contains(&span.author_id) {
            named.push(span.author_id);
        }
    }
    named
}

/// Reads an entry from its [`COLUMNS`], which come first in the row.
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let redacted_at = maybe_moment(row, 11)?;
    let replies: Option<i64> = row.get(12)?;
    let spans = read_spans(row, 6)?;
    let notice: Option<Notice> = match row.get_ref(15)?.as_str_or_null()? {
        Some(text) => {
            Some(serde_json::from_str(text).map_err(|error| transactions::unreadable(15, error))?)
        }
        None => None,
    };
    Ok(Entry {
        id: transactions::id(row, 0, EntryId::from_bytes)?,
        room_id: transactions::id(row, 1, RoomId::from_bytes)?,
        seq: count(row, 2)?,
        author_id: transactions::id(row, 3, AuthorId::from_bytes)?,
        kind: enum_column(row, 4, &EntryKind::WORDS)?,
        text: row.get(5)?,
        notice,
        mentions: distinct(&spans),
        mention_spans: if redacted_at.is_some() {
            Vec::new()
        } else {
            spans
        },
        thread_root_entry_id: transactions::maybe_id(row, 10, EntryId::from_bytes)?,
        thread_reply_count: replies.unwrap_or(0).unsigned_abs(),
        thread_last_reply_at: maybe_moment(row, 13)?,
        session_id: transactions::maybe_id(row, 16, SessionId::from_bytes)?,
        turn_id: transactions::maybe_id(row, 17, TurnId::from_bytes)?,
        cascade_root_id: transactions::id(row, 7, EntryId::from_bytes)?,
        cascade_depth: row.get(8)?,
        canvas_ops: [],
        attachments: Vec::new(),
        reactions: reactions::read(row, 14)?.summaries(),
        redacted_at,
        created_at: moment(row, 9)?,
    })
}
