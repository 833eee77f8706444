//! The writer: one thread, one connection, jobs committed in groups.
//! What waits together is committed together, so that one sync of the disk serves many; a
//! failed commit is never retried on the same handle, because the kernel may have dropped
//! the pages it could not write.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use guildhall_domain::{Error, Fault, Refusal, Result, errors::FaultKind};
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use crate::{
    CheckDepth, WRITES_QUEUED_MAX,
    damage::Damage,
    events::{self, LogEnd},
    integrity_check, pragmas, search,
    sqlite_faults::fault,
    transactions::Tx,
};

/// Jobs one commit takes at most.
pub(crate) const GROUP_MAX: usize = 512;
/// How long the emptying of the write-ahead log waits for readers of older pages.
const EMPTYING_PATIENCE: Duration = Duration::from_millis(250);
/// When the engine syncs the write-ahead log: at each commit.
#[cfg(not(feature = "sync-seldom"))]
const SYNCHRONOUS: &str = "full";
/// When a server that is to lose changes does: at checkpoints alone.
#[cfg(feature = "sync-seldom")]
const SYNCHRONOUS: &str = "normal";
/// When it is tried again, if they did not end.
const EMPTYING_AGAIN: Duration = Duration::from_secs(1);
/// How long readers of older pages are waited for when the store is verified.
const VERIFYING_PATIENCE: Duration = Duration::from_secs(2);

/// A change on its way: it runs once in a savepoint of a group, and hears of the commit.
trait WriteJob: Send {
    /// Makes the change.
    fn run(&mut self, tx: &mut Tx<'_>) -> JobOutcome;

    /// Tells the caller, after the group's commit or its failure.
    fn tell(self: Box<Self>, committed: Result<(), Fault>);
}

type BoxedWriteJob = Box<dyn WriteJob>;

/// What running a change came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JobOutcome {
    /// It stays.
    Kept,
    /// It was refused.
    Refused,
    /// The engine failed it.
    Failed(FaultKind),
}

/// A change with the caller who waits for it.
struct PendingJob<T, F> {
    /// What to do; taken when it runs.
    job: Option<F>,
    /// What it came to; `None` until it ran, and when it panicked.
    outcome: Option<Result<T>>,
    answer: oneshot::Sender<Result<T>>,
}

impl<T, F> WriteJob for PendingJob<T, F>
where
    T: Send,
    F: FnOnce(&mut Tx<'_>) -> Result<T> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> JobOutcome {
        self.outcome = self.job.take().map(|job| job(tx));
        match &self.outcome {
            Some(Ok(_)) => JobOutcome::Kept,
            Some(Err(Error::Fault(fault))) => JobOutcome::Failed(fault.kind),
            Some(Err(Error::Refusal(_) | Error::Repeated(_))) | None => JobOutcome::Refused,
        }
    }

    fn tell(self: Box<Self>, committed: Result<(), Fault>) {
        let outcome = self.outcome.unwrap_or_else(|| {
            Err(Fault::broken("making a change", "it panicked and was rolled back").into())
        });
        // A caller that went away no longer wants its answer.
        let _ = self.answer.send(committed.map_err(Into::into).and(outcome));
    }
}

pub(crate) struct Writer {
    jobs: Option<Sender<BoxedWriteJob>>,
    thread: Option<std::thread::JoinHandle<()>>,
    commits: Arc<AtomicU64>,
    changes: Arc<AtomicU64>,
}

