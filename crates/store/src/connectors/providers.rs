//! Provider instances: rows by id, in the order they were added.

use guildhall_domain::{
    Result,
    connectors::providers::{Provider, ProviderType},
    ids::ProviderId,
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    transactions::{self, enum_column, enum_text, moment, stored},
};

const COLUMNS: &str = "id, kind, label, unavailable, generation, created_at, updated_at";

/// All instances in the order they were added.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn all(db: &ReadTx<'_>) -> Result<Vec<Provider>> {
    db.all(
        &format!("SELECT {COLUMNS} FROM connector_providers ORDER BY number"),
        [],
        read,
    )
}

/// The instance of this id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, id: ProviderId) -> Result<Option<Provider>> {
    db.first(
        &format!("SELECT {COLUMNS} FROM connector_providers WHERE id = $1"),
        [id.as_bytes()],
        read,
    )
}

/// How many instances there are.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn count(db: &ReadTx<'_>) -> Result<u64> {
    let sql = "SELECT COUNT(*) FROM connector_providers";
    db.one(sql, [], |row| transactions::count(row, 0))
}

/// Adds an instance behind those there are.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, provider: &Provider) -> Result<()> {
    tx.run(
        "INSERT INTO connector_providers
           (id, kind, label, unavailable, generation, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        (
            provider.id.as_bytes(),
            enum_text(provider.provider_type, &ProviderType::WORDS),
            &provider.label,
            &provider.unavailable,
            stored(provider.generation),
            provider.created_at.as_millis(),
            provider.updated_at.as_millis(),
        ),
    )?;
    Ok(())
}

/// Writes all of an instance that can change.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn update(tx: &mut Tx<'_>, provider: &Provider) -> Result<()> {
    tx.run(
        "UPDATE connector_providers
         SET label = $1, unavailable = $2, generation = $3, updated_at = $4 WHERE id = $5",
        (
            &provider.label,
            &provider.unavailable,
            stored(provider.generation),
            provider.updated_at.as_millis(),
            provider.id.as_bytes(),
        ),
    )?;
    Ok(())
}

/// Removes an instance with everything that was kept for it.
///
/// # Errors
/// A fault when the engine refuses.
pub fn remove(tx: &mut Tx<'_>, id: ProviderId) -> Result<()> {
    for sql in [
        "DELETE FROM connector_operations WHERE provider_id = $1",
        "DELETE FROM connector_toolkits WHERE provider_id = $1",
        "DELETE FROM connector_providers WHERE id = $1",
    ] {
        tx.run(sql, [id.as_bytes()])?;
    }
    tx.forget_pages();
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Provider> {
    Ok(Provider {
        id: transactions::id(row, 0, ProviderId::from_bytes)?,
        provider_type: enum_column(row, 1, &ProviderType::WORDS)?,
        label: row.get(2)?,
        unavailable: row.get(3)?,
        generation: transactions::count(row, 4)?,
        created_at: moment(row, 5)?,
        updated_at: moment(row, 6)?,
    })
}
