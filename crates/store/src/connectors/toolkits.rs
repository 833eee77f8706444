//! Toolkits: rows by instance and slug, and the catalog over all of them.

use guildhall_domain::{
    Result,
    connectors::{
        catalog::{CatalogService, folded},
        toolkits::{Toolkit, ToolkitAuthKind, ToolkitSlug},
    },
    ids::ProviderId,
};
use rusqlite::{Row, ToSql};
use serde::de::DeserializeOwned;

use crate::{
    ReadTx, Tx,
    transactions::{self, broken, enum_column, enum_text, stored, unreadable},
};

const COLUMNS: &str = "provider_id, slug, display_name, description, document_url, base_url, url,
    auth, account, version, operation_count, left_out_count, sealed IS NOT NULL, left_out,
    overrides";

/// The toolkits of every instance, each with whose it is, in the order they were put.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn all(db: &ReadTx<'_>) -> Result<Vec<(ProviderId, Toolkit)>> {
    db.all(
        &format!("SELECT {COLUMNS} FROM connector_toolkits ORDER BY number"),
        [],
        |row| {
            Ok((
                transactions::id(row, 0, ProviderId::from_bytes)?,
                read(row)?,
            ))
        },
    )
}

/// The toolkits of an instance in the order they were put.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_provider(db: &ReadTx<'_>, provider: ProviderId) -> Result<Vec<Toolkit>> {
    db.all(
        &format!("SELECT {COLUMNS} FROM connector_toolkits WHERE provider_id = $1 ORDER BY number"),
        [provider.as_bytes()],
        read,
    )
}

/// The toolkit of this name.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(db: &ReadTx<'_>, provider: ProviderId, slug: &ToolkitSlug) -> Result<Option<Toolkit>> {
    db.first(
        &format!("SELECT {COLUMNS} FROM connector_toolkits WHERE provider_id = $1 AND slug = $2"),
        (provider.as_bytes(), slug.as_str()),
        read,
    )
}

/// How many toolkits an instance has.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn count(db: &ReadTx<'_>, provider: ProviderId) -> Result<u64> {
    db.one(
        "SELECT COUNT(*) FROM connector_toolkits WHERE provider_id = $1",
        [provider.as_bytes()],
        |row| transactions::count(row, 0),
    )
}

/// Keeps a toolkit, in the place of the one of its name. Its client secret stays as it is.
/// `words` is what a search looks at beside its names, in small letters.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn put(tx: &mut Tx<'_>, provider: ProviderId, toolkit: &Toolkit, words: &str) -> Result<()> {
    let words = format!(
        "{}\n{}\n{}\n{words}",
        folded(&toolkit.display_name),
        toolkit.slug,
        folded(&toolkit.description)
    );
    let account = toolkit.account.as_ref().map(json).transpose()?;
    tx.run(
        "INSERT INTO connector_toolkits (provider_id, slug, display_name, description,
           document_url, base_url, url, auth_kind, auth, account, version, operation_count,
           left_out_count, left_out, overrides, words)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
         ON CONFLICT (provider_id, slug) DO UPDATE SET display_name = excluded.display_name,
           description = excluded.description,
           document_url = excluded.document_url, base_url = excluded.base_url,
           url = excluded.url, auth_kind = excluded.auth_kind, auth = excluded.auth,
           account = excluded.account, version = excluded.version,
           operation_count = excluded.operation_count,
           left_out_count = excluded.left_out_count, left_out = excluded.left_out,
           overrides = excluded.overrides, words = excluded.words",
        rusqlite::params![
            provider.as_bytes(),
            toolkit.slug.as_str(),
            toolkit.display_name,
            toolkit.description,
            toolkit.document_url,
            toolkit.base_url,
            toolkit.url,
            enum_text(toolkit.auth.kind(), &ToolkitAuthKind::WORDS),
            json(&toolkit.auth)?,
            account,
            toolkit.version,
            toolkit.operation_count,
            toolkit.left_out_count,
            json(&toolkit.left_out)?,
            json(&toolkit.overrides)?,
            words,
        ],
    )?;
    Ok(())
}

