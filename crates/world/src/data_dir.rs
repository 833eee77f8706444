//! The data folder: one owner, one lock, one discovery file.

use std::{
    fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::blobs::BLOBS;

/// The data folder of a running server; the lock is held until this is dropped.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

/// Why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another server has it.
    #[error("another guildhall server uses the data folder {}", .0.display())]
    InUse(PathBuf),
    /// The file system refused.
    #[error("the data folder {} cannot be used: {source}", .path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl DataDir {
    /// Opens or makes the folder at `path`, mode 0700, and takes its lock.
    ///
    /// # Errors
    /// [`DataDirError::InUse`] when another server holds the lock.
    ///
    /// Source: contract 1.13.
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        let failed = |source| DataDirError::Io {
            path: path.to_owned(),
            source,
        };
        let run = path.join("run");
        require_private(path, &run).map_err(failed)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&run)
            .map_err(failed)?;
        for folder in [path, &run] {
            std::fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(failed)?;
        }
        let lock = private()
            .create(true)
            .write(true)
            .open(run.join("lock"))
            .map_err(failed)?;
        for _ in 0..LOCK_TRIES {
            match lock.try_lock() {
                Ok(()) => {
                    return Ok(Self {
                        path: path.to_owned(),
                        _lock: lock,
                    });
                }
                // Somebody who only looks whether a server runs holds the lock for a moment.
                Err(TryLockError::WouldBlock) => std::thread::park_timeout(LOCK_PAUSE),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        Err(DataDirError::InUse(path.to_owned()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// The database file of data that lies in `folder`.
    pub fn database_in(folder: &Path) -> PathBuf {
        folder.join(DATABASE)
    }

    /// The folder of attachments.
    pub fn blobs(&self) -> PathBuf {
        Self::blobs_in(&self.path)
    }

    /// The folder of attachments of data that lies in `folder`.
    pub fn blobs_in(folder: &Path) -> PathBuf {
        folder.join(BLOBS)
    }

    /// Where a restored database waits for its place.
    pub fn restoring(&self) -> PathBuf {
        self.path.join(RESTORING)
    }

    /// Drops a restored database that did not come to its place.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn drop_restoring(&self) -> io::Result<()> {
        for end in ["", "-wal", "-shm"] {
            let dropped = std::fs::remove_file(self.path.join(format!("{RESTORING}{end}")));
            match dropped {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether data was set aside under `name`; also where the disk does not say.
    pub fn is_set_aside(&self, name: &str) -> bool {
        let folder = self.path.join(SET_ASIDE).join(name);
        folder.try_exists().unwrap_or(true)
    }

    /// Moves the database and the attachments into the folder `name` beside the others set aside;
    /// answers that folder, `None` when there was nothing to move. What a try before this one set
    /// aside under the same name stays as it is.
    ///
    /// # Errors
    /// Whatever the file system answers; what was moved until then stays there.
    pub fn set_data_aside(&self, name: &str) -> io::Result<Option<PathBuf>> {
        let all = self.path.join(SET_ASIDE);
        let folder = all.join(name);
        for part in ["", "-wal", "-shm"]
            .map(|end| format!("{DATABASE}{end}"))
            .iter()
            .map(String::as_str)
            .chain([BLOBS])
        {
            let (from, to) = (self.path.join(part), folder.join(part));
            // With one there already, what is here is of the restored data.
            if from.try_exists()? && !to.try_exists()? {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(&folder)?;
                std::fs::rename(from, to)?;
            }
        }
        if !folder.try_exists()? {
            return Ok(None);
        }
        for changed in [&folder, &all, &self.path] {
            sync_folder(changed)?;
        }
        Ok(Some(folder))
    }

    /// Puts a restored database in its place.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn take_restored(&self) -> io::Result<()> {
        std::fs::rename(self.restoring(), self.database())?;
        sync_folder(&self.path)
    }

    /// Announces the server: writes the discovery file, mode 0600, whole or not at all.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn write_discovery_file(&self, json: &str) -> io::Result<()> {
        write_private(&discovery_file(&self.path), json)
    }

    /// The port that [`Self::save_agent_port`] kept last.
    pub fn agent_port(&self) -> Option<u16> {
        let text = std::fs::read_to_string(agent_port_file(&self.path)).ok()?;
        text.trim().parse().ok()
    }

    /// Keeps the port of the listener for agents, so that the next start takes it again: what
    /// runs longer than the server finds it there.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub fn save_agent_port(&self, port: u16) -> io::Result<()> {
        write_private(&agent_port_file(&self.path), &format!("{port}\n"))
    }

    /// Takes the announcement back at a clean end.
    pub fn remove_discovery_file(&self) {
        // A missing file is what we want; any other failure leaves a file that points to no
        // held lock and is ignored by readers.
        let _ = std::fs::remove_file(discovery_file(&self.path));
    }
}

/// Writes a file of mode 0600, whole or not at all, and for good.
pub(crate) fn write_private(file: &Path, text: &str) -> io::Result<()> {
    let draft = file.with_added_extension("new");
    let mut written = private()
        .create(true)
        .truncate(true)
        .write(true)
        .open(&draft)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    std::fs::rename(draft, file)?;
    // Until then the folder may name the old file again after a power cut.
    file.parent().map_or(Ok(()), sync_folder)
}

pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Copies the `database` of the data folder at `data_dir` and its write-ahead log, as they are,
/// into the folder `name` beside the data set aside, durably; answers that folder. The log comes
/// first: it is what the next opening changes. Without room for the database the log alone is kept.
///
/// # Errors
/// Whatever the file system answers about the log.
pub fn copy_store_aside(data_dir: &Path, database: &Path, name: &str) -> io::Result<PathBuf> {
    let all = data_dir.join(SET_ASIDE);
    let folder = all.join(name);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)?;
    let copy = |end: &str| -> io::Result<()> {
        let to = folder.join(format!("{DATABASE}{end}"));
        let from = format!("{}{end}", database.display());
        let copied = std::fs::copy(from, &to).and_then(|_| File::open(&to)?.sync_all());
        copied.inspect_err(|_| {
            // Half of it is of no use.
            let _ = std::fs::remove_file(&to);
        })
    };
    copy("-wal")?;
    if let Err(error) = copy("") {
        tracing::warn!(%error, "the write-ahead log alone is copied aside, without the store");
    }
    for changed in [&folder, &all, data_dir] {
        sync_folder(changed)?;
    }
    Ok(folder)
}

/// What the discovery file of the server that uses `path` says; `None` when no server does.
pub fn read_discovery_file(path: &Path) -> Option<String> {
    let lock = File::open(path.join("run").join("lock")).ok()?;
    match lock.try_lock_shared() {
        Err(TryLockError::WouldBlock) => std::fs::read_to_string(discovery_file(path)).ok(),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// The data folder when none is named: `$XDG_DATA_HOME/guildhall` or `~/.local/share/guildhall`.
pub fn default_path(xdg_data_home: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let base = xdg_data_home
        .filter(|path| path.is_absolute())
        .or_else(|| Some(home?.join(".local").join("share")))?;
    Some(base.join("guildhall"))
}

/// Files that make a folder ours.
const OURS: [&str; 2] = [DATABASE, CONFIGURATION];
/// The database's name in the data folder.
const DATABASE: &str = "guildhall.sqlite";
/// A restored database's name, until it takes the place of the other one.
const RESTORING: &str = "restoring.sqlite";
/// The folder in which data is set aside.
pub const SET_ASIDE: &str = "set-aside";
/// The configuration file's name in the data folder.
pub const CONFIGURATION: &str = "guildhall.toml";

/// How often the lock is tried, and the pause between; together a fifth of a second.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Holds back a folder that others can read and that holds something else than our data:
/// making it private would take it from them.
fn require_private(path: &Path, run: &Path) -> io::Result<()> {
    let Ok(found) = std::fs::metadata(path) else {
        return Ok(());
    };
    let is_private = found.permissions().mode() & 0o077 == 0;
    let holds_ours = run.is_dir() || OURS.iter().any(|name| path.join(name).exists());
    let is_ours = holds_ours || std::fs::read_dir(path)?.next().is_none();
    if is_private || is_ours {
        return Ok(());
    }
    let why = "others can read it and it holds other files; name a folder of its own";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

fn discovery_file(path: &Path) -> PathBuf {
    path.join("run").join("server.json")
}

fn agent_port_file(path: &Path) -> PathBuf {
    path.join("run").join("agent-port")
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_others_use_is_not_taken_from_them() {
        let scratch = crate::scratch::Scratch::new("data-dir");
        let open = Permissions::from_mode(0o755);
        std::fs::set_permissions(scratch.path(), open).unwrap();
        std::fs::write(scratch.path().join("theirs"), "x").unwrap();
        assert!(matches!(
            DataDir::open(scratch.path()),
            Err(DataDirError::Io { .. })
        ));
        let mode = std::fs::metadata(scratch.path())
            .unwrap()
            .permissions()
            .mode()
            & 0o777;
        assert_eq!(mode, 0o755);
    }

    #[test]
    fn looking_for_a_server_never_keeps_one_from_starting() {
        let scratch = crate::scratch::Scratch::new("data-dir");
        let path = scratch.path().join("data");
        drop(DataDir::open(&path).unwrap());
        let looking = File::open(path.join("run").join("lock")).unwrap();
        looking.try_lock_shared().unwrap();
        let starting = std::thread::spawn({
            let path = path.clone();
            move || DataDir::open(&path)
        });
        looking.unlock().unwrap();
        assert!(starting.join().unwrap().is_ok());
    }

    #[test]
    fn one_server_a_folder_and_only_a_live_one_is_found() {
        let scratch = crate::scratch::Scratch::new("data-dir");
        let path = scratch.path().join("data");
        assert_eq!(read_discovery_file(&path), None);

        let first = DataDir::open(&path).unwrap();
        assert!(matches!(DataDir::open(&path), Err(DataDirError::InUse(_))));
        first.write_discovery_file("{\"url\":\"x\"}").unwrap();
        assert_eq!(
            read_discovery_file(&path).as_deref(),
            Some("{\"url\":\"x\"}")
        );
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&discovery_file(&path))), (0o700, 0o600));

        drop(first);
        assert_eq!(
            read_discovery_file(&path),
            None,
            "a file without a held lock points to nobody"
        );
        DataDir::open(&path).unwrap().remove_discovery_file();
        assert!(!discovery_file(&path).exists());
    }
}
