//! Where a folder can be seen: a file system may be mounted more than once.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

/// A mount of this process (`proc_pid_mountinfo(5)`).
struct MountEntry {
    /// Which file system.
    device: Vec<u8>,
    /// Which folder of the file system.
    root: PathBuf,
    /// Where it is seen.
    point: PathBuf,
}

/// The other paths at which the folder at `path` may be seen.
pub(super) fn other_mount_paths(path: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(places(&fs::read("/proc/self/mountinfo")?, path))
}

/// Where something is mounted at this path or below it, each place once.
pub(super) fn points_below(path: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mounts = fs::read("/proc/self/mountinfo")?;
    let points = lines(&mounts).map(|mount| mount.point);
    Ok(points.filter(|point| point.starts_with(path)).collect())
}

fn lines(mounts: &[u8]) -> impl Iterator<Item = MountEntry> {
    mounts.split(|byte| *byte == b'\n').filter_map(read)
}

fn places(mounts: &[u8], path: &Path) -> Vec<PathBuf> {
    let mounts: Vec<MountEntry> = lines(mounts).collect();
    // The one it is seen through; of several at one place the last covers the others.
    let around = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    let Some(around) = around.max_by_key(|mount| mount.point.components().count()) else {
        return Vec::new();
    };
    let Ok(below) = path.strip_prefix(&around.point) else {
        return Vec::new();
    };
    let inside = around.root.join(below);
    let same = mounts.iter().filter(|mount| mount.device == around.device);
    let seen = same.filter_map(|mount| {
        let below = inside.strip_prefix(&mount.root).ok()?;
        Some(mount.point.join(below))
    });
    seen.filter(|place| place != path).collect()
}

/// Reads `36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw`.
fn read(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|byte| *byte == b' ').skip(2);
    Some(MountEntry {
        device: fields.next()?.to_vec(),
        root: unescaped(fields.next()?),
        point: unescaped(fields.next()?),
    })
}

/// Spaces, tabs, line ends and backslashes are written as `\040` and so on.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, behind)) = rest.split_first() {
        let digits = behind.get(..3).filter(|_| *byte == b'\\');
        let number = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(number.unwrap_or(*byte));
        rest = if number.is_some() {
            &behind[3..]
        } else {
            behind
        };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(mounts: &[&str], path: &str) -> Vec<String> {
        let places = places(mounts.join("\n").as_bytes(), Path::new(path));
        places
            .into_iter()
            .map(|place| place.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_folder_is_seen_through_every_mount_that_holds_it() {
        let root = "1 0 8:1 / / rw - ext4 /dev/sda1 rw";
        let home = "2 1 8:2 / /home rw shared:1 - ext4 /dev/sda2 rw";
        let again = "3 1 8:2 /ada /mnt/my\\040copy rw - ext4 /dev/sda2 rw";
        let other = "4 1 8:2 /bob /mnt/bob rw - ext4 /dev/sda2 rw";
        let path = "/home/ada/data";
        assert_eq!(found(&[root], path), [""; 0]);
        assert_eq!(
            found(&[root, home, again, other], path),
            ["/mnt/my copy/data"]
        );
        let copy = "/mnt/my copy/data";
        assert_eq!(found(&[root, home, again, other], copy), [path]);
    }
}
