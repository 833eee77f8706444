//! Tool servers of agents: rows by agent and name. Values of env and headers are kept sealed;
//! sealing and opening them is `hall::mcp_servers`.

use guildhall_domain::{
    Result,
    ids::{AgentId, ApprovalId, AuthorId},
    mcp_servers::{AuthClientOrigin, AuthStatus, McpServer, ServerName, ServerStatus},
    mcp_tools::ToolDefinition,
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    transactions::{self, broken, enum_column, enum_text, maybe_id, moment, stored, unreadable},
};

/// An entry as it is kept.
#[derive(Clone, Debug)]
pub struct McpServerRow {
    /// The entry, its values hidden.
    pub server: McpServer,
    /// Its values, sealed; `None` when it has none.
    pub sealed: Option<Vec<u8>>,
}

const COLUMNS: &str = "name, enabled, connection, sealed, added_at, added_by, rev,
    status, status_detail, auth_status, auth_client_origin, approval_id, tool_count, pin";

/// The entries of an agent in the order they were added.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_agent(db: &ReadTx<'_>, agent: AgentId) -> Result<Vec<McpServerRow>> {
    db.all(
        &format!("SELECT {COLUMNS} FROM mcp_servers WHERE agent_id = $1 ORDER BY number"),
        [agent.as_bytes()],
        read,
    )
}

/// The entry of this name.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, agent: AgentId, name: &ServerName) -> Result<Option<McpServerRow>> {
    db.first(
        &format!("SELECT {COLUMNS} FROM mcp_servers WHERE agent_id = $1 AND folded = $2"),
        (agent.as_bytes(), name.folded()),
        read,
    )
}

/// How many entries an agent has.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn count(db: &ReadTx<'_>, agent: AgentId) -> Result<u64> {
    db.one(
        "SELECT COUNT(*) FROM mcp_servers WHERE agent_id = $1",
        [agent.as_bytes()],
        |row| transactions::count(row, 0),
    )
}

/// Adds an entry behind those there are.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, agent: AgentId, kept: &McpServerRow) -> Result<()> {
    let server = &kept.server;
    tx.run(
        "INSERT INTO mcp_servers (agent_id, name, folded, enabled, connection, sealed, added_at,
           added_by, rev, status, status_detail, auth_status, auth_client_origin, approval_id,
           tool_count, pin)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        rusqlite::params![
            agent.as_bytes(),
            server.name.as_str(),
            server.name.folded(),
            server.enabled,
            connection(server)?,
            kept.sealed,
            server.added_at.as_millis(),
            server.added_by.as_bytes(),
            stored(server.rev),
            enum_text(server.status, &ServerStatus::WORDS),
            server.status_detail,
            server
                .auth_status
                .map(|it| enum_text(it, &AuthStatus::WORDS)),
            origin(server),
            server.approval_id.as_ref().map(ApprovalId::as_bytes),
            server.tool_count,
            pin(server)?,
        ],
    )?;
    Ok(())
}

/// Writes all of an entry that can change; without a pin of its tools those are dropped.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn update(tx: &mut Tx<'_>, agent: AgentId, kept: &McpServerRow) -> Result<()> {
    let server = &kept.server;
    let before = find(tx, agent, &server.name)?.and_then(|before| before.sealed);
    if before.is_some() && before != kept.sealed {
        tx.forget_pages();
    }
    tx.run(
        "UPDATE mcp_servers SET enabled = $1, connection = $2, sealed = $3, rev = $4, status = $5,
           status_detail = $6, auth_status = $7, auth_client_origin = $8, approval_id = $9,
           tool_count = $10, pin = $11
         WHERE agent_id = $12 AND folded = $13",
        rusqlite::params![
            server.enabled,
            connection(server)?,
            kept.sealed,
            stored(server.rev),
            enum_text(server.status, &ServerStatus::WORDS),
            server.status_detail,
            server
                .auth_status
                .map(|it| enum_text(it, &AuthStatus::WORDS)),
            origin(server),
            server.approval_id.as_ref().map(ApprovalId::as_bytes),
            server.tool_count,
            pin(server)?,
            agent.as_bytes(),
            server.name.folded(),
        ],
    )?;
    if server.pin.tools_sha256.is_none() {
        tx.run(
            "UPDATE mcp_servers SET tools = NULL WHERE agent_id = $1 AND folded = $2",
            (agent.as_bytes(), server.name.folded()),
        )?;
    }
    Ok(())
}

