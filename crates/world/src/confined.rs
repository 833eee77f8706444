//! Confined paths: whether a path is an existing folder or file beneath an allowed root.
//! On Linux the kernel walks the path (`openat2` beneath the root's descriptor), so that no
//! link leads out between the check and the use; elsewhere the canonical path is compared.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use guildhall_domain::{Error, Fault, Refusal, Result, canvas::TreeKind, outcome::Thing};

/// The roots everything lies beneath, and the one folder nothing may lie in.
#[derive(Debug)]
pub struct Confined {
    /// Each root as it was written and as it is reached without links.
    roots: Vec<Root>,
    data_dir: PathBuf,
}

#[derive(Debug)]
struct Root {
    written: PathBuf,
    canonical: PathBuf,
}

/// How far a caller may reach. Source: contract 6.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everything beneath the roots.
    Roots,
    /// This folder alone, and only while it lies beneath a root.
    Folder(String),
}

/// A regular file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its absolute path, without links.
    pub path: String,
    /// The copy of a project it lies in; `None` is outside of every repository.
    pub tree: TreeKind,
}

/// What a path must lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Folder,
    File,
}

impl Confined {
    /// Paths beneath `roots`, but never `data_dir` or anything in it.
    ///
    /// # Errors
    /// A fault when a root or the data folder does not exist.
    ///
    /// Source: contract 6.1.
    pub fn new(roots: &[PathBuf], data_dir: &Path) -> Result<Self, Fault> {
        let canonical = |path: &Path| {
            path.canonicalize()
                .map_err(|error| Fault::broken("opening an allowed folder", error))
        };
        let root = |path: &PathBuf| {
            Ok(Root {
                written: path.clone(),
                canonical: canonical(path)?,
            })
        };
        Ok(Self {
            roots: roots.iter().map(root).collect::<Result<_, Fault>>()?,
            data_dir: canonical(data_dir)?,
        })
    }

    /// The roots when nothing else is configured: home, the temporary folder, and `start`, the
    /// folder the server was started in, which never counts when it is `/`.
    pub fn default_roots(home: Option<PathBuf>, start: Option<PathBuf>) -> Vec<PathBuf> {
        let start = start.filter(|path| path.parent().is_some());
        let mut roots: Vec<PathBuf> = home
            .into_iter()
            .chain([std::env::temp_dir()])
            .chain(start)
            .collect();
        roots.retain(|path| path.is_absolute() && path.is_dir());
        roots.dedup();
        roots
    }

    /// Whether `path` is the absolute path of a folder there is.
    pub fn is_folder(path: &str) -> bool {
        let path = Path::new(path);
        path.is_absolute() && path.is_dir()
    }

    /// The canonical path of the existing folder at `path`, an absolute path.
    ///
    /// # Errors
    /// [`Refusal::OutsideBoundary`] beyond the roots or inside the data folder, also when nothing
    /// exists there; `NotFound`, [`Refusal::NotADirectory`], [`Refusal::PermissionDenied`] and
    /// [`Refusal::InvalidPath`] inside them.
    pub fn working_folder(&self, path: &str) -> Result<String> {
        let (found, _) = self.find(Path::new(path), Want::Folder)?;
        found
            .into_os_string()
            .into_string()
            .map_err(|_| Refusal::field("cwd", "must be a path of Unicode text").into())
    }

    /// The canonical path of the existing folder at `path`, an absolute path within `reach`.
    ///
    /// # Errors
    /// Those of [`Confined::working_folder`].
    ///
    /// Source: contract 6.1.
    pub fn folder(&self, reach: &Reach, path: &str) -> Result<String> {
        let Reach::Folder(own) = reach else {
            return self.working_folder(path);
        };
        let own = self.working_folder(own)?;
        let (base, rest) = self
            .beneath(Path::new(path))
            .ok_or(Refusal::OutsideBoundary)?;
        let path = base.join(rest);
        let rest = path
            .strip_prefix(&own)
            .map_err(|_| Refusal::OutsideBoundary)?;
        let found = self.open(Path::new(&own), rest, Want::Folder)?;
        let text = found.into_os_string().into_string();
        // A name that is no text cannot be addressed, so nothing is there.
        text.map_err(|_| Refusal::NotFound(Thing::Path).into())
    }

