//! The store: one SQLite file, one connection on a thread of its own, a transaction a job.
//! What is answered is committed. Queries are plain functions, one file a thing.

pub mod accounts;
pub mod device_requests;
pub mod instances;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::JoinHandle,
    time::Duration,
};

use guildhall_domain::{Fault, errors::FaultKind};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

/// The oldest engine that has no write-ahead-log reset race, as SQLite numbers versions.
const SQLITE_VERSION_MIN: i32 = 3_051_003;
/// Jobs that wait; one more is refused.
const JOBS_MAX: usize = 1_024;
/// How long a job waits for another process, `account add` that is, to end its own.
const BUSY_WAIT: Duration = Duration::from_secs(10);
/// The schema's steps; the n-th brings version n-1 to n. Append-only once released.
const STEPS: &[&str] = &[include_str!("../../migrations/0001_cloud.sql")];

type StoreJob = Box<dyn FnOnce(&mut Connection) + Send>;

/// The open store; closed when dropped.
#[derive(Debug)]
pub struct Store {
    jobs: Option<SyncSender<StoreJob>>,
    thread: Option<JoinHandle<()>>,
}

impl Store {
    /// Opens or creates the store in the file at `path` and brings its schema up to date.
    ///
    /// # Errors
    /// A fault when the engine is too old, the file is no store of ours, comes from a newer
    /// companion, or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let during = "opening the store";
        if rusqlite::version_number() < SQLITE_VERSION_MIN {
            let why = format!("SQLite {} is too old", rusqlite::version());
            return Err(Fault::broken(during, why));
        }
        let mut connection = connect(path).map_err(|error| Fault::broken(during, error))?;
        migrate(&mut connection)?;
        let (jobs, waiting) = sync_channel(JOBS_MAX);
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || serve(connection, &waiting))
            .map_err(|error| Fault::broken(during, error))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Runs `job` in a transaction of its own and answers after its commit; one that fails leaves
    /// nothing behind.
    ///
    /// # Errors
    /// A fault met while doing `during`.
    pub async fn write<T, F>(&self, during: &'static str, job: F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        self.run(during, TransactionBehavior::Immediate, job).await
    }

    /// Runs `job` on one consistent snapshot.
    ///
    /// # Errors
    /// A fault met while doing `during`.
    pub async fn read<T, F>(&self, during: &'static str, job: F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        self.run(during, TransactionBehavior::Deferred, job).await
    }

    async fn run<T, F>(
        &self,
        during: &'static str,
        behavior: TransactionBehavior,
        job: F,
    ) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        let (sender, answer) = oneshot::channel();
        let job: StoreJob = Box::new(move |connection| {
            // A job that panics takes its transaction back and no other down with it.
            let ran = catch_unwind(AssertUnwindSafe(|| transact(connection, behavior, job)));
            let outcome = ran.unwrap_or_else(|_| Err(rusqlite::Error::InvalidQuery));
            // A caller that went away no longer wants its answer.
            let _ = sender.send(outcome.map_err(|error| fault(during, error)));
        });
        let gone = || Fault::new(FaultKind::Unavailable, during, "the store takes no more");
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.try_send(job).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It ends once its queue is empty, and holds nothing that a panic could corrupt.
            let _ = thread.join();
        }
    }
}

fn serve(mut connection: Connection, jobs: &Receiver<StoreJob>) {
    for job in jobs {
        job(&mut connection);
    }
}

fn transact<T>(
    connection: &mut Connection,
    behavior: TransactionBehavior,
    job: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let tx = connection.transaction_with_behavior(behavior)?;
    let value = job(&tx)?;
    tx.commit()?;
    Ok(value)
}

fn fault(during: &'static str, error: rusqlite::Error) -> Fault {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => Fault::new(FaultKind::StorageFull, during, error),
        _ => Fault::broken(during, error),
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_WAIT)?;
    for (name, value) in [
        ("journal_mode", "wal"),
        ("synchronous", "full"),
        ("foreign_keys", "on"),
        ("secure_delete", "on"),
    ] {
        connection.pragma_update(None, name, value)?;
    }
    Ok(connection)
}

fn newest() -> u32 {
    u32::try_from(STEPS.len()).unwrap_or(u32::MAX)
}

/// Brings the schema up to date, in one transaction: another process may do the same.
fn migrate(connection: &mut Connection) -> Result<(), Fault> {
    let during = "bringing the store's schema up to date";
    let migrated = transact(connection, TransactionBehavior::Immediate, |tx| {
        let version: u32 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
        for (_, step) in (0..).zip(STEPS).skip_while(|(number, _)| *number < version) {
            tx.execute_batch(step)?;
        }
        tx.pragma_update(None, "user_version", version.max(newest()))?;
        Ok(version)
    });
    let version = migrated.map_err(|error| Fault::broken(during, error))?;
    if version > newest() {
        let why = format!("the data was written by a newer companion (schema {version})");
        return Err(Fault::broken(during, why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use guildhall_world::scratch::Scratch;

    use super::*;

    #[test]
    fn an_older_binary_refuses_newer_data() {
        let scratch = Scratch::new("cloud-store");
        let file = scratch.path().join("cloud.sqlite");
        drop(Store::open(&file).unwrap());
        drop(Store::open(&file).unwrap());
        let connection = connect(&file).unwrap();
        let newer = newest() + 1;
        connection
            .pragma_update(None, "user_version", newer)
            .unwrap();
        drop(connection);
        assert!(Store::open(&file).is_err());
    }

    #[test]
    fn what_is_answered_is_on_the_disk_and_what_is_erased_is_gone() {
        let scratch = Scratch::new("cloud-store");
        let connection = connect(&scratch.path().join("cloud.sqlite")).unwrap();
        let value = |name| -> rusqlite::types::Value {
            let read = |row: &rusqlite::Row<'_>| row.get(0);
            connection.pragma_query_value(None, name, read).unwrap()
        };
        assert_eq!(value("journal_mode"), "wal".to_owned().into());
        assert_eq!(value("synchronous"), 2.into(), "full");
        assert_eq!(value("foreign_keys"), 1.into());
        assert_eq!(value("secure_delete"), 1.into());
    }

    #[tokio::test]
    async fn a_job_that_fails_or_panics_leaves_nothing_and_the_next_one_runs() {
        let scratch = Scratch::new("cloud-store");
        let store = Store::open(&scratch.path().join("cloud.sqlite")).unwrap();
        let add = |tx: &Transaction<'_>| {
            let sql = "INSERT INTO accounts (id, email, created_at) VALUES ('a', 'a@b', 1)";
            tx.execute(sql, [])
        };
        let failed = store.write("testing", move |tx| {
            add(tx)?;
            Err::<(), _>(rusqlite::Error::InvalidQuery)
        });
        assert!(failed.await.is_err());
        let panicked = store.write("testing", move |tx| -> rusqlite::Result<()> {
            add(tx)?;
            panic!("on purpose");
        });
        assert!(panicked.await.is_err());
        let count = |tx: &Transaction<'_>| {
            tx.query_row("SELECT count(*) FROM accounts", [], |row| {
                row.get::<_, i64>(0)
            })
        };
        assert_eq!(store.read("testing", count).await.unwrap(), 0);
        store.write("testing", add).await.unwrap();
        assert_eq!(store.read("testing", count).await.unwrap(), 1);
    }
}
