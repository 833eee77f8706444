//! Operations of toolkits as they are listed now.

use guildhall_domain::{
    Result,
    connectors::{
        classification::{Classification, RetryPolicy},
        operation_revisions::{OperationIdentity, schema_hash},
        operations::Operation,
        toolkits::ToolkitSlug,
    },
    ids::ProviderId,
};
use rusqlite::Row;

use super::{
    operation_revisions::identity,
    toolkits::{json, parsed},
};
use crate::{
    ReadTx, Tx,
    transactions::{enum_column, enum_text},
};

const COLUMNS: &str =
    "slug, title, description, classification, retry_policy, binding, input_schema";

/// What a grant of the operation `o` of the toolkit `t` would rest on.
const IDENTITY: &str = "o.provider_id, o.toolkit, t.version, o.slug, o.schema_hash,
    o.classification, o.retry_policy
  FROM connector_toolkits t
    JOIN connector_operations o ON o.provider_id = t.provider_id AND o.toolkit = t.slug";

/// The operations of a toolkit in the order they are listed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_toolkit(
    db: &ReadTx<'_>,
    provider: ProviderId,
    toolkit: &ToolkitSlug,
) -> Result<Vec<Operation>> {
    db.all(
        &format!(
            "SELECT {COLUMNS} FROM connector_operations
             WHERE provider_id = $1 AND toolkit = $2 ORDER BY number"
        ),
        (provider.as_bytes(), toolkit.as_str()),
        read,
    )
}

/// The operation of this name.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(
    db: &ReadTx<'_>,
    provider: ProviderId,
    toolkit: &ToolkitSlug,
    slug: &str,
) -> Result<Option<Operation>> {
    db.first(
        &format!(
            "SELECT {COLUMNS} FROM connector_operations
             WHERE provider_id = $1 AND toolkit = $2 AND slug = $3"
        ),
        (provider.as_bytes(), toolkit.as_str(), slug),
        read,
    )
}

/// What grants of a toolkit's operations would rest on, as they are listed; no schema is read.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn identities(
    db: &ReadTx<'_>,
    provider: ProviderId,
    toolkit: &ToolkitSlug,
) -> Result<Vec<OperationIdentity>> {
    db.all(
        &format!("SELECT {IDENTITY} WHERE t.provider_id = $1 AND t.slug = $2 ORDER BY o.number"),
        (provider.as_bytes(), toolkit.as_str()),
        |row| identity(row, 0),
    )
}

/// The same of the operation of this name.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn identity_of(
    db: &ReadTx<'_>,
    provider: ProviderId,
    toolkit: &ToolkitSlug,
    slug: &str,
) -> Result<Option<OperationIdentity>> {
    db.first(
        &format!("SELECT {IDENTITY} WHERE t.provider_id = $1 AND t.slug = $2 AND o.slug = $3"),
        (provider.as_bytes(), toolkit.as_str(), slug),
        |row| identity(row, 0),
    )
}

/// Puts these operations in the place of those the toolkit had.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn replace(
    tx: &mut Tx<'_>,
    provider: ProviderId,
    toolkit: &ToolkitSlug,
    operations: &[Operation],
) -> Result<()> {
    tx.run(
        "DELETE FROM connector_operations WHERE provider_id = $1 AND toolkit = $2",
        (provider.as_bytes(), toolkit.as_str()),
    )?;
    for operation in operations {
        tx.run(
            "INSERT INTO connector_operations (provider_id, toolkit, slug, title, description,
               classification, retry_policy, schema_hash, binding, input_schema)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            (
                provider.as_bytes(),
                toolkit.as_str(),
                &operation.slug,
                &operation.title,
                &operation.description,
                enum_text(operation.classification, &Classification::WORDS),
                enum_text(operation.retry_policy, &RetryPolicy::WORDS),
                schema_hash(&operation.input_schema)?,
                json(&operation.binding)?,
                json(&operation.input_schema)?,
            ),
        )?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Operation> {
    Ok(Operation {
        slug: row.get(0)?,
        title: row.get(1)?,
        description: row.get(2)?,
        classification: enum_column(row, 3, &Classification::WORDS)?,
        retry_policy: enum_column(row, 4, &RetryPolicy::WORDS)?,
        binding: parsed(row, 5)?,
        input_schema: parsed(row, 6)?,
    })
}
