//! Connections: external accounts that are signed in. Their credentials are kept sealed; sealing
//! and opening them is `hall::connectors`.

use guildhall_domain::{
    Result, Timestamp,
    connectors::{
        connections::{AccountStatus, Connection, ConnectionLifecycle, ExternalCleanup},
        toolkits::ToolkitSlug,
    },
    ids::{ConnectorConnectionId, ProviderId},
};
use rusqlite::Row;

use super::toolkits::slug_at;
use crate::{
    ReadTx, Tx,
    transactions::{count, enum_column, enum_text, id, maybe_moment, moment},
};

/// A connection with what is secret of it.
#[derive(Clone)]
pub struct ConnectionRow {
    /// The connection.
    pub connection: Connection,
    /// Its credentials, sealed; `None` once it is disconnected.
    pub credentials: Option<Vec<u8>>,
    /// When the token among them ends.
    pub credentials_end: Option<Timestamp>,
}

const CONNECTION: &str = "id, provider_id, toolkit, label, account_label, lifecycle,
    account_status, enabled, external_cleanup, created_at, updated_at, credentials, credentials_end";

/// The connection with this id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, id: ConnectorConnectionId) -> Result<Option<ConnectionRow>> {
    db.first(
        &format!("SELECT {CONNECTION} FROM connector_connections WHERE id = $1"),
        [id.as_bytes()],
        read,
    )
}

/// All connections, the oldest first.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn all(db: &ReadTx<'_>) -> Result<Vec<Connection>> {
    db.all(
        &format!("SELECT {CONNECTION} FROM connector_connections ORDER BY id"),
        (),
        |row| read(row).map(|kept| kept.connection),
    )
}

/// Those whose credentials were being given back.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn to_clean(db: &ReadTx<'_>) -> Result<Vec<ConnectionRow>> {
    db.all(
        &format!(
            "SELECT {CONNECTION} FROM connector_connections WHERE external_cleanup = 'pending'
             ORDER BY id"
        ),
        (),
        read,
    )
}

/// How many connections that are not disconnected go through an instance, or through one toolkit
/// of it.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn live(db: &ReadTx<'_>, provider: ProviderId, toolkit: Option<&ToolkitSlug>) -> Result<u64> {
    let found = db.first(
        "SELECT COUNT(*) FROM connector_connections
         WHERE provider_id = $1 AND ($2 IS NULL OR toolkit = $2) AND lifecycle <> 'disconnected'",
        (provider.as_bytes(), toolkit.map(ToolkitSlug::as_str)),
        |row| count(row, 0),
    )?;
    Ok(found.unwrap_or_default())
}

/// Adds a connection.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, kept: &ConnectionRow) -> Result<()> {
    let connection = &kept.connection;
    tx.run(
        "INSERT INTO connector_connections (id, provider_id, toolkit, label, account_label,
           lifecycle, account_status, enabled, external_cleanup, created_at, updated_at,
           credentials, credentials_end)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        rusqlite::params![
            connection.id.as_bytes(),
            connection.provider_id.as_bytes(),
            connection.toolkit.as_str(),
            connection.label,
            connection.account_label,
            enum_text(connection.lifecycle, &ConnectionLifecycle::WORDS),
            enum_text(connection.account_status, &AccountStatus::WORDS),
            connection.enabled,
            enum_text(connection.external_cleanup, &ExternalCleanup::WORDS),
            connection.created_at.as_millis(),
            connection.updated_at.as_millis(),
            kept.credentials,
            kept.credentials_end.map(Timestamp::as_millis),
        ],
    )?;
    Ok(())
}

/// Writes all of a connection that can change.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn update(tx: &mut Tx<'_>, kept: &ConnectionRow) -> Result<()> {
    let connection = &kept.connection;
    let before: Option<Option<Vec<u8>>> = tx.first(
        "SELECT credentials FROM connector_connections WHERE id = $1",
        [connection.id.as_bytes()],
        |row| row.get(0),
    )?;
    let before = before.flatten();
    if before.is_some() && before != kept.credentials {
        tx.forget_pages();
    }
    tx.run(
        "UPDATE connector_connections SET label = $1, account_label = $2, lifecycle = $3,
           account_status = $4, enabled = $5, external_cleanup = $6, updated_at = $7,
           credentials = $8, credentials_end = $9 WHERE id = $10",
        rusqlite::params![
            connection.label,
            connection.account_label,
            enum_text(connection.lifecycle, &ConnectionLifecycle::WORDS),
            enum_text(connection.account_status, &AccountStatus::WORDS),
            connection.enabled,
            enum_text(connection.external_cleanup, &ExternalCleanup::WORDS),
            connection.updated_at.as_millis(),
            kept.credentials,
            kept.credentials_end.map(Timestamp::as_millis),
            connection.id.as_bytes(),
        ],
    )?;
    Ok(())
}

/// Drops a connection.
///
/// # Errors
/// A fault when the engine refuses.
pub fn remove(tx: &mut Tx<'_>, id: ConnectorConnectionId) -> Result<()> {
    tx.run(
        "DELETE FROM connector_connections WHERE id = $1",
        [id.as_bytes()],
    )?;
    Ok(())
}

/// The client that registered itself for a toolkit, sealed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn client(
    db: &ReadTx<'_>,
    provider: ProviderId,
    toolkit: &ToolkitSlug,
) -> Result<Option<Vec<u8>>> {
    db.first(
        "SELECT client FROM connector_clients WHERE provider_id = $1 AND toolkit = $2",
        (provider.as_bytes(), toolkit.as_str()),
        |row| row.get(0),
    )
}

/// Keeps the client that registered itself for a toolkit.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn put_client(
    tx: &mut Tx<'_>,
    (provider, toolkit): (ProviderId, &ToolkitSlug),
    sealed: &[u8],
) -> Result<()> {
    tx.run(
        "INSERT OR REPLACE INTO connector_clients (provider_id, toolkit, client)
         VALUES ($1, $2, $3)",
        (provider.as_bytes(), toolkit.as_str(), sealed),
    )?;
    tx.forget_pages();
    Ok(())
}

/// Forgets the clients of an instance, or of one toolkit of it.
///
/// # Errors
/// A fault when the engine refuses.
pub fn forget_clients(
    tx: &mut Tx<'_>,
    provider: ProviderId,
    toolkit: Option<&ToolkitSlug>,
) -> Result<()> {
    tx.run(
        "DELETE FROM connector_clients WHERE provider_id = $1 AND ($2 IS NULL OR toolkit = $2)",
        (provider.as_bytes(), toolkit.map(ToolkitSlug::as_str)),
    )?;
    tx.forget_pages();
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<ConnectionRow> {
    Ok(ConnectionRow {
        connection: Connection {
            id: id(row, 0, ConnectorConnectionId::from_bytes)?,
            provider_id: id(row, 1, ProviderId::from_bytes)?,
            toolkit: slug_at(row, 2)?,
            label: row.get(3)?,
            account_label: row.get(4)?,
            lifecycle: enum_column(row, 5, &ConnectionLifecycle::WORDS)?,
            account_status: enum_column(row, 6, &AccountStatus::WORDS)?,
            enabled: row.get(7)?,
            external_cleanup: enum_column(row, 8, &ExternalCleanup::WORDS)?,
            created_at: moment(row, 9)?,
            updated_at: moment(row, 10)?,
        },
        credentials: row.get(11)?,
        credentials_end: maybe_moment(row, 12)?,
    })
}
