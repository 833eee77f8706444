//! Foreign programs that tests drive, each pinned to one version of an npm package.
//!
//! A program is installed by whoever runs the tests, from the registry npm is set to, into a
//! folder of its own below the build folder; no file of it becomes part of the project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::{Failure, Result, WithContext};
use crate::{step, toolchain, tools};

/// What npm reads to install a program.
const NPM_FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// A kind of programs, with a folder of pins.
pub(crate) struct PackageGroup {
    /// The folder that holds `pins.toml` and a folder for each program, from the project's.
    pub(crate) sources: &'static str,
    /// Where they are installed, from the build folder.
    pub(crate) below: &'static str,
    /// What one of them is called.
    pub(crate) one: &'static str,
}

impl PackageGroup {
    fn pins_file(&self) -> String {
        format!("{}/pins.toml", self.sources)
    }
}

/// A program as it is pinned.
#[derive(Debug, PartialEq)]
struct PackagePin {
    /// Its name, and the name of its folders.
    name: String,
    /// The package.
    package: String,
    /// The only version that will do.
    version: String,
    /// The digest of that package's file, as a lock file writes it.
    integrity: String,
    /// The oldest major version of Node.js it is installed with.
    node_min: u32,
    /// Its program, from its folder.
    program: String,
}

/// Installs every program of a shelf that is not there as pinned.
///
/// # Errors
/// In one sentence, when one could not be installed as pinned.
pub(crate) fn install(shelf: &PackageGroup) -> Result<()> {
    let below = build_folder()?.join(shelf.below);
    for pin in pins(shelf)? {
        let from = tools::root().join(shelf.sources).join(&pin.name);
        let into = below.join(&pin.name);
        let name = format!("{}: {} {}", shelf.one, pin.name, pin.version);
        check_lock(&pin, &from)?;
        if is_installed(&pin, &from, &into) {
            step::nothing_to_do(&name, "already installed");
            continue;
        }
        toolchain::check_node_major(pin.node_min)?;
        install_one(&name, &from, &into)?;
        check_installed(&pin, &into)?;
    }
    Ok(())
}

/// Where cargo builds.
fn build_folder() -> Result<PathBuf> {
    let mut metadata = tools::cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let text = step::captured("cargo metadata", &mut metadata)?;
    let metadata: Value = serde_json::from_str(&text).with_context("read what cargo says")?;
    let folder = metadata["target_directory"].as_str();
    folder
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new("cargo names no build folder"))
}

fn pins(shelf: &PackageGroup) -> Result<Vec<PackagePin>> {
    let file = shelf.pins_file();
    let text =
        fs::read_to_string(tools::root().join(&file)).with_context(format!("read {file}"))?;
    pins_of(shelf, &text)
}

fn pins_of(shelf: &PackageGroup, text: &str) -> Result<Vec<PackagePin>> {
    let table: toml::Table = text
        .parse()
        .with_context(format!("read {}", shelf.pins_file()))?;
    let pins = table.iter();
    pins.map(|(name, pin)| pin_of(shelf, name, pin)).collect()
}

fn pin_of(shelf: &PackageGroup, name: &str, pin: &toml::Value) -> Result<PackagePin> {
    let text = |key: &str| {
        let value = pin.get(key).and_then(toml::Value::as_str);
        value.map(str::to_owned).ok_or_else(|| {
            let (one, file) = (shelf.one, shelf.pins_file());
            Failure::new(format!("the {one} {name} has no text `{key}` in {file}"))
        })
    };
    let node_min = pin.get("node_min").and_then(toml::Value::as_integer);
    Ok(PackagePin {
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
fn check_lock(pin: &PackagePin, from: &Path) -> Result<()> {
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
fn is_installed(pin: &PackagePin, from: &Path, into: &Path) -> bool {
    // npm writes this file last, so a broken installation has none.
    let is_finished = into.join("node_modules/.package-lock.json").is_file();
    let same = |file: &str| {
        let (wanted, there) = (fs::read(from.join(file)), fs::read(into.join(file)));
        wanted.is_ok_and(|wanted| there.is_ok_and(|there| there == wanted))
    };
    is_finished && NPM_FILES.iter().all(|file| same(file)) && check_installed(pin, into).is_ok()
}

fn install_one(name: &str, from: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into).with_context(format!("make {}", into.display()))?;
    for file in NPM_FILES {
        let place = into.join(file);
        fs::copy(from.join(file), &place).with_context(format!("write {}", place.display()))?;
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
fn check_installed(pin: &PackagePin, into: &Path) -> Result<()> {
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
    let text = fs::read_to_string(file).with_context(format!("read {}", file.display()))?;
    serde_json::from_str(&text).with_context(format!("read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{real_agents, tool_packages};

    #[test]
    fn every_pin_agrees_with_its_lock_file() {
        let shelves = [
            (real_agents::SHELF, vec!["claude-code", "codex", "opencode"]),
            (
                tool_packages::SHELF,
                vec![
                    "conformance",
                    "everything",
                    "oidc-provider",
                    "prism",
                    "stripe",
                ],
            ),
        ];
        for (shelf, expected) in shelves {
            let pins = pins(&shelf).unwrap();
            let names: Vec<_> = pins.iter().map(|pin| pin.name.as_str()).collect();
            assert_eq!(names, expected);
            for pin in pins {
                let from = tools::root().join(shelf.sources).join(&pin.name);
                check_lock(&pin, &from).unwrap();
            }
        }
    }

    #[test]
    fn a_pin_without_a_version_is_named() {
        let failure = pins_of(&real_agents::SHELF, "[odd]\npackage = \"odd\"\n").unwrap_err();
        assert_eq!(
            failure.to_string(),
            "the agent odd has no text `version` in tests/agents/pins.toml"
        );
    }

    #[test]
    fn an_empty_folder_is_not_an_installation() {
        let pin = pins(&real_agents::SHELF).unwrap().remove(0);
        let nowhere = tools::root().join("tests/agents/no-such-folder");
        assert!(!is_installed(&pin, &nowhere, &nowhere));
    }
}
