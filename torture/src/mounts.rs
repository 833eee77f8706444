//! Disks that a campaign may harm: file systems in an image or in memory, mounted where nobody else
//! sees them. They are gone with the last process of this run, however it ends.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::{Failure, Result, load::pause};

/// Whether this run has mounts of its own, or why it has none.
pub(crate) type Mounts = std::result::Result<(), String>;

/// How long a file system may be busy after its last process was killed.
const BUSY_MAX: Duration = Duration::from_secs(10);

/// A kind of file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileSystem {
    Ext4,
    Xfs,
    Memory,
}

impl FileSystem {
    /// Bytes of one; the smallest that XFS accepts, and room for the server in the others.
    fn bytes(self) -> u64 {
        match self {
            Self::Ext4 | Self::Memory => 224 * 1_024 * 1_024,
            Self::Xfs => 320 * 1_024 * 1_024,
        }
    }
}

/// Gives this process mounts of its own, so that none is left when it ends.
///
/// # Errors
/// A sentence that says why it cannot have them.
#[cfg(target_os = "linux")]
pub(crate) fn own_namespace() -> Mounts {
    use nix::sched::{CloneFlags, unshare};
    unshare(CloneFlags::CLONE_NEWNS)
        .map_err(|error| format!("this process may mount nothing ({error}); it has to be root"))?;
    run("mount", &["--make-rprivate", "/"]).map_err(|failure| failure.to_string())
}

/// There are none elsewhere.
#[cfg(not(target_os = "linux"))]
pub(crate) fn own_namespace() -> Mounts {
    Err("mounts of its own are for Linux".to_owned())
}

/// A file system of this run; dropping it unmounts it.
pub(crate) struct Disk {
    pub(crate) kind: FileSystem,
    image: PathBuf,
    /// Where it is mounted.
    pub(crate) at: PathBuf,
}

impl Disk {
    /// Makes an empty one below `folder` and mounts it.
    ///
    /// # Errors
    /// What the tool that failed says.
    pub(crate) fn make(kind: FileSystem, folder: &Path) -> Result<Self> {
        let disk = Self {
            kind,
            image: folder.join("disk.img"),
            at: folder.join("disk"),
        };
        fs::create_dir_all(&disk.at)?;
        let image = disk.image.display().to_string();
        match kind {
            FileSystem::Memory => {}
            FileSystem::Ext4 => {
                File::create(&disk.image)?.set_len(kind.bytes())?;
                // No block is kept for root, who runs this.
                run("mkfs.ext4", &["-q", "-m", "0", &image])?;
            }
            FileSystem::Xfs => {
                File::create(&disk.image)?.set_len(kind.bytes())?;
                run("mkfs.xfs", &["-q", "-f", &image])?;
            }
        }
        disk.mount()?;
        Ok(disk)
    }

    /// Mounts it, which replays its journal.
    ///
    /// # Errors
    /// What the tool says.
    pub(crate) fn mount(&self) -> Result<()> {
        let (image, at) = (
            self.image.display().to_string(),
            self.at.display().to_string(),
        );
        match self.kind {
            FileSystem::Memory => {
                let size = format!("size={}", self.kind.bytes());
                run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", &at])
            }
            FileSystem::Ext4 | FileSystem::Xfs => run("mount", &["-o", "loop", &image, &at]),
        }
    }

    /// Cuts it off as a loss of power does: what its journal and its cache hold and the disk does
    /// not is gone, because without `-f` nothing is flushed.
    ///
    /// # Errors
    /// What the tool says.
    pub(crate) fn cut(&self) -> Result<()> {
        run(
            "xfs_io",
            &["-x", "-c", "shutdown", &self.at.display().to_string()],
        )
    }

    /// Unmounts it, once nothing uses it.
    ///
    /// # Errors
    /// What the tool says when something uses it for long.
    pub(crate) fn unmount(&self) -> Result<()> {
        let until = Instant::now() + BUSY_MAX;
        loop {
            match run("umount", &[&self.at.display().to_string()]) {
                Err(_) if Instant::now() < until => pause(Duration::from_millis(20)),
                outcome => return outcome,
            }
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // With the last process of this run it goes in any case.
        let _ = run("umount", &["--lazy", &self.at.display().to_string()]);
        let _ = fs::remove_file(&self.image);
    }
}

/// A program for administrators, which Debian keeps on root's search path alone.
pub(crate) fn administration(program: &str) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command
}

fn run(program: &str, words: &[&str]) -> Result<()> {
    let output = administration(program).args(words).output();
    let output = output.map_err(|error| format!("{program} could not be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::from(format!("{program} failed: {}", said.trim())))
}
