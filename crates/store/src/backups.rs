//! Backups: a copy of the whole store by the engine's own interface, made in small steps from one
//! snapshot while the store is written, and what such a copy holds.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use guildhall_domain::{
    Fault, attachments::Digest, backups::SnapshotContents, errors::FaultKind, ids::LogId,
};
use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};
use tokio::sync::oneshot;

use crate::{
    CheckDepth, ReadTx, Store, events, installation, integrity_check, migrations, readers,
    sqlite_faults::fault,
};

/// Pages copied between two looks at the clock: 256 KiB.
const PAGES_A_STEP: i32 = 64;
/// How many times as long as it worked a step rests: the copy takes a third of the disk.
const REST_FACTOR: u32 = 2;
/// How long one rest lasts at most.
const REST_MAX: Duration = Duration::from_millis(250);
const DURING: &str = "copying the store";

/// A checked copy of the store.
#[derive(Clone, Debug)]
pub struct StoreCopy {
    /// What it holds.
    pub holds: SnapshotContents,
    /// The files of attachments that its rows name.
    pub attachments: Vec<Digest>,
}

impl Store {
    /// Bytes of the store and its write-ahead log.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn file_bytes(&self) -> std::io::Result<u64> {
        let log = format!("{}-wal", self.path.display());
        // There is none before the first write.
        let log = std::fs::metadata(log).map_or(0, |file| file.len());
        Ok(std::fs::metadata(&self.path)?.len() + log)
    }

    /// Copies the store, as it is now, into the new file at `to`, and checks the copy; on a
    /// thread and connections of its own, in small steps with rests. It ends early when nobody
    /// waits for it any more.
    ///
    /// # Errors
    /// A fault when the copy cannot be made or is not whole; what is at `to` is then of no use.
    /// Damage met in the store itself counts from then on.
    pub async fn copy_to(&self, to: PathBuf) -> Result<StoreCopy, Fault> {
        let (sender, outcome) = oneshot::channel();
        let from = self.path.clone();
        std::thread::Builder::new()
            .name("store-copy".to_owned())
            .spawn(move || {
                let copy = || copy_in_steps(&readers::connect(&from)?, &to, Some(&sender));
                let copied = copy();
                // Whoever no longer listens does not want to know.
                let _ = sender.send(copied.and_then(|()| inspect(&to)));
            })
            .map_err(|error| Fault::broken("starting a thread for a copy", error))?;
        let outcome = outcome
            .await
            .unwrap_or_else(|_| Err(Fault::broken(DURING, "the copying panicked")));
        if let Err(fault) = &outcome
            && fault.kind == FaultKind::StoreDamaged
        {
            self.damage.notice(&fault.source.to_string());
        }
        outcome
    }
}

/// Whether the store at `path` was written by an older guildhall, so that opening it changes its
/// schema. A store that is not there yet has nothing to change.
///
/// # Errors
/// A fault when it cannot be read.
pub fn awaits_migration(path: &Path) -> Result<bool, Fault> {
    if !path.exists() {
        return Ok(false);
    }
    let version = schema_version(&open(path)?)?;
    Ok(version > 0 && version < migrations::newest())
}

/// Copies the store at `from`, which no server has open, into the new file at `to`, and checks
/// the copy.
///
/// # Errors
/// As [`Store::copy_to`].
pub fn copy_closed(from: &Path, to: &Path) -> Result<StoreCopy, Fault> {
    copy_in_steps(&open(from)?, to, None)?;
    inspect(to)
}

/// Checks a copy and says what it holds.
///
/// # Errors
/// A fault of kind `StoreDamaged` when it is not whole, or of a newer guildhall.
pub fn inspect(copy: &Path) -> Result<StoreCopy, Fault> {
    let connection = open(copy)?;
    integrity_check::require_whole(&connection, CheckDepth::Quick)?;
    let schema_version = schema_version(&connection)?;
    if schema_version == 0 || schema_version > migrations::newest() {
        return Err(Fault::broken(
            "reading a copy of the store",
            format!("its schema {schema_version} is of no guildhall up to this one"),
        ));
    }
    let read = || -> guildhall_domain::Result<StoreCopy> {
        let rx = ReadTx::new(&connection);
        let digest = |row: &rusqlite::Row<'_>| row.get(0).map(Digest::from_bytes);
        let entries = rx.one("SELECT COUNT(*) FROM entries", [], |row| {
            row.get::<_, i64>(0).map(i64::unsigned_abs)
        })?;
        Ok(StoreCopy {
            holds: SnapshotContents {
                log_id: installation::log_id(&rx)?,
                schema_version,
                event_seq: events::newest(&rx)?,
                entries,
            },
            attachments: match schema_version < ATTACHMENTS_SINCE {
                true => Vec::new(),
                false => rx.all("SELECT DISTINCT sha256 FROM attachments", [], digest)?,
            },
        })
    };
    read().map_err(|error| match error {
        guildhall_domain::Error::Fault(fault) => fault,
        other => Fault::broken("reading a copy of the store", format!("{other:?}")),
    })
}

/// The schema that brought the table of attachments.
const ATTACHMENTS_SINCE: u32 = 6;

/// Makes a restored copy a log of its own, so that whoever followed the log of before begins
/// anew, and leaves it as one file.
///
/// # Errors
/// A fault when it cannot be written.
pub fn begin_new_log(copy: &Path, log_id: LogId) -> Result<(), Fault> {
    let write = || -> rusqlite::Result<()> {
        let connection = Connection::open(copy)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute(
            "UPDATE installation SET value = $1 WHERE key = 'log_id'",
            [log_id.as_bytes()],
        )?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error)
    };
    write().map_err(|error| fault("beginning a new event log", error))
}

/// One snapshot is held over all steps, so that writers never make the copy begin anew.
fn copy_in_steps(
    source: &Connection,
    to: &Path,
    waiting: Option<&oneshot::Sender<Result<StoreCopy, Fault>>>,
) -> Result<(), Fault> {
    let failed = |error| fault(DURING, error);
    source
        .execute_batch("BEGIN; SELECT COUNT(*) FROM sqlite_schema;")
        .map_err(failed)?;
    let mut copy = Connection::open(to).map_err(failed)?;
    // A copy that a power cut leaves behind is no backup: its file is synced once it is complete.
    copy.pragma_update(None, "synchronous", "off")
        .map_err(failed)?;
    let backup = Backup::new(source, &mut copy).map_err(failed)?;
    loop {
        let began = Instant::now();
        match backup.step(PAGES_A_STEP).map_err(failed)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            other => return Err(Fault::broken(DURING, format!("a step was {other:?}"))),
        }
        let Some(waiting) = waiting else {
            continue;
        };
        if waiting.is_closed() {
            return Err(Fault::broken(DURING, "nobody waits for it any more"));
        }
        std::thread::park_timeout((began.elapsed() * REST_FACTOR).min(REST_MAX));
    }
}

fn schema_version(connection: &Connection) -> Result<u32, Fault> {
    connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|error| fault("reading the schema's version", error))
}

/// Opens a store that nobody else has open. The engine makes the index of its log beside it,
/// which is why it is not opened as read-only.
fn open(path: &Path) -> Result<Connection, Fault> {
    readers::connect_with(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
}
