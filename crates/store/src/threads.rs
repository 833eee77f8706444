//! Threads: the replies to an entry, and the threads an author wrote in.

use guildhall_domain::{
    Result, Timestamp,
    entries::Entry,
    ids::{AuthorId, EntryId, RoomId},
    rooms::title_from_members,
    threads::{ThreadQuery, ThreadView, ThreadsPage},
};

use crate::{
    ReadTx, Tx, attachments, entries, members,
    transactions::{count, moment, stored},
};

/// The replies to `root` above `ask.after`, oldest first, and whether more follow.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn replies(db: &ReadTx<'_>, root: EntryId, ask: ThreadQuery) -> Result<(Vec<Entry>, bool)> {
    let mut entries = db.all(
        &entries::select("e.thread_root_id = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3"),
        (root.as_bytes(), stored(ask.after), i64::from(ask.limit) + 1),
        entries::read,
    )?;
    let has_more = entries.len() > ask.limit as usize;
    entries.truncate(ask.limit as usize);
    attachments::fill(db, &mut entries)?;
    Ok((entries, has_more))
}

/// The threads `author` wrote in whose newest reply lies below the place `below`, newest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn participated_by(
    db: &ReadTx<'_>,
    author: AuthorId,
    below: u64,
    limit: u32,
) -> Result<ThreadsPage> {
    let mut threads = db.all(
        &format!(
            "SELECT {}, s.last_reply_number, s.last_reply_at, r.title,
               (SELECT COUNT(*) FROM members m CROSS JOIN entries reply
                  ON reply.thread_root_id = e.id AND reply.seq > m.last_read_seq
                WHERE m.room_id = e.room_id AND m.author_id = $1 AND reply.author_id <> $1)
             FROM (SELECT w.root_id FROM thread_writers w
                   CROSS JOIN responses newest ON newest.entry_id = w.root_id
                   WHERE w.author_id = $1 AND newest.last_reply_number < $2
                   ORDER BY newest.last_reply_number DESC LIMIT $3) asked
             CROSS JOIN responses s ON s.entry_id = asked.root_id
             CROSS JOIN entries e ON e.id = asked.root_id
             CROSS JOIN rooms r ON r.id = e.room_id
             ORDER BY s.last_reply_number DESC",
            entries::COLUMNS
        ),
        (author.as_bytes(), stored(below), i64::from(limit) + 1),
        |row| {
            let root = entries::read(row)?;
            let at = entries::COLUMN_COUNT;
            let title: Option<String> = row.get(at + 2)?;
            let thread = ThreadView {
                room_id: root.room_id,
                room_title: String::new(),
                root,
                place: count(row, at)?,
                last_activity_at: moment(row, at + 1)?,
                unread_count: count(row, at + 3)?,
            };
            Ok((thread, title))
        },
    )?;
    let has_more = threads.len() > limit as usize;
    threads.truncate(limit as usize);
    attachments::fill(db, threads.iter_mut().map(|(thread, _)| &mut thread.root))?;
    Ok(ThreadsPage {
        threads: titled(db, threads)?,
        has_more,
    })
}

/// Gives each thread its room's title; a direct message without one is called by its members.
fn titled(db: &ReadTx<'_>, threads: Vec<(ThreadView, Option<String>)>) -> Result<Vec<ThreadView>> {
    let untitled = threads.iter().filter(|(_, title)| title.is_none());
    let people = members::summaries_in(db, untitled.map(|(thread, _)| thread.room_id))?;
    let names = |room: RoomId| {
        let people = people.get(&room).into_iter().flatten();
        title_from_members(people.map(|author| author.display_name.as_str()))
    };
    let named = threads.into_iter().map(|(mut thread, title)| {
        thread.room_title = title.unwrap_or_else(|| names(thread.room_id));
        thread
    });
    Ok(named.collect())
}

/// Counts a reply at its root.
pub(crate) fn count_reply(
    tx: &mut Tx<'_>,
    root: &Entry,
    author: AuthorId,
    number: u64,
    now: Timestamp,
) -> Result<()> {
    tx.run(
        "INSERT INTO responses (entry_id, reply_count, last_reply_at, last_reply_number)
         VALUES ($1, 1, $2, $3)
         ON CONFLICT (entry_id) DO UPDATE SET reply_count = reply_count + 1,
           last_reply_at = excluded.last_reply_at,
           last_reply_number = excluded.last_reply_number",
        (root.id.as_bytes(), now.as_millis(), stored(number)),
    )?;
    for writer in [root.author_id, author] {
        tx.run(
            "INSERT INTO thread_writers (author_id, root_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            (writer.as_bytes(), root.id.as_bytes()),
        )?;
    }
    Ok(())
}
