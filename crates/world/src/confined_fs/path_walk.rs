//! The walk of a path beneath an open folder, by descriptors alone.
//! On Linux the kernel walks a path that holds neither a link nor `..` (`openat2`). Any other one,
//! and what the kernel does not find, is walked name by name: that tells why, sees every folder on
//! the way, and follows the links that stay inside. Elsewhere every path is. Source: contract 6.1.

use std::{
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat},
    io::{Errno, Result},
};

/// Links that are followed in one walk.
const LINK_HOPS: usize = 32;
/// Folders beneath each other that a walk goes down, each of which it holds open.
pub(super) const LEVELS_MAX: usize = 256;
/// Bytes of a path.
const PATH_BYTES_MAX: usize = 4_095;

/// How a folder is opened that is only a place on a way.
#[cfg(target_os = "linux")]
pub(super) const PLACE: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PLACE: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// What a descriptor leads to: the device and the inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InodeId {
    dev: u64,
    /// The inode.
    pub(super) ino: u64,
}

impl InodeId {
    pub(super) fn of(descriptor: impl AsFd) -> Result<Self> {
        Ok(Self::said(&fstat(descriptor)?))
    }

    /// Whether it lies on a device of its own, so not in a network, in another program or in
    /// memory.
    #[cfg(target_os = "linux")]
    pub(super) fn is_on_disk(self) -> bool {
        rustix::fs::major(self.dev) != 0
    }

    /// The device and the inode.
    #[cfg(target_os = "linux")]
    pub(super) fn numbers(self) -> (u64, u64) {
        (self.dev, self.ino)
    }

    /// What lies at `name`, a link itself when it is one.
    pub(super) fn at(folder: impl AsFd, name: &OsStr) -> Result<Self> {
        Ok(Self::said(&statat(
            folder,
            name,
            AtFlags::SYMLINK_NOFOLLOW,
        )?))
    }

    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        reason = "the types differ between systems"
    )]
    fn said(stat: &Stat) -> Self {
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
        }
    }
}

/// An open folder that a walk begins at and never leaves.
#[derive(Debug)]
pub(super) struct BaseFolder {
    pub(super) descriptor: OwnedFd,
    pub(super) here: InodeId,
    /// Its path without links.
    pub(super) path: PathBuf,
    /// Other absolute paths it goes by.
    aliases: Vec<PathBuf>,
}

/// What a walk led to.
pub(super) enum WalkResult {
    /// A folder.
    Folder(OpenPath),
    /// Anything else, in its folder; never a link.
    Other(OpenPath, OsString, FileType),
}

/// An open folder with its path without links.
#[derive(Debug)]
pub(super) struct OpenPath {
    pub(super) descriptor: OwnedFd,
    pub(super) path: PathBuf,
}

