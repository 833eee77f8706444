//! `cargo xtask counterparts install`: foreign servers that tests speak with, each as pinned.
//! The pins stand in `tests/tools/pins.toml`, what each needs in `tests/tools/<name>/`.

use crate::failure::{Failure, Result};
use crate::pinned_packages::{self, PackageGroup};

/// The servers.
pub(crate) const SHELF: PackageGroup = PackageGroup {
    sources: "tests/tools",
    below: "counterparts",
    one: "counterpart",
};

/// Does what follows `counterparts`.
///
/// # Errors
/// In one sentence, when the word is unknown or one could not be installed as pinned.
pub(crate) fn run(words: &[String]) -> Result<()> {
    match words {
        [word] if word == "install" => pinned_packages::install(&SHELF),
        _ => Err(Failure::new(
            "say what to do with them: `cargo xtask counterparts install`",
        )),
    }
}
