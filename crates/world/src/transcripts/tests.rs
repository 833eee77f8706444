//! Transcripts on a disk of their own: found, read on in, listed.

use std::{fs, io::Write, os::unix::fs::symlink};

use guildhall_domain::{Timestamp, ids::SessionId};

use super::*;
use crate::scratch::Scratch;

const ID: &str = "5b1f7c2e-8d34-4e0a-9c61-2f7d0a4be913";
const OTHER: &str = "019a0b1c-2d3e-7f40-8a5b-6c7d8e9f0a1b";
const CLAUDE: &str = include_str!("../../../domain/tests/fixtures/claude.jsonl");
const CODEX: &str = include_str!("../../../domain/tests/fixtures/codex.jsonl");
const BOTH: [TranscriptDialect; 2] = [TranscriptDialect::Claude, TranscriptDialect::Codex];

struct AgentHome {
    scratch: Scratch,
    places: AgentFolders,
}

impl AgentHome {
    fn new() -> Self {
        let scratch = Scratch::new("transcripts");
        let places = AgentFolders::new(Some(scratch.path().to_owned()), None, None);
        Self { scratch, places }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.scratch.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn claude(&self, text: impl AsRef<[u8]>) -> PathBuf {
        self.write(&format!(".claude/projects/-work/{ID}.jsonl"), text)
    }

    fn found(&self, id: &str) -> Option<PathBuf> {
        Some(find(&self.places, &BOTH, &[id])?.path())
    }

    fn follower(&self) -> TranscriptFollower {
        TranscriptFollower::new(find(&self.places, &BOTH, &[ID]).unwrap())
    }
}

fn todo(content: &str) -> String {
    format!(
        "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"id\":\"{content}\",\
         \"name\":\"TodoWrite\",\"input\":{{\"todos\":[{{\"content\":\"{content}\"}}]}}}}]}}}}\n"
    )
}

fn subjects(follower: &mut TranscriptFollower) -> Vec<String> {
    let tasks = follower.tasks().iter();
    tasks.map(|task| task.subject.clone()).collect()
}

fn append(path: &Path, text: &[u8]) {
    let mut file = fs::File::options().append(true).open(path).unwrap();
    file.write_all(text).unwrap();
}

#[test]
fn a_transcript_is_found_by_its_name_in_the_runtimes_own_folder() {
    let home = AgentHome::new();
    assert_eq!(home.found(ID), None, "nothing is there yet");
    let claude = home.claude(CLAUDE);
    let name = format!("rollout-2026-02-03T10-00-00-{OTHER}.jsonl");
    let codex = home.write(&format!(".codex/sessions/2026/02/03/{name}"), CODEX);
    home.write(".claude/projects/x/other.jsonl", CLAUDE);
    assert_eq!(home.found(ID), Some(claude.clone()));
    assert_eq!(home.found(OTHER), Some(codex));
    assert_eq!(find(&home.places, &[TranscriptDialect::Codex], &[ID]), None);
    let by_either = find(&home.places, &BOTH, &["none", ID]).unwrap();
    assert_eq!(by_either.path(), claude);
    for name in ["", ".", "..", "../x/other", "x/other", "other\0", "*"] {
        assert_eq!(home.found(name), None, "{name}");
    }
    let elsewhere = AgentFolders::new(None, Some(home.scratch.path().join(".claude")), None);
    assert_eq!(find(&elsewhere, &BOTH, &[ID]).unwrap().path(), claude);
    assert_eq!(find(&AgentFolders::default(), &BOTH, &[ID]), None);
}

#[test]
fn no_link_leads_out_of_the_runtimes_folder() {
    let home = AgentHome::new();
    let outside = home.write(&format!("outside/{ID}.jsonl"), CLAUDE);
    home.write(".claude/projects/real/x", "");
    symlink(
        outside.parent().unwrap(),
        home.scratch.path().join(".claude/projects/out"),
    )
    .unwrap();
    let link = home
        .scratch
        .path()
        .join(format!(".claude/projects/real/{ID}.jsonl"));
    symlink(&outside, &link).unwrap();
    assert_eq!(home.found(ID), None);
    assert_eq!(list(&home.places, &HeadCache::default()), []);
    // One that stays inside is a file like any other.
    fs::remove_file(&link).unwrap();
    home.write(".claude/archive/a.jsonl", CLAUDE);
    symlink("../../archive/a.jsonl", &link).unwrap();
    assert!(home.found(ID).is_some());
    // And what is no file is nothing.
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    assert_eq!(home.found(ID), None);
}

#[test]
fn wherever_a_transcript_is_cut_reading_on_gives_the_tasks_of_the_whole() {
    let home = AgentHome::new();
    let text: String = CLAUDE
        .lines()
        .skip(20)
        .map(|line| format!("{line}\n"))
        .collect();
    let path = home.claude(&text);
    let mut whole = home.follower();
    assert!(whole.read_new_lines().unwrap().is_anew);
    let text = text.as_bytes();
    for cut in (0..text.len()).step_by(41) {
        fs::write(&path, &text[..cut]).unwrap();
        let mut follower = home.follower();
        let first = follower.read_new_lines().unwrap();
        append(&path, &text[cut..]);
        let second = follower.read_new_lines().unwrap();
        assert_eq!(follower.tasks(), whole.tasks(), "{cut}");
        // Bytes after the last whole line, and no others, are read twice.
        let lines = text[..cut].iter().rposition(|byte| *byte == b'\n');
        let again = cut - lines.map_or(0, |last| last + 1);
        assert_eq!(
            first.bytes + second.bytes,
            (text.len() + again) as u64,
            "{cut}"
        );
        let third = follower.read_new_lines().unwrap();
        assert_eq!((third.bytes, third.is_anew), (0, false), "{cut}");
    }
}

#[test]
fn an_unfinished_last_line_waits_and_one_that_is_too_long_is_skipped() {
    let home = AgentHome::new();
    let path = home.claude(todo("a"));
    let mut follower = home.follower();
    let b = todo("b");
    append(&path, &b.as_bytes()[..b.len() - 1]);
    follower.read_new_lines().unwrap();
    assert_eq!(subjects(&mut follower), ["a"]);
    append(&path, b"\n");
    follower.read_new_lines().unwrap();
    assert_eq!(subjects(&mut follower), ["b"]);

    let long = todo(&"x".repeat(9 << 20));
    let half = long.len() - 5;
    append(&path, &long.as_bytes()[..half]);
    follower.read_new_lines().unwrap();
    assert_eq!(follower.skipped(), 0);
    append(&path, &long.as_bytes()[half..]);
    append(&path, todo("c").as_bytes());
    let read = follower.read_new_lines().unwrap();
    assert_eq!(read.bytes, (5 + todo("c").len()) as u64);
    assert_eq!(
        (subjects(&mut follower), follower.skipped()),
        (vec!["c".to_owned()], 1)
    );
    let mut at_once = home.follower();
    at_once.read_new_lines().unwrap();
    assert_eq!(
        (subjects(&mut at_once), at_once.skipped()),
        (vec!["c".to_owned()], 1)
    );
}

#[test]
fn a_file_that_is_shorter_or_another_is_read_anew() {
    let home = AgentHome::new();
    let path = home.claude(todo("a") + &todo("b"));
    let mut follower = home.follower();
    follower.read_new_lines().unwrap();
    fs::write(&path, todo("c")).unwrap();
    assert!(follower.read_new_lines().unwrap().is_anew);
    assert_eq!(subjects(&mut follower), ["c"]);
    // Cut and grown again meanwhile.
    fs::write(&path, "x".repeat(40) + "\n" + &todo("d")).unwrap();
    assert!(follower.read_new_lines().unwrap().is_anew);
    assert_eq!(
        (subjects(&mut follower), follower.skipped()),
        (vec!["d".to_owned()], 1)
    );
    // Another file by the same name.
    let new = home.write("new", "\n".repeat(4_000) + &todo("e"));
    fs::rename(new, &path).unwrap();
    assert!(follower.read_new_lines().unwrap().is_anew);
    assert_eq!(subjects(&mut follower), ["e"]);
    fs::remove_file(&path).unwrap();
    let gone = follower.read_new_lines().unwrap_err();
    assert_eq!(gone.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn sessions_on_disk_are_listed_by_their_first_words() {
    let home = AgentHome::new();
    let claude = home.claude(CLAUDE);
    let name = format!("rollout-2026-02-03T10-00-00-{OTHER}.jsonl");
    let codex = home.write(&format!(".codex/sessions/2026/02/03/{name}"), CODEX);
    let empty = "019a0b1c-2d3e-7f40-8a5b-6c7d8e9f0a1c";
    let bare = home.write(&format!(".claude/projects/x/{empty}.jsonl"), "nonsense\n");
    home.write(".claude/projects/x/agent-a1b2.jsonl", CLAUDE);
    home.write(".claude/projects/x/readme.md", "x");
    let at = |path: &Path, seconds: u64| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::open(path).unwrap().set_modified(time).unwrap();
    };
    for (path, seconds) in [(&claude, 10), (&codex, 30), (&bare, 20)] {
        at(path, seconds);
    }
    let moment = |text: &str| serde_json::from_str::<Timestamp>(&format!("\"{text}\"")).unwrap();
    let of_codex = DiskSession {
        id: SessionId::parse(OTHER).unwrap(),
        dialect: TranscriptDialect::Codex,
        cwd: "/projects/tally".to_owned(),
        title: "Count the words of every file".to_owned(),
        created_at: moment("2026-02-03T10:00:00Z"),
        updated_at: Timestamp::from_millis(30_000),
    };
    let of_nobody = DiskSession {
        id: SessionId::parse(empty).unwrap(),
        dialect: TranscriptDialect::Claude,
        cwd: String::new(),
        title: String::new(),
        created_at: Timestamp::from_millis(20_000),
        updated_at: Timestamp::from_millis(20_000),
    };
    let of_claude = DiskSession {
        id: SessionId::parse(ID).unwrap(),
        dialect: TranscriptDialect::Claude,
        created_at: moment("2026-02-03T09:00:00Z"),
        updated_at: Timestamp::from_millis(10_000),
        ..of_codex.clone()
    };
    let heads = HeadCache::default();
    let expected = [of_codex.clone(), of_nobody, of_claude.clone()];
    assert_eq!(list(&home.places, &heads), expected);
    // What is known of a beginning stays known while the file grows.
    append(&claude, b"{}\n");
    at(&claude, 40);
    fs::remove_file(bare).unwrap();
    let grown = DiskSession {
        updated_at: Timestamp::from_millis(40_000),
        ..of_claude
    };
    assert_eq!(list(&home.places, &heads), [grown, of_codex]);
}
