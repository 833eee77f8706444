//! An open folder, and what is reached from it: by its descriptor, never by a path from outside.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::MetadataExt,
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use guildhall_domain::{
    Refusal, Result, Timestamp, errors::ResourceKind, files::recovery::PersistentInode,
};
use rustix::{
    fs::{
        Access, AtFlags, Dir, FileType, Mode, OFlags, Stat, accessat, fsync, mkdirat, openat,
        statat,
    },
    io::Errno,
};

use super::{
    FolderContext,
    path_refusals::{refusal_of_errno, refusal_of_io_error},
    path_walk::{AncestorFolders, BaseFolder, InodeId, OpenPath, WalkResult},
};

/// A folder that is open. Nothing outside of it is reached from it.
#[derive(Debug)]
pub struct Folder {
    own: Arc<BaseFolder>,
    /// The effective root it lies in.
    within: Arc<BaseFolder>,
    ground: Arc<FolderContext>,
    path: String,
}

/// A regular file that is open for reading.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    path: String,
    metadata: Metadata,
}

/// A file with the folder it really lies in, for putting another in its place.
#[derive(Debug)]
pub struct ReplaceTarget {
    /// The file.
    pub file: OpenFile,
    /// The folder it lies in, after every link; everything is reached from the same effective
    /// root as the file.
    pub parent: Folder,
    /// Its name there.
    pub name: OsString,
}

/// Which file or folder it is: numbers alone are taken again at once after a deletion, the
/// moment of birth is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhysicalId {
    /// The device.
    pub dev: u64,
    /// The inode.
    pub ino: u64,
    /// Nanoseconds from the Unix epoch to its birth; `None` where the file system keeps none.
    pub born: Option<i128>,
}

/// What a name in a folder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirEntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A link, not yet followed.
    Link,
    /// A device, socket or FIFO.
    Other,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub kind: DirEntryKind,
}

/// How large something is, and when it was last written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeAndMtime {
    /// Bytes.
    pub size: u64,
    /// The last change of its bytes.
    pub mtime: Timestamp,
}

/// Follows the links of one folder as far as they stay in its effective root.
pub struct LinkResolver<'a> {
    folder: &'a Folder,
    above: AncestorFolders,
}

impl Folder {
    pub(super) fn at(
        place: OpenPath,
        asked: Option<PathBuf>,
        within: Arc<BaseFolder>,
        ground: Arc<FolderContext>,
    ) -> Result<Self> {
        let path = place.path;
        // A path that is no text cannot be addressed, so nothing is there.
        let text = path.to_str().ok_or(Refusal::NotFound(ResourceKind::Path))?;
        let text = text.to_owned();
        let rest = path.strip_prefix(&within.path).map(Path::to_owned);
        let aliases = within
            .names()
            .filter_map(|name| Some(name.join(rest.as_ref().ok()?)));
        let aliases: Vec<PathBuf> = aliases.chain(asked).collect();
        let own = BaseFolder::new(place.descriptor, path, aliases)
            .map_err(|error| refusal_of_errno(error, Path::new(&text)))?;
        Ok(Self {
            own: Arc::new(own),
            within,
            ground,
            path: text,
        })
    }

    /// Its absolute path, without links.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is the effective root it was reached in.
    pub fn is_root(&self) -> bool {
        self.own.here == self.within.here
    }

