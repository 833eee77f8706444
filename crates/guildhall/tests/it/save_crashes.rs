//! Saves that end in the middle: whenever the process is killed or the disk fails, the file is
//! the whole old or the whole new one, nothing of ours lies beside it, and what was asked for
//! happens once.

use std::{fs, path::PathBuf};

use guildhall_domain::files::digest;
use guildhall_world::{data_dir::DataDir, file_saving::SaveStep, scratch::Scratch};
use serde_json::{Value, json};

use crate::server_process::{self, ServerProcess};

const OLD: &str = "what it held\n";
const CONTENT: &str = "/api/files/content";
const NEW: &str = "what it is to hold,\r\nand \u{1f600} more\n";

/// The steps of a save in place that one by exchange has not.
const IN_PLACE: [SaveStep; 4] = [
    SaveStep::JournalHalfWritten,
    SaveStep::Journaled,
    SaveStep::HalfWritten,
    SaveStep::Written,
];
/// Those of both.
const OF_BOTH: [SaveStep; 4] = [
    SaveStep::Admitted,
    SaveStep::Intended,
    SaveStep::Saved,
    SaveStep::Committed,
];

/// A server with a document whose file is to be saved.
struct ServerWithDocument {
    scratch: Scratch,
    server: ServerProcess,
    document: Value,
}

impl ServerWithDocument {
    /// Starts a server that does `fault` at a step; with `is_linked` the file has a second name.
    fn open(fault: &str, is_linked: bool) -> Self {
        let scratch = Scratch::new("saves");
        fs::create_dir(scratch.path().join("work")).unwrap();
        let file = scratch.path().join("work/a.md");
        fs::write(&file, OLD).unwrap();
        if is_linked {
            fs::hard_link(&file, scratch.path().join("link.md")).unwrap();
        }
        let data = scratch.path().join("data");
        let path = file.to_str().unwrap();
        let env = [("GUILDHALL_FAULT", fault), ("GUILDHALL_FAULT_FILE", path)];
        let server = ServerProcess::start_in(&data, &env);
        let (_, rooms) = server.ask("GET", "/api/rooms", None);
        let room = rooms["rooms"][0]["id"].as_str().unwrap().to_owned();
        let ask = json!({"content": {"type": "file", "sourcePath": file}});
        let (status, document) =
            server.ask("POST", &format!("/api/rooms/{room}/canvas"), Some(&ask));
        assert_eq!(status, 201, "{document}");
        Self {
            scratch,
            server,
            document,
        }
    }

    /// Starts another server on the same data, which does nothing but its work.
    fn restart(mut self) -> Self {
        let data = self.scratch.path().join("data");
        self.server.kill();
        self.server = ServerProcess::start(&data, 0);
        self
    }

    fn path(&self) -> PathBuf {
        self.scratch.path().join("work/a.md")
    }

