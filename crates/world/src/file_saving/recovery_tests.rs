//! Recovery, on real files: what saves leave that ended at each step, and what others did since.

use std::{fs, os::unix::fs::FileExt, path::Path};

use super::*;

impl FileToSave {
    /// What a start does with what was left.
    fn recover(&self, meant: &SaveIntent) -> RecoveryResult {
        let settled = recover(self.place(), &self.mark, meant, &self.journals).unwrap();
        if settled != RecoveryResult::Open {
            self.journals.sweep(&[]).unwrap();
        }
        settled
    }
}

/// Brings about what a save leaves that ends at `step`, by the same calls in the same order.
fn killed_at(stage: &FileToSave, step: SaveStep) {
    let (place, mark) = (stage.place(), &stage.mark);
    let beside = |name: OsString| stage.scratch.path().join("work").join(name);
    let (temp, swap) = (beside(mark.temp(place.name)), beside(mark.swap(place.name)));
    let half = &NEW[..NEW.len() / 2];
    let set_aside = |at: StepHook<'_>| {
        let bytes = (OLD.as_bytes(), NEW.as_bytes());
        stage.journals.write_journal(mark, bytes, at)
    };
    let write = |content: &str| {
        let file = fs::OpenOptions::new().write(true).open(stage.path());
        file.unwrap().write_all_at(content.as_bytes(), 0).unwrap();
    };
    match step {
        SaveStep::TempMade => fs::write(temp, "").unwrap(),
        SaveStep::TempHalfWritten => fs::write(temp, half).unwrap(),
        SaveStep::TempWritten
        | SaveStep::AttributesCopied
        | SaveStep::TempSynced
        | SaveStep::ReadBack => {
            fs::write(temp, NEW).unwrap();
        }
        SaveStep::Ready => fs::write(swap, NEW).unwrap(),
        SaveStep::Exchanged | SaveStep::Checked | SaveStep::FolderSynced => {
            fs::write(swap, NEW).unwrap();
            exchange(place, &mark.swap(place.name)).unwrap();
        }
        SaveStep::JournalHalfWritten => drop(set_aside(&failing(step)).unwrap_err()),
        SaveStep::Journaled => set_aside(&at).unwrap(),
        SaveStep::HalfWritten => {
            set_aside(&at).unwrap();
            write(half);
        }
        SaveStep::Written => {
            set_aside(&at).unwrap();
            write(NEW);
        }
        SaveStep::Admitted
        | SaveStep::Unlinked
        | SaveStep::Intended
        | SaveStep::Saved
        | SaveStep::Committed => {}
    }
}

#[test]
fn after_an_end_at_any_step_the_file_is_whole_and_alone() {
    for (is_linked, steps) in [(false, &BY_EXCHANGE[..10]), (true, &IN_PLACE[..])] {
        for step in steps {
            let stage = match is_linked {
                true => FileToSave::linked(),
                false => FileToSave::new(),
            };
            let meant = stage.meant();
            killed_at(&stage, *step);
            let settled = stage.recover(&meant);
            let is_behind = matches!(
                step,
                SaveStep::Exchanged
                    | SaveStep::Checked
                    | SaveStep::FolderSynced
                    | SaveStep::Written
            );
            let expected = match is_behind {
                true => (RecoveryResult::Done(stage.physical()), NEW),
                false => (RecoveryResult::Undone, OLD),
            };
            assert_eq!((settled, &*stage.alone()), expected, "{step:?}");
            assert!(!stage.journal().exists());
        }
    }
}

#[test]
fn a_strangers_file_that_was_displaced_by_a_save_that_ended_gets_its_place_back() {
    let stage = FileToSave::new();
    let meant = stage.meant();
    replace_by_rename(&stage.path(), "theirs");
    killed_at(&stage, SaveStep::Exchanged);
    assert_eq!(stage.content(), NEW);
    assert_eq!(stage.recover(&meant), RecoveryResult::Undone);
    assert_eq!(stage.alone(), "theirs");
}