/// The tools that an entry's pin holds the digest of; `None` when none are pinned.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn tools(
    db: &ReadTx<'_>,
    agent: AgentId,
    name: &ServerName,
) -> Result<Option<Vec<ToolDefinition>>> {
    let text: Option<Option<String>> = db.first(
        "SELECT tools FROM mcp_servers WHERE agent_id = $1 AND folded = $2",
        (agent.as_bytes(), name.folded()),
        |row| row.get(0),
    )?;
    let read = |text: String| serde_json::from_str(&text);
    let tools = text.flatten().map(read).transpose();
    tools.map_err(|error| broken("reading the tools of a server", error))
}

/// Keeps the tools that an entry's pin holds the digest of.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn set_tools(
    tx: &mut Tx<'_>,
    agent: AgentId,
    name: &ServerName,
    tools: &[ToolDefinition],
) -> Result<()> {
    let text = serde_json::to_string(tools)
        .map_err(|error| broken("writing the tools of a server", error))?;
    tx.run(
        "UPDATE mcp_servers SET tools = $1 WHERE agent_id = $2 AND folded = $3",
        (text, agent.as_bytes(), name.folded()),
    )?;
    Ok(())
}

/// Removes an entry with everything that was kept for it.
///
/// # Errors
/// A fault when the engine refuses.
pub fn remove(tx: &mut Tx<'_>, agent: AgentId, name: &ServerName) -> Result<()> {
    tx.run(
        "DELETE FROM mcp_servers WHERE agent_id = $1 AND folded = $2",
        (agent.as_bytes(), name.folded()),
    )?;
    tx.forget_pages();
    Ok(())
}

/// The connection as it is kept: writing it by serde writes no value.
fn connection(server: &McpServer) -> Result<String> {
    let during = "writing a tool server's connection";
    serde_json::to_string(&server.connection).map_err(|error| broken(during, error))
}

fn pin(server: &McpServer) -> Result<String> {
    serde_json::to_string(&server.pin).map_err(|error| broken("writing a pin", error))
}

fn origin(server: &McpServer) -> Option<&'static str> {
    let origin = server.auth_client_origin?;
    Some(enum_text(origin, &AuthClientOrigin::WORDS))
}

fn read(row: &Row<'_>) -> rusqlite::Result<McpServerRow> {
    let name: String = row.get(0)?;
    let connection = row.get_ref(2)?.as_str()?;
    let pin = row.get_ref(13)?.as_str()?;
    Ok(McpServerRow {
        server: McpServer {
            name: ServerName::parse(&name).ok_or_else(|| unreadable(0, "no name of a server"))?,
            enabled: row.get(1)?,
            connection: serde_json::from_str(connection).map_err(|error| unreadable(2, error))?,
            added_at: moment(row, 4)?,
            added_by: transactions::id(row, 5, AuthorId::from_bytes)?,
            rev: transactions::count(row, 6)?,
            status: enum_column(row, 7, &ServerStatus::WORDS)?,
            status_detail: row.get(8)?,
            auth_status: maybe_word(row, 9, &AuthStatus::WORDS)?,
            auth_client_origin: maybe_word(row, 10, &AuthClientOrigin::WORDS)?,
            approval_id: maybe_id(row, 11, ApprovalId::from_bytes)?,
            tool_count: row.get(12)?,
            pin: serde_json::from_str(pin).map_err(|error| unreadable(13, error))?,
        },
        sealed: row.get(3)?,
    })
}

fn maybe_word<T: Copy>(
    row: &Row<'_>,
    column: usize,
    words: &[(T, &str)],
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => enum_column(row, column, words).map(Some),
    }
}
