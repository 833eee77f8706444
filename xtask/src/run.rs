//! `cargo xtask run`: the page, the server, and then the server's own words on the terminal.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::{step, toolchain, tools, web};

/// The package and the binary of the server.
const SERVER: &str = "guildhall";

/// Builds what is not built, then becomes `guildhall serve` with `arguments`.
///
/// # Errors
/// The step that failed, in one sentence.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    toolchain::check()?;
    web::run()?;
    let binary = built_server("server: build", &["--package", SERVER])?;
    println!("→ guildhall serve (Ctrl-C stops it)");
    let mut server = Command::new(binary);
    server.arg("serve").args(arguments);
    become_program(&mut server)
}

/// Builds what `selection` names, the server among it, and returns the server's path.
///
/// `cargo` tells the path itself, so a target folder set elsewhere is honoured.
///
/// # Errors
/// When the build fails or made no server.
pub(crate) fn built_server(name: &str, selection: &[&str]) -> Result<PathBuf> {
    step::run_timed(name, || {
        let mut build = tools::cargo(&["build", "--message-format=json-render-diagnostics"]);
        let messages = step::captured(name, build.args(selection))?;
        messages.lines().rev().find_map(server_in).ok_or_else(|| {
            Failure::new(format!(
                "the step \"{name}\" made no program called {SERVER}"
            ))
        })
    })
}

/// The path of the server, when `message` is the one that tells of it.
fn server_in(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_server = message["reason"] == "compiler-artifact"
        && message["target"]["name"] == SERVER
        && message["target"]["kind"][0] == "bin"
        && message["profile"]["test"] == false;
    is_server
        .then(|| message["executable"].as_str().map(PathBuf::from))
        .flatten()
}

/// Replaces this process, so that signals reach the server and nothing else.
#[cfg(unix)]
pub(crate) fn become_program(program: &mut Command) -> Result<()> {
    use std::os::unix::process::CommandExt;
    let cause = program.exec();
    let name = program.get_program().display();
    Err(Failure::new(format!("could not start {name}: {cause}")))
}

/// Runs the program to its end.
#[cfg(not(unix))]
pub(crate) fn become_program(program: &mut Command) -> Result<()> {
    match program.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("guildhall ended with {status}"))),
        Err(cause) => Err(Failure::new(format!("could not start guildhall: {cause}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, test: bool) -> String {
        serde_json::json!({
            "reason": "compiler-artifact",
            "target": {"name": "guildhall", "kind": [kind]},
            "profile": {"test": test},
            "executable": "/somewhere/debug/guildhall",
        })
        .to_string()
    }

    #[test]
    fn the_server_is_found_where_cargo_says() {
        assert_eq!(
            server_in(&message("bin", false)),
            Some(PathBuf::from("/somewhere/debug/guildhall"))
        );
    }

    #[test]
    fn a_test_of_the_server_is_not_the_server() {
        assert_eq!(server_in(&message("bin", true)), None);
        assert_eq!(server_in(&message("test", true)), None);
        assert_eq!(
            server_in("{\"reason\":\"build-finished\",\"success\":true}"),
            None
        );
    }
}
