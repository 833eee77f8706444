//! Tables of what is found and what is refused.

use std::path::Path;

use guildhall_domain::{Error, Result, canvas::TreeKind};

use super::*;
use crate::scratch::Scratch;

fn outcome(folders: &ConfinedFs, path: &Path) -> Result<String, String> {
    folders
        .working_folder(path.to_str().unwrap())
        .map_err(in_words)
}

/// What lies in a folder, by name.
fn entries(folder: &Folder) -> Vec<DirEntry> {
    let mut entries = Vec::new();
    folder
        .each(|entry| {
            entries.push(entry);
            Ok(())
        })
        .unwrap();
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    entries
}

fn in_words(error: Error) -> String {
    match error {
        Error::Refusal(refusal) => format!("{refusal:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_agent_works_beneath_a_root_and_never_in_the_data_folder() {
    let base = Scratch::new("folders");
    let root = base.path().join("root");
    let data = root.join("data");
    for folder in ["root/project/src", "root/data/run", "rooted"] {
        std::fs::create_dir_all(base.path().join(folder)).unwrap();
    }
    std::fs::write(root.join("file"), "x").unwrap();
    std::os::unix::fs::symlink(base.path(), root.join("out")).unwrap();
    std::os::unix::fs::symlink("project", root.join("in")).unwrap();
    std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
    std::os::unix::fs::symlink("root", base.path().join("linked")).unwrap();
    let linked = base.path().join("linked");
    let folders = ConfinedFs::open(&[linked], None, &data).unwrap();

    let project = root.canonicalize().unwrap().join("project");
    let project = project.to_str().unwrap().to_owned();
    let no = |what: &str| Err(what.to_owned());
    for (path, expected) in [
        ("root/project", Ok(project.clone())),
        ("linked/project", Ok(project.clone())),
        ("root/in", Ok(project.clone())),
        ("root/project/src/..", Ok(project)),
        ("root/file", no("NotADirectory")),
        ("root/none", no("NotFound(Path)")),
        ("root/out", no("OutsideBoundary")),
        ("root/../rooted", no("OutsideBoundary")),
        ("rooted", no("OutsideBoundary")),
        ("none", no("OutsideBoundary")),
        ("root/data", no("OutsideBoundary")),
        ("root/data/run", no("OutsideBoundary")),
        ("root/loop", no("InvalidPath(\"ELOOP\")")),
    ] {
        assert_eq!(
            outcome(&folders, &base.path().join(path)),
            expected,
            "{path}"
        );
    }
}

#[test]
fn a_file_is_found_within_its_openers_reach_and_nowhere_else() {
    let base = Scratch::new("confined");
    let at = |path: &str| base.path().join(path);
    for folder in ["root/ada/src", "root/adam", "root/data", "else"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    for file in [
        "root/ada/a.md",
        "root/ada/src/b.md",
        "root/adam/c.md",
        "root/data/d.md",
        "else/e.md",
    ] {
        std::fs::write(at(file), "x").unwrap();
    }
    let link = |to: &str, from: &str| std::os::unix::fs::symlink(to, at(from)).unwrap();
    link("src/b.md", "root/ada/in");
    link("../adam/c.md", "root/ada/beside");
    link("../../else/e.md", "root/ada/out");
    link("/etc/passwd", "root/ada/far");
    link("loop", "root/ada/loop");
    link("../data", "root/ada/data");
    rustix::fs::mkfifoat(rustix::fs::CWD, at("root/ada/fifo"), rustix::fs::Mode::RUSR).unwrap();
    link("root", "linked");
    let confined = ConfinedFs::open(&[at("linked")], None, &at("root/data")).unwrap();
    let ada = FileScope::Folder(at("root/ada").to_str().unwrap().to_owned());
    let long = format!("root/ada/{}", "x".repeat(300));
    let (outside, missing) = ("OutsideBoundary", "NotFound(Path)");
    for (path, by_person, by_ada) in [
        ("root/ada/a.md", "root/ada/a.md", "root/ada/a.md"),
        ("root/ada/src/../a.md", "root/ada/a.md", "root/ada/a.md"),
        ("linked/ada/a.md", "root/ada/a.md", "root/ada/a.md"),
        ("root/ada/in", "root/ada/src/b.md", "root/ada/src/b.md"),
        ("root/ada/beside", "root/adam/c.md", outside),
        ("root/adam/c.md", "root/adam/c.md", outside),
        ("root/ada/../adam/c.md", "root/adam/c.md", outside),
        ("root/ada/out", outside, outside),
        ("root/ada/far", outside, outside),
        ("root/../else/e.md", outside, outside),
        ("else/e.md", outside, outside),
        ("else/none", outside, outside),
        ("root/data/d.md", outside, outside),
        ("root/ada/data/d.md", outside, outside),
        ("root/ada/none", missing, missing),
        ("root/adam/none", missing, outside),
        ("root/ada", "NotAFile", "NotAFile"),
        ("root/ada/fifo", "NotAFile", "NotAFile"),
        (
            "root/ada/a.md/x",
            "InvalidPath(\"ENOTDIR\")",
            "InvalidPath(\"ENOTDIR\")",
        ),
        (
            "root/ada/loop",
            "InvalidPath(\"ELOOP\")",
            "InvalidPath(\"ELOOP\")",
        ),
        (
            &long,
            "InvalidPath(\"ENAMETOOLONG\")",
            "InvalidPath(\"ENAMETOOLONG\")",
        ),
    ] {
        for (reach, expected) in [(&FileScope::Roots, by_person), (&ada, by_ada)] {
            let found = confined.file(reach, at(path).to_str().unwrap());
            let found = found.map(|found| found.path).unwrap_or_else(in_words);
            let is_path = expected.starts_with("root/");
            let place = at(expected);
            let expected = if is_path {
                place.to_str().unwrap()
            } else {
                expected
            };
            assert_eq!(found, expected, "{path} by {reach:?}");
        }
    }
}

#[test]
fn a_file_knows_whether_its_project_is_a_repository_or_a_linked_copy_of_one() {
    let base = Scratch::new("trees");
    let at = |path: &str| base.path().join(path);
    for folder in [
        "root/main/.git",
        "root/main/sub/deep",
        "root/copy",
        "root/plain",
        "data",
    ] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    // A repository above the root is none of ours.
    std::fs::create_dir(at(".git")).unwrap();
    std::fs::write(at("root/copy/.git"), "gitdir: /r/.git/worktrees/copy\n").unwrap();
    std::fs::write(at("root/main/sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
    let confined = ConfinedFs::open(&[at("root")], None, &at("data")).unwrap();
    for (folder, tree) in [
        ("root/main", TreeKind::RoomMain),
        ("root/main/sub/deep", TreeKind::RoomMain),
        ("root/copy", TreeKind::Worktree),
        ("root/plain", TreeKind::None),
    ] {
        let file = at(folder).join("a.md");
        std::fs::write(&file, "x").unwrap();
        let found = confined.file(&FileScope::Roots, file.to_str().unwrap());
        assert_eq!(found.map_err(in_words).unwrap().tree, tree, "{folder}");
    }
}

#[test]
fn what_is_no_regular_file_is_refused_at_once_and_never_opened() {
    let base = Scratch::new("devices");
    let at = |path: &str| base.path().join(path);
    std::fs::create_dir_all(at("root/folder")).unwrap();
    std::fs::create_dir_all(at("data")).unwrap();
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, at("root/fifo"), mode).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("root/socket")).unwrap();
    std::os::unix::fs::symlink("fifo", at("root/link")).unwrap();
    let roots = [at("root"), PathBuf::from("/dev")];
    let confined = ConfinedFs::open(&roots, None, &at("data")).unwrap();
    let root = confined
        .open_folder(&FileScope::Roots, at("root").to_str().unwrap())
        .unwrap();
    for name in ["fifo", "socket", "link", "folder", ".", "folder/.."] {
        let answer = root.file(name).map(|_| ()).map_err(in_words);
        assert_eq!(answer, Err("NotAFile".to_owned()), "{name}");
        let answer = root.target(name).map(|_| ()).map_err(in_words);
        assert_eq!(answer, Err("NotAFile".to_owned()), "{name}");
    }
    let devices = confined.open_folder(&FileScope::Roots, "/dev").unwrap();
    for name in ["null", "tty", "zero"] {
        let answer = devices.file(name).map(|_| ()).map_err(in_words);
        assert_eq!(answer, Err("NotAFile".to_owned()), "{name}");
    }
}

#[test]
fn the_data_folder_is_neither_named_nor_reached_whatever_leads_to_it() {
    let base = Scratch::new("shunned");
    let at = |path: &str| base.path().join(path);
    for folder in ["root/.data/run", "root/ada", "root/else"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    std::fs::write(at("root/.data/key"), "secret").unwrap();
    let link = |to: &str, from: &str| std::os::unix::fs::symlink(to, at(from)).unwrap();
    link("../.data", "root/ada/folder");
    link("../.data/key", "root/ada/file");
    link("../.data/run/..", "root/ada/back");
    link("../ada/folder/run", "root/else/two");
    link(at("root/.data").to_str().unwrap(), "root/else/absolute");
    let roots = [at("root"), at("root/.data/run")];
    let confined = ConfinedFs::open(&roots, Some(&at("root")), &at("root/.data")).unwrap();
    let outside = Err("OutsideBoundary".to_owned());
    for reach in [
        FileScope::Roots,
        FileScope::Home,
        FileScope::Folder(at("root").to_str().unwrap().to_owned()),
        FileScope::Own(at("root").to_str().unwrap().to_owned()),
    ] {
        for path in [
            "root/.data",
            "root/.data/none",
            "root/.data/run",
            "root/.data/run/none",
            "root/.data/..",
            "root/ada/folder",
            "root/ada/folder/none",
            "root/ada/back",
            "root/else/two",
            "root/else/absolute",
        ] {
            let path = at(path);
            let found = confined.folder(&reach, path.to_str().unwrap());
            assert_eq!(found.map_err(in_words), outside, "{path:?} by {reach:?}");
        }
        for path in ["root/.data/key", "root/ada/file", "root/else/two/../key"] {
            let path = at(path);
            let found = confined.file(&reach, path.to_str().unwrap());
            let found = found.map(|found| found.path).map_err(in_words);
            assert_eq!(found, outside, "{path:?} by {reach:?}");
        }
        let root = confined
            .open_folder(&reach, at("root").to_str().unwrap())
            .unwrap();
        let names: Vec<String> = entries(&root).into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["ada", "else"], "{reach:?}");
        let ada = root.folder("ada").unwrap();
        let links = ada.links().unwrap();
        for name in ["folder", "file", "back"] {
            assert_eq!(links.kind(name), None, "{name} by {reach:?}");
        }
    }
    // A working folder in the data folder is none.
    let own = FileScope::Own(at("root/.data/run").to_str().unwrap().to_owned());
    assert_eq!(
        confined.open_scope(&own).map(|_| ()).map_err(in_words),
        Err("OutsideBoundary".to_owned())
    );
}

#[test]
fn every_way_of_writing_a_path_leads_to_the_same_folder() {
    let base = Scratch::new("written");
    let at = |path: &str| base.path().join(path);
    for folder in ["real/home/desk/src", "real/homestead", "data"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    std::fs::write(at("real/home/desk/a.md"), "x").unwrap();
    let link = |to: &str, from: &str| std::os::unix::fs::symlink(to, at(from)).unwrap();
    link("real", "linked");
    // Absolute, and beginning with the root as it is written or as it is.
    link(
        at("linked/home/desk").to_str().unwrap(),
        "real/home/written",
    );
    link(
        at("real/home/desk").to_str().unwrap(),
        "real/home/canonical",
    );
    link(at("real/homestead").to_str().unwrap(), "real/home/beside");
    link("/", "real/home/top");
    let home = at("linked/home");
    let confined = ConfinedFs::open(std::slice::from_ref(&home), Some(&home), &at("data")).unwrap();
    let desk = at("real/home/desk").to_str().unwrap().to_owned();
    let no = |what: &str| Err(what.to_owned());
    for (path, expected) in [
        ("~/desk".to_owned(), Ok(desk.clone())),
        ("~/desk/src/..".to_owned(), Ok(desk.clone())),
        ("~/written".to_owned(), Ok(desk.clone())),
        ("~/canonical".to_owned(), Ok(desk.clone())),
        ("~/beside".to_owned(), no("OutsideBoundary")),
        ("~/top".to_owned(), no("OutsideBoundary")),
        ("~/..".to_owned(), no("OutsideBoundary")),
        ("~root".to_owned(), no("OutsideBoundary")),
        ("desk".to_owned(), no("OutsideBoundary")),
        (String::new(), no("OutsideBoundary")),
        ("~/desk/a.md".to_owned(), no("NotADirectory")),
        ("~/desk/a.md/x".to_owned(), no("InvalidPath(\"ENOTDIR\")")),
        ("~/de\0sk".to_owned(), no("NullByte")),
        (
            format!("~/{}", "x/".repeat(3_000)),
            no("InvalidPath(\"ENAMETOOLONG\")"),
        ),
        (
            at("real/homestead").to_str().unwrap().to_owned(),
            no("OutsideBoundary"),
        ),
        (
            at("linked/home/desk").to_str().unwrap().to_owned(),
            Ok(desk.clone()),
        ),
    ] {
        for reach in [FileScope::Roots, FileScope::Home] {
            let found = confined.folder(&reach, &path).map_err(in_words);
            assert_eq!(found, expected, "{path} by {reach:?}");
        }
    }
    // A file of the folder, as it is written as well.
    let folder = confined
        .open_folder(&FileScope::Roots, "~/written")
        .unwrap();
    for path in [
        "a.md".to_owned(),
        "./src/../a.md".to_owned(),
        "~/desk/a.md".to_owned(),
        "~/written/a.md".to_owned(),
        at("linked/home/desk/a.md").to_str().unwrap().to_owned(),
        at("real/home/desk/a.md").to_str().unwrap().to_owned(),
    ] {
        let found = folder.file(&path).map(|file| file.path().to_owned());
        assert_eq!(
            found.map_err(in_words),
            Ok(format!("{desk}/a.md")),
            "{path}"
        );
    }
    for path in ["../desk/a.md", "~/canonical/a.md", "/etc/passwd", ".."] {
        let found = folder.file(path).map(|file| file.path().to_owned());
        assert_eq!(found.map_err(in_words), no("OutsideBoundary"), "{path}");
    }
}

#[test]
fn links_are_followed_to_the_last_that_counts() {
    let base = Scratch::new("hops");
    let at = |path: &str| base.path().join(path);
    std::fs::create_dir_all(at("root/end")).unwrap();
    std::fs::create_dir_all(at("data")).unwrap();
    // Absolute ones, which the kernel does not follow beneath a folder.
    let mut to = "end".to_owned();
    for n in 1..=33 {
        let target = at(&format!("root/{to}"));
        std::os::unix::fs::symlink(target, at(&format!("root/link{n}"))).unwrap();
        to = format!("link{n}");
    }
    let confined = ConfinedFs::open(&[at("root")], None, &at("data")).unwrap();
    let found = |name: &str| {
        let path = at("root").join(name);
        let found = confined.folder(&FileScope::Roots, path.to_str().unwrap());
        found.map_err(in_words)
    };
    assert_eq!(
        found("link32"),
        Ok(at("root/end").to_str().unwrap().to_owned())
    );
    assert_eq!(found("link33"), Err("InvalidPath(\"ELOOP\")".to_owned()));
}

#[test]
fn names_that_are_no_text_are_left_out_and_lead_nowhere() {
    use std::os::unix::ffi::OsStrExt;
    let base = Scratch::new("names");
    let at = |path: &str| base.path().join(path);
    std::fs::create_dir_all(at("root/plain")).unwrap();
    std::fs::create_dir_all(at("data")).unwrap();
    let odd = at("root").join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("file"), "x").unwrap();
    std::os::unix::fs::symlink(&odd, at("root/link")).unwrap();
    let confined = ConfinedFs::open(&[at("root")], None, &at("data")).unwrap();
    let root = confined
        .open_folder(&FileScope::Roots, at("root").to_str().unwrap())
        .unwrap();
    let entry = |name: &str, kind| DirEntry {
        name: name.to_owned(),
        kind,
    };
    assert_eq!(
        entries(&root),
        [
            entry("link", DirEntryKind::Link),
            entry("plain", DirEntryKind::Folder)
        ]
    );
    for answer in [
        root.folder("link").map(|_| ()).map_err(in_words),
        root.file("link/file").map(|_| ()).map_err(in_words),
    ] {
        assert_eq!(answer, Err("NotFound(Path)".to_owned()));
    }
}

#[test]
fn an_agents_own_folder_is_not_replaced_by_a_link() {
    let base = Scratch::new("own");
    let at = |path: &str| base.path().join(path);
    for folder in ["any/ada/src", "any/else", "data"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    let confined = ConfinedFs::open(&[], None, &at("data")).unwrap();
    let ada = at("any/ada").to_str().unwrap().to_owned();
    let own = FileScope::Own(ada.clone());
    assert!(confined.open_scope(&own).unwrap().is_root());
    let src = format!("{ada}/src");
    let found = confined.open_folder(&own, &src).unwrap();
    assert_eq!((found.path(), found.is_root()), (src.as_str(), false));
    for path in [at("any/else"), at("any"), at("any/none"), at("data")] {
        let found = confined.folder(&own, path.to_str().unwrap());
        assert_eq!(
            found.map_err(in_words),
            Err("OutsideBoundary".to_owned()),
            "{path:?}"
        );
    }
    std::fs::rename(at("any/ada"), at("any/moved")).unwrap();
    std::os::unix::fs::symlink("else", at("any/ada")).unwrap();
    let found = confined.folder(&own, &ada);
    assert_eq!(found.map_err(in_words), Err("OutsideBoundary".to_owned()));
    // Nor is it where root and home hold both.
    let confined = ConfinedFs::open(&[at("any")], Some(&at("any")), &at("data")).unwrap();
    for reach in [
        FileScope::Folder(ada.clone()),
        FileScope::FolderAtHome(ada.clone()),
    ] {
        let found = confined.folder(&reach, &ada);
        assert_eq!(found.map_err(in_words), Err("OutsideBoundary".to_owned()));
    }
}

#[test]
fn a_file_put_in_place_of_another_is_another() {
    let base = Scratch::new("physical");
    let at = |path: &str| base.path().join(path);
    std::fs::create_dir_all(at("root")).unwrap();
    std::fs::create_dir_all(at("data")).unwrap();
    std::fs::write(at("root/file"), "one").unwrap();
    std::fs::hard_link(at("root/file"), at("root/same")).unwrap();
    let confined = ConfinedFs::open(&[at("root")], None, &at("data")).unwrap();
    let root = confined
        .open_folder(&FileScope::Roots, at("root").to_str().unwrap())
        .unwrap();
    let physical = |name: &str| root.file(name).unwrap().physical();
    let before = physical("file");
    assert_eq!(before, physical("same"));
    std::fs::write(at("root/file"), "other words").unwrap();
    assert_eq!(before, physical("file"), "written in place");
    let target = root.target("file").unwrap();
    assert_eq!(
        (target.parent.path(), target.name.as_os_str()),
        (root.path(), "file".as_ref())
    );
    assert_eq!(target.parent.identity().unwrap(), root.identity().unwrap());
    std::fs::write(at("root/new"), "one").unwrap();
    std::fs::rename(at("root/new"), at("root/file")).unwrap();
    let after = physical("file");
    assert_ne!(before, after);
    assert_ne!(before.to_bytes(), after.to_bytes());
    let again = ConfinedFs::open(&[], None, &at("data")).unwrap();
    assert_eq!(confined.identity(before), again.identity(before));
    assert_ne!(confined.identity(before), confined.identity(after));
    assert_eq!(confined.identity(before).len(), 43);
    assert_eq!(before.to_bytes(), physical("same").to_bytes());
}

#[test]
fn no_walk_goes_deeper_than_it_may_hold_folders_open() {
    let base = Scratch::new("deep");
    let at = |path: &str| base.path().join(path);
    std::fs::create_dir_all(at("root/side")).unwrap();
    std::fs::create_dir_all(at("data")).unwrap();
    let deepest = vec!["d"; path_walk::LEVELS_MAX].join("/");
    std::fs::create_dir_all(at("root").join(&deepest).join("d")).unwrap();
    std::fs::write(at("root").join(&deepest).join("file"), "x").unwrap();
    std::fs::write(at("root").join(&deepest).join("d/file"), "x").unwrap();
    let confined = ConfinedFs::open(&[at("root")], None, &at("data")).unwrap();
    let root = confined.open_folder(&FileScope::Roots, at("root").to_str().unwrap());
    let root = root.unwrap();
    // Straight down, as the kernel walks, and name by name.
    for way in ["", "side/../"] {
        let folder = |path: &str| root.folder(path).map(|_| ()).map_err(in_words);
        let file = |path: &str| root.file(path).map(|_| ()).map_err(in_words);
        let too_deep = Err("InvalidPath(\"ENAMETOOLONG\")".to_owned());
        assert_eq!(folder(&format!("{way}{deepest}")), Ok(()));
        assert_eq!(file(&format!("{way}{deepest}/file")), Ok(()));
        assert_eq!(folder(&format!("{way}{deepest}/d")), too_deep);
        assert_eq!(file(&format!("{way}{deepest}/d/file")), too_deep);
    }
}

#[test]
fn no_other_name_of_a_file_leads_into_the_data_folder() {
    let base = Scratch::new("hard-links");
    let (root, data) = (base.path().join("root"), base.path().join("data"));
    std::fs::create_dir_all(root.join("in")).unwrap();
    std::fs::create_dir_all(data.join("run/deep")).unwrap();
    for (file, name) in [
        (data.join("guildhall.sqlite"), "database"),
        (data.join("run/deep/secret"), "secret"),
        (root.join("own"), "in/own"),
    ] {
        std::fs::write(&file, "text").unwrap();
        std::fs::hard_link(&file, root.join(name)).unwrap();
    }
    let folders = ConfinedFs::open(std::slice::from_ref(&root), None, &data).unwrap();
    let reach = FileScope::Folder(root.to_str().unwrap().to_owned());
    let folder = folders.open_scope(&reach).unwrap();
    for (name, is_there) in [
        ("database", false),
        ("secret", false),
        ("own", true),
        ("in/own", true),
    ] {
        let read = folder.file(name).map(drop).map_err(in_words);
        let written = folder.target(name).map(drop).map_err(in_words);
        let expected = match is_there {
            true => Ok(()),
            false => Err("OutsideBoundary".to_owned()),
        };
        assert_eq!((read, written), (expected.clone(), expected), "{name}");
        let beneath = contained_folder::ContainedFolder::open(&root).unwrap();
        let beneath = beneath.excluding(&data).unwrap();
        let read = beneath.file(Path::new(name));
        assert_eq!(read.is_ok(), is_there, "{name}");
    }
}
