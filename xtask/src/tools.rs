//! Tools: where the programs that these commands call are, and what to say when one is missing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result};
use crate::step;

/// The oldest Node.js that builds the page, as major and minor version: what Vite asks for.
const NODE_MIN: (u32, u32) = (20, 19);

/// Names that Chromium and its kin go by, best first.
const CHROMIUM_NAMES: &[&str] = &[
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Names the browser for the page's tests when it stands elsewhere.
pub(crate) const CHROMIUM_VARIABLE: &str = "GUILDHALL_CHROMIUM";

/// The folder that holds the workspace.
pub(crate) fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map_or(own.clone(), Path::to_path_buf)
}

/// `program` with the workspace as its folder.
pub(crate) fn command(program: impl Into<OsString>) -> Command {
    let mut command = Command::new(program.into());
    command.current_dir(root());
    // These came from the `cargo` that started us and describe this package only;
    // build scripts that watch them would run again for every nested `cargo`.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// The same `cargo` that started us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = command(program);
    command.args(arguments);
    command
}

/// `npm` in the folder of the page.
pub(crate) fn npm(arguments: &[&str]) -> Command {
    let program = on_path("npm").map_or_else(|| "npm".into(), PathBuf::into_os_string);
    let mut command = command(program);
    command.args(arguments).current_dir(root().join("web"));
    command
}

