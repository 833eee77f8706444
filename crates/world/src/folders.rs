//! Working folders of agents: whether a path is an existing folder beneath an allowed root.
//! On Linux the kernel walks the path (`openat2` beneath the root's descriptor), so that no
//! link leads out between the check and the use; elsewhere the canonical path is compared.

use std::path::{Path, PathBuf};

use guildhall_domain::{Error, Fault, Refusal, Result, outcome::Thing};

/// The roots agents may work beneath, and the one folder they never may.
#[derive(Debug)]
pub struct Folders {
    /// Each root as it was written and as it is reached without links.
    roots: Vec<Root>,
    data_dir: PathBuf,
}

#[derive(Debug)]
struct Root {
    written: PathBuf,
    canonical: PathBuf,
}

impl Folders {
    /// Folders beneath `roots`, but never `data_dir` or anything in it.
    ///
    /// # Errors
    /// A fault when a root or the data folder does not exist.
    ///
    /// Source: contract 6.1.
    pub fn new(roots: &[PathBuf], data_dir: &Path) -> Result<Self, Fault> {
        let canonical = |path: &PathBuf| {
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
            data_dir: canonical(&data_dir.to_owned())?,
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
        let path = Path::new(path);
        let (root, rest) = self.beneath(path).ok_or(Refusal::OutsideBoundary)?;
        let found = open_beneath(root, &rest)?;
        if found.starts_with(&self.data_dir) {
            return Err(Refusal::OutsideBoundary.into());
        }
        found
            .into_os_string()
            .into_string()
            .map_err(|_| Refusal::field("cwd", "must be a path of Unicode text").into())
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
fn open_beneath(root: &Path, rest: &Path) -> Result<PathBuf> {
    use rustix::{
        fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2},
        io::Errno,
    };
    use std::os::fd::AsRawFd;

    /// How often the kernel may ask to try again because something was renamed meanwhile.
    const OPENAT2_RETRY: usize = 8;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let rest = if rest.as_os_str().is_empty() {
        Path::new(".")
    } else {
        rest
    };
    let root = openat(CWD, root, flags, Mode::empty())
        .map_err(|error| Fault::broken("opening an allowed folder", error))?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut opened = Err(Errno::AGAIN);
    for _ in 0..OPENAT2_RETRY {
        opened = openat2(&root, rest, flags, Mode::empty(), resolve);
        if !matches!(opened, Err(Errno::AGAIN)) {
            break;
        }
    }
    let folder = opened.map_err(|error| refused(error.into()))?;
    std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))
        .map_err(|error| Fault::broken("naming a working folder", error).into())
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(root: &Path, rest: &Path) -> Result<PathBuf> {
    let found = root.join(rest).canonicalize().map_err(refused)?;
    if !found.starts_with(root) {
        return Err(Refusal::OutsideBoundary.into());
    }
    if found.is_dir() {
        Ok(found)
    } else {
        Err(Refusal::NotADirectory.into())
    }
}

fn refused(error: std::io::Error) -> Error {
    use std::io::ErrorKind;
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return Refusal::InvalidPath("ELOOP").into();
    }
    match error.kind() {
        ErrorKind::NotFound => Refusal::NotFound(Thing::Path).into(),
        ErrorKind::NotADirectory => Refusal::NotADirectory.into(),
        ErrorKind::PermissionDenied => Refusal::PermissionDenied.into(),
        ErrorKind::CrossesDevices => Refusal::OutsideBoundary.into(),
        ErrorKind::InvalidFilename => Refusal::InvalidPath("ENAMETOOLONG").into(),
        ErrorKind::InvalidInput => Refusal::InvalidPath("EINVAL").into(),
        _ => Fault::broken("opening a working folder", error).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(folders: &Folders, path: &Path) -> Result<String, String> {
        folders
            .working_folder(path.to_str().unwrap())
            .map_err(|error| match error {
                Error::Refusal(refusal) => format!("{refusal:?}"),
                Error::Fault(fault) => panic!("{fault:?}"),
            })
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
        let folders = Folders::new(&[linked], &data).unwrap();

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
}
