//! Recovery, on real files: what saves leave that ended at each step, and what others did since.

use std::{fs, os::unix::fs::FileExt, path::Path};

use super::*;

impl Stage {
    /// What a start does with what was left.
    fn recover(&self, meant: &Meant) -> Settled {
        let settled = settle(self.place(), &self.mark, meant, &self.journals).unwrap();
        if settled != Settled::Open {
            self.journals.sweep(&[]).unwrap();
        }
        settled
    }
}

/// Brings about what a save leaves that ends at `step`, by the same calls in the same order.
fn killed_at(stage: &Stage, step: Step) {
    let (place, mark) = (stage.place(), &stage.mark);
    let beside = |name: OsString| stage.scratch.path().join("work").join(name);
    let (temp, swap) = (beside(mark.temp(place.name)), beside(mark.swap(place.name)));
    let half = &NEW[..NEW.len() / 2];
    let set_aside = |at: At<'_>| {
        let bytes = (OLD.as_bytes(), NEW.as_bytes());
        stage.journals.keep(mark, bytes, at)
    };
    let write = |content: &str| {
        let file = fs::OpenOptions::new().write(true).open(stage.path());
        file.unwrap().write_all_at(content.as_bytes(), 0).unwrap();
    };
    match step {
        Step::TempMade => fs::write(temp, "").unwrap(),
        Step::TempHalfWritten => fs::write(temp, half).unwrap(),
        Step::TempWritten | Step::AttributesCopied | Step::TempSynced | Step::ReadBack => {
            fs::write(temp, NEW).unwrap();
        }
        Step::Ready => fs::write(swap, NEW).unwrap(),
        Step::Exchanged | Step::Checked | Step::FolderSynced => {
            fs::write(swap, NEW).unwrap();
            exchange(place, &mark.swap(place.name)).unwrap();
        }
        Step::JournalHalfWritten => drop(set_aside(&failing(step)).unwrap_err()),
        Step::Journaled => set_aside(&at).unwrap(),
        Step::HalfWritten => {
            set_aside(&at).unwrap();
            write(half);
        }
        Step::Written => {
            set_aside(&at).unwrap();
            write(NEW);
        }
        Step::Admitted | Step::Unlinked | Step::Intended | Step::Saved | Step::Committed => {}
    }
}

#[test]
fn after_an_end_at_any_step_the_file_is_whole_and_alone() {
    for (is_linked, steps) in [(false, &BY_EXCHANGE[..10]), (true, &IN_PLACE[..])] {
        for step in steps {
            let stage = match is_linked {
                true => Stage::linked(),
                false => Stage::new(),
            };
            let meant = stage.meant();
            killed_at(&stage, *step);
            let settled = stage.recover(&meant);
            let is_behind = matches!(
                step,
                Step::Exchanged | Step::Checked | Step::FolderSynced | Step::Written
            );
            let expected = match is_behind {
                true => (Settled::Done(stage.physical()), NEW),
                false => (Settled::Undone, OLD),
            };
            assert_eq!((settled, &*stage.alone()), expected, "{step:?}");
            assert!(!stage.journal().exists());
        }
    }
}

#[test]
fn a_strangers_file_that_was_displaced_by_a_save_that_ended_gets_its_place_back() {
    let stage = Stage::new();
    let meant = stage.meant();
    replace_by_rename(&stage.path(), "theirs");
    killed_at(&stage, Step::Exchanged);
    assert_eq!(stage.content(), NEW);
    assert_eq!(stage.recover(&meant), Settled::Undone);
    assert_eq!(stage.alone(), "theirs");
}

#[test]
fn so_does_a_link_that_was_displaced() {
    let stage = Stage::new();
    let meant = stage.meant();
    let link = stage.path().with_file_name("other");
    std::os::unix::fs::symlink("elsewhere", &link).unwrap();
    fs::rename(link, stage.path()).unwrap();
    killed_at(&stage, Step::Exchanged);
    assert_eq!(stage.recover(&meant), Settled::Undone);
    assert_eq!(stage.names(), ["a.md"]);
    assert_eq!(fs::read_link(stage.path()).unwrap(), Path::new("elsewhere"));
}

#[test]
fn a_strangers_file_whose_place_is_anothers_by_now_is_not_removed() {
    let stage = Stage::new();
    let meant = stage.meant();
    replace_by_rename(&stage.path(), "theirs");
    killed_at(&stage, Step::Exchanged);
    fs::write(stage.path(), "written since").unwrap();
    assert_eq!(stage.recover(&meant), Settled::Open);
    assert_eq!(stage.content(), "written since");
    let displaced = stage
        .path()
        .with_file_name(stage.mark.swap("a.md".as_ref()));
    assert_eq!(fs::read_to_string(displaced).unwrap(), "theirs");
}

#[test]
fn what_people_made_of_a_torn_file_stays_and_so_does_what_was_set_aside() {
    for is_replaced in [false, true] {
        let stage = Stage::linked();
        let meant = stage.meant();
        killed_at(&stage, Step::HalfWritten);
        match is_replaced {
            true => replace_by_rename(&stage.path(), "mended"),
            false => fs::write(stage.path(), "mended").unwrap(),
        }
        assert_eq!(stage.recover(&meant), Settled::Open);
        assert_eq!(stage.alone(), "mended");
        assert!(stage.journal().exists());
        // Once the file is whole, nobody needs it any more.
        fs::write(stage.path(), OLD).unwrap();
        assert_eq!(stage.recover(&meant), Settled::Undone);
        assert!(!stage.journal().exists());
    }
}

#[test]
fn a_torn_file_that_is_not_there_is_restored_when_it_is() {
    let stage = Stage::linked();
    let meant = stage.meant();
    killed_at(&stage, Step::HalfWritten);
    let away = stage.scratch.path().join("away");
    fs::rename(stage.path(), &away).unwrap();
    assert_eq!(stage.recover(&meant), Settled::Open);
    fs::rename(&away, stage.path()).unwrap();
    assert_eq!(stage.recover(&meant), Settled::Undone);
    assert_eq!(stage.alone(), OLD);
}

#[test]
fn a_file_is_known_again_when_its_devices_number_is_another() {
    let physical = Stage::new().physical();
    let moved = Physical {
        dev: physical.dev + 1,
        ..physical
    };
    assert_eq!(physical.lasting(), moved.lasting());
    for other in [
        Physical {
            ino: physical.ino + 1,
            ..physical
        },
        Physical {
            born: physical.born.map(|born| born + 1),
            ..physical
        },
    ] {
        assert_ne!(physical.lasting(), other.lasting());
    }
}

#[test]
fn old_bytes_are_written_back_into_the_torn_file_alone() {
    let stage = Stage::linked();
    let meant = stage.meant();
    killed_at(&stage, Step::HalfWritten);
    let set_aside = stage.journals.read(&stage.mark, &meant).unwrap().unwrap();
    let seen = recovery::see(stage.place().folder, stage.place().name);
    let seen = seen.unwrap().unwrap();
    // Between the look and the writing others come in, by a rename and in place.
    let torn = stage.content();
    replace_by_rename(&stage.path(), &torn);
    recovery::restore(stage.place(), &seen, &set_aside).unwrap_err();
    assert_eq!(stage.content(), torn);
    let stage = Stage::linked();
    killed_at(&stage, Step::HalfWritten);
    let seen = recovery::see(stage.place().folder, stage.place().name);
    fs::write(stage.path(), "theirs").unwrap();
    recovery::restore(stage.place(), &seen.unwrap().unwrap(), &set_aside).unwrap_err();
    assert_eq!(stage.content(), "theirs");
}
