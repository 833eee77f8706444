//! The event log and the rows, read from the database file as a person with SQLite would.

use std::{fmt::Write, path::Path};

use guildhall_domain::sessions::Session;
use rusqlite::{Connection, OpenFlags, types::ValueRef};
use serde_json::{Value, json};

/// Lets warnings stand beside what a test writes, where whoever reads why it failed finds them.
pub(crate) fn warn_beside_the_test() {
    let told = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .with_test_writer();
    // Another test of the same program may have been first.
    let _ = told.try_init();
}

/// A reader of the event log that keeps its place.
pub struct EventLog {
    db: Connection,
    place: i64,
}

impl EventLog {
    /// A reader behind everything that happened so far.
    pub(crate) fn open(database: &Path) -> Self {
        let mut log = Self {
            db: connect(database),
            place: 0,
        };
        log.all();
        log
    }

    /// The newest event read so far.
    pub fn place(&self) -> i64 {
        self.place
    }

    /// What happened since, oldest first: `{seq, type, scope, actorId, data}`.
    pub fn all(&mut self) -> Vec<Value> {
        let mut query = self
            .db
            .prepare("SELECT seq, type, scope, hex(actor_id), data FROM events WHERE seq > ?1 ORDER BY seq")
            .unwrap();
        let events: Vec<Value> = query
            .query_map([self.place], |row| {
                let data: String = row.get(4)?;
                let data: Value = serde_json::from_str(&data).unwrap();
                Ok(json!({
                    "seq": row.get::<_, i64>(0)?,
                    "type": row.get::<_, String>(1)?,
                    "scope": row.get::<_, String>(2)?,
                    "actorId": uuid(&row.get::<_, String>(3)?),
                    "data": data,
                }))
            })
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        if let Some(last) = events.last() {
            self.place = last["seq"].as_i64().unwrap();
        }
        events
    }

    /// The names of what happened since.
    pub fn names(&mut self) -> Vec<String> {
        let name = |event: Value| event["type"].as_str().unwrap().to_owned();
        self.all().into_iter().map(name).collect()
    }

    /// Demands that exactly one thing happened since, called `name`; answers its data.
    #[track_caller]
    pub fn next(&mut self, name: &str) -> Value {
        let events = self.all();
        assert!(
            events.len() == 1 && events[0]["type"] == name,
            "one {name}, not {events:?}"
        );
        events[0]["data"].clone()
    }

    /// Demands that exactly one thing called `name` happened since, whatever else did; answers its
    /// data.
    #[track_caller]
    pub fn single_event(&mut self, name: &str) -> Value {
        let events = self.all();
        let of: Vec<_> = events
            .iter()
            .filter(|event| event["type"] == name)
            .collect();
        assert_eq!(of.len(), 1, "one {name} in {events:?}");
        of[0]["data"].clone()
    }

    /// Demands that nothing happened since.
    #[track_caller]
    pub fn none(&mut self) {
        let events = self.all();
        assert!(events.is_empty(), "nobody is told of {events:?}");
    }
}

fn connect(database: &Path) -> Connection {
    Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

/// The names of what a deed with a card tells before its own.
pub const APPROVED: [&str; 3] = [
    "approval_requested",
    "approval_decided",
    "approval_consumed",
];

/// The oldest event still kept; 0 when there is none.
pub(crate) fn oldest(database: &Path) -> i64 {
    let query = "SELECT COALESCE(MIN(seq), 0) FROM events";
    connect(database)
        .query_row(query, [], |row| row.get(0))
        .unwrap()
}

/// Writes the row of a session that no agent runs.
pub(crate) fn seed_session(database: &Path, session: &Session) {
    let (id, agent) = (session.id.as_bytes(), session.agent_id.as_bytes());
    let at = session.created_at.as_millis();
    Connection::open(database)
        .unwrap()
        .execute(
            "INSERT INTO sessions (id, agent_id, runtime, runtime_session_id, title, cwd,
               permission_mode, model, effort, state, state_reason, origin, usage, meter,
               created_at, updated_at)
             VALUES (?1, ?2, ?3, '', '', ?4, ?5, '', '', 'idle', '', 'person', ?6, '{}', ?7, ?7)",
            rusqlite::params![
                id,
                agent,
                session.runtime,
                session.cwd,
                session.permission_mode,
                serde_json::to_string(&session.usage).unwrap(),
                at,
            ],
        )
        .unwrap();
}

/// Lets a turn of a session be under way.
pub(crate) fn begin_turn(database: &Path, session: &Session) {
    let changed = Connection::open(database)
        .unwrap()
        .execute(
            "UPDATE sessions SET state = 'running' WHERE id = ?1",
            [session.id.as_bytes()],
        )
        .unwrap();
    assert_eq!(changed, 1, "the session is there");
}

