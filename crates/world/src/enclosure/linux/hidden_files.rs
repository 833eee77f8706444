//! Hiding files: a mount namespace in which some of them are empty.

use std::{
    collections::BTreeSet,
    fs, io,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use nix::sched::{CloneFlags, unshare};
use rustix::{
    fs::{Mode, OFlags, fstat, open},
    io::Errno,
    mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_remount},
    process::{getegid, geteuid},
};

use super::{super::FolderIdentity, mounts};

/// Control groups: writing to one can end every process in it.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
/// Where terminals are.
const TERMINALS: &str = "/dev/pts";

/// Makes the data folder and other folders and sockets empty for this process and all that it
/// starts, and takes terminals and control groups from them. The data folder must be there; what
/// else is not there needs no hiding.
///
/// Twice a user namespace with mounts: what the outer one mounted nobody can take away in the inner
/// one (`mount_namespaces(7)`, "locked"), whatever rights a program has or gets there. Outside of
/// them it has none: a program of another user than root loses those of the namespace, too, when it
/// is executed.
pub(in crate::enclosure) fn hide(data: &FolderIdentity, others: &[PathBuf]) -> io::Result<()> {
    let folder = std::env::current_dir()?;
    enter_namespaces().map_err(during("entering a user namespace"))?;
    let mut pins = PinnedFolders::default();
    hide_data(data, &mut pins).map_err(during("hiding the data folder"))?;
    for path in others {
        let hiding = format!("hiding {}", path.display());
        hide_other(path, &mut pins).map_err(during(&hiding))?;
    }
    let terminals = Path::new(TERMINALS);
    if terminals.is_dir() {
        mount_own_terminals(terminals).map_err(during("mounting terminals"))?;
    }
    hold_control_groups().map_err(during("holding control groups"))?;
    enter_namespaces().map_err(during("entering a second user namespace"))?;
    // Else a working folder within one that is hidden would stay open.
    let returning = format!("returning to {}, which may be hidden", folder.display());
    std::env::set_current_dir(&folder).map_err(during(&returning))
}

fn during(doing: &str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{doing}: {error}"))
}

/// Enters a new user namespace as the same user, and a mount namespace of it.
fn enter_namespaces() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    // Required before a group may be named.
    fs::write("/proc/self/setgroups", "deny")?;
    let only = |id: u32| format!("{id} {id} 1");
    fs::write("/proc/self/uid_map", only(user.as_raw()))?;
    fs::write("/proc/self/gid_map", only(group.as_raw()))
}

/// Folders that cannot be renamed any more.
///
/// A cover is seen at its own path alone. A folder that holds it could be renamed to where another
/// mount shows it without the cover, so each is mounted on itself: nobody renames a mount point.
#[derive(Default)]
struct PinnedFolders(BTreeSet<PathBuf>);

impl PinnedFolders {
    /// Pins all folders that hold this path, whoever may write there now: owners can change that.
    fn pin_around(&mut self, path: &Path) -> io::Result<()> {
        let folders = path.ancestors().skip(1);
        let folders: Vec<&Path> = folders.filter(|folder| folder.parent().is_some()).collect();
        for folder in folders.into_iter().rev() {
            if self.0.insert(folder.to_owned()) {
                mount_bind_recursive(folder, folder)?;
            }
        }
        Ok(())
    }
}

fn hide_other(path: &Path, pins: &mut PinnedFolders) -> io::Result<()> {
    // What is not there, or out of this user's reach, needs no hiding.
    let Ok(path) = path.canonicalize() else {
        return Ok(());
    };
    pins.pin_around(&path)?;
    match path.is_dir() {
        true => cover(&path),
        false => Ok(mount_bind("/dev/null", &path)?),
    }
}

fn cover(folder: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    Ok(mount("guildhall", folder, "tmpfs", flags, c"mode=0555")?)
}

/// Hides the data folder at its path, and wherever else its file system is mounted.
///
/// It must be the folder that is known: another may have been put in its place.
fn hide_data(known: &FolderIdentity, pins: &mut PinnedFolders) -> io::Result<()> {
    let others = mounts::other_mount_paths(&known.path)?;
    if !hide_known(known, &known.path, pins)? {
        return Err(io::Error::other("it was moved or replaced"));
    }
    for place in others {
        // One that this user cannot open shows agents nothing.
        if let Ok(Some(_)) = opened(known, &place) {
            hide_known(known, &place, pins)?;
        }
    }
    Ok(())
}

/// Hides the folder at a path, if it is the one that is known.
fn hide_known(known: &FolderIdentity, path: &Path, pins: &mut PinnedFolders) -> io::Result<bool> {
    if opened(known, path)?.is_none() {
        return Ok(false);
    }
    pins.pin_around(path)?;
    match opened(known, path)? {
        // By its descriptor, so that what is covered is what was looked at.
        Some(folder) => cover(&path_of(&folder)).map(|()| true),
        None => Ok(false),
    }
}

/// Terminals of their own in place of the owner's, which are open to programs of the same user.
fn mount_own_terminals(place: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    Ok(mount("devpts", place, "devpts", flags, options)?)
}

/// Makes control groups read-only.
fn hold_control_groups() -> io::Result<()> {
    let points = mounts::points_below(Path::new(CONTROL_GROUPS))?;
    if !points.is_empty() {
        // Mounts of their own, whose flags can be changed.
        mount_bind_recursive(CONTROL_GROUPS, CONTROL_GROUPS)?;
    }
    let flags = MountFlags::BIND
        | MountFlags::RDONLY
        | MountFlags::NOSUID
        | MountFlags::NODEV
        | MountFlags::NOEXEC;
    for point in points {
        mount_remount(&point, flags, c"")?;
    }
    Ok(())
}

/// The folder at a path, if it is the one that is known.
fn opened(known: &FolderIdentity, path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = match open(path, flags, Mode::empty()) {
        Ok(folder) => folder,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let found = fstat(&folder)?;
    let is_known = (found.st_dev, found.st_ino) == (known.device, known.inode);
    Ok(is_known.then_some(folder))
}

fn path_of(folder: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", folder.as_raw_fd()).into()
}