impl BaseFolder {
    /// The folder at the absolute path `path`, whatever leads to it.
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        let canonical = path.canonicalize()?;
        let descriptor = openat(CWD, &canonical, PLACE, Mode::empty())?;
        Ok(Self::new(descriptor, canonical, [path.to_owned()])?)
    }

    /// The folder at the absolute path `path`, to which no link may lead.
    pub(super) fn open_without_links(path: &Path) -> Result<Self> {
        let mut descriptor = openat(CWD, "/", PLACE, Mode::empty())?;
        for part in path.components() {
            match part {
                Component::RootDir => {}
                Component::Normal(name) => {
                    if file_type(&statat(&descriptor, name, AtFlags::SYMLINK_NOFOLLOW)?)
                        == FileType::Symlink
                    {
                        return Err(Errno::XDEV);
                    }
                    descriptor = openat(&descriptor, name, PLACE, Mode::empty())?;
                }
                Component::Prefix(_) | Component::CurDir | Component::ParentDir => {
                    return Err(Errno::XDEV);
                }
            }
        }
        Self::new(descriptor, path.to_owned(), [])
    }

    pub(super) fn new(
        descriptor: OwnedFd,
        path: PathBuf,
        aliases: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Self> {
        Ok(Self {
            here: InodeId::of(&descriptor)?,
            descriptor,
            path,
            aliases: aliases.into_iter().collect(),
        })
    }

    /// What follows the longest of its paths in `path`, with the length of that one.
    pub(super) fn rest_of<'a>(&self, path: &'a Path) -> Option<(usize, &'a Path)> {
        self.names()
            .filter_map(|name| Some((name.as_os_str().len(), path.strip_prefix(name).ok()?)))
            .max_by_key(|(length, _)| *length)
    }

    /// The absolute paths it goes by.
    pub(super) fn names(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.path).chain(&self.aliases)
    }

    /// The folder at `rest`, or that it is something else.
    pub(super) fn folder(&self, rest: &Path, shunned: Option<InodeId>) -> Result<WalkResult> {
        require_short(rest)?;
        if let Some(place) = self.quick(rest) {
            check_outside_guarded(&place.descriptor, self.here, shunned)?;
            return Ok(WalkResult::Folder(place));
        }
        self.walk(Vec::new(), rest, shunned)
    }

    /// What lies at `rest`.
    pub(super) fn file(&self, rest: &Path, shunned: Option<InodeId>) -> Result<WalkResult> {
        require_short(rest)?;
        if let (Some(Component::Normal(name)), Some(folder)) =
            (rest.components().next_back(), rest.parent())
            && let Some(place) = self.quick(folder)
            && let Ok(stat) = statat(&place.descriptor, name, AtFlags::SYMLINK_NOFOLLOW)
        {
            let kind = file_type(&stat);
            if kind != FileType::Symlink && kind != FileType::Directory {
                check_outside_guarded(&place.descriptor, self.here, shunned)?;
                return Ok(WalkResult::Other(place, name.to_owned(), kind));
            }
        }
        self.walk(Vec::new(), rest, shunned)
    }

    /// What the link called `name` leads to, in a folder that `above` leads to.
    pub(super) fn link(
        &self,
        above: &AncestorFolders,
        name: &OsStr,
        shunned: Option<InodeId>,
    ) -> Result<FileType> {
        let stack = above.0.iter().map(|folder| {
            let folder = folder.try_clone().map_err(|_| Errno::MFILE)?;
            Ok((folder, OsString::new()))
        });
        let stack = stack.collect::<Result<_>>()?;
        Ok(match self.walk(stack, Path::new(name), shunned)? {
            WalkResult::Folder(_) => FileType::Directory,
            WalkResult::Other(_, _, kind) => kind,
        })
    }

    /// The folder at `rest` when the kernel finds it beneath this one, straight below: a way that
    /// goes down and up again would pass by folders that nobody looked at.
    #[cfg(target_os = "linux")]
    fn quick(&self, rest: &Path) -> Option<OpenPath> {
        use rustix::fs::{ResolveFlags, openat2};
        use std::os::fd::AsRawFd;

        /// How often the kernel may ask to try again because something was renamed meanwhile.
        const OPENAT2_RETRY: usize = 8;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        let mut levels = 0;
        for part in rest.components() {
            levels += 1;
            if part == Component::ParentDir || levels > LEVELS_MAX {
                return None;
            }
        }
        let rest = match rest.as_os_str().is_empty() {
            true => Path::new("."),
            false => rest,
        };
        let mut tries = 0;
        let descriptor = loop {
            match openat2(&self.descriptor, rest, PLACE, Mode::empty(), resolve) {
                Err(Errno::AGAIN) if tries < OPENAT2_RETRY => tries += 1,
                opened => break opened.ok()?,
            }
        };
        let named = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        let path = std::fs::read_link(named).ok()?;
        Some(OpenPath { descriptor, path })
    }

    #[cfg(not(target_os = "linux"))]
    fn quick(&self, _rest: &Path) -> Option<OpenPath> {
        None
    }

    /// Walks name by name, beginning in the last folder of `stack`.
    fn walk(
        &self,
        mut stack: Vec<(OwnedFd, OsString)>,
        rest: &Path,
        shunned: Option<InodeId>,
    ) -> Result<WalkResult> {
        let mut ahead = Vec::new();
        put_ahead(&mut ahead, rest);
        let mut hops = 0;
        let mut hop = || {
            hops += 1;
            if hops > LINK_HOPS {
                Err(Errno::LOOP)
            } else {
                Ok(())
            }
        };
        while let Some(name) = ahead.pop() {
            let Some(name) = name else {
                stack.pop().ok_or(Errno::XDEV)?;
                continue;
            };
            let top = self.top(&stack);
            let kind = file_type(&statat(top, &name, AtFlags::SYMLINK_NOFOLLOW)?);
            if kind == FileType::Symlink {
                hop()?;
                let target = match readlinkat(top, &name, Vec::new()) {
                    Ok(target) => PathBuf::from(OsString::from_vec(target.into_bytes())),
                    // Something else took the link's place.
                    Err(Errno::INVAL) => {
                        ahead.push(Some(name));
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                if target.is_absolute() {
                    let (_, rest) = self.rest_of(&target).ok_or(Errno::XDEV)?;
                    stack.clear();
                    put_ahead(&mut ahead, rest);
                } else {
                    put_ahead(&mut ahead, &target);
                }
            } else if kind == FileType::Directory {
                match openat(top, &name, PLACE, Mode::empty()) {
                    Ok(folder) => {
                        refuse(shunned, InodeId::of(&folder)?)?;
                        if stack.len() == LEVELS_MAX {
                            return Err(Errno::NAMETOOLONG);
                        }
                        stack.push((folder, name));
                    }
                    // A link took the folder's place.
                    Err(Errno::LOOP | Errno::NOTDIR) => {
                        hop()?;
                        ahead.push(Some(name));
                    }
                    Err(error) => return Err(error),
                }
            } else if ahead.is_empty() {
                return Ok(WalkResult::Other(self.place(stack)?, name, kind));
            } else {
                return Err(Errno::NOTDIR);
            }
        }
        Ok(WalkResult::Folder(self.place(stack)?))
    }

    fn top<'a>(&'a self, stack: &'a [(OwnedFd, OsString)]) -> BorrowedFd<'a> {
        let top = stack.last().map(|(folder, _)| folder);
        top.unwrap_or(&self.descriptor).as_fd()
    }

    /// The folder a walk ended in.
    fn place(&self, mut stack: Vec<(OwnedFd, OsString)>) -> Result<OpenPath> {
        let mut path = self.path.clone();
        path.extend(stack.iter().map(|(_, name)| name));
        let descriptor = match stack.pop() {
            Some((folder, _)) => folder,
            None => openat(&self.descriptor, ".", PLACE, Mode::empty())?,
        };
        Ok(OpenPath { descriptor, path })
    }
}

/// The folders from below a base down to one, outermost first.
pub(super) struct AncestorFolders(Vec<OwnedFd>);

impl AncestorFolders {
    /// Those of `folder` below the base that is `stop`.
    pub(super) fn of(folder: &OwnedFd, stop: InodeId) -> Result<Self> {
        let mut folders = Vec::new();
        walk_up(folder, stop, |folder, here| {
            if here != stop {
                folders.push(folder.try_clone_to_owned().map_err(|_| Errno::MFILE)?);
            }
            Ok(())
        })?;
        folders.reverse();
        Ok(Self(folders))
    }
}

/// Shows each folder from `folder` up to the one that is `stop`, which must be met: else the
/// folder was taken out of it, and that is outside.
pub(super) fn walk_up(
    folder: &OwnedFd,
    stop: InodeId,
    mut see: impl FnMut(BorrowedFd<'_>, InodeId) -> Result<()>,
) -> Result<()> {
    let mut above: Option<OwnedFd> = None;
    let mut here = InodeId::of(folder)?;
    loop {
        let current = above.as_ref().unwrap_or(folder).as_fd();
        see(current, here)?;
        if here == stop {
            return Ok(());
        }
        let next = openat(current, "..", PLACE, Mode::empty())?;
        let next_here = InodeId::of(&next)?;
        if next_here == here {
            return Err(Errno::XDEV);
        }
        above = Some(next);
        here = next_here;
    }
}

/// Refuses what lies in the folder that is `shunned`, or no longer below the one that is `stop`.
pub(super) fn check_outside_guarded(
    folder: &OwnedFd,
    stop: InodeId,
    shunned: Option<InodeId>,
) -> Result<()> {
    walk_up(folder, stop, |_, here| refuse(shunned, here))
}

/// Whether no folder from `folder` up to the top of the file system is `shunned`.
pub(super) fn is_outside(folder: &OwnedFd, shunned: InodeId) -> Result<bool> {
    let top = InodeId::of(openat(CWD, "/", PLACE, Mode::empty())?)?;
    let mut is_clear = true;
    walk_up(folder, top, |_, here| {
        is_clear &= here != shunned;
        Ok(())
    })?;
    Ok(is_clear)
}

/// The kind a system call tells of.
pub(super) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn refuse(shunned: Option<InodeId>, here: InodeId) -> Result<()> {
    if shunned == Some(here) {
        Err(Errno::XDEV)
    } else {
        Ok(())
    }
}

fn require_short(path: &Path) -> Result<()> {
    match path.as_os_str().as_bytes().len() {
        ..=PATH_BYTES_MAX => Ok(()),
        _ => Err(Errno::NAMETOOLONG),
    }
}

/// Puts the names of `path` before what is ahead; `None` is the folder above.
fn put_ahead(ahead: &mut Vec<Option<OsString>>, path: &Path) {
    for part in path.components().rev() {
        match part {
            Component::Normal(name) => ahead.push(Some(name.to_owned())),
            Component::ParentDir => ahead.push(None),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
}
