//! The event log: appended in the transaction of the change, pulled by seq.
//! Who may hear of an event is `hall::streams`.

use std::sync::Arc;

use guildhall_domain::{
    Fault, Result, Timestamp,
    events::{Event, EventAudience, EventScope},
    ids::AuthorId,
};
use rusqlite::{Connection, Row, types::ValueRef};

use crate::{
    ReadTx, Tx, sqlite_faults,
    transactions::{self, count, moment, stored},
};

/// Where the log ends: the newest seq and the bytes of all events up to it; and where the
/// numbering of entries does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogEnd {
    pub(crate) seq: u64,
    bytes_total: u64,
    /// The newest entry's place among all entries.
    pub(crate) entry_number: u64,
    /// The same at the last commit: so far the index of words reaches.
    pub(crate) indexed_to: u64,
}

/// A stored event, as streams send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place in the log, from 1.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// Its name.
    pub name: String,
    /// Its main scope.
    pub scope: EventScope,
    /// Further scopes whose streams bring it.
    pub also: Vec<EventScope>,
    /// Who caused it; `None` is the server.
    pub actor: Option<AuthorId>,
    /// Who may hear of it.
    pub audience: EventAudience,
    /// Its data as JSON text.
    pub data: String,
}

impl StoredEvent {
    /// The event, read back.
    ///
    /// # Errors
    /// A fault when the stored text is not an event of this version.
    pub fn event(&self) -> Result<Event> {
        let text = format!("{{\"type\":\"{}\",\"data\":{}}}", self.name, self.data);
        serde_json::from_str(&text).map_err(|error| transactions::broken("reading an event", error))
    }
}

const COLUMNS: &str = "seq, at, type, scope, also, actor_id, audience, data";

/// The newest seq, 0 before the first event.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn newest(db: &ReadTx<'_>) -> Result<u64> {
    db.one("SELECT COALESCE(MAX(seq), 0) FROM events", [], |row| {
        count(row, 0)
    })
}

/// Bytes of all events in the log.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn log_bytes(db: &ReadTx<'_>) -> Result<u64> {
    db.one(
        "SELECT COALESCE(
           (SELECT bytes_total FROM events ORDER BY seq DESC LIMIT 1)
           - (SELECT bytes_total - LENGTH(data) FROM events ORDER BY seq LIMIT 1), 0)",
        [],
        |row| {
            row.get::<_, i64>(0)
                .map(|bytes| bytes.max(0).unsigned_abs())
        },
    )
}

/// The oldest seq still in the log; one above the newest when the log is empty.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn retained_from(db: &ReadTx<'_>) -> Result<u64> {
    let oldest = db.one("SELECT MIN(seq) FROM events", [], |row| {
        row.get::<_, Option<i64>>(0)
    })?;
    oldest.map_or_else(|| Ok(newest(db)? + 1), |seq| Ok(seq.unsigned_abs()))
}

/// How much of the log is read at once: events, and bytes of their data; one event is read
/// however large it is.
#[derive(Clone, Copy, Debug)]
pub struct PageSize {
    /// Events at most.
    pub events: usize,
    /// Bytes of data, unless the first event has more.
    pub bytes: usize,
}

/// A run of the log.
#[derive(Clone, Debug)]
pub struct LogPage {
    /// The events, oldest first.
    pub events: Vec<Arc<StoredEvent>>,
    /// Whether more may follow: the page ended at its size and not at the log's end.
    pub is_full: bool,
}

/// The events above `after`, of every scope, as many as `size` allows.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn after(db: &ReadTx<'_>, after: u64, size: PageSize) -> Result<LogPage> {
    run(
        db,
        &format!("SELECT {COLUMNS} FROM events WHERE seq > $1 ORDER BY seq LIMIT $2"),
        (stored(after), stored(size.events as u64)),
        size,
    )
}

fn run(
    db: &ReadTx<'_>,
    sql: &str,
    params: impl rusqlite::Params,
    size: PageSize,
) -> Result<LogPage> {
    let mut bytes = 0;
    let events = db.until(sql, params, read, |event| {
        bytes += event.data.len();
        bytes >= size.bytes
    })?;
    Ok(LogPage {
        is_full: !events.is_empty() && (bytes >= size.bytes || events.len() == size.events),
        events,
    })
}

