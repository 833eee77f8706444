//! Interactions: the rows of the table of approvals that sessions ask, kinds `tool_call` and
//! `question`; those of the other kinds are `approvals`. What may follow on what is
//! `domain::interactions`; who may decide is `hall::interactions`.

use std::collections::HashSet;

use guildhall_domain::{
    Result, Timestamp,
    ids::{AgentId, ApprovalId, AuthorId, MessageId, RoomId, SessionId, TurnId},
    interactions::{
        ApprovalState, DecisionReply, InteractionCard, InteractionKind, InteractionRecord, Question,
    },
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    transactions::{self, enum_column, enum_text, maybe_id, maybe_moment, moment},
};

const COLUMNS: &str =
    "id, agent_id, session_id, room_id, tool_call_id, kind, state, digest, options,
    opened_at, parks_at, expires_at, parked_at, detached_at, decided_at, decided_by, withdrawn_at,
    withdrawn_by, grant_expires_at, room_turn";

/// What a person is shown beside that.
const SHOWN: &str = "body, deny_reason, option_id, answers";

/// The kinds that a session asks; a literal, so that the engine knows it as constant.
pub(crate) const ASKED: &str = "kind IN ('tool_call', 'question')";

/// A row with what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InteractionRow {
    /// Where it stands.
    pub standing: InteractionRecord,
    /// What it shows.
    pub card: InteractionCard,
    /// What a person decided with; `None` while nobody did.
    pub reply: Option<DecisionReply>,
}

/// The row that a decision on this call means: the newest one that is pending, else the newest.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_call(
    db: &ReadTx<'_>,
    session: SessionId,
    tool_call_id: &str,
    kind: InteractionKind,
) -> Result<Option<InteractionRecord>> {
    db.first(
        &format!(
            "SELECT {COLUMNS} FROM approvals
             WHERE session_id = $1 AND tool_call_id = $2 AND kind = $3
             ORDER BY state = 'pending' DESC, opened_at DESC, id DESC LIMIT 1"
        ),
        (session.as_bytes(), tool_call_id, kind.as_str()),
        standing,
    )
}

/// One row.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: ApprovalId) -> Result<Option<InteractionRow>> {
    db.first(
        &format!("SELECT {COLUMNS}, {SHOWN} FROM approvals WHERE id = $1 AND {ASKED}"),
        [id.as_bytes()],
        whole,
    )
}

/// The questions of a row.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn questions(db: &ReadTx<'_>, id: ApprovalId) -> Result<Vec<Question>> {
    let card = db.first(
        "SELECT body FROM approvals WHERE id = $1",
        [id.as_bytes()],
        |row| card(row, 0),
    )?;
    Ok(card.map(|card| card.questions).unwrap_or_default())
}

/// Every row that waits for a person at `now`, oldest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn pending(db: &ReadTx<'_>, now: Timestamp) -> Result<Vec<InteractionRow>> {
    db.all(
        &format!(
            "SELECT {COLUMNS}, {SHOWN} FROM approvals
             WHERE state = 'pending' AND {ASKED} AND expires_at > $1 ORDER BY opened_at, id"
        ),
        [now.as_millis()],
        whole,
    )
}

/// The rows of one session that wait for a person at `now`, oldest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn pending_of(
    db: &ReadTx<'_>,
    session: SessionId,
    now: Timestamp,
) -> Result<Vec<InteractionRow>> {
    db.all(
        &format!(
            "SELECT {COLUMNS}, {SHOWN} FROM approvals
             WHERE state = 'pending' AND session_id = $1 AND {ASKED} AND expires_at > $2
             ORDER BY opened_at, id"
        ),
        (session.as_bytes(), now.as_millis()),
        whole,
    )
}

/// The newest rows of a session before `before`, newest first, whatever became of them.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn newest_of(
    db: &ReadTx<'_>,
    session: SessionId,
    before: Option<ApprovalId>,
    limit: u32,
) -> Result<Vec<InteractionRow>> {
    // Every id of this version is smaller than this one.
    let before = before.map_or([u8::MAX; 16], |id| *id.as_bytes());
    db.all(
        &format!(
            "SELECT {COLUMNS}, {SHOWN} FROM approvals
             WHERE session_id = $1 AND id < $2 AND {ASKED} ORDER BY id DESC LIMIT $3"
        ),
        (session.as_bytes(), before, limit),
        whole,
    )
}

/// How many rows of a session are pending.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn pending_count(db: &ReadTx<'_>, session: SessionId) -> Result<u32> {
    db.one(
        &format!(
            "SELECT COUNT(*) FROM approvals WHERE state = 'pending' AND session_id = $1 AND {ASKED}"
        ),
        [session.as_bytes()],
        |row| row.get(0),
    )
}

