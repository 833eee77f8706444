//! Saving, on real files: every step failed, ended, and interrupted by another writer.

use std::{
    cell::RefCell,
    fs,
    os::{
        fd::AsFd,
        unix::fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use guildhall_domain::files::{FileIdentity, digest, recovery::SaveIntent};
use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

use super::*;
use crate::scratch::Scratch;

#[path = "file_saving/recovery_tests.rs"]
mod recovery_tests;

const OLD: &str = "what it held";
const NEW: &str = "what it is to hold, and more";

/// The steps of a save by exchange, and of one in place.
const BY_EXCHANGE: [SaveStep; 11] = [
    SaveStep::TempMade,
    SaveStep::TempHalfWritten,
    SaveStep::TempWritten,
    SaveStep::AttributesCopied,
    SaveStep::TempSynced,
    SaveStep::ReadBack,
    SaveStep::Ready,
    SaveStep::Exchanged,
    SaveStep::Checked,
    SaveStep::FolderSynced,
    SaveStep::Unlinked,
];
const IN_PLACE: [SaveStep; 4] = [
    SaveStep::JournalHalfWritten,
    SaveStep::Journaled,
    SaveStep::HalfWritten,
    SaveStep::Written,
];

/// A file in a folder of its own.
struct FileToSave {
    scratch: Scratch,
    folder: File,
    journals: Journals,
    mark: SaveId,
}

impl FileToSave {
    fn new() -> Self {
        let scratch = Scratch::new("saving");
        let work = scratch.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::write(work.join("a.md"), OLD).unwrap();
        Self {
            folder: File::open(&work).unwrap(),
            journals: Journals::open(scratch.path()).unwrap(),
            mark: SaveId::new().unwrap(),
            scratch,
        }
    }

    /// The same with a file that has a second name, outside of its folder.
    fn linked() -> Self {
        let stage = Self::new();
        fs::hard_link(stage.path(), stage.scratch.path().join("link")).unwrap();
        stage
    }

    fn path(&self) -> PathBuf {
        self.scratch.path().join("work/a.md")
    }

    fn place(&self) -> FileLocation<'_> {
        FileLocation {
            folder: self.folder.as_fd(),
            name: OsStr::new("a.md"),
        }
    }

    fn save(&self, at: StepHook<'_>) -> Result<PhysicalId, SaveError> {
        let file = File::open(self.path()).unwrap();
        let save = PlannedSave {
            place: self.place(),
            file: &file,
            old: digest(OLD.as_bytes()),
            content: NEW.as_bytes(),
            new: digest(NEW.as_bytes()),
            mark: &self.mark,
            journals: &self.journals,
        };
        replace(&save, at)
    }

    fn content(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    /// What lies in the folder.
    fn names(&self) -> Vec<OsString> {
        let entries = fs::read_dir(self.scratch.path().join("work")).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    }

    fn journal(&self) -> PathBuf {
        self.scratch.path().join("journal").join(self.mark.as_str())
    }

    fn physical(&self) -> PhysicalId {
        PhysicalId::of(&fs::metadata(self.path()).unwrap())
    }

    fn meant(&self) -> SaveIntent {
        let physical = self.physical();
        SaveIntent {
            identity: FileIdentity::new(format!("{physical:?}")),
            inode: physical.to_inode(),
            folder: PhysicalId::of(&self.folder.metadata().unwrap()).to_inode(),
            old: digest(OLD.as_bytes()),
            new: digest(NEW.as_bytes()),
        }
    }

    /// What lies at the path, when nothing else is in the folder.
    #[track_caller]
    fn alone(&self) -> String {
        assert_eq!(self.names(), ["a.md"]);
        self.content()
    }
}

/// Replaces a file as an editor does that writes another and renames it.
fn replace_by_rename(path: &Path, content: &str) {
    let other = path.with_file_name("other");
    fs::write(&other, content).unwrap();
    fs::rename(other, path).unwrap();
}

/// Lets another writer come in at one step.
fn meanwhile(step: SaveStep, deed: impl Fn()) -> impl Fn(SaveStep) -> io::Result<()> {
    move |now| {
        if now == step {
            deed();
        }
        Ok(())
    }
}

/// Fails at one step.
fn failing(step: SaveStep) -> impl Fn(SaveStep) -> io::Result<()> {
    move |now| match now == step {
        true => Err(io::Error::other("asked for")),
        false => Ok(()),
    }
}

#[test]
fn a_saved_file_is_another_file_with_the_new_content_and_nothing_is_left_over() {
    let stage = FileToSave::new();
    let before = fs::metadata(stage.path()).unwrap();
    let steps = RefCell::new(Vec::new());
    let saved = stage.save(&|step| {
        steps.borrow_mut().push(step);
        Ok(())
    });
    assert_eq!(saved.unwrap(), stage.physical());
    assert_eq!(*steps.borrow(), BY_EXCHANGE);
    assert_eq!(stage.alone(), NEW);
    assert_ne!(fs::metadata(stage.path()).unwrap().ino(), before.ino());
    assert!(!stage.journal().exists());
}

#[test]
fn a_file_with_several_names_stays_the_same_file() {
    let stage = FileToSave::linked();
    let before = fs::metadata(stage.path()).unwrap();
    let steps = RefCell::new(Vec::new());
    let saved = stage.save(&|step| {
        steps.borrow_mut().push(step);
        Ok(())
    });
    assert_eq!(saved.unwrap(), stage.physical());
    assert_eq!(*steps.borrow(), IN_PLACE);
    let link = fs::read_to_string(stage.scratch.path().join("link")).unwrap();
    assert_eq!((link, stage.content()), (NEW.to_owned(), NEW.to_owned()));
    assert_eq!(fs::metadata(stage.path()).unwrap().ino(), before.ino());
    assert!(!stage.journal().exists(), "it would undo what others write");
}

#[test]
fn mode_owner_access_list_and_attributes_stay() {
    for mode in [0o600, 0o640, 0o4755, 0o444] {
        let stage = FileToSave::new();
        let file = File::open(stage.path()).unwrap();
        let name = c"user.guildhall.test";
        fsetxattr(&file, name, b"kept", XattrFlags::empty()).unwrap();
        // An access list as the kernel keeps it: owner rw, user 65534 rw, group r, mask rw,
        // others none. It is one more attribute of the file.
        let list = access_list(&[
            (1, 6, -1),
            (2, 6, 65_534),
            (4, 4, -1),
            (16, 6, -1),
            (32, 0, -1),
        ]);
        let acl = c"system.posix_acl_access";
        fsetxattr(&file, acl, &list, XattrFlags::empty()).unwrap();
        // Handed down to new files of the folder, which the saved one must not show.
        let default = access_list(&[(1, 7, -1), (2, 7, 1), (4, 7, -1), (16, 7, -1), (32, 7, -1)]);
        let for_children = c"system.posix_acl_default";
        fsetxattr(&stage.folder, for_children, &default, XattrFlags::empty()).unwrap();
        if mode == 0o600 {
            rustix::fs::fremovexattr(&file, acl).unwrap();
        }
        let is_root = fs::metadata(stage.path()).unwrap().uid() == 0;
        if is_root {
            std::os::unix::fs::chown(stage.path(), Some(12_345), Some(54_321)).unwrap();
        }
        fs::set_permissions(stage.path(), PermissionsExt::from_mode(mode)).unwrap();
        let facts = |stage: &FileToSave| {
            let (found, file) = (
                fs::metadata(stage.path()).unwrap(),
                File::open(stage.path()).unwrap(),
            );
            let mut bytes = vec![0; 256];
            let mut read = |name: &std::ffi::CStr| {
                fgetxattr(&file, name, &mut bytes[..]).map(|length| bytes[..length].to_vec())
            };
            (
                found.mode(),
                found.uid(),
                found.gid(),
                read(name),
                read(acl),
            )
        };
        let before = facts(&stage);
        stage.save(&at).unwrap();
        assert_eq!(stage.content(), NEW);
        assert_eq!(facts(&stage), before, "{mode:o}");
    }
}

/// An access list of (tag, permissions, id), in the kernel's form, version 2.
fn access_list(entries: &[(u16, u16, i32)]) -> Vec<u8> {
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

#[test]
fn a_failure_at_any_step_leaves_the_whole_old_file_alone() {
    for (is_linked, steps) in [(false, &BY_EXCHANGE[..10]), (true, &IN_PLACE[..])] {
        for step in steps {
            let stage = match is_linked {
                true => FileToSave::linked(),
                false => FileToSave::new(),
            };
            let inode = fs::metadata(stage.path()).unwrap().ino();
            let failed = stage.save(&failing(*step));
            assert!(matches!(failed, Err(SaveError::Io(_))), "{step:?}");
            assert_eq!(stage.content(), OLD, "{step:?}");
            assert_eq!(stage.names(), ["a.md"], "{step:?}");
            assert_eq!(fs::metadata(stage.path()).unwrap().ino(), inode, "{step:?}");
            assert!(!stage.journal().exists(), "{step:?}");
        }
    }
}

#[test]
fn a_failure_after_the_last_step_undoes_nothing() {
    let stage = FileToSave::new();
    stage.save(&failing(SaveStep::Unlinked)).unwrap();
    assert_eq!(stage.alone(), NEW);
}

#[test]
fn another_writers_bytes_are_kept_whenever_they_come() {
    // Until the exchange a file can be replaced, written or removed and the save hears of it.
    for step in &BY_EXCHANGE[..7] {
        let stage = FileToSave::new();
        let replaced = stage.save(&meanwhile(*step, || {
            replace_by_rename(&stage.path(), "theirs");
        }));
        assert!(matches!(replaced, Err(SaveError::Replaced)), "{step:?}");
        assert_eq!(stage.alone(), "theirs");
        let stage = FileToSave::new();
        let rewritten = stage.save(&meanwhile(*step, || {
            fs::write(stage.path(), "theirs").unwrap();
        }));
        assert!(matches!(rewritten, Err(SaveError::Rewritten)), "{step:?}");
        assert_eq!(stage.alone(), "theirs");
        let stage = FileToSave::new();
        let gone = stage.save(&meanwhile(*step, || fs::remove_file(stage.path()).unwrap()));
        assert!(matches!(gone, Err(SaveError::Replaced)), "{step:?}");
        assert_eq!(stage.names(), [""; 0], "{step:?}");
    }
}

#[test]
fn in_place_another_writers_bytes_are_kept_whenever_they_come() {
    for step in IN_PLACE {
        let other_name = |stage: &FileToSave| {
            assert!(!stage.journal().exists(), "{step:?}: it would undo theirs");
            fs::read_to_string(stage.scratch.path().join("link")).unwrap()
        };
        let stage = FileToSave::linked();
        let replaced = stage.save(&meanwhile(step, || {
            replace_by_rename(&stage.path(), "theirs");
        }));
        assert!(matches!(replaced, Err(SaveError::Replaced)), "{step:?}");
        assert_eq!(stage.alone(), "theirs", "{step:?}");
        assert_eq!(other_name(&stage), OLD, "{step:?}: nothing of ours stays");
        let stage = FileToSave::linked();
        let gone = stage.save(&meanwhile(step, || fs::remove_file(stage.path()).unwrap()));
        assert!(matches!(gone, Err(SaveError::Replaced)), "{step:?}");
        assert_eq!(other_name(&stage), OLD, "{step:?}");
        let stage = FileToSave::linked();
        let rewritten = stage.save(&meanwhile(step, || {
            fs::write(stage.path(), "theirs").unwrap();
        }));
        assert!(matches!(rewritten, Err(SaveError::Rewritten)), "{step:?}");
        let kept = other_name(&stage);
        // Between two writes of ours theirs stands, with what we wrote behind it.
        let is_between = step == SaveStep::HalfWritten && kept.starts_with("theirs");
        assert!(kept == "theirs" || is_between, "{step:?}: {kept}");
    }
}

#[test]
fn whoever_wrote_into_the_displaced_file_gets_it_back() {
    let stage = FileToSave::new();
    let theirs = fs::OpenOptions::new()
        .write(true)
        .open(stage.path())
        .unwrap();
    let rewritten = stage.save(&|now| match now == SaveStep::Exchanged {
        true => theirs.write_all_at(b"THEIRS", 0),
        false => Ok(()),
    });
    assert!(matches!(rewritten, Err(SaveError::Rewritten)));
    assert_eq!(
        (stage.content(), stage.names()),
        ("THEIRSt held".to_owned(), vec!["a.md".into()])
    );
}

#[test]
fn whoever_replaces_ours_while_it_is_taken_back_stays() {
    let stage = FileToSave::new();
    let failed = stage.save(&|now| {
        if now == SaveStep::Exchanged {
            replace_by_rename(&stage.path(), "theirs");
            return Err(io::Error::other("asked for"));
        }
        Ok(())
    });
    assert!(failed.is_err());
    assert_eq!(stage.alone(), "theirs");
}

#[test]
fn whoever_writes_into_ours_before_it_is_taken_back_stays() {
    for step in [
        SaveStep::Exchanged,
        SaveStep::Checked,
        SaveStep::FolderSynced,
    ] {
        let stage = FileToSave::new();
        let failed = stage.save(&|now| {
            if now == step {
                fs::write(stage.path(), "theirs").unwrap();
                return Err(io::Error::other("asked for"));
            }
            Ok(())
        });
        assert!(failed.is_err());
        assert_eq!(stage.alone(), "theirs");
    }
}

#[test]
fn in_place_another_writers_bytes_are_kept_too() {
    let stage = FileToSave::linked();
    let file = File::open(stage.path()).unwrap();
    let save = |old: &str| {
        let save = PlannedSave {
            place: stage.place(),
            file: &file,
            old: digest(old.as_bytes()),
            content: NEW.as_bytes(),
            new: digest(NEW.as_bytes()),
            mark: &stage.mark,
            journals: &stage.journals,
        };
        replace(&save, &at)
    };
    assert!(matches!(save("something else"), Err(SaveError::Rewritten)));
    replace_by_rename(&stage.path(), "theirs");
    // The descriptor still has the other name, so that it is written in place.
    fs::hard_link(
        stage.scratch.path().join("link"),
        stage.scratch.path().join("more"),
    )
    .unwrap();
    assert!(matches!(save(OLD), Err(SaveError::Replaced)));
    assert_eq!(stage.content(), "theirs");
}

/// A save where two names cannot be exchanged; `meanwhile` happens before the last look.
fn renamed(stage: &FileToSave, meanwhile: impl FnOnce()) -> Result<(), SaveError> {
    let file = File::open(stage.path()).unwrap();
    let save = PlannedSave {
        place: stage.place(),
        file: &file,
        old: digest(OLD.as_bytes()),
        content: NEW.as_bytes(),
        new: digest(NEW.as_bytes()),
        mark: &stage.mark,
        journals: &stage.journals,
    };
    let id0 = PhysicalId::of(&file.metadata().unwrap());
    let mut temp = TempFile::make(&save).unwrap().unwrap();
    write_halves(&temp.file, save.content, || Ok(())).unwrap();
    temp.make_ready().unwrap();
    meanwhile();
    rename_over(&save, &id0, temp, &at).map(|_| ())
}

#[test]
fn where_names_cannot_be_exchanged_the_file_is_looked_at_once_more_and_renamed_over() {
    let stage = FileToSave::new();
    renamed(&stage, || ()).unwrap();
    assert_eq!(stage.alone(), NEW);
    let stage = FileToSave::new();
    let replaced = renamed(&stage, || replace_by_rename(&stage.path(), "theirs"));
    assert!(matches!(replaced, Err(SaveError::Replaced)));
    assert_eq!(stage.alone(), "theirs");
    let stage = FileToSave::new();
    let rewritten = renamed(&stage, || fs::write(stage.path(), "theirs").unwrap());
    assert!(matches!(rewritten, Err(SaveError::Rewritten)));
    assert_eq!(stage.alone(), "theirs");
}

#[test]
fn a_long_name_has_temporary_ones_too() {
    let mark = SaveId::new().unwrap();
    for name in ["a.md", &"x".repeat(255), &"ü".repeat(127)] {
        for (temp, ending) in [
            (mark.temp(name.as_ref()), ""),
            (mark.swap(name.as_ref()), ".swap"),
        ] {
            let temp = temp.into_string().unwrap();
            let ending = format!(".{}{ending}.guildhall-tmp", mark.as_str());
            assert!(temp.len() <= 255, "{temp}");
            assert!(temp.starts_with('.') && temp.ends_with(&ending));
        }
    }
}
