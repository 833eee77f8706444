//! A folder and a link that leads out change places all the time, while what lies behind the
//! name is listed, read and opened for saving: nothing outside is ever reached.

use std::{
    io::Read,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;
use crate::scratch::Scratch;

/// What is asked of the name that changes.
const OPERATIONS: u64 = 200_000;

#[test]
fn no_rename_race_leads_out_of_the_roots() {
    let base = Scratch::new("race");
    let at = |path: &str| base.path().join(path);
    for folder in ["root/work/inside", "root/work/spare", "out", "data"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    std::fs::write(at("root/work/inside/file"), "inside").unwrap();
    std::fs::write(at("out/file"), "OUTSIDE").unwrap();
    std::fs::write(at("out/canary"), "OUTSIDE").unwrap();
    std::os::unix::fs::symlink("../../out", at("root/work/away")).unwrap();
    std::os::unix::fs::symlink("inside", at("root/work/link")).unwrap();
    // A folder inside and a file outside, so that it is seen which of them a link led to.
    std::fs::create_dir(at("root/work/inside/thing")).unwrap();
    std::fs::write(at("out/thing"), "OUTSIDE").unwrap();
    std::os::unix::fs::symlink("inside/thing", at("root/work/through")).unwrap();
    let confined = ConfinedFs::open(&[at("root")], Some(&at("root")), &at("data")).unwrap();

    let is_over = AtomicBool::new(false);
    let (swaps, inside, refused) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let (one, other) = (at("root/work/inside"), at("root/work/away"));
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _over = StopOnDrop(&is_over);
        for round in 0..OPERATIONS {
            let done = once(&confined, base.path(), round);
            match done {
                Ok(()) => inside.fetch_add(1, Ordering::Relaxed),
                Err(_) => refused.fetch_add(1, Ordering::Relaxed),
            };
        }
    });
    // The race took place: both came before, again and again.
    assert!(swaps.into_inner() > 1_000);
    assert!(inside.into_inner() > 1_000);
    assert!(refused.into_inner() > 1_000);
}

/// Ends the race, also when the test fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One listing, reading or opening for saving, of which nothing may come from outside.
fn once(confined: &ConfinedFs, base: &Path, round: u64) -> Result<()> {
    let by_link = round & 8 != 0;
    let name = if by_link { "link" } else { "inside" };
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let work = text(base.join("root/work"));
    let folder = text(base.join("root/work").join(name));
    let reach = if round & 16 == 0 {
        FileScope::Roots
    } else {
        FileScope::Home
    };
    match round & 3 {
        0 => {
            confined.open_folder(&reach, &folder)?.each(|entry| {
                assert_ne!(entry.name, "canary");
                Ok(())
            })?;
        }
        1 => {
            let (folder, path) = (confined.open_folder(&reach, &work)?, format!("{name}/file"));
            let PhysicalId { dev, ino, .. } = folder.identity()?;
            if let Some(file) = confined.file_if_cached(&work, (dev, ino), &path) {
                require_inside(&file);
            }
            require_inside(&folder.file(&path)?);
        }
        2 => {
            let work = confined.open_folder(&reach, &work)?;
            let target = work.target(&format!("{name}/file"))?;
            require_inside(&target.file);
            let canary = rustix::fs::statat(
                &target.parent,
                "canary",
                rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
            );
            assert!(canary.is_err(), "the folder to save into is outside");
        }
        _ => {
            // The folder is open before, so the link is followed from its descriptor.
            let work = confined.open_folder(&reach, &work)?;
            let links = work.links()?;
            let led_to = links.kind("through");
            assert!(
                matches!(led_to, Some(DirEntryKind::Folder) | None),
                "{led_to:?}"
            );
            require_inside(&work.folder(name)?.file("file")?);
        }
    }
    Ok(())
}

fn require_inside(file: &OpenFile) {
    let mut text = String::new();
    file.file().read_to_string(&mut text).unwrap();
    assert_eq!(text, "inside");
}