/// The rows of a session that are pending or granted, oldest first, expired or not.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn unfinished(db: &ReadTx<'_>, session: SessionId) -> Result<Vec<InteractionRecord>> {
    let mut found = standings(
        db,
        "state = 'pending' AND session_id = $1",
        [session.as_bytes()],
    )?;
    found.extend(granted(db, session)?);
    Ok(found)
}

/// The rows of a session that are granted, expired or not.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn granted(db: &ReadTx<'_>, session: SessionId) -> Result<Vec<InteractionRecord>> {
    standings(
        db,
        "state = 'granted' AND session_id = $1",
        [session.as_bytes()],
    )
}

/// The rows granted to a session for exactly this, expired or not, oldest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn granted_for(
    db: &ReadTx<'_>,
    session: SessionId,
    digest: &str,
) -> Result<Vec<InteractionRecord>> {
    standings(
        db,
        "state = 'granted' AND session_id = $1 AND digest = $2",
        (session.as_bytes(), digest),
    )
}

/// The newest no since `since` to exactly this that was said when the agent was gone, and that
/// it has not heard of.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn undelivered_denials(
    db: &ReadTx<'_>,
    session: SessionId,
    digest: &str,
    since: Timestamp,
) -> Result<Option<ApprovalId>> {
    db.first(
        &format!(
            "SELECT id FROM approvals
             WHERE state = 'denied' AND detached_at IS NOT NULL AND consumed_at IS NULL
               AND session_id = $1 AND digest = $2 AND decided_at > $3 AND {ASKED}
             ORDER BY decided_at DESC LIMIT 1"
        ),
        (session.as_bytes(), digest, since.as_millis()),
        |row| transactions::id(row, 0, ApprovalId::from_bytes),
    )
}

/// The pending rows whose agent is still there: of one session, or of all.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn attached(db: &ReadTx<'_>, session: Option<SessionId>) -> Result<Vec<InteractionRow>> {
    let read = |condition: &str, params: &[&dyn rusqlite::ToSql]| {
        db.all(
            &format!(
                "SELECT {COLUMNS}, {SHOWN} FROM approvals
                 WHERE state = 'pending' AND detached_at IS NULL AND {ASKED}{condition}
                 ORDER BY opened_at, id"
            ),
            params,
            whole,
        )
    };
    match session {
        Some(session) => read(" AND session_id = $1", &[session.as_bytes()]),
        None => read("", &[]),
    }
}

/// The pending rows whose deadline has passed at `now`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn expired(db: &ReadTx<'_>, now: Timestamp) -> Result<Vec<InteractionRecord>> {
    standings(
        db,
        "state = 'pending' AND expires_at <= $1",
        [now.as_millis()],
    )
}

/// The granted rows whose time to be used has passed at `now`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn expired_grants(db: &ReadTx<'_>, now: Timestamp) -> Result<Vec<InteractionRecord>> {
    standings(
        db,
        "state = 'granted' AND grant_expires_at <= $1",
        [now.as_millis()],
    )
}

/// The pending rows to be parked at `now`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn to_park(db: &ReadTx<'_>, now: Timestamp) -> Result<Vec<InteractionRow>> {
    db.all(
        &format!(
            "SELECT {COLUMNS}, {SHOWN} FROM approvals
             WHERE state = 'pending' AND parked_at IS NULL AND parks_at <= $1 AND {ASKED}
             ORDER BY opened_at, id"
        ),
        [now.as_millis()],
        whole,
    )
}

/// When the next row is to be parked, expires or lapses; `None` when none will.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn next_deadline(db: &ReadTx<'_>) -> Result<Option<Timestamp>> {
    let mut next = None;
    for (deadline, condition) in [
        ("parks_at", "state = 'pending' AND parked_at IS NULL"),
        ("expires_at", "state = 'pending'"),
        (
            "grant_expires_at",
            "state = 'granted' AND grant_expires_at IS NOT NULL",
        ),
    ] {
        let found = db.first(
            &format!(
                "SELECT {deadline} FROM approvals WHERE {condition} AND {ASKED}
                 ORDER BY {deadline} LIMIT 1"
            ),
            [],
            |row| maybe_moment(row, 0),
        )?;
        next = [next, found.flatten()].into_iter().flatten().min();
    }
    Ok(next)
}

