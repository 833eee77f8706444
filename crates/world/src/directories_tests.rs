//! What a folder shows of what lies in it, and where one is made.

use std::os::unix::fs::symlink;

use guildhall_domain::{Error, Refusal};

use super::*;
use crate::scratch::Scratch;

struct DirectoriesFixture {
    scratch: Scratch,
    confined: ConfinedFs,
}

fn shown(is_hidden: bool) -> ListFilter {
    ListFilter {
        is_hidden,
        is_directories_only: false,
    }
}

impl DirectoriesFixture {
    /// A home with a data folder in it.
    fn new() -> Self {
        let scratch = Scratch::new("directories");
        let at = |path: &str| scratch.path().join(path);
        for folder in ["home/desk/src", "home/.config", "home/data", "outside"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let home = at("home");
        let roots = [scratch.path().to_owned()];
        let confined = ConfinedFs::open(&roots, Some(&home), &at("home/data")).unwrap();
        Self { scratch, confined }
    }

    fn at(&self, path: &str) -> String {
        let path = self.scratch.path().join(path);
        path.to_str().unwrap().trim_end_matches('/').to_owned()
    }

    fn list(&self, path: &str, hidden: bool) -> Directory {
        list(&self.confined, &FileScope::Home, Some(path), shown(hidden)).unwrap()
    }
}

fn names(directory: &Directory) -> Vec<&str> {
    directory
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect()
}

#[test]
fn links_count_as_what_they_lead_to_and_what_is_no_file_or_folder_is_left_out() {
    let ground = DirectoriesFixture::new();
    let at = |path: &str| ground.at(path);
    std::fs::write(at("home/desk/a.md"), "x").unwrap();
    std::fs::write(at("home/desk/.hidden"), "x").unwrap();
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, at("home/desk/fifo"), mode).unwrap();
    for (to, from) in [
        ("../.config", "to-folder"),
        ("a.md", "to-file"),
        ("fifo", "to-fifo"),
        ("nothing", "to-nothing"),
        ("../../outside", "to-outside"),
        ("../data", "to-data"),
        ("loop", "loop"),
    ] {
        symlink(to, at(&format!("home/desk/{from}"))).unwrap();
    }
    let desk = ground.list("~/desk", false);
    let entry = |name: &str, is_directory| DirectoryEntry {
        name: name.to_owned(),
        is_directory,
    };
    assert_eq!(
        desk,
        Directory {
            path: at("home/desk"),
            entries: vec![
                entry("src", true),
                entry("to-folder", true),
                entry("a.md", false),
                entry("to-file", false),
            ],
            parent: Some(at("home")),
            truncated: false,
        }
    );
    assert!(names(&ground.list("~/desk", true)).contains(&".hidden"));
}

#[test]
fn a_listing_begins_at_home_which_has_no_parent_and_hides_dots_and_the_data_folder() {
    let ground = DirectoriesFixture::new();
    for (hidden, expected) in [(false, &["desk"][..]), (true, &[".config", "desk"])] {
        let home = list(&ground.confined, &FileScope::Home, None, shown(hidden)).unwrap();
        assert_eq!(names(&home), expected);
        assert_eq!((home.path, home.parent), (ground.at("home"), None));
    }
    let src = ground.list("~/desk/src", false);
    assert_eq!(src.parent, Some(ground.at("home/desk")));
}

#[test]
fn more_than_five_thousand_entries_are_cut_in_their_order() {
    let ground = DirectoriesFixture::new();
    for n in 0..=limits::DIRECTORY_ENTRIES_MAX {
        std::fs::File::create(ground.at(&format!("home/desk/src/f{n:05}"))).unwrap();
    }
    let src = ground.list("~/desk/src", false);
    assert!(src.truncated);
    assert_eq!(src.entries.len(), limits::DIRECTORY_ENTRIES_MAX);
    assert_eq!(src.entries[0].name, "f00000");
    assert_eq!(src.entries[4_999].name, "f04999");
    std::fs::remove_file(ground.at("home/desk/src/f00007")).unwrap();
    let src = ground.list("~/desk/src", false);
    assert!(!src.truncated);
    assert_eq!(src.entries.len(), limits::DIRECTORY_ENTRIES_MAX);
}

#[test]
fn a_new_folder_is_made_once_where_it_may_be() {
    let ground = DirectoriesFixture::new();
    let try_make = |reach: &FileScope, parent: &str, name: &str| {
        let name = FolderName::parse(name).unwrap();
        make(&ground.confined, reach, parent, &name).map_err(|error| match error {
            Error::Refusal(refusal) => refusal,
            other => panic!("{other:?}"),
        })
    };
    let home = &FileScope::Home;
    assert_eq!(
        try_make(home, "~/desk", "new"),
        Ok(ground.at("home/desk/new"))
    );
    assert!(std::path::Path::new(&ground.at("home/desk/new")).is_dir());
    symlink("nowhere", ground.at("home/desk/taken")).unwrap();
    let own = &FileScope::FolderAtHome(ground.at("home/desk"));
    let away = &FileScope::FolderAtHome(ground.at("outside"));
    let desk = ground.at("home/desk");
    for (reach, parent, name, refusal) in [
        (home, "~/desk", "new", Refusal::AlreadyExists),
        (home, "~/desk", "taken", Refusal::AlreadyExists),
        (home, "~", "data", Refusal::OutsideBoundary),
        (home, "~/data", "new", Refusal::OutsideBoundary),
        (home, "~/..", "new", Refusal::OutsideBoundary),
        (
            home,
            "~/none",
            "new",
            Refusal::NotFound(guildhall_domain::errors::ResourceKind::Path),
        ),
        (own, "~", "new", Refusal::OutsideBoundary),
        (own, &desk, "new", Refusal::AlreadyExists),
        (away, &ground.at("outside"), "new", Refusal::OutsideBoundary),
    ] {
        assert_eq!(
            try_make(reach, parent, name),
            Err(refusal),
            "{parent} {name}"
        );
    }
    assert!(try_make(own, &desk, "second").is_ok());
}
