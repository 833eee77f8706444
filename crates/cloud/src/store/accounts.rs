//! Accounts, their one-time links and their sessions.

use guildhall_domain::Timestamp;
use rusqlite::{OptionalExtension, Result, Transaction, params};

use crate::ids::AccountId;

/// An account as far as requests need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// What the person signs in with, folded.
    pub email: String,
    /// The hash of the password; `None` until the one-time link was followed.
    pub password: Option<String>,
}

/// The SHA-256 under which a secret stands.
pub type SecretDigest = [u8; 32];

/// Makes an account, or finds the one with this address.
///
/// # Errors
/// Of the engine.
pub fn add(tx: &Transaction<'_>, email: &str, now: Timestamp) -> Result<AccountId> {
    tx.execute(
        "INSERT INTO accounts (id, email, created_at) VALUES ($1, $2, $3)
         ON CONFLICT (email) DO NOTHING",
        params![AccountId::mint(), email, now.as_millis()],
    )?;
    let sql = "SELECT id FROM accounts WHERE email = $1";
    tx.query_row(sql, [email], |row| row.get(0))
}

/// The account with this address.
///
/// # Errors
/// Of the engine.
pub fn by_email(tx: &Transaction<'_>, email: &str) -> Result<Option<Account>> {
    let sql = "SELECT id, email, password FROM accounts WHERE email = $1";
    tx.query_row(sql, [email], read).optional()
}

/// An account as whoever runs the service sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSummary {
    /// What the person signs in with.
    pub email: String,
    /// Whether the one-time link was followed.
    pub has_password: bool,
    /// How many instances are linked to it.
    pub linked: i64,
    /// When one of them was seen last.
    pub last_seen_at: Option<Timestamp>,
}

/// All accounts, by their addresses.
///
/// # Errors
/// Of the engine.
pub fn list(tx: &Transaction<'_>) -> Result<Vec<AccountSummary>> {
    let sql = "SELECT a.email, a.password IS NOT NULL, count(i.id), max(i.last_seen_at)
               FROM accounts a LEFT JOIN instances i ON i.account_id = a.id
               GROUP BY a.id ORDER BY a.email";
    let mut query = tx.prepare(sql)?;
    let listed = query.query_map([], |row| {
        Ok(AccountSummary {
            email: row.get(0)?,
            has_password: row.get(1)?,
            linked: row.get(2)?,
            last_seen_at: row.get::<_, Option<i64>>(3)?.map(Timestamp::from_millis),
        })
    })?;
    listed.collect()
}

/// An account that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedAccount {
    /// Who it is at the payment service, where it was made known there.
    pub customer: Option<String>,
}

/// Removes the account with this address and all that is linked to it; `None` when there is none.
///
/// # Errors
/// Of the engine.
pub fn remove(tx: &Transaction<'_>, email: &str) -> Result<Option<RemovedAccount>> {
    let Some(account) = by_email(tx, email)? else {
        return Ok(None);
    };
    let customer = known_customer(tx, account.id)?;
    for sql in [
        "DELETE FROM links WHERE account_id = $1",
        "DELETE FROM sessions WHERE account_id = $1",
        "DELETE FROM devices WHERE account_id = $1",
        "DELETE FROM instances WHERE account_id = $1",
        "DELETE FROM accounts WHERE id = $1",
    ] {
        tx.execute(sql, [account.id])?;
    }
    Ok(Some(RemovedAccount { customer }))
}

fn read(row: &rusqlite::Row<'_>) -> Result<Account> {
    Ok(Account {
        id: row.get(0)?,
        email: row.get(1)?,
        password: row.get(2)?,
    })
}

/// Notes the one-time link of an account; an older one no longer counts.
///
/// # Errors
/// Of the engine.
pub fn put_link(
    tx: &Transaction<'_>,
    account: AccountId,
    digest: SecretDigest,
    expires_at: Timestamp,
) -> Result<()> {
    tx.execute(
        "INSERT INTO links (account_id, digest, expires_at) VALUES ($1, $2, $3)
         ON CONFLICT (account_id) DO UPDATE SET digest = $2, expires_at = $3",
        params![account, digest, expires_at.as_millis()],
    )?;
    Ok(())
}

/// Whose a one-time link is, while it counts.
///
/// # Errors
/// Of the engine.
pub fn by_link(
    tx: &Transaction<'_>,
    digest: SecretDigest,
    now: Timestamp,
) -> Result<Option<Account>> {
    tx.query_row(
        "SELECT a.id, a.email, a.password FROM links l JOIN accounts a ON a.id = l.account_id
         WHERE l.digest = $1 AND l.expires_at > $2",
        params![digest, now.as_millis()],
        read,
    )
    .optional()
}

