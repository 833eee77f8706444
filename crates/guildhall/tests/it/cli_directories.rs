//! Folders and people's own files from the terminal.

use serde_json::json;

use crate::cli_server::ServerForCli;

#[test]
fn folders_of_home_are_listed_and_made() {
    let mut house = ServerForCli::empty();
    // Home holds the data folder, of which nobody hears.
    let home = std::path::PathBuf::from(house.folder());
    std::fs::create_dir_all(home.join("desk")).unwrap();
    std::fs::write(home.join("a.md"), "x").unwrap();
    std::fs::write(home.join(".b"), "x").unwrap();
    house.start_at_home();
    let shown = house.done(&["dir", "list"]);
    let names: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["NAME", "desk/", "a.md"]);
    let hidden = house.done(&["dir", "list", home.to_str().unwrap(), "--hidden", "--quiet"]);
    assert_eq!(hidden.lines().count(), 3);
    assert_eq!(house.json(&["dir", "default"]), json!({"path": home}));

    let desk = home.join("desk");
    let made = house.json(&["dir", "make", desk.to_str().unwrap(), "My Project"]);
    assert_eq!(made, json!({"path": desk.join("My Project")}));
    assert!(desk.join("My Project").is_dir());
    let again = ["dir", "make", desk.to_str().unwrap(), "My Project"];
    assert_eq!(house.refused(&again), "ALREADY_EXISTS");
    let data = home.join("data");
    let above = home.parent().unwrap();
    for outside in [&data, &data.join("none"), above] {
        let list = ["dir", "list", outside.to_str().unwrap()];
        assert_eq!(house.refused(&list), "OUTSIDE_BOUNDARY", "{outside:?}");
    }
    let make = ["dir", "make", house.folder(), "data"];
    assert_eq!(house.refused(&make), "OUTSIDE_BOUNDARY");
}

#[test]
fn files_are_printed_byte_for_byte_downloaded_and_listed() {
    let house = ServerForCli::open();
    let text = "\u{feff}one\r\ntwo 🎈\n\nlast";
    let path = house.file("notes.md", text);
    let folder = house.folder();
    for args in [
        &["files", "get", &path][..],
        &["files", "get", "notes.md", "--cwd", folder],
    ] {
        assert_eq!(house.done(args), text, "{args:?}");
    }
    let whole = house.json(&["files", "get", &path]);
    assert_eq!(
        (&whole["content"], &whole["writable"]),
        (&json!(text), &json!(true))
    );
    assert_eq!(
        house.refused(&["files", "get", "/etc/passwd"]),
        "OUTSIDE_BOUNDARY"
    );
    let picture = house.file("a.png", b"\x89PNG");
    let copy = format!("{folder}/copy");
    let said = house.done(&["files", "download", &picture, "--out", &copy]);
    assert_eq!(said, format!("4 bytes are in {copy}.\n"));
    assert_eq!(std::fs::read(&copy).unwrap(), b"\x89PNG");
    assert_eq!(
        house.refused(&["files", "download", &path]),
        "UNSUPPORTED_TYPE"
    );

    std::fs::create_dir_all(format!("{folder}/src/deep")).unwrap();
    std::os::unix::fs::symlink("src", format!("{folder}/link")).unwrap();
    let tree = house.done(&["files", "tree", "--cwd", folder, "--depth", "2"]);
    let paths: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    // The data folder lies here as well, and is not told of.
    assert_eq!(
        paths,
        [
            "PATH",
            "link@/",
            "src/",
            "a.png",
            "copy",
            "notes.md",
            "src/deep/"
        ]
    );
    let below = house.json(&["files", "tree", "src", "--cwd", folder]);
    assert_eq!(below["entries"][0]["path"], "src/deep");
}
