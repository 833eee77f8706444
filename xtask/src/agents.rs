//! `cargo xtask agents install`: the real coding agents that tests drive, each as pinned.
//!
//! An agent is installed by whoever runs the tests, from the registry npm is set to, into a folder
//! of its own below the build folder; no file of it becomes part of the project.
//! Tests with them run where nothing but this computer can be reached, where the system allows it.
//! The pins stand in `tests/agents/pins.toml`, what each needs in `tests/agents/<name>/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::{During, Failure, Result};
use crate::{run, step, tools};

/// Where the pins stand, from the project's folder.
const PINS: &str = "tests/agents/pins.toml";

/// What npm reads to install an agent.
const NPM_FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// The word behind `agents` that runs a program in a network of its own; for [`alone`].
const ALONE: &str = "alone";

/// How a network of its own is asked for: as root, and as anybody else.
const OWN_NETWORK: [&[&str]; 2] = [&["--net"], &["--net", "--map-current-user", "--keep-caps"]];

/// Brings up the loopback device.
const LOOPBACK_UP: [&str; 5] = ["ip", "link", "set", "lo", "up"];

/// A proxy that nobody is: whoever wants out of this computer fails at once.
const NO_PROXY: &str = "http://127.0.0.1:1";

/// An agent as it is pinned.
#[derive(Debug, PartialEq)]
struct Pin {
    /// Its name, and the name of its folders.
    name: String,
    /// The package.
    package: String,
    /// The only version that will do.
    version: String,
    /// The digest of that package's file, as a lock file writes it.
    integrity: String,
    /// The oldest major version of Node.js it runs on.
    node_min: u32,
    /// Its program, from its folder.
    program: String,
}

/// Does what follows `agents`.
///
/// # Errors
/// In one sentence, when the word is unknown or an agent could not be installed as pinned.
pub(crate) fn run(words: &[String]) -> Result<()> {
    match words {
        [word] if word == "install" => install(),
        [word, program, arguments @ ..] if word == ALONE => run_alone(program, arguments),
        _ => Err(Failure::new(
            "say what to do with the agents: `cargo xtask agents install`",
        )),
    }
}

/// The command, changed so that it reaches nothing but this computer: in a network of its own
/// where the kernel allows that, else with a proxy that is none.
pub(crate) fn alone(command: Command) -> Command {
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
    let variables = command.get_envs();
    alone.envs(variables.filter_map(|(name, value)| Some((name, value?))));
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

/// Installs every agent that is not there as pinned.
///
/// # Errors
/// In one sentence, when an agent could not be installed as pinned.
pub(crate) fn install() -> Result<()> {
    let below = build_folder()?.join("agents");
    for pin in pins()? {
        let from = tools::root().join("tests/agents").join(&pin.name);
        let into = below.join(&pin.name);
        let name = format!("agent: {} {}", pin.name, pin.version);
        check_lock(&pin, &from)?;
        if is_installed(&pin, &from, &into) {
            step::nothing_to_do(&name, "already installed");
            continue;
        }
        tools::check_node_major(pin.node_min)?;
        install_one(&name, &from, &into)?;
        check_installed(&pin, &into)?;
    }
    Ok(())
}

/// Where cargo builds.
fn build_folder() -> Result<PathBuf> {
    let mut metadata = tools::cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let text = step::captured("cargo metadata", &mut metadata)?;
    let metadata: Value = serde_json::from_str(&text).during("read what cargo says")?;
    let folder = metadata["target_directory"].as_str();
    folder
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new("cargo names no build folder"))
}

fn pins() -> Result<Vec<Pin>> {
    let file = tools::root().join(PINS);
    let text = fs::read_to_string(&file).during(format!("read {PINS}"))?;
    pins_of(&text)
}

fn pins_of(text: &str) -> Result<Vec<Pin>> {
    let table: toml::Table = text.parse().during(format!("read {PINS}"))?;
    table.iter().map(|(name, pin)| pin_of(name, pin)).collect()
}