impl Writer {
    pub(crate) fn start(
        path: &Path,
        connection: Connection,
        log: LogEnd,
        head: watch::Sender<u64>,
        damage: Damage,
    ) -> Result<Self, Fault> {
        let (sender, jobs) = bounded(WRITES_QUEUED_MAX);
        let (commits, changes) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let desk = WriterState {
            path: path.to_owned(),
            connection: Some(connection),
            log,
            head,
            commits: Arc::clone(&commits),
            changes: Arc::clone(&changes),
            damage,
            must_verify: false,
            must_empty: false,
            emptying_tried: None,
        };
        let thread = std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || desk.serve(&jobs))
            .map_err(|error| Fault::broken("starting the writer thread", error))?;
        Ok(Self {
            jobs: Some(sender),
            thread: Some(thread),
            commits,
            changes,
        })
    }

    /// Commits since the start.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Commits since the start that changed a row.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    pub(crate) fn submit<T, F>(
        &self,
        job: F,
        answer: oneshot::Sender<Result<T>>,
    ) -> Result<(), Refusal>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        let job: BoxedWriteJob = Box::new(PendingJob {
            job: Some(job),
            outcome: None,
            answer,
        });
        let Some(jobs) = &self.jobs else {
            return Err(Refusal::ShuttingDown);
        };
        jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => Refusal::Overloaded,
            TrySendError::Disconnected(_) => Refusal::ShuttingDown,
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // The thread ends once its queue is empty; it holds nothing a panic could corrupt.
            let _ = thread.join();
        }
    }
}

/// Empties the write-ahead log the last run left, whose pages may hold what was to be forgotten.
pub(crate) fn empty_left_log(connection: &Connection) -> Result<(), Fault> {
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .map_err(|error| fault("emptying the write-ahead log", error))
}

/// The writer thread's own state.
struct WriterState {
    path: PathBuf,
    /// `None` after a failed commit, until it could be reopened.
    connection: Option<Connection>,
    log: LogEnd,
    head: watch::Sender<u64>,
    commits: Arc<AtomicU64>,
    changes: Arc<AtomicU64>,
    damage: Damage,
    /// Whether the disk failed a commit, so that the store must be verified before the next one.
    must_verify: bool,
    /// Whether the write-ahead log still holds pages that must be forgotten.
    must_empty: bool,
    /// When that was last tried.
    emptying_tried: Option<Instant>,
}

