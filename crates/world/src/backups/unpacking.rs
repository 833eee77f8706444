//! A folder of its own in the temporary folder, for unpacking a backup where the data folder is
//! not to be touched.

use std::{
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use guildhall_domain::Fault;

use super::fault;
use crate::ids;

/// Removed with everything in it when dropped.
#[derive(Debug)]
pub struct UnpackingFolder(PathBuf);

impl UnpackingFolder {
    /// Makes a new one, which only this user reads.
    ///
    /// # Errors
    /// A fault when the temporary folder takes none.
    pub fn new() -> Result<Self, Fault> {
        let path = std::env::temp_dir().join(format!("guildhall-unpacking-{}", ids::new()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| fault("making a temporary folder", error))?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for UnpackingFolder {
    fn drop(&mut self) {
        // What cannot be removed is left to the machine's own sweep of temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
