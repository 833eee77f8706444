//! Checks that Rust, the C compiler and Node.js are there and new enough, before anything is built.
//!
//! Cargo links this program with the C compiler: where there is none at all, cargo says so itself.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::failure::{Failure, Result, WithContext};
use crate::tools;

/// A version as major and minor number.
type Version = (u32, u32);

/// Names the C compiler when it is not `cc`. The build of SQLite reads the same variable.
const CC_VARIABLE: &str = "CC";

/// A program that needs the compiler and the headers of the C library.
const C_PROGRAM: &[u8] = b"#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n";

/// Checks all that a build of the page and the server needs, and prints the versions.
///
/// # Errors
/// One sentence for each tool that is missing or too old, all at once.
pub(crate) fn check() -> Result<()> {
    let found = [rust(), c_compiler(), node()];
    let missing: Vec<_> = found
        .iter()
        .filter_map(|tool| tool.as_ref().err())
        .collect();
    if !missing.is_empty() {
        let sentences: Vec<_> = missing.iter().map(ToString::to_string).collect();
        return Err(Failure::new(sentences.join("\nerror: ")));
    }
    let versions: Vec<_> = found.into_iter().flatten().collect();
    println!("✓ tools ({})", versions.join(", "));
    Ok(())
}

/// The version of Rust, which is at least the one in the workspace's `Cargo.toml`.
fn rust() -> Result<String> {
    let file = tools::root().join("Cargo.toml");
    let text = fs::read_to_string(&file).with_context(format!("read {}", file.display()))?;
    let table: toml::Table = text
        .parse()
        .with_context(format!("read {}", file.display()))?;
    let oldest = table["workspace"]["package"]["rust-version"].as_str();
    let oldest = named(oldest, &file)?;
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let found = tools::first_line(tools::command(rustc).arg("--version"));
    new_enough("Rust", oldest, found.as_deref())
}

/// The version of Node.js, which is at least the one that `web/package.json` names.
pub(crate) fn node() -> Result<String> {
    let file = tools::root().join("web/package.json");
    let text = fs::read_to_string(&file).with_context(format!("read {}", file.display()))?;
    let package: Value =
        serde_json::from_str(&text).with_context(format!("read {}", file.display()))?;
    let oldest = named(package["engines"]["node"].as_str(), &file)?;
    let node = new_enough("Node.js", oldest, node_version().as_deref())?;
    match tools::on_path("npm") {
        Some(_) => Ok(node),
        None => Err(Failure::new(
            "npm is needed: install it beside Node.js and try again",
        )),
    }
}

/// The version that a file names as the oldest; without one any tool would do.
fn named(version: Option<&str>, file: &Path) -> Result<Version> {
    let version = version.and_then(version_in);
    version.ok_or_else(|| Failure::new(format!("{} names no oldest version", file.display())))
}

/// Checks that Node.js is there in at least this major version; 0 accepts any.
///
/// # Errors
/// One sentence when it is missing or older.
pub(crate) fn check_node_major(major_min: u32) -> Result<()> {
    new_enough("Node.js", (major_min, 0), node_version().as_deref()).map(|_| ())
}

fn node_version() -> Option<String> {
    let node = tools::on_path("node")?;
    tools::first_line(tools::command(node).arg("--version"))
}

/// Checks that C can be compiled here; returns the compiler's own name and version.
fn c_compiler() -> Result<String> {
    let compiler = std::env::var_os(CC_VARIABLE).unwrap_or_else(|| "cc".into());
    let compiles = || {
        let mut check = tools::command(&compiler);
        check.args(["-fsyntax-only", "-x", "c", "-"]);
        let check = check.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut check = check.stderr(Stdio::null()).spawn().ok()?;
        check.stdin.take()?.write_all(C_PROGRAM).ok()?;
        check.wait().ok().filter(|status| status.success())
    };
    // The compilers of Windows are found by the build itself.
    if cfg!(windows) || compiles().is_some() {
        let version = tools::first_line(tools::command(&compiler).arg("--version"));
        return Ok(version.unwrap_or_else(|| "a C compiler".into()));
    }
    Err(Failure::new(format!(
        "a C compiler with the headers of the C library is needed, and `{}` is none: install one \
         (on Debian: `apt-get install gcc libc6-dev`) and try again",
        compiler.to_string_lossy()
    )))
}

/// Returns the version line of a tool when it is at least `oldest`; `found` is `None` when the tool
/// did not run.
fn new_enough(tool: &str, oldest: Version, found: Option<&str>) -> Result<String> {
    let (major, minor) = oldest;
    let needed = format!("{tool} {major}.{minor} or newer is needed");
    let Some(found) = found else {
        return Err(Failure::new(format!("{needed}: install it and try again")));
    };
    if version_in(found).is_some_and(|version| version >= oldest) {
        let name = if found.starts_with('v') { tool } else { "" };
        return Ok(format!("{name} {found}").trim().to_owned());
    }
    Err(Failure::new(format!("{needed}, and this one is {found}")))
}

/// The first version in a text such as `rustc 1.95.0 (…)`, `v20.19.0` or `>=20.19`.
fn version_in(text: &str) -> Option<Version> {
    let start = text.find(|letter: char| letter.is_ascii_digit())?;
    let mut numbers = text[start..].split(|letter: char| !letter.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next().and_then(|minor| minor.parse().ok());
    Some((major, minor.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(tool: &str, oldest: Version, found: Option<&str>) -> String {
        new_enough(tool, oldest, found).unwrap_err().to_string()
    }

    #[test]
    fn a_version_is_judged_by_its_major_and_minor_number() {
        let node = |found| new_enough("Node.js", (20, 19), Some(found));
        assert_eq!(node("v20.19.0").unwrap(), "Node.js v20.19.0");
        assert!(node("v24.1.0").is_ok());
        let rust = |found| new_enough("Rust", (1, 95), Some(found));
        assert_eq!(
            rust("rustc 1.95.0 (a 2026)").unwrap(),
            "rustc 1.95.0 (a 2026)"
        );
        assert!(rust("rustc 2.0.0-nightly").is_ok());
    }

    #[test]
    fn an_old_tool_is_one_sentence() {
        assert_eq!(
            refused("Node.js", (20, 19), Some("v20.18.3")),
            "Node.js 20.19 or newer is needed, and this one is v20.18.3"
        );
        assert_eq!(
            refused("Rust", (1, 95), Some("rustc 1.94.1 (a 2026)")),
            "Rust 1.95 or newer is needed, and this one is rustc 1.94.1 (a 2026)"
        );
    }

    #[test]
    fn a_missing_tool_is_one_sentence() {
        assert_eq!(
            refused("Node.js", (20, 19), None),
            "Node.js 20.19 or newer is needed: install it and try again"
        );
    }

    #[test]
    fn a_file_that_names_no_oldest_version_is_a_failure() {
        let named = |version| named(version, Path::new("package.json"));
        assert_eq!(named(Some(">=20.19")).unwrap(), (20, 19));
        for nothing in [None, Some("latest")] {
            let refused = named(nothing).unwrap_err().to_string();
            assert_eq!(refused, "package.json names no oldest version");
        }
    }

    #[test]
    fn what_is_here_is_enough() {
        assert!(rust().unwrap().starts_with("rustc "));
        c_compiler().unwrap();
    }
}
