//! Grants: what agents may run with which account.

use std::collections::HashMap;

use guildhall_domain::{
    Result,
    connectors::{
        operation_revisions::OperationRevision,
        reviews::{ConnectionAccess, GrantSelection, OperationGrant},
    },
    ids::{AgentId, ConnectorConnectionId, OperationRevisionId},
};

use super::{operation_revisions, toolkits::slug_at};
use crate::{
    ReadTx, Tx,
    transactions::{count, id, maybe_id},
};

/// Puts `selection` in the place of all that was granted with a connection.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn replace(
    tx: &mut Tx<'_>,
    connection: ConnectorConnectionId,
    selection: &GrantSelection,
) -> Result<()> {
    drop_of(tx, connection)?;
    for (agent, revisions) in &selection.grants {
        for revision in revisions {
            tx.run(
                "INSERT INTO connector_grants (connection_id, agent_id, revision_id)
                 VALUES ($1, $2, $3)",
                (connection.as_bytes(), agent.as_bytes(), revision.as_bytes()),
            )?;
        }
    }
    for revision in &selection.every_agent {
        tx.run(
            "INSERT INTO connector_every_agent (connection_id, revision_id) VALUES ($1, $2)",
            (connection.as_bytes(), revision.as_bytes()),
        )?;
    }
    Ok(())
}

/// Takes away all that is granted with a connection.
///
/// # Errors
/// A fault when the engine refuses.
pub fn drop_of(tx: &mut Tx<'_>, connection: ConnectorConnectionId) -> Result<()> {
    tx.run(
        "DELETE FROM connector_grants WHERE connection_id = $1",
        [connection.as_bytes()],
    )?;
    tx.run(
        "DELETE FROM connector_every_agent WHERE connection_id = $1",
        [connection.as_bytes()],
    )?;
    Ok(())
}

/// What is granted with a connection, to agents that are not retired: those of single agents
/// first, then those of every agent.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_connection(
    db: &ReadTx<'_>,
    connection: ConnectorConnectionId,
) -> Result<Vec<OperationGrant>> {
    db.all(
        "SELECT 0 AS part, a.created_at AS place, g.agent_id, g.revision_id, v.number
         FROM connector_grants g JOIN agents a ON a.id = g.agent_id
           JOIN connector_revisions v ON v.id = g.revision_id
         WHERE g.connection_id = $1 AND a.retired_at IS NULL
         UNION ALL
         SELECT 1, 0, NULL, e.revision_id, v.number
         FROM connector_every_agent e JOIN connector_revisions v ON v.id = e.revision_id
         WHERE e.connection_id = $1
         ORDER BY 1, 2, 3, 5",
        [connection.as_bytes()],
        |row| {
            Ok(OperationGrant {
                agent_id: maybe_id(row, 2, AgentId::from_bytes)?,
                revision_id: id(row, 3, OperationRevisionId::from_bytes)?,
            })
        },
    )
}

/// How many grants rest on each connection that has any; those of retired agents count for
/// nothing.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn counts(db: &ReadTx<'_>) -> Result<HashMap<ConnectorConnectionId, u32>> {
    let counted = db.all(
        "SELECT connection_id, COUNT(*) FROM
           (SELECT g.connection_id FROM connector_grants g JOIN agents a ON a.id = g.agent_id
            WHERE a.retired_at IS NULL
            UNION ALL SELECT connection_id FROM connector_every_agent)
         GROUP BY connection_id",
        [],
        |row| {
            let granted = u32::try_from(count(row, 1)?).unwrap_or(u32::MAX);
            Ok((id(row, 0, ConnectorConnectionId::from_bytes)?, granted))
        },
    )?;
    Ok(counted.into_iter().collect())
}

/// How many grants rest on one connection; see [`counts`].
///
/// # Errors
/// A fault when the engine cannot read.
pub fn count_of(db: &ReadTx<'_>, connection: ConnectorConnectionId) -> Result<u32> {
    db.one(
        "SELECT (SELECT COUNT(*) FROM connector_grants g JOIN agents a ON a.id = g.agent_id
                 WHERE g.connection_id = $1 AND a.retired_at IS NULL)
              + (SELECT COUNT(*) FROM connector_every_agent WHERE connection_id = $1)",
        [connection.as_bytes()],
        |row| row.get(0),
    )
}

