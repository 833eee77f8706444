//! Backups from the terminal, and going back to one.

use std::{
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::{
    server_process::{ServerProcess, ask},
    workspace::until,
};

/// How long a restart may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

fn guildhall(data: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_guildhall"))
        .env_remove("GUILDHALL_URL")
        .env_remove("GUILDHALL_AGENT_TOKEN")
        .env_remove("GUILDHALL_API_KEY")
        .env("GUILDHALL_DATA_DIR", data)
        .args(words)
        .output()
        .unwrap()
}

fn done(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

#[test]
fn a_damaged_server_is_restored_by_one_command() {
    let scratch = Scratch::new("backups");
    let data = scratch.path().join("data");
    let server = ServerProcess::start(&data, 0);
    let (_, rooms) = server.ask("GET", "/api/rooms", None);
    let team = rooms["rooms"][0]["id"].as_str().unwrap().to_owned();
    let entries = format!("/api/rooms/{team}/entries");
    let post = json!({"text": "before"});
    assert_eq!(server.ask("POST", &entries, Some(&post)).0, 201);

    let made: Value =
        serde_json::from_str(&done(&guildhall(&data, &["backup", "now", "--json"]))).unwrap();
    let listed = done(&guildhall(&data, &["backup", "list", "--quiet"]));
    assert_eq!(listed.trim(), made["id"]);
    done(&guildhall(&data, &["backup", "verify", "latest"]));
    let file = scratch.path().join("backup.zst");
    let out = file.to_str().unwrap();
    done(&guildhall(
        &data,
        &["backup", "download", "latest", "--out", out],
    ));
    assert_eq!(std::fs::metadata(&file).unwrap().len(), made["bytes"]);

    let refused = guildhall(&data, &["restore", "latest"]);
    assert_eq!(refused.status.code(), Some(2), "a server runs");
    assert_eq!(server.stop(), Some(0));

    let database = data.join("guildhall.sqlite");
    std::fs::write(&database, vec![0xa5; 64 * 1024]).unwrap();
    let start = guildhall(&data, &["serve", "--bind", "127.0.0.1:0"]);
    let why = String::from_utf8_lossy(&start.stderr).into_owned();
    assert_eq!(start.status.code(), Some(4), "{why}");
    assert!(why.contains("guildhall restore latest"), "{why}");

    assert!(done(&guildhall(&data, &["restore"])).contains(listed.trim()));
    let said = done(&guildhall(&data, &["restore", "latest"]));
    assert!(said.contains("set-aside"), "{said}");
    let server = ServerProcess::start(&data, 0);
    let (status, page) = server.ask("GET", &entries, None);
    assert_eq!(
        (status, &page["entries"][0]["text"]),
        (200, &json!("before"))
    );
}

#[test]
fn a_restore_that_does_not_come_to_its_end_says_so_and_the_same_command_goes_on() {
    let scratch = Scratch::new("backups");
    let data = scratch.path().join("data");
    let server = ServerProcess::start(&data, 0);
    done(&guildhall(&data, &["backup", "now"]));
    assert_eq!(server.stop(), Some(0));

    // Met once the data is set aside.
    let state = data.join("run/store-state.json");
    std::fs::remove_file(&state).unwrap();
    std::fs::create_dir(&state).unwrap();
    let ended = guildhall(&data, &["restore", "latest"]);
    let why = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(4), "{why}");
    assert!(
        why.contains("did not come to its end") && !why.contains("nothing was changed"),
        "{why}"
    );
    std::fs::remove_dir(&state).unwrap();
    done(&guildhall(&data, &["restore", "latest"]));
    assert_eq!(ServerProcess::start(&data, 0).stop(), Some(0));
}

#[test]
fn a_request_that_cannot_be_read_is_named_and_a_restore_takes_its_place() {
    let scratch = Scratch::new("backups");
    let data = scratch.path().join("data");
    let server = ServerProcess::start(&data, 0);
    done(&guildhall(&data, &["backup", "now"]));
    assert_eq!(server.stop(), Some(0));

    let request = data.join("run/restore-request.json");
    std::fs::write(&request, "{\"backup\"").unwrap();
    let start = guildhall(&data, &["serve", "--bind", "127.0.0.1:0"]);
    let why = String::from_utf8_lossy(&start.stderr).into_owned();
    assert_eq!(start.status.code(), Some(4), "{why}");
    for part in [
        "run/restore-request.json",
        "guildhall restore latest",
        "remove that file",
    ] {
        assert!(why.contains(part), "{part}: {why}");
    }
    done(&guildhall(&data, &["restore", "latest"]));
    assert!(!request.exists());
    assert_eq!(ServerProcess::start(&data, 0).stop(), Some(0));
}

#[test]
fn a_running_server_restarts_from_a_backup_and_listens_where_it_did() {
    let scratch = Scratch::new("backups");
    let data = scratch.path().join("data");
    let server = ServerProcess::start(&data, 0);
    let (_, rooms) = server.ask("GET", "/api/rooms", None);
    let team = rooms["rooms"][0]["id"].as_str().unwrap().to_owned();
    let entries = format!("/api/rooms/{team}/entries");
    let say = |text: &str| {
        let post = json!({"text": text});
        assert_eq!(server.ask("POST", &entries, Some(&post)).0, 201);
    };
    say("before");
    done(&guildhall(&data, &["backup", "now"]));
    say("after");
    let said = done(&guildhall(&data, &["backup", "restored"]));
    assert!(said.contains("Nothing was restored yet"), "{said}");

    let (port, pid) = (server.port(), server.pid());
    let (_, before) = server.ask("GET", "/api/health", None);
    done(&guildhall(&data, &["backup", "restore", "latest", "--yes"]));
    let mut health = before.clone();
    until("the next server answers", PATIENCE, || {
        if let Some((200, now)) = ask(port, "GET", "/api/health", None) {
            health = now;
        }
        health["startedAt"] != before["startedAt"]
    });
    assert_ne!(health["logId"], before["logId"], "readers begin anew");
    assert_eq!(server.pid(), pid, "whoever watches the process sees no end");
    let (_, page) = server.ask("GET", &entries, None);
    let texts = page["entries"].as_array().unwrap();
    assert_eq!(texts.len(), 1, "{page}");
    let said = done(&guildhall(&data, &["backup", "restored"]));
    assert!(said.contains("Nothing is left to decide"), "{said}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn lost_data_is_restored_from_the_second_folder_into_an_empty_data_folder() {
    let scratch = Scratch::new("backups");
    let (data, disk) = (scratch.path().join("data"), scratch.path().join("disk"));
    std::fs::create_dir(&disk).unwrap();
    let plan = scratch.path().join("plan.txt");
    std::fs::write(&plan, "the plan").unwrap();
    let from = disk.to_str().unwrap();
    let server = ServerProcess::start(&data, 0);
    let attach = ["post", "team", "before", "--attach", plan.to_str().unwrap()];
    done(&guildhall(&data, &attach));
    done(&guildhall(
        &data,
        &["settings", "set", "storage.backupFolder", from],
    ));
    done(&guildhall(&data, &["backup", "now"]));
    until("the backup is copied", PATIENCE, || {
        let (_, list) = server.ask("GET", "/api/backups", None);
        list["secondFolder"]["isCopying"] == false
    });
    let said = done(&guildhall(&data, &["backup", "list"]));
    assert!(said.contains("second folder: all copied to"), "{said}");
    let id = done(&guildhall(&data, &["backup", "list", "--quiet"]));
    assert_eq!(server.stop(), Some(0));
    std::fs::remove_dir_all(&data).unwrap();

    let listed = done(&guildhall(
        &data,
        &["backup", "list", "--from", from, "--quiet"],
    ));
    assert_eq!(listed, id);
    let verify = ["backup", "verify", "latest", "--from", from, "--json"];
    let verified: Value = serde_json::from_str(&done(&guildhall(&data, &verify))).unwrap();
    assert_eq!(
        (&verified["isWhole"], &verified["attachmentsChecked"]),
        (&json!(true), &json!(1))
    );
    assert!(!data.exists(), "reading makes no data folder");

    let own = std::fs::read_dir(&disk).unwrap().next().unwrap();
    let own = own.unwrap().path();
    let other = disk.join("guildhall-another");
    std::fs::create_dir(&other).unwrap();
    let name = format!("{}.json", id.trim());
    std::fs::copy(own.join(&name), other.join(&name)).unwrap();
    let refused = guildhall(&data, &["restore", "--from", from, "latest"]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{why}");
    assert!(why.contains(own.to_str().unwrap()), "{why}");

    let from = own.to_str().unwrap();
    done(&guildhall(&data, &["restore", "--from", from, "latest"]));
    let server = ServerProcess::start(&data, 0);
    let (_, rooms) = server.ask("GET", "/api/rooms", None);
    let team = rooms["rooms"][0]["id"].as_str().unwrap().to_owned();
    let (_, page) = server.ask("GET", &format!("/api/rooms/{team}/entries"), None);
    let entry = &page["entries"][0];
    assert_eq!(entry["text"], "before");
    let url = entry["attachments"][0]["url"].as_str().unwrap();
    assert!(server.answer("GET", url, None).ends_with("the plan"));
    assert_eq!(server.stop(), Some(0));
}