/// The events above `after` that stand in one of `scopes`, each once, as many as `size` allows.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn after_in(
    db: &ReadTx<'_>,
    scopes: &[EventScope],
    after: u64,
    size: PageSize,
) -> Result<LogPage> {
    let in_scope = format!(
        "SELECT {COLUMNS} FROM events WHERE seq IN
           (SELECT seq FROM event_scopes WHERE scope = $1 AND seq > $2 ORDER BY seq LIMIT $3)
         ORDER BY seq"
    );
    let mut events = Vec::new();
    // Behind the end of a scope's full run, its next events are not known yet.
    let mut known_to = u64::MAX;
    for scope in scopes {
        let params = (scope.to_string(), stored(after), stored(size.events as u64));
        let run = run(db, &in_scope, params, size)?;
        if let Some(last) = run.events.last().filter(|_| run.is_full) {
            known_to = known_to.min(last.seq);
        }
        events.extend(run.events);
    }
    events.sort_unstable_by_key(|event| event.seq);
    events.dedup_by_key(|event| event.seq);
    events.retain(|event| event.seq <= known_to);
    let is_full = known_to != u64::MAX || events.len() > size.events;
    events.truncate(size.events);
    Ok(LogPage { events, is_full })
}

/// Drops the beginning of the log: the events older than `before` beyond the newest `keep_min`, and as many
/// as needed for the log to fit into `bytes_max`; at most `batch` at once.
///
/// Answers how many were dropped; fewer than `batch` means that nothing more is due.
///
/// # Errors
/// A fault when the engine refuses.
///
/// Source: contract 1.10, "Retention".
pub fn drop_oldest(
    tx: &mut Tx<'_>,
    before: Timestamp,
    keep_min: u64,
    bytes_max: u64,
    batch: u32,
) -> Result<usize> {
    let newest = newest(tx)?;
    let by_age = newest.saturating_sub(keep_min);
    let total = tx.one(
        "SELECT COALESCE(MAX(bytes_total), 0) FROM events WHERE seq = $1",
        [stored(newest)],
        |row| count(row, 0),
    )?;
    let by_size = total.saturating_sub(bytes_max);
    let oldest = tx.all(
        "SELECT (seq <= $1 AND at < $2) OR bytes_total <= $3, seq, scope, also
         FROM events ORDER BY seq LIMIT $4",
        (
            stored(by_age),
            before.as_millis(),
            stored(by_size),
            i64::from(batch),
        ),
        |row| {
            Ok((
                row.get(0)?,
                (row.get::<_, i64>(1)?, row.get(2)?, row.get(3)?),
            ))
        },
    )?;
    // The log loses its beginning and nothing else: a hole would be told by no reset.
    let due: Vec<(i64, String, String)> = oldest
        .into_iter()
        .take_while(|(is_due, _)| *is_due)
        .map(|(_, event)| event)
        .collect();
    for (seq, scope, also) in &due {
        for scope in std::iter::once(scope.as_str()).chain(also.split_whitespace()) {
            tx.run(
                "DELETE FROM event_scopes WHERE scope = $1 AND seq = $2",
                (scope, seq),
            )?;
        }
        tx.run("DELETE FROM events WHERE seq = $1", [seq])?;
    }
    Ok(due.len())
}

/// Takes an entry's text out of the event that brought it, if that is still kept.
///
/// The event stays the entry as it came, so that a replay gives what the GETs answer. Its bytes
/// stay counted as they were, so that the log ends a little earlier than it had to.
pub(crate) fn redact_entry(tx: &mut Tx<'_>, seq: i64, now: Timestamp) -> Result<()> {
    let kept = tx.first(
        &format!("SELECT {COLUMNS} FROM events WHERE seq = $1"),
        [seq],
        read,
    )?;
    let Some(kept) = kept else { return Ok(()) };
    let Event::EntryAdded { mut entry } = kept.event()? else {
        return Err(Fault::broken("redacting an event", "it brings no entry").into());
    };
    entry.redact(now);
    let data = data_of(&Event::EntryAdded { entry })?;
    tx.run("UPDATE events SET data = $1 WHERE seq = $2", (data, seq))?;
    Ok(())
}