impl WriterState {
    fn serve(mut self, jobs: &Receiver<BoxedWriteJob>) {
        loop {
            let first = if self.must_empty {
                jobs.recv_timeout(EMPTYING_AGAIN)
            } else {
                jobs.recv().map_err(RecvTimeoutError::from)
            };
            match first {
                Ok(first) => {
                    let group = std::iter::once(first)
                        .chain(jobs.try_iter())
                        .take(GROUP_MAX);
                    self.commit(group);
                    self.empty_log_if_due();
                }
                Err(RecvTimeoutError::Timeout) => self.empty_log(Duration::ZERO),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn commit(&mut self, group: impl Iterator<Item = BoxedWriteJob>) {
        if let Err(fault) = self.damage.require_none() {
            return fail(group.collect(), &fault);
        }
        let connection = match self.connection() {
            Ok(connection) => connection,
            Err(fault) => return self.give_up(group.collect(), &fault),
        };
        let rows_changed = connection.total_changes();
        let mut log = self.log;
        let mut taken = Vec::new();
        let forgets = match run_group(&connection, &mut log, group, &mut taken) {
            Ok(forgets) => forgets,
            Err(fault) => return self.give_up(taken, &fault),
        };
        if connection.total_changes() != rows_changed {
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
        self.connection = Some(connection);
        if forgets {
            // Before the answers leave, so that who hears of it can rely on it.
            self.must_empty = true;
            self.empty_log(EMPTYING_PATIENCE);
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        // Moved before the answers leave, so that whoever hears an answer finds its event.
        self.move_head(log);
        // Damage that a reader or a check noticed meanwhile: from the notice on, nothing is
        // acknowledged.
        if let Err(fault) = self.damage.require_none() {
            return fail(taken, &fault);
        }
        for job in taken {
            job.tell(Ok(()));
        }
    }

    /// Tells every caller of a group that its commit failed, and remembers what must come before
    /// the next one.
    fn give_up(&mut self, jobs: Vec<BoxedWriteJob>, fault: &Fault) {
        match fault.kind {
            FaultKind::StoreDamaged => self.damage.notice(&ErrorChain(fault).to_string()),
            FaultKind::StorageIo => self.must_verify = true,
            _ => {}
        }
        tracing::error!(
            error = ErrorChain(fault).to_string(),
            "a commit failed; the store is reopened"
        );
        fail(jobs, fault);
    }

    /// Tries again where the last try is a while ago: a busy store never rests long enough for
    /// the timeout alone.
    fn empty_log_if_due(&mut self) {
        let is_due = self
            .emptying_tried
            .is_none_or(|tried| tried.elapsed() >= EMPTYING_AGAIN);
        if self.must_empty && is_due {
            self.empty_log(Duration::ZERO);
        }
    }

    /// Writes the log's pages to their places and cuts it to nothing, so that it holds no page
    /// as it was before; waits as long as `patience` for readers that still need older ones, and
    /// is tried again later without waiting, so that one slow reader does not hold up others.
    fn empty_log(&mut self, patience: Duration) {
        let Some(connection) = &self.connection else {
            return;
        };
        if self.damage.require_none().is_err() {
            return;
        }
        self.emptying_tried = Some(Instant::now());
        let emptied = connection
            .busy_timeout(patience)
            .and_then(|()| {
                let is_busy = |row: &rusqlite::Row<'_>| row.get::<_, bool>(0);
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], is_busy)
            })
            .map(|is_busy| !is_busy);
        match emptied {
            Ok(is_empty) => self.must_empty = !is_empty,
            Err(error) => tracing::warn!(?error, "the write-ahead log could not be emptied"),
        }
    }

    fn move_head(&mut self, log: LogEnd) {
        self.log = log;
        self.head
            .send_if_modified(|seq| std::mem::replace(seq, log.seq) != log.seq);
    }

    /// Takes the connection, reopening the store when the last commit failed, and verifying it
    /// when the disk was why.
    fn connection(&mut self) -> Result<Connection, Fault> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let reopen = || -> Result<_, Fault> {
            let connection = connect(&self.path)?;
            if self.must_verify {
                verify(&connection)?;
            }
            let log = events::log_end(&connection)?;
            Ok((connection, log))
        };
        let (connection, log) = reopen().map_err(|fault| {
            let kind = match fault.kind {
                FaultKind::StoreDamaged | FaultKind::StorageIo => fault.kind,
                _ => FaultKind::Unavailable,
            };
            Fault::new(kind, "reopening the store", fault)
        })?;
        if std::mem::take(&mut self.must_verify) {
            tracing::warn!("the store was verified after an I/O error and takes changes again");
        }
        // What a failed commit wrote may have survived it.
        self.move_head(log);
        Ok(connection)
    }
}

/// Writes everything in the write-ahead log to its place and syncs it there, then checks the
/// file: after a failed sync the kernel may hold pages of the log that never reached the disk,
/// and a commit behind them would not outlive a power cut.
fn verify(connection: &Connection) -> Result<(), Fault> {
    let is_busy = |row: &rusqlite::Row<'_>| row.get::<_, bool>(0);
    let is_busy = connection
        .busy_timeout(VERIFYING_PATIENCE)
        .and_then(|()| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], is_busy))
        .map_err(|error| fault("emptying the write-ahead log", error))?;
    if is_busy {
        return Err(Fault::new(
            FaultKind::StorageIo,
            "emptying the write-ahead log",
            "readers of older pages did not end in time",
        ));
    }
    integrity_check::require_whole(connection, CheckDepth::Quick)
}

/// Tells every caller of a group that its change failed.
fn fail(jobs: Vec<BoxedWriteJob>, fault: &Fault) {
    let why = ErrorChain(fault).to_string();
    for job in jobs {
        job.tell(Err(Fault::new(fault.kind, fault.during, why.clone())));
    }
}

