//! `cargo xtask test`: installs what the tests need and runs every one of them.
//!
//! The page is built before the server, because the server carries it; the server that the
//! page's tests drive is the one that the build for the other tests made, so nothing is
//! compiled twice. The real agents are driven by tests of that same build.

use std::path::Path;

use serde_json::Value;

use crate::counts::{Counts, Runner};
use crate::failure::{During, Result};
use crate::{agents, counterparts, pinned, run, step, tools, web};

/// Names the server for the page's tests.
const SERVER_VARIABLE: &str = "GUILDHALL_BIN";

/// The features of the tests: with the real agents, the foreign servers, and the hooks that end a
/// save at each of its steps.
pub(crate) const FEATURES: &str = "guildhall/real-agents,guildhall/real-servers,\
    guildhall/fault-hooks,\
    guildhall-http/real-servers,guildhall-fake-llm/real-agents,guildhall-world/real-servers,\
    guildhall-cloud/real-servers";

/// What is built, and what is tested of it.
const SELECTION: [&str; 6] = [
    "--workspace",
    "--lib",
    "--bins",
    "--tests",
    "--features",
    FEATURES,
];

/// The module of the tests that drive the real agents; each takes long and much memory.
const WITH_AGENTS: &str = "real_agents::";

/// What the names of the suite's tests end with, one test an agent.
const SUITE: &str = "does_what_the_suite_asks";

/// How many agents work at once.
const AGENTS_AT_ONCE: &str = "2";

/// Runs all tests and closes with how many passed.
///
/// # Errors
/// What is missing on this machine, or the step that failed, in one sentence.
pub(crate) fn run() -> Result<()> {
    tools::check_node()?;
    let chromium = tools::chromium()?;
    tools::python()?;
    tools::display()?;
    pinned::install(&agents::SHELF)?;
    pinned::install(&counterparts::SHELF)?;
    web::run()?;
    let server = run::built_server("tests: build", &SELECTION)?;
    let counts = rust_tests()? + agent_tests()? + page_tests(&server, &chromium)?;
    println!("{}", counts.closing_line());
    Ok(())
}

/// The tests of the crates, those in their documentation included.
fn rust_tests() -> Result<Counts> {
    let all = if tools::has_nextest() {
        let mut nextest = tools::cargo(&["nextest", "run"]);
        let others = format!("not test(/^{WITH_AGENTS}/)");
        nextest
            .args(SELECTION)
            .args(["--no-fail-fast", "--filterset", &others]);
        if is_kept_in_a_log() {
            nextest.args(["--status-level", "fail", "--final-status-level", "flaky"]);
        }
        step::run_counted("tests: crates", &mut nextest, Runner::Nextest)?
    } else {
        let mut test = tools::cargo(&["test"]);
        test.args(SELECTION)
            .args(["--no-fail-fast", "--", "--skip", WITH_AGENTS]);
        if is_kept_in_a_log() {
            test.arg("--quiet");
        }
        step::run_counted("tests: crates", &mut test, Runner::Cargo)?
    };
    // With the same features, so that what was built for the tests is not built again.
    let mut doc = tools::cargo(&["test", "--workspace", "--doc", "--features", FEATURES]);
    Ok(all
        + step::run_counted(
            "tests: examples in the documentation",
            &mut doc,
            Runner::Cargo,
        )?)
}

/// The suite for the real agents, which tells for each agent which rows ran.
fn agent_tests() -> Result<Counts> {
    // The selection of the build, so that nothing is built again.
    let mut suite = tools::cargo(&["test"]);
    suite
        .args(SELECTION)
        .args(["--", SUITE, "--nocapture", "--test-threads", AGENTS_AT_ONCE])
        .env("RUST_BACKTRACE", "0")
        // Whoever installed the agents drives them: one that is missing is a failure.
        .env("CI", "true");
    let mut suite = agents::alone(suite);
    let counts = step::run_counted("tests: real agents", &mut suite, Runner::Cargo)?;
    // The other tests of these binaries ran before.
    Ok(Counts {
        skipped: 0,
        ..counts
    })
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

/// Whether the output is a log that may be cut short: it should hold what failed, not what held.
/// The tests of the page ask the same in their configuration.
fn is_kept_in_a_log() -> bool {
    std::env::var_os("CI").is_some()
}

/// Whether `web/package.json` has a script called `name`.
fn has_script(name: &str) -> Result<bool> {
    let file = tools::root().join("web/package.json");
    let text = std::fs::read_to_string(&file).during(format!("read {}", file.display()))?;
    let package: Value = serde_json::from_str(&text).during(format!("read {}", file.display()))?;
    Ok(package["scripts"][name].is_string())
}