pub(crate) fn append(
    tx: &mut Tx<'_>,
    log: &mut LogEnd,
    at: Timestamp,
    actor: Option<AuthorId>,
    event: &Event,
) -> Result<()> {
    let rooms = match event {
        Event::AuthorUpdated { author } => crate::rooms::seen_with(tx, author.id)?,
        _ => Vec::new(),
    };
    let filing = event.visibility(&rooms);
    let data = data_of(event)?;
    let scope = filing.scope.to_string();
    let also: Vec<String> = filing.also.iter().map(EventScope::to_string).collect();
    let seq = log.seq + 1;
    let bytes_total = log.bytes_total + data.len() as u64;
    let audience = match &filing.audience {
        EventAudience::Scope => None,
        EventAudience::Owner => Some(&[][..]),
        EventAudience::Author(author) => Some(&author.as_bytes()[..]),
    };
    tx.run(
        "INSERT INTO events (seq, at, type, scope, also, actor_id, audience, data, bytes_total)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        (
            stored(seq),
            at.as_millis(),
            event.name(),
            &scope,
            also.join(" "),
            actor.as_ref().map(AuthorId::as_bytes),
            audience,
            data,
            stored(bytes_total),
        ),
    )?;
    for scope in std::iter::once(&scope).chain(&also) {
        tx.run(
            "INSERT INTO event_scopes (scope, seq) VALUES ($1, $2)",
            (scope, stored(seq)),
        )?;
    }
    log.seq = seq;
    log.bytes_total = bytes_total;
    Ok(())
}

/// Where the log and the numbering of an open database end.
pub(crate) fn log_end(connection: &Connection) -> Result<LogEnd, Fault> {
    connection
        .query_row(
            "SELECT COALESCE(MAX(seq), 0), COALESCE((SELECT bytes_total FROM events ORDER BY seq DESC LIMIT 1), 0),
               (SELECT COALESCE(MAX(number), 0) FROM entries) FROM events",
            [],
            |row| {
                let entry_number = count(row, 2)?;
                Ok(LogEnd {
                    seq: count(row, 0)?,
                    bytes_total: count(row, 1)?,
                    entry_number,
                    indexed_to: entry_number,
                })
            },
        )
        .map_err(|error| sqlite_faults::fault("finding the end of the event log", error))
}

/// The event's `data` alone: what stands between its tag and the closing brace.
fn data_of(event: &Event) -> Result<String> {
    let mut text = serde_json::to_string(event)
        .map_err(|error| transactions::broken("writing an event", error))?;
    let head = format!("{{\"type\":\"{}\",\"data\":", event.name());
    if !text.starts_with(&head) || text.pop() != Some('}') {
        return Err(Fault::broken("writing an event", "its tag is not where it belongs").into());
    }
    text.drain(..head.len());
    Ok(text)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Arc<StoredEvent>> {
    let scope = |column, text: &str| {
        EventScope::parse(text).ok_or_else(|| transactions::unreadable(column, "not a scope"))
    };
    let audience = match row.get_ref(6)? {
        ValueRef::Null => EventAudience::Scope,
        ValueRef::Blob([]) => EventAudience::Owner,
        _ => EventAudience::Author(transactions::id(row, 6, AuthorId::from_bytes)?),
    };
    Ok(Arc::new(StoredEvent {
        seq: count(row, 0)?,
        at: moment(row, 1)?,
        name: row.get(2)?,
        scope: scope(3, row.get_ref(3)?.as_str()?)?,
        also: row
            .get_ref(4)?
            .as_str()?
            .split_whitespace()
            .map(|text| scope(4, text))
            .collect::<rusqlite::Result<_>>()?,
        actor: transactions::maybe_id(row, 5, AuthorId::from_bytes)?,
        audience,
        data: row.get(7)?,
    }))
}