    /// The existing regular file at `path`, an absolute path within `reach`.
    ///
    /// # Errors
    /// [`Refusal::OutsideBoundary`] beyond the reach or inside the data folder, also when nothing
    /// exists there; `NotFound`, [`Refusal::NotAFile`], [`Refusal::PermissionDenied`] and
    /// [`Refusal::InvalidPath`] inside it.
    ///
    /// Source: contract 6.1.
    pub fn file(&self, reach: &Reach, path: &str) -> Result<Found> {
        let path = Path::new(path);
        let (found, root) = match reach {
            Reach::Roots => self.find(path, Want::File)?,
            Reach::Folder(folder) => {
                let (folder, root) = self.find(Path::new(folder), Want::Folder)?;
                let (base, rest) = self.beneath(path).ok_or(Refusal::OutsideBoundary)?;
                let path = base.join(rest);
                let rest = path.strip_prefix(&folder);
                let rest = rest.map_err(|_| Refusal::OutsideBoundary)?;
                (self.open(&folder, rest, Want::File)?, root)
            }
        };
        let tree = tree_of(&found, root);
        let path = found.into_os_string().into_string();
        // A name that is no text cannot be addressed, so nothing is there.
        let path = path.map_err(|_| Refusal::NotFound(Thing::Path))?;
        Ok(Found { path, tree })
    }

    /// What is at `path`, and the root it lies beneath.
    fn find(&self, path: &Path, want: Want) -> Result<(PathBuf, &Path)> {
        let (root, rest) = self.beneath(path).ok_or(Refusal::OutsideBoundary)?;
        Ok((self.open(root, &rest, want)?, root))
    }

    fn open(&self, root: &Path, rest: &Path, want: Want) -> Result<PathBuf> {
        let found = open_beneath(root, rest, want)?;
        if found.starts_with(&self.data_dir) {
            return Err(Refusal::OutsideBoundary.into());
        }
        Ok(found)
    }

    /// The longest root that holds `path`, as written or as canonical, and the rest of the path.
    fn beneath(&self, path: &Path) -> Option<(&Path, PathBuf)> {
        self.roots
            .iter()
            .flat_map(|root| [(&root.written, root), (&root.canonical, root)])
            .filter_map(|(prefix, root)| {
                let rest = path.strip_prefix(prefix).ok()?.to_owned();
                Some((prefix.as_os_str().len(), root.canonical.as_path(), rest))
            })
            .max_by_key(|(length, ..)| *length)
            .map(|(_, root, rest)| (root, rest))
    }
}

#[cfg(target_os = "linux")]
fn open_beneath(root: &Path, rest: &Path, want: Want) -> Result<PathBuf> {
    use rustix::{
        fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2},
        io::Errno,
    };
    use std::os::fd::AsRawFd;

    /// How often the kernel may ask to try again because something was renamed meanwhile.
    const OPENAT2_RETRY: usize = 8;
    let path = OFlags::PATH | OFlags::CLOEXEC;
    let flags = match want {
        Want::Folder => path | OFlags::DIRECTORY,
        Want::File => path,
    };
    let rest = if rest.as_os_str().is_empty() {
        Path::new(".")
    } else {
        rest
    };
    let root = openat(CWD, root, path | OFlags::DIRECTORY, Mode::empty())
        .map_err(|error| Fault::broken("opening an allowed folder", error))?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut opened = Err(Errno::AGAIN);
    for _ in 0..OPENAT2_RETRY {
        opened = openat2(&root, rest, flags, Mode::empty(), resolve);
        if !matches!(opened, Err(Errno::AGAIN)) {
            break;
        }
    }
    let opened = opened.map_err(|error| refused(error.into(), want))?;
    if want == Want::File {
        let stat = fstat(&opened).map_err(|error| refused(error.into(), want))?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Err(Refusal::NotAFile.into());
        }
    }
    std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()))
        .map_err(|error| Fault::broken("naming what a path leads to", error).into())
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(root: &Path, rest: &Path, want: Want) -> Result<PathBuf> {
    let found = root
        .join(rest)
        .canonicalize()
        .map_err(|error| refused(error, want))?;
    if !found.starts_with(root) {
        return Err(Refusal::OutsideBoundary.into());
    }
    match want {
        Want::Folder if !found.is_dir() => Err(Refusal::NotADirectory.into()),
        Want::File if !found.is_file() => Err(Refusal::NotAFile.into()),
        Want::Folder | Want::File => Ok(found),
    }
}

