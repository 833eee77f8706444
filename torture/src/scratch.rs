//! The folder of a run: gone when it ends, and what a run that was killed left goes with the next.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;

/// What the folder is called, before the number of the process.
const NAME: &str = "torture-data-";

/// The folder of one run, gone when dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes the folder below `folder`, and removes those whose process is gone.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        for entry in fs::read_dir(&folder)?.flatten() {
            let name = entry.file_name();
            let process = name.to_str().and_then(|name| name.strip_prefix(NAME));
            let Some(process) = process else { continue };
            if !Path::new("/proc").join(process).exists() {
                end_servers_of(&entry.path());
                // What cannot be removed lies beside the build's own files and goes with them.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let path = folder.join(format!("{NAME}{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed lies beside the build's own files and goes with them.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Ends the servers whose command line names `folder`, which a run that was killed left behind.
fn end_servers_of(folder: &Path) {
    let folder = folder.as_os_str().as_encoded_bytes();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes {
        let name = process.file_name();
        let id = name.to_str().and_then(|name| name.parse().ok());
        let Some(id) = id.and_then(Pid::from_raw) else {
            continue;
        };
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if line.windows(folder.len()).any(|part| part == folder) {
            // It fails only when it has ended already.
            let _ = kill_process(id, Signal::KILL);
        }
    }
}
