//! `cargo xtask ci`: the checks, quickest first, then every test, a minute of the fuzzer and two of the
//! fault campaigns.
//!
//! The linter and the documentation share one set of checked dependencies, all tests share one
//! set of compiled ones. Warnings are refused by arguments that reach our crates only: through
//! `RUSTFLAGS` they would compile every dependency once more.

use crate::failure::Result;
use crate::run_report::RunReport;
use crate::{fuzz, step, test, tidy, tools, torture};

/// Runs every check and every test.
///
/// # Errors
/// What is missing on this machine, or how many steps failed, in one sentence.
pub(crate) fn run() -> Result<()> {
    let needs = test::TestPrerequisites::find()?;
    let mut report = RunReport::default();
    report.keep(step::run(
        "formatting",
        &mut tools::cargo(&["fmt", "--all", "--check"]),
    ));
    report.keep(tidy::run());
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--features",
        test::FEATURES,
        "--",
        "-D",
        "warnings",
    ];
    report.keep(step::run("lints", &mut tools::cargo(&clippy)));
    let mut doc = tools::cargo(&["doc", "--workspace", "--no-deps"]);
    let doc = doc.env("RUSTDOCFLAGS", "-D warnings");
    report.keep(step::run("documentation", doc));
    let server = test::run_steps(&needs, &mut report);
    report.step_with("fuzz", server.as_deref(), fuzz::run_briefly);
    report.step_with("torture", server.as_deref(), torture::run_briefly);
    report.finish()
}
