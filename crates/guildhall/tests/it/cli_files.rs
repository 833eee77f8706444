//! Files that go along with posts, and whole rooms as files, from the terminal.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli_server::ServerForCli;

/// More than one piece of what is read and sent at once.
fn large() -> Vec<u8> {
    (0..300_000_u32).flat_map(u32::to_le_bytes).collect()
}

#[test]
fn files_go_along_with_a_post_and_come_back_as_they_were() {
    let house = ServerForCli::open();
    let log = house.file("build log.txt", "it is green\n");
    let data = house.file("data.bin", large());
    let args = ["post", "team", "look", "--attach", &log, "--attach", &data];
    let posted = house.json(&args);
    let files = &posted["entry"]["attachments"];
    assert_eq!(files[0]["name"], "build_log.txt");
    assert_eq!(files[1]["size"], 1_200_000);
    // A post of files alone waits for no text.
    let alone = house.json(&["post", "team", "--attach", &log]);
    assert_eq!(alone["entry"]["text"], "");
    let shown = house.done(&["entries", "list", "team"]);
    assert!(shown.contains("look [build_log.txt] [data.bin]"), "{shown}");

    let id = files[1]["id"].as_str().unwrap();
    assert!(house.done(&["entries", "show", "team", "1"]).contains(id));
    let copy = format!("{}/copy", house.folder());
    let download = ["attachments", "download", "team", id, "--out", &copy];
    let said = house.done(&download);
    assert_eq!(said, format!("1200000 bytes are in {copy}.\n"));
    assert!(std::fs::read(&copy).unwrap() == large());
    let text = files[0]["id"].as_str().unwrap();
    let piped = house.done(&["attachments", "download", "team", text]);
    assert_eq!(piped, "it is green\n");

    let again = house.run(&download);
    assert_eq!((again.code, &*again.stdout), (2, ""));
    assert!(again.stderr.contains("--force"), "{again:?}");
    let other = [
        "attachments",
        "download",
        "team",
        text,
        "--out",
        &copy,
        "--force",
    ];
    house.done(&other);
    assert_eq!(std::fs::read(&copy).unwrap(), b"it is green\n");
}

#[test]
fn an_upload_happens_whole_and_once_with_its_key() {
    let house = ServerForCli::open();
    let file = house.file("a.txt", "a");
    let upload = |key: &str| {
        let args = [
            "attachments",
            "upload",
            "team",
            &file,
            "--idempotency-key",
            key,
            "-q",
        ];
        house.done(&args)
    };
    let first = upload("k-1");
    assert_eq!(upload("k-1"), first);
    assert_ne!(upload("k-2"), first);
    let post = [
        "post",
        "team",
        "x",
        "--attach",
        &file,
        "--idempotency-key",
        "k-3",
        "-q",
    ];
    assert_eq!(house.done(&post), house.done(&post));
    let entries = house.json(&["entries", "list", "team"]);
    assert_eq!(entries["entries"].as_array().unwrap().len(), 1);

    for args in [
        &["attachments", "upload", "team"][..],
        &["attachments", "upload", "team", "/nowhere"],
        &["attachments", "upload", "team", house.folder()],
        &["post", "team", "x", "--attach", "/nowhere"],
    ] {
        let outcome = house.run(args);
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{args:?}");
    }
    assert_eq!(
        house.refused(&["attachments", "upload", "nowhere", &file]),
        "ROOM_NOT_FOUND"
    );
}

#[test]
fn a_refused_upload_is_told_although_its_files_were_still_on_the_way() {
    let house = ServerForCli::open();
    house.done(&["settings", "set", "rooms.attachmentBytesMax", "1000"]);
    let file = house.file("data.bin", large());
    for (room, code) in [("team", "PAYLOAD_TOO_LARGE"), ("nowhere", "ROOM_NOT_FOUND")] {
        assert_eq!(house.refused(&["attachments", "upload", room, &file]), code);
    }
    assert_eq!(
        house.refused(&["post", "team", "x", "--attach", &file]),
        "PAYLOAD_TOO_LARGE"
    );
    assert_eq!(house.done(&["entries", "list", "team", "-q"]), "");
}

#[test]
fn a_failed_download_leaves_no_file() {
    let house = ServerForCli::open();
    let copy = format!("{}/copy", house.folder());
    for args in [
        ["attachments", "download", "team", "nothing", "--out", &copy],
        ["rooms", "export", "nowhere", "--json", "--out", &copy],
    ] {
        let outcome = house.run(&args);
        assert_eq!((outcome.code, &*outcome.stdout), (1, ""), "{args:?}");
    }
    let left = std::fs::read_dir(house.folder()).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["data"]);
    let nowhere = format!("{}/no/copy", house.folder());
    assert_eq!(
        house
            .run(&["rooms", "export", "team", "--out", &nowhere])
            .code,
        2
    );
}

#[test]
fn a_room_is_exported_whole_to_a_file_or_a_pipe() {
    let house = ServerForCli::open();
    for number in 0..40 {
        let made = house.done(&[
            "post",
            "team",
            &format!("{number} {}", "x".repeat(10_000)),
            "-q",
        ]);
        assert_ne!(made, "");
    }
    let path = format!("{}/team.jsonl", house.folder());
    let said = house.done(&["rooms", "export", "team", "--out", &path]);
    assert_eq!(
        said,
        format!("40 entries of team are in {path}; their digest is as the server says.\n")
    );
    let export = std::fs::read_to_string(Path::new(&path)).unwrap();
    let lines: Vec<Value> = export
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["type"], "room-export");
    assert_eq!(lines[41]["entryCount"], json!(40));
    let piped = house.done(&["rooms", "export", "team"]);
    assert_eq!(piped.lines().count(), 42);
}
