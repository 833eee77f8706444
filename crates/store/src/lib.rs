//! The store: durable rows and the event log of one installation, in one SQLite file.
//! One writer thread commits jobs in groups, a few reader threads read snapshots.
//! It keeps and finds; what may be kept is decided in `domain` and asked for by `hall`.
//!
//! Queries are portable SQL, one file an area; parameters appear first in the order of their numbers.

pub mod accounts;
pub mod agent_tokens;
pub mod agents;
pub mod api_keys;
pub mod approvals;
pub mod attachments;
pub mod authors;
pub mod backups;
pub mod browser;
pub mod canvas;
pub mod cloud;
pub mod connectors;
mod damage;
pub mod entries;
pub mod events;
pub mod files;
pub mod idempotency;
pub mod installation;
mod integrity_check;
pub mod interactions;
pub mod mcp_servers;
pub mod mcp_signins;
pub mod members;
pub mod messages;
mod migrations;
pub mod preview_ports;
pub mod reactions;
pub mod read_cursors;
mod readers;
pub mod revived;
pub mod rooms;
pub mod runtimes;
pub mod search;
pub mod sessions;
pub mod settings;
pub mod sign_ins;
mod sqlite_faults;
pub mod threads;
mod transactions;
pub mod trusted_browsers;
pub mod turns;
pub mod usage;
pub mod write_ahead_log;
mod writer;

use std::path::{Path, PathBuf};

use guildhall_domain::{Error, Fault, Refusal, Result, errors::FaultKind};
use rusqlite::{Connection, config::DbConfig};
use tokio::sync::{oneshot, watch};

pub use integrity_check::CheckDepth;
pub use readers::DetachedRead;
pub use transactions::{ReadTx, Tx};

/// The oldest engine that has no write-ahead-log reset race, as SQLite numbers versions.
pub const SQLITE_VERSION_MIN: i32 = 3_051_003;
/// Changes waiting for the writer; one more is refused as overload.
pub const WRITES_QUEUED_MAX: usize = 4_096;
/// Reads waiting for a reader; one more is refused as overload.
pub const READS_QUEUED_MAX: usize = 4_096;
/// Threads that read.
pub const READERS: usize = 3;
/// Readings at one moment that last as long as somebody listens; one more is refused as overload.
pub const READS_APART_MAX: usize = 2;

/// What was read, and the newest event the reading had seen.
#[derive(Clone, Debug)]
pub struct ReadSnapshot<T> {
    /// What was read.
    pub value: T,
    /// Seq of the newest event at the moment of reading; 0 before the first.
    pub seq: u64,
}

impl<T> ReadSnapshot<T> {
    /// The same moment with another value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> ReadSnapshot<U> {
        ReadSnapshot {
            value: f(self.value),
            seq: self.seq,
        }
    }
}

/// How much was written since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteCounts {
    /// Events.
    pub events: u64,
    /// Commits; one holds a group of changes.
    pub commits: u64,
    /// Commits that changed a row.
    pub changes: u64,
}

/// The open store; cheap to share behind an `Arc`, closed when dropped.
pub struct Store {
    path: PathBuf,
    damage: damage::Damage,
    /// Counts changes that a full disk refused.
    full: watch::Sender<u64>,
    writer: writer::Writer,
    readers: readers::Readers,
    head: watch::Receiver<u64>,
    opened_at_seq: u64,
}

