//! Instances that hold a key.

use guildhall_domain::Timestamp;
use guildhall_wire::cloud::heartbeats::HeartbeatRequest;
use rusqlite::{OptionalExtension, Result, Transaction, params};

use super::accounts::SecretDigest;
use crate::ids::{AccountId, InstanceId};

/// An instance as its key shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its id.
    pub id: InstanceId,
    /// The account it is linked to.
    pub account: AccountId,
    /// What that account is called.
    pub account_label: String,
}

/// Notes an instance with the digests of its key and of the device code it was issued for.
///
/// # Errors
/// Of the engine.
pub fn add(
    tx: &Transaction<'_>,
    id: InstanceId,
    account: AccountId,
    (key, device): (SecretDigest, SecretDigest),
    name: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "INSERT INTO instances (id, account_id, key_digest, device_digest, name, platform,
            version, created_at) VALUES ($1, $2, $3, $4, $5, '', '', $6)",
        params![id, account, key, device, name, now.as_millis()],
    )?;
    Ok(())
}

/// Forgets the instance whose key was issued for this device code and never used: whoever asks
/// again did not get it.
///
/// # Errors
/// Of the engine.
pub fn revoke_unused(tx: &Transaction<'_>, device: SecretDigest) -> Result<()> {
    let sql = "DELETE FROM instances WHERE device_digest = $1 AND last_seen_at IS NULL";
    tx.execute(sql, params![device])?;
    Ok(())
}

/// Whose a key is.
///
/// # Errors
/// Of the engine.
pub fn by_key(tx: &Transaction<'_>, key: SecretDigest) -> Result<Option<Instance>> {
    tx.query_row(
        "SELECT i.id, a.id, a.email FROM instances i JOIN accounts a ON a.id = i.account_id
         WHERE i.key_digest = $1",
        params![key],
        |row| {
            Ok(Instance {
                id: row.get(0)?,
                account: row.get(1)?,
                account_label: row.get(2)?,
            })
        },
    )
    .optional()
}

/// Notes what an instance says of itself and that it lives. `false` when it is gone.
///
/// # Errors
/// Of the engine.
pub fn seen(
    tx: &Transaction<'_>,
    id: InstanceId,
    ask: &HeartbeatRequest,
    now: Timestamp,
) -> Result<bool> {
    let changed = tx.execute(
        "UPDATE instances SET name = $1, platform = $2, version = $3, last_seen_at = $4
         WHERE id = $5",
        params![ask.name, ask.platform, ask.version, now.as_millis(), id],
    )?;
    Ok(changed == 1)
}

/// Forgets the instance with this key, if there is one.
///
/// # Errors
/// Of the engine.
pub fn revoke(tx: &Transaction<'_>, key: SecretDigest) -> Result<()> {
    tx.execute("DELETE FROM instances WHERE key_digest = $1", params![key])?;
    Ok(())
}
