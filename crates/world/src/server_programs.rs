//! Programs of tool servers: which file a command is, and what that file holds.
//! The file is hashed from the one descriptor it was found by, so that what is pinned is what
//! was looked at; nothing is started here. Source: contract 4.6.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use guildhall_domain::{limits, mcp_servers::ProgramFiles};

use crate::{digests::DigestBuilder, host_key::hex};

/// Programs that run the script they are given; `python` stands for every version of it.
const INTERPRETERS: [&str; 9] = [
    "node", "deno", "bun", "ruby", "perl", "php", "sh", "bash", "zsh",
];
/// Hashes that are kept.
const KEPT_MAX: usize = 512;
/// Bytes read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// A command as an entry names it.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec<'a> {
    /// The program.
    pub command: &'a str,
    /// Its arguments.
    pub args: &'a [String],
    /// The agent's folder.
    pub cwd: &'a Path,
    /// The values of `PATH` in which a bare name is looked for, in this order.
    pub paths: &'a [&'a str],
}

/// A program and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedProgram {
    /// What it is, links followed.
    pub program: ProgramFiles,
    /// Where it was found, links not followed: some programs are another one by the name they
    /// are called by, or find what belongs to them beside it.
    pub place: PathBuf,
    /// What was looked at.
    pub sighting: ProgramStamps,
}

/// The files that were looked at, program and script: one that was put in the place of another
/// and gone again leaves another sighting behind, because the file that came back has moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramStamps {
    executable: FileStamp,
    script: Option<FileStamp>,
}

/// What was hashed before, by what says that a file is still the same.
#[derive(Debug, Default)]
pub struct HashCache {
    /// A std mutex: held for single look-ups, never while a file is read.
    known: Mutex<HashMap<FileStamp, String>>,
}

/// What changes when a file does. Source: contract 4.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A regular file that was opened.
struct OpenProgramFile {
    file: File,
    path: String,
    identity: FileStamp,
    is_executable: bool,
}

impl HashCache {
    /// Finds the file a command is and the script it is given; `None` when there is no such
    /// program that can be executed and read.
    ///
    /// Reads the disk, so it is no call for an async thread.
    pub fn resolve(&self, command: CommandSpec<'_>) -> Option<ResolvedProgram> {
        let places = places(command);
        let (place, opened) = places.into_iter().find_map(|place| {
            let opened = open(&place).ok()?;
            opened.is_executable.then_some((place, opened))
        })?;
        let is_interpreter = is_interpreter(&place) || is_interpreter(Path::new(&opened.path));
        let (executable_path, executable) = (opened.path.clone(), opened.identity);
        let executable_sha256 = self.hash(opened, limits::MCP_PROGRAM_BYTES_MAX)?;
        let script = is_interpreter.then(|| self.script(command)).flatten();
        let (script, identity) = script.unzip();
        Some(ResolvedProgram {
            program: ProgramFiles {
                executable_path,
                executable_sha256,
                script,
            },
            place,
            sighting: ProgramStamps {
                executable,
                script: identity,
            },
        })
    }

    /// The first argument that names a regular file. One that begins with a hyphen is an option
    /// to every interpreter: a file of that name would be pinned in place of the script.
    fn script(&self, command: CommandSpec<'_>) -> Option<((String, String), FileStamp)> {
        let mut args = command.args.iter().filter(|arg| !arg.starts_with('-'));
        args.find_map(|arg| {
            if arg.is_empty() {
                return None;
            }
            let opened = open(&command.cwd.join(arg)).ok()?;
            if opened.identity.size > limits::MCP_SCRIPT_BYTES_MAX {
                return None;
            }
            let (path, identity) = (opened.path.clone(), opened.identity);
            let hash = self.hash(opened, limits::MCP_SCRIPT_BYTES_MAX)?;
            Some(((path, hash), identity))
        })
    }

