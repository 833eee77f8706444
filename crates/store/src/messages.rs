//! Messages of sessions: the transcript, the queue before it, and texts that grow by pieces.

use std::collections::HashMap;

use guildhall_domain::{
    Result, Timestamp,
    ids::{AuthorId, MessageId, SessionId, SessionTurnId, TurnId},
    transcript::{Message, MessagePart, MessageRole, MessageState, TextKind, ToolCall},
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    transactions::{
        self, broken, count, enum_column, enum_text, maybe_id, moment, stored, unreadable,
    },
};

const COLUMNS: &str =
    "m.id, m.seq, m.session_id, m.turn_id, m.role, m.author_id, m.state, m.created_at";

/// A message that waits, with what is told beside it.
#[derive(Clone, Debug)]
pub struct QueuedMessageRow {
    /// Its id.
    pub id: MessageId,
    /// Its session.
    pub session_id: SessionId,
    /// Its words.
    pub content: String,
    /// What the agent is told beside them.
    pub context: String,
    /// The room's turn it belongs to.
    pub room_turn: Option<TurnId>,
    /// Who wrote it.
    pub author_id: AuthorId,
    /// When it was accepted.
    pub enqueued_at: Timestamp,
}

/// Lets a message wait at the end of its session's queue, or before all others.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn enqueue(tx: &mut Tx<'_>, message: &QueuedMessageRow, is_first: bool) -> Result<()> {
    let place: i64 = tx.one(
        if is_first {
            "SELECT COALESCE(MIN(queue_place), 1) - 1 FROM messages
             WHERE session_id = $1 AND queue_place IS NOT NULL"
        } else {
            "SELECT COALESCE(MAX(queue_place), 0) + 1 FROM messages
             WHERE session_id = $1 AND queue_place IS NOT NULL"
        },
        [message.session_id.as_bytes()],
        |row| row.get(0),
    )?;
    tx.run(
        "INSERT INTO messages (id, session_id, queue_place, role, author_id, state, context,
           room_turn, created_at) VALUES ($1, $2, $3, 'user', $4, 'queued', $5, $6, $7)",
        (
            message.id.as_bytes(),
            message.session_id.as_bytes(),
            place,
            message.author_id.as_bytes(),
            &message.context,
            message.room_turn.as_ref().map(TurnId::as_bytes),
            message.enqueued_at.as_millis(),
        ),
    )?;
    add_piece(tx, message.id, 0, TextKind::Text, &message.content)
}

/// What waits in a session, in order.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn queue(db: &ReadTx<'_>, session: SessionId) -> Result<Vec<QueuedMessageRow>> {
    db.all(
        "SELECT m.id, m.session_id, p.body, m.context, m.room_turn, m.author_id, m.created_at
         FROM messages m JOIN message_parts p ON p.message_id = m.id AND p.place = 0
         WHERE m.session_id = $1 AND m.queue_place IS NOT NULL ORDER BY m.queue_place",
        [session.as_bytes()],
        waiting,
    )
}

/// The first message that waits in a session.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn queue_head(db: &ReadTx<'_>, session: SessionId) -> Result<Option<QueuedMessageRow>> {
    db.first(
        "SELECT m.id, m.session_id, p.body, m.context, m.room_turn, m.author_id, m.created_at
         FROM messages m JOIN message_parts p ON p.message_id = m.id AND p.place = 0
         WHERE m.session_id = $1 AND m.queue_place IS NOT NULL ORDER BY m.queue_place LIMIT 1",
        [session.as_bytes()],
        waiting,
    )
}

/// What waits in all sessions: those of one beside each other, in order.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn queues(db: &ReadTx<'_>) -> Result<Vec<QueuedMessageRow>> {
    db.all(
        "SELECT m.id, m.session_id, p.body, m.context, m.room_turn, m.author_id, m.created_at
         FROM messages m JOIN message_parts p ON p.message_id = m.id AND p.place = 0
         WHERE m.queue_place IS NOT NULL ORDER BY m.session_id, m.queue_place",
        [],
        waiting,
    )
}

