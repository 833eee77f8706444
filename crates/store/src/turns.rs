//! Turns: the ledger's rows, what is live in it, and what its limits count.
//! Which rule decides a turn is `domain::turns`; deeds are `hall::turns`.

mod considered_posts;
mod counts;

use std::collections::HashSet;

use guildhall_domain::{
    Result, Timestamp,
    agents::ResponseMode,
    authors::Handle,
    ids::{AgentId, AuthorId, EntryId, RoomId, SessionId, TurnId},
    turns::{ReachedLimit, Turn, TurnClock, TurnCursor, TurnRule, TurnState, TurnsQuery},
};
use rusqlite::{Row, params_from_iter, types::Value};

pub use considered_posts::{by_ids, earlier_posts, newest_posts, unseen_entries};
pub use counts::{at_work, in_cascade, started_since, was_over_budget, was_stopped, working};

use crate::{
    ReadTx, Tx, authors,
    transactions::{self, count, enum_column, enum_text, maybe_moment, moment, stored},
};

const SELECT: &str = "SELECT t.id, t.room_id, t.agent_author_id, t.triggers, t.cascade_root_id,
    t.depth, t.state, t.rule, t.limit_met, t.session_id, t.reply_entry_id, t.created_at,
    t.started_at, t.ended_at, t.seq, t.thread_root_id, t.by_person, t.due_at, t.taken_at,
    t.clock_ms, t.clock_since, t.is_late, t.has_asked, t.to_cancel, t.posts, t.canvas_ops, t.number
    FROM turns t";

/// A turn's row: the turn, and what its keeping needs beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRow {
    /// The turn.
    pub turn: Turn,
    /// Its id, which the row always has.
    pub id: TurnId,
    /// Seq of the first post it answers.
    pub seq: u64,
    /// The thread its posts lie in.
    pub thread_root: Option<EntryId>,
    /// Whether a person had it run.
    pub by_person: bool,
    /// When it may start, while it collects.
    pub due_at: Option<Timestamp>,
    /// When it took its unit of the hourly budgets.
    pub taken_at: Option<Timestamp>,
    /// How long the agent has worked.
    pub clock: TurnClock,
    /// Whether the room was told that it takes long.
    pub is_late: bool,
    /// Whether the room was told that it waits for a person.
    pub has_asked: bool,
    /// Whether its session has yet to be stopped.
    pub to_cancel: bool,
    /// Posts written in it with its session's token.
    pub posts: u32,
    /// Canvas changes made in it with its session's token.
    pub canvas_ops: u32,
    /// Its place in the order of recording; 0 before it is written.
    pub number: u64,
}

impl TurnRow {
    /// Whether it waits in its session's queue for another turn there to end.
    pub fn is_dispatched(&self) -> bool {
        self.turn.state == TurnState::Held && self.turn.session_id.is_some()
    }

    /// Where it stands in the room's ledger.
    pub fn place(&self) -> TurnCursor {
        TurnCursor {
            seq: self.seq,
            within: STORED_FROM + self.number,
        }
    }
}

/// Stored turns of a post stand before those that are made up for it.
const STORED_FROM: u64 = 1 << 32;

/// Writes a new turn; answers it with its place.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn insert(tx: &mut Tx<'_>, mut kept: TurnRow) -> Result<TurnRow> {
    let turn = &kept.turn;
    let number = tx.one(
        "INSERT INTO turns (id, room_id, agent_author_id, seq, thread_root_id, triggers,
           cascade_root_id, depth, state, rule, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING number",
        (
            kept.id.as_bytes(),
            turn.room_id.as_bytes(),
            turn.agent_author_id.as_bytes(),
            stored(kept.seq),
            kept.thread_root.as_ref().map(EntryId::as_bytes),
            triggers(turn),
            turn.cascade_root_id.as_bytes(),
            turn.depth,
            enum_text(turn.state, &TurnState::WORDS),
            enum_text(turn.rule, &TurnRule::WORDS),
            turn.created_at.as_millis(),
        ),
        |row| count(row, 0),
    )?;
    kept.number = number;
    for entry in &kept.turn.trigger_entry_ids {
        note_trigger(tx, *entry, number)?;
    }
    update(tx, &kept)?;
    Ok(kept)
}