/// Adds a pending row.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, standing: &InteractionRecord, card: &InteractionCard) -> Result<()> {
    tx.run(
        "INSERT INTO approvals (id, kind, state, capability, agent_id, session_id, room_id,
           tool_call_id, digest, opened_at, parks_at, expires_at, deny_reason, room_turn, options,
           body)
         VALUES ($1, $2, $3, $2, $4, $5, $6, $7, $8, $9, $10, $11, '', $12, $13, $14)",
        (
            standing.id.as_bytes(),
            standing.kind.as_str(),
            enum_text(standing.state, &ApprovalState::WORDS),
            standing.agent_id.as_bytes(),
            standing.session_id.as_bytes(),
            standing.room_id.as_ref().map(RoomId::as_bytes),
            &standing.tool_call_id,
            &standing.digest,
            standing.opened_at.as_millis(),
            standing.parks_at.as_millis(),
            standing.expires_at.as_millis(),
            standing.room_turn.as_ref().map(TurnId::as_bytes),
            serde_json::to_string(&standing.options)
                .map_err(|error| transactions::broken("writing an approval", error))?,
            written(card)?,
        ),
    )?;
    Ok(())
}

/// Moves a row from the state it is known in to `standing.state`, with the times and names that
/// say how; answers whether it was still in that state.
///
/// # Errors
/// A fault when the engine refuses.
pub fn advance(tx: &mut Tx<'_>, from: ApprovalState, standing: &InteractionRecord) -> Result<bool> {
    let moved = tx.run(
        "UPDATE approvals SET state = $1, detached_at = $2, decided_at = $3, decided_by = $4,
           withdrawn_at = $5, withdrawn_by = $6, grant_expires_at = $7
         WHERE id = $8 AND state = $9",
        (
            enum_text(standing.state, &ApprovalState::WORDS),
            standing.detached_at.map(Timestamp::as_millis),
            standing.decided_at.map(Timestamp::as_millis),
            standing.decided_by.as_ref().map(AuthorId::as_bytes),
            standing.withdrawn_at.map(Timestamp::as_millis),
            standing.withdrawn_by.as_ref().map(AuthorId::as_bytes),
            standing.grant_expires_at.map(Timestamp::as_millis),
            standing.id.as_bytes(),
            enum_text(from, &ApprovalState::WORDS),
        ),
    )?;
    Ok(moved == 1)
}

/// Notes what a person decided with.
///
/// # Errors
/// A fault when the engine refuses.
pub fn set_reply(tx: &mut Tx<'_>, id: ApprovalId, reply: &DecisionReply) -> Result<()> {
    let answers = reply.answers.as_ref().map(serde_json::to_string);
    tx.run(
        "UPDATE approvals SET deny_reason = $1, option_id = $2, answers = $3 WHERE id = $4",
        (
            reply.deny_reason.as_deref().unwrap_or_default(),
            reply.option.as_ref().map(|option| &option.option_id),
            answers
                .transpose()
                .map_err(|error| transactions::broken("writing an approval", error))?,
            id.as_bytes(),
        ),
    )?;
    Ok(())
}

/// Notes which message tells the agent what was decided when it was gone.
///
/// # Errors
/// A fault when the engine refuses.
pub fn set_resume_message(tx: &mut Tx<'_>, id: ApprovalId, message: MessageId) -> Result<()> {
    tx.run(
        "UPDATE approvals SET words = $1 WHERE id = $2",
        (message.as_bytes(), id.as_bytes()),
    )?;
    Ok(())
}

/// The messages that wait in queues and tell an agent of a yes it may still use at `now`, or of
/// answers.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn queued_resume_messages(db: &ReadTx<'_>, now: Timestamp) -> Result<HashSet<MessageId>> {
    let words = db.all(
        "SELECT m.id FROM messages m JOIN approvals a ON a.words = m.id
         WHERE m.queue_place IS NOT NULL
           AND ((a.state = 'granted' AND a.grant_expires_at > $1)
             OR (a.state = 'consumed' AND a.kind = 'question' AND a.withdrawn_at IS NULL))",
        [now.as_millis()],
        |row| transactions::id(row, 0, MessageId::from_bytes),
    )?;
    Ok(words.into_iter().collect())
}

/// Notes when a yes was used, or a no was heard; `None` that it was not after all.
///
/// # Errors
/// A fault when the engine refuses.
pub fn set_consumed_at(tx: &mut Tx<'_>, id: ApprovalId, at: Option<Timestamp>) -> Result<()> {
    tx.run(
        "UPDATE approvals SET consumed_at = $1 WHERE id = $2",
        (at.map(Timestamp::as_millis), id.as_bytes()),
    )?;
    Ok(())
}

/// Notes on what was said yes to since `since` that the turn was cancelled after it, so that a
/// yes which reached nobody is not kept for later.
///
/// # Errors
/// A fault when the engine refuses.
pub fn withdraw_used(
    tx: &mut Tx<'_>,
    session: SessionId,
    by: Option<AuthorId>,
    since: Timestamp,
    now: Timestamp,
) -> Result<()> {
    tx.run(
        &format!(
            "UPDATE approvals SET withdrawn_at = $1, withdrawn_by = $2
             WHERE session_id = $3 AND state = 'consumed' AND consumed_at >= $4 AND {ASKED}"
        ),
        (
            now.as_millis(),
            by.as_ref().map(AuthorId::as_bytes),
            session.as_bytes(),
            since.as_millis(),
        ),
    )?;
    Ok(())
}