#[test]
fn so_does_a_link_that_was_displaced() {
    let stage = FileToSave::new();
    let meant = stage.meant();
    let link = stage.path().with_file_name("other");
    std::os::unix::fs::symlink("elsewhere", &link).unwrap();
    fs::rename(link, stage.path()).unwrap();
    killed_at(&stage, SaveStep::Exchanged);
    assert_eq!(stage.recover(&meant), RecoveryResult::Undone);
    assert_eq!(stage.names(), ["a.md"]);
    assert_eq!(fs::read_link(stage.path()).unwrap(), Path::new("elsewhere"));
}

#[test]
fn a_strangers_file_whose_place_is_anothers_by_now_is_not_removed() {
    let stage = FileToSave::new();
    let meant = stage.meant();
    replace_by_rename(&stage.path(), "theirs");
    killed_at(&stage, SaveStep::Exchanged);
    fs::write(stage.path(), "written since").unwrap();
    assert_eq!(stage.recover(&meant), RecoveryResult::Open);
    assert_eq!(stage.content(), "written since");
    let displaced = stage
        .path()
        .with_file_name(stage.mark.swap("a.md".as_ref()));
    assert_eq!(fs::read_to_string(displaced).unwrap(), "theirs");
}

#[test]
fn what_people_made_of_a_torn_file_stays_and_so_does_what_was_set_aside() {
    for is_replaced in [false, true] {
        let stage = FileToSave::linked();
        let meant = stage.meant();
        killed_at(&stage, SaveStep::HalfWritten);
        match is_replaced {
            true => replace_by_rename(&stage.path(), "mended"),
            false => fs::write(stage.path(), "mended").unwrap(),
        }
        assert_eq!(stage.recover(&meant), RecoveryResult::Open);
        assert_eq!(stage.alone(), "mended");
        assert!(stage.journal().exists());
        // Once the file is whole, nobody needs it any more.
        fs::write(stage.path(), OLD).unwrap();
        assert_eq!(stage.recover(&meant), RecoveryResult::Undone);
        assert!(!stage.journal().exists());
    }
}

#[test]
fn a_torn_file_that_is_not_there_is_restored_when_it_is() {
    let stage = FileToSave::linked();
    let meant = stage.meant();
    killed_at(&stage, SaveStep::HalfWritten);
    let away = stage.scratch.path().join("away");
    fs::rename(stage.path(), &away).unwrap();
    assert_eq!(stage.recover(&meant), RecoveryResult::Open);
    fs::rename(&away, stage.path()).unwrap();
    assert_eq!(stage.recover(&meant), RecoveryResult::Undone);
    assert_eq!(stage.alone(), OLD);
}

#[test]
fn a_file_is_known_again_when_its_devices_number_is_another() {
    let physical = FileToSave::new().physical();
    let moved = PhysicalId {
        dev: physical.dev + 1,
        ..physical
    };
    assert_eq!(physical.to_inode(), moved.to_inode());
    for other in [
        PhysicalId {
            ino: physical.ino + 1,
            ..physical
        },
        PhysicalId {
            born: physical.born.map(|born| born + 1),
            ..physical
        },
    ] {
        assert_ne!(physical.to_inode(), other.to_inode());
    }
}

#[test]
fn old_bytes_are_written_back_into_the_torn_file_alone() {
    let stage = FileToSave::linked();
    let meant = stage.meant();
    killed_at(&stage, SaveStep::HalfWritten);
    let set_aside = stage.journals.read(&stage.mark, &meant).unwrap().unwrap();
    let seen = recovery::observe(stage.place().folder, stage.place().name);
    let seen = seen.unwrap().unwrap();
    // Between the look and the writing others come in, by a rename and in place.
    let torn = stage.content();
    replace_by_rename(&stage.path(), &torn);
    recovery::restore(stage.place(), &seen, &set_aside).unwrap_err();
    assert_eq!(stage.content(), torn);
    let stage = FileToSave::linked();
    killed_at(&stage, SaveStep::HalfWritten);
    let seen = recovery::observe(stage.place().folder, stage.place().name);
    fs::write(stage.path(), "theirs").unwrap();
    recovery::restore(stage.place(), &seen.unwrap().unwrap(), &set_aside).unwrap_err();
    assert_eq!(stage.content(), "theirs");
}
