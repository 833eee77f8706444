//! Agent tokens: rows by agent and by digest; the token itself is never stored.

use guildhall_domain::{
    Result, Timestamp,
    agent_tokens::{AgentToken, TokenOrigin},
    ids::{AgentId, AgentTokenId, AuthorId, SessionId},
    limits,
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    transactions::{self, enum_column, enum_text, maybe_moment, moment},
};

const COLUMNS: &str = "t.id, t.agent_id, t.label, t.origin, t.session_id, t.created_at,
    t.last_used_at, t.revoked_at";

/// A token found by its digest, with the agent it names.
#[derive(Clone, Debug)]
pub struct AgentTokenWithAuthor {
    /// The token's row.
    pub token: AgentToken,
    /// The author that agent writes as.
    pub author: AuthorId,
    /// Whether the agent is on the registry.
    pub registered: bool,
}

/// The token with this digest.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_digest(db: &ReadTx<'_>, digest: &[u8; 32]) -> Result<Option<AgentTokenWithAuthor>> {
    db.first(
        &format!(
            "SELECT {COLUMNS}, g.author_id, g.retired_at IS NULL
             FROM tokens t JOIN agents g ON g.id = t.agent_id WHERE t.digest = $1"
        ),
        [digest],
        bearer,
    )
}

/// The token with this id, as [`by_digest`] gives it.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: AgentTokenId) -> Result<Option<AgentTokenWithAuthor>> {
    db.first(
        &format!(
            "SELECT {COLUMNS}, g.author_id, g.retired_at IS NULL
             FROM tokens t JOIN agents g ON g.id = t.agent_id WHERE t.id = $1"
        ),
        [id.as_bytes()],
        bearer,
    )
}

/// All tokens of an agent, revoked ones too, oldest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_agent(db: &ReadTx<'_>, agent: AgentId) -> Result<Vec<AgentToken>> {
    db.all(
        &format!(
            "SELECT {COLUMNS} FROM tokens t WHERE t.agent_id = $1 ORDER BY t.created_at, t.id"
        ),
        [agent.as_bytes()],
        read,
    )
}

/// Adds a token under its digest.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, token: &AgentToken, digest: &[u8; 32]) -> Result<()> {
    tx.run(
        "INSERT INTO tokens (id, agent_id, digest, label, origin, session_id, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        (
            token.id.as_bytes(),
            token.agent_id.as_bytes(),
            digest,
            &token.label,
            enum_text(token.origin, &TokenOrigin::WORDS),
            token.session_id.as_ref().map(SessionId::as_bytes),
            token.created_at.as_millis(),
        ),
    )?;
    Ok(())
}

/// Notes a use; a clock that jumped back never makes a token younger.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn touch(tx: &mut Tx<'_>, id: AgentTokenId, now: Timestamp) -> Result<()> {
    tx.run(
        "UPDATE tokens SET last_used_at = $1
         WHERE id = $2 AND (last_used_at IS NULL OR last_used_at < $1)",
        (now.as_millis(), id.as_bytes()),
    )?;
    Ok(())
}

/// Revokes a token; answers whether it was not revoked before.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn revoke(tx: &mut Tx<'_>, id: AgentTokenId, now: Timestamp) -> Result<bool> {
    let touched = tx.run(
        "UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL",
        (now.as_millis(), id.as_bytes()),
    )?;
    Ok(touched > 0)
}

/// The tokens not revoked yet that the server minted for a session.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn spawned_of_session(db: &ReadTx<'_>, session: SessionId) -> Result<Vec<AgentTokenId>> {
    db.all(
        "SELECT id FROM tokens WHERE origin = 'spawn' AND revoked_at IS NULL AND session_id = $1
         ORDER BY id",
        [session.as_bytes()],
        |row| transactions::id(row, 0, AgentTokenId::from_bytes),
    )
}

/// Revokes every token that a process was started with; answers those that were not revoked
/// before, with their agents.
///
/// # Errors
/// A fault when the engine refuses the rows.
pub fn revoke_spawned(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<(AgentId, AgentTokenId)>> {
    let live = tx.all(
        "SELECT agent_id, id FROM tokens WHERE origin = 'spawn' AND revoked_at IS NULL
         ORDER BY id",
        [],
        |row| {
            let agent = transactions::id(row, 0, AgentId::from_bytes)?;
            Ok((agent, transactions::id(row, 1, AgentTokenId::from_bytes)?))
        },
    )?;
    tx.run(
        "UPDATE tokens SET revoked_at = $1 WHERE origin = 'spawn' AND revoked_at IS NULL",
        [now.as_millis()],
    )?;
    Ok(live)
}

fn bearer(row: &Row<'_>) -> rusqlite::Result<AgentTokenWithAuthor> {
    Ok(AgentTokenWithAuthor {
        token: read(row)?,
        author: transactions::id(row, 8, AuthorId::from_bytes)?,
        registered: row.get(9)?,
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<AgentToken> {
    Ok(AgentToken {
        id: transactions::id(row, 0, AgentTokenId::from_bytes)?,
        agent_id: transactions::id(row, 1, AgentId::from_bytes)?,
        label: row.get(2)?,
        origin: enum_column(row, 3, &TokenOrigin::WORDS)?,
        session_id: transactions::maybe_id(row, 4, SessionId::from_bytes)?,
        created_at: moment(row, 5)?,
        last_used_at: maybe_moment(row, 6)?,
        revoked_at: maybe_moment(row, 7)?,
    })
}

/// Drops at most `max` tokens that were revoked long ago: those of sessions before `of_sessions`,
/// all others before `others`, which is not later; answers how many.
///
/// # Errors
/// A fault when the engine refuses.
pub fn drop_revoked(
    tx: &mut Tx<'_>,
    of_sessions: Timestamp,
    others: Timestamp,
    max: u32,
) -> Result<usize> {
    tx.run(
        "DELETE FROM tokens WHERE id IN (
           SELECT id FROM tokens
           WHERE revoked_at < $1 AND (origin = 'spawn' OR revoked_at < $2) LIMIT $3)",
        (of_sessions.as_millis(), others.as_millis(), max),
    )
}

/// Drops at most `max` tokens that expired long ago without being revoked: those of sessions before
/// `of_sessions`, all others before `others`, which is not later; answers how many.
///
/// A token that died of age was not used since, so disuse finds it too, at most
/// [`limits::AGENT_TOKEN_IDLE_S`] later.
///
/// # Errors
/// A fault when the engine refuses.
pub fn drop_expired(
    tx: &mut Tx<'_>,
    of_sessions: Timestamp,
    others: Timestamp,
    max: u32,
) -> Result<usize> {
    let unused_since = |expired: Timestamp| {
        let last_use = expired.plus_seconds(-limits::AGENT_TOKEN_IDLE_S);
        last_use.as_millis()
    };
    tx.run(
        "DELETE FROM tokens WHERE id IN (
           SELECT id FROM tokens
           WHERE revoked_at IS NULL AND coalesce(last_used_at, created_at) < $1
             AND (origin = 'spawn' OR coalesce(last_used_at, created_at) < $2) LIMIT $3)",
        (unused_since(of_sessions), unused_since(others), max),
    )
}