    /// Which folder it is.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn identity(&self) -> Result<PhysicalId> {
        let no = |error: &std::io::Error| refusal_of_io_error(error, &self.own.path);
        let folder = self
            .own
            .descriptor
            .try_clone()
            .map_err(|error| no(&error))?;
        let metadata = File::from(folder).metadata();
        Ok(PhysicalId::of(&metadata.map_err(|error| no(&error))?))
    }

    /// The regular file at `path`, relative to this folder or absolute in it, for reading.
    ///
    /// # Errors
    /// The refusals of contract 6.1 and [`Refusal::NotAFile`]. Neither waits: what is no regular
    /// file is not read.
    pub fn file(&self, path: &str) -> Result<OpenFile> {
        let rest = self.rest_of(path)?;
        let (place, name) = self.file_at(&rest)?;
        self.open(&place, &name)
    }

    /// The same, with the folder it really lies in.
    ///
    /// # Errors
    /// As [`Folder::file`].
    pub fn target(&self, path: &str) -> Result<ReplaceTarget> {
        let rest = self.rest_of(path)?;
        let (place, name) = self.file_at(&rest)?;
        let file = self.open(&place, &name)?;
        let (within, ground) = (Arc::clone(&self.own), Arc::clone(&self.ground));
        let parent = Self::at(place, None, within, ground)?;
        Ok(ReplaceTarget { file, parent, name })
    }

    /// The folder at `path`, relative to this folder or absolute in it. This one is its effective
    /// root.
    ///
    /// # Errors
    /// The refusals of contract 6.1 and [`Refusal::NotADirectory`].
    pub fn folder(&self, path: &str) -> Result<Self> {
        let rest = self.rest_of(path)?;
        let within = Arc::clone(&self.own);
        Self::beneath(&within, &rest, None, &self.ground)
    }

    /// The folder at `rest` of `base`.
    pub(super) fn beneath(
        base: &Arc<BaseFolder>,
        rest: &Path,
        asked: Option<PathBuf>,
        ground: &Arc<FolderContext>,
    ) -> Result<Self> {
        match base.folder(rest, ground.shunned()) {
            Ok(WalkResult::Folder(place)) => {
                Self::at(place, asked, Arc::clone(base), Arc::clone(ground))
            }
            Ok(WalkResult::Other(..)) => Err(Refusal::NotADirectory.into()),
            Err(error) => Err(refusal_of_errno(error, &base.path.join(rest))),
        }
    }

    /// Shows what lies in it: names that are text, without the data folder; in no order, and none
    /// of it kept, because a folder may hold millions.
    ///
    /// # Errors
    /// The refusals of contract 6.1, and the first of `see`.
    pub fn each(&self, mut see: impl FnMut(DirEntry) -> Result<()>) -> Result<()> {
        let no = |error| refusal_of_errno(error, &self.own.path);
        let suspect = self.ground.suspect_in(self.own.here);
        let names = readable(&self.own.descriptor).and_then(Dir::new);
        for entry in names.map_err(no)? {
            let entry = entry.map_err(no)?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => self.kind_of(OsStr::new(name)).map_err(no)?,
                known => Some(DirEntryKind::from(known)),
            };
            let Some(kind) = kind else { continue };
            if kind == DirEntryKind::Folder && suspect.may_be(entry.ino()) {
                let here = InodeId::at(&self.own.descriptor, OsStr::new(name));
                if here.is_ok_and(|here| self.ground.shunned() == Some(here)) {
                    continue;
                }
            }
            see(DirEntry {
                name: name.to_owned(),
                kind,
            })?;
        }
        Ok(())
    }

    /// The kind of a name of which the listing did not tell; `None` when it is gone.
    fn kind_of(&self, name: &OsStr) -> rustix::io::Result<Option<DirEntryKind>> {
        match statat(&self.own.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(super::path_walk::file_type(&stat).into())),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Bytes and last change of what lies at `name`, a link itself when it is one; `None` when it
    /// is gone.
    pub fn size_and_mtime(&self, name: &str) -> Option<SizeAndMtime> {
        let stat = statat(&self.own.descriptor, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(SizeAndMtime::of(&stat))
    }

    /// Makes the folder `name` in this one, and makes sure that it stays.
    ///
    /// # Errors
    /// [`Refusal::AlreadyExists`], [`Refusal::PermissionDenied`]; [`Refusal::OutsideBoundary`]
    /// where the data folder has the name.
    pub fn make(&self, name: &str) -> Result<Self> {
        let all = Mode::RWXU | Mode::RWXG | Mode::RWXO;
        let no = |error| refusal_of_errno(error, &self.own.path.join(name));
        match mkdirat(&self.own.descriptor, name, all) {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                let here = InodeId::at(&self.own.descriptor, OsStr::new(name));
                let is_shunned = here.is_ok_and(|here| self.ground.shunned() == Some(here));
                return Err(match is_shunned {
                    true => Refusal::OutsideBoundary.into(),
                    false => Refusal::AlreadyExists.into(),
                });
            }
            Err(error) => return Err(no(error)),
        }
        let synced = readable(&self.own.descriptor).and_then(fsync);
        synced.map_err(no)?;
        self.folder(name)
    }

    /// Follows this folder's links.
    ///
    /// # Errors
    /// The refusals of contract 6.1.
    pub fn links(&self) -> Result<LinkResolver<'_>> {
        let above = AncestorFolders::of(&self.own.descriptor, self.within.here)
            .map_err(|error| refusal_of_errno(error, &self.own.path))?;
        Ok(LinkResolver {
            folder: self,
            above,
        })
    }

    /// What a caller's path means in this folder.
    fn rest_of(&self, path: &str) -> Result<PathBuf, Refusal> {
        let path = self.ground.meant(path)?;
        if path.is_relative() {
            return Ok(path);
        }
        let rest = self.own.rest_of(&path);
        let (_, rest) = rest.ok_or(Refusal::OutsideBoundary)?;
        Ok(rest.to_owned())
    }

    fn file_at(&self, rest: &Path) -> Result<(OpenPath, OsString)> {
        match self.own.file(rest, self.ground.shunned()) {
            Ok(WalkResult::Other(place, name, FileType::RegularFile)) => Ok((place, name)),
            Ok(WalkResult::Other(..) | WalkResult::Folder(_)) => Err(Refusal::NotAFile.into()),
            Err(error) => Err(refusal_of_errno(error, &self.own.path.join(rest))),
        }
    }

    fn open(&self, place: &OpenPath, name: &OsStr) -> Result<OpenFile> {
        let path = place.path.join(name);
        // What takes the file's place now may be waited for on opening, or be a link.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let file = openat(
            &place.descriptor,
            name,
            flags | OFlags::CLOEXEC,
            Mode::empty(),
        );
        let file = match file {
            Ok(file) => File::from(file),
            Err(Errno::LOOP | Errno::NXIO) => return Err(Refusal::NotAFile.into()),
            Err(error) => return Err(refusal_of_errno(error, &path)),
        };
        let file = OpenFile::new(file, path)?;
        let is_of_data = self
            .ground
            .data
            .holds(&file.metadata)
            .map_err(|error| refusal_of_errno(error, Path::new(&file.path)))?;
        match is_of_data {
            true => Err(Refusal::OutsideBoundary.into()),
            false => Ok(file),
        }
    }

    pub(super) fn own(&self) -> &Arc<BaseFolder> {
        &self.own
    }

    pub(super) fn effective_root(&self) -> &Arc<BaseFolder> {
        &self.within
    }
}

