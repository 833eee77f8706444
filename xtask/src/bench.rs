//! `cargo xtask bench`: builds the server as people run it, and the load generator that measures it.
//!
//! The generator is a package of its own, because what it needs would slow every other command.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::{run, step, toolchain, tools, web};

/// The package of the load generator.
const GENERATOR: &str = "guildhall-bench";

/// Measures every row of docs/benchmarks.md.
///
/// `--quick` shrinks the work for a first look and leaves the `dist` build out; `--json` prints
/// the table as one line of JSON, the last one; `--only` and a name measure one group of rows.
///
/// # Errors
/// The step that failed, in one sentence; a target that is not reached is no error.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::read(arguments)?;
    toolchain::check()?;
    web::run()?;
    let release = ["--release", "--package", "guildhall"];
    let server = run::built_server("server: release build", &release)?;
    let folder = server.parent().unwrap_or(Path::new("."));
    let mut generator = tools::cargo(&["run", "--release", "--package", GENERATOR, "--"]);
    generator.arg("--server").arg(&server);
    generator.arg("--folder").arg(folder);
    if let Some(nginx) = tools::nginx() {
        generator.arg("--nginx").arg(nginx);
    }
    if let Some(only) = &options.only {
        generator.arg("--only").arg(only);
    }
    if options.is_quick {
        generator.arg("--quick");
    } else {
        let dist = ["--profile", "dist", "--package", "guildhall"];
        let dist = run::built_server("server: dist build", &dist)?;
        generator.arg("--dist").arg(dist);
    }
    if !options.is_json {
        return step::run("benchmarks", &mut generator);
    }
    let table = step::captured("benchmarks", generator.arg("--json"))?;
    println!("{}", table.trim_end());
    Ok(())
}

/// What follows the verb.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    is_quick: bool,
    is_json: bool,
    /// The one group of rows, whose names the generator knows.
    only: Option<String>,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--only" => {
                    let name = arguments.next().cloned();
                    options.only = Some(name.ok_or_else(|| Failure::new("--only names no rows"))?);
                }
                "--quick" => options.is_quick = true,
                "--json" => options.is_json = true,
                other => {
                    let why = format!(
                        "`cargo xtask bench` takes --quick, --json and --only, not {other}"
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
    fn an_unknown_option_is_named_before_anything_is_built() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let options = Options::read(&words("--quick --json")).unwrap();
        assert!(options.is_quick && options.is_json);
        let options = Options::read(&words("--only browser")).unwrap();
        assert_eq!(options.only.as_deref(), Some("browser"));
        let failure = Options::read(&words("--fast")).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "`cargo xtask bench` takes --quick, --json and --only, not --fast"
        );
    }
}