fn refused(error: std::io::Error, want: Want) -> Error {
    use std::io::ErrorKind;
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return Refusal::InvalidPath("ELOOP").into();
    }
    match error.kind() {
        ErrorKind::NotFound => Refusal::NotFound(Thing::Path).into(),
        ErrorKind::NotADirectory if want == Want::Folder => Refusal::NotADirectory.into(),
        ErrorKind::NotADirectory => Refusal::InvalidPath("ENOTDIR").into(),
        ErrorKind::PermissionDenied => Refusal::PermissionDenied.into(),
        ErrorKind::CrossesDevices => Refusal::OutsideBoundary.into(),
        ErrorKind::InvalidFilename => Refusal::InvalidPath("ENAMETOOLONG").into(),
        ErrorKind::InvalidInput => Refusal::InvalidPath("EINVAL").into(),
        _ => Fault::broken("opening a path", error).into(),
    }
}

/// The copy of a project that `file` lies in, by the nearest `.git` up to `root`.
fn tree_of(file: &Path, root: &Path) -> TreeKind {
    let folders = file.ancestors().skip(1);
    folders
        .take_while(|folder| folder.starts_with(root))
        .find_map(|folder| tree_at(&folder.join(".git")))
        .unwrap_or_default()
}

/// What a `.git` says of the folder it lies in. A folder is a repository's own, a file leads to
/// the repository: from a linked working tree into its `worktrees`, else from a submodule.
fn tree_at(git: &Path) -> Option<TreeKind> {
    /// Bytes of such a file that are read: a path and a word before it.
    const GIT_FILE_BYTES_MAX: u64 = 8_192;
    let kind = git.symlink_metadata().ok()?;
    if !kind.is_file() {
        return Some(TreeKind::RoomMain);
    }
    let mut text = Vec::new();
    // What cannot be read is no sign of a linked working tree.
    let read = std::fs::File::open(git).map(|file| file.take(GIT_FILE_BYTES_MAX));
    let is_read = read.is_ok_and(|mut file| file.read_to_end(&mut text).is_ok());
    let is_linked = is_read && String::from_utf8_lossy(&text).contains("/worktrees/");
    Some(if is_linked {
        TreeKind::Worktree
    } else {
        TreeKind::RoomMain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(folders: &Confined, path: &Path) -> Result<String, String> {
        folders
            .working_folder(path.to_str().unwrap())
            .map_err(in_words)
    }

    fn in_words(error: Error) -> String {
        match error {
            Error::Refusal(refusal) => format!("{refusal:?}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_agent_works_beneath_a_root_and_never_in_the_data_folder() {
        let base = crate::scratch::Scratch::new("folders");
        let root = base.path().join("root");
        let data = root.join("data");
        for folder in ["root/project/src", "root/data/run", "rooted"] {
            std::fs::create_dir_all(base.path().join(folder)).unwrap();
        }
        std::fs::write(root.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(base.path(), root.join("out")).unwrap();
        std::os::unix::fs::symlink("project", root.join("in")).unwrap();
        std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
        std::os::unix::fs::symlink("root", base.path().join("linked")).unwrap();
        let linked = base.path().join("linked");
        let folders = Confined::new(&[linked], &data).unwrap();

        let project = root.canonicalize().unwrap().join("project");
        let project = project.to_str().unwrap().to_owned();
        let no = |what: &str| Err(what.to_owned());
        for (path, expected) in [
            ("root/project", Ok(project.clone())),
            ("linked/project", Ok(project.clone())),
            ("root/in", Ok(project.clone())),
            ("root/project/src/..", Ok(project)),
            ("root/file", no("NotADirectory")),
            ("root/none", no("NotFound(Path)")),
            ("root/out", no("OutsideBoundary")),
            ("root/../rooted", no("OutsideBoundary")),
            ("rooted", no("OutsideBoundary")),
            ("none", no("OutsideBoundary")),
            ("root/data", no("OutsideBoundary")),
            ("root/data/run", no("OutsideBoundary")),
            ("root/loop", no("InvalidPath(\"ELOOP\")")),
        ] {
            assert_eq!(
                outcome(&folders, &base.path().join(path)),
                expected,
                "{path}"
            );
        }
    }

    #[test]
    fn a_file_is_found_within_its_openers_reach_and_nowhere_else() {
        let base = crate::scratch::Scratch::new("confined");
        let at = |path: &str| base.path().join(path);
        for folder in ["root/ada/src", "root/adam", "root/data", "else"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for file in [
            "root/ada/a.md",
            "root/ada/src/b.md",
            "root/adam/c.md",
            "root/data/d.md",
            "else/e.md",
        ] {
            std::fs::write(at(file), "x").unwrap();
        }
        let link = |to: &str, from: &str| std::os::unix::fs::symlink(to, at(from)).unwrap();
        link("src/b.md", "root/ada/in");
        link("../adam/c.md", "root/ada/beside");
        link("../../else/e.md", "root/ada/out");
        link("/etc/passwd", "root/ada/far");
        link("loop", "root/ada/loop");
        link("../data", "root/ada/data");
        rustix::fs::mkfifoat(rustix::fs::CWD, at("root/ada/fifo"), rustix::fs::Mode::RUSR).unwrap();
        link("root", "linked");
        let confined = Confined::new(&[at("linked")], &at("root/data")).unwrap();
        let ada = Reach::Folder(at("root/ada").to_str().unwrap().to_owned());
        let long = format!("root/ada/{}", "x".repeat(300));
        let (outside, missing) = ("OutsideBoundary", "NotFound(Path)");
        for (path, by_person, by_ada) in [
            ("root/ada/a.md", "root/ada/a.md", "root/ada/a.md"),
            ("root/ada/src/../a.md", "root/ada/a.md", "root/ada/a.md"),
            ("linked/ada/a.md", "root/ada/a.md", "root/ada/a.md"),
            ("root/ada/in", "root/ada/src/b.md", "root/ada/src/b.md"),
            ("root/ada/beside", "root/adam/c.md", outside),
            ("root/adam/c.md", "root/adam/c.md", outside),
            ("root/ada/../adam/c.md", "root/adam/c.md", outside),
            ("root/ada/out", outside, outside),
            ("root/ada/far", outside, outside),
            ("root/../else/e.md", outside, outside),
            ("else/e.md", outside, outside),
            ("else/none", outside, outside),
            ("root/data/d.md", outside, outside),
            ("root/ada/data/d.md", outside, outside),
            ("root/ada/none", missing, missing),
            ("root/adam/none", missing, outside),
            ("root/ada", "NotAFile", "NotAFile"),
            ("root/ada/fifo", "NotAFile", "NotAFile"),
            (
                "root/ada/a.md/x",
                "InvalidPath(\"ENOTDIR\")",
                "InvalidPath(\"ENOTDIR\")",
            ),
            (
                "root/ada/loop",
                "InvalidPath(\"ELOOP\")",
                "InvalidPath(\"ELOOP\")",
            ),
            (
                &long,
                "InvalidPath(\"ENAMETOOLONG\")",
                "InvalidPath(\"ENAMETOOLONG\")",
            ),
        ] {
            for (reach, expected) in [(&Reach::Roots, by_person), (&ada, by_ada)] {
                let found = confined.file(reach, at(path).to_str().unwrap());
                let found = found.map(|found| found.path).unwrap_or_else(in_words);
                let is_path = expected.starts_with("root/");
                let place = at(expected);
                let expected = if is_path {
                    place.to_str().unwrap()
                } else {
                    expected
                };
                assert_eq!(found, expected, "{path} by {reach:?}");
            }
        }
    }

    #[test]
    fn a_file_knows_whether_its_project_is_a_repository_or_a_linked_copy_of_one() {
        let base = crate::scratch::Scratch::new("trees");
        let at = |path: &str| base.path().join(path);
        for folder in [
            "root/main/.git",
            "root/main/sub/deep",
            "root/copy",
            "root/plain",
            "data",
        ] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        // A repository above the root is none of ours.
        std::fs::create_dir(at(".git")).unwrap();
        std::fs::write(at("root/copy/.git"), "gitdir: /r/.git/worktrees/copy\n").unwrap();
        std::fs::write(at("root/main/sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
        let confined = Confined::new(&[at("root")], &at("data")).unwrap();
        for (folder, tree) in [
            ("root/main", TreeKind::RoomMain),
            ("root/main/sub/deep", TreeKind::RoomMain),
            ("root/copy", TreeKind::Worktree),
            ("root/plain", TreeKind::None),
        ] {
            let file = at(folder).join("a.md");
            std::fs::write(&file, "x").unwrap();
            let found = confined.file(&Reach::Roots, file.to_str().unwrap());
            assert_eq!(found.map_err(in_words).unwrap().tree, tree, "{folder}");
        }
    }
}