fn pin_of(name: &str, pin: &toml::Value) -> Result<Pin> {
    let text = |key: &str| {
        let value = pin.get(key).and_then(toml::Value::as_str);
        value
            .map(str::to_owned)
            .ok_or_else(|| Failure::new(format!("the agent {name} has no text `{key}` in {PINS}")))
    };
    let node_min = pin.get("node_min").and_then(toml::Value::as_integer);
    Ok(Pin {
        name: name.to_owned(),
        package: text("package")?,
        version: text("version")?,
        integrity: text("integrity")?,
        node_min: node_min
            .and_then(|major| u32::try_from(major).ok())
            .unwrap_or(0),
        program: text("program")?,
    })
}

/// Whether the lock file that npm will follow holds the pinned package.
fn check_lock(pin: &Pin, from: &Path) -> Result<()> {
    let lock = json(&from.join("package-lock.json"))?;
    let entry = &lock["packages"][format!("node_modules/{}", pin.package)];
    if entry["version"] == pin.version.as_str() && entry["integrity"] == pin.integrity.as_str() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the pin of {} and its package-lock.json name different packages",
        pin.name
    )))
}

/// Whether the folder holds what the pin and the lock file ask for.
fn is_installed(pin: &Pin, from: &Path, into: &Path) -> bool {
    // npm writes this file last, so a broken installation has none.
    let is_finished = into.join("node_modules/.package-lock.json").is_file();
    let same = |file: &str| {
        let (wanted, there) = (fs::read(from.join(file)), fs::read(into.join(file)));
        wanted.is_ok_and(|wanted| there.is_ok_and(|there| there == wanted))
    };
    is_finished && NPM_FILES.iter().all(|file| same(file)) && check_installed(pin, into).is_ok()
}

fn install_one(name: &str, from: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into).during(format!("make {}", into.display()))?;
    for file in NPM_FILES {
        let place = into.join(file);
        fs::copy(from.join(file), &place).during(format!("write {}", place.display()))?;
    }
    step::run(name, &mut npm_ci(into))
}

/// `npm ci` in a folder, without the scripts of any package.
fn npm_ci(folder: &Path) -> Command {
    let mut npm = tools::npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    npm.current_dir(folder);
    npm
}

/// Compares what was installed with the pin: npm takes an older version without a word when the
/// newest wants a newer Node.js.
fn check_installed(pin: &Pin, into: &Path) -> Result<()> {
    let package = json(
        &into
            .join("node_modules")
            .join(&pin.package)
            .join("package.json"),
    )?;
    let found = package["version"].as_str().unwrap_or_default();
    if found != pin.version {
        return Err(Failure::new(format!(
            "{} was installed as {found}, and the pin is {}",
            pin.package, pin.version
        )));
    }
    if into.join(&pin.program).is_file() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{} was installed without {}: its package has no program for this platform",
        pin.package, pin.program
    )))
}

fn json(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).during(format!("read {}", file.display()))?;
    serde_json::from_str(&text).during(format!("read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pin_agrees_with_its_lock_file() {
        let pins = pins().unwrap();
        let names: Vec<_> = pins.iter().map(|pin| pin.name.as_str()).collect();
        assert_eq!(names, ["claude-code", "codex", "opencode"]);
        for pin in pins {
            let from = tools::root().join("tests/agents").join(&pin.name);
            check_lock(&pin, &from).unwrap();
        }
    }

    #[test]
    fn a_pin_without_a_version_is_named() {
        let failure = pins_of("[odd]\npackage = \"odd\"\n").unwrap_err();
        assert_eq!(
            failure.to_string(),
            "the agent odd has no text `version` in tests/agents/pins.toml"
        );
    }

    #[test]
    fn an_empty_folder_is_not_an_installation() {
        let pin = pins().unwrap().remove(0);
        let nowhere = tools::root().join("tests/agents/no-such-folder");
        assert!(!is_installed(&pin, &nowhere, &nowhere));
    }

    #[test]
    fn an_unknown_word_is_told_what_there_is() {
        assert_eq!(
            run(&["dance".to_owned()]).unwrap_err().to_string(),
            "say what to do with the agents: `cargo xtask agents install`"
        );
    }
}
