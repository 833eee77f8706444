//! Sessions: rows, lists, and the turns that ran in them.

use std::collections::HashSet;

use guildhall_domain::{
    Result, Timestamp,
    ids::{AgentId, AuthorId, MessageId, RoomId, SessionId, SessionTurnId},
    sessions::{AutonomyConsent, RoomSession, Session, SessionOrigin, SessionState, TurnOutcome},
    usage::{TurnUsage, Usage, UsageMeter},
};
use rusqlite::{Row, params_from_iter};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    ReadTx, Tx,
    transactions::{self, broken, enum_column, enum_text, moment, stored, unreadable},
};

const COLUMNS: &str = "s.id, s.agent_id, s.runtime, s.runtime_session_id, s.title, s.cwd,
    s.permission_mode, s.model, s.effort, s.state, s.state_reason, s.origin, s.room_id,
    s.last_message_preview, s.created_at, s.updated_at, s.usage,
    (SELECT COUNT(*) FROM messages q WHERE q.session_id = s.id AND q.queue_place IS NOT NULL),
    (SELECT COUNT(*) FROM approvals a WHERE a.session_id = s.id AND a.state = 'pending'
       AND a.kind IN ('tool_call', 'question'))";

/// Which sessions are asked for.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// In this state.
    pub state: Option<SessionState>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// In this folder.
    pub cwd: Option<String>,
}

impl SessionFilter {
    /// Whether a session is asked for.
    pub fn matches(&self, session: &Session) -> bool {
        self.state.is_none_or(|state| state == session.state)
            && self.agent.is_none_or(|agent| agent == session.agent_id)
            && self.cwd.as_ref().is_none_or(|cwd| *cwd == session.cwd)
    }
}

/// Where a page of sessions begins: behind the session changed then, by this id.
pub type SessionsCursor = (Timestamp, SessionId);

/// The session with this id, closed or not.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: SessionId) -> Result<Option<Session>> {
    db.first(
        &format!("SELECT {COLUMNS} FROM sessions s WHERE s.id = $1"),
        [id.as_bytes()],
        read,
    )
}

/// The sessions of `filter` behind `place`, the newest change first, one more than `limit` when
/// there are more.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn page(
    db: &ReadTx<'_>,
    filter: &SessionFilter,
    place: Option<SessionsCursor>,
    limit: u32,
) -> Result<Vec<Session>> {
    let (at, id) = place.unwrap_or((
        Timestamp::from_millis(i64::MAX),
        SessionId::from_bytes([0xff; 16]),
    ));
    let narrowed = match (&filter.agent, &filter.cwd) {
        (Some(_), _) => "AND s.agent_id = $4",
        (None, Some(_)) => "AND s.cwd = $5",
        (None, None) => "",
    };
    db.all(
        &format!(
            "SELECT {COLUMNS} FROM sessions s
             WHERE (s.updated_at, s.id) < ($1, $2) AND ($3 IS NULL OR s.state = $3)
               AND ($4 IS NULL OR s.agent_id = $4) AND ($5 IS NULL OR s.cwd = $5) {narrowed}
             ORDER BY s.updated_at DESC, s.id DESC LIMIT $6"
        ),
        (
            at.as_millis(),
            id.as_bytes(),
            filter
                .state
                .map(|state| enum_text(state, &SessionState::WORDS)),
            filter.agent.as_ref().map(AgentId::as_bytes),
            &filter.cwd,
            i64::from(limit) + 1,
        ),
        read,
    )
}

/// The session in which the agent's turns of a room run.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_room(db: &ReadTx<'_>, room: RoomId, agent: AgentId) -> Result<Option<Session>> {
    db.first(
        &format!(
            "SELECT {COLUMNS} FROM sessions s
             WHERE s.room_id = $1 AND s.agent_id = $2 AND s.state <> 'closed'"
        ),
        (room.as_bytes(), agent.as_bytes()),
        read,
    )
}

