//! Sign-ins with tool servers: what is kept of an entry's, and those on their way. Secrets are
//! kept sealed; sealing and opening them is `hall::mcp_signins`.

use guildhall_domain::{
    Result, Timestamp,
    ids::{AgentId, SessionId, SigninFlowId},
    mcp_servers::{AuthClientOrigin, ServerName},
    mcp_signins::{SigninFailure, SigninFlow, SigninPhase},
};
use rusqlite::{Row, types::ValueRef};

use crate::{
    ReadTx, Tx,
    transactions::{self, enum_column, enum_text, maybe_id, moment, unreadable},
};

/// What is kept of an entry's sign-in.
#[derive(Clone, PartialEq, Eq)]
pub struct SigninRow {
    /// The exact address it counts for.
    pub url: String,
    /// The client, sealed, and where it comes from.
    pub client: Option<(AuthClientOrigin, Vec<u8>)>,
    /// The tokens, sealed.
    pub access: Option<Vec<u8>>,
    /// When the token ends.
    pub expires_at: Option<Timestamp>,
}

/// A sign-in on its way, with what its answer is held against.
#[derive(Clone)]
pub struct SigninFlowRow {
    /// The sign-in.
    pub flow: SigninFlow,
    /// The digest of its link's ticket.
    pub ticket: [u8; 32],
    /// The digest of its state, while a person is at the authorization server.
    pub state: Option<[u8; 32]>,
    /// What is secret of it, sealed.
    pub sealed: Option<Vec<u8>>,
}

/// What is kept of the sign-in of an entry.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, agent: AgentId, name: &ServerName) -> Result<Option<SigninRow>> {
    db.first(
        "SELECT url, client, client_origin, access, expires_at FROM mcp_signins
         WHERE agent_id = $1 AND folded = $2",
        (agent.as_bytes(), name.folded()),
        |row| {
            let client: Option<Vec<u8>> = row.get(1)?;
            let origin = match row.get_ref(2)? {
                ValueRef::Null => None,
                _ => Some(enum_column(row, 2, &AuthClientOrigin::WORDS)?),
            };
            let expires_at: Option<i64> = row.get(4)?;
            Ok(SigninRow {
                url: row.get(0)?,
                client: origin.zip(client),
                access: row.get(3)?,
                expires_at: expires_at.map(Timestamp::from_millis),
            })
        },
    )
}

/// Keeps what is known of the sign-in of an entry, in the place of what was.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn put(tx: &mut Tx<'_>, agent: AgentId, name: &ServerName, kept: &SigninRow) -> Result<()> {
    if kept.client.is_none() && kept.access.is_none() {
        return remove(tx, agent, name);
    }
    let before = find(tx, agent, name)?;
    let is_shed = |before: &SigninRow| {
        let is_other = |one: Option<&Vec<u8>>, other| one.is_some() && one != other;
        let client = |kept: &SigninRow| kept.client.as_ref().map(|(_, sealed)| sealed.clone());
        is_other(before.access.as_ref(), kept.access.as_ref())
            || is_other(client(before).as_ref(), client(kept).as_ref())
    };
    if before.as_ref().is_some_and(is_shed) {
        tx.forget_pages();
    }
    let origin = kept.client.as_ref().map(|(origin, _)| *origin);
    tx.run(
        "INSERT OR REPLACE INTO mcp_signins
           (agent_id, folded, url, client, client_origin, access, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        (
            agent.as_bytes(),
            name.folded(),
            &kept.url,
            kept.client.as_ref().map(|(_, sealed)| sealed),
            origin.map(|origin| enum_text(origin, &AuthClientOrigin::WORDS)),
            &kept.access,
            kept.expires_at.map(|at| at.as_millis()),
        ),
    )?;
    Ok(())
}

/// Forgets what is kept of the sign-in of an entry.
///
/// # Errors
/// A fault when the engine refuses.
pub fn remove(tx: &mut Tx<'_>, agent: AgentId, name: &ServerName) -> Result<()> {
    tx.run(
        "DELETE FROM mcp_signins WHERE agent_id = $1 AND folded = $2",
        (agent.as_bytes(), name.folded()),
    )?;
    tx.forget_pages();
    Ok(())
}

const FLOW: &str = "id, agent_id, name, url, session_id, phase, code, tool_count, created_at,
    expires_at, ticket, state, sealed";

/// The sign-in with this id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn flow(db: &ReadTx<'_>, id: SigninFlowId) -> Result<Option<SigninFlowRow>> {
    db.first(
        &format!("SELECT {FLOW} FROM mcp_flows WHERE id = $1"),
        [id.as_bytes()],
        read,
    )
}

