//! `cargo xtask agents install`: the real coding agents that tests drive, each as pinned.
//!
//! Tests with them run where nothing but this computer can be reached, where the system allows it.
//! The pins stand in `tests/agents/pins.toml`, what each needs in `tests/agents/<name>/`.

use std::process::{Command, Stdio};

use crate::failure::{Failure, Result};
use crate::pinned_packages::{self, PackageGroup};
use crate::{run, step};

/// The agents.
pub(crate) const SHELF: PackageGroup = PackageGroup {
    sources: "tests/agents",
    below: "agents",
    one: "agent",
};

/// The word behind `agents` that runs a program in a network of its own; for [`without_network`].
const ALONE: &str = "alone";

/// How a network of its own is asked for: as root, and as anybody else.
const OWN_NETWORK: [&[&str]; 2] = [&["--net"], &["--net", "--map-current-user", "--keep-caps"]];

/// Brings up the loopback device.
const LOOPBACK_UP: [&str; 5] = ["ip", "link", "set", "lo", "up"];

/// A proxy that nobody is: whoever wants out of this computer fails at once.
const NO_PROXY: &str = "http://127.0.0.1:1";

/// Does what follows `agents`.
///
/// # Errors
/// In one sentence, when the word is unknown or an agent could not be installed as pinned.
pub(crate) fn run(words: &[String]) -> Result<()> {
    match words {
        [word] if word == "install" => pinned_packages::install(&SHELF),
        [word, program, arguments @ ..] if word == ALONE => run_alone(program, arguments),
        _ => Err(Failure::new(
            "say what to do with the agents: `cargo xtask agents install`",
        )),
    }
}

/// The command, changed so that it reaches nothing but this computer: in a network of its own
/// where the kernel allows that, else with a proxy that is none.
pub(crate) fn without_network(command: Command) -> Command {
    let quiet = |flags: &&&[&str]| {
        let mut probe = Command::new("unshare");
        let probe = probe.args(**flags).args(LOOPBACK_UP);
        let probe = probe.stdin(Stdio::null()).stdout(Stdio::null());
        probe
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let flags = OWN_NETWORK.iter().find(quiet);
    let Some(flags) = flags else {
        let mut command = command;
        step::nothing_to_do(
            "agents: network",
            "no network of their own here, a dead proxy instead",
        );
        command
            .env("HTTPS_PROXY", NO_PROXY)
            .env("HTTP_PROXY", NO_PROXY);
        return command;
    };
    // The file this program was started from may have been built anew meanwhile.
    let own = format!("/proc/{}/exe", std::process::id());
    let mut alone = Command::new("unshare");
    alone.args(*flags).arg(own).args(["agents", ALONE]);
    alone.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => alone.env(name, value),
            None => alone.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        alone.current_dir(folder);
    }
    alone
}

/// Becomes a program, in a network whose loopback device is up.
fn run_alone(program: &str, arguments: &[String]) -> Result<()> {
    let [ip, words @ ..] = LOOPBACK_UP;
    step::captured("loopback", Command::new(ip).args(words))?;
    let mut command = Command::new(program);
    run::become_program(command.args(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_word_is_told_what_there_is() {
        assert_eq!(
            run(&["dance".to_owned()]).unwrap_err().to_string(),
            "say what to do with the agents: `cargo xtask agents install`"
        );
    }
}
