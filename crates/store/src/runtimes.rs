//! Runtimes: what they said of themselves, and what was told of them.
//! Which runtimes there are is `hall::runtimes`; programs are found by `world::runtime_programs`.

use guildhall_domain::{Result, Timestamp, runtimes::ReportedCapabilities};
use rusqlite::Row;

use crate::{
    ReadTx, Tx,
    transactions::{self, maybe_moment},
};

/// The facts of a runtime's last successful start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedRuntimeRow {
    /// The runtime's type.
    pub runtime: String,
    /// The version that was installed then; `""` where the installed files name none.
    pub version: String,
    /// What it said.
    pub probed: ReportedCapabilities,
}

/// The last check of a runtime and what was told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeCheckRow {
    /// The runtime's type.
    pub runtime: String,
    /// When it was checked; `None` before the first check.
    pub checked_at: Option<Timestamp>,
    /// What was wrong then; `""` when nothing was.
    pub problem: String,
    /// Whether it was there, as was told last.
    pub installed: bool,
    /// Its version, as was told last.
    pub version: String,
}

/// The facts of every runtime and version.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn all_reported(db: &ReadTx<'_>) -> Result<Vec<ReportedRuntimeRow>> {
    let sql = "SELECT runtime, version, facts FROM runtime_facts ORDER BY runtime, version";
    db.all(sql, [], read_facts)
}

/// The facts of one runtime in one version.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn probed(
    db: &ReadTx<'_>,
    runtime: &str,
    version: &str,
) -> Result<Option<ReportedCapabilities>> {
    db.first(
        "SELECT runtime, version, facts FROM runtime_facts WHERE runtime = $1 AND version = $2",
        (runtime, version),
        |row| Ok(read_facts(row)?.probed),
    )
}

/// Keeps the facts of a successful start.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn save_reported(tx: &mut Tx<'_>, facts: &ReportedRuntimeRow, now: Timestamp) -> Result<()> {
    let json = serde_json::to_string(&facts.probed)
        .map_err(|error| transactions::broken("writing what a runtime said", error))?;
    tx.run(
        "INSERT INTO runtime_facts (runtime, version, facts, at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (runtime, version) DO UPDATE SET facts = excluded.facts, at = excluded.at",
        (&facts.runtime, &facts.version, json, now.as_millis()),
    )?;
    Ok(())
}

/// What was told of every runtime.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn all_checks(db: &ReadTx<'_>) -> Result<Vec<RuntimeCheckRow>> {
    let sql = "SELECT runtime, checked_at, problem, installed, version FROM runtimes
         ORDER BY runtime";
    db.all(sql, [], read_told)
}

/// What was told of one runtime.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn last_check(db: &ReadTx<'_>, runtime: &str) -> Result<Option<RuntimeCheckRow>> {
    db.first(
        "SELECT runtime, checked_at, problem, installed, version FROM runtimes WHERE runtime = $1",
        [runtime],
        read_told,
    )
}

/// Keeps what is told of a runtime.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn save_check(tx: &mut Tx<'_>, told: &RuntimeCheckRow) -> Result<()> {
    tx.run(
        "INSERT INTO runtimes (runtime, checked_at, problem, installed, version)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (runtime) DO UPDATE SET checked_at = excluded.checked_at,
           problem = excluded.problem, installed = excluded.installed, version = excluded.version",
        (
            &told.runtime,
            told.checked_at.map(Timestamp::as_millis),
            &told.problem,
            told.installed,
            &told.version,
        ),
    )?;
    Ok(())
}

fn read_facts(row: &Row<'_>) -> rusqlite::Result<ReportedRuntimeRow> {
    let json = row.get_ref(2)?.as_str()?;
    Ok(ReportedRuntimeRow {
        runtime: row.get(0)?,
        version: row.get(1)?,
        probed: serde_json::from_str(json).map_err(|error| transactions::unreadable(2, error))?,
    })
}

fn read_told(row: &Row<'_>) -> rusqlite::Result<RuntimeCheckRow> {
    Ok(RuntimeCheckRow {
        runtime: row.get(0)?,
        checked_at: maybe_moment(row, 1)?,
        problem: row.get(2)?,
        installed: row.get(3)?,
        version: row.get(4)?,
    })
}
