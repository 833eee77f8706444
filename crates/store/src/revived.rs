//! Revived credentials: what counts in a restored store, and was ended in the store of before it.
//! Sign-ins and trusted browsers end at once; the owner decides about the others.
//! The store of before is read only: it is set aside, and nothing of it is ever changed.

use std::{os::unix::ffi::OsStrExt, path::Path};

use guildhall_domain::{
    Fault,
    ids::{AccountId, AgentTokenId, ApiKeyId, SignInId},
    restores::{RevivedCredential, RevivedKind, TRUSTED_BROWSERS_ID},
};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row};

use crate::sqlite_faults::fault;

/// Each gives an id, a label and whom it stands for. What the server itself minted for a process
/// is left out: the next start revokes it.
const QUERIES: [(RevivedKind, &str); 4] = [
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

/// What revived sign-ins and browsers are ended with, each where the store of before can say
/// which ones and where it cannot.
const ENDINGS: [(&str, &str); 2] = [
    (
        "DELETE FROM main.sign_ins WHERE id NOT IN (SELECT id FROM previous.sign_ins)",
        "DELETE FROM main.sign_ins",
    ),
    (
        "DELETE FROM main.trusted_browsers
         WHERE digest NOT IN (SELECT digest FROM previous.trusted_browsers)",
        "DELETE FROM main.trusted_browsers",
    ),
];

/// The credentials that a restore revived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revived {
    /// Those that are known.
    pub credentials: Vec<RevivedCredential>,
    /// Kinds that could not be compared.
    pub unknown: Vec<RevivedKind>,
}

/// The credentials that count in the store at `restored` and were ended in the one at `before`.
///
/// # Errors
/// A fault when the restored one cannot be opened.
pub fn revived_credentials(before: &Path, restored: &Path) -> Result<Revived, Fault> {
    let during = "looking for credentials that were ended since";
    let connection = Connection::open(restored).map_err(|error| fault(during, error))?;
    if let Err(error) = attach(&connection, before) {
        // Then every comparison fails, and each says so.
        tracing::warn!(%error, "the data of before cannot be opened");
    }
    let mut revived = Revived::default();
    for (kind, query) in QUERIES {
        let compare = || -> rusqlite::Result<Vec<RevivedCredential>> {
            let mut statement = connection.prepare(query)?;
            let found = statement.query_map([], |row| credential(kind, row))?;
            found.collect()
        };
        match compare() {
            Ok(found) => revived.credentials.extend(found),
            Err(error) => {
                tracing::warn!(?kind, %error, "which of these a restore revives is unknown");
                revived.unknown.push(kind);
            }
        }
    }
    Ok(revived)
}

/// Ends the sign-ins and forgets the trusted browsers of the store at `restored` that are not in
/// the one at `before`; all of them where that one cannot say. The store is left as one file.
///
/// # Errors
/// A fault when the restored one cannot be written.
pub fn end_revived_sign_ins(before: Option<&Path>, restored: &Path) -> Result<(), Fault> {
    let end = || -> rusqlite::Result<()> {
        let connection = Connection::open(restored)?;
        connection.pragma_update(None, "synchronous", "full")?;
        let is_attached = before.is_some_and(|before| {
            attach(&connection, before)
                .inspect_err(|error| tracing::warn!(%error, "every sign-in is ended"))
                .is_ok()
        });
        for (compared, all) in ENDINGS {
            let ended = match is_attached {
                true => connection.execute(compared, []),
                false => connection.execute(all, []),
            };
            if let Err(error) = ended {
                tracing::warn!(%error, "every sign-in of this kind is ended");
                connection.execute(all, [])?;
            }
        }
        if is_attached {
            connection.execute("DETACH DATABASE previous", [])?;
        }
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error)
    };
    end().map_err(|error| fault("ending sign-ins of before", error))
}

/// Whether a credential that an earlier restore revived counts in the store at `restored`.
///
/// # Errors
/// A fault when it cannot be read.
pub fn counts(restored: &Path, credential: &RevivedCredential) -> Result<bool, Fault> {
    let id = credential.id.as_str();
    let (query, bytes) = match credential.kind {
        RevivedKind::AgentToken => (
            "SELECT 1 FROM tokens WHERE id = $1 AND revoked_at IS NULL",
            *AgentTokenId::named(id).as_bytes(),
        ),
        RevivedKind::ApiKey => (
            "SELECT 1 FROM api_keys WHERE id = $1",
            *ApiKeyId::named(id).as_bytes(),
        ),
        RevivedKind::SignIn => (
            "SELECT 1 FROM sign_ins WHERE id = $1",
            *SignInId::named(id).as_bytes(),
        ),
        RevivedKind::Password | RevivedKind::Account => (
            "SELECT 1 FROM accounts WHERE id = $1",
            *AccountId::named(id).as_bytes(),
        ),
        // They are not told apart.
        RevivedKind::TrustedBrowsers => (
            "SELECT 1 FROM trusted_browsers WHERE $1 IS NOT NULL",
            [0; 16],
        ),
    };
    let count = || Connection::open(restored)?.prepare(query)?.exists([bytes]);
    count().map_err(|error| fault("looking for a credential", error))
}

/// The hash of an account's password in the store at `path`, which no server has open; `None`
/// when there is no such account.
///
/// # Errors
/// A fault when it cannot be read.
pub fn password_in(path: &Path, account: AccountId) -> Result<Option<String>, Fault> {
    let read = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(path, flags)?
            .query_row(
                "SELECT password FROM accounts WHERE id = $1",
                [account.as_bytes()],
                |row| row.get(0),
            )
            .optional()
    };
    read().map_err(|error| fault("reading a password of the data set aside", error))
}

/// Attaches the store of before as `previous`, to be read only.
fn attach(connection: &Connection, before: &Path) -> rusqlite::Result<()> {
    let mut uri = "file:".to_owned();
    for byte in before.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' => uri.push(char::from(*byte)),
            plain if plain.is_ascii_alphanumeric() => uri.push(char::from(*plain)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.push_str("?mode=ro");
    connection.execute("ATTACH DATABASE $1 AS previous", [uri])?;
    Ok(())
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
