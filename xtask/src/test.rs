//! `cargo xtask test`: installs what the tests need and runs every one of them.
//!
//! The page is built before the server, because the server carries it; the server that the
//! page's tests drive is the one that the build for the other tests made, so nothing is
//! compiled twice. The real agents are driven by tests of that same build.

use std::path::{Path, PathBuf};

use crate::failure::Result;
use crate::run_report::RunReport;
use crate::test_counts::Runner;
use crate::{pinned_packages, real_agents, run, step, tool_packages, toolchain, tools, web};

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
/// What is missing on this machine, or how many steps failed, in one sentence.
pub(crate) fn run() -> Result<()> {
    let needs = TestPrerequisites::find()?;
    let mut report = RunReport::default();
    run_steps(&needs, &mut report);
    report.finish()
}

/// What the tests need beside the sources.
pub(crate) struct TestPrerequisites {
    chromium: PathBuf,
}

impl TestPrerequisites {
    /// Finds what the tests need, and installs on Debian as root what is missing.
    ///
    /// # Errors
    /// What is missing on this machine, in one sentence.
    pub(crate) fn find() -> Result<Self> {
        toolchain::check()?;
        let chromium = tools::chromium()?;
        tools::test_programs()?;
        Ok(Self { chromium })
    }
}

/// Installs the pinned programs, builds the page and the server, and runs all tests; returns the
/// server that was built.
pub(crate) fn run_steps(needs: &TestPrerequisites, report: &mut RunReport) -> Option<PathBuf> {
    let agents = report.keep(pinned_packages::install(&real_agents::SHELF));
    // Without them only the tests that speak with them fail.
    report.keep(pinned_packages::install(&tool_packages::SHELF));
    let page = report.keep(web::run());
    let server = report.keep(run::built_server("tests: build", &SELECTION));
    crate_tests(server.as_deref(), report);
    agent_tests(server.as_deref().and(agents.as_ref()), report);
    page_tests(report);
    let with_page = server.as_deref().filter(|_| page.is_some());
    browser_tests(with_page, &needs.chromium, report);
    server
}

/// The tests of the crates, those in their documentation included.
fn crate_tests(server: Option<&Path>, report: &mut RunReport) {
    let name = "tests: crates";
    let (mut tests, runner) = if tools::has_nextest() {
        let mut nextest = tools::cargo(&["nextest", "run"]);
        let others = format!("not test(/^{WITH_AGENTS}/)");
        nextest
            .args(SELECTION)
            .args(["--no-fail-fast", "--filterset", &others]);
        if is_kept_in_a_log() {
            nextest.args(["--status-level", "fail", "--final-status-level", "fail"]);
        }
        (nextest, Runner::Nextest)
    } else {
        let mut test = tools::cargo(&["test"]);
        test.args(SELECTION)
            .args(["--no-fail-fast", "--", "--skip", WITH_AGENTS]);
        if is_kept_in_a_log() {
            test.arg("--quiet");
        }
        (test, Runner::Cargo)
    };
    report.tests_with(name, server, &mut tests, runner);
    // With the same features, so that what was built for the tests is not built again.
    let mut doc = tools::cargo(&["test", "--workspace", "--doc", "--features", FEATURES]);
    let name = "tests: examples in the documentation";
    // Not counted: there need not be any.
    report.step_with(name, server, |_| step::run(name, doc.arg("--no-fail-fast")));
}

/// The suite for the real agents, which tells for each agent which rows ran.
fn agent_tests(agents: Option<&()>, report: &mut RunReport) {
    // The selection of the build, so that nothing is built again.
    let mut suite = tools::cargo(&["test"]);
    suite
        .args(SELECTION)
        .args(["--no-fail-fast", "--", SUITE])
        .args(["--nocapture", "--test-threads", AGENTS_AT_ONCE])
        .env("RUST_BACKTRACE", "0")
        // Whoever installed the agents drives them: one that is missing is a failure.
        .env("CI", "true");
    let mut suite = real_agents::without_network(suite);
    report.tests_with("tests: real agents", agents, &mut suite, Runner::Cargo);
}

/// The types and the units of the page.
fn page_tests(report: &mut RunReport) {
    let installed = report.keep(web::install(&tools::root()));
    report.step_with("page: types", installed, |()| {
        step::run(
            "page: types",
            &mut tools::npm(&["run", "--silent", "check"]),
        )
    });
    let mut units = tools::npm(&["run", "--silent", "unit"]);
    report.tests_with(
        "page: units",
        installed.as_ref(),
        &mut units,
        Runner::Vitest,
    );
}

/// The browser tests of the page, with the server that was built for the other tests.
fn browser_tests(server: Option<&Path>, chromium: &Path, report: &mut RunReport) {
    let mut browser = tools::npm(&["test", "--silent"]);
    browser.env(tools::CHROMIUM_VARIABLE, chromium);
    if let Some(server) = server {
        browser.env(SERVER_VARIABLE, server);
    }
    report.tests_with("page: browser", server, &mut browser, Runner::Playwright);
}

/// Whether the output is a log that may be cut short: it should hold what failed, not what held.
/// The tests of the page ask the same in their configuration.
fn is_kept_in_a_log() -> bool {
    std::env::var_os("CI").is_some()
}
