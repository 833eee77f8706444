//! The campaigns: each makes one kind of fault again and again, for as long as it is told.

mod damage;
mod full;
mod io;
mod kill;
mod power;

use std::{
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::{
    Result,
    comparison::{Extent, compare},
    figures::Figures,
    ledger::{Ledger, Phase, locked},
    mounts::Mounts,
    rng::Rng,
    server::{Installation, Server, Workspace},
};

/// A campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Campaign {
    /// The disk is cut off as a loss of power does.
    Power,
    /// The process is killed.
    Kill,
    /// Files are damaged.
    Damage,
    /// The disk is full.
    Full,
    /// Calls of the system fail.
    Io,
}

impl Campaign {
    /// All, in the order in which they run.
    pub(crate) const ALL: [Self; 5] = [Self::Power, Self::Kill, Self::Damage, Self::Full, Self::Io];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Power => "power",
            Self::Kill => "kill",
            Self::Damage => "damage",
            Self::Full => "full",
            Self::Io => "io",
        }
    }

    /// The campaign of that name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no campaign `{name}`; there are {names}").into()
        })
    }

    /// What its faults are called.
    pub(crate) fn faults_word(self) -> &'static str {
        match self {
            Self::Power => "cuts",
            Self::Kill => "kills",
            Self::Damage => "damages",
            Self::Full => "full disks",
            Self::Io => "failed calls",
        }
    }

    /// The fewest faults of a minute that a run is worth, also where ten other programs want the
    /// processor.
    fn faults_per_minute_min(self) -> f64 {
        match self {
            Self::Power | Self::Kill => 4.0,
            Self::Damage | Self::Full | Self::Io => 2.0,
        }
    }
}

/// What a campaign is run with.
pub(crate) struct Run<'a> {
    /// The program of the server.
    pub(crate) server: &'a Path,
    /// Where its folders go.
    pub(crate) folder: &'a Path,
    pub(crate) span: Duration,
    pub(crate) seed: u64,
    pub(crate) mounts: &'a Mounts,
}

/// Runs a campaign.
///
/// # Errors
/// Why it could not go on.
pub(crate) fn run(campaign: Campaign, run: &Run<'_>) -> Result<Figures> {
    let minutes = run.span.as_secs_f64() / 60.0;
    let floor = (campaign.faults_per_minute_min() * minutes).max(1.0);
    let figures = Figures::new(campaign, run.seed, floor as u64);
    match campaign {
        Campaign::Power => power::run(run, figures),
        Campaign::Kill => kill::run(run, figures),
        Campaign::Damage => damage::run(run, figures),
        Campaign::Full => full::run(run, figures),
        Campaign::Io => io::run(run, figures),
    }
}

/// One data folder with its ledger, over several faults.
struct Series<'a> {
    run: &'a Run<'a>,
    installation: Installation,
    workspace: Workspace,
    ledger: Mutex<Ledger>,
}

impl<'a> Series<'a> {
    /// Makes an installation on `disk`, starts its server and makes a room and an agent.
    fn open(run: &'a Run<'a>, disk: &Path, ledger: Mutex<Ledger>) -> Result<(Self, Server)> {
        let installation =
            Installation::make(run.server, disk.to_owned(), run.folder.join("beside"))?;
        let server = installation.start()?;
        let workspace = server.furnish(&installation)?;
        let series = Self {
            run,
            installation,
            workspace,
            ledger,
        };
        Ok((series, server))
    }

    /// The random numbers of the attempt that begins.
    fn begin(&self, figures: &mut Figures) -> Rng {
        figures.attempts += 1;
        Rng::of_attempt(self.run.seed, figures.attempts)
    }

    fn set_phase(&self, phase: Phase) {
        locked(&self.ledger).phase = phase;
    }

    /// Starts the server again and compares; `None` where it does not start or does not answer,
    /// which is held against it.
    fn restart(&self, figures: &mut Figures) -> Option<Server> {
        let server = match self.installation.start() {
            Ok(server) => server,
            Err(failure) => {
                figures.violated(failure.to_string());
                return None;
            }
        };
        self.compare(&server, figures).then_some(server)
    }

    /// Compares what a server has with the ledger; false where it does not answer.
    fn compare(&self, server: &Server, figures: &mut Figures) -> bool {
        let mut ledger = locked(&self.ledger);
        ledger.phase = Phase::Working;
        figures.take(ledger.take_findings());
        let compared = compare(
            server.address,
            &self.installation,
            &self.workspace,
            &mut ledger,
            Extent::Whole,
        );
        if let Some(panic) = server.panic() {
            figures.violated(format!("a panic: {panic}"));
        }
        match compared {
            Ok(findings) => figures.take(findings),
            Err(failure) => {
                figures.violated(format!("{failure}; its log: {}", server.last_words()));
                return false;
            }
        }
        true
    }

    /// Adds what was acknowledged to the figures, and removes the data folder.
    fn close(self, figures: &mut Figures) -> Result<()> {
        figures.acknowledgements += locked(&self.ledger).acknowledgements;
        for name in ["data", "work", "links"] {
            std::fs::remove_dir_all(self.installation.disk.join(name))?;
        }
        Ok(())
    }
}

/// Whether there is time left.
fn is_before(until: Instant) -> bool {
    Instant::now() < until
}

/// A time below that many milliseconds.
fn millis_below(rng: &mut Rng, end: usize) -> Duration {
    Duration::from_micros(u64::try_from(rng.below(end * 1_000)).unwrap_or_default())
}
