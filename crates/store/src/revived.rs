//! Revived credentials: what counts in a restored store, and was ended in the store of before it.

use std::path::Path;

use guildhall_domain::{
    Fault,
    ids::{AccountId, AgentTokenId, ApiKeyId, SignInId},
    restores::{RevivedCredential, RevivedKind, TRUSTED_BROWSERS_ID},
};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::sqlite_faults::fault;

/// Each gives an id, a label and whom it stands for. What the server itself minted for a process
/// is left out: the next start revokes it.
const QUERIES: [(RevivedKind, &str); 5] = [
    (
        RevivedKind::AgentToken,
        "SELECT t.id, t.label, a.display_name FROM tokens t
         JOIN agents g ON g.id = t.agent_id JOIN authors a ON a.id = g.author_id
         LEFT JOIN previous.tokens p ON p.id = t.id
         WHERE t.revoked_at IS NULL AND t.origin <> 'spawn'
           AND (p.id IS NULL OR p.revoked_at IS NOT NULL) ORDER BY t.id",
    ),
    (
        RevivedKind::ApiKey,
        "SELECT k.id, k.label, a.display_name FROM api_keys k JOIN authors a ON a.id = k.author_id
         WHERE k.id NOT IN (SELECT id FROM previous.api_keys) ORDER BY k.id",
    ),
    (
        RevivedKind::SignIn,
        "SELECT s.id, c.email, '' FROM sign_ins s JOIN accounts c ON c.id = s.account_id
         WHERE s.id NOT IN (SELECT id FROM previous.sign_ins) ORDER BY s.id",
    ),
    (
        RevivedKind::Password,
        "SELECT c.id, c.email, '' FROM accounts c JOIN previous.accounts p ON p.id = c.id
         WHERE p.password <> c.password ORDER BY c.id",
    ),
    (
        RevivedKind::Account,
        "SELECT c.id, c.email, '' FROM accounts c
         WHERE c.id NOT IN (SELECT id FROM previous.accounts) ORDER BY c.id",
    ),
];

/// The credentials that count in the store at `restored` and were ended in the one at `before`.
///
/// # Errors
/// A fault when one of the two cannot be read, or is of a guildhall that had no such credentials.
pub fn revived_credentials(
    before: &Path,
    restored: &Path,
) -> Result<Vec<RevivedCredential>, Fault> {
    let read = || -> rusqlite::Result<Vec<RevivedCredential>> {
        let connection = Connection::open(restored)?;
        connection.execute("ATTACH DATABASE $1 AS previous", [before.to_string_lossy()])?;
        let mut revived = Vec::new();
        for (kind, query) in QUERIES {
            let mut statement = connection.prepare(query)?;
            for found in statement.query_map([], |row| credential(kind, row))? {
                revived.push(found?);
            }
        }
        let browsers: u32 = connection.query_row(
            "SELECT COUNT(*) FROM trusted_browsers
             WHERE digest NOT IN (SELECT digest FROM previous.trusted_browsers)",
            [],
            |row| row.get(0),
        )?;
        if browsers > 0 {
            revived.push(RevivedCredential {
                kind: RevivedKind::TrustedBrowsers,
                id: TRUSTED_BROWSERS_ID.to_owned(),
                label: browsers.to_string(),
                holder: String::new(),
            });
        }
        Ok(revived)
    };
    read().map_err(|error| fault("looking for credentials that were ended since", error))
}

/// The hash of an account's password in the store at `path`, which no server has open; `None`
/// when there is no such account.
///
/// # Errors
/// A fault when it cannot be read.
pub fn password_in(path: &Path, account: AccountId) -> Result<Option<String>, Fault> {
    let read = || {
        Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE)?
            .query_row(
                "SELECT password FROM accounts WHERE id = $1",
                [account.as_bytes()],
                |row| row.get(0),
            )
            .optional()
    };
    read().map_err(|error| fault("reading a password of the data set aside", error))
}

fn credential(kind: RevivedKind, row: &Row<'_>) -> rusqlite::Result<RevivedCredential> {
    let bytes: [u8; 16] = row.get(0)?;
    let id = match kind {
        RevivedKind::AgentToken => AgentTokenId::from_bytes(bytes).to_string(),
        RevivedKind::ApiKey => ApiKeyId::from_bytes(bytes).to_string(),
        RevivedKind::SignIn => SignInId::from_bytes(bytes).to_string(),
        RevivedKind::Password | RevivedKind::Account => AccountId::from_bytes(bytes).to_string(),
        RevivedKind::TrustedBrowsers => TRUSTED_BROWSERS_ID.to_owned(),
    };
    Ok(RevivedCredential {
        kind,
        id,
        label: row.get(1)?,
        holder: row.get(2)?,
    })
}
