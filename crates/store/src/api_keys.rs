//! API keys: rows by author and by digest; the key itself is never stored.

use guildhall_domain::{
    Result, Timestamp,
    api_keys::ApiKey,
    ids::{ApiKeyId, AuthorId},
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    accounts::{CredentialHolder, holder_at, holder_columns},
    transactions::{self, count, maybe_moment, moment},
};

const COLUMNS: &str = "k.id, k.author_id, k.label, k.created_at, k.last_used_at";

/// A key with who holds it.
#[derive(Clone, Debug)]
pub struct ApiKeyWithHolder {
    /// The key's row.
    pub key: ApiKey,
    /// Whom it names.
    pub holder: CredentialHolder,
}

/// The key with this digest.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_digest(db: &ReadTx<'_>, digest: &[u8; 32]) -> Result<Option<ApiKeyWithHolder>> {
    let columns = holder_columns("k.author_id");
    db.first(
        &format!(
            "SELECT {COLUMNS}, {columns}
             FROM api_keys k LEFT JOIN accounts c ON c.author_id = k.author_id
             WHERE k.digest = $1"
        ),
        [digest],
        |row| {
            Ok(ApiKeyWithHolder {
                key: read(row)?,
                holder: holder_at(row, 5)?,
            })
        },
    )
}

/// The key with this id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: ApiKeyId) -> Result<Option<ApiKey>> {
    db.first(
        &format!("SELECT {COLUMNS} FROM api_keys k WHERE k.id = $1"),
        [id.as_bytes()],
        read,
    )
}

/// One page of keys in the order they were made, of one author or of all, with one more than
/// asked when there are more.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn list(
    db: &ReadTx<'_>,
    of: Option<AuthorId>,
    after: Option<ApiKeyId>,
    limit: u32,
) -> Result<Vec<ApiKey>> {
    let after = after.as_ref().map_or(&[][..], |id| &id.as_bytes()[..]);
    let limit = i64::from(limit) + 1;
    match of {
        Some(author) => db.all(
            &format!(
                "SELECT {COLUMNS} FROM api_keys k WHERE k.author_id = $1 AND k.id > $2
                 ORDER BY k.id LIMIT $3"
            ),
            (author.as_bytes(), after, limit),
            read,
        ),
        None => db.all(
            &format!("SELECT {COLUMNS} FROM api_keys k WHERE k.id > $1 ORDER BY k.id LIMIT $2"),
            (after, limit),
            read,
        ),
    }
}

/// How many keys an author has.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn count_of(db: &ReadTx<'_>, author: AuthorId) -> Result<u64> {
    db.one(
        "SELECT COUNT(*) FROM api_keys WHERE author_id = $1",
        [author.as_bytes()],
        |row| count(row, 0),
    )
}

/// Adds a key under its digest.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, key: &ApiKey, digest: &[u8; 32]) -> Result<()> {
    tx.run(
        "INSERT INTO api_keys (id, author_id, digest, label, created_at)
         VALUES ($1, $2, $3, $4, $5)",
        (
            key.id.as_bytes(),
            key.author_id.as_bytes(),
            digest,
            &key.label,
            key.created_at.as_millis(),
        ),
    )?;
    Ok(())
}

/// Notes a use.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn touch(tx: &mut Tx<'_>, id: ApiKeyId, now: Timestamp) -> Result<()> {
    tx.run(
        "UPDATE api_keys SET last_used_at = $1
         WHERE id = $2 AND (last_used_at IS NULL OR last_used_at < $1)",
        (now.as_millis(), id.as_bytes()),
    )?;
    Ok(())
}

/// Ends a key.
///
/// # Errors
/// A fault when the engine refuses.
pub fn remove(tx: &mut Tx<'_>, id: ApiKeyId) -> Result<()> {
    tx.run("DELETE FROM api_keys WHERE id = $1", [id.as_bytes()])?;
    Ok(())
}

/// Ends every key of an author.
///
/// # Errors
/// A fault when the engine refuses.
pub fn remove_all(tx: &mut Tx<'_>, author: AuthorId) -> Result<()> {
    tx.run(
        "DELETE FROM api_keys WHERE author_id = $1",
        [author.as_bytes()],
    )?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    Ok(ApiKey {
        id: transactions::id(row, 0, ApiKeyId::from_bytes)?,
        author_id: transactions::id(row, 1, AuthorId::from_bytes)?,
        label: row.get(2)?,
        created_at: moment(row, 3)?,
        last_used_at: maybe_moment(row, 4)?,
    })
}
