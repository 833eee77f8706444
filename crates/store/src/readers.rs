//! Readers: a few threads with read-only connections, each job on one snapshot.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use guildhall_domain::{Fault, Refusal, Result};
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{Semaphore, oneshot};

use crate::{
    READERS, READS_APART_MAX, READS_QUEUED_MAX, ReadSnapshot, damage::Damage, events, pragmas,
    sqlite_faults::fault, transactions::ReadTx,
};

type Job = Box<dyn FnOnce(&Connection) + Send>;

pub(crate) struct Readers {
    path: PathBuf,
    jobs: Sender<Job>,
    apart: Arc<Semaphore>,
    damage: Damage,
}

/// A reading on a thread of its own.
#[derive(Debug)]
pub struct DetachedRead(oneshot::Receiver<Result<()>>);

impl DetachedRead {
    /// Waits until it has ended.
    ///
    /// # Errors
    /// Whatever its job answered; a fault when the store could not be opened or the job panicked.
    pub async fn ended(self) -> Result<()> {
        let panicked = |_| Err(Fault::broken("reading the store", "the reading panicked").into());
        self.0.await.unwrap_or_else(panicked)
    }
}

impl Readers {
    pub(crate) fn start(path: &Path, damage: Damage) -> Result<Self, Fault> {
        let (sender, jobs) = bounded::<Job>(READS_QUEUED_MAX);
        for n in 0..READERS {
            let connection = connect(path)?;
            let jobs = jobs.clone();
            std::thread::Builder::new()
                .name(format!("reader-{n}"))
                .spawn(move || serve(&connection, &jobs))
                .map_err(|error| Fault::broken("starting a reader thread", error))?;
        }
        Ok(Self {
            path: path.to_owned(),
            jobs: sender,
            apart: Arc::new(Semaphore::new(READS_APART_MAX)),
            damage,
        })
    }

    pub(crate) fn start_detached<F>(&self, job: F) -> Result<DetachedRead>
    where
        F: FnOnce(&ReadTx<'_>) -> Result<()> + Send + 'static,
    {
        let place = Arc::clone(&self.apart).try_acquire_owned();
        let place = place.map_err(|_| Refusal::Overloaded)?;
        let (path, damage) = (self.path.clone(), self.damage.clone());
        let (sender, ended) = oneshot::channel();
        std::thread::Builder::new()
            .name("reader-apart".to_owned())
            .spawn(move || {
                let read = || snapshot(&connect(&path)?, &damage, job).map(|seen| seen.value);
                let outcome = read();
                drop(place);
                // Whoever no longer listens does not want to know.
                let _ = sender.send(outcome);
            })
            .map_err(|error| Fault::broken("starting a reader thread", error))?;
        Ok(DetachedRead(ended))
    }

    pub(crate) fn submit<T, F>(
        &self,
        job: F,
        answer: oneshot::Sender<Result<ReadSnapshot<T>>>,
    ) -> Result<(), Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&ReadTx<'_>) -> Result<T> + Send + 'static,
    {
        let damage = self.damage.clone();
        let job: Job = Box::new(move |connection| {
            let read = catch_unwind(AssertUnwindSafe(|| snapshot(connection, &damage, job)));
            let outcome = read.unwrap_or_else(|_| {
                Err(Fault::broken("reading the store", "the reading panicked").into())
            });
            // A caller that went away no longer wants its answer.
            let _ = answer.send(outcome);
        });
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => Refusal::Overloaded,
            TrySendError::Disconnected(_) => Refusal::ShuttingDown,
        })
    }
}

fn serve(connection: &Connection, jobs: &Receiver<Job>) {
    for job in jobs {
        job(connection);
    }
}

fn snapshot<T>(
    connection: &Connection,
    damage: &Damage,
    job: impl FnOnce(&ReadTx<'_>) -> Result<T>,
) -> Result<ReadSnapshot<T>> {
    let tx = connection
        .unchecked_transaction()
        .map_err(|error| fault("beginning to read", error))?;
    let rx = ReadTx::new(&tx);
    let seen = events::newest(&rx).and_then(|seq| {
        let value = job(&rx)?;
        Ok(ReadSnapshot { value, seq })
    });
    if let Some(why) = rx.take_damage() {
        damage.notice(&why);
    }
    seen
}

pub(crate) fn connect(path: &Path) -> Result<Connection, Fault> {
    connect_with(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
}

pub(crate) fn connect_with(path: &Path, flags: OpenFlags) -> Result<Connection, Fault> {
    let during = "opening the store for reading";
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| fault(during, error))?;
    connection.set_prepared_statement_cache_capacity(128);
    pragmas(
        &connection,
        &[("query_only", "on"), ("cache_size", "-4096")],
    )?;
    Ok(connection)
}
