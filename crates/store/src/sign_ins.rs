//! Sign-ins: rows by id and by the digest of what the cookie holds, which is never stored.

use guildhall_domain::{
    Result, Timestamp,
    ids::{AccountId, SignInId},
    limits,
    sign_ins::SignIn,
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    accounts::{CredentialHolder, holder_at, holder_columns},
    transactions::{self, moment},
};

/// A sign-in with who it stands for.
#[derive(Clone, Copy, Debug)]
pub struct SignInWithHolder {
    /// The sign-in's row.
    pub sign_in: SignIn,
    /// Who signed in.
    pub holder: CredentialHolder,
}

/// The sign-in whose cookie has this digest.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_digest(db: &ReadTx<'_>, digest: &[u8; 32]) -> Result<Option<SignInWithHolder>> {
    let columns = holder_columns("c.author_id");
    db.first(
        &format!(
            "SELECT s.id, s.account_id, s.created_at, s.last_used_at, {columns}
             FROM sign_ins s JOIN accounts c ON c.id = s.account_id WHERE s.digest = $1"
        ),
        [digest],
        |row| {
            Ok(SignInWithHolder {
                sign_in: read(row)?,
                holder: holder_at(row, 4)?,
            })
        },
    )
}

/// The sign-in with this id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: SignInId) -> Result<Option<SignIn>> {
    db.first(
        "SELECT id, account_id, created_at, last_used_at FROM sign_ins WHERE id = $1",
        [id.as_bytes()],
        read,
    )
}

/// Adds a sign-in under the digest of what its cookie holds, and drops those of the account
/// that no longer count.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, sign_in: &SignIn, digest: &[u8; 32]) -> Result<()> {
    let now = sign_in.created_at;
    tx.run(
        "DELETE FROM sign_ins WHERE account_id = $1 AND (last_used_at <= $2 OR created_at <= $3)",
        (
            sign_in.account_id.as_bytes(),
            now.plus_seconds(-limits::SESSION_IDLE_S).as_millis(),
            now.plus_seconds(-limits::SESSION_AGE_S).as_millis(),
        ),
    )?;
    tx.run(
        "INSERT INTO sign_ins (id, account_id, digest, created_at, last_used_at)
         VALUES ($1, $2, $3, $4, $5)",
        (
            sign_in.id.as_bytes(),
            sign_in.account_id.as_bytes(),
            digest,
            sign_in.created_at.as_millis(),
            sign_in.last_used_at.as_millis(),
        ),
    )?;
    tx.run(
        "DELETE FROM sign_ins WHERE id IN
           (SELECT id FROM sign_ins WHERE account_id = $1
            ORDER BY last_used_at DESC, id DESC LIMIT -1 OFFSET $2)",
        (
            sign_in.account_id.as_bytes(),
            transactions::stored(limits::SIGN_INS_PER_ACCOUNT_MAX),
        ),
    )?;
    Ok(())
}

/// Notes a use; a clock that jumped back never makes a sign-in younger.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn touch(tx: &mut Tx<'_>, id: SignInId, now: Timestamp) -> Result<()> {
    tx.run(
        "UPDATE sign_ins SET last_used_at = $1 WHERE id = $2 AND last_used_at < $1",
        (now.as_millis(), id.as_bytes()),
    )?;
    Ok(())
}

/// Ends a sign-in.
///
/// # Errors
/// A fault when the engine refuses.
pub fn end(tx: &mut Tx<'_>, id: SignInId) -> Result<()> {
    tx.run("DELETE FROM sign_ins WHERE id = $1", [id.as_bytes()])?;
    Ok(())
}

/// Ends every sign-in of an account but the one to be kept.
///
/// # Errors
/// A fault when the engine refuses.
pub fn end_all(tx: &mut Tx<'_>, account: AccountId, but: Option<SignInId>) -> Result<()> {
    tx.run(
        "DELETE FROM sign_ins WHERE account_id = $1 AND ($2 IS NULL OR id <> $2)",
        (account.as_bytes(), but.as_ref().map(SignInId::as_bytes)),
    )?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<SignIn> {
    Ok(SignIn {
        id: transactions::id(row, 0, SignInId::from_bytes)?,
        account_id: transactions::id(row, 1, AccountId::from_bytes)?,
        created_at: moment(row, 2)?,
        last_used_at: moment(row, 3)?,
    })
}
