//! The benchmark: the server as its users run it, beside what the machine itself can do.
//! It prints figures and judges them against the targets; it is no test and fails for no figure.
//!
//! `cargo xtask bench` builds the programs and starts it. The load generator runs on one thread,
//! so that on two cores the server has the other one.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a terminal program: what it prints is what it is for"
)]

mod agent_enclosure;
mod backups;
mod browser;
mod command_files;
mod connectors;
mod directories;
mod entry_pages;
mod exports;
mod http_client;
mod machine;
mod measure;
mod nginx;
mod overload;
mod peer_lookups;
mod posts;
mod result_table;
mod room_listing;
mod row_groups;
mod saves;
mod searches;
mod seeded_store;
mod served_files;
mod server;
mod sessions;
mod sse_client;
mod startup;
mod streams;
mod timeouts;
mod tool_servers;
mod transcripts;
mod turns;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use measure::MeasuringTime;
use row_groups::RowGroup;

/// Why the run could not go on.
type Failure = Box<dyn std::error::Error + Send + Sync>;
/// What everything here answers that can fail.
type Result<T> = std::result::Result<T, Failure>;

/// How much of everything.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Rooms the caller belongs to.
    rooms: usize,
    /// Entries in the large room of the full store.
    entries: u64,
    /// Open streams.
    streams: usize,
    /// Sessions with agents.
    sessions: usize,
    /// How long each row is measured.
    span: MeasuringTime,
}

impl Scale {
    /// What the targets are about.
    const FULL: Self = Self {
        rooms: 1_000,
        entries: 1_000_000,
        streams: 2_000,
        sessions: 1_000,
        span: MeasuringTime {
            warm_up: Duration::from_secs(1),
            measured: Duration::from_secs(6),
        },
    };

    /// A quick look while something is being built.
    const QUICK: Self = Self {
        rooms: 1_000,
        entries: 50_000,
        streams: 500,
        sessions: 200,
        span: MeasuringTime {
            warm_up: Duration::from_millis(300),
            measured: Duration::from_millis(1_500),
        },
    };
}

/// What the command line asks for.
#[derive(Debug)]
struct BenchArgs {
    /// The release build of the server.
    server: PathBuf,
    /// The stripped build, whose size is told.
    dist: Option<PathBuf>,
    /// The program that files and previews are measured beside.
    nginx: Option<PathBuf>,
    /// Where the data folders go, on the disk to be measured; removed at the end.
    folder: PathBuf,
    scale: Scale,
    /// The rows of this group and no others.
    only: Option<RowGroup>,
    is_json: bool,
}

impl BenchArgs {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let (mut server, mut dist, mut nginx, mut folder) = (None, None, None, None);
        let (mut scale, mut only, mut is_json) = (Scale::FULL, None, false);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--server" => server = words.next().map(PathBuf::from),
                "--dist" => dist = words.next().map(PathBuf::from),
                "--nginx" => nginx = words.next().map(PathBuf::from),
                "--folder" => folder = words.next().map(PathBuf::from),
                "--only" => {
                    let name = words.next().ok_or("--only names no rows")?;
                    only = Some(RowGroup::by_name(&name)?);
                }
                "--quick" => scale = Scale::QUICK,
                "--json" => is_json = true,
                _ => return Err(format!("there is no option `{word}`").into()),
            }
        }
        Ok(Self {
            server: server.ok_or("--server names no program")?,
            dist,
            nginx,
            folder: folder.ok_or("--folder names no folder")?,
            scale,
            only,
            is_json,
        })
    }
}

fn main() -> ExitCode {
    // Whoever started one of these reads what it says; there is nobody to tell of a failure.
    match std::env::args().nth(1).as_deref() {
        Some(tool_servers::WORD) => {
            let _ = tool_servers::serve();
            return ExitCode::SUCCESS;
        }
        Some(peer_lookups::WORD) => {
            let _ = peer_lookups::hold(std::env::args().nth(2).as_deref());
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let outcome = BenchArgs::read(std::env::args().skip(1)).and_then(|ask| {
        raise_descriptor_limit()?;
        let folder = RunFolder::new(&ask.folder)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(run(&ask, &folder.0))
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run(ask: &BenchArgs, folder: &Path) -> Result<()> {
    let busy_before = machine::load_average();
    let mut rows = row_groups::run_groups(ask, folder).await?;
    if let Some(dist) = &ask.dist {
        rows.push(startup::size(dist)?);
    }
    let busy_after = machine::load_average();
    let machine = machine::description(folder);
    if ask.is_json {
        let answer = serde_json::json!({
            "rows": result_table::json(&rows),
            "machine": machine,
            "loadAverage": { "before": busy_before, "after": busy_after },
        });
        println!("{answer}");
    } else {
        println!("\n{}", result_table::text(&rows));
        println!("machine: {machine}");
        println!("load average before: {busy_before}, after: {busy_after}");
    }
    Ok(())
}

/// The folder of the run, gone when dropped.
struct RunFolder(PathBuf);

impl RunFolder {
    fn new(path: &Path) -> Result<Self> {
        let path = path.join(format!("bench-data-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What cannot be removed lies beside the build's own files and goes with them.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Tells on the error output what is being done, so that the standard output is figures alone.
fn say(what: &str) {
    eprintln!("  measuring: {what}");
}

/// A failure of the store, which has no sentence of its own here.
fn broken(error: guildhall_domain::Error) -> Failure {
    match error {
        guildhall_domain::Error::Fault(fault) => fault.into(),
        refused => format!("the store refused: {refused:?}").into(),
    }
}

/// How many descriptors this process may have.
fn descriptor_limit() -> usize {
    use rustix::process::{Resource, getrlimit};
    let limit = getrlimit(Resource::Nofile).current;
    limit
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(usize::MAX)
}

/// Each open stream is a descriptor here as well, and two where nobody serves.
fn raise_descriptor_limit() -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )?;
    Ok(())
}