/// The sessions in which the turns of a room run, the first opened first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn bindings(db: &ReadTx<'_>, room: RoomId) -> Result<Vec<RoomSession>> {
    db.all(
        "SELECT a.author_id, s.id FROM sessions s JOIN agents a ON a.id = s.agent_id
         WHERE s.room_id = $1 AND s.state <> 'closed' ORDER BY s.created_at, s.id",
        [room.as_bytes()],
        |row| {
            Ok(RoomSession {
                author_id: transactions::id(row, 0, AuthorId::from_bytes)?,
                session_id: transactions::id(row, 1, SessionId::from_bytes)?,
            })
        },
    )
}

/// The sessions of an agent that are not closed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn open_of_agent(db: &ReadTx<'_>, agent: AgentId) -> Result<Vec<Session>> {
    db.all(
        &format!("SELECT {COLUMNS} FROM sessions s WHERE s.agent_id = $1 AND s.state <> 'closed'"),
        [agent.as_bytes()],
        read,
    )
}

/// The sessions with a turn on its way.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn busy(db: &ReadTx<'_>) -> Result<Vec<Session>> {
    db.all(
        &format!(
            "SELECT {COLUMNS} FROM sessions s
             WHERE s.state IN ('starting', 'running', 'waiting', 'cancelling')"
        ),
        [],
        read,
    )
}

/// Which of these runtimes' own ids are those of our sessions.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn runtime_ids_among<'a>(
    db: &ReadTx<'_>,
    names: impl Iterator<Item = &'a str>,
) -> Result<HashSet<String>> {
    let names: Vec<&str> = names.collect();
    let mut known = HashSet::new();
    for names in names.chunks(NAMES_AT_ONCE) {
        let places: Vec<String> = (1..=names.len()).map(|n| format!("${n}")).collect();
        known.extend(db.all(
            &format!(
                "SELECT runtime_session_id FROM sessions WHERE runtime_session_id IN ({})",
                places.join(", ")
            ),
            params_from_iter(names),
            |row| row.get::<_, String>(0),
        )?);
    }
    Ok(known)
}

/// Names one question to the engine holds.
const NAMES_AT_ONCE: usize = 500;

/// The agent of a session.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn agent(db: &ReadTx<'_>, id: SessionId) -> Result<Option<AgentId>> {
    db.first(
        "SELECT agent_id FROM sessions WHERE id = $1",
        [id.as_bytes()],
        |row| transactions::id(row, 0, AgentId::from_bytes),
    )
}

/// When a session was made; `None` when there is none.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn made_at(db: &ReadTx<'_>, id: SessionId) -> Result<Option<Timestamp>> {
    db.first(
        "SELECT created_at FROM sessions WHERE id = $1",
        [id.as_bytes()],
        |row| moment(row, 0),
    )
}

/// Opens a session; `asked` is the fingerprint of the request that named its id. A title it has
/// now is a person's.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(
    tx: &mut Tx<'_>,
    session: &Session,
    acknowledgement: Option<&AutonomyConsent>,
    asked: Option<&[u8; 32]>,
) -> Result<()> {
    tx.run(
        "INSERT INTO sessions (id, agent_id, runtime, runtime_session_id, title, cwd,
           permission_mode, model, effort, state, state_reason, origin, room_id,
           acknowledgement, usage, meter, asked, created_at, updated_at, named)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, '{}', $16,
           $17, $18, $5 <> '')",
        rusqlite::params![
            session.id.as_bytes(),
            session.agent_id.as_bytes(),
            session.runtime,
            session.runtime_session_id,
            session.title,
            session.cwd,
            session.permission_mode,
            session.model,
            session.effort,
            enum_text(session.state, &SessionState::WORDS),
            session.state_reason,
            enum_text(session.origin, &SessionOrigin::WORDS),
            session.room_id.as_ref().map(RoomId::as_bytes),
            acknowledgement.map(text).transpose()?,
            text(&session.usage)?,
            asked,
            session.created_at.as_millis(),
            session.updated_at.as_millis(),
        ],
    )?;
    Ok(())
}