/// Whether `cargo nextest` is installed.
pub(crate) fn has_nextest() -> bool {
    cargo(&["nextest", "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Checks that the page can be built here.
///
/// # Errors
/// One sentence when Node.js is missing or too old, or npm is missing.
pub(crate) fn check_node() -> Result<()> {
    let version = on_path("node").and_then(|node| first_line(command(node).arg("--version")));
    check_node_version(version.as_deref())?;
    match on_path("npm") {
        Some(_) => Ok(()),
        None => Err(Failure::new(
            "npm is needed to build the page: install it beside Node.js and try again",
        )),
    }
}

/// Checks that Node.js is there in at least this major version; 0 asks for none.
///
/// # Errors
/// One sentence when it is missing or older.
pub(crate) fn check_node_major(major_min: u32) -> Result<()> {
    let version = on_path("node").and_then(|node| first_line(command(node).arg("--version")));
    let major = version.as_deref().and_then(|version| {
        let major = version.trim_start_matches('v').split('.').next()?;
        major.parse::<u32>().ok()
    });
    if major.unwrap_or(0) >= major_min {
        return Ok(());
    }
    Err(Failure::new(format!(
        "Node.js {major_min} or newer is needed for this agent: install it and try again"
    )))
}

/// Judges what `node --version` printed, `None` when it did not run.
fn check_node_version(version: Option<&str>) -> Result<()> {
    let (major, minor) = NODE_MIN;
    let needed = format!("Node.js {major}.{minor} or newer is needed to build the page");
    let Some(version) = version else {
        return Err(Failure::new(format!("{needed}: install it and try again")));
    };
    let mut parts = version
        .trim_start_matches('v')
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found >= NODE_MIN {
        return Ok(());
    }
    Err(Failure::new(format!("{needed}, and this one is {version}")))
}

/// Finds Chromium; on Debian as root, installs it when it is missing.
///
/// # Errors
/// One sentence that says what to install, or which step of the installation failed.
pub(crate) fn chromium() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(CHROMIUM_VARIABLE).filter(|value| !value.is_empty()) {
        let named = PathBuf::from(named);
        return if named.is_file() {
            Ok(named)
        } else {
            Err(Failure::new(format!(
                "{CHROMIUM_VARIABLE} names {}, and no program is there",
                named.display()
            )))
        };
    }
    if let Some(found) = chromium_on_path() {
        return Ok(found);
    }
    if may_install() {
        // With a font to draw with.
        let packages = ["chromium", "fonts-dejavu-core", "fonts-noto-color-emoji"];
        install("Chromium", &packages)?;
    }
    chromium_on_path().ok_or_else(|| {
        Failure::new(format!(
            "Chromium is needed for the tests of the page: install it (on Debian: `apt-get install chromium`) \
             or set {CHROMIUM_VARIABLE} to its path"
        ))
    })
}

/// Finds Python 3, whose `http.server` a test looks at; on Debian as root, installs it when it is
/// missing.
///
/// # Errors
/// One sentence that says what to install, or which step of the installation failed.
pub(crate) fn python() -> Result<PathBuf> {
    const NAME: &str = "python3";
    if on_path(NAME).is_none() && may_install() {
        install("Python", &[NAME])?;
    }
    on_path(NAME).ok_or_else(|| {
        Failure::new(
            "Python 3 is needed for a test of previews: install it \
             (on Debian: `apt-get install python3`)",
        )
    })
}

/// Finds what the tests of the browser's own window look at it with, an X server that needs no
/// monitor first of all; on Debian as root, installs what is missing.
///
/// # Errors
/// One sentence that says what to install, or which step of the installation failed.
pub(crate) fn display() -> Result<()> {
    /// Each program with its package.
    const PROGRAMS: [(&str, &str); 3] = [
        ("Xvfb", "xvfb"),
        ("xwininfo", "x11-utils"),
        ("xdotool", "xdotool"),
    ];
    let missing = || {
        let missing = PROGRAMS.iter().filter(|(name, _)| on_path(name).is_none());
        missing.map(|(_, package)| *package).collect::<Vec<_>>()
    };
    if !missing().is_empty() && may_install() {
        install("a display for tests", &missing())?;
    }
    match missing().join(" ") {
        none if none.is_empty() => Ok(()),
        packages => Err(Failure::new(format!(
            "the tests of the browser's own window need more: install it \
             (on Debian: `apt-get install {packages}`)"
        ))),
    }
}

/// Finds nginx, which files and previews are measured beside; on Debian as root, installs it when it
/// is missing. Without it the benchmark leaves those rows out, and says so.
pub(crate) fn nginx() -> Option<PathBuf> {
    const NAME: &str = "nginx";
    /// Where Debian keeps it, which is on root's search path alone.
    const PLACE: &str = "/usr/sbin/nginx";
    let found = || {
        let place = PathBuf::from(PLACE);
        on_path(NAME).or_else(|| Some(place).filter(|place| place.is_file()))
    };
    if found().is_none()
        && may_install()
        && let Err(failure) = install(NAME, &["nginx-light"])
    {
        println!("{failure}");
    }
    found()
}

/// The first Chromium on the search path.
fn chromium_on_path() -> Option<PathBuf> {
    CHROMIUM_NAMES.iter().find_map(|name| on_path(name))
}

/// Whether this is Debian, we are root, and `apt-get` is there.
fn may_install() -> bool {
    let is_debian = std::fs::read_to_string("/etc/os-release")
        .is_ok_and(|text| text.lines().any(|line| line == "ID=debian"));
    let is_root = || first_line(command("id").arg("-u")).as_deref() == Some("0");
    is_debian && on_path("apt-get").is_some() && is_root()
}

/// Installs packages of Debian.
fn install(what: &str, packages: &[&str]) -> Result<()> {
    step::run("package lists", apt_get().arg("update"))?;
    step::run(
        what,
        apt_get()
            .args(["install", "-y", "--no-install-recommends"])
            .args(packages),
    )
}

/// `apt-get` that asks nothing.
fn apt_get() -> Command {
    let mut apt_get = command("apt-get");
    apt_get.arg("-q").env("DEBIAN_FRONTEND", "noninteractive");
    apt_get
}

/// The program `name` on the search path.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    // On Windows npm is a command script, which stands beside no executable of its name.
    let script = format!("{name}.cmd");
    std::env::split_paths(&path)
        .flat_map(|folder| [folder.join(&file), folder.join(&script)])
        .find(|candidate| candidate.is_file())
}

/// The first line a program prints; `None` when it fails.
fn first_line(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.lock").is_file());
    }

    #[test]
    fn node_is_judged_by_its_major_and_minor_version() {
        assert!(check_node_version(Some("v20.19.0")).is_ok());
        assert!(check_node_version(Some("v24.1.0")).is_ok());
        assert_eq!(
            check_node_version(Some("v20.18.3"))
                .unwrap_err()
                .to_string(),
            "Node.js 20.19 or newer is needed to build the page, and this one is v20.18.3"
        );
    }

    #[test]
    fn a_missing_node_is_one_sentence() {
        assert_eq!(
            check_node_version(None).unwrap_err().to_string(),
            "Node.js 20.19 or newer is needed to build the page: install it and try again"
        );
    }

    #[test]
    fn a_program_is_found_on_the_path_and_a_ghost_is_not() {
        assert!(on_path("rustc").is_some());
        assert_eq!(on_path("no-such-program-here"), None);
    }
}
