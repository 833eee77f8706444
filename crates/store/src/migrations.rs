//! Migrations: numbered files, append-only once released, applied in order at start.

use guildhall_domain::{Fault, Result};
use rusqlite::Connection;

use crate::sqlite_faults::fault;

/// The schema's steps; the n-th brings version n-1 to n.
const STEPS: &[&str] = &[
    include_str!("../migrations/0001_rooms.sql"),
    include_str!("../migrations/0002_conventions.sql"),
    include_str!("../migrations/0003_canvas.sql"),
    include_str!("../migrations/0004_talk.sql"),
    include_str!("../migrations/0005_accounts.sql"),
    include_str!("../migrations/0006_attachments.sql"),
    include_str!("../migrations/0007_sessions.sql"),
    include_str!("../migrations/0008_approvals.sql"),
    include_str!("../migrations/0009_turns.sql"),
    include_str!("../migrations/0010_runtimes.sql"),
    include_str!("../migrations/0011_session_titles.sql"),
    include_str!("../migrations/0012_approvals.sql"),
    include_str!("../migrations/0013_mcp_servers.sql"),
    include_str!("../migrations/0014_mcp_signins.sql"),
    include_str!("../migrations/0015_files.sql"),
    include_str!("../migrations/0016_previews.sql"),
    include_str!("../migrations/0017_browser.sql"),
    include_str!("../migrations/0018_connector_providers.sql"),
    include_str!("../migrations/0019_connector_connections.sql"),
    include_str!("../migrations/0020_connector_executions.sql"),
    include_str!("../migrations/0021_cloud.sql"),
    include_str!("../migrations/0022_agent_enclosure.sql"),
    include_str!("../migrations/0023_interaction_replies.sql"),
    include_str!("../migrations/0024_trusted_browsers.sql"),
    include_str!("../migrations/0025_mcp_servers_switched_on.sql"),
    include_str!("../migrations/0026_retention.sql"),
    include_str!("../migrations/0027_expired_tokens.sql"),
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

/// The schema's version of this guildhall.
pub(crate) fn newest() -> u32 {
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
    fn entries_of_older_data_are_found_and_know_their_event() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(STEPS[0]).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        connection
            .execute_batch(
                r#"INSERT INTO authors (id, kind, display_name) VALUES (x'0a', 'human', 'Ada');
                INSERT INTO rooms (id, kind, slug, topic, ambient_max_entries, created_at, last_activity_at)
                  VALUES (x'0b', 'channel', 'ops', '', 30, 1, 1);
                INSERT INTO entries (id, room_id, seq, author_id, kind, text, cascade_root_id,
                    cascade_depth, created_at)
                  VALUES (x'01a1fe26ce7a77e69c5169b26c991bbe', x'0b', 1, x'0a', 'post', 'old words',
                    x'01a1fe26ce7a77e69c5169b26c991bbe', 0, 1);
                INSERT INTO events (seq, at, type, scope, also, data, bytes_total)
                  VALUES (7, 1, 'entry_added', 'room:x', '',
                    '{"entry":{"id":"01a1fe26-ce7a-77e6-9c51-69b26c991bbe"}}', 1);"#,
            )
            .unwrap();
        apply(&mut connection).unwrap();
        let found: (i64, i64) = connection
            .query_row(
                "SELECT e.number, e.told_in FROM entry_words w JOIN entries e ON e.number = w.rowid
                 WHERE w.entry_words MATCH 'old'",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        assert_eq!(found, (1, 7));
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
