//! Entries of rooms: rows, pages, and the counts a new post moves.

use guildhall_domain::{
    Moment, Result,
    entries::{EntriesAsk, EntriesPage, Entry, EntryKind},
    ids::{AuthorId, EntryId, RoomId},
    mentions::MentionSpan,
};
use rusqlite::Row;

use crate::{
    Rx, Tx, attachments, rooms,
    rows::{self, count, moment, stored, word, word_of},
};

const COLUMNS: &str = "id, room_id, seq, author_id, kind, text, mentions, cascade_root_id,
    cascade_depth, created_at";

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
    /// Whom it names, and where.
    pub mention_spans: Vec<MentionSpan>,
    /// Automatic replies between a person's post and this one.
    pub cascade_depth: u32,
    /// When.
    pub now: Moment,
}

/// A run of a room's entries above `floor`, which hides what came before a member joined.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn page(db: &Rx<'_>, room: RoomId, floor: u64, ask: EntriesAsk) -> Result<EntriesPage> {
    let above = ask.after.unwrap_or(0).max(floor);
    let below = ask.before.unwrap_or(u64::MAX);
    let forward = ask.after.is_some() && ask.before.is_none();
    let order = if forward { "ASC" } else { "DESC" };
    let mut entries = db.all(
        &format!(
            "SELECT {COLUMNS} FROM entries WHERE room_id = $1 AND seq > $2 AND seq < $3
             ORDER BY seq {order} LIMIT $4"
        ),
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
    attachments::fill(db, room, &mut entries)?;
    Ok(EntriesPage { entries, has_more })
}

/// The entry with this id, if it lies in `room` above `floor`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &Rx<'_>, room: RoomId, floor: u64, id: EntryId) -> Result<Option<Entry>> {
    let mut found = db.first(
        &format!("SELECT {COLUMNS} FROM entries WHERE id = $1 AND room_id = $2 AND seq > $3"),
        (id.as_bytes(), room.as_bytes(), stored(floor)),
        read,
    )?;
    attachments::fill(db, room, found.as_mut_slice())?;
    Ok(found)
}

/// Writes a post and moves every count it touches.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn insert(tx: &mut Tx<'_>, post: NewPost) -> Result<Entry> {
    let seq = rooms::next_seq(tx, post.room, 1, post.now)?;
    let spans = (!post.mention_spans.is_empty())
        .then(|| serde_json::to_string(&post.mention_spans))
        .transpose()
        .map_err(|error| rows::broken("writing an entry's mentions", error))?;
    tx.run(
        "INSERT INTO entries (id, room_id, seq, author_id, kind, text, mentions, cascade_root_id,
           cascade_depth, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        (
            post.id.as_bytes(),
            post.room.as_bytes(),
            stored(seq),
            post.author.as_bytes(),
            word_of(EntryKind::Post, &EntryKind::WORDS),
            &post.text,
            spans,
            post.id.as_bytes(),
            post.cascade_depth,
            post.now.as_millis(),
        ),
    )?;
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
        thread_root_entry_id: None,
        thread_reply_count: 0,
        thread_last_reply_at: None,
        session_id: None,
        turn_id: None,
        cascade_root_id: post.id,
        cascade_depth: post.cascade_depth,
        canvas_ops: [],
        attachments: Vec::new(),
        reactions: [],
        redacted_at: None,
        created_at: post.now,
    })
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

fn distinct(spans: &[MentionSpan]) -> Vec<AuthorId> {
    let mut named = Vec::new();
    for span in spans {
        if !named.contains(&span.author_id) {
            named.push(span.author_id);
        }
    }
    named
}

fn read(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let spans: Vec<MentionSpan> = match row.get_ref(6)?.as_str_or_null()? {
        Some(text) => serde_json::from_str(text).map_err(|error| rows::unreadable(6, error))?,
        None => Vec::new(),
    };
    Ok(Entry {
        id: rows::id(row, 0, EntryId::from_bytes)?,
        room_id: rows::id(row, 1, RoomId::from_bytes)?,
        seq: count(row, 2)?,
        author_id: rows::id(row, 3, AuthorId::from_bytes)?,
        kind: word(row, 4, &EntryKind::WORDS)?,
        text: row.get(5)?,
        notice: None,
        mentions: distinct(&spans),
        mention_spans: spans,
        thread_root_entry_id: None,
        thread_reply_count: 0,
        thread_last_reply_at: None,
        session_id: None,
        turn_id: None,
        cascade_root_id: rows::id(row, 7, EntryId::from_bytes)?,
        cascade_depth: row.get(8)?,
        canvas_ops: [],
        attachments: Vec::new(),
        reactions: [],
        redacted_at: None,
        created_at: moment(row, 9)?,
    })
}
