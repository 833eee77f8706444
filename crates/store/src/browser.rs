//! The local browser: what of it outlives the server. What runs is `hall::browser`'s.

use guildhall_domain::{
    Result,
    browser::DisplayMode,
    ids::{BrowserConnectionId, SessionId},
};

use crate::{
    ReadTx, Tx,
    transactions::{count, enum_column, enum_text, maybe_id, stored},
};

/// What is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrowserRow {
    /// Of the last browser.
    pub mode: DisplayMode,
    /// No state had a higher revision.
    pub revision: u64,
    /// The process that runs.
    pub connection: Option<BrowserConnectionId>,
    /// The session with which a tab is shared, and the process which that was told of.
    pub shared: Option<(SessionId, BrowserConnectionId)>,
}

/// What was kept last; the default before there was a browser.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn load(db: &ReadTx<'_>) -> Result<BrowserRow> {
    let sql = "SELECT mode, revision, connection, session, shared_in FROM browser WHERE id = 1";
    let kept = db.first(sql, [], |row| {
        let session = maybe_id(row, 3, SessionId::from_bytes)?;
        let shared_in = maybe_id(row, 4, BrowserConnectionId::from_bytes)?;
        Ok(BrowserRow {
            mode: enum_column(row, 0, &DisplayMode::WORDS)?,
            revision: count(row, 1)?,
            connection: maybe_id(row, 2, BrowserConnectionId::from_bytes)?,
            shared: session.zip(shared_in),
        })
    })?;
    Ok(kept.unwrap_or_default())
}

/// Keeps this instead.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn keep(tx: &mut Tx<'_>, kept: BrowserRow) -> Result<()> {
    let connection = kept.connection.as_ref().map(BrowserConnectionId::as_bytes);
    let session = kept.shared.as_ref().map(|(session, _)| session.as_bytes());
    let shared_in = kept.shared.as_ref().map(|(_, process)| process.as_bytes());
    tx.run(
        "INSERT INTO browser (id, mode, revision, connection, session, shared_in)
         VALUES (1, $1, $2, $3, $4, $5)
         ON CONFLICT (id) DO UPDATE SET mode = excluded.mode, revision = excluded.revision,
           connection = excluded.connection, session = excluded.session,
           shared_in = excluded.shared_in",
        (
            enum_text(kept.mode, &DisplayMode::WORDS),
            stored(kept.revision),
            connection,
            session,
            shared_in,
        ),
    )?;
    Ok(())
}
