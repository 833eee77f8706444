//! Confinement: what a caller may reach of the file system, and how it is reached.
//! Each allowed folder is opened once, at the start; from then on a path is walked from its
//! descriptor, so that nothing leads out between the check and the use. Source: contract 6.1.

mod cached_reads;
pub(crate) mod contained_folder;
mod file_identity_tokens;
mod folder;
mod guarded_folder;
mod path_refusals;
mod path_walk;
pub(crate) mod project_tree;
#[cfg(test)]
mod race_tests;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use guildhall_domain::{Fault, Refusal, Result, canvas::TreeKind};
use rustix::io::Errno;

pub use folder::{
    DirEntry, DirEntryKind, Folder, LinkResolver, OpenFile, PhysicalId, ReplaceTarget, SizeAndMtime,
};

use file_identity_tokens::FileIdentityTokens;
use guarded_folder::GuardedFolder;
use path_refusals::refusal_of_errno;
pub(crate) use path_refusals::refusal_of_io_error;
use path_walk::{BaseFolder, InodeId};

/// The roots everything lies beneath, home, and the one folder nothing may lie in.
#[derive(Debug)]
pub struct ConfinedFs {
    roots: Vec<Arc<BaseFolder>>,
    home: Option<Arc<BaseFolder>>,
    ground: Arc<FolderContext>,
    identities: FileIdentityTokens,
}

/// What every open folder has to know.
#[derive(Debug)]
struct FolderContext {
    /// What `~` stands for.
    home: Option<PathBuf>,
    /// The data folder.
    data: GuardedFolder,
}

/// How far a caller may reach. Source: contract 6.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileScope {
    /// Everything beneath the roots.
    Roots,
    /// Everything beneath home.
    Home,
    /// This folder alone, and only while it lies beneath a root.
    Folder(String),
    /// This folder alone, and only while it lies beneath home.
    FolderAtHome(String),
    /// This folder alone, wherever it lies; no link leads to it.
    Own(String),
}

/// A regular file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfinedFile {
    /// Its absolute path, without links.
    pub path: String,
    /// The copy of a project it lies in; `None` is outside of every repository.
    pub tree: TreeKind,
    /// Which file it is, as a token.
    pub identity: String,
}

