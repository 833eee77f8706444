//! Accounts: rows by id, e-mail address and author.
//! Which of them is the owner's follows from whose author is the owner's.

use guildhall_domain::{
    Result,
    accounts::{Account, Email, Role},
    ids::{AccountId, AuthorId},
};
use rusqlite::Row;

use crate::{
    ReadTx, Tx, installation,
    transactions::{self, count, moment},
};

/// An account with what is known of its password; without `Debug`, because a hash is no log's
/// business.
#[derive(Clone, PartialEq, Eq)]
pub struct AccountWithPassword {
    /// The account.
    pub account: Account,
    /// The hash of its password, as PHC text.
    pub password: String,
    /// Whether the password is still that of the invitation.
    pub is_invited: bool,
}

/// Who is behind a credential of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CredentialHolder {
    /// The author it names.
    pub author: AuthorId,
    /// Whether that is the owner's.
    pub is_owner: bool,
    /// Its account; in mode `local` people have none.
    pub account: Option<AccountId>,
    /// Whether the account's password is still that of the invitation.
    pub is_invited: bool,
}

const COLUMNS: &str = "c.id, c.email, a.display_name, c.author_id, c.created_at";
/// What makes an author the owner's.
const OWNERS: &str = "(SELECT value FROM installation WHERE key = 'owner_author_id')";

/// Whether there is any account.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn exist(db: &ReadTx<'_>) -> Result<bool> {
    db.one("SELECT EXISTS (SELECT 1 FROM accounts)", [], |row| {
        row.get(0)
    })
}

/// How many accounts there are.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn count_all(db: &ReadTx<'_>) -> Result<u64> {
    db.one("SELECT COUNT(*) FROM accounts", [], |row| count(row, 0))
}

/// The account with this id.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_id(db: &ReadTx<'_>, id: AccountId) -> Result<Option<AccountWithPassword>> {
    db.first(&select("c.id = $1"), [id.as_bytes()], known)
}

/// The account with this e-mail address.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_email(db: &ReadTx<'_>, email: &Email) -> Result<Option<AccountWithPassword>> {
    db.first(&select("c.email = $1"), [email.as_str()], known)
}

/// The account of the person who writes as this author.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn by_author(db: &ReadTx<'_>, author: AuthorId) -> Result<Option<AccountWithPassword>> {
    db.first(&select("c.author_id = $1"), [author.as_bytes()], known)
}

/// The owner as the holder of a credential; `None` before there is an owner's author.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn owner(db: &ReadTx<'_>) -> Result<Option<CredentialHolder>> {
    let Some(author) = installation::owner(db)? else {
        return Ok(None);
    };
    let known = by_author(db, author)?;
    Ok(Some(CredentialHolder {
        author,
        is_owner: true,
        account: known.as_ref().map(|known| known.account.id),
        is_invited: known.is_some_and(|known| known.is_invited),
    }))
}

/// One page of accounts in the order they were made, with one more than asked when there are
/// more.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn list(db: &ReadTx<'_>, after: Option<AccountId>, limit: u32) -> Result<Vec<Account>> {
    db.all(
        &format!(
            "SELECT {COLUMNS}, c.author_id = {OWNERS}
             FROM accounts c JOIN authors a ON a.id = c.author_id
             WHERE c.id > $1 ORDER BY c.id LIMIT $2"
        ),
        (
            after.as_ref().map_or(&[][..], |id| &id.as_bytes()[..]),
            i64::from(limit) + 1,
        ),
        read,
    )
}

/// Adds an account whose author exists.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn insert(tx: &mut Tx<'_>, account: &Account, password: &str, is_invited: bool) -> Result<()> {
    tx.run(
        "INSERT INTO accounts (id, author_id, email, password, invited, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        (
            account.id.as_bytes(),
            account.author_id.as_bytes(),
            account.email.as_str(),
            password,
            is_invited,
            account.created_at.as_millis(),
        ),
    )?;
    Ok(())
}

/// Replaces an account's password by one its person chose.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn set_password(tx: &mut Tx<'_>, id: AccountId, password: &str) -> Result<()> {
    tx.run(
        "UPDATE accounts SET password = $1, invited = 0 WHERE id = $2",
        (password, id.as_bytes()),
    )?;
    Ok(())
}

/// Removes an account that has no sign-ins any more.
///
/// # Errors
/// A fault when the engine refuses.
pub fn remove(tx: &mut Tx<'_>, id: AccountId) -> Result<()> {
    tx.run("DELETE FROM accounts WHERE id = $1", [id.as_bytes()])?;
    Ok(())
}

/// The columns of a [`CredentialHolder`]: of the account `c` and the column that holds the author's id.
pub(crate) fn holder_columns(author: &str) -> String {
    format!("{author}, {author} = {OWNERS}, c.id, COALESCE(c.invited, 0)")
}

/// Reads [`holder_columns`] beginning at column `at`.
pub(crate) fn holder_at(row: &Row<'_>, at: usize) -> rusqlite::Result<CredentialHolder> {
    Ok(CredentialHolder {
        author: transactions::id(row, at, AuthorId::from_bytes)?,
        // Null before there is an owner's author.
        is_owner: row.get::<_, Option<bool>>(at + 1)?.unwrap_or(false),
        account: transactions::maybe_id(row, at + 2, AccountId::from_bytes)?,
        is_invited: row.get(at + 3)?,
    })
}

fn select(condition: &str) -> String {
    format!(
        "SELECT {COLUMNS}, c.author_id = {OWNERS}, c.password, c.invited
         FROM accounts c JOIN authors a ON a.id = c.author_id WHERE {condition}"
    )
}

fn known(row: &Row<'_>) -> rusqlite::Result<AccountWithPassword> {
    Ok(AccountWithPassword {
        account: read(row)?,
        password: row.get(6)?,
        is_invited: row.get(7)?,
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Account> {
    let is_owner = row.get::<_, Option<bool>>(5)?.unwrap_or(false);
    Ok(Account {
        id: transactions::id(row, 0, AccountId::from_bytes)?,
        email: Email::stored(row.get(1)?),
        display_name: row.get(2)?,
        role: if is_owner { Role::Owner } else { Role::Person },
        author_id: transactions::id(row, 3, AuthorId::from_bytes)?,
        created_at: moment(row, 4)?,
    })
}
