//! Requests of devices for a key. What becomes of one is decided by [`crate::device_grant`].

use std::net::IpAddr;

use guildhall_domain::{Timestamp, attempt_limiter::network_of};
use rusqlite::{OptionalExtension, Result, Row, Transaction, params};

use super::{accounts::SecretDigest, instances};
use crate::{
    device_grant::{DecisionOutcome, DeviceGrant, DeviceGrantState, PollResult},
    ids::{AccountId, InstanceId},
};

/// How long a request is remembered after its end, so that a late device hears of it.
const KEPT_S: i64 = 3_600;
/// Requests that are kept at one moment; one more is refused.
const DEVICES_MAX: i64 = 100_000;
/// Requests of one network that are kept, so that nobody alone keeps all others out.
const DEVICES_PER_NETWORK_MAX: i64 = 100;

/// A request that begins.
#[derive(Clone, Debug)]
pub struct NewDeviceRequest {
    /// Of its device code.
    pub device_digest: SecretDigest,
    /// Of its user code.
    pub user_digest: SecretDigest,
    /// What it calls itself; empty when it did not say.
    pub name: String,
    /// The address it asked from.
    pub asked_from: IpAddr,
    /// When it asked.
    pub created_at: Timestamp,
    /// When its codes stop to count.
    pub expires_at: Timestamp,
}

/// A request as the person who decides sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDeviceRequest {
    /// What it calls itself; empty when it did not say.
    pub name: String,
    /// The address it asked from.
    pub asked_from: String,
    /// When it asked.
    pub created_at: Timestamp,
}

/// Notes a request, and forgets those that are long over. `false` when there are too many.
///
/// # Errors
/// Of the engine; a user code that is taken is one.
pub fn add(tx: &Transaction<'_>, device: &NewDeviceRequest) -> Result<bool> {
    let over = device.created_at.plus_seconds(-KEPT_S).as_millis();
    tx.execute("DELETE FROM devices WHERE expires_at < $1", [over])?;
    let number = |row: &Row<'_>| row.get::<_, i64>(0);
    let all = tx.query_row("SELECT count(*) FROM devices", [], number)?;
    let network = network_of(device.asked_from).to_string();
    let sql = "SELECT count(*) FROM devices WHERE network = $1";
    let near = tx.query_row(sql, [&network], number)?;
    if all >= DEVICES_MAX || near >= DEVICES_PER_NETWORK_MAX {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO devices (device_digest, user_digest, state, name, asked_from, network,
            created_at, expires_at) VALUES ($1, $2, 'pending', $3, $4, $5, $6, $7)",
        params![
            device.device_digest,
            device.user_digest,
            device.name,
            device.asked_from.to_string(),
            network,
            device.created_at.as_millis(),
            device.expires_at.as_millis(),
        ],
    )?;
    Ok(true)
}

/// Answers a device that asks for its key, and issues it in the same transaction: `key` is the
/// digest of the key that is handed out then. A key whose answer was lost, so that it is asked
/// for again and was never used, counts no more (as RFC 6749 §4.1.2 has it for codes).
///
/// # Errors
/// Of the engine.
pub fn poll(
    tx: &Transaction<'_>,
    device_digest: SecretDigest,
    key: SecretDigest,
    now: Timestamp,
) -> Result<PollResult<AccountId>> {
    let sql = "SELECT state, account_id, expires_at, polled_at, name FROM devices
               WHERE device_digest = $1";
    let found = tx
        .query_row(sql, params![device_digest], |row| {
            Ok((read(row)?, row.get::<_, String>(4)?))
        })
        .optional()?;
    let Some((device, name)) = found else {
        return Ok(PollResult::InvalidGrant);
    };
    let polled = device.poll(now);
    if device.state == DeviceGrantState::Issued {
        instances::revoke_unused(tx, device_digest)?;
    }
    if let PollResult::Issue(account) = polled {
        let digests = (key, device_digest);
        instances::add(tx, InstanceId::mint(), account, digests, &name, now)?;
        let sql = "UPDATE devices SET state = 'issued' WHERE device_digest = $1";
        tx.execute(sql, params![device_digest])?;
    }
    let sql = "UPDATE devices SET polled_at = $1 WHERE device_digest = $2";
    tx.execute(sql, params![now.as_millis(), device_digest])?;
    Ok(polled)
}

/// The open request with this user code.
///
/// # Errors
/// Of the engine.
pub fn open(
    tx: &Transaction<'_>,
    user_digest: SecretDigest,
    now: Timestamp,
) -> Result<Option<OpenDeviceRequest>> {
    let sql = "SELECT state, account_id, expires_at, polled_at, name, asked_from, created_at
               FROM devices WHERE user_digest = $1";
    let found = tx
        .query_row(sql, params![user_digest], |row| {
            let asking = OpenDeviceRequest {
                name: row.get(4)?,
                asked_from: row.get(5)?,
                created_at: Timestamp::from_millis(row.get(6)?),
            };
            Ok((read(row)?, asking))
        })
        .optional()?;
    let open = found.filter(|(device, _)| device.decide(now) == DecisionOutcome::Counts);
    Ok(open.map(|(_, asking)| asking))
}

/// Notes a person's word on an open request; `None` when there is none with this code.
///
/// # Errors
/// Of the engine.
pub fn decide(
    tx: &Transaction<'_>,
    user_digest: SecretDigest,
    account: AccountId,
    is_yes: bool,
    now: Timestamp,
) -> Result<Option<()>> {
    if open(tx, user_digest, now)?.is_none() {
        return Ok(None);
    }
    let state = if is_yes { "approved" } else { "denied" };
    let sql = "UPDATE devices SET state = $1, account_id = $2 WHERE user_digest = $3";
    tx.execute(sql, params![state, account, user_digest])?;
    Ok(Some(()))
}

fn read(row: &Row<'_>) -> Result<DeviceGrant<AccountId>> {
    let state = match row.get_ref(0)?.as_str()? {
        "approved" => DeviceGrantState::Approved(row.get(1)?),
        "denied" => DeviceGrantState::Denied,
        "issued" => DeviceGrantState::Issued,
        // The schema knows no other.
        _ => DeviceGrantState::Pending,
    };
    Ok(DeviceGrant {
        state,
        expires_at: Timestamp::from_millis(row.get(2)?),
        polled_at: row.get::<_, Option<i64>>(3)?.map(Timestamp::from_millis),
    })
}
