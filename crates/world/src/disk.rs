//! The disk: how much room is left where the data lies.

use std::path::Path;

use guildhall_domain::Fault;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_says_how_much_room_is_left() {
        assert!(free_bytes(&std::env::temp_dir()).unwrap() > 0);
        assert!(free_bytes(Path::new("/no/such/folder")).is_err());
    }
}