/// Has a turn answer one more post.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn add_trigger(tx: &mut Tx<'_>, kept: &mut TurnRow, entry: EntryId) -> Result<()> {
    kept.turn.trigger_entry_ids.push(entry);
    note_trigger(tx, entry, kept.number)?;
    update(tx, kept)
}

fn note_trigger(tx: &mut Tx<'_>, entry: EntryId, number: u64) -> Result<()> {
    tx.run(
        "INSERT INTO turn_triggers (entry_id, number) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        (entry.as_bytes(), stored(number)),
    )?;
    Ok(())
}

/// Writes everything of a turn that can change.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn update(tx: &mut Tx<'_>, kept: &TurnRow) -> Result<()> {
    let turn = &kept.turn;
    let limit = turn.limit.as_ref().map(serde_json::to_string).transpose();
    let limit = limit.map_err(|error| transactions::broken("writing a turn's limit", error))?;
    let millis = |at: Option<Timestamp>| at.map_or(Value::Null, |at| at.as_millis().into());
    let id = |id: Option<[u8; 16]>| id.map_or(Value::Null, |id| id.to_vec().into());
    let flag = |flag: bool| Value::from(i64::from(flag));
    let values: [Value; 20] = [
        triggers(turn).into(),
        id(Some(*turn.cascade_root_id.as_bytes())),
        i64::from(turn.depth).into(),
        enum_text(turn.state, &TurnState::WORDS).to_owned().into(),
        enum_text(turn.rule, &TurnRule::WORDS).to_owned().into(),
        limit.map_or(Value::Null, Value::from),
        id(turn.session_id.map(|session| *session.as_bytes())),
        id(turn.reply_entry_id.map(|reply| *reply.as_bytes())),
        millis(turn.started_at),
        millis(turn.ended_at),
        flag(kept.by_person),
        millis(kept.due_at),
        millis(kept.taken_at),
        kept.clock.spent_ms.into(),
        millis(kept.clock.since),
        flag(kept.is_late),
        flag(kept.has_asked),
        flag(kept.to_cancel),
        i64::from(kept.posts).into(),
        i64::from(kept.canvas_ops).into(),
    ];
    tx.run(
        "UPDATE turns SET triggers = $1, cascade_root_id = $2, depth = $3, state = $4, rule = $5,
           limit_met = $6, session_id = $7, reply_entry_id = $8, started_at = $9, ended_at = $10,
           by_person = $11, due_at = $12, taken_at = $13, clock_ms = $14, clock_since = $15,
           is_late = $16, has_asked = $17, to_cancel = $18, posts = $19, canvas_ops = $20
         WHERE number = $21",
        params_from_iter(values.into_iter().chain([stored(kept.number).into()])),
    )?;
    Ok(())
}

/// A turn of a room whose first post lies above `floor`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, room: RoomId, floor: u64, id: TurnId) -> Result<Option<TurnRow>> {
    db.first(
        &format!("{SELECT} WHERE t.id = $1 AND t.room_id = $2 AND t.seq > $3"),
        (id.as_bytes(), room.as_bytes(), stored(floor)),
        read,
    )
}

/// A turn.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: TurnId) -> Result<Option<TurnRow>> {
    db.first(&format!("{SELECT} WHERE t.id = $1"), [id.as_bytes()], read)
}

