//! `cargo xtask fuzz`: sends malformed requests to a server beside hostile peers.
//!
//! The server is a debug build, in which sums that overflow panic; in a run of `ci` it is the one
//! that was built for the tests.

use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::{run, step, toolchain, web};

/// The package and the binary of the fuzzer.
const FUZZER: &str = "guildhall-fuzz";

/// How long the fuzzer runs where nothing else is said, in minutes.
const MINUTES: &str = "1";

/// The fewest requests that such a run of `ci` is worth; two cores send 19,000, and 5,000 where
/// ten other programs want them too.
const CI_ATTEMPTS_MIN: &str = "3000";

/// Runs the fuzzer for `--minutes`, with the requests that `--seed` decides.
///
/// # Errors
/// The step that failed, in one sentence; what failed stands above it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::read(arguments)?;
    toolchain::check()?;
    web::run()?;
    let selection = ["--package", "guildhall", "--package", FUZZER];
    let server = run::built_server("server and fuzzer: build", &selection)?;
    let mut fuzzer = fuzzer(&server)?;
    fuzzer.args(["--minutes", &options.minutes]);
    if let Some(seed) = &options.seed {
        fuzzer.args(["--seed", seed]);
    }
    step::run("fuzz", &mut fuzzer)
}

/// Runs it for a minute, always with the same seed, so that what turns red is the change's.
///
/// # Errors
/// The step's failure.
pub(crate) fn run_briefly(server: &Path) -> Result<()> {
    let mut fuzzer = fuzzer(server)?;
    fuzzer.args(["--minutes", MINUTES, "--attempts-min", CI_ATTEMPTS_MIN]);
    step::run("fuzz", &mut fuzzer)
}

/// The fuzzer, which was built with the server and so lies beside it.
fn fuzzer(server: &Path) -> Result<Command> {
    let folder = server.parent().unwrap_or(Path::new("."));
    let program = folder.join(FUZZER);
    if !program.is_file() {
        let why = format!("there is no fuzzer at {}", program.display());
        return Err(Failure::new(why));
    }
    let mut fuzzer = Command::new(program);
    fuzzer.arg("--server").arg(server);
    fuzzer.arg("--folder").arg(folder);
    Ok(fuzzer)
}

/// What follows the verb.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    minutes: String,
    seed: Option<String>,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            minutes: MINUTES.to_owned(),
            seed: None,
        };
        for pair in arguments.chunks(2) {
            match pair {
                [name, value] if name == "--minutes" && value.parse::<f64>().is_ok() => {
                    options.minutes.clone_from(value);
                }
                [name, value] if name == "--seed" && value.parse::<u64>().is_ok() => {
                    options.seed = Some(value.clone());
                }
                other => {
                    let why = format!(
                        "`cargo xtask fuzz` takes --minutes and --seed, each with a number, not {}",
                        other.join(" ")
                    );
                    return Err(Failure::new(why));
                }
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_without_a_number_is_named_before_anything_is_built() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let options = Options::read(&words("--minutes 0.5 --seed 7")).unwrap();
        assert_eq!(options.seed.as_deref(), Some("7"));
        assert_eq!(Options::read(&[]).unwrap().minutes, MINUTES);
        for wrong in ["--fast", "--minutes", "--minutes soon", "--seed -1"] {
            let failure = Options::read(&words(wrong)).unwrap_err().to_string();
            assert!(failure.ends_with(&format!("not {wrong}")), "{failure}");
        }
    }
}
