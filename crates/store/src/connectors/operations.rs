//! Operations of toolkits as they are listed now.

use guildhall_domain::{
    Result,
    connectors::{
        classification::{Classification, RetryPolicy},
        operations::Operation,
        toolkits::Slug,
    },
    ids::ProviderId,
};
use rusqlite::Row;

use super::toolkits::{json, parsed};
use crate::{
    Rx, Tx,
    rows::{word, word_of},
};

const COLUMNS: &str =
    "slug, title, description, classification, retry_policy, binding, input_schema";

/// The operations of a toolkit in the order they are listed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_toolkit(db: &Rx<'_>, provider: ProviderId, toolkit: &Slug) -> Result<Vec<Operation>> {
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
    db: &Rx<'_>,
    provider: ProviderId,
    toolkit: &Slug,
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

/// Puts these operations in the place of those the toolkit had.
///
/// # Errors
/// A fault when the engine refuses a row.
pub fn replace(
    tx: &mut Tx<'_>,
    provider: ProviderId,
    toolkit: &Slug,
    operations: &[Operation],
) -> Result<()> {
    tx.run(
        "DELETE FROM connector_operations WHERE provider_id = $1 AND toolkit = $2",
        (provider.as_bytes(), toolkit.as_str()),
    )?;
    for operation in operations {
        tx.run(
            "INSERT INTO connector_operations (provider_id, toolkit, slug, title, description,
               classification, retry_policy, binding, input_schema)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            (
                provider.as_bytes(),
                toolkit.as_str(),
                &operation.slug,
                &operation.title,
                &operation.description,
                word_of(operation.classification, &Classification::WORDS),
                word_of(operation.retry_policy, &RetryPolicy::WORDS),
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
        classification: word(row, 3, &Classification::WORDS)?,
        retry_policy: word(row, 4, &RetryPolicy::WORDS)?,
        binding: parsed(row, 5)?,
        input_schema: parsed(row, 6)?,
    })
}