/// The stored turns of a room above `floor` that are asked for, newest first, one more than the
/// limit if there are more.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn list(db: &ReadTx<'_>, room: RoomId, floor: u64, ask: &TurnsQuery) -> Result<Vec<TurnRow>> {
    let mut sql = format!("{SELECT} WHERE t.room_id = $1 AND t.seq > $2");
    let mut values: Vec<Value> = vec![room.as_bytes().to_vec().into(), stored(floor).into()];
    let mut and = |condition: &str, value: Value| {
        values.push(value);
        let place = format!("${}", values.len());
        sql.push_str(" AND ");
        sql.push_str(&condition.replace('?', &place));
    };
    if let Some(agent) = ask.agent {
        and("t.agent_author_id = ?", agent.as_bytes().to_vec().into());
    }
    if let Some(state) = ask.state {
        let word = enum_text(state, &TurnState::WORDS).to_owned();
        and("t.state = ?", word.into());
    }
    if let Some(entry) = ask.entry {
        let answers = "t.number IN (SELECT number FROM turn_triggers WHERE entry_id = ?)";
        and(answers, entry.as_bytes().to_vec().into());
    }
    if let Some(below) = ask.below {
        let seq = stored(below.seq);
        and("t.seq <= ?", seq.into());
        and("(t.seq < ?", seq.into());
        let within = stored(below.within.saturating_sub(STORED_FROM));
        sql.push_str(" OR t.number < $");
        values.push(within.into());
        sql.push_str(&values.len().to_string());
        sql.push(')');
    }
    values.push((i64::from(ask.limit) + 1).into());
    sql.push_str(" ORDER BY t.seq DESC, t.number DESC LIMIT $");
    sql.push_str(&values.len().to_string());
    db.all(&sql, params_from_iter(values), read)
}

/// Which agents have a stored turn for which of a room's posts from `seq` on.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn answered_from(
    db: &ReadTx<'_>,
    room: RoomId,
    seq: u64,
) -> Result<HashSet<(EntryId, AuthorId)>> {
    let pairs = db.all(
        "SELECT g.entry_id, t.agent_author_id FROM entries e
         JOIN turn_triggers g ON g.entry_id = e.id JOIN turns t ON t.number = g.number
         WHERE e.room_id = $1 AND e.seq >= $2",
        (room.as_bytes(), stored(seq)),
        |row| {
            Ok((
                transactions::id(row, 0, EntryId::from_bytes)?,
                transactions::id(row, 1, AuthorId::from_bytes)?,
            ))
        },
    )?;
    Ok(pairs.into_iter().collect())
}

/// An agent's turn that has yet to be handed over and answers posts of this thread scope.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn pending_of(
    db: &ReadTx<'_>,
    room: RoomId,
    agent: AuthorId,
    thread_root: Option<EntryId>,
) -> Result<Option<TurnRow>> {
    db.first(
        &format!(
            "{SELECT} WHERE t.room_id = $1 AND t.agent_author_id = $2
               AND t.state IN ('collecting', 'held') AND t.session_id IS NULL
               AND t.thread_root_id IS $3
             ORDER BY t.number DESC LIMIT 1"
        ),
        (
            room.as_bytes(),
            agent.as_bytes(),
            thread_root.as_ref().map(EntryId::as_bytes),
        ),
        read,
    )
}

/// Every turn that has yet to be handed over, in the order of recording.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn pending(db: &ReadTx<'_>) -> Result<Vec<TurnRow>> {
    let order = "WHERE t.state IN ('collecting', 'held') AND t.session_id IS NULL
        ORDER BY t.number";
    db.all(&format!("{SELECT} {order}"), [], read)
}

/// The turns of a room above `floor` that a snapshot shows: those that are not over, refused ones
/// only of posts from `seq` on, in the order of recording.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn unfinished(db: &ReadTx<'_>, room: RoomId, floor: u64, seq: u64) -> Result<Vec<Turn>> {
    db.all(
        &format!(
            "{SELECT} WHERE t.room_id = $1 AND t.seq > $2
               AND (t.state IN ('collecting', 'held', 'running', 'waiting')
                 OR (t.state = 'refused' AND t.seq >= $3)) ORDER BY t.number"
        ),
        (room.as_bytes(), stored(floor), stored(seq)),
        |row| Ok(read(row)?.turn),
    )
}

/// The turns that run or wait in a room, in the order of recording.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn live_in(db: &ReadTx<'_>, room: RoomId) -> Result<Vec<Turn>> {
    db.all(
        &format!(
            "{SELECT} WHERE t.room_id = $1 AND t.state IN ('running', 'waiting') ORDER BY t.number"
        ),
        [room.as_bytes()],
        |row| Ok(read(row)?.turn),
    )
}