/// The sign-in whose link has the ticket of this digest.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_ticket(db: &ReadTx<'_>, ticket: &[u8; 32]) -> Result<Option<SigninFlowRow>> {
    db.first(
        &format!("SELECT {FLOW} FROM mcp_flows WHERE ticket = $1"),
        [ticket],
        read,
    )
}

/// The sign-in that waits for an answer with the state of this digest.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_state(db: &ReadTx<'_>, state: &[u8; 32]) -> Result<Option<SigninFlowRow>> {
    db.first(
        &format!("SELECT {FLOW} FROM mcp_flows WHERE state = $1"),
        [state],
        read,
    )
}

/// The sign-ins of an entry that can still be ended from without.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn open_flows(
    db: &ReadTx<'_>,
    agent: AgentId,
    name: &ServerName,
) -> Result<Vec<SigninFlowRow>> {
    db.all(
        &format!(
            "SELECT {FLOW} FROM mcp_flows
             WHERE agent_id = $1 AND folded = $2 AND phase IN ('waiting', 'opened') ORDER BY id"
        ),
        (agent.as_bytes(), name.folded()),
        read,
    )
}

/// The sign-ins in the middle of an exchange.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn exchanging(db: &ReadTx<'_>) -> Result<Vec<SigninFlowRow>> {
    db.all(
        &format!("SELECT {FLOW} FROM mcp_flows WHERE phase = 'exchanging' ORDER BY id"),
        (),
        read,
    )
}

/// The sign-ins whose time is over, which is not written yet.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn expired(db: &ReadTx<'_>, now: Timestamp) -> Result<Vec<SigninFlowRow>> {
    db.all(
        &format!(
            "SELECT {FLOW} FROM mcp_flows
             WHERE phase IN ('waiting', 'opened') AND expires_at <= $1 ORDER BY id LIMIT 100"
        ),
        [now.as_millis()],
        read,
    )
}

/// Adds a sign-in.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, kept: &SigninFlowRow) -> Result<()> {
    let flow = &kept.flow;
    tx.run(
        "INSERT INTO mcp_flows (id, agent_id, name, folded, url, session_id, phase, created_at,
           expires_at, ticket, sealed)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        rusqlite::params![
            flow.id.as_bytes(),
            flow.agent_id.as_bytes(),
            flow.name.as_str(),
            flow.name.folded(),
            flow.url,
            flow.session_id.as_ref().map(SessionId::as_bytes),
            enum_text(flow.phase, &SigninPhase::WORDS),
            flow.created_at.as_millis(),
            flow.expires_at.as_millis(),
            kept.ticket,
            kept.sealed,
        ],
    )?;
    Ok(())
}

/// Writes all of a sign-in that can change.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn update(tx: &mut Tx<'_>, kept: &SigninFlowRow) -> Result<()> {
    let flow = &kept.flow;
    if kept.sealed.is_none() {
        tx.forget_pages();
    }
    tx.run(
        "UPDATE mcp_flows SET phase = $1, code = $2, tool_count = $3, expires_at = $4,
           state = $5, sealed = $6 WHERE id = $7",
        rusqlite::params![
            enum_text(flow.phase, &SigninPhase::WORDS),
            flow.code.map(SigninFailure::code),
            flow.tool_count,
            flow.expires_at.as_millis(),
            kept.state,
            kept.sealed,
            flow.id.as_bytes(),
        ],
    )?;
    Ok(())
}

/// Drops the sign-ins of an entry that are over.
///
/// # Errors
/// A fault when the engine refuses.
pub fn drop_over(tx: &mut Tx<'_>, before: Timestamp) -> Result<()> {
    tx.run(
        "DELETE FROM mcp_flows WHERE phase = 'done' AND expires_at < $1",
        [before.as_millis()],
    )?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<SigninFlowRow> {
    let name: String = row.get(2)?;
    let code = match row.get_ref(6)? {
        ValueRef::Null => None,
        _ => Some(enum_column(row, 6, SigninFailure::WORDS)?),
    };
    Ok(SigninFlowRow {
        flow: SigninFlow {
            id: transactions::id(row, 0, SigninFlowId::from_bytes)?,
            agent_id: transactions::id(row, 1, AgentId::from_bytes)?,
            name: ServerName::parse(&name).ok_or_else(|| unreadable(2, "no name of a server"))?,
            url: row.get(3)?,
            session_id: maybe_id(row, 4, SessionId::from_bytes)?,
            phase: enum_column(row, 5, &SigninPhase::WORDS)?,
            code,
            tool_count: row.get(7)?,
            created_at: moment(row, 8)?,
            expires_at: moment(row, 9)?,
        },
        ticket: row.get(10)?,
        state: row.get(11)?,
        sealed: row.get(12)?,
    })
}
