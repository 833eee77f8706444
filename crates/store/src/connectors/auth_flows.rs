//! Auth flows: the way to a connection. What is secret of them is kept sealed; each move is
//! compared with what it follows and set.

use guildhall_domain::{
    Result, Timestamp,
    connectors::auth_flows::{Flow, FlowState, FlowStepKind},
    ids::{AuthFlowId, ConnectorConnectionId, ProviderId},
};
use rusqlite::Row;

use super::toolkits::slug_at;
use crate::{
    ReadTx, Tx,
    transactions::{count, enum_column, enum_text, id, maybe_id, maybe_moment, moment, stored},
};

/// A flow with what is secret of it.
#[derive(Clone)]
pub struct AuthFlowRow {
    /// The flow.
    pub flow: Flow,
    /// The key of the wish.
    pub key: String,
    /// The digest of its link's ticket, while it has one.
    pub ticket: Option<[u8; 32]>,
    /// The digest of its state, while a person is at the authorization server.
    pub answer_state: Option<[u8; 32]>,
    /// What is secret of it, sealed.
    pub sealed: Option<Vec<u8>>,
}

const FLOW: &str = "id, key, provider_id, toolkit, label, reconnect_of, generation, state, attempt,
    step, connection_id, reason, created_at, expires_at, completed_at, ticket, answer_state,
    sealed";

/// The flow with this id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, id: AuthFlowId) -> Result<Option<AuthFlowRow>> {
    by(db, "id = $1", id.as_bytes())
}

/// The flow that this key began.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_key(db: &ReadTx<'_>, key: &str) -> Result<Option<AuthFlowRow>> {
    by(db, "key = $1", key)
}

/// The flow whose link has the ticket of this digest.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_ticket(db: &ReadTx<'_>, ticket: &[u8; 32]) -> Result<Option<AuthFlowRow>> {
    by(db, "ticket = $1", ticket)
}

/// The flow that waits for an answer with the state of this digest.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_answer_state(db: &ReadTx<'_>, state: &[u8; 32]) -> Result<Option<AuthFlowRow>> {
    by(db, "answer_state = $1", state)
}

fn by(db: &ReadTx<'_>, wanted: &str, value: impl rusqlite::ToSql) -> Result<Option<AuthFlowRow>> {
    let sql = format!("SELECT {FLOW} FROM connector_flows WHERE {wanted}");
    db.first(&sql, [value], read)
}

/// The flows that are written as open, the first to expire first; there are never many.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn open(db: &ReadTx<'_>) -> Result<Vec<AuthFlowRow>> {
    db.all(
        &format!(
            "SELECT {FLOW} FROM connector_flows WHERE state IN ('starting', 'pending')
             ORDER BY expires_at, id"
        ),
        (),
        read,
    )
}

/// The flows that were begun since `since`, at most `max`: those that are written as open first,
/// then the newest.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn since(db: &ReadTx<'_>, since: Timestamp, max: u32) -> Result<Vec<AuthFlowRow>> {
    db.all(
        &format!(
            "SELECT {FLOW} FROM connector_flows WHERE created_at >= $1
             ORDER BY completed_at IS NOT NULL, created_at DESC, id DESC LIMIT $2"
        ),
        (since.as_millis(), max),
        read,
    )
}

/// How many flows are open at `now`.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn open_count(db: &ReadTx<'_>, now: Timestamp) -> Result<u64> {
    let found = db.first(
        "SELECT COUNT(*) FROM connector_flows
         WHERE state IN ('starting', 'pending') AND expires_at > $1",
        [now.as_millis()],
        |row| count(row, 0),
    )?;
    Ok(found.unwrap_or_default())
}

/// Adds a flow.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, kept: &AuthFlowRow) -> Result<()> {
    let flow = &kept.flow;
    tx.run(
        "INSERT INTO connector_flows (id, key, provider_id, toolkit, label, reconnect_of,
           generation, state, attempt, step, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        rusqlite::params![
            flow.id.as_bytes(),
            kept.key,
            flow.provider_id.as_bytes(),
            flow.toolkit.as_str(),
            flow.label,
            flow.reconnect_of
                .as_ref()
                .map(ConnectorConnectionId::as_bytes),
            stored(flow.generation),
            enum_text(flow.state, &FlowState::WORDS),
            flow.attempt,
            enum_text(flow.step, &FlowStepKind::WORDS),
            flow.created_at.as_millis(),
            flow.expires_at.as_millis(),
        ],
    )?;
    Ok(())
}

/// Writes what a flow became, if it still stands as `before`; answers whether it did. What is
/// secret of one that is over goes.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn transition(tx: &mut Tx<'_>, before: &Flow, after: &AuthFlowRow) -> Result<bool> {
    let flow = &after.flow;
    let is_over = flow.state.is_final();
    if is_over {
        tx.forget_pages();
    }
    let changed = tx.run(
        "UPDATE connector_flows SET state = $1, attempt = $2, step = $3, connection_id = $4,
           reason = $5, completed_at = $6, ticket = $7, answer_state = $8, sealed = $9
         WHERE id = $10 AND state = $11 AND attempt = $12",
        rusqlite::params![
            enum_text(flow.state, &FlowState::WORDS),
            flow.attempt,
            enum_text(flow.step, &FlowStepKind::WORDS),
            flow.connection_id
                .as_ref()
                .map(ConnectorConnectionId::as_bytes),
            flow.reason,
            flow.completed_at.map(Timestamp::as_millis),
            after.ticket.filter(|_| !is_over),
            after.answer_state.filter(|_| !is_over),
            after.sealed.as_ref().filter(|_| !is_over),
            flow.id.as_bytes(),
            enum_text(before.state, &FlowState::WORDS),
            before.attempt,
        ],
    )?;
    Ok(changed > 0)
}

/// Writes what is secret of a flow that has not moved; answers whether it still stood so.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn reseal(tx: &mut Tx<'_>, kept: &AuthFlowRow) -> Result<bool> {
    transition(tx, &kept.flow, kept)
}

fn read(row: &Row<'_>) -> rusqlite::Result<AuthFlowRow> {
    Ok(AuthFlowRow {
        flow: Flow {
            id: id(row, 0, AuthFlowId::from_bytes)?,
            provider_id: id(row, 2, ProviderId::from_bytes)?,
            toolkit: slug_at(row, 3)?,
            label: row.get(4)?,
            reconnect_of: maybe_id(row, 5, ConnectorConnectionId::from_bytes)?,
            generation: count(row, 6)?,
            state: enum_column(row, 7, &FlowState::WORDS)?,
            attempt: row.get(8)?,
            step: enum_column(row, 9, &FlowStepKind::WORDS)?,
            connection_id: maybe_id(row, 10, ConnectorConnectionId::from_bytes)?,
            reason: row.get(11)?,
            created_at: moment(row, 12)?,
            expires_at: moment(row, 13)?,
            completed_at: maybe_moment(row, 14)?,
        },
        key: row.get(1)?,
        ticket: row.get(15)?,
        answer_state: row.get(16)?,
        sealed: row.get(17)?,
    })
}
