//! Systems other than Linux: there is nothing of an enclosure.

use std::{io, path::PathBuf};

use super::KnownFolder;

/// What nobody refuses.
pub(super) struct LandlockRules;

impl LandlockRules {
    pub(super) fn know_ports() -> bool {
        false
    }

    pub(super) fn know_scopes() -> bool {
        false
    }

    pub(super) fn build(_: bool, _: bool, _: impl Fn(u16) -> bool) -> io::Result<Self> {
        missing()
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        missing()
    }

    pub(super) fn restrict(self) -> io::Result<()> {
        missing()
    }
}

pub(super) fn hide(_: &KnownFolder, _: &[PathBuf]) -> io::Result<()> {
    missing()
}

pub(super) fn filter() -> io::Result<()> {
    missing()
}

fn missing<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}