/// Runs the jobs in one transaction and commits it; `taken` holds every job that was taken
/// from the queue, also when the commit fails. Says whether old pages must be forgotten.
fn run_group(
    connection: &Connection,
    log: &mut LogEnd,
    group: impl Iterator<Item = BoxedWriteJob>,
    taken: &mut Vec<BoxedWriteJob>,
) -> Result<bool, Fault> {
    let mut forgets = false;
    let begun = statement(connection, "BEGIN IMMEDIATE");
    for mut job in group {
        let ran = match &begun {
            Ok(()) => run_job(connection, log, job.as_mut()),
            Err(_) => Ok(false),
        };
        taken.push(job);
        forgets |= ran?;
    }
    begun?;
    if log.entry_number > log.indexed_to {
        search::index_above(connection, log.indexed_to)?;
        log.indexed_to = log.entry_number;
    }
    #[cfg(feature = "acknowledge-early")]
    acknowledge_early(taken);
    statement(connection, "COMMIT")?;
    Ok(forgets)
}

/// Answers before the commit, and waits until the answers have come: what no server may do.
#[cfg(feature = "acknowledge-early")]
fn acknowledge_early(taken: &mut Vec<BoxedWriteJob>) {
    const BEFORE_COMMIT: Duration = Duration::from_millis(20);
    for job in taken.drain(..) {
        job.tell(Ok(()));
    }
    std::thread::park_timeout(BEFORE_COMMIT);
}

/// Runs one job in its savepoint, which a refusal or panic takes back. Says whether old pages
/// must be forgotten.
fn run_job(
    connection: &Connection,
    log: &mut LogEnd,
    job: &mut dyn WriteJob,
) -> Result<bool, Fault> {
    statement(connection, "SAVEPOINT job")?;
    let mut end = *log;
    let mut forgets = false;
    let mut damage = None;
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut tx = Tx::new(connection, &mut end);
        let ran = job.run(&mut tx);
        forgets = tx.forgets_pages();
        damage = tx.take_damage();
        ran
    }));
    if let Some(why) = damage {
        // Whatever the job made of it: nothing is built on what cannot be read.
        return Err(Fault::new(
            FaultKind::StoreDamaged,
            "committing to the store",
            why,
        ));
    }
    if let Ok(JobOutcome::Failed(kind)) = ran
        && (connection.is_autocommit() || kind == FaultKind::StorageIo)
    {
        // On a full disk the engine gives up the whole transaction, not the statement alone.
        return Err(Fault::new(
            kind,
            "committing to the store",
            "the transaction was given up",
        ));
    }
    if matches!(ran, Ok(JobOutcome::Kept)) {
        *log = end;
    } else {
        statement(connection, "ROLLBACK TO job")?;
    }
    if ran.is_err() {
        tracing::error!("a change panicked; it was rolled back");
    }
    statement(connection, "RELEASE job")?;
    Ok(forgets && matches!(ran, Ok(JobOutcome::Kept)))
}

fn statement(connection: &Connection, sql: &str) -> Result<(), Fault> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute([]))
        .map(|_| ())
        .map_err(|error| fault("committing to the store", error))
}

pub(crate) fn connect(path: &Path) -> Result<Connection, Fault> {
    let connection =
        Connection::open(path).map_err(|error| fault("opening the store for writing", error))?;
    connection.set_prepared_statement_cache_capacity(128);
    pragmas(
        &connection,
        &[
            ("journal_mode", "wal"),
            ("synchronous", SYNCHRONOUS),
            ("foreign_keys", "on"),
            // What is taken out is overwritten, and does not linger in free pages.
            ("secure_delete", "on"),
            ("cache_size", "-8192"),
            ("wal_autocheckpoint", "2000"),
            ("journal_size_limit", "67108864"),
        ],
    )?;
    Ok(connection)
}

/// A fault with everything beneath it, on one line.
struct ErrorChain<'a>(&'a Fault);

impl std::fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = std::error::Error::source(self.0);
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
