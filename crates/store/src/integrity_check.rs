//! Check: reads a store's file from end to end and says whether the engine can make sense of it.
//! The engine keeps no checksums: damage within a value stays unseen.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use guildhall_domain::{Fault, errors::FaultKind};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{readers, sqlite_faults::fault};

/// How thorough a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckDepth {
    /// Every page and the order of every table.
    Quick,
    /// Also that every index holds what its table does.
    Whole,
}

/// How long a check works at a time.
const WORK_MAX: Duration = Duration::from_millis(5);
/// How many times as long it rests then: it takes a fifth of the disk's and the processor's time.
const REST_FACTOR: u32 = 4;
/// Steps of the engine between two looks at the clock.
const STEPS: i32 = 1_000;
/// Problems that are told.
const PROBLEMS_MAX: usize = 3;

/// Checks the file at `path` on a thread of its own, in small steps.
pub(crate) fn run_detached(
    path: PathBuf,
    check: CheckDepth,
) -> Result<oneshot::Receiver<Result<(), Fault>>, Fault> {
    let (sender, outcome) = oneshot::channel();
    std::thread::Builder::new()
        .name("store-check".to_owned())
        .spawn(move || {
            // Shared with the engine, which asks whether it shall go on.
            let sender = std::sync::Arc::new(sender);
            let outcome = run_slowly(&path, check, std::sync::Arc::clone(&sender));
            if let Some(sender) = std::sync::Arc::into_inner(sender) {
                // Whoever no longer listens does not want to know.
                let _ = sender.send(outcome);
            }
        })
        .map_err(|error| Fault::broken("starting a thread for a check", error))?;
    Ok(outcome)
}

fn run_slowly(
    path: &Path,
    check: CheckDepth,
    sender: std::sync::Arc<oneshot::Sender<Result<(), Fault>>>,
) -> Result<(), Fault> {
    let mut connection = readers::connect(path)?;
    let mut resumed = Instant::now();
    let is_over = move || {
        let worked = resumed.elapsed();
        if worked >= WORK_MAX {
            std::thread::park_timeout(worked * REST_FACTOR);
            resumed = Instant::now();
        }
        sender.is_closed()
    };
    connection
        .progress_handler(STEPS, Some(is_over))
        .map_err(|error| fault("setting up a check", error))?;
    require_whole(&connection, check)
}

/// Checks the file behind a connection at once.
///
/// # Errors
/// A fault of kind `StoreDamaged` with what was found.
pub(crate) fn require_whole(connection: &Connection, check: CheckDepth) -> Result<(), Fault> {
    let during = "checking the store";
    let pragma = match check {
        CheckDepth::Quick => "quick_check",
        CheckDepth::Whole => "integrity_check",
    };
    let problems = || -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare(&format!("PRAGMA {pragma}({PROBLEMS_MAX})"))?;
        let rows = statement.query_map([], |row| row.get(0))?;
        rows.collect()
    };
    let problems = problems().map_err(|error| fault(during, error))?;
    if problems == ["ok"] {
        return Ok(());
    }
    let lines = problems.iter().flat_map(|problem| problem.lines());
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with("***")).collect();
    Err(Fault::new(
        FaultKind::StoreDamaged,
        during,
        lines.join("; "),
    ))
}