/// The agents that ever wrote in a room.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn agents_that_wrote(db: &ReadTx<'_>, room: RoomId) -> Result<HashSet<AuthorId>> {
    let authors = db.all(
        "SELECT p.author_id FROM posters p JOIN authors a ON a.id = p.author_id
         WHERE p.room_id = $1 AND a.kind = 'agent'",
        [room.as_bytes()],
        |row| transactions::id(row, 0, AuthorId::from_bytes),
    )?;
    Ok(authors.into_iter().collect())
}

/// Every turn that runs or waits, in the order of recording.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn live(db: &ReadTx<'_>) -> Result<Vec<TurnRow>> {
    let order = "WHERE t.state IN ('running', 'waiting') ORDER BY t.number";
    db.all(&format!("{SELECT} {order}"), [], read)
}

/// The turns of a room, or of one agent there, that run, wait or have yet to start.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn open(db: &ReadTx<'_>, room: RoomId, agent: Option<AuthorId>) -> Result<Vec<TurnRow>> {
    db.all(
        &format!(
            "{SELECT} WHERE t.room_id = $1
               AND t.state IN ('collecting', 'held', 'running', 'waiting')
               AND ($2 IS NULL OR t.agent_author_id = $2) ORDER BY t.number"
        ),
        (room.as_bytes(), agent.as_ref().map(AuthorId::as_bytes)),
        read,
    )
}

/// An agent's turns in all rooms that run, wait or have yet to start.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn open_of_agent(db: &ReadTx<'_>, agent: AuthorId) -> Result<Vec<TurnRow>> {
    db.all(
        &format!(
            "{SELECT} WHERE t.room_id IN (SELECT room_id FROM members WHERE author_id = $1)
               AND t.agent_author_id = $1
               AND t.state IN ('collecting', 'held', 'running', 'waiting') ORDER BY t.number"
        ),
        [agent.as_bytes()],
        read,
    )
}

/// The newest turn of an agent in a room before the one numbered `below`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn newest_of(
    db: &ReadTx<'_>,
    room: RoomId,
    agent: AuthorId,
    below: u64,
) -> Result<Option<TurnRow>> {
    db.first(
        &format!(
            "{SELECT} WHERE t.room_id = $1 AND t.agent_author_id = $2 AND t.number < $3
             ORDER BY t.seq DESC, t.number DESC LIMIT 1"
        ),
        (room.as_bytes(), agent.as_bytes(), stored(below)),
        read,
    )
}

/// The turn a session works on, the first of several; while it works on none, its newest one.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_session(db: &ReadTx<'_>, session: SessionId) -> Result<Option<TurnRow>> {
    db.first(
        &format!(
            "{SELECT} WHERE t.session_id = $1
             ORDER BY t.state IN ('running', 'waiting') DESC,
               CASE WHEN t.state IN ('running', 'waiting') THEN t.number ELSE -t.number END LIMIT 1"
        ),
        [session.as_bytes()],
        read,
    )
}

/// The room's turn that a session's turn is at work on; `None` also when a person wrote to it.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn at_work_in(db: &ReadTx<'_>, session: SessionId) -> Result<Option<TurnId>> {
    let found = db.first(
        "SELECT m.room_turn FROM session_turns s JOIN messages m ON m.id = s.message_id
         WHERE s.session_id = $1 AND s.ended_at IS NULL",
        [session.as_bytes()],
        |row| transactions::maybe_id(row, 0, TurnId::from_bytes),
    )?;
    Ok(found.flatten())
}

/// The session that the turns of an agent in a room run in, if one ever ran.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn session_of(db: &ReadTx<'_>, room: RoomId, agent: AuthorId) -> Result<Option<SessionId>> {
    db.first(
        "SELECT session_id FROM turns
         WHERE room_id = $1 AND agent_author_id = $2 AND session_id IS NOT NULL
         ORDER BY seq DESC, number DESC LIMIT 1",
        (room.as_bytes(), agent.as_bytes()),
        |row| transactions::id(row, 0, SessionId::from_bytes),
    )
}

