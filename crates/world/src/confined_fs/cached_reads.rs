//! What is opened and read without waiting: every folder of the way is in the kernel's memory and
//! lies on a disk of this machine, so an async thread may do it. Anything else is asked for again
//! where waiting is allowed; elsewhere than on Linux that is everything.

#![cfg_attr(
    not(target_os = "linux"),
    allow(unused_variables, reason = "nothing is at hand there")
)]

use std::ops::Range;

use super::{ConfinedFs, OpenFile};

impl ConfinedFs {
    /// The regular file at `path`, relative to the folder that is at the absolute path `folder`
    /// and has these `numbers` (device and inode), for reading.
    /// `None` says nothing, not even that there is no such file.
    ///
    /// Source: contract 6.1, 6.8.
    pub fn file_if_cached(
        &self,
        folder: &str,
        numbers: (u64, u64),
        path: &str,
    ) -> Option<OpenFile> {
        #[cfg(target_os = "linux")]
        return linux::file(self, folder.as_ref(), numbers, path.as_ref());
        #[cfg(not(target_os = "linux"))]
        None
    }
}

impl OpenFile {
    /// These of its bytes, when all of them are in the kernel's memory.
    pub fn read_if_cached(&self, bytes: &Range<u64>) -> Option<Vec<u8>> {
        #[cfg(target_os = "linux")]
        return linux::read(self, bytes);
        #[cfg(not(target_os = "linux"))]
        None
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        fs::File,
        io::IoSliceMut,
        ops::Range,
        os::fd::OwnedFd,
        path::{Component, Path},
    };

    use rustix::{
        fs::{Mode, OFlags, ResolveFlags, openat2},
        io::{ReadWriteFlags, preadv2},
    };

    use super::super::{
        ConfinedFs, OpenFile,
        path_walk::{InodeId, PLACE, check_outside_guarded},
    };

    /// Straight below, on the same disk, and only through names that the kernel remembers.
    const AT_HAND: ResolveFlags = ResolveFlags::BENEATH
        .union(ResolveFlags::NO_MAGICLINKS)
        .union(ResolveFlags::NO_SYMLINKS)
        .union(ResolveFlags::NO_XDEV)
        .union(ResolveFlags::CACHED);

    pub(super) fn file(
        confined: &ConfinedFs,
        path: &Path,
        numbers: (u64, u64),
        rest: &Path,
    ) -> Option<OpenFile> {
        let shunned = confined.ground.shunned();
        let (root, below) = confined.root_of(path).ok()?;
        if !root.here.is_on_disk() {
            return None;
        }
        let folder = open(&root.descriptor, below, PLACE)?;
        let here = InodeId::of(&folder).ok()?;
        if here.numbers() != numbers {
            return None;
        }
        check_outside_guarded(&folder, root.here, shunned).ok()?;
        let (above, name) = (rest.parent()?, rest.file_name()?);
        let parent = match above.as_os_str().is_empty() {
            true => folder,
            false => {
                let parent = open(&folder, above, PLACE)?;
                check_outside_guarded(&parent, here, shunned).ok()?;
                parent
            }
        };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let file = File::from(open(&parent, name.as_ref(), flags | OFlags::CLOEXEC)?);
        let names = rest.components().filter(|part| *part != Component::CurDir);
        let file = OpenFile::new(file, path.components().chain(names).collect()).ok()?;
        // Whose it is would have to be looked up.
        (!file.has_other_names()).then_some(file)
    }

    pub(super) fn read(file: &OpenFile, range: &Range<u64>) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(range.end - range.start).ok()?];
        let into = &mut [IoSliceMut::new(&mut bytes)];
        let read = preadv2(file.file(), into, range.start, ReadWriteFlags::NOWAIT).ok()?;
        (read == bytes.len()).then_some(bytes)
    }

    fn open(folder: &OwnedFd, rest: &Path, flags: OFlags) -> Option<OwnedFd> {
        // A way that goes down and up again would pass by folders that nobody looked at.
        if rest.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        let rest = match rest.as_os_str().is_empty() {
            true => Path::new("."),
            false => rest,
        };
        openat2(folder, rest, flags, Mode::empty(), AT_HAND).ok()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;
    use crate::{confined_fs::FileScope, scratch::Scratch};

    #[test]
    fn what_is_at_hand_is_what_is_found_and_nothing_beyond() {
        let base = Scratch::new("hand");
        let root = base.path().canonicalize().unwrap().join("root");
        for folder in ["site/deep/deeper", "site/data", "other"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let site = root.join("site");
        for file in ["page", "deep/deeper/page", "data/secret", "../other/page"] {
            std::fs::write(site.join(file), file).unwrap();
        }
        symlink("page", site.join("link")).unwrap();
        symlink("../other", site.join("out")).unwrap();
        symlink("deep", site.join("in")).unwrap();
        let confined = ConfinedFs::open(&[root], None, &site.join("data")).unwrap();
        let folder = site.to_str().unwrap();
        let about = site.metadata().unwrap();
        let numbers = (about.dev(), about.ino());
        let (is_on_disk, found) = (
            rustix::fs::major(about.dev()) != 0,
            confined.open_folder(&FileScope::Roots, folder).unwrap(),
        );

        for (path, is_plain) in [
            ("page", true),
            ("deep/deeper/page", true),
            ("deep/./deeper/page", true),
            ("link", false),
            ("in/deeper/page", false),
            ("out/page", false),
            ("deep/../page", false),
            ("../other/page", false),
            ("data/secret", false),
            ("deep", false),
            ("none", false),
            ("", false),
        ] {
            // Whether or not it was asked for before, the kernel knows the way by now.
            let expected = found.file(path).ok();
            let file = confined.file_if_cached(folder, numbers, path);
            assert_eq!(file.is_some(), is_plain && is_on_disk, "{path}");
            let Some(file) = file else { continue };
            let (all, expected) = (file.size_and_mtime().size, expected.unwrap());
            assert_eq!(file.path(), expected.path());
            assert_eq!(file.physical(), expected.physical());
            let text = std::fs::read(site.join(path)).unwrap();
            assert_eq!(file.read_if_cached(&(0..all)), Some(text.clone()), "{path}");
            assert_eq!(file.read_if_cached(&(1..all)).as_deref(), Some(&text[1..]));
            assert_eq!(file.read_if_cached(&(1..all + 1)), None);
        }
        let another = (numbers.0, numbers.1 + 1);
        assert!(confined.file_if_cached(folder, another, "page").is_none());
        assert!(confined.file_if_cached("/usr", numbers, "page").is_none());
    }
}
