//! `cargo xtask torture`: kills the server, cuts, fills and fails its disk and damages its files,
//! and compares what is left with what was acknowledged.
//!
//! The server is a debug build; in a run of `ci` it is the one that was built for the tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result, WithContext};
use crate::{run, step, toolchain, tools, web};

/// The package and the binary of the harness.
const HARNESS: &str = "guildhall-torture";

/// How long each campaign runs in `ci`, in minutes: two in all.
const CI_MINUTES: &str = "0.4";

/// Runs one campaign or all of them, each for `--minutes`.
///
/// With `--broken` the server acknowledges changes before it commits them, and with `--unsynced` it
/// syncs its store only now and then: the campaigns have to fail then.
///
/// # Errors
/// The step that failed, in one sentence; what failed stands above it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::read(arguments)?;
    toolchain::check()?;
    tools::fault_programs();
    web::run()?;
    let mut selection = vec!["--package", "guildhall", "--package", HARNESS];
    if let Some(feature) = options.feature {
        selection.extend(["--features", feature]);
    }
    let mut server = run::built_server("server and harness: build", &selection)?;
    if options.feature.is_some() {
        server = set_apart(&server)?;
    }
    let mut harness = harness(&server)?;
    harness.args(&options.passed_on);
    if !options.passed_on.iter().any(|word| word == "--json") {
        return step::run("torture", &mut harness);
    }
    // Nothing follows its one line.
    let status = harness.status().with_context("start the harness")?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new("the step \"torture\" failed")),
    }
}

/// Runs all campaigns for two minutes, always with the same seed.
///
/// # Errors
/// The step's failure.
pub(crate) fn run_briefly(server: &Path) -> Result<()> {
    tools::fault_programs();
    let mut harness = harness(server)?;
    harness.args(["--minutes", CI_MINUTES]);
    step::run("torture", &mut harness)
}

/// Moves a server that breaks its promises on purpose to where nobody starts it by mistake.
fn set_apart(server: &Path) -> Result<PathBuf> {
    let apart = server.with_file_name("guildhall-broken");
    fs::rename(server, &apart).with_context(format!("move {}", server.display()))?;
    Ok(apart)
}

/// The harness, which was built with the server and so lies beside it.
fn harness(server: &Path) -> Result<Command> {
    let folder = server.parent().unwrap_or(Path::new("."));
    let program = folder.join(HARNESS);
    if !program.is_file() {
        let why = format!("there is no harness at {}", program.display());
        return Err(Failure::new(why));
    }
    let mut harness = Command::new(program);
    harness.arg("--server").arg(server);
    harness.arg("--folder").arg(folder);
    harness.stdin(Stdio::null());
    Ok(harness)
}

/// What follows the verb.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    /// What the harness is told as it stands.
    passed_on: Vec<String>,
    /// The feature of a server that breaks its promises on purpose.
    feature: Option<&'static str>,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(name) = arguments.next() {
            match name.as_str() {
                "--json" => options.passed_on.push(name.clone()),
                "--broken" => options.feature = Some("guildhall/acknowledge-early"),
                "--unsynced" => options.feature = Some("guildhall/sync-seldom"),
                "--campaign" | "--minutes" | "--seed" => {
                    let value = arguments.next().filter(|value| is_right(name, value));
                    let value = value.ok_or_else(|| refused(name))?;
                    options.passed_on.extend([name.clone(), value.clone()]);
                }
                _ => return Err(refused(name)),
            }
        }
        Ok(options)
    }
}

/// Whether an option can have that value; which campaigns there are the harness knows.
fn is_right(name: &str, value: &str) -> bool {
    match name {
        "--minutes" => value.parse::<f64>().is_ok(),
        "--seed" => value.parse::<u64>().is_ok(),
        _ => !value.starts_with("--"),
    }
}

fn refused(name: &str) -> Failure {
    Failure::new(format!(
        "`cargo xtask torture` takes --campaign with a name, --minutes and --seed with a number, \
         --json, --broken and --unsynced, not {name}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_option_is_named_before_anything_is_built() {
        let read = |text: &str| {
            let words: Vec<_> = text.split(' ').map(str::to_owned).collect();
            Options::read(&words)
        };
        let options = read("--campaign kill --minutes 0.5 --seed 7 --json --broken").unwrap();
        assert_eq!(
            options.passed_on.join(" "),
            "--campaign kill --minutes 0.5 --seed 7 --json"
        );
        assert_eq!(options.feature, Some("guildhall/acknowledge-early"));
        assert_eq!(Options::read(&[]).unwrap(), Options::default());
        for wrong in ["--fast", "--minutes soon", "--seed -1", "--campaign"] {
            let failure = read(wrong).unwrap_err().to_string();
            let name = wrong.split(' ').next().unwrap();
            assert!(failure.ends_with(&format!("not {name}")), "{failure}");
        }
    }
}
