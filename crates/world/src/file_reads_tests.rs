//! Which files are read as text, and what a tree of files shows.

use std::os::unix::fs::{PermissionsExt, symlink};

use guildhall_domain::{Error, Refusal};

use super::*;
use crate::{confined_fs::FileScope, scratch::Scratch};

struct FilesFixture {
    scratch: Scratch,
    confined: ConfinedFs,
}

impl FilesFixture {
    fn new() -> Self {
        let scratch = Scratch::new("file-reads");
        for folder in ["root/project/src", "data"] {
            std::fs::create_dir_all(scratch.path().join(folder)).unwrap();
        }
        let root = [scratch.path().join("root")];
        let confined = ConfinedFs::open(&root, None, &scratch.path().join("data")).unwrap();
        Self { scratch, confined }
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.scratch.path().join("root").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn cwd(&self, path: &str) -> Folder {
        let path = self.scratch.path().join("root").join(path);
        let path = path.to_str().unwrap();
        self.confined.open_folder(&FileScope::Roots, path).unwrap()
    }

    fn content(&self, path: &str) -> Result<FileContent, Refusal> {
        refusal(content(&self.confined, &self.cwd("project"), path))
    }

    fn tree(&self, cwd: &str, path: Option<&str>, depth: u64, hidden: bool) -> Vec<String> {
        let ask = TreeQuery {
            path: path.map(str::to_owned),
            depth,
            is_hidden_shown: hidden,
        };
        let tree = refusal(tree(&self.cwd(cwd), &ask)).unwrap();
        assert!(!tree.truncated);
        let mark = |entry: &FileTreeEntry| match (entry.is_link, entry.is_directory) {
            (true, true) => "@/",
            (true, false) => "@",
            (false, true) => "/",
            (false, false) => "",
        };
        let entries = tree.entries.iter();
        entries
            .map(|entry| format!("{}{}", entry.path, mark(entry)))
            .collect()
    }
}

fn refusal<T>(outcome: Result<T>) -> Result<T, Refusal> {
    outcome.map_err(|error| match error {
        Error::Refusal(refusal) => refusal,
        other => panic!("{other:?}"),
    })
}

#[test]
fn text_is_read_byte_for_byte_and_anything_else_is_refused() {
    let ground = FilesFixture::new();
    let text = "\u{feff}one\r\ntwo 🎈\r\n\nlast";
    ground.write("project/a.md", text);
    let read = ground.content("a.md").unwrap();
    assert_eq!(read.content, text);
    assert_eq!(
        (read.size, read.hash),
        (text.len() as u64, files::digest(text.as_bytes()))
    );
    assert_eq!(read.identity.as_str().len(), 43);
    ground.write("project/empty", "");
    assert_eq!(ground.content("empty").unwrap().content, "");
    let most = usize::try_from(limits::FILE_SIZE_MAX).unwrap();
    ground.write("project/most", vec![b'x'; most]);
    assert_eq!(ground.content("most").unwrap().size, limits::FILE_SIZE_MAX);
    ground.write("project/more", vec![0; most + 1]);
    ground.write("project/nul", b"a\0\xff");
    ground.write("project/latin", b"caf\xe9");
    for (path, expected) in [
        ("more", Refusal::FileTooLarge),
        ("nul", Refusal::BinaryFile),
        ("latin", Refusal::NotUtf8),
        ("src", Refusal::NotAFile),
        ("../project/a.md", Refusal::OutsideBoundary),
        ("a.md\0", Refusal::NullByte),
    ] {
        assert_eq!(ground.content(path).map(|_| ()), Err(expected), "{path}");
    }
}

#[test]
fn of_what_is_too_large_for_a_text_the_hash_is_read_as_far_as_is_asked() {
    let ground = FilesFixture::new();
    let most = usize::try_from(limits::FILE_SIZE_MAX).unwrap();
    let bytes = vec![b'x'; most + 1];
    ground.write("project/more", &bytes);
    let at = ground.scratch.path().join("root/project/sparse");
    let sparse = std::fs::File::create(at).unwrap();
    // It would be read for days.
    sparse.set_len(1 << 40).unwrap();
    let read = |path: &str, most: u64| {
        let file = ground.cwd("project").file(path).unwrap();
        refusal(read_text(&file, most)).map(|held| (held.hash, held.text, held.size))
    };
    let hashed = (
        files::digest(&bytes),
        Err(TextError::TooLarge),
        limits::FILE_SIZE_MAX + 1,
    );
    assert_eq!(read("more", limits::FILE_HASHED_MAX), Ok(hashed.clone()));
    assert_eq!(read("more", limits::FILE_SIZE_MAX + 1), Ok(hashed));
    for (path, most) in [
        ("more", limits::FILE_SIZE_MAX),
        ("sparse", limits::FILE_HASHED_MAX),
    ] {
        assert_eq!(read(path, most), Err(Refusal::FileTooLarge), "{path}");
    }
}

#[test]
fn a_file_is_writable_when_a_save_of_it_would_succeed() {
    // What root may is not said by modes.
    let is_root = rustix::process::geteuid().is_root();
    let ground = FilesFixture::new();
    ground.write("project/src/a.md", "x");
    let path = |path: &str| ground.scratch.path().join("root/project").join(path);
    let mode = |at: &str, mode| {
        std::fs::set_permissions(path(at), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (file, folder, has_other_name, writable) in [
        (0o600, 0o700, false, true),
        (0o400, 0o700, false, true),
        (0o600, 0o500, false, true),
        (0o400, 0o500, false, false),
        (0o600, 0o700, true, true),
        // Another in its place would take the other name its bytes.
        (0o400, 0o700, true, false),
    ] {
        if has_other_name {
            std::fs::hard_link(path("src/a.md"), path("other")).unwrap();
        }
        mode("src/a.md", file);
        mode("src", folder);
        let read = ground.content("src/a.md").map(|read| read.writable);
        mode("src", 0o700);
        let shown = format!("{file:o} in {folder:o}, another name {has_other_name}");
        assert_eq!(read, Ok(writable || is_root), "{shown}");
        if has_other_name {
            std::fs::remove_file(path("other")).unwrap();
        }
    }
}

#[test]
fn a_tree_comes_level_by_level_and_never_goes_behind_a_link() {
    let ground = FilesFixture::new();
    for file in [
        "b.md",
        "A.md",
        "src/deep/er/x",
        "src/y",
        ".dot",
        ".dots/z",
        "~/home",
    ] {
        ground.write(&format!("project/{file}"), "four");
    }
    let at = |path: &str| ground.scratch.path().join("root/project").join(path);
    symlink("src", at("inward")).unwrap();
    symlink("b.md", at("same")).unwrap();
    symlink("..", at("outward")).unwrap();
    symlink("nowhere", at("src/broken")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), rustix::fs::Mode::RUSR).unwrap();
    let top = [
        "inward@/", "src/", "~/", "A.md", "b.md", "outward@", "same@",
    ];
    assert_eq!(ground.tree("project", None, 1, false), top);
    let two = ["src/deep/", "src/broken@", "src/y", "~/home"];
    assert_eq!(
        ground.tree("project", None, 2, false),
        [&top[..], &two].concat()
    );
    assert_eq!(
        ground.tree("project", Some("src"), 2, false),
        ["src/deep/", "src/broken@", "src/y", "src/deep/er/"]
    );
    assert_eq!(
        ground.tree("project/src", None, 1, false),
        ["deep/", "broken@", "y"]
    );
    let hidden = ground.tree("project", None, 2, true);
    for name in [".dot", ".dots/", ".dots/z"] {
        assert!(hidden.contains(&name.to_owned()), "{name}");
    }
    let ask = TreeQuery {
        path: Some("b.md".to_owned()),
        depth: 1,
        is_hidden_shown: false,
    };
    let refused = refusal(tree(&ground.cwd("project"), &ask));
    assert_eq!(refused, Err(Refusal::NotADirectory));
    let ask = TreeQuery { path: None, ..ask };
    let entries = tree(&ground.cwd("project"), &ask).unwrap().entries;
    let file = entries.iter().find(|entry| entry.name == "b.md").unwrap();
    assert_eq!(file.size, 4);
    let known = std::fs::metadata(at("b.md")).unwrap().modified().unwrap();
    let known = known
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    assert_eq!(
        i128::from(file.mtime.as_millis()),
        i128::try_from(known).unwrap()
    );
}

#[test]
fn what_the_project_ignores_is_left_out_by_the_nearest_rule() {
    let ground = FilesFixture::new();
    for file in [
        "target/x",
        "a.log",
        "keep.log",
        "src/b.log",
        "src/gen/c.rs",
        "src/keep/gen/d.rs",
        "src/own/target/e",
        "src/own/f.tmp",
        "doc/only/g",
        "doc/build/h",
        "lib/build/i",
    ] {
        ground.write(&format!("project/{file}"), "x");
    }
    ground.write("project/.git/HEAD", "x");
    ground.write(
        "project/.gitignore",
        "# what is made\n/target\n*.log\n!keep.log\ngen/\n[broken\n/doc/build/\n",
    );
    ground.write("project/src/.gitignore", "*.tmp\n!b.log\n");
    ground.write("project/src/keep/.gitignore", "!gen/\n");
    // One that is no file, and one above the repository, count for nothing.
    std::fs::create_dir_all(ground.scratch.path().join("root/project/lib/.gitignore")).unwrap();
    ground.write(".gitignore", "*\n");
    let shown = ground.tree("project", None, 4, false);
    assert_eq!(
        shown,
        [
            "doc/",
            "lib/",
            "src/",
            "keep.log",
            "doc/only/",
            "lib/build/",
            "src/keep/",
            "src/own/",
            "src/b.log",
            "doc/only/g",
            "lib/build/i",
            "src/keep/gen/",
            "src/own/target/",
            "src/keep/gen/d.rs",
            "src/own/target/e",
        ]
    );
    // The same from within the repository, and from a folder of it.
    assert_eq!(
        ground.tree("project/src", None, 1, false),
        ["keep/", "own/", "b.log"]
    );
    assert_eq!(
        ground.tree("project", Some("src"), 1, false),
        ["src/keep/", "src/own/", "src/b.log"]
    );
    assert_eq!(ground.tree("project/src/keep", None, 1, false), ["gen/"]);
    assert_eq!(ground.tree("project/doc", None, 1, false), ["only/"]);
    assert!(
        ground
            .tree("project", None, 1, true)
            .contains(&"target/".to_owned())
    );
}

#[test]
fn a_tree_of_more_than_ten_thousand_is_cut_at_its_deepest_level() {
    let ground = FilesFixture::new();
    for folder in 0..3 {
        for file in 0..4_000 {
            let path = format!("root/project/src/{folder}/{file}");
            let path = ground.scratch.path().join(path);
            if file == 0 {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            }
            std::fs::File::create(path).unwrap();
        }
    }
    let ask = TreeQuery {
        path: None,
        depth: 5,
        is_hidden_shown: false,
    };
    let tree = tree(&ground.cwd("project"), &ask).unwrap();
    assert!(tree.truncated);
    assert_eq!(tree.entries.len(), limits::TREE_ENTRIES_MAX);
    let paths: Vec<&str> = tree.entries[..4]
        .iter()
        .map(|entry| entry.path.as_str())
        .collect();
    assert_eq!(paths, ["src", "src/0", "src/1", "src/2"]);
}

#[test]
fn no_more_rules_are_read_than_a_tree_may_be_held_against() {
    let ground = FilesFixture::new();
    ground.write("project/.git/HEAD", "x");
    ground.write("project/a.log", "x");
    ground.write("project/src/b.log", "x");
    ground.write("project/src/.gitignore", "*.log\n");
    let most = usize::try_from(limits::GITIGNORE_BYTES_MAX).unwrap();
    let filled = |bytes: usize| format!("{}\n", "#".repeat(bytes - 1));
    ground.write("project/.gitignore", filled(most - "*.log\n".len()));
    assert_eq!(ground.tree("project", None, 2, false), ["src/", "a.log"]);
    ground.write("project/.gitignore", filled(most));
    let shown = ground.tree("project", None, 2, false);
    assert_eq!(shown, ["src/", "a.log", "src/b.log"]);
    // The same where they stand above.
    assert_eq!(ground.tree("project/src", None, 1, false), ["b.log"]);
}

#[test]
fn what_a_listing_tells_is_bounded_however_long_its_paths_are() {
    let ground = FilesFixture::new();
    let deep = vec!["d".repeat(250); 14].join("/");
    let folder = ground.scratch.path().join("root/project").join(&deep);
    std::fs::create_dir_all(&folder).unwrap();
    for file in 0..1_300 {
        std::fs::File::create(folder.join(file.to_string())).unwrap();
    }
    let ask = TreeQuery {
        path: Some(deep.clone()),
        depth: 1,
        is_hidden_shown: false,
    };
    let tree = tree(&ground.cwd("project"), &ask).unwrap();
    let bytes = tree.entries.iter().map(|entry| entry.path.len());
    assert!(tree.truncated);
    assert!(bytes.sum::<usize>() < limits::LISTING_BYTES_MAX + tree.entries.len() * 255);
    assert!(tree.entries.len() > 1_000);
    let listed = crate::directories::list(
        &ground.confined,
        &FileScope::Roots,
        folder.to_str(),
        crate::directories::ListFilter::default(),
    );
    let listed = listed.unwrap();
    assert!(listed.truncated && listed.entries.len() > 1_000);
}