/// Lets a message that waits go before all others of its session.
///
/// # Errors
/// A fault when the engine refuses the change.
pub fn put_first(tx: &mut Tx<'_>, session: SessionId, id: MessageId) -> Result<()> {
    tx.run(
        "UPDATE messages SET queue_place = (SELECT MIN(queue_place) - 1 FROM messages
           WHERE session_id = $1 AND queue_place IS NOT NULL) WHERE id = $2",
        (session.as_bytes(), id.as_bytes()),
    )?;
    Ok(())
}

/// How many messages wait in a session.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn queued(db: &ReadTx<'_>, session: SessionId) -> Result<u32> {
    db.one(
        "SELECT COUNT(*) FROM messages WHERE session_id = $1 AND queue_place IS NOT NULL",
        [session.as_bytes()],
        |row| row.get(0),
    )
}

/// Changes the words of a message that waits.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn update_text(tx: &mut Tx<'_>, id: MessageId, content: &str) -> Result<()> {
    tx.run(
        "UPDATE message_parts SET body = $1 WHERE message_id = $2 AND place = 0",
        (content, id.as_bytes()),
    )?;
    Ok(())
}

/// Takes a message that waits out of its queue for good.
///
/// # Errors
/// A fault when the engine refuses the change.
pub fn drop_queued(tx: &mut Tx<'_>, id: MessageId) -> Result<()> {
    tx.run(
        "DELETE FROM message_parts WHERE message_id = $1",
        [id.as_bytes()],
    )?;
    tx.run("DELETE FROM messages WHERE id = $1", [id.as_bytes()])?;
    Ok(())
}

/// Moves a message from the queue into the transcript, as part of `turn`.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn deliver(
    tx: &mut Tx<'_>,
    session: SessionId,
    id: MessageId,
    turn: SessionTurnId,
) -> Result<u64> {
    let seq = next_seq(tx, session)?;
    tx.run(
        "UPDATE messages SET seq = $1, queue_place = NULL, turn_id = $2, state = 'delivered'
         WHERE id = $3",
        (stored(seq), turn.as_bytes(), id.as_bytes()),
    )?;
    Ok(seq)
}

/// Adds a message without parts to the transcript; its seq is given here.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, message: &Message) -> Result<u64> {
    let seq = next_seq(tx, message.session_id)?;
    tx.run(
        "INSERT INTO messages (id, session_id, seq, turn_id, role, author_id, state, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        (
            message.id.as_bytes(),
            message.session_id.as_bytes(),
            stored(seq),
            message.turn_id.as_ref().map(SessionTurnId::as_bytes),
            enum_text(message.role, &MessageRole::WORDS),
            message.author_id.as_bytes(),
            enum_text(message.state, &MessageState::WORDS),
            message.created_at.as_millis(),
        ),
    )?;
    Ok(seq)
}

fn next_seq(tx: &mut Tx<'_>, session: SessionId) -> Result<u64> {
    tx.run(
        "UPDATE sessions SET last_seq = last_seq + 1 WHERE id = $1",
        [session.as_bytes()],
    )?;
    tx.one(
        "SELECT last_seq FROM sessions WHERE id = $1",
        [session.as_bytes()],
        |row| count(row, 0),
    )
}

/// Says where a message stands now.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn set_state(tx: &mut Tx<'_>, id: MessageId, state: MessageState) -> Result<()> {
    tx.run(
        "UPDATE messages SET state = $1 WHERE id = $2",
        (enum_text(state, &MessageState::WORDS), id.as_bytes()),
    )?;
    Ok(())
}

