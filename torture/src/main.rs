//! The fault harness: drives the real server over HTTP while it is killed, while its disk is cut
//! off, fails or is full, and after its files were damaged, and compares what is left with a ledger
//! of what was acknowledged.
//!
//! `cargo xtask torture` builds the programs and starts it. It knows HTTP, files and processes
//! alone. The ledger is in this process, which no campaign harms.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a terminal program: what it prints is what it is for"
)]

mod campaigns;
mod client;
mod comparison;
mod event_stream;
mod figures;
mod http;
mod ledger;
mod load;
mod mounts;
// The same numbers as the fuzzer's, from the same source.
#[path = "../../fuzz/src/rng.rs"]
mod rng;
mod scratch;
mod server;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use campaigns::{Campaign, Run};
use figures::Figures;
use scratch::Scratch;

/// Why the run could not go on.
type Failure = Box<dyn std::error::Error + Send + Sync>;
/// What every fallible function here returns.
type Result<T> = std::result::Result<T, Failure>;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    /// The program of the server.
    server: PathBuf,
    /// Where the data folders go; removed at the end.
    folder: PathBuf,
    /// The campaigns, in the order in which they run.
    campaigns: Vec<Campaign>,
    /// How long each campaign runs.
    span: Duration,
    /// What decides the moments and the faults.
    seed: u64,
    /// Whether one line of JSON is printed to the standard output, and the rest to the other one.
    is_json: bool,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let (mut server, mut folder) = (None, None);
        let (mut campaigns, mut minutes, mut seed) = (Vec::new(), 1.0_f64, 1);
        let mut is_json = false;
        while let Some(word) = words.next() {
            if word == "--json" {
                is_json = true;
                continue;
            }
            let value = words
                .next()
                .ok_or_else(|| format!("`{word}` has no value"))?;
            match word.as_str() {
                "--server" => server = Some(PathBuf::from(value)),
                "--folder" => folder = Some(PathBuf::from(value)),
                "--campaign" => campaigns.push(Campaign::named(&value)?),
                "--minutes" => minutes = value.parse()?,
                "--seed" => seed = value.parse()?,
                _ => return Err(format!("there is no option `{word}`").into()),
            }
        }
        if campaigns.is_empty() {
            campaigns = Campaign::ALL.to_vec();
        }
        Ok(Self {
            // It is started in another folder.
            server: std::path::absolute(server.ok_or("--server names no program")?)?,
            folder: folder.ok_or("--folder names no folder")?,
            campaigns,
            span: Duration::try_from_secs_f64(minutes * 60.0)?,
            seed,
            is_json,
        })
    }
}

fn main() -> ExitCode {
    let outcome = Options::read(std::env::args().skip(1)).and_then(|options| run(&options));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the campaigns one after another; true where none failed.
fn run(options: &Options) -> Result<bool> {
    let scratch = Scratch::new(&options.folder)?;
    // Before any thread is started: mounts are of a thread and of what it starts.
    let mounts = mounts::own_namespace();
    let mut all = Vec::new();
    for campaign in &options.campaigns {
        let run = Run {
            server: &options.server,
            folder: scratch.path(),
            span: options.span,
            seed: options.seed,
            mounts: &mounts,
        };
        let figures = campaigns::run(*campaign, &run)?;
        if options.is_json {
            eprintln!("{figures}");
        } else {
            println!("{figures}");
        }
        all.push(figures);
    }
    let is_clean = all.iter().all(Figures::is_clean);
    if options.is_json {
        println!("{}", figures::json(options.seed, &all));
    } else {
        println!(
            "torture: {}",
            if is_clean { "nothing failed" } else { "failed" }
        );
    }
    Ok(is_clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_an_unknown_one_is_named() {
        let words = |text: &str| Options::read(text.split(' ').map(str::to_owned));
        let options = words("--server s --folder f --minutes 0.5 --seed 7").unwrap();
        assert_eq!((options.span, options.seed), (Duration::from_secs(30), 7));
        assert_eq!(options.campaigns, Campaign::ALL);
        let options = words("--server s --folder f --json --campaign io").unwrap();
        assert_eq!(
            (options.campaigns, options.is_json),
            (vec![Campaign::Io], true)
        );
        let failure = words("--fast 1").unwrap_err().to_string();
        assert_eq!(failure, "there is no option `--fast`");
        let failure = words("--campaign flood").unwrap_err().to_string();
        assert_eq!(
            failure,
            "there is no campaign `flood`; there are power, kill, damage, full, io"
        );
        assert!(words("--folder f").is_err());
    }
}