/// Whether an agent may run a revision with a connection, by itself or as one of all.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn is_granted(
    db: &ReadTx<'_>,
    connection: ConnectorConnectionId,
    agent: AgentId,
    revision: OperationRevisionId,
) -> Result<bool> {
    db.one(
        "SELECT EXISTS (SELECT 1 FROM connector_grants
           WHERE connection_id = $1 AND agent_id = $2 AND revision_id = $3)
         OR EXISTS (SELECT 1 FROM connector_every_agent
           WHERE connection_id = $1 AND revision_id = $3)",
        (connection.as_bytes(), agent.as_bytes(), revision.as_bytes()),
        |row| row.get(0),
    )
}

/// The agents that hold a grant with a connection: all there are, where every one does.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn holders(db: &ReadTx<'_>, connection: ConnectorConnectionId) -> Result<Vec<AgentId>> {
    db.all(
        "SELECT a.id FROM agents a WHERE a.retired_at IS NULL AND (
           EXISTS (SELECT 1 FROM connector_every_agent e WHERE e.connection_id = $1)
           OR EXISTS (SELECT 1 FROM connector_grants g
             WHERE g.connection_id = $1 AND g.agent_id = a.id))
         ORDER BY a.created_at, a.id",
        [connection.as_bytes()],
        |row| id(row, 0, AgentId::from_bytes),
    )
}

/// What is granted to the agent $1, by itself or as one of all, of what connections that are not
/// given up list now: a grant of anything else counts for nothing. Each step follows an index
/// from the grants on, so that it costs what was granted and not what services list.
fn reachable(of_connection: &str) -> String {
    format!(
        "FROM (SELECT connection_id, revision_id FROM connector_grants
               WHERE agent_id = $1{of_connection}
               UNION SELECT connection_id, revision_id FROM connector_every_agent
               WHERE 1{of_connection}) g
           CROSS JOIN connector_connections c ON c.id = g.connection_id
           CROSS JOIN connector_revisions v ON v.id = g.revision_id
             AND v.provider_id = c.provider_id AND v.toolkit = c.toolkit
           CROSS JOIN connector_toolkits t ON t.provider_id = v.provider_id
             AND t.slug = v.toolkit AND t.version = v.toolkit_version
           CROSS JOIN connector_operations o ON o.provider_id = v.provider_id
             AND o.toolkit = v.toolkit AND o.slug = v.operation_slug
             AND o.schema_hash = v.schema_hash AND o.classification = v.classification
             AND o.retry_policy = v.retry_policy
         WHERE c.lifecycle <> 'disconnected'"
    )
}

/// The connections with which an agent may run something, in the order they were made.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn accessible(db: &ReadTx<'_>, agent: AgentId) -> Result<Vec<ConnectionAccess>> {
    db.all(&accessible_sql(), [agent.as_bytes()], |row| {
        Ok(ConnectionAccess {
            connection_id: id(row, 0, ConnectorConnectionId::from_bytes)?,
            toolkit: slug_at(row, 1)?,
            label: row.get(2)?,
            operation_count: usize::try_from(count(row, 3)?).unwrap_or(usize::MAX),
        })
    })
}

fn accessible_sql() -> String {
    let reachable = reachable("");
    format!("SELECT c.id, c.toolkit, c.label, COUNT(*) {reachable} GROUP BY c.id ORDER BY c.id")
}

/// What an agent may run with a connection, in the order of discovery.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn operations(
    db: &ReadTx<'_>,
    agent: AgentId,
    connection: ConnectorConnectionId,
) -> Result<Vec<OperationRevision>> {
    let params = (agent.as_bytes(), connection.as_bytes());
    db.all(&operations_sql(), params, operation_revisions::read)
}

fn operations_sql() -> String {
    let (columns, reachable) = (
        operation_revisions::COLUMNS,
        reachable(" AND connection_id = $2"),
    );
    format!("SELECT {columns} {reachable} ORDER BY v.number")
}

#[cfg(test)]
#[path = "grants_tests.rs"]
mod tests;