/// Ends every message of a turn that is still written; answers their ids.
///
/// # Errors
/// A fault when the engine refuses the rows.
pub fn settle(
    tx: &mut Tx<'_>,
    turn: SessionTurnId,
    session: SessionId,
    state: MessageState,
) -> Result<()> {
    tx.run(
        "UPDATE messages SET state = $1
         WHERE session_id = $2 AND turn_id = $3 AND state = 'streaming'",
        (
            enum_text(state, &MessageState::WORDS),
            session.as_bytes(),
            turn.as_bytes(),
        ),
    )?;
    Ok(())
}

/// Adds a piece of text behind what a message holds before `place`.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn add_piece(
    tx: &mut Tx<'_>,
    message: MessageId,
    place: u32,
    kind: TextKind,
    text: &str,
) -> Result<()> {
    let kind = match kind {
        TextKind::Text => "text",
        TextKind::Thinking => "thinking",
    };
    tx.run(
        "INSERT INTO message_parts (message_id, place, kind, body) VALUES ($1, $2, $3, $4)",
        (message.as_bytes(), place, kind, text),
    )?;
    Ok(())
}

/// Adds a part, or replaces the one at its place.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn put_part(tx: &mut Tx<'_>, message: MessageId, place: u32, part: &MessagePart) -> Result<()> {
    let call = match part {
        MessagePart::ToolCall(call) => Some(call),
        MessagePart::Text { .. }
        | MessagePart::Thinking { .. }
        | MessagePart::Plan { .. }
        | MessagePart::Attachment { .. } => None,
    };
    let body = serde_json::to_string(part).map_err(|error| broken("writing a message", error))?;
    tx.run(
        "INSERT INTO message_parts (message_id, place, kind, tool_call_id, is_open, body)
         VALUES ($1, $2, 'json', $3, $4, $5)
         ON CONFLICT (message_id, place) DO UPDATE
         SET is_open = excluded.is_open, body = excluded.body",
        (
            message.as_bytes(),
            place,
            call.map(|call| call.tool_call_id.as_str()),
            call.is_some_and(|call| !call.status.is_final()),
            body,
        ),
    )?;
    Ok(())
}

/// The newest messages of a session before the place `before`, oldest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn page(
    db: &ReadTx<'_>,
    session: SessionId,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<Message>> {
    let mut messages = db.all(
        &format!(
            "SELECT {COLUMNS} FROM messages m WHERE m.session_id = $1 AND m.seq < $2
             ORDER BY m.seq DESC LIMIT $3"
        ),
        (session.as_bytes(), before.map_or(i64::MAX, stored), limit),
        read,
    )?;
    messages.reverse();
    filled(db, session, messages)
}

/// The newest messages of a session, oldest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn newest(db: &ReadTx<'_>, session: SessionId, limit: u32) -> Result<Vec<Message>> {
    page(db, session, None, limit)
}

/// The messages of a session with their tool calls and plans and nothing else, oldest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn with_work(db: &ReadTx<'_>, session: SessionId) -> Result<Vec<Message>> {
    let rows = db.all(
        &format!(
            "SELECT {COLUMNS}, p.body FROM messages m
             JOIN message_parts p ON p.message_id = m.id AND p.kind = 'json'
             WHERE m.session_id = $1 AND m.seq IS NOT NULL ORDER BY m.seq, p.place"
        ),
        [session.as_bytes()],
        |row| Ok((read(row)?, part(row, 8)?)),
    )?;
    let mut messages: Vec<Message> = Vec::new();
    for (message, part) in rows {
        match messages.last_mut() {
            Some(last) if last.id == message.id => last.parts.push(part),
            _ => messages.push(Message {
                parts: vec![part],
                ..message
            }),
        }
    }
    Ok(messages)
}

