//! Operation revisions: added and read, never changed.

use guildhall_domain::{
    Result,
    connectors::{
        classification::{Classification, RetryPolicy},
        operation_revisions::{OperationIdentity, OperationRevision},
        toolkits::ToolkitSlug,
    },
    ids::{OperationRevisionId, ProviderId},
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    transactions::{broken, enum_column, enum_text, id, moment, unreadable},
};

/// The columns of a revision, behind the table's name `v`.
pub(super) const COLUMNS: &str = "v.id, v.provider_id, v.toolkit, v.toolkit_version,
    v.operation_slug, v.schema_hash, v.classification, v.retry_policy, v.title, v.description,
    v.discovered_at, v.input_schema";

/// The revision with this id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: OperationRevisionId) -> Result<Option<OperationRevision>> {
    db.first(
        &format!("SELECT {COLUMNS} FROM connector_revisions v WHERE v.id = $1"),
        [id.as_bytes()],
        read,
    )
}

/// Every revision of a toolkit in one of its versions, in the order of discovery.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_version(
    db: &ReadTx<'_>,
    provider: ProviderId,
    toolkit: &ToolkitSlug,
    version: &str,
) -> Result<Vec<OperationRevision>> {
    db.all(
        &format!(
            "SELECT {COLUMNS} FROM connector_revisions v
             WHERE v.provider_id = $1 AND v.toolkit = $2 AND v.toolkit_version = $3
             ORDER BY v.number"
        ),
        (provider.as_bytes(), toolkit.as_str(), version),
        read,
    )
}

/// Adds a revision, unless there is one of this identity.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn add(tx: &mut Tx<'_>, revision: &OperationRevision) -> Result<()> {
    let identity = &revision.identity;
    let schema = serde_json::to_string(&revision.input_schema)
        .map_err(|error| broken("keeping a schema", error))?;
    tx.run(
        "INSERT INTO connector_revisions (id, provider_id, toolkit, toolkit_version,
           operation_slug, schema_hash, classification, retry_policy, title, description,
           discovered_at, input_schema)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT DO NOTHING",
        (
            revision.id.as_bytes(),
            identity.provider_id.as_bytes(),
            identity.toolkit.as_str(),
            &identity.toolkit_version,
            &identity.operation_slug,
            &identity.schema_hash,
            enum_text(identity.classification, &Classification::WORDS),
            enum_text(identity.retry_policy, &RetryPolicy::WORDS),
            &revision.title,
            &revision.description,
            revision.discovered_at.as_millis(),
            schema,
        ),
    )?;
    Ok(())
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<OperationRevision> {
    Ok(OperationRevision {
        id: id(row, 0, OperationRevisionId::from_bytes)?,
        identity: identity(row, 1)?,
        title: row.get(8)?,
        description: row.get(9)?,
        discovered_at: moment(row, 10)?,
        input_schema: serde_json::from_str(row.get_ref(11)?.as_str()?)
            .map_err(|error| unreadable(11, error))?,
    })
}

/// Reads an identity whose columns begin at `first`.
pub(super) fn identity(row: &Row<'_>, first: usize) -> rusqlite::Result<OperationIdentity> {
    let slug = row.get_ref(first + 1)?.as_str()?;
    Ok(OperationIdentity {
        provider_id: id(row, first, ProviderId::from_bytes)?,
        toolkit: ToolkitSlug::parse(slug)
            .ok_or_else(|| unreadable(first + 1, "no name of a toolkit"))?,
        toolkit_version: row.get(first + 2)?,
        operation_slug: row.get(first + 3)?,
        schema_hash: row.get(first + 4)?,
        classification: enum_column(row, first + 5, &Classification::WORDS)?,
        retry_policy: enum_column(row, first + 6, &RetryPolicy::WORDS)?,
    })
}
