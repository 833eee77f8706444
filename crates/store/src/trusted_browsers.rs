//! Trusted browsers, and the addresses by which a browser becomes one: by their digests alone.

use guildhall_domain::{Result, Timestamp, limits};

use crate::{ReadTx, Tx, transactions};

/// Adds the digest of an address that counts until `expires_at`.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn add_link(
    tx: &mut Tx<'_>,
    digest: &[u8; 32],
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<()> {
    tx.run(
        "DELETE FROM open_links WHERE expires_at <= $1",
        [now.as_millis()],
    )?;
    tx.run(
        "INSERT INTO open_links (digest, expires_at) VALUES ($1, $2)",
        (digest, expires_at.as_millis()),
    )?;
    Ok(())
}

/// Uses up an address; answers whether it counted.
///
/// # Errors
/// A fault when the engine refuses.
pub fn use_link(tx: &mut Tx<'_>, digest: &[u8; 32], now: Timestamp) -> Result<bool> {
    let removed = tx.run(
        "DELETE FROM open_links WHERE digest = $1 AND expires_at > $2",
        (digest, now.as_millis()),
    )?;
    Ok(removed > 0)
}

/// Adds a browser by the digest of its cookie; the oldest of too many go.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn add(tx: &mut Tx<'_>, digest: &[u8; 32], now: Timestamp) -> Result<()> {
    tx.run(
        "INSERT INTO trusted_browsers (digest, created_at) VALUES ($1, $2)",
        (digest, now.as_millis()),
    )?;
    tx.run(
        "DELETE FROM trusted_browsers WHERE created_at <= $1 OR digest NOT IN
           (SELECT digest FROM trusted_browsers ORDER BY created_at DESC LIMIT $2)",
        (
            now.plus_seconds(-limits::TRUSTED_BROWSER_AGE_S).as_millis(),
            transactions::stored(limits::TRUSTED_BROWSERS_MAX),
        ),
    )?;
    Ok(())
}

/// Whether a browser with this digest of its cookie is trusted.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn is_trusted(db: &ReadTx<'_>, digest: &[u8; 32], now: Timestamp) -> Result<bool> {
    let oldest = now.plus_seconds(-limits::TRUSTED_BROWSER_AGE_S);
    let found = db.first(
        "SELECT 1 FROM trusted_browsers WHERE digest = $1 AND created_at > $2",
        (digest, oldest.as_millis()),
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// Forgets all browsers, and the addresses that were not opened yet.
///
/// # Errors
/// A fault when the engine refuses.
pub fn forget_all(tx: &mut Tx<'_>) -> Result<()> {
    tx.run("DELETE FROM trusted_browsers", ())?;
    tx.run("DELETE FROM open_links", ())?;
    Ok(())
}