/// Uses a one-time link up: sets the password, ends the account's sessions and begins one.
/// `None` when the link does not count.
///
/// # Errors
/// Of the engine.
pub fn follow_link(
    tx: &Transaction<'_>,
    link: SecretDigest,
    password: &str,
    session: NewSessionRow,
    now: Timestamp,
) -> Result<Option<()>> {
    let Some(account) = by_link(tx, link, now)? else {
        return Ok(None);
    };
    tx.execute("DELETE FROM links WHERE account_id = $1", [account.id])?;
    tx.execute("DELETE FROM sessions WHERE account_id = $1", [account.id])?;
    let sql = "UPDATE accounts SET password = $1 WHERE id = $2";
    tx.execute(sql, params![password, account.id])?;
    begin_session(tx, account.id, session, now).map(Some)
}

/// A session that begins.
#[derive(Clone, Copy, Debug)]
pub struct NewSessionRow {
    /// Of its cookie.
    pub digest: SecretDigest,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Begins a session, and forgets those that are over.
///
/// # Errors
/// Of the engine.
pub fn begin_session(
    tx: &Transaction<'_>,
    account: AccountId,
    session: NewSessionRow,
    now: Timestamp,
) -> Result<()> {
    let sql = "DELETE FROM sessions WHERE expires_at <= $1";
    tx.execute(sql, [now.as_millis()])?;
    tx.execute(
        "INSERT INTO sessions (digest, account_id, expires_at) VALUES ($1, $2, $3)",
        params![session.digest, account, session.expires_at.as_millis()],
    )?;
    Ok(())
}

/// Whose a session is, while it lasts.
///
/// # Errors
/// Of the engine.
pub fn by_session(
    tx: &Transaction<'_>,
    digest: SecretDigest,
    now: Timestamp,
) -> Result<Option<Account>> {
    tx.query_row(
        "SELECT a.id, a.email, a.password FROM sessions s JOIN accounts a ON a.id = s.account_id
         WHERE s.digest = $1 AND s.expires_at > $2",
        params![digest, now.as_millis()],
        read,
    )
    .optional()
}

/// Ends a session.
///
/// # Errors
/// Of the engine.
pub fn end_session(tx: &Transaction<'_>, digest: SecretDigest) -> Result<()> {
    tx.execute("DELETE FROM sessions WHERE digest = $1", params![digest])?;
    Ok(())
}

/// Who an account is at the payment service, and under which key it is asked to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CustomerRef {
    /// It is known.
    Known(String),
    /// Not yet; this key names the wish, so that a repeat makes no second one.
    Wanted(String),
}

/// The customer of an account; where there is none, the wish for one is noted before it is sent.
///
/// # Errors
/// Of the engine.
pub fn customer(tx: &Transaction<'_>, account: AccountId, fresh_key: &str) -> Result<CustomerRef> {
    let sql = "UPDATE accounts SET customer_key = $1
               WHERE id = $2 AND customer IS NULL AND customer_key IS NULL";
    tx.execute(sql, params![fresh_key, account])?;
    let sql = "SELECT customer, customer_key FROM accounts WHERE id = $1";
    tx.query_row(sql, [account], |row| {
        Ok(match row.get(0)? {
            Some(id) => CustomerRef::Known(id),
            None => CustomerRef::Wanted(row.get(1)?),
        })
    })
}

/// The customer of an account, where there is one.
///
/// # Errors
/// Of the engine.
pub fn known_customer(tx: &Transaction<'_>, account: AccountId) -> Result<Option<String>> {
    let sql = "SELECT customer FROM accounts WHERE id = $1";
    tx.query_row(sql, [account], |row| row.get(0))
}

/// Notes who the account is, unless that was known already; answers who it is.
///
/// # Errors
/// Of the engine.
pub fn set_customer(tx: &Transaction<'_>, account: AccountId, customer: &str) -> Result<String> {
    let sql = "UPDATE accounts SET customer = coalesce(customer, $1), customer_key = NULL
               WHERE id = $2 RETURNING customer";
    tx.query_row(sql, params![customer, account], |row| row.get(0))
}

/// Drops a wish for a customer that was answered by a failure: the payment service answers a
/// repeat of the same wish with the same failure.
///
/// # Errors
/// Of the engine.
pub fn clear_customer_key(tx: &Transaction<'_>, account: AccountId, key: &str) -> Result<()> {
    let sql = "UPDATE accounts SET customer_key = NULL WHERE id = $1 AND customer_key = $2";
    tx.execute(sql, params![account, key])?;
    Ok(())
}
