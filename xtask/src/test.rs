//! `cargo xtask test`: installs what the tests need and runs every one of them.
//!
//! The page is built before the server, because the server carries it; the server that the
//! page's tests drive is the one that the build for the other tests made, so nothing is
//! compiled twice.

use std::path::Path;

use serde_json::Value;

use crate::counts::{Counts, Runner};
use crate::failure::{During, Result};
use crate::{run, step, tools, web};

/// Names the server for the page's tests.
const SERVER_VARIABLE: &str = "GUILDHALL_BIN";

/// Runs all tests and closes with how many passed.
///
/// # Errors
/// What is missing on this machine, or the step that failed, in one sentence.
pub(crate) fn run() -> Result<()> {
    tools::check_node()?;
    let chromium = tools::chromium()?;
    web::run()?;
    let server = run::built_server(
        "tests: build",
        &["--workspace", "--lib", "--bins", "--tests"],
    )?;
    let counts = rust_tests()? + page_tests(&server, &chromium)?;
    println!("{}", counts.closing_line());
    Ok(())
}

/// The tests of the crates, those in their documentation included.
fn rust_tests() -> Result<Counts> {
    let all = if tools::has_nextest() {
        let mut nextest = tools::cargo(&[
            "nextest",
            "run",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
        ]);
        nextest.arg("--no-fail-fast");
        step::run_counted("tests: crates", &mut nextest, Runner::Nextest)?
    } else {
        let mut test = tools::cargo(&[
            "test",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--no-fail-fast",
        ]);
        step::run_counted("tests: crates", &mut test, Runner::Cargo)?
    };
    let mut doc = tools::cargo(&["test", "--workspace", "--doc"]);
    Ok(all
        + step::run_counted(
            "tests: examples in the documentation",
            &mut doc,
            Runner::Cargo,
        )?)
}

/// The types, the units and the browser tests of the page.
fn page_tests(server: &Path, chromium: &Path) -> Result<Counts> {
    web::install(&tools::root())?;
    step::run(
        "page: types",
        &mut tools::npm(&["run", "--silent", "check"]),
    )?;
    let mut counts = Counts::default();
    if has_script("unit")? {
        let mut unit = tools::npm(&["run", "--silent", "unit"]);
        counts = counts + step::run_counted("page: units", &mut unit, Runner::Vitest)?;
    }
    let mut browser = tools::npm(&["test", "--silent"]);
    browser
        .env(SERVER_VARIABLE, server)
        .env(tools::CHROMIUM_VARIABLE, chromium);
    Ok(counts + step::run_counted("page: browser", &mut browser, Runner::Playwright)?)
}

/// Whether `web/package.json` has a script called `name`.
fn has_script(name: &str) -> Result<bool> {
    let file = tools::root().join("web/package.json");
    let text = std::fs::read_to_string(&file).during(format!("read {}", file.display()))?;
    let package: Value = serde_json::from_str(&text).during(format!("read {}", file.display()))?;
    Ok(package["scripts"][name].is_string())
}