    /// The SHA-256 of an open file; `None` when it is too large or changes while it is read.
    fn hash(&self, opened: OpenProgramFile, most: u64) -> Option<String> {
        let OpenProgramFile { file, identity, .. } = opened;
        if let Some(known) = self.known().get(&identity) {
            return Some(known.clone());
        }
        let mut digest = DigestBuilder::default();
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut rest = (&file).take(most + 1);
        let mut size = 0_u64;
        loop {
            match rest.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => {
                    size += count as u64;
                    digest.add(&chunk[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        let is_whole = size <= most && identity_of(&file).ok()? == identity;
        let hash = is_whole.then(|| hex(digest.finish().as_bytes()))?;
        let mut known = self.known();
        if known.len() >= KEPT_MAX {
            known.clear();
        }
        known.insert(identity, hash.clone());
        Some(hash)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<FileStamp, String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a command may lie, in the order in which it is looked for. Folders of `PATH` that are
/// relative or empty do not count: they would mean another file in each folder.
fn places(command: CommandSpec<'_>) -> Vec<PathBuf> {
    let name = Path::new(command.command);
    if command.command.contains('/') {
        // An absolute path stays what it is.
        return vec![command.cwd.join(name)];
    }
    let folders = command.paths.iter().flat_map(std::env::split_paths);
    let folders = folders.filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).collect()
}

fn is_interpreter(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| {
        INTERPRETERS.contains(&name)
            || name
                .strip_prefix("python")
                .is_some_and(|version| version.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
    })
}

/// Opens a regular file, links followed, and says where it lies without them.
fn open(path: &Path) -> io::Result<OpenProgramFile> {
    // What is no regular file may be waited for on opening.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let path = path_of(&file, path)?.into_os_string().into_string();
    Ok(OpenProgramFile {
        path: path.map_err(|_| io::ErrorKind::InvalidData)?,
        identity: identity_of(&file)?,
        is_executable: found.permissions().mode() & 0o111 != 0,
        file,
    })
}

#[cfg(target_os = "linux")]
fn path_of(file: &File, _opened: &Path) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(not(target_os = "linux"))]
fn path_of(_file: &File, opened: &Path) -> io::Result<PathBuf> {
    opened.canonicalize()
}

fn identity_of(file: &File) -> io::Result<FileStamp> {
    let found = file.metadata()?;
    Ok(FileStamp {
        device: found.dev(),
        inode: found.ino(),
        size: found.size(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::scratch::Scratch;

    /// The SHA-256 of `abc`.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn write(path: &Path, text: &str, mode: u32) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// What a command with these arguments is, its folder cut off every path.
    fn found(
        scratch: &Scratch,
        command: &str,
        args: &[&str],
        paths: &[&str],
    ) -> Option<ProgramFiles> {
        let root = scratch.path().canonicalize().unwrap();
        let at = |text: &&str| text.replace('@', &root.display().to_string());
        let paths: Vec<String> = paths.iter().map(at).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let args: Vec<String> = args.iter().map(at).collect();
        let found = HashCache::default().resolve(CommandSpec {
            command: &at(&command),
            args: &args,
            cwd: &root.join("agent"),
            paths: &paths,
        })?;
        let found = found.program;
        let cut = |path: &str| path.replace(&root.display().to_string(), "@");
        Some(ProgramFiles {
            executable_path: cut(&found.executable_path),
            script: found.script.map(|(path, hash)| (cut(&path), hash)),
            ..found
        })
    }

    fn tree() -> Scratch {
        let scratch = Scratch::new("mcp-programs");
        let at = |name: &str| scratch.path().join(name);
        write(&at("bin/tool"), "abc", 0o755);
        write(&at("other/tool"), "other", 0o755);
        write(&at("plain/tool"), "plain", 0o644);
        write(&at("agent/own"), "own", 0o755);
        write(&at("agent/script.js"), "abc", 0o644);
        write(&at("bin/python3.11"), "py", 0o755);
        write(&at("bin/dash"), "dash", 0o755);
        write(&at("agent/-m"), "evil", 0o644);
        std::fs::create_dir(at("agent/folder")).unwrap();
        std::fs::create_dir(at("bin/directory")).unwrap();
        symlink("python3.11", at("bin/python3")).unwrap();
        symlink("dash", at("bin/sh")).unwrap();
        symlink("../bin/tool", at("agent/linked")).unwrap();
        symlink("nowhere", at("bin/broken")).unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            at("bin/fifo"),
            rustix::fs::Mode::from_raw_mode(0o755),
        )
        .unwrap();
        scratch
    }

    #[test]
    fn a_command_is_the_file_its_path_leads_to() {
        let scratch = tree();
        let (bin, both) = (&["@/bin"][..], &["@/plain:bin::@/other", "@/bin"][..]);
        for (command, paths, expected) in [
            ("@/bin/tool", &[][..], Some("@/bin/tool")),
            ("./own", &[], Some("@/agent/own")),
            ("../bin/tool", &[], Some("@/bin/tool")),
            ("./linked", &[], Some("@/bin/tool")),
            ("tool", bin, Some("@/bin/tool")),
            // A name without a slash is never looked for in the agent's own folder.
            ("own", bin, None),
            ("tool", both, Some("@/other/tool")),
            ("tool", &[], None),
            ("directory", bin, None),
            ("fifo", bin, None),
            ("broken", bin, None),
            ("./script.js", &[], None),
            ("@/none", &[], None),
        ] {
            let path = found(&scratch, command, &[], paths).map(|found| found.executable_path);
            assert_eq!(path.as_deref(), expected, "{command}");
        }
        assert_eq!(
            found(&scratch, "tool", &[], bin).unwrap().executable_sha256,
            ABC
        );
    }

    #[test]
    fn where_a_link_leads_and_where_it_lies_are_both_known() {
        let scratch = tree();
        let root = scratch.path().canonicalize().unwrap();
        let path = root.join("bin").into_os_string().into_string().unwrap();
        for (command, place) in [("python3", "bin/python3"), ("./linked", "agent/./linked")] {
            let found = HashCache::default().resolve(CommandSpec {
                command,
                args: &[],
                cwd: &root.join("agent"),
                paths: &[&path],
            });
            assert_eq!(found.unwrap().place, root.join(place), "{command}");
        }
    }

    #[test]
    fn a_file_that_was_away_meanwhile_is_not_the_one_that_was_looked_at() {
        let scratch = tree();
        let root = scratch.path().canonicalize().unwrap();
        let args = [root.join("agent/script.js").display().to_string()];
        let path = root.join("bin").display().to_string();
        let hashes = HashCache::default();
        let look = || {
            let command = CommandSpec {
                command: "sh",
                args: &args,
                cwd: &root,
                paths: &[&path],
            };
            hashes.resolve(command).unwrap()
        };
        for moved in ["bin/dash", "agent/script.js"] {
            let before = look();
            assert_eq!(look(), before);
            let (from, to) = (root.join(moved), root.join("away"));
            let changed = || {
                std::fs::rename(&from, &to).unwrap();
                std::fs::rename(&to, &from).unwrap();
                look().sighting != before.sighting
            };
            // The clock of a file system may stand still for a moment.
            assert!((0..1_000_000).any(|_| changed()), "{moved}");
            assert_eq!(look().program, before.program);
        }
    }

    #[test]
    fn the_script_of_an_interpreter_is_the_first_argument_that_is_a_file() {
        let scratch = tree();
        let script = |command: &str, args: &[&str]| {
            found(&scratch, command, args, &["@/bin"]).unwrap().script
        };
        let expected = Some(("@/agent/script.js".to_owned(), ABC.to_owned()));
        for command in ["python3", "sh"] {
            let args: &[&str] = &["-u", "x=1", "", "folder", "script.js", "own"];
            assert_eq!(script(command, args), expected, "{command}");
            assert_eq!(script(command, &["@/agent/script.js"]), expected);
            assert_eq!(script(command, &["-m", "script.js"]), expected);
            assert_eq!(script(command, &["-c", "code"]), None);
        }
        assert_eq!(script("tool", &["script.js"]), None);
        for (name, is_known) in [
            ("python", true),
            ("python3.12", true),
            ("pythonic", false),
            ("node", true),
            ("nodejs", false),
            ("zsh", true),
        ] {
            assert_eq!(is_interpreter(Path::new(name)), is_known, "{name}");
        }
    }

    #[test]
    fn a_script_beyond_the_limit_is_passed_over() {
        let scratch = tree();
        let large = File::create(scratch.path().join("agent/large.js")).unwrap();
        large.set_len(limits::MCP_SCRIPT_BYTES_MAX + 1).unwrap();
        let found = found(&scratch, "sh", &["large.js", "script.js"], &["@/bin"]).unwrap();
        assert_eq!(found.script.unwrap().0, "@/agent/script.js");
    }

    #[test]
    fn a_file_that_is_replaced_is_hashed_anew() {
        let scratch = tree();
        let hashes = HashCache::default();
        let root = scratch.path().canonicalize().unwrap();
        let path = root.join("bin/tool");
        let hash = || {
            let command = CommandSpec {
                command: path.to_str().unwrap(),
                args: &[],
                cwd: &root,
                paths: &[],
            };
            hashes.resolve(command).unwrap().program.executable_sha256
        };
        assert_eq!((hash(), hash()), (ABC.to_owned(), ABC.to_owned()));
        let draft = root.join("bin/draft");
        write(&draft, "abd", 0o755);
        std::fs::rename(&draft, &path).unwrap();
        assert_ne!(hash(), ABC);
        write(&draft, "abc", 0o755);
        std::fs::rename(&draft, &path).unwrap();
        assert_eq!(hash(), ABC);
    }
}