/// Notes that nobody answered a pending row for a while.
///
/// # Errors
/// A fault when the engine refuses.
pub fn park(tx: &mut Tx<'_>, id: ApprovalId, now: Timestamp) -> Result<()> {
    tx.run(
        "UPDATE approvals SET parked_at = $1 WHERE id = $2 AND state = 'pending'",
        (now.as_millis(), id.as_bytes()),
    )?;
    Ok(())
}

/// Notes that the agent of a pending row is gone.
///
/// # Errors
/// A fault when the engine refuses.
pub fn detach(tx: &mut Tx<'_>, id: ApprovalId, now: Timestamp) -> Result<()> {
    tx.run(
        "UPDATE approvals SET detached_at = $1 WHERE id = $2 AND state = 'pending'",
        (now.as_millis(), id.as_bytes()),
    )?;
    Ok(())
}

/// Writes what a pending row is about now.
///
/// # Errors
/// A fault when the engine refuses.
pub fn update_card(
    tx: &mut Tx<'_>,
    id: ApprovalId,
    digest: &str,
    card: &InteractionCard,
) -> Result<()> {
    tx.run(
        "UPDATE approvals SET digest = $1, body = $2 WHERE id = $3 AND state = 'pending'",
        (digest, written(card)?, id.as_bytes()),
    )?;
    Ok(())
}

fn standings(
    db: &ReadTx<'_>,
    condition: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<InteractionRecord>> {
    db.all(
        &format!(
            "SELECT {COLUMNS} FROM approvals WHERE {condition} AND {ASKED} ORDER BY opened_at, id"
        ),
        params,
        standing,
    )
}

fn written(card: &InteractionCard) -> Result<String> {
    serde_json::to_string(card).map_err(|error| transactions::broken("writing an approval", error))
}

fn whole(row: &Row<'_>) -> rusqlite::Result<InteractionRow> {
    let standing = standing(row)?;
    Ok(InteractionRow {
        reply: reply(row, &standing)?,
        standing,
        card: card(row, 20)?,
    })
}

fn reply(row: &Row<'_>, standing: &InteractionRecord) -> rusqlite::Result<Option<DecisionReply>> {
    if standing.decided_at.is_none() {
        return Ok(None);
    }
    let deny_reason: String = row.get(21)?;
    let option_id: Option<String> = row.get(22)?;
    let answers: Option<String> = row.get(23)?;
    Ok(Some(DecisionReply {
        option: option_id.and_then(|id| standing.option(&id).cloned()),
        deny_reason: Some(deny_reason).filter(|reason| !reason.is_empty()),
        answers: answers
            .map(|answers| serde_json::from_str(&answers))
            .transpose()
            .map_err(|error| transactions::unreadable(23, error))?,
    }))
}

fn card(row: &Row<'_>, column: usize) -> rusqlite::Result<InteractionCard> {
    serde_json::from_str(row.get_ref(column)?.as_str()?)
        .map_err(|error| transactions::unreadable(column, error))
}

fn standing(row: &Row<'_>) -> rusqlite::Result<InteractionRecord> {
    let options = serde_json::from_str(row.get_ref(8)?.as_str()?)
        .map_err(|error| transactions::unreadable(8, error))?;
    Ok(InteractionRecord {
        id: transactions::id(row, 0, ApprovalId::from_bytes)?,
        agent_id: transactions::id(row, 1, AgentId::from_bytes)?,
        session_id: transactions::id(row, 2, SessionId::from_bytes)?,
        room_id: maybe_id(row, 3, RoomId::from_bytes)?,
        tool_call_id: row.get(4)?,
        kind: enum_column(row, 5, &InteractionKind::WORDS)?,
        state: enum_column(row, 6, &ApprovalState::WORDS)?,
        digest: row.get(7)?,
        options,
        opened_at: moment(row, 9)?,
        parks_at: moment(row, 10)?,
        expires_at: moment(row, 11)?,
        parked_at: maybe_moment(row, 12)?,
        detached_at: maybe_moment(row, 13)?,
        decided_at: maybe_moment(row, 14)?,
        decided_by: maybe_id(row, 15, AuthorId::from_bytes)?,
        withdrawn_at: maybe_moment(row, 16)?,
        withdrawn_by: maybe_id(row, 17, AuthorId::from_bytes)?,
        grant_expires_at: maybe_moment(row, 18)?,
        room_turn: maybe_id(row, 19, TurnId::from_bytes)?,
    })
}
