//! A temporary folder for tests, gone when dropped.

use std::path::{Path, PathBuf};

/// A folder of its own beneath the temporary folder.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes a new folder whose name begins with `guildhall-<what>`.
    ///
    /// # Panics
    /// When the folder cannot be made: a test cannot go on without it.
    #[expect(clippy::expect_used, reason = "a test cannot go on without its folder")]
    pub fn new(what: &str) -> Self {
        let path = std::env::temp_dir().join(format!("guildhall-{what}-{}", crate::ids::new()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path.canonicalize().expect("the folder just made"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the machine's own sweep of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
