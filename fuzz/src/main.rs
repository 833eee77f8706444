//! The fuzzer: real servers, asked by every kind of caller for every operation of `openapi.json`
//! with malformed and random values, with bytes that are no HTTP, and beside peers that keep to no
//! protocol. It fails for a 5xx that is not documented, a hang, a panic, an end, and for growth.
//!
//! `cargo xtask fuzz` builds the programs and starts it. One server is in mode `local` and one in
//! mode `login`, at the same time, so that each is watched for the whole run.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a terminal program: what it prints is what it is for"
)]

mod callers;
mod findings;
mod fuzz_run;
mod hostile_programs;
mod hostile_server;
mod http_client;
mod json_values;
mod known_ids;
mod mcp_calls;
mod operations;
mod peer_exposure;
mod raw_http;
mod request_loops;
mod requests;
mod resource_usage;
mod rng;
mod server_under_test;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

/// Why the run could not go on.
type Failure = Box<dyn std::error::Error + Send + Sync>;
/// What everything here answers that can fail.
type Result<T> = std::result::Result<T, Failure>;

/// Seconds without an answer that are a hang, where nothing is documented to take longer.
const HANG_S: u64 = 5;

/// A run of at least so long has to send [`LONG_RUN_ATTEMPTS_MIN`] requests, and what the servers
/// hold may grow by its share alone.
const LONG_RUN: Duration = Duration::from_secs(15 * 60);
/// The least number of requests of a long run, unless `--attempts-min` says otherwise.
const LONG_RUN_ATTEMPTS_MIN: u64 = 100_000;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct FuzzArgs {
    /// The program of the server.
    server: PathBuf,
    /// Where the data folders go; removed at the end.
    folder: PathBuf,
    /// How long requests are sent.
    span: Duration,
    /// What decides the requests.
    seed: u64,
    /// The least number of requests that a run is worth.
    attempts_min: u64,
}

impl FuzzArgs {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let (mut server, mut folder) = (None, None);
        let (mut minutes, mut seed, mut attempts_min) = (1.0_f64, 1, None);
        while let Some(word) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("`{word}` has no value"))?;
            match word.as_str() {
                "--server" => server = Some(PathBuf::from(value)),
                "--folder" => folder = Some(PathBuf::from(value)),
                "--minutes" => minutes = value.parse()?,
                "--seed" => seed = value.parse()?,
                "--attempts-min" => attempts_min = Some(value.parse()?),
                _ => return Err(format!("there is no option `{word}`").into()),
            }
        }
        let span = Duration::try_from_secs_f64(minutes * 60.0)?;
        let least = if span >= LONG_RUN {
            LONG_RUN_ATTEMPTS_MIN
        } else {
            0
        };
        Ok(Self {
            // It is started in another folder.
            server: std::path::absolute(server.ok_or("--server names no program")?)?,
            folder: folder.ok_or("--folder names no folder")?,
            span,
            seed,
            attempts_min: attempts_min.unwrap_or(least),
        })
    }

    fn is_long_run(&self) -> bool {
        self.span >= LONG_RUN
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // Whoever started one of these reads what it says; there is nobody to tell of a failure.
    if let Some(word @ (hostile_programs::AGENT | hostile_programs::TOOL_SERVER)) =
        words.first().map(String::as_str)
    {
        let _ = hostile_programs::run(word, words.get(1).map(String::as_str));
        return ExitCode::SUCCESS;
    }
    let outcome = FuzzArgs::read(words.into_iter()).and_then(|ask| {
        let folder = RunFolder::new(&ask.folder)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(fuzz_run::run(&ask, &folder.0))
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the run, gone when dropped.
struct RunFolder(PathBuf);

impl RunFolder {
    fn new(path: &Path) -> Result<Self> {
        let path = path.join(format!("fuzz-data-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path.canonicalize()?))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What cannot be removed lies beside the build's own files and goes with them.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_an_unknown_one_is_named() {
        let words = |text: &str| {
            let words: Vec<_> = text.split(' ').map(str::to_owned).collect();
            FuzzArgs::read(words.into_iter())
        };
        let ask = words("--server s --folder f --minutes 0.5 --seed 7").unwrap();
        assert_eq!((ask.span, ask.seed), (Duration::from_secs(30), 7));
        let least = |text: &str| words(text).unwrap().attempts_min;
        assert_eq!(least("--server s --folder f --minutes 14.9"), 0);
        assert_eq!(least("--server s --folder f --minutes 15"), 100_000);
        assert_eq!(
            least("--server s --folder f --minutes 15 --attempts-min 7"),
            7
        );
        let failure = words("--fast 1").unwrap_err().to_string();
        assert_eq!(failure, "there is no option `--fast`");
        assert!(words("--folder f").is_err());
    }
}