impl Store {
    /// Opens or creates the store in the file at `path` and brings its schema up to date.
    ///
    /// # Errors
    /// A fault when the engine is older than [`SQLITE_VERSION_MIN`], the file is no store of
    /// ours, comes from a newer guildhall, or cannot be opened; one of kind `StoreDamaged` when
    /// the engine cannot make sense of the file.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        assert_engine(rusqlite::version_number())?;
        let mut connection = writer::connect(path)?;
        migrations::apply(&mut connection)?;
        writer::empty_left_log(&connection)?;
        let log = events::log_end(&connection)?;
        let (head_sender, head) = watch::channel(log.seq);
        let damage = damage::Damage::default();
        let readers = readers::Readers::start(path, damage.clone())?;
        let writer = writer::Writer::start(path, connection, log, head_sender, damage.clone())?;
        Ok(Self {
            path: path.to_owned(),
            damage,
            full: watch::Sender::new(0),
            writer,
            readers,
            head,
            opened_at_seq: log.seq,
        })
    }

    /// Runs `job` in a transaction of its own and answers after its commit.
    ///
    /// Jobs that wait together are committed together, each in a savepoint: one that answers
    /// an error leaves nothing behind and does not disturb its neighbours.
    ///
    /// # Errors
    /// Whatever the job answers; [`Refusal::Overloaded`] when too many changes wait; a fault
    /// when the commit failed: the change then stands whole or not at all, and which of the two
    /// shows when it is read. Once damage was noticed, a fault of kind `StoreDamaged`.
    pub async fn write<T, F>(&self, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        let (sender, answer) = oneshot::channel();
        self.writer.submit(job, sender)?;
        let outcome = answer.await.unwrap_or_else(|_| Err(gone()));
        if let Err(Error::Fault(fault)) = &outcome
            && fault.kind == FaultKind::StorageFull
        {
            self.full.send_modify(|count| *count += 1);
        }
        outcome
    }

    /// Runs `job` on one consistent snapshot and says up to which event it had seen.
    ///
    /// # Errors
    /// Whatever the job answers; [`Refusal::Overloaded`] when too many reads wait.
    pub async fn read<T, F>(&self, job: F) -> Result<ReadSnapshot<T>>
    where
        T: Send + 'static,
        F: FnOnce(&ReadTx<'_>) -> Result<T> + Send + 'static,
    {
        let (sender, answer) = oneshot::channel();
        self.readers.submit(job, sender)?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Runs `job` on one consistent snapshot, on a thread and connection of its own: for a
    /// reading that lasts as long as somebody listens and must keep no other one waiting.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`] when [`READS_APART_MAX`] of them run; a fault when no thread
    /// starts. What the job answers is told by [`DetachedRead::ended`].
    pub fn read_detached<F>(&self, job: F) -> Result<DetachedRead>
    where
        F: FnOnce(&ReadTx<'_>) -> Result<()> + Send + 'static,
    {
        self.readers.start_detached(job)
    }

    /// The seq of the newest committed event; it tells that there is something to read, not what.
    pub fn head(&self) -> watch::Receiver<u64> {
        self.head.clone()
    }

    /// Checks the whole file in small steps, on a thread and connection of its own, and notices
    /// damage. It uses a bounded share of the disk, and ends when nobody waits for it any more.
    ///
    /// # Errors
    /// A fault of kind `StoreDamaged` when the file is damaged, another one when that cannot be
    /// told.
    pub async fn check(&self, check: CheckDepth) -> Result<(), Fault> {
        let outcome = integrity_check::run_detached(self.path.clone(), check)?.await;
        let outcome = outcome
            .unwrap_or_else(|_| Err(Fault::broken("checking the store", "the check panicked")));
        if let Err(fault) = &outcome
            && fault.kind == FaultKind::StoreDamaged
        {
            self.damage.notice(&fault.source.to_string());
        }
        outcome
    }

    /// Why nothing is written any more; `None` while no damage was noticed.
    pub fn damage(&self) -> watch::Receiver<Option<String>> {
        self.damage.watch()
    }

    /// Moves each time that a full disk refuses a change.
    pub fn full(&self) -> watch::Receiver<u64> {
        self.full.subscribe()
    }

    /// Takes over that an earlier run noticed damage.
    pub fn notice_damage(&self, why: &str) {
        self.damage.notice(why);
    }

    /// Takes writes again.
    ///
    /// Only for a file that was checked as a whole since the damage was noticed.
    pub fn forget_damage(&self) {
        self.damage.forget();
    }

    /// How much was written since the store was opened.
    pub fn write_counts(&self) -> WriteCounts {
        let events = self.head.borrow().saturating_sub(self.opened_at_seq);
        WriteCounts {
            events,
            commits: self.writer.commits(),
            changes: self.writer.changes(),
        }
    }
}

fn gone() -> Error {
    Refusal::ShuttingDown.into()
}

fn assert_engine(version: i32) -> Result<(), Fault> {
    if version < SQLITE_VERSION_MIN {
        return Err(Fault::broken(
            "checking the database engine",
            format!("SQLite {version} is older than {SQLITE_VERSION_MIN}"),
        ));
    }
    Ok(())
}

fn pragmas(connection: &Connection, pragmas: &[(&str, &str)]) -> Result<(), Fault> {
    // A kept statement is planned once and not anew for each value bound to it.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(|error| sqlite_faults::fault("setting up the database connection", error))?;
    for (name, value) in pragmas {
        connection
            .pragma_update(None, name, value)
            .map_err(|error| sqlite_faults::fault("setting up the database connection", error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_with_the_log_reset_race_is_refused() {
        assert!(assert_engine(3_051_002).is_err());
        assert!(assert_engine(SQLITE_VERSION_MIN).is_ok());
        assert!(assert_engine(rusqlite::version_number()).is_ok());
    }
}