impl ReplaceTarget {
    /// Whether a save of it would succeed: in place where the server may write the file, or by
    /// another in its place where it may write the folder. The latter is done to a file with one
    /// name and of the server's own user alone, because everything else of it has to stay.
    pub fn is_writable(&self) -> bool {
        let may = |name: &OsStr| {
            let folder = &self.parent.own.descriptor;
            accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
        };
        let metadata = &self.file.metadata;
        let is_replaced =
            metadata.nlink() == 1 && metadata.uid() == rustix::process::geteuid().as_raw();
        may(&self.name) || is_replaced && may(OsStr::new("."))
    }
}

/// The descriptor is a place alone: it is read from and synced after `openat(folder, ".")`.
impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.own.descriptor.as_fd()
    }
}

impl LinkResolver<'_> {
    /// What the link called `name` leads to; `None` when that is outside or nothing.
    pub fn kind(&self, name: &str) -> Option<DirEntryKind> {
        let ground = &self.folder.ground;
        let kind = self
            .folder
            .within
            .link(&self.above, OsStr::new(name), ground.shunned());
        kind.ok().map(DirEntryKind::from)
    }
}

impl OpenFile {
    pub(super) fn new(file: File, path: PathBuf) -> Result<Self> {
        let metadata = file
            .metadata()
            .map_err(|error| refusal_of_io_error(&error, &path))?;
        if !metadata.is_file() {
            return Err(Refusal::NotAFile.into());
        }
        let path = path.into_os_string().into_string();
        // A path that is no text cannot be addressed, so nothing is there.
        let path = path.map_err(|_| Refusal::NotFound(ResourceKind::Path))?;
        Ok(Self {
            file,
            path,
            metadata,
        })
    }