impl ConfinedFs {
    /// Opens `roots`, `home` and `data_dir`; nothing in `data_dir` is ever reached.
    ///
    /// # Errors
    /// A fault when one of them cannot be opened.
    ///
    /// Source: contract 6.1.
    pub fn open(roots: &[PathBuf], home: Option<&Path>, data_dir: &Path) -> Result<Self, Fault> {
        let during = "opening an allowed folder";
        let broken =
            |path: &Path, error| Fault::broken(during, format!("{}: {error}", path.display()));
        let data = GuardedFolder::open(data_dir).map_err(|error| broken(data_dir, error))?;
        let allowed = |path: &Path| {
            let base = BaseFolder::open(path).map_err(|error| broken(path, error))?;
            let is_clear = path_walk::is_outside(&base.descriptor, data.here());
            match is_clear.map_err(|error| Fault::broken(during, error))? {
                true => Ok(Some(Arc::new(base))),
                // Nothing in the data folder is reached, a root there is none.
                false => Ok(None),
            }
        };
        let roots = roots.iter().map(|path| allowed(path));
        let roots = roots.collect::<Result<Vec<_>, Fault>>()?;
        let opened = home.map(allowed).transpose()?.flatten();
        Ok(Self {
            roots: roots.into_iter().flatten().collect(),
            home: opened,
            ground: Arc::new(FolderContext {
                home: home.map(Path::to_owned),
                data,
            }),
            identities: FileIdentityTokens::open(data_dir)?,
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

    /// The folder at `path`, absolute or in `~`, within `reach`, opened.
    ///
    /// # Errors
    /// [`Refusal::NullByte`], [`Refusal::InvalidPath`]; [`Refusal::OutsideBoundary`] beyond the
    /// reach or inside the data folder, also when nothing exists there;
    /// [`Refusal::PermissionDenied`], `NotFound` and [`Refusal::NotADirectory`] inside it.
    ///
    /// Source: contract 6.1.
    pub fn open_folder(&self, reach: &FileScope, path: &str) -> Result<Folder> {
        let meant = self.ground.meant(path)?;
        let (base, rest) = match reach {
            FileScope::Roots => self.root_of(&meant)?,
            FileScope::Home => {
                let home = self.home.as_ref().ok_or(Refusal::OutsideBoundary)?;
                let (_, rest) = home.rest_of(&meant).ok_or(Refusal::OutsideBoundary)?;
                (home, rest)
            }
            FileScope::Folder(_) | FileScope::FolderAtHome(_) | FileScope::Own(_) => {
                return self.open_scope(reach)?.folder(path);
            }
        };
        Folder::beneath(base, rest, Some(meant.clone()), &self.ground)
    }

    /// The effective root of `reach` itself: home, or the caller's own folder; the roots have
    /// none in common.
    ///
    /// # Errors
    /// As [`ConfinedFs::open_folder`].
    pub fn open_scope(&self, reach: &FileScope) -> Result<Folder> {
        match reach {
            FileScope::Roots => Err(Refusal::OutsideBoundary.into()),
            FileScope::Home => {
                let home = self.home.as_ref().ok_or(Refusal::OutsideBoundary)?;
                Folder::beneath(home, Path::new(""), None, &self.ground)
            }
            FileScope::Folder(own) => self.as_registered(&FileScope::Roots, own),
            FileScope::FolderAtHome(own) => self.as_registered(&FileScope::Home, own),
            FileScope::Own(own) => self.own(Path::new(own)),
        }
    }

    /// The token of a file or folder: 43 characters of base64url that say nothing but whether two
    /// are the same, also after a restart.
    ///
    /// Source: contract 6.3.
    pub fn identity(&self, physical: PhysicalId) -> String {
        self.identities.token(physical)
    }

    /// The canonical path of the existing folder at `path`, an absolute path.
    ///
    /// # Errors
    /// As [`ConfinedFs::open_folder`].
    pub fn working_folder(&self, path: &str) -> Result<String> {
        self.folder(&FileScope::Roots, path)
    }

    /// The canonical path of the existing folder at `path`, an absolute path within `reach`.
    ///
    /// # Errors
    /// As [`ConfinedFs::open_folder`].
    ///
    /// Source: contract 6.1.
    pub fn folder(&self, reach: &FileScope, path: &str) -> Result<String> {
        Ok(self.open_folder(reach, path)?.path().to_owned())
    }

    /// The existing regular file at `path`, an absolute path within `reach`.
    ///
    /// # Errors
    /// Those of [`ConfinedFs::open_folder`], and [`Refusal::NotAFile`].
    ///
    /// Source: contract 6.1.
    pub fn file(&self, reach: &FileScope, path: &str) -> Result<ConfinedFile> {
        let (target, stop) = self.find(reach, path)?;
        Ok(ConfinedFile {
            tree: project_tree::of(&target.parent, stop),
            path: target.file.path().to_owned(),
            identity: self.identity(target.file.physical()),
        })
    }

    /// The same, opened, with the folder it really lies in.
    ///
    /// # Errors
    /// As [`ConfinedFs::file`].
    pub fn target(&self, reach: &FileScope, path: &str) -> Result<ReplaceTarget> {
        let (target, _) = self.find(reach, path)?;
        Ok(target)
    }

    /// The file at `path`, and where the effective root lies that it was reached in.
    fn find(&self, reach: &FileScope, path: &str) -> Result<(ReplaceTarget, InodeId)> {
        let folder = match reach {
            FileScope::Roots => {
                let meant = self.ground.meant(path)?;
                let (root, _) = self.root_of(&meant)?;
                Folder::beneath(root, Path::new(""), None, &self.ground)?
            }
            FileScope::Home
            | FileScope::Folder(_)
            | FileScope::FolderAtHome(_)
            | FileScope::Own(_) => self.open_scope(reach)?,
        };
        let target = folder.target(path)?;
        Ok((target, folder.effective_root().here))
    }

    /// The longest root that holds `path`, as written or as canonical, and the rest of the path.
    fn root_of<'a, 'b>(
        &'a self,
        path: &'b Path,
    ) -> Result<(&'a Arc<BaseFolder>, &'b Path), Refusal> {
        let found = self.roots.iter().filter_map(|root| {
            let (length, rest) = root.rest_of(path)?;
            Some((length, root, rest))
        });
        let (_, root, rest) = found
            .max_by_key(|(length, ..)| *length)
            .ok_or(Refusal::OutsideBoundary)?;
        Ok((root, rest))
    }

    /// An agent's folder within `reach`. It is registered by its path without links: what a link
    /// in its place leads to is another one.
    fn as_registered(&self, reach: &FileScope, own: &str) -> Result<Folder> {
        let folder = self.open_folder(reach, own)?;
        if folder.path() != own {
            return Err(Refusal::OutsideBoundary.into());
        }
        Ok(folder)
    }

    /// The folder at `path`, which lies anywhere but in the data folder.
    fn own(&self, path: &Path) -> Result<Folder> {
        let opened = BaseFolder::open_without_links(path).and_then(|base| {
            let is_clear = path_walk::is_outside(&base.descriptor, self.ground.data.here())?;
            is_clear.then_some(base).ok_or(Errno::XDEV)
        });
        let base = opened.map_err(|error| refusal_of_errno(error, path))?;
        Folder::beneath(&Arc::new(base), Path::new(""), None, &self.ground)
    }
}

impl FolderContext {
    /// What is never reached, although it may lie inside.
    fn shunned(&self) -> Option<InodeId> {
        Some(self.data.here())
    }

    /// The path a caller means: `~` is home.
    fn meant(&self, path: &str) -> Result<PathBuf, Refusal> {
        if path.contains('\0') {
            return Err(Refusal::NullByte);
        }
        let rest = match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            Some(_) | None => return Ok(PathBuf::from(path)),
        };
        let home = self.home.as_ref().ok_or(Refusal::OutsideBoundary)?;
        Ok(home.join(rest.trim_start_matches('/')))
    }

    /// Which of the names in the folder that is `here` may be the data folder.
    fn suspect_in(&self, here: InodeId) -> HardLinkSuspects {
        let above = self.data.above();
        HardLinkSuspects {
            // The number a listing tells is not the folder's own where it is mounted.
            is_any: above.is_ok_and(|above| above == here),
            ino: self.data.here().ino,
        }
    }
}

/// Which names of a listing are looked at more closely.
struct HardLinkSuspects {
    is_any: bool,
    ino: u64,
}

impl HardLinkSuspects {
    fn may_be(&self, ino: u64) -> bool {
        self.is_any || self.ino == ino
    }
}