/// The client secret of a toolkit, sealed.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn credential(
    db: &ReadTx<'_>,
    provider: ProviderId,
    slug: &ToolkitSlug,
) -> Result<Option<Vec<u8>>> {
    let found = db.first(
        "SELECT sealed FROM connector_toolkits WHERE provider_id = $1 AND slug = $2",
        (provider.as_bytes(), slug.as_str()),
        |row| row.get(0),
    )?;
    Ok(found.flatten())
}

/// Keeps the client secret of a toolkit, or erases it.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn set_credential(
    tx: &mut Tx<'_>,
    provider: ProviderId,
    slug: &ToolkitSlug,
    sealed: Option<&[u8]>,
) -> Result<()> {
    tx.run(
        "UPDATE connector_toolkits SET sealed = $1 WHERE provider_id = $2 AND slug = $3",
        (sealed, provider.as_bytes(), slug.as_str()),
    )?;
    tx.forget_pages();
    Ok(())
}

/// Removes a toolkit with its operations.
///
/// # Errors
/// A fault when the engine refuses.
pub fn remove(tx: &mut Tx<'_>, provider: ProviderId, slug: &ToolkitSlug) -> Result<()> {
    for sql in [
        "DELETE FROM connector_operations WHERE provider_id = $1 AND toolkit = $2",
        "DELETE FROM connector_toolkits WHERE provider_id = $1 AND slug = $2",
    ] {
        tx.run(sql, (provider.as_bytes(), slug.as_str()))?;
    }
    tx.forget_pages();
    Ok(())
}

/// At most `limit` services behind the one at `after`, of those that hold every word.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn catalog(
    db: &ReadTx<'_>,
    words: &[String],
    after: Option<u64>,
    limit: u32,
) -> Result<Vec<CatalogService>> {
    let after = stored(after.unwrap_or(0));
    let mut params: Vec<&dyn ToSql> = vec![&after];
    let mut holds = String::new();
    for word in words {
        params.push(word);
        holds.push_str(&format!(" AND instr(t.words, ${}) > 0", params.len()));
    }
    params.push(&limit);
    let sql = format!(
        "SELECT t.number, t.provider_id, t.slug, t.display_name, t.description, t.auth_kind,
           t.operation_count, t.left_out_count, p.unavailable
         FROM connector_toolkits t JOIN connector_providers p ON p.id = t.provider_id
         WHERE t.number > $1{holds} ORDER BY t.number LIMIT ${}",
        params.len()
    );
    db.all(&sql, params.as_slice(), |row| {
        Ok(CatalogService {
            place: transactions::count(row, 0)?,
            provider_id: transactions::id(row, 1, ProviderId::from_bytes)?,
            toolkit: slug_at(row, 2)?,
            display_name: row.get(3)?,
            description: row.get(4)?,
            auth_kind: enum_column(row, 5, &ToolkitAuthKind::WORDS)?,
            operation_count: row.get(6)?,
            left_out_count: row.get(7)?,
            unavailable: row.get(8)?,
        })
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Toolkit> {
    let account: Option<String> = row.get(8)?;
    let account = account.map(|text| serde_json::from_str(&text)).transpose();
    Ok(Toolkit {
        slug: slug_at(row, 1)?,
        display_name: row.get(2)?,
        description: row.get(3)?,
        document_url: row.get(4)?,
        base_url: row.get(5)?,
        url: row.get(6)?,
        auth: parsed(row, 7)?,
        account: account.map_err(|error| unreadable(8, error))?,
        version: row.get(9)?,
        operation_count: row.get(10)?,
        left_out_count: row.get(11)?,
        has_credential: row.get(12)?,
        left_out: parsed(row, 13)?,
        overrides: parsed(row, 14)?,
    })
}

/// A column that holds a slug.
pub(crate) fn slug_at(row: &Row<'_>, column: usize) -> rusqlite::Result<ToolkitSlug> {
    let text = row.get_ref(column)?.as_str()?;
    ToolkitSlug::parse(text).ok_or_else(|| unreadable(column, "no slug of a toolkit"))
}

/// A column that holds JSON.
pub(super) fn parsed<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| unreadable(column, error))
}

/// A value as a column holds it.
pub(super) fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| broken("writing a toolkit", error))
}