/// Writes everything of a session that changes; counts are not stored, and a title that a person
/// gave stays.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn update(tx: &mut Tx<'_>, session: &Session) -> Result<()> {
    tx.run(
        "UPDATE sessions SET runtime_session_id = $1,
           title = CASE WHEN named THEN title ELSE $2 END, permission_mode = $3,
           model = $4, effort = $5, state = $6, state_reason = $7, last_message_preview = $8,
           usage = $9, updated_at = $10, rev = rev + 1
         WHERE id = $11",
        rusqlite::params![
            session.runtime_session_id,
            session.title,
            session.permission_mode,
            session.model,
            session.effort,
            enum_text(session.state, &SessionState::WORDS),
            session.state_reason,
            session.last_message_preview,
            text(&session.usage)?,
            session.updated_at.as_millis(),
            session.id.as_bytes(),
        ],
    )?;
    Ok(())
}

/// Gives a session the title that a person wants; no other takes its place unless a person's.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn name(tx: &mut Tx<'_>, id: SessionId, title: &str) -> Result<()> {
    tx.run(
        "UPDATE sessions SET title = $1, named = 1 WHERE id = $2",
        (title, id.as_bytes()),
    )?;
    Ok(())
}

/// The fingerprint of the request that opened a session under an id of its own.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn asked(db: &ReadTx<'_>, id: SessionId) -> Result<Option<[u8; 32]>> {
    Ok(db
        .first(
            "SELECT asked FROM sessions WHERE id = $1",
            [id.as_bytes()],
            |row| row.get(0),
        )?
        .flatten())
}

/// How often a session's stored fields changed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn rev(db: &ReadTx<'_>, id: SessionId) -> Result<u64> {
    db.one(
        "SELECT rev FROM sessions WHERE id = $1",
        [id.as_bytes()],
        |row| transactions::count(row, 0),
    )
}

/// Whether the queue waits for a person to touch it.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn is_held(db: &ReadTx<'_>, id: SessionId) -> Result<bool> {
    db.one(
        "SELECT held FROM sessions WHERE id = $1",
        [id.as_bytes()],
        |row| row.get(0),
    )
}

/// Lets the queue wait for a person, or no longer.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn hold(tx: &mut Tx<'_>, id: SessionId, held: bool) -> Result<()> {
    tx.run(
        "UPDATE sessions SET held = $1 WHERE id = $2 AND held <> $1",
        (held, id.as_bytes()),
    )?;
    Ok(())
}

/// A person's word on the session's mode.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn acknowledgement(db: &ReadTx<'_>, id: SessionId) -> Result<Option<AutonomyConsent>> {
    let kept: Option<String> = db.one(
        "SELECT acknowledgement FROM sessions WHERE id = $1",
        [id.as_bytes()],
        |row| row.get(0),
    )?;
    kept.map(|kept| serde_json::from_str(&kept).map_err(|error| broken("reading a session", error)))
        .transpose()
}

/// Keeps a person's word on the session's mode.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn acknowledge(tx: &mut Tx<'_>, id: SessionId, word: &AutonomyConsent) -> Result<()> {
    let word = text(word)?;
    tx.run(
        "UPDATE sessions SET acknowledgement = $1 WHERE id = $2",
        (word, id.as_bytes()),
    )?;
    Ok(())
}

/// What makes figures of turns out of the totals that the agent tells.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn meter(db: &ReadTx<'_>, id: SessionId) -> Result<UsageMeter> {
    db.one(
        "SELECT meter FROM sessions WHERE id = $1",
        [id.as_bytes()],
        |row| json(row, 0),
    )
}

/// Keeps it.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn set_meter(tx: &mut Tx<'_>, id: SessionId, meter: &UsageMeter) -> Result<()> {
    let meter = text(meter)?;
    tx.run(
        "UPDATE sessions SET meter = $1 WHERE id = $2",
        (meter, id.as_bytes()),
    )?;
    Ok(())
}

/// A turn that begins.
#[derive(Clone, Debug)]
pub struct NewSessionTurn {
    /// Its id.
    pub id: SessionTurnId,
    /// The message it answers.
    pub message: MessageId,
}