    fn held(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    /// Saves the document's file; `None` when the server ended before it answered.
    fn save(&self) -> Option<(u16, Value)> {
        server_process::ask(self.server.port(), "PUT", CONTENT, Some(&self.ask()))
    }

    fn ask(&self) -> Value {
        json!({"cwd": self.scratch.path().join("work"), "path": "a.md", "content": NEW,
            "documentSave": {"documentId": self.document["id"],
                "eventId": "01980000-0000-7000-8000-000000000001",
                "expectedFileHash": digest(OLD.as_bytes()),
                "incarnation": self.document["incarnation"]}})
    }

    /// The id of the document's room.
    fn room(&self) -> &str {
        let scope = self.document["scope"].as_str().unwrap();
        scope.strip_prefix("room:").unwrap()
    }

    /// What is set aside of files that are written in place.
    fn journals(&self) -> usize {
        let folder = self.scratch.path().join("data/journal");
        fs::read_dir(folder).unwrap().count()
    }

    /// Demands that nothing of ours lies anywhere.
    fn is_clean(&self, what: &str) {
        let names = |folder: &str| -> Vec<_> {
            let entries = fs::read_dir(self.scratch.path().join(folder)).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect()
        };
        assert_eq!(names("work"), ["a.md"], "{what}");
        assert_eq!(names("data/journal"), [""; 0], "{what}");
    }

    /// Demands that what was asked for has happened once.
    fn happened_once(&self, what: &str) {
        assert_eq!(self.held(), NEW, "{what}");
        let (status, again) = self.save().unwrap();
        assert_eq!(status, 200, "{what}: {again}");
        let receipt = &again["documentReceipt"];
        let found = (&again["effect"], &receipt["status"], &receipt["docSeq"]);
        assert_eq!(
            found,
            (&json!("no_op"), &json!("duplicate"), &json!(1)),
            "{what}"
        );
        assert_eq!(self.saves(), ["file_saved", "doc_saved"], "{what}");
        self.is_clean(what);
    }

    /// Which saves were told of.
    fn saves(&self) -> Vec<String> {
        let head = server_process::head(self.server.port());
        let told = server_process::frames(self.server.port(), "/api/events", 0, head);
        let names = told.iter().filter_map(|event| event["type"].as_str());
        let saves = names.filter(|name| name.ends_with("_saved"));
        saves.map(str::to_owned).collect()
    }
}

/// Every step with the kind of file it is met with.
fn steps() -> impl Iterator<Item = (SaveStep, &'static str, bool)> {
    SaveStep::WORDS.iter().flat_map(|(step, word)| {
        let kinds: &[bool] = match step {
            step if IN_PLACE.contains(step) => &[true],
            step if OF_BOTH.contains(step) => &[false, true],
            _ => &[false],
        };
        kinds.iter().map(|is_linked| (*step, *word, *is_linked))
    })
}

#[test]
fn a_kill_at_any_step_leaves_the_whole_old_or_new_file_and_a_retry_saves_it_once() {
    for (step, word, is_linked) in steps() {
        let what = format!("{word}, linked: {is_linked}");
        let stage = ServerWithDocument::open(&format!("kill:{word}"), is_linked);
        assert_eq!(stage.save(), None, "{what}: the server ends there");
        let stage = stage.restart();
        let held = stage.held();
        assert!([OLD, NEW].contains(&&*held), "{what}: {held}");
        stage.is_clean(&what);
        let (status, retried) = stage.save().unwrap();
        assert_eq!(status, 200, "{what}: {retried}");
        let found = (&retried["effect"], &retried["documentReceipt"]["status"]);
        // What was committed had only its answer missing, and nobody can know of that.
        let expected = match step {
            SaveStep::Committed => (json!("no_op"), json!("duplicate")),
            _ => (json!("changed"), json!("accepted")),
        };
        assert_eq!(found, (&expected.0, &expected.1), "{what}");
        stage.happened_once(&what);
    }
}

#[test]
fn a_failure_at_any_step_is_answered_and_leaves_the_whole_old_or_new_file() {
    for (step, word, is_linked) in steps() {
        // The save is done by then, and only that a name is gone could not be told.
        if matches!(step, SaveStep::Unlinked | SaveStep::Committed) {
            continue;
        }
        let fills = [
            SaveStep::TempHalfWritten,
            SaveStep::JournalHalfWritten,
            SaveStep::HalfWritten,
        ];
        let is_filled = fills.contains(&step) || step == SaveStep::TempSynced;
        for (kind, status, code) in [
            ("fail", 500, "FILE_SAVE_FAILED"),
            ("full", 507, "STORAGE_FULL"),
        ] {
            if kind == "full" && !is_filled {
                continue;
            }
            let what = format!("{kind} {word}, linked: {is_linked}");
            let stage = ServerWithDocument::open(&format!("{kind}:{word}"), is_linked);
            let (found, refused) = stage.save().unwrap();
            assert_eq!((found, &refused["code"]), (status, &json!(code)), "{what}");
            let expected = if step == SaveStep::Saved { NEW } else { OLD };
            assert_eq!(stage.held(), expected, "{what}");
            if step == SaveStep::Saved {
                // It is on the disk and not yet written down: the next try does that.
                let (status, retried) = stage.save().unwrap();
                let receipt = &retried["documentReceipt"];
                assert_eq!(
                    (status, &receipt["status"]),
                    (200, &json!("accepted")),
                    "{what}"
                );
                stage.happened_once(&what);
                continue;
            }
            stage.is_clean(&what);
            let stage = stage.restart();
            let (status, saved) = stage.save().unwrap();
            assert_eq!(
                (status, &saved["effect"]),
                (200, &json!("changed")),
                "{what}"
            );
            stage.happened_once(&what);
        }
    }
}

#[test]
fn another_writer_who_comes_in_between_is_told_of_and_keeps_its_bytes() {
    let steps = [
        (SaveStep::Intended, false),
        (SaveStep::TempHalfWritten, false),
        (SaveStep::ReadBack, false),
        (SaveStep::Ready, false),
        (SaveStep::Intended, true),
        (SaveStep::JournalHalfWritten, true),
        (SaveStep::Journaled, true),
        (SaveStep::HalfWritten, true),
        (SaveStep::Written, true),
    ];
    for (step, is_linked) in steps {
        let (_, word) = SaveStep::WORDS
            .iter()
            .find(|(one, _)| *one == step)
            .unwrap();
        for (deed, status, code) in [
            ("replace", 412, "FILE_IDENTITY_CHANGED"),
            ("write", 409, "CONFLICT"),
        ] {
            let what = format!("{deed} {step:?}, linked: {is_linked}");
            let stage = ServerWithDocument::open(&format!("{deed}:{word}"), is_linked);
            let (found, refused) = stage.save().unwrap();
            assert_eq!((found, &refused["code"]), (status, &json!(code)), "{what}");
            // Between two writes of ours theirs stands, with what we wrote behind it.
            let is_between = step == SaveStep::HalfWritten && status == 409;
            let held = stage.held();
            assert!(
                held == "theirs" || (is_between && held.starts_with("theirs")),
                "{what}: {held}"
            );
            if status == 409 && !is_between {
                assert_eq!(refused["currentContent"], "theirs", "{what}");
            }
            stage.is_clean(&what);
            assert_eq!(stage.saves(), [""; 0], "{what}");
        }
    }
}

#[test]
fn another_writer_who_comes_after_the_new_text_has_the_last_word() {
    for step in [
        SaveStep::Exchanged,
        SaveStep::Checked,
        SaveStep::FolderSynced,
    ] {
        let (_, word) = SaveStep::WORDS
            .iter()
            .find(|(one, _)| *one == step)
            .unwrap();
        let stage = ServerWithDocument::open(&format!("write:{word}"), false);
        let (status, saved) = stage.save().unwrap();
        assert_eq!((status, &saved["effect"]), (200, &json!("changed")));
        assert_eq!(stage.held(), "theirs", "{step:?}");
        stage.is_clean(word);
    }
}

#[test]
fn a_file_that_is_elsewhere_once_its_locks_are_held_is_another() {
    let stage = ServerWithDocument::open("move:admitted", false);
    let ask = json!({"cwd": stage.scratch.path().join("work"), "path": "a.md", "content": NEW});
    let (status, refused) = stage.server.ask("PUT", CONTENT, Some(&ask));
    assert_eq!(
        (status, &refused["code"]),
        (412, &json!("FILE_IDENTITY_CHANGED"))
    );
    assert_eq!(stage.held(), OLD);
}

#[test]
fn a_document_that_is_reloaded_or_opened_beside_a_save_keeps_its_binding() {
    let stage = ServerWithDocument::open("wait:exchanged", false);
    let (port, ask) = (stage.server.port(), stage.ask());
    let saving = std::thread::spawn(move || server_process::ask(port, "PUT", CONTENT, Some(&ask)));
    while stage.held() == OLD {
        std::thread::yield_now();
    }
    let canvas = format!("/api/rooms/{}/canvas", stage.room());
    let at = format!("{canvas}/{}", stage.document["id"].as_str().unwrap());
    let content = json!({"content": {"type": "file", "sourcePath": stage.path()}});
    let asks = [
        ("POST", format!("{at}/reload"), json!({})),
        ("POST", canvas, content.clone()),
        ("PATCH", at.clone(), content),
    ];
    let asking = asks.map(|(method, path, ask)| {
        std::thread::spawn(move || server_process::ask(port, method, &path, Some(&ask)).unwrap())
    });
    // Time for those that would not wait.
    for _ in 0..50 {
        assert_eq!(stage.server.ask("GET", &at, None).0, 200);
    }
    fs::write(format!("{}.go", stage.path().display()), "").unwrap();
    for asked in asking {
        let (status, answer) = asked.join().unwrap();
        assert_eq!(status, 200, "{answer}");
        let bound = &answer["incarnation"];
        assert_eq!(bound, &stage.document["incarnation"], "{answer}");
    }
    let (_, saved) = saving.join().unwrap().unwrap();
    assert_eq!(saved["documentReceipt"]["docSeq"], json!(1));
    let (_, document) = stage.server.ask("GET", &at, None);
    assert_eq!(document["incarnation"], stage.document["incarnation"]);
}

#[test]
fn a_torn_file_whose_folder_comes_later_is_restored_then() {
    let stage = ServerWithDocument::open("kill:half-written", true);
    assert_eq!(stage.save(), None);
    let (work, away) = (
        stage.scratch.path().join("work"),
        stage.scratch.path().join("away"),
    );
    fs::rename(&work, &away).unwrap();
    let stage = stage.restart();
    // Where its volume is mounted there is an empty folder meanwhile.
    fs::create_dir(&work).unwrap();
    let stage = stage.restart();
    assert_eq!(stage.journals(), 1);
    fs::remove_dir(&work).unwrap();
    fs::rename(&away, &work).unwrap();
    let stage = stage.restart();
    assert_eq!(stage.held(), OLD);
    stage.is_clean("once it was there");
    assert_eq!(stage.save().unwrap().0, 200);
    stage.happened_once("once it was there");
}

#[test]
fn what_people_made_of_a_torn_file_before_the_start_is_left_to_them() {
    let stage = ServerWithDocument::open("kill:half-written", true);
    assert_eq!(stage.save(), None);
    fs::write(stage.path(), "mended\n").unwrap();
    let stage = stage.restart();
    assert_eq!(stage.held(), "mended\n");
    assert_eq!(stage.journals(), 1, "the old bytes are kept");
    let work = stage.scratch.path().join("work");
    let ask = json!({"cwd": work, "path": "a.md", "content": "mended here\n",
        "expectedHash": digest(b"mended\n")});
    let (status, saved) = stage.server.ask("PUT", CONTENT, Some(&ask));
    assert_eq!((status, &saved["effect"]), (200, &json!("changed")));
    // Once the file is whole again, nobody needs them; it is no save of ours that made it so.
    fs::write(stage.path(), NEW).unwrap();
    let stage = stage.restart();
    assert_eq!(stage.held(), NEW);
    stage.is_clean("after the next start");
    assert_eq!(stage.saves(), ["file_saved"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_stop_ends_although_a_disk_hangs_and_nobody_has_the_data_folder_before() {
    let stage = ServerWithDocument::open("hang:half-written", true);
    let (port, ask) = (stage.server.port(), stage.ask());
    let saving = std::thread::spawn(move || server_process::ask(port, "PUT", CONTENT, Some(&ask)));
    while stage.held() == OLD {
        std::thread::yield_now();
    }
    stage.server.terminate();
    let data = stage.scratch.path().join("data");
    let lock = loop {
        if let Ok(lock) = DataDir::open(&data) {
            break lock;
        }
    };
    // A process that is over has no command any more; one that goes on writing has.
    let command = fs::read(format!("/proc/{}/cmdline", stage.server.pid())).unwrap();
    assert_eq!(String::from_utf8_lossy(&command), "");
    assert_eq!(saving.join().unwrap(), None);
    drop(lock);
    let stage = stage.restart();
    assert_eq!(stage.held(), OLD);
    stage.is_clean("after the next start");
}
