//! The installation's own facts: the log's id, the owner's author, the settings' revision.

use guildhall_domain::{
    Result,
    ids::{AuthorId, LogId},
};

use crate::{ReadTx, Tx, transactions};

/// The log's id, made at first start.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn log_id(db: &ReadTx<'_>) -> Result<Option<LogId>> {
    fact(db, "log_id", LogId::from_bytes)
}

/// Sets the log's id.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn set_log_id(tx: &mut Tx<'_>, id: LogId) -> Result<()> {
    set(tx, "log_id", id.as_bytes())
}

/// The owner's author.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn owner(db: &ReadTx<'_>) -> Result<Option<AuthorId>> {
    fact(db, "owner_author_id", AuthorId::from_bytes)
}

/// Sets the owner's author.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn set_owner(tx: &mut Tx<'_>, id: AuthorId) -> Result<()> {
    set(tx, "owner_author_id", id.as_bytes())
}

/// How often the settings changed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn settings_rev(db: &ReadTx<'_>) -> Result<u64> {
    let rev = db.first(
        "SELECT value FROM installation WHERE key = 'settings_rev'",
        [],
        |row| transactions::count(row, 0),
    )?;
    Ok(rev.unwrap_or(1))
}

/// Sets how often the settings changed.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn set_settings_rev(tx: &mut Tx<'_>, rev: u64) -> Result<()> {
    tx.run(
        "INSERT INTO installation (key, value) VALUES ('settings_rev', $1)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [transactions::stored(rev)],
    )?;
    Ok(())
}

fn fact<T>(db: &ReadTx<'_>, key: &str, make: fn([u8; 16]) -> T) -> Result<Option<T>> {
    db.first(
        "SELECT value FROM installation WHERE key = $1",
        [key],
        |row| transactions::id(row, 0, make),
    )
}

fn set(tx: &mut Tx<'_>, key: &str, value: &[u8; 16]) -> Result<()> {
    tx.run(
        "INSERT INTO installation (key, value) VALUES ($1, $2)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )?;
    Ok(())
}