/// Turns that ended before their sessions did, in the order of recording.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn to_cancel(db: &ReadTx<'_>) -> Result<Vec<TurnRow>> {
    let order = "WHERE t.to_cancel = 1 ORDER BY t.number";
    db.all(&format!("{SELECT} {order}"), [], read)
}

/// An agent that belongs to a room, as far as turns ask.
#[derive(Clone, Debug)]
pub struct RoomAgent {
    /// Its author.
    pub author: AuthorId,
    /// Its row in the registry.
    pub agent: AgentId,
    /// How it answers in the room.
    pub mode: ResponseMode,
    /// Its runtime's type.
    pub runtime: String,
    /// Whether it was taken off the registry.
    pub is_retired: bool,
    /// What it is called.
    pub name: String,
    /// Its handle.
    pub handle: Option<Handle>,
}

/// The agents that belong to a room, by joining.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn attendants(db: &ReadTx<'_>, room: RoomId) -> Result<Vec<RoomAgent>> {
    db.all(
        "SELECT m.author_id, g.id, m.response_mode, g.runtime, g.retired_at, a.display_name,
           h.handle
         FROM members m JOIN authors a ON a.id = m.author_id
         JOIN agents g ON g.id = a.agent_id
         LEFT JOIN handles h ON h.author_id = m.author_id AND h.released_at IS NULL
         WHERE m.room_id = $1 ORDER BY m.seen_from, m.author_id",
        [room.as_bytes()],
        |row| {
            Ok(RoomAgent {
                author: transactions::id(row, 0, AuthorId::from_bytes)?,
                agent: transactions::id(row, 1, AgentId::from_bytes)?,
                mode: enum_column(row, 2, &ResponseMode::WORDS)?,
                runtime: row.get(3)?,
                is_retired: maybe_moment(row, 4)?.is_some(),
                name: row.get(5)?,
                handle: authors::maybe_handle(row, 6)?,
            })
        },
    )
}

fn triggers(turn: &Turn) -> Vec<u8> {
    let ids = turn.trigger_entry_ids.iter();
    ids.flat_map(|id| *id.as_bytes()).collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<TurnRow> {
    let triggers: Vec<u8> = row.get(3)?;
    let (triggers, _) = triggers.as_chunks::<16>();
    let limit: Option<ReachedLimit> = match row.get_ref(8)?.as_str_or_null()? {
        Some(text) => {
            Some(serde_json::from_str(text).map_err(|error| transactions::unreadable(8, error))?)
        }
        None => None,
    };
    let id = transactions::id(row, 0, TurnId::from_bytes)?;
    Ok(TurnRow {
        id,
        turn: Turn {
            id: Some(id),
            room_id: transactions::id(row, 1, RoomId::from_bytes)?,
            agent_author_id: transactions::id(row, 2, AuthorId::from_bytes)?,
            trigger_entry_ids: triggers.iter().copied().map(EntryId::from_bytes).collect(),
            cascade_root_id: transactions::id(row, 4, EntryId::from_bytes)?,
            depth: row.get(5)?,
            state: enum_column(row, 6, &TurnState::WORDS)?,
            rule: enum_column(row, 7, &TurnRule::WORDS)?,
            limit,
            session_id: transactions::maybe_id(row, 9, SessionId::from_bytes)?,
            reply_entry_id: transactions::maybe_id(row, 10, EntryId::from_bytes)?,
            created_at: moment(row, 11)?,
            started_at: maybe_moment(row, 12)?,
            ended_at: maybe_moment(row, 13)?,
        },
        seq: count(row, 14)?,
        thread_root: transactions::maybe_id(row, 15, EntryId::from_bytes)?,
        by_person: row.get(16)?,
        due_at: maybe_moment(row, 17)?,
        taken_at: maybe_moment(row, 18)?,
        clock: TurnClock {
            spent_ms: row.get(19)?,
            since: maybe_moment(row, 20)?,
        },
        is_late: row.get(21)?,
        has_asked: row.get(22)?,
        to_cancel: row.get(23)?,
        posts: row.get(24)?,
        canvas_ops: row.get(25)?,
        number: count(row, 26)?,
    })
}
