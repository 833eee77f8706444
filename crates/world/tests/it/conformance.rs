//! Our client against the protocol's own conformance suite. Which scenarios run, and why the
//! others do not, stands in `docs/conformance.md`. Source: contract 5.12.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use guildhall_world::scratch::Scratch;
use serde_json::Value;

use crate::fake_agents::puppet;

/// The scenarios of this file.
const RUN: [&str; 19] = [
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/basic-cimd",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/pre-registration",
    "auth/scope-from-scopes-supported",
    "auth/scope-from-www-authenticate",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/scope-step-up",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-none",
    "auth/token-endpoint-auth-post",
    "initialize",
    "sse-retry",
    "tools_call",
];

/// Where `cargo xtask counterparts install` put it.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../counterparts/conformance/node_modules")
}

/// The suite with these words, on the Node.js of its folder where there is one.
fn suite(words: &[&str]) -> Command {
    let program = folder().join("@modelcontextprotocol/conformance/dist/index.js");
    assert!(
        program.is_file(),
        "it is not installed: `cargo xtask counterparts install`"
    );
    let own = ["x64", "arm64"].map(|kind| folder().join(format!("node-linux-{kind}/bin/node")));
    let node = own.into_iter().find(|node| node.is_file());
    let mut suite = Command::new(node.unwrap_or_else(|| "node".into()));
    suite.arg(program).args(words);
    suite
}

/// Lets the suite drive the puppet through a scenario, with at least so many checks.
fn passes(scenario: &str, checks_min: usize) {
    assert!(RUN.contains(&scenario), "{scenario} is not listed");
    let scratch = Scratch::new("conformance");
    let results = scratch.path().to_str().unwrap();
    let command = format!("{} conforms", puppet().display());
    let words = ["client", "--scenario", scenario, "--command", &command];
    let output = suite(&[&words[..], &["--output-dir", results]].concat())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}");
    // A scenario that looked at nothing passes as well.
    let checks = checks(scratch.path());
    let count = |status: &str| checks.iter().filter(|it| it["status"] == status).count();
    assert!(count("SUCCESS") >= checks_min, "{told}");
    assert_eq!((count("FAILURE"), count("WARNING")), (0, 0), "{told}");
}

/// What the suite wrote down below `results`, in a folder named after scenario and time: a name
/// with a slash makes two folders.
fn checks(results: &Path) -> Vec<Value> {
    let file = results.join("checks.json");
    if file.is_file() {
        return serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    }
    let mut folders = fs::read_dir(results).unwrap();
    checks(&folders.next().unwrap().unwrap().path())
}

#[test]
fn our_client_begins_as_the_protocol_says() {
    passes("initialize", 1);
}

#[test]
fn our_client_calls_a_tool_as_the_protocol_says() {
    passes("tools_call", 1);
}

#[test]
fn our_client_comes_back_to_a_stream_as_the_protocol_says() {
    passes("sse-retry", 3);
}

#[test]
fn our_client_finds_out_where_to_sign_in() {
    for scenario in ["default", "var1", "var2", "var3"] {
        passes(&format!("auth/metadata-{scenario}"), 10);
    }
}

#[test]
fn our_client_signs_in_as_older_revisions_say() {
    passes("auth/2025-03-26-oauth-metadata-backcompat", 9);
    passes("auth/2025-03-26-oauth-endpoint-fallback", 4);
}

#[test]
fn our_client_asks_for_the_scope_that_is_wanted() {
    passes("auth/scope-from-www-authenticate", 11);
    passes("auth/scope-from-scopes-supported", 11);
    passes("auth/scope-omitted-when-undefined", 11);
}

#[test]
fn our_client_asks_for_a_wider_scope_once() {
    passes("auth/scope-step-up", 19);
    passes("auth/scope-retry-limit", 16);
}

#[test]
fn our_client_shows_itself_as_the_authorization_server_wants() {
    for method in ["basic", "post", "none"] {
        passes(&format!("auth/token-endpoint-auth-{method}"), 15);
    }
    passes("auth/basic-cimd", 10);
    passes("auth/pre-registration", 10);
}

#[test]
fn each_client_scenario_is_run_or_left_out_with_a_reason() {
    let listed = suite(&["list", "--client"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names = listed
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    let mut known: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    known.sort_unstable();
    assert!(known.len() > 20, "{listed}");
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let document = fs::read_to_string(document).unwrap();
    let (_, part) = document.split_once("## Our client").unwrap();
    let part = part.split("\n## ").next().unwrap();
    let rows: Vec<[&str; 3]> = part.lines().filter_map(row).collect();
    let mut told: Vec<&str> = rows.iter().map(|[name, ..]| *name).collect();
    told.sort_unstable();
    assert_eq!(told, known);
    for [name, what, why] in rows {
        let is_run = what == "run";
        assert_eq!(is_run, RUN.contains(&name), "{name}");
        assert!(
            is_run || why.len() > 20,
            "{name} is left out without a reason"
        );
    }
}

/// A row of the document's tables: scenario, what is done with it, why.
fn row(line: &str) -> Option<[&str; 3]> {
    let line = line.strip_prefix("| `")?.strip_suffix(" |")?;
    let (name, rest) = line.split_once("` | ")?;
    let (what, why) = rest.split_once(" | ")?;
    Some([name, what, why])
}
