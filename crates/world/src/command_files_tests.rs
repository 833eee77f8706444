//! Looks at folders of commands: what is found, what is left out, and what is watched.

use std::{fs, os::unix::fs::symlink};

use super::*;
use crate::scratch::Scratch;

struct CommandFolders(Scratch);

impl CommandFolders {
    fn new() -> Self {
        let scratch = Scratch::new("commands");
        for folder in ["work", "home", "data"] {
            fs::create_dir(scratch.path().join(folder)).unwrap();
        }
        Self(scratch)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn scan(&self) -> CommandScanResult {
        let scan = CommandScan {
            cwd: Some(&self.at("work")),
            home: Some(&self.at("home")),
            shunned: &self.at("data"),
        };
        scan.run()
    }
}

/// `full command, file, description` of each.
fn shown(scanned: &CommandScanResult) -> Vec<(&str, &str, &str)> {
    let commands = scanned.listing.commands.iter();
    commands
        .map(|c| (&*c.full_command, &*c.file_path, &*c.description))
        .collect()
}

fn warned(scanned: &CommandScanResult) -> Vec<(&str, &str)> {
    let warnings = scanned.listing.warnings.iter();
    warnings
        .map(|warning| (&*warning.file_path, &*warning.message))
        .collect()
}

#[test]
fn commands_come_from_project_and_user_folders_the_nearer_first() {
    let house = CommandFolders::new();
    assert_eq!(house.scan().listing, CommandListing::default());
    for (path, text) in [
        ("work/.claude/commands/go.md", "Go"),
        (
            "work/.claude/commands/git/pr/open.md",
            "---\r\ndescription: Opens\r\n---\r\n",
        ),
        ("work/.claude/commands/notes.txt", "x"),
        ("work/.claude/commands/.hidden.md", "x"),
        ("work/.agents/skills/draw/SKILL.md", "Draws"),
        ("work/.agents/skills/draw/more/SKILL.md", "x"),
        ("work/.agents/skills/draw/other.md", "x"),
        ("work/.agents/skills/SKILL.md", "x"),
        ("work/.claude/skills/draw/SKILL.md", "x"),
        (
            "work/.claude/skills/sing/SKILL.md",
            "---\nuser-invocable: false\n---\n",
        ),
        ("home/.claude/commands/go.md", "x"),
        ("home/.claude/commands/home.md", "At home"),
        ("home/.claude/skills/cook/SKILL.md", "Cooks"),
        ("home/.agents/skills/none/SKILL.md", "x"),
    ] {
        house.write(path, text);
    }
    let scanned = house.scan();
    let expected = [
        ("/cook", "~/.claude/skills/cook/SKILL.md", "Cooks"),
        ("/draw", ".agents/skills/draw/SKILL.md", "Draws"),
        ("/git:pr:open", ".claude/commands/git/pr/open.md", "Opens"),
        ("/go", ".claude/commands/go.md", "Go"),
        ("/home", "~/.claude/commands/home.md", "At home"),
    ];
    assert_eq!(shown(&scanned), expected);
    assert_eq!(warned(&scanned), []);
    let watched = &scanned.watched;
    for (path, counts) in [
        ("work/.claude/commands/git/pr/open.md", true),
        ("work/.claude/commands/new.md", true),
        ("home/.claude/skills/cook", true),
        ("work/.agents", true),
        ("home/.claude", true),
        ("work/main.rs", false),
        ("work/.claude/settings.json", false),
        ("home/.claude/history.jsonl", false),
    ] {
        assert_eq!(watched.holds(&house.at(path)), counts, "{path}");
    }
    let to_watch = watched.to_watch();
    for folder in [
        "work",
        "work/.claude/commands/git/pr",
        "home/.claude/skills/cook",
    ] {
        assert!(to_watch.contains(&*house.at(folder)), "{folder}");
    }
}

#[test]
fn what_leads_out_or_cannot_be_read_is_left_out_with_a_warning() {
    let house = CommandFolders::new();
    let folder = "work/.claude/commands";
    house.write("elsewhere/secret.md", "secret");
    house.write("data/own.md", "own");
    house.write("work/docs/inside.md", "Inside");
    house.write(
        &format!("{folder}/broken.md"),
        "---\ndescription: a: b\nx: [\n---\nWords",
    );
    house.write(&format!("{folder}/latin.md"), b"caf\xe9");
    let large = limits::COMMAND_FILE_BYTES_MAX as usize;
    house.write(&format!("{folder}/large.md"), "x".repeat(large + 1));
    house.write(&format!("{folder}/fits.md"), "x".repeat(large));
    let link = |to: &str, from: &str| symlink(to, house.at(&format!("{folder}/{from}"))).unwrap();
    link("../../../elsewhere/secret.md", "secret.md");
    link("../../../elsewhere", "outside");
    link("../../docs/inside.md", "inside.md");
    link("nothing", "nothing.md");
    link(".", "loop");
    let scanned = house.scan();
    let commands: Vec<_> = shown(&scanned)
        .into_iter()
        .map(|(name, _, words)| (name, words))
        .collect();
    let looped = commands
        .iter()
        .filter(|(name, _)| name.starts_with("/loop:"));
    assert_eq!(looped.count(), 8 * 3, "a ring of links ends at the depth");
    let fits = "x".repeat(200);
    for expected in [
        ("/broken", "a: b"),
        ("/fits", &*fits),
        ("/inside", "Inside"),
    ] {
        assert!(commands.contains(&expected), "{expected:?}");
    }
    assert!(!commands.iter().any(|(name, _)| name.contains("secret")));
    let (plain, out) = (
        "the front matter is no plain YAML of at most 8 KiB; it is read as lines of key and value",
        "leads out of its folder and is left out",
    );
    let warnings = warned(&scanned);
    for expected in [
        (".claude/commands/broken.md", plain),
        (
            ".claude/commands/large.md",
            "is larger than 256 KiB and is left out",
        ),
        (
            ".claude/commands/latin.md",
            "is no Unicode text and is left out",
        ),
        (
            ".claude/commands/nothing.md",
            "leads nowhere and is left out",
        ),
        (".claude/commands/outside", out),
        (".claude/commands/secret.md", out),
    ] {
        assert!(warnings.contains(&expected), "{expected:?} {warnings:?}");
    }
    // Not even what lies inside, when it is our own.
    let scan = CommandScan {
        cwd: Some(house.0.path()),
        home: None,
        shunned: &house.at("data"),
    };
    house.write(".claude/commands/x.md", "x");
    symlink("../../data/own.md", house.at(".claude/commands/own.md")).unwrap();
    let scanned = scan.run();
    assert_eq!(shown(&scanned), [("/x", ".claude/commands/x.md", "x")]);
    assert_eq!(warned(&scanned), [(".claude/commands/own.md", out)]);
}

#[test]
fn a_folder_holds_so_many_files_and_no_more() {
    let house = CommandFolders::new();
    for n in 0..=limits::COMMAND_FILES_MAX {
        house.write(&format!("work/.claude/commands/c{n:04}.md"), "x");
    }
    let scanned = house.scan();
    assert_eq!(scanned.listing.commands.len(), limits::COMMAND_FILES_MAX);
    let expected = "holds more than 2000 files; the rest is left out";
    assert_eq!(warned(&scanned), [(".claude/commands", expected)]);
}

#[test]
fn front_matter_is_read_as_yaml_up_to_a_bound_for_all_files_together() {
    let house = CommandFolders::new();
    let yaml = "description: >-\n  Folded\n";
    let filler = "#".repeat(limits::COMMAND_FRONT_MATTER_BYTES_MAX - yaml.len() - 1);
    let text = format!("---\n{yaml}{filler}\n---\nWords");
    let fitting = limits::COMMANDS_FRONT_MATTER_BYTES_MAX / limits::COMMAND_FRONT_MATTER_BYTES_MAX;
    for n in 0..fitting + 5 {
        house.write(&format!("work/.claude/commands/c{n:04}.md"), &text);
    }
    house.write("home/.claude/commands/home.md", &text);
    let scanned = house.scan();
    let folded = shown(&scanned);
    let folded = folded.iter().filter(|(_, _, words)| *words == "Folded");
    assert_eq!(folded.count(), fitting);
    assert_eq!(scanned.listing.commands.len(), fitting + 6);
    let expected = format!(".claude/commands/c{fitting:04}.md");
    assert_eq!(warned(&scanned), [(&*expected, BEYOND)]);
}
