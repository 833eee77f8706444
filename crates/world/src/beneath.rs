//! A folder that is read without being led out of it: links are followed while they stay inside.
//! On Linux the kernel walks each path beneath the folder's descriptor; elsewhere the canonical
//! path is compared.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// What a name in a folder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    File,
    /// A link, or what the file system does not tell without being asked.
    Link,
    Other,
}

/// One name in a folder; names that are no text are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// An open folder.
#[derive(Debug)]
pub(crate) struct Beneath {
    /// Its path without links.
    path: PathBuf,
    /// What no path may lead into, although it lies inside.
    shunned: Option<PathBuf>,
    #[cfg(target_os = "linux")]
    folder: std::os::fd::OwnedFd,
}

impl Beneath {
    /// The folder at `path`.
    ///
    /// # Errors
    /// Those of opening it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        Ok(Self {
            #[cfg(target_os = "linux")]
            folder: linux::folder(&path)?,
            path,
            shunned: None,
        })
    }

    /// The same, without `folder` and what lies in it.
    pub(crate) fn without(mut self, folder: &Path) -> Self {
        self.shunned = Some(folder.to_owned());
        self
    }

    /// Its path without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What lies in the folder at `path`, in no order; at most `most` names.
    ///
    /// # Errors
    /// `CrossesDevices` when the path leads out, else those of the file system.
    pub(crate) fn list(&self, path: &Path, most: usize) -> io::Result<Vec<Entry>> {
        #[cfg(target_os = "linux")]
        return linux::list(self, path, most);
        #[cfg(not(target_os = "linux"))]
        return elsewhere::list(self, path, most);
    }

    /// The regular file at `path`, opened for reading; anything else is `InvalidInput`.
    ///
    /// # Errors
    /// As [`Beneath::list`].
    pub(crate) fn file(&self, path: &Path) -> io::Result<File> {
        #[cfg(target_os = "linux")]
        let file = linux::file(self, path)?;
        #[cfg(not(target_os = "linux"))]
        let file = elsewhere::file(self, path)?;
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(file)
    }

    /// What a link at `path` leads to.
    ///
    /// # Errors
    /// As [`Beneath::list`].
    pub(crate) fn kind(&self, path: &Path) -> io::Result<Kind> {
        #[cfg(target_os = "linux")]
        return linux::kind(self, path);
        #[cfg(not(target_os = "linux"))]
        return Ok(elsewhere::kind(
            &elsewhere::resolve(self, path)?.metadata()?,
        ));
    }

    /// Holds back a path that leads into what is shunned.
    fn require_allowed(&self, found: &Path) -> io::Result<()> {
        match &self.shunned {
            Some(shunned) if found.starts_with(shunned) => {
                Err(io::ErrorKind::CrossesDevices.into())
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        fs::File,
        io,
        os::fd::{AsRawFd, OwnedFd},
        path::Path,
    };

    use rustix::{
        fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2},
        io::Errno,
    };

    use super::{Beneath, Entry, Kind};

    /// How often the kernel may ask to try again because something was renamed meanwhile.
    const OPENAT2_RETRY: usize = 8;

    pub(super) fn folder(path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(CWD, path, flags, Mode::empty())?)
    }

    fn open(beneath: &Beneath, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let path = match path.as_os_str().is_empty() {
            true => Path::new("."),
            false => path,
        };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        let mut opened = Err(Errno::AGAIN);
        for _ in 0..OPENAT2_RETRY {
            opened = openat2(&beneath.folder, path, flags, Mode::empty(), resolve);
            if !matches!(opened, Err(Errno::AGAIN)) {
                break;
            }
        }
        let opened = opened?;
        if beneath.shunned.is_some() {
            let found = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()))?;
            beneath.require_allowed(&found)?;
        }
        Ok(opened)
    }

    pub(super) fn list(beneath: &Beneath, path: &Path, most: usize) -> io::Result<Vec<Entry>> {
        let folder = open(beneath, path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut entries = Vec::new();
        for entry in Dir::new(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() == most {
                break;
            }
            entries.push(Entry {
                name: name.to_owned(),
                kind: kind_of(entry.file_type()),
            });
        }
        Ok(entries)
    }

    pub(super) fn file(beneath: &Beneath, path: &Path) -> io::Result<File> {
        // What is no regular file may be waited for on opening.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(open(beneath, path, flags)?.into())
    }

    pub(super) fn kind(beneath: &Beneath, path: &Path) -> io::Result<Kind> {
        let stat = fstat(open(beneath, path, OFlags::PATH)?)?;
        Ok(kind_of(FileType::from_raw_mode(stat.st_mode)))
    }

    fn kind_of(kind: FileType) -> Kind {
        match kind {
            FileType::Directory => Kind::Folder,
            FileType::RegularFile => Kind::File,
            FileType::Symlink | FileType::Unknown => Kind::Link,
            _ => Kind::Other,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::{
        fs::{File, Metadata},
        io,
        path::{Path, PathBuf},
    };

    use super::{Beneath, Entry, Kind};

    pub(super) fn resolve(beneath: &Beneath, path: &Path) -> io::Result<PathBuf> {
        let found = beneath.path.join(path).canonicalize()?;
        if !found.starts_with(&beneath.path) {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        beneath.require_allowed(&found)?;
        Ok(found)
    }

    pub(super) fn list(beneath: &Beneath, path: &Path, most: usize) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(resolve(beneath, path)?)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if entries.len() == most {
                break;
            }
            let kind = match entry.file_type()? {
                kind if kind.is_dir() => Kind::Folder,
                kind if kind.is_file() => Kind::File,
                kind if kind.is_symlink() => Kind::Link,
                _ => Kind::Other,
            };
            entries.push(Entry { name, kind });
        }
        Ok(entries)
    }

    pub(super) fn file(beneath: &Beneath, path: &Path) -> io::Result<File> {
        let found = resolve(beneath, path)?;
        if !found.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        File::open(found)
    }

    pub(super) fn kind(metadata: &Metadata) -> Kind {
        if metadata.is_dir() {
            Kind::Folder
        } else if metadata.is_file() {
            Kind::File
        } else {
            Kind::Other
        }
    }
}
