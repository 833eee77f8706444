//! `cargo xtask ci`: the checks, quickest first, then every test.
//!
//! The linter and the documentation share one set of checked dependencies, all tests share one
//! set of compiled ones. Warnings are refused by arguments that reach our crates only: through
//! `RUSTFLAGS` they would compile every dependency once more.

use crate::failure::Result;
use crate::{step, test, tidy, tools};

/// Runs every check and every test.
///
/// # Errors
/// The step that failed, in one sentence.
pub(crate) fn run() -> Result<()> {
    step::run(
        "formatting",
        &mut tools::cargo(&["fmt", "--all", "--check"]),
    )?;
    tidy::run()?;
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
    step::run("lints", &mut tools::cargo(&clippy))?;
    let mut doc = tools::cargo(&["doc", "--workspace", "--no-deps"]);
    step::run("documentation", doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    test::run()
}
