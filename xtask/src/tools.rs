//! Tools: where the programs that these commands call are, and what to say when one is missing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result};
use crate::step;

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

/// Programs that tests start, each with Debian's package.
const TEST_PROGRAMS: [(&str, &str); 5] = [
    // A server to preview.
    ("python3", "python3"),
    // The browser's own window: a display, and what looks at it.
    ("Xvfb", "xvfb"),
    ("xwininfo", "x11-utils"),
    ("xdotool", "xdotool"),
    // Agents in a network of their own.
    ("ip", "iproute2"),
];

/// Finds the programs that tests start; on Debian as root, installs those that are missing.
///
/// # Errors
/// One sentence that says what to install, or which step of the installation failed.
pub(crate) fn test_programs() -> Result<()> {
    if !missing_packages(&TEST_PROGRAMS).is_empty() && may_install() {
        install("programs for tests", &missing_packages(&TEST_PROGRAMS))?;
    }
    let missing = missing_packages(&TEST_PROGRAMS);
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "programs that tests start are missing: install them (on Debian: `apt-get install {}`)",
        missing.join(" ")
    )))
}

/// Programs that the fault campaigns start, each with Debian's package.
const FAULT_PROGRAMS: [(&str, &str); 4] = [
    // Calls of the system that fail.
    ("strace", "strace"),
    // File systems that are cut off and filled.
    ("mkfs.xfs", "xfsprogs"),
    ("xfs_io", "xfsprogs"),
    ("mkfs.ext4", "e2fsprogs"),
];

/// Looks for the programs that the fault campaigns start; on Debian as root, installs those that
/// are missing. Without them those campaigns are skipped, and say so.
pub(crate) fn fault_programs() {
    if !missing_packages(&FAULT_PROGRAMS).is_empty()
        && may_install()
        && let Err(failure) = install("programs for faults", &missing_packages(&FAULT_PROGRAMS))
    {
        println!("{failure}");
    }
}

/// The packages of those programs that are not here.
fn missing_packages(programs: &[(&str, &'static str)]) -> Vec<&'static str> {
    let missing = programs.iter().filter(|(name, _)| {
        // Debian keeps some where only root's search path leads.
        let places = ["/usr/sbin", "/sbin"].map(|folder| Path::new(folder).join(name));
        on_path(name).is_none() && !places.iter().any(|place| place.is_file())
    });
    let mut packages: Vec<_> = missing.map(|(_, package)| *package).collect();
    packages.dedup();
    packages
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
pub(crate) fn first_line(command: &mut Command) -> Option<String> {
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
    fn a_program_is_found_on_the_path_and_a_ghost_is_not() {
        assert!(on_path("rustc").is_some());
        assert_eq!(on_path("no-such-program-here"), None);
    }
}
