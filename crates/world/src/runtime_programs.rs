//! Programs of runtimes: where a command lies on `PATH`, and which version its package says.
//! Nothing is started here.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use guildhall_domain::runtimes::RuntimeProgram;
use serde::Deserialize;

/// Folders above a program in which the description of its package is looked for.
const PACKAGE_DEPTH_MAX: usize = 6;
/// Bytes of a package's description; a longer file is none.
const PACKAGE_BYTES_MAX: u64 = 1 << 20;

/// Where programs are looked for, and which one is our own.
#[derive(Clone, Debug)]
pub struct ProgramSearch {
    /// Our own binary.
    pub own: PathBuf,
    /// The folders that are searched, as `PATH` writes them.
    pub path: OsString,
}

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledProgram {
    /// Its absolute path, as it was found.
    pub path: PathBuf,
    /// Its version, as its package says it; `""` when nothing says.
    pub version: String,
}

impl ProgramSearch {
    /// Looks for a program: a regular file that can be executed. Asks the file system.
    pub fn find(&self, program: &RuntimeProgram) -> Option<InstalledProgram> {
        match program {
            RuntimeProgram::Own => Some(InstalledProgram {
                path: self.own.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            }),
            RuntimeProgram::Command(command) => {
                let path = find(command, &self.path)?;
                let version = package_version(&path).unwrap_or_default();
                Some(InstalledProgram { path, version })
            }
        }
    }
}

/// A new folder with nothing in it beneath the temporary folder; gone when dropped.
#[derive(Debug)]
pub struct TempFolder(PathBuf);

impl TempFolder {
    /// Makes the folder, for this user alone.
    ///
    /// # Errors
    /// What the system says when it cannot be made.
    pub fn new() -> io::Result<Self> {
        let name = format!("guildhall-check-{}", crate::ids::new());
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // What cannot be removed is left to the machine's own sweep of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An absolute path as it is, a name in the first absolute folder of `path` that has it.
fn find(command: &str, path: &OsStr) -> Option<PathBuf> {
    let command = Path::new(command);
    if command.is_absolute() {
        return is_executable(command).then(|| command.to_owned());
    }
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(command))
        .find(|place| is_executable(place))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// What the nearest `package.json` above the program that names a version says.
fn package_version(program: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct PackageJson {
        version: String,
    }
    let real = program.canonicalize().ok()?;
    let folders = real.ancestors().skip(1).take(PACKAGE_DEPTH_MAX);
    folders
        .take_while(|folder| {
            folder
                .file_name()
                .is_some_and(|name| name != "node_modules")
        })
        .map(|folder| folder.join("package.json"))
        .filter(|file| {
            file.metadata()
                .is_ok_and(|found| found.is_file() && found.len() <= PACKAGE_BYTES_MAX)
        })
        .filter_map(|file| std::fs::read(file).ok())
        .find_map(|bytes| serde_json::from_slice::<PackageJson>(&bytes).ok())
        .map(|package| package.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn write(path: &Path, text: &str, mode: u32) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_command_is_the_first_executable_file_of_its_name_on_the_path() {
        let scratch = Scratch::new("programs");
        let at = |name: &str| scratch.path().join(name);
        write(&at("a/tool"), "", 0o644);
        std::fs::create_dir_all(at("b/tool")).unwrap();
        write(&at("c/tool"), "", 0o755);
        write(&at("d/tool"), "", 0o755);
        let folders = [
            PathBuf::from("relative"),
            at("a"),
            at("b"),
            at("c"),
            at("d"),
        ];
        let programs = ProgramSearch {
            own: at("own"),
            path: std::env::join_paths(folders).unwrap(),
        };
        let command = |command: &Path| {
            let command = command.to_str().unwrap().to_owned();
            programs
                .find(&RuntimeProgram::Command(command))
                .map(|place| place.path)
        };
        assert_eq!(command(Path::new("tool")), Some(at("c/tool")));
        assert_eq!(command(Path::new("none")), None);
        assert_eq!(command(&at("d/tool")), Some(at("d/tool")));
        assert_eq!(command(&at("a/tool")), None);
        assert_eq!(programs.find(&RuntimeProgram::Own).unwrap().path, at("own"));
    }

    #[test]
    fn a_version_is_that_of_the_package_the_program_lies_in() {
        let scratch = Scratch::new("versions");
        let package = scratch.path().join("lib/node_modules/@x/tool");
        write(&package.join("dist/bin/tool.js"), "", 0o755);
        write(
            &package.join("dist/package.json"),
            r#"{"type": "module"}"#,
            0o644,
        );
        write(
            &package.join("package.json"),
            r#"{"version": "2.6.0"}"#,
            0o644,
        );
        write(
            &scratch.path().join("package.json"),
            r#"{"version": "9"}"#,
            0o644,
        );
        let bin = scratch.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(package.join("dist/bin/tool.js"), bin.join("tool")).unwrap();
        write(
            &scratch.path().join("lib/node_modules/bare/bin/bare"),
            "",
            0o755,
        );
        std::os::unix::fs::symlink("../lib/node_modules/bare/bin/bare", bin.join("bare")).unwrap();
        let programs = ProgramSearch {
            own: PathBuf::new(),
            path: bin.into_os_string(),
        };
        let version = |command: &str| {
            programs
                .find(&RuntimeProgram::Command(command.to_owned()))
                .unwrap()
                .version
        };
        assert_eq!(
            (version("tool").as_str(), version("bare").as_str()),
            ("2.6.0", "")
        );
    }
}