/// Fills in the parts of consecutive messages, in one query.
fn filled(db: &ReadTx<'_>, session: SessionId, mut messages: Vec<Message>) -> Result<Vec<Message>> {
    let (Some(first), Some(last)) = (messages.first(), messages.last()) else {
        return Ok(messages);
    };
    let pieces = db.all(
        "SELECT p.message_id, p.kind, p.body FROM messages m
         JOIN message_parts p ON p.message_id = m.id
         WHERE m.session_id = $1 AND m.seq BETWEEN $2 AND $3 ORDER BY m.seq, p.place",
        (session.as_bytes(), stored(first.seq), stored(last.seq)),
        piece,
    )?;
    let mut parts: HashMap<MessageId, Vec<MessagePart>> = HashMap::new();
    for (message, part) in pieces {
        join(parts.entry(message).or_default(), part);
    }
    for message in &mut messages {
        message.parts = parts.remove(&message.id).unwrap_or_default();
    }
    Ok(messages)
}

/// Adds a part; a piece of text goes on where the last one of its kind ended.
fn join(parts: &mut Vec<MessagePart>, part: MessagePart) {
    match (parts.last_mut(), part) {
        (Some(MessagePart::Text { text }), MessagePart::Text { text: more })
        | (Some(MessagePart::Thinking { text }), MessagePart::Thinking { text: more }) => {
            text.push_str(&more);
        }
        (_, part) => parts.push(part),
    }
}

/// The words of a turn's answer, one after the other.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn answer_of(db: &ReadTx<'_>, session: SessionId, turn: SessionTurnId) -> Result<String> {
    let pieces = db.all(
        "SELECT p.body FROM messages m JOIN message_parts p ON p.message_id = m.id
         WHERE m.session_id = $1 AND m.turn_id = $2 AND m.role = 'assistant' AND p.kind = 'text'
         ORDER BY m.seq, p.place",
        (session.as_bytes(), turn.as_bytes()),
        |row| row.get::<_, String>(0),
    )?;
    Ok(pieces.concat())
}

/// By the index of open calls: left to itself, the engine takes the primary key and reads all
/// parts of the turn.
const OPEN_CALLS: &str = "SELECT p.message_id, p.place, p.body FROM messages m
     JOIN message_parts p INDEXED BY message_parts_open ON p.message_id = m.id
     WHERE m.session_id = $1 AND m.turn_id = $2 AND p.is_open = 1
     ORDER BY m.seq, p.place";

/// The tool calls of a turn that go on, each with its message and place there.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn open_calls_of(
    db: &ReadTx<'_>,
    session: SessionId,
    turn: SessionTurnId,
) -> Result<Vec<(MessageId, u32, ToolCall)>> {
    let calls = db.all(OPEN_CALLS, (session.as_bytes(), turn.as_bytes()), |row| {
        let message = transactions::id(row, 0, MessageId::from_bytes)?;
        let place = row.get(1)?;
        Ok((message, place, part(row, 2)?))
    })?;
    let calls = calls
        .into_iter()
        .filter_map(|(message, place, part)| match part {
            MessagePart::ToolCall(call) => Some((message, place, call)),
            MessagePart::Text { .. }
            | MessagePart::Thinking { .. }
            | MessagePart::Plan { .. }
            | MessagePart::Attachment { .. } => None,
        });
    Ok(calls.collect())
}

fn waiting(row: &Row<'_>) -> rusqlite::Result<QueuedMessageRow> {
    Ok(QueuedMessageRow {
        id: transactions::id(row, 0, MessageId::from_bytes)?,
        session_id: transactions::id(row, 1, SessionId::from_bytes)?,
        content: row.get(2)?,
        context: row.get(3)?,
        room_turn: maybe_id(row, 4, TurnId::from_bytes)?,
        author_id: transactions::id(row, 5, AuthorId::from_bytes)?,
        enqueued_at: moment(row, 6)?,
    })
}

fn piece(row: &Row<'_>) -> rusqlite::Result<(MessageId, MessagePart)> {
    let message = transactions::id(row, 0, MessageId::from_bytes)?;
    let part = match row.get_ref(1)?.as_str()? {
        "text" => MessagePart::Text { text: row.get(2)? },
        "thinking" => MessagePart::Thinking { text: row.get(2)? },
        _ => part(row, 2)?,
    };
    Ok((message, part))
}

