//! Migrations: numbered files, append-only once released, applied in order at start.

use guildhall_domain::{Fault, Result};
use rusqlite::Connection;

use crate::faults::fault;

/// The schema's steps; the n-th brings version n-1 to n.
const STEPS: &[&str] = &[
    include_str!("../migrations/0001_rooms.sql"),
    include_str!("../migrations/0002_conventions.sql"),
    include_str!("../migrations/0003_canvas.sql"),
    include_str!("../migrations/0005_accounts.sql"),
];

/// Brings the schema up to date, each step in a transaction of its own.
///
/// # Errors
/// A fault when the store comes from a newer guildhall, or a step fails; a failed step
/// leaves the store as it was.
pub(crate) fn apply(connection: &mut Connection) -> Result<(), Fault> {
    let during = "bringing the store's schema up to date";
    let version: u32 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|error| fault(during, error))?;
    if version > newest() {
        return Err(Fault::broken(
            during,
            format!("the data was written by a newer guildhall (schema {version})"),
        ));
    }
    for (number, step) in (1..).zip(STEPS) {
        if number > version {
            apply_step(connection, number, step).map_err(|error| fault(during, error))?;
        }
    }
    Ok(())
}

fn newest() -> u32 {
    u32::try_from(STEPS.len()).unwrap_or(u32::MAX)
}

fn apply_step(connection: &mut Connection, number: u32, step: &str) -> rusqlite::Result<()> {
    let tx = connection.transaction()?;
    tx.execute_batch(step)?;
    tx.pragma_update(None, "user_version", number)?;
    tx.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_binary_refuses_newer_data() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection
            .pragma_update(None, "user_version", newest() + 1)
            .unwrap();
        assert!(apply(&mut connection).is_err());
    }

    #[test]
    fn every_step_applies_once_to_an_empty_store() {
        let mut connection = Connection::open_in_memory().unwrap();
        apply(&mut connection).unwrap();
        apply(&mut connection).unwrap();
        let version: u32 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        assert_eq!(version, newest());
    }
}
