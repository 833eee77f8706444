//! What sessions say of connections.

use std::collections::{HashMap, HashSet};

use guildhall_domain::{
    Result,
    ids::{AgentId, ConnectorConnectionId, SessionId},
};

use crate::{ReadTx, Tx, transactions::id};

/// Notes what a session says of a connection; `None` takes it back.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn set(
    tx: &mut Tx<'_>,
    session: SessionId,
    connection: ConnectorConnectionId,
    on: Option<bool>,
) -> Result<()> {
    let Some(on) = on else {
        tx.run(
            "DELETE FROM connector_overrides WHERE connection_id = $1 AND session_id = $2",
            (connection.as_bytes(), session.as_bytes()),
        )?;
        return Ok(());
    };
    tx.run(
        "INSERT INTO connector_overrides (connection_id, session_id, is_on) VALUES ($1, $2, $3)
         ON CONFLICT (connection_id, session_id) DO UPDATE SET is_on = excluded.is_on",
        (connection.as_bytes(), session.as_bytes(), on),
    )?;
    Ok(())
}

/// The connections that are turned off for an agent: in its `session`, or, where none is named,
/// in any of its sessions that is not closed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn turned_off(
    db: &ReadTx<'_>,
    agent: AgentId,
    session: Option<SessionId>,
) -> Result<HashSet<ConnectorConnectionId>> {
    let found = db.all(
        "SELECT DISTINCT o.connection_id
         FROM sessions s JOIN connector_overrides o ON o.session_id = s.id
         WHERE s.agent_id = $1 AND o.is_on = 0
           AND (s.id = $2 OR $2 IS NULL AND s.state <> 'closed')",
        (agent.as_bytes(), session.as_ref().map(SessionId::as_bytes)),
        |row| id(row, 0, ConnectorConnectionId::from_bytes),
    )?;
    Ok(found.into_iter().collect())
}

/// What a session says, by connection.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_session(
    db: &ReadTx<'_>,
    session: SessionId,
) -> Result<HashMap<ConnectorConnectionId, bool>> {
    let said = db.all(
        "SELECT connection_id, is_on FROM connector_overrides WHERE session_id = $1",
        [session.as_bytes()],
        |row| Ok((id(row, 0, ConnectorConnectionId::from_bytes)?, row.get(1)?)),
    )?;
    Ok(said.into_iter().collect())
}

/// Takes back all that sessions say of a connection.
///
/// # Errors
/// A fault when the engine refuses.
pub fn drop_of(tx: &mut Tx<'_>, connection: ConnectorConnectionId) -> Result<()> {
    tx.run(
        "DELETE FROM connector_overrides WHERE connection_id = $1",
        [connection.as_bytes()],
    )?;
    Ok(())
}
