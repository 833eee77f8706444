//! Full: the file system below the data fills up while the server works, and is freed again.
//!
//! A file beside the data takes the room, and takes again whatever becomes free, until changes are
//! refused. Reads go on meanwhile; once the file is gone, changes are taken again.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
    time::{Duration, Instant},
};

use rustix::fs::{FallocateFlags, fallocate, ftruncate};

use crate::{
    Result,
    campaigns::{Run, Series, is_before},
    comparison::Finding,
    figures::Figures,
    http::Connection,
    ledger::{Ledger, Phase, locked},
    load,
    mounts::{Disk, FileSystem},
    rng::Rng,
    server::Server,
};

/// Times that one file system is filled.
const FILLS_OF_A_DISK: usize = 6;
/// Refused posts that are waited for on a full disk, and how long.
const REFUSALS_MIN: u64 = 20;
const REFUSALS_WAIT: Duration = Duration::from_secs(10);
/// How long a freed disk may take until changes are taken again.
const HEALING_MAX: Duration = Duration::from_secs(20);
/// Acknowledgements that show it.
const HEALED_MIN: u64 = 10;
/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Bytes that are taken at once, the largest first.
const STEPS: [u64; 4] = [16 << 20, 1 << 20, 64 << 10, 4 << 10];
/// The most bytes that are left at first.
const LEFT_BYTES_MAX: usize = 2 << 20;
/// How often the server is killed while the disk is full, in percent.
const KILLED_FULL_PERCENT: usize = 30;
/// What a change may be refused with.
const REFUSAL: &str = "STORAGE_FULL";

/// Runs the campaign, or says why it cannot be run here.
///
/// # Errors
/// Why it could not go on.
pub(crate) fn run(run: &Run<'_>, mut figures: Figures) -> Result<Figures> {
    let kinds = [FileSystem::Memory, FileSystem::Ext4, FileSystem::Xfs];
    let usable = run.mounts.clone().and_then(|()| {
        let mut all = kinds.iter();
        let usable = all.try_for_each(|kind| Disk::make(*kind, run.folder).map(drop));
        usable.map_err(|failure| failure.to_string())
    });
    if let Err(why) = usable {
        return Ok(figures.skipped(format!("no small file system can be made here: {why}")));
    }
    let until = Instant::now() + run.span;
    for kind in kinds.into_iter().cycle() {
        if !is_before(until) {
            break;
        }
        let disk = Disk::make(kind, run.folder)?;
        let (series, server) = Series::open(run, &disk.at, Ledger::new(true))?;
        locked(&series.ledger).tolerated = &[REFUSAL];
        let mut server = Some(server);
        for _ in 0..FILLS_OF_A_DISK {
            let Some(running) = server.take().filter(|_| is_before(until)) else {
                break;
            };
            server = fill(&series, &disk, running, &mut figures)?;
        }
        drop(server);
        series.close(&mut figures)?;
    }
    Ok(figures)
}

fn fill(
    series: &Series<'_>,
    disk: &Disk,
    mut server: Server,
    figures: &mut Figures,
) -> Result<Option<Server>> {
    let mut rng = series.begin(figures);
    let left = rng.below(LEFT_BYTES_MAX) as u64;
    let is_killed_full = rng.chance(KILLED_FULL_PERCENT);
    let load = Rng::of_attempt(rng.next(), 0);
    let mut ballast = Ballast::new(&disk.at)?;
    let outcome = load::run_beside(
        server.address,
        &series.workspace,
        &series.ledger,
        load,
        || {
            let outcome = fill_and_free(series, &server, &mut ballast, left, is_killed_full);
            series.set_phase(Phase::Breaking);
            if !server.kill() {
                locked(&series.ledger).found(format!(
                    "the server ended by itself: {}",
                    server.last_words()
                ));
            }
            outcome
        },
    );
    let filled = outcome?;
    figures.faults += u64::from(filled.refusals > 0);
    figures.count("posts refused", filled.refusals);
    figures.count("reads on a full disk", filled.reads);
    figures.count("killed while full", u64::from(is_killed_full));
    figures.take(filled.findings);
    ballast.free()?;
    Ok(series.restart(figures))
}

/// What a full disk came to.
struct Filled {
    refusals: u64,
    reads: u64,
    findings: Vec<Finding>,
}

fn fill_and_free(
    series: &Series<'_>,
    server: &Server,
    ballast: &mut Ballast,
    left: u64,
    is_killed_full: bool,
) -> Result<Filled> {
    let mut connection = Connection::new(server.address);
    let path = format!("/api/rooms/{}/entries?limit=50", series.workspace.room);
    let refused_before = locked(&series.ledger).posts_refused;
    let refusals = || locked(&series.ledger).posts_refused - refused_before;
    let mut filled = Filled {
        refusals: 0,
        reads: 0,
        findings: Vec::new(),
    };
    ballast.take_all()?;
    ballast.give_back(left)?;
    let until = Instant::now() + REFUSALS_WAIT;
    while refusals() < REFUSALS_MIN && is_before(until) {
        let read = connection.get(&path)?;
        filled.reads += 1;
        if read.status != 200 {
            let what = format!("a read on a full disk was answered {}", read.named());
            filled.findings.push(Finding::Violation(what));
        }
        load::pause(LOOK_EVERY);
        ballast.take_all()?;
    }
    filled.refusals = refusals();
    if is_killed_full {
        return Ok(filled);
    }
    ballast.free()?;
    let acknowledged = || locked(&series.ledger).acknowledgements;
    let goal = acknowledged() + HEALED_MIN;
    let until = Instant::now() + HEALING_MAX;
    while acknowledged() < goal && is_before(until) {
        load::pause(LOOK_EVERY);
    }
    if acknowledged() < goal {
        let what = format!(
            "{} s after the disk was freed no change is taken",
            HEALING_MAX.as_secs()
        );
        filled.findings.push(Finding::Violation(what));
    }
    Ok(filled)
}

/// A file that takes the room of a disk.
struct Ballast {
    file: File,
    bytes: u64,
}

impl Ballast {
    fn new(disk: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .open(disk.join("ballast"))?;
        Ok(Self { file, bytes: 0 })
    }

    /// Takes everything that is free.
    fn take_all(&mut self) -> io::Result<()> {
        for step in STEPS {
            loop {
                match fallocate(&self.file, FallocateFlags::empty(), self.bytes, step) {
                    Ok(()) => self.bytes += step,
                    Err(rustix::io::Errno::NOSPC) => break,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    fn give_back(&mut self, bytes: u64) -> io::Result<()> {
        self.bytes = self.bytes.saturating_sub(bytes);
        Ok(ftruncate(&self.file, self.bytes)?)
    }

    fn free(&mut self) -> io::Result<()> {
        self.give_back(self.bytes)
    }
}
