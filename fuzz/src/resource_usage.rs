//! What a server holds: memory, descriptors, rows; and how much of it grew.

use std::{collections::BTreeMap, fmt, path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags};

use crate::Result;

/// How much each figure may grow, in percent.
const GROWTH_MAX_PERCENT: u64 = 5;
/// Memory that may be added beside that in a short run: what the allocator keeps for itself, in pages that no
/// request holds, differs by so much between two moments at rest.
const MEMORY_ALLOWED: u64 = 12 * 1_024 * 1_024;
/// Descriptors that may be added beside that in a short run: readers of the store are opened when they are first
/// needed together, and an accepted connection may not be closed yet.
const DESCRIPTORS_ALLOWED: u64 = 10;
/// Rows that may be added beside that in a short run: background jobs note what they did.
const ROWS_ALLOWED: u64 = 40;
/// How long the store may be busy with a write while rows are counted.
const BUSY_MAX: Duration = Duration::from_secs(5);

/// What a server holds at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceUsage {
    /// Bytes of memory.
    pub(crate) memory: u64,
    /// Open descriptors.
    pub(crate) descriptors: u64,
    /// Rows of each table.
    pub(crate) rows: BTreeMap<String, u64>,
}

impl ResourceUsage {
    /// What that process holds, and the database that it writes.
    pub(crate) fn of(process: u32, database: &Path) -> Result<Self> {
        Ok(Self {
            memory: resident_bytes(process)?,
            descriptors: descriptors(process)?,
            rows: rows(database)?,
        })
    }

    fn rows_of_all(&self) -> u64 {
        self.rows.values().sum()
    }
}

/// What was added between two moments.
pub(crate) struct ResourceGrowth<'a> {
    pub(crate) before: &'a ResourceUsage,
    pub(crate) after: &'a ResourceUsage,
    /// Whether the run was so long that nothing may be added beside the share.
    pub(crate) is_long_run: bool,
}

impl ResourceGrowth<'_> {
    /// What grew by more than it may, a sentence each.
    pub(crate) fn excesses(&self) -> Vec<String> {
        let mut excesses = Vec::new();
        for (what, before, after, allowed) in self.figures() {
            let allowed = if self.is_long_run { 0 } else { allowed };
            let bound = before + before * GROWTH_MAX_PERCENT / 100 + allowed;
            if after > bound {
                excesses.push(format!(
                    "{what} grew from {before} to {after}, at most {bound} is allowed"
                ));
            }
        }
        excesses
    }

    fn figures(&self) -> [(&'static str, u64, u64, u64); 3] {
        let (before, after) = (self.before, self.after);
        [
            (
                "memory in bytes",
                before.memory,
                after.memory,
                MEMORY_ALLOWED,
            ),
            (
                "descriptors",
                before.descriptors,
                after.descriptors,
                DESCRIPTORS_ALLOWED,
            ),
            (
                "rows",
                before.rows_of_all(),
                after.rows_of_all(),
                ROWS_ALLOWED,
            ),
        ]
    }

    /// The tables that grew most, with how many rows each got.
    fn tables(&self) -> Vec<(&str, u64)> {
        let grown = self.after.rows.iter().map(|(table, after)| {
            let before = self.before.rows.get(table).copied().unwrap_or_default();
            (table.as_str(), after.saturating_sub(before))
        });
        let mut grown: Vec<_> = grown.filter(|(_, added)| *added > 0).collect();
        grown.sort_by_key(|(_, added)| std::cmp::Reverse(*added));
        grown.truncate(4);
        grown
    }
}

impl fmt::Display for ResourceGrowth<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |before: u64, after: u64| {
            let (before, after) = (before.max(1) as f64, after as f64);
            (after - before) / before * 100.0
        };
        let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
        let (before, after) = (self.before, self.after);
        write!(
            f,
            "memory {:.1} → {:.1} MiB ({:+.1} %), descriptors {} → {}, rows {} → {} ({:+.1} %)",
            mib(before.memory),
            mib(after.memory),
            percent(before.memory, after.memory),
            before.descriptors,
            after.descriptors,
            before.rows_of_all(),
            after.rows_of_all(),
            percent(before.rows_of_all(), after.rows_of_all()),
        )?;
        for (table, added) in self.tables() {
            write!(f, ", {table} +{added}")?;
        }
        Ok(())
    }
}

/// Bytes of memory that a process holds.
pub(crate) fn resident_bytes(process: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let kib: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"))
        .ok_or("the system does not say how much memory the server holds")?
        .parse()?;
    Ok(kib * 1_024)
}

/// Descriptors that a process has open.
pub(crate) fn descriptors(process: u32) -> Result<u64> {
    let count = std::fs::read_dir(format!("/proc/{process}/fd"))?.count();
    Ok(u64::try_from(count)?)
}

/// Rows of every table; of the full-text index, which has a row for each of `entries`, none.
fn rows(database: &Path) -> Result<BTreeMap<String, u64>> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(BUSY_MAX)?;
    let mut named = connection.prepare(
        "SELECT name FROM sqlite_schema t WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         AND NOT EXISTS (SELECT 1 FROM sqlite_schema v WHERE v.sql LIKE 'CREATE VIRTUAL%'
         AND (t.name = v.name OR t.name LIKE v.name || '\\_%' ESCAPE '\\'))",
    )?;
    let names = named.query_map([], |row| row.get::<_, String>(0))?;
    let mut rows = BTreeMap::new();
    for name in names {
        let name = name?;
        let count: i64 =
            connection.query_row(&format!("SELECT count(*) FROM \"{name}\""), [], |row| {
                row.get(0)
            })?;
        rows.insert(name, u64::try_from(count)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holdings(memory: u64, descriptors: u64, rows: u64) -> ResourceUsage {
        ResourceUsage {
            memory,
            descriptors,
            rows: BTreeMap::from([("entries".to_owned(), rows)]),
        }
    }

    #[test]
    fn each_figure_may_grow_by_its_share_and_no_more() {
        const MIB: u64 = 1 << 20;
        let before = holdings(200 * MIB, 100, 10_000);
        let excesses = |is_long_run: bool, after: &ResourceUsage| {
            ResourceGrowth {
                before: &before,
                after,
                is_long_run,
            }
            .excesses()
            .len()
        };
        assert_eq!(excesses(false, &holdings(222 * MIB, 115, 10_540)), 0);
        assert_eq!(excesses(false, &holdings(223 * MIB, 116, 10_541)), 3);
        assert_eq!(excesses(true, &holdings(210 * MIB, 105, 10_500)), 0);
        assert_eq!(excesses(true, &holdings(211 * MIB, 106, 10_501)), 3);
        assert_eq!(excesses(true, &holdings(1, 1, 1)), 0);
    }
}