    /// The file, at its beginning unless it was read.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The file alone.
    pub fn into_file(self) -> File {
        self.file
    }

    /// Its absolute path, without links.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it has other names.
    #[cfg(target_os = "linux")]
    pub(super) fn has_other_names(&self) -> bool {
        self.metadata.nlink() > 1
    }

    /// How large it was when it was opened, and when it was last written.
    pub fn size_and_mtime(&self) -> SizeAndMtime {
        let (seconds, nanoseconds) = (self.metadata.mtime(), self.metadata.mtime_nsec());
        SizeAndMtime {
            size: self.metadata.size(),
            mtime: SizeAndMtime::moment(seconds, nanoseconds),
        }
    }

    /// Nanoseconds from the Unix epoch to the last change of its bytes, when it was opened.
    pub fn changed(&self) -> i128 {
        let seconds = i128::from(self.metadata.mtime());
        seconds * 1_000_000_000 + i128::from(self.metadata.mtime_nsec())
    }

    /// What was known of it when it was opened.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Which file it is.
    pub fn physical(&self) -> PhysicalId {
        PhysicalId::of(&self.metadata)
    }
}

impl SizeAndMtime {
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        reason = "the types differ between systems"
    )]
    fn of(stat: &Stat) -> Self {
        Self {
            size: stat.st_size as u64,
            mtime: Self::moment(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        }
    }

    fn moment(seconds: i64, nanoseconds: i64) -> Timestamp {
        let ms = seconds.saturating_mul(1_000);
        Timestamp::from_millis(ms.saturating_add(nanoseconds / 1_000_000))
    }
}

impl PhysicalId {
    /// What `metadata` is of.
    pub fn of(metadata: &Metadata) -> Self {
        let born = metadata.created().ok().and_then(nanoseconds);
        Self {
            dev: metadata.dev(),
            ino: metadata.ino(),
            born,
        }
    }

    /// What it is known by after the machine was started anew, when the device's number may be
    /// another one.
    pub fn to_inode(self) -> PersistentInode {
        let born = self.born.map(|born| born.to_string());
        PersistentInode::new(format!("{}:{}", self.ino, born.unwrap_or_default()))
    }

    /// The same as bytes, the same for the same file alone: device, inode, and the birth behind
    /// a byte that says whether there is one.
    pub fn to_bytes(self) -> [u8; 33] {
        let mut bytes = [0; 33];
        let mut parts = bytes.chunks_exact_mut(8);
        let numbers = [self.dev, self.ino];
        for (part, number) in parts.by_ref().zip(numbers) {
            part.copy_from_slice(&number.to_be_bytes());
        }
        if let Some(born) = self.born {
            bytes[16] = 1;
            bytes[17..].copy_from_slice(&born.to_be_bytes());
        }
        bytes
    }
}

fn nanoseconds(at: SystemTime) -> Option<i128> {
    let (before, distance) = match at.duration_since(UNIX_EPOCH) {
        Ok(since) => (false, since),
        Err(error) => (true, error.duration()),
    };
    let nanoseconds = i128::try_from(distance.as_nanos()).ok()?;
    Some(if before { -nanoseconds } else { nanoseconds })
}

impl From<FileType> for DirEntryKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Folder,
            FileType::RegularFile => Self::File,
            FileType::Symlink | FileType::Unknown => Self::Link,
            _ => Self::Other,
        }
    }
}

/// Reopens a place for reading its names.
pub(super) fn readable(folder: impl AsFd) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(folder, ".", flags, Mode::empty())
}