fn part(row: &Row<'_>, column: usize) -> rusqlite::Result<MessagePart> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, error))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        id: transactions::id(row, 0, MessageId::from_bytes)?,
        seq: count(row, 1)?,
        session_id: transactions::id(row, 2, SessionId::from_bytes)?,
        turn_id: maybe_id(row, 3, SessionTurnId::from_bytes)?,
        role: enum_column(row, 4, &MessageRole::WORDS)?,
        author_id: transactions::id(row, 5, AuthorId::from_bytes)?,
        state: enum_column(row, 6, &MessageState::WORDS)?,
        created_at: moment(row, 7)?,
        parts: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use guildhall_domain::transcript::ToolStatus;
    use rusqlite::Connection;

    use super::*;
    use crate::{events::LogEnd, migrations};

    const SESSION: [u8; 16] = [1; 16];
    const TURN: [u8; 16] = [2; 16];
    const MESSAGE: [u8; 16] = [3; 16];

    /// A turn with one message, which has no parts yet.
    fn with_message() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        migrations::apply(&mut connection).unwrap();
        connection
            .pragma_update(None, "foreign_keys", false)
            .unwrap();
        let insert = "INSERT INTO messages (id, session_id, seq, turn_id, role, author_id, state,
            created_at) VALUES (?1, ?2, 1, ?3, 'assistant', x'00', 'streaming', 0)";
        let ids = (MESSAGE, SESSION, TURN);
        connection.execute(insert, ids).unwrap();
        connection
    }

    #[test]
    fn a_call_is_open_until_its_end_is_written() {
        let connection = with_message();
        let mut log = LogEnd::default();
        let mut tx = Tx::new(&connection, &mut log);
        let message = MessageId::from_bytes(MESSAGE);
        let put = |tx: &mut Tx<'_>, place, status| {
            let call = ToolCall {
                status,
                ..ToolCall::unannounced(format!("call {place}"))
            };
            put_part(tx, message, place, &MessagePart::ToolCall(call)).unwrap();
        };
        use ToolStatus as Is;
        let over = [Is::Completed, Is::Failed, Is::Denied, Is::Cancelled];
        let going_on = [Is::Pending, Is::Waiting, Is::InProgress];
        for (place, status) in (0..).zip(going_on.into_iter().chain(over)) {
            put(&mut tx, place, status);
        }
        let entries = Vec::new();
        put_part(&mut tx, message, 20, &MessagePart::Plan { entries }).unwrap();
        add_piece(&mut tx, message, 21, TextKind::Text, "x").unwrap();
        let open = |tx: &Tx<'_>| -> Vec<_> {
            let session = SessionId::from_bytes(SESSION);
            let calls = open_calls_of(tx, session, SessionTurnId::from_bytes(TURN)).unwrap();
            let status = |(_, _, call): (_, _, ToolCall)| call.status;
            calls.into_iter().map(status).collect()
        };
        assert_eq!(open(&tx), going_on);
        put(&mut tx, 0, Is::Completed);
        assert_eq!(open(&tx), going_on[1..]);
    }

    #[test]
    fn the_end_of_a_turn_reads_no_parts_but_its_open_calls() {
        let connection = with_message();
        let plan = format!("EXPLAIN QUERY PLAN {OPEN_CALLS}");
        let mut plan = connection.prepare(&plan).unwrap();
        let steps = plan.query_map((SESSION, TURN), |row| row.get::<_, String>(3));
        let steps: Vec<_> = steps.unwrap().map(|step| step.unwrap()).collect();
        let open = "SEARCH p USING INDEX message_parts_open (message_id=?)";
        assert!(steps.iter().any(|step| step == open), "{steps:?}");
    }
}