/// Notes that a turn of `session` began.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn begin_turn(
    tx: &mut Tx<'_>,
    session: &Session,
    turn: &NewSessionTurn,
    now: Timestamp,
) -> Result<()> {
    tx.run(
        "INSERT INTO session_turns (id, session_id, agent_id, room_id, runtime, model, message_id,
           started_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        (
            turn.id.as_bytes(),
            session.id.as_bytes(),
            session.agent_id.as_bytes(),
            session.room_id.as_ref().map(RoomId::as_bytes),
            &session.runtime,
            &session.model,
            turn.message.as_bytes(),
            now.as_millis(),
        ),
    )?;
    Ok(())
}

/// How a turn ended and what it used.
#[derive(Clone, Debug)]
pub struct SessionTurnEnd {
    /// How it ended.
    pub outcome: TurnOutcome,
    /// What went wrong.
    pub error: Option<String>,
    /// What it used, as far as the agent told.
    pub figures: TurnUsage,
}

/// Notes that a turn ended; answers false when it had ended before.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn end_turn(
    tx: &mut Tx<'_>,
    id: SessionTurnId,
    end: &SessionTurnEnd,
    now: Timestamp,
) -> Result<bool> {
    let tokens = end.figures.tokens.unwrap_or_default();
    let cost = end.figures.cost.as_ref();
    let touched = tx.run(
        "UPDATE session_turns SET ended_at = $1, outcome = $2, error = $3, input_tokens = $4,
           output_tokens = $5, cached_read_tokens = $6, cached_write_tokens = $7,
           thought_tokens = $8, total_tokens = $9, cost_nanos = $10, currency = $11,
           reported = $12
         WHERE id = $13 AND ended_at IS NULL",
        rusqlite::params![
            now.as_millis(),
            enum_text(end.outcome, &TurnOutcome::WORDS),
            end.error,
            stored(tokens.input),
            stored(tokens.output),
            stored(tokens.cached_read),
            stored(tokens.cached_write),
            stored(tokens.thought),
            stored(tokens.sum()),
            cost.map(|cost| cost.nanos),
            cost.map(|cost| &cost.currency),
            end.figures.is_reported(),
            id.as_bytes(),
        ],
    )?;
    Ok(touched > 0)
}

/// The turn of a session that has not ended, with the message it answers.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn open_turn(db: &ReadTx<'_>, id: SessionId) -> Result<Option<(SessionTurnId, MessageId)>> {
    db.first(
        "SELECT id, message_id FROM session_turns WHERE session_id = $1 AND ended_at IS NULL",
        [id.as_bytes()],
        |row| {
            Ok((
                transactions::id(row, 0, SessionTurnId::from_bytes)?,
                transactions::id(row, 1, MessageId::from_bytes)?,
            ))
        },
    )
}

fn text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| broken("writing a session", error))
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| unreadable(column, error))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Session> {
    let origin = enum_column(row, 11, &SessionOrigin::WORDS)?;
    let usage: Usage = json(row, 16)?;
    Ok(Session {
        id: transactions::id(row, 0, SessionId::from_bytes)?,
        agent_id: transactions::id(row, 1, AgentId::from_bytes)?,
        runtime: row.get(2)?,
        runtime_session_id: row.get(3)?,
        title: row.get(4)?,
        cwd: row.get(5)?,
        permission_mode: row.get(6)?,
        model: row.get(7)?,
        effort: row.get(8)?,
        state: enum_column(row, 9, &SessionState::WORDS)?,
        state_reason: row.get(10)?,
        origin,
        room_id: transactions::maybe_id(row, 12, RoomId::from_bytes)?,
        read_only: origin == SessionOrigin::Terminal,
        queued_count: row.get(17)?,
        pending_count: row.get(18)?,
        last_message_preview: row.get(13)?,
        created_at: moment(row, 14)?,
        updated_at: moment(row, 15)?,
        usage,
    })
}