/// Writes messages of a session that were said: `1`, `2` and so on.
pub(crate) fn seed_agent_text(database: &Path, session: &Session, count: u32) {
    let db = Connection::open(database).unwrap();
    for seq in 1..=count {
        let id: [u8; 16] = *guildhall_world::ids::new().as_bytes();
        db.execute(
            "INSERT INTO messages (id, session_id, seq, role, author_id, state, created_at)
             SELECT ?1, s.id, ?2, 'user', a.author_id, 'complete', s.created_at
             FROM sessions s JOIN agents a ON a.id = s.agent_id WHERE s.id = ?3",
            rusqlite::params![id, seq, session.id.as_bytes()],
        )
        .unwrap();
        db.execute(
            "INSERT INTO message_parts (message_id, place, kind, body) VALUES (?1, 0, 'text', ?2)",
            rusqlite::params![id, seq.to_string()],
        )
        .unwrap();
    }
}

/// Makes every token of an agent one of a session's.
pub(crate) fn bind_tokens(database: &Path, agent: &str, session: &str) {
    let hex = |id: &str| id.replace('-', "");
    let changed = Connection::open(database)
        .unwrap()
        .execute(
            "UPDATE tokens SET origin = 'spawn', session_id = unhex(?1) WHERE agent_id = unhex(?2)",
            [hex(session), hex(agent)],
        )
        .unwrap();
    assert!(changed > 0, "the agent has a token");
}

/// An id as the interface writes it, from its hex digits; null for none.
fn uuid(hex: &str) -> Value {
    if hex.len() != 32 {
        return Value::Null;
    }
    let hex = hex.to_ascii_lowercase();
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-").into()
}

/// What stands in every column of every row, each with its table: texts and blobs as the bytes
/// they are.
///
/// # Panics
/// When it is no database.
pub fn columns(database: &Path) -> Vec<(String, Vec<u8>)> {
    let db = connect(database);
    let mut found = Vec::new();
    for table in tables(&db) {
        let mut query = db.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let count = query.column_count();
        let mut rows = query.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..count {
                if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(column).unwrap()
                {
                    found.push((table.clone(), bytes.to_vec()));
                }
            }
        }
    }
    found
}

/// What the first column of each row of a query holds, as the bytes it is.
///
/// # Panics
/// When it is no database, or the query no question.
pub fn first_column(database: &Path, query: &str) -> Vec<Vec<u8>> {
    let db = connect(database);
    db.busy_timeout(crate::PATIENCE).unwrap();
    let mut query = db.prepare(query).unwrap();
    let rows = query.query_map([], |row| match row.get_ref(0)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(bytes.to_vec()),
        _ => Ok(Vec::new()),
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

/// What stands in one column of one row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A table with all its rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Its rows, each with a cell for every column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// What stands in this column of a row.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn cell<'a>(&self, row: &'a [Cell], column: &str) -> &'a Cell {
        let place = self.columns.iter().position(|name| name == column);
        &row[place.unwrap_or_else(|| panic!("{} has no column {column}", self.name))]
    }
}

/// Every table that the schema names, with its rows.
///
/// # Panics
/// When it is no database.
pub fn tables_of(database: &Path) -> Vec<Table> {
    let db = connect(database);
    let read = |name: String| {
        let mut query = db.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns: Vec<_> = query.column_names().map(str::to_owned).collect();
        let count = columns.len();
        let rows = query.query_map([], |row| {
            (0..count)
                .map(|n| Ok(cell(row.get_ref(n)?)))
                .collect::<Result<_, _>>()
        });
        let rows = rows.unwrap().collect::<Result<_, _>>().unwrap();
        Table {
            name,
            columns,
            rows,
        }
    };
    tables(&db).into_iter().map(read).collect()
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(bytes) => Cell::Text(String::from_utf8(bytes.to_vec()).expect("UTF-8")),
        ValueRef::Blob(bytes) => Cell::Blob(bytes.to_vec()),
    }
}

/// Brings everything that was committed into the database file itself.
pub(crate) fn checkpoint(database: &Path) {
    let db = Connection::open(database).unwrap();
    db.busy_timeout(crate::PATIENCE).unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
}

fn tables(db: &Connection) -> Vec<String> {
    let mut tables = db
        .prepare(
            "SELECT name FROM sqlite_master
             WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL %' ORDER BY name",
        )
        .unwrap();
    let names = tables.query_map([], |row| row.get(0)).unwrap();
    names.collect::<Result<_, _>>().unwrap()
}

/// Every row of every table, one line each.
pub(crate) fn rows(database: &Path) -> String {
    let db = connect(database);
    let mut text = String::new();
    for table in tables(&db) {
        let mut query = db.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = query.column_count();
        let mut found = query.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            text.push_str(&table);
            for column in 0..columns {
                match row.get_ref(column).unwrap() {
                    ValueRef::Null => text.push_str("\tnull"),
                    ValueRef::Integer(number) => write!(text, "\t{number}").unwrap(),
                    ValueRef::Real(number) => write!(text, "\t{number}").unwrap(),
                    ValueRef::Text(bytes) => {
                        write!(text, "\t{}", String::from_utf8_lossy(bytes)).unwrap();
                    }
                    ValueRef::Blob(bytes) => write!(text, "\t{bytes:02x?}").unwrap(),
                }
            }
            text.push('\n');
        }
    }
    text
}
