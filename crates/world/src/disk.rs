//! The disk: how much room is left where the data lies, and what its errors mean.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use guildhall_domain::{Fault, outcome::FaultKind};
use rustix::io::Errno;

/// Bytes below which the disk counts as full.
pub const DISK_FREE_MIN_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes this process may still write beneath `path`.
///
/// # Errors
/// A fault when the file system does not say.
pub fn free_bytes(path: &Path) -> Result<u64, Fault> {
    let stat = rustix::fs::statvfs(path)
        .map_err(|error| Fault::broken("asking for the room left on the disk", error))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// What an error at the server's own files means to a caller.
pub(crate) fn fault_kind(error: &io::Error) -> FaultKind {
    match (error.kind(), Errno::from_io_error(error)) {
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, _) => FaultKind::StorageFull,
        // A file system that met an error takes no writes any more.
        (ErrorKind::ReadOnlyFilesystem, _) | (_, Some(Errno::IO)) => FaultKind::StorageIo,
        _ => FaultKind::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_says_how_much_room_is_left() {
        assert!(free_bytes(&std::env::temp_dir()).unwrap() > 0);
        assert!(free_bytes(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn a_disk_that_is_full_or_fails_is_told_from_our_mistakes() {
        let kind = |errno: Errno| fault_kind(&errno.into());
        assert_eq!(kind(Errno::NOSPC), FaultKind::StorageFull);
        assert_eq!(kind(Errno::IO), FaultKind::StorageIo);
        assert_eq!(kind(Errno::ROFS), FaultKind::StorageIo);
        assert_eq!(kind(Errno::BADF), FaultKind::Broken);
    }
}
