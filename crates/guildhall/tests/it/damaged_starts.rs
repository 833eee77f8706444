//! Starts on damaged data: what is missing is noticed, and a server that cannot start says what to
//! do about it.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::FileExt,
    path::Path,
    process::{Command, Stdio},
};

use guildhall_world::{scratch::Scratch, store_state::StoreState};
use rusqlite::Connection;
use serde_json::json;

use crate::server_process::ServerProcess;

const PAGE: u64 = 4_096;
/// The exit code of a server that failed.
const FAILED: i32 = 4;

fn entries(server: &ServerProcess) -> String {
    let (_, rooms) = server.ask("GET", "/api/rooms", None);
    let team = rooms["rooms"][0]["id"].as_str().unwrap();
    format!("/api/rooms/{team}/entries")
}

#[test]
fn changes_that_are_missing_are_noticed_once_and_a_restart_takes_what_is_left() {
    let scratch = Scratch::new("missing-changes");
    let data = scratch.path().join("data");
    let server = ServerProcess::start(&data, 0);
    let entries = entries(&server);
    let post = json!({"text": "kept"});
    assert_eq!(server.ask("POST", &entries, Some(&post)).0, 201);
    assert_eq!(server.stop(), Some(0));

    let known = StoreState::read(&data).unwrap();
    let noted = StoreState {
        newest_seq: known.newest_seq + 1_000,
        ..known
    };
    noted.write(&data).unwrap();
    let server = ServerProcess::start(&data, 0);
    let (status, ready) = server.ask("GET", "/readyz", None);
    let why = ready["checks"]["store"].as_str().unwrap();
    assert!(
        status == 503 && why.contains("changes are missing"),
        "{ready}"
    );
    let (status, refused) = server.ask("POST", &entries, Some(&post));
    assert_eq!((status, &refused["code"]), (503, &json!("STORE_DAMAGED")));
    let (_, page) = server.ask("GET", &entries, None);
    assert_eq!(page["entries"][0]["text"], "kept");
    assert_eq!(server.stop(), Some(0));

    let server = ServerProcess::start(&data, 0);
    while server.ask("GET", "/readyz", None).0 == 503 {
        std::thread::yield_now();
    }
    assert_eq!(server.ask("POST", &entries, Some(&post)).0, 201);
}

#[test]
fn a_damaged_write_ahead_log_is_copied_aside_before_it_is_emptied() {
    let scratch = Scratch::new("damaged-log");
    let data = scratch.path().join("data");
    let server = ServerProcess::start(&data, 0);
    let entries = entries(&server);
    let post = json!({"text": "kept"});
    for _ in 0..5 {
        assert_eq!(server.ask("POST", &entries, Some(&post)).0, 201);
    }
    server.kill();
    let log = data.join("guildhall.sqlite-wal");
    let mut bytes = fs::read(&log).unwrap();
    // In the first transaction, with others behind it.
    bytes[2_000] ^= 0xff;
    fs::write(&log, &bytes).unwrap();

    let server = ServerProcess::start(&data, 0);
    let (_, ready) = server.ask("GET", "/readyz", None);
    let why = ready["checks"]["store"].as_str().unwrap();
    assert!(why.contains("set-aside"), "{ready}");
    let aside: Vec<_> = fs::read_dir(data.join("set-aside")).unwrap().collect();
    let [Ok(folder)] = &aside[..] else {
        panic!("one folder: {aside:?}");
    };
    assert!(fs::read(folder.path().join("guildhall.sqlite-wal")).unwrap() == bytes);
    assert!(folder.path().join("guildhall.sqlite").exists());
}

/// The pages that the tables with rows begin at.
fn roots(database: &Path) -> Vec<(String, u32)> {
    let connection = Connection::open(database).unwrap();
    let sql = "SELECT name, rootpage FROM sqlite_schema WHERE type = 'table' AND rootpage > 0";
    let mut statement = connection.prepare(sql).unwrap();
    let tables = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let tables: Vec<(String, u32)> = tables.unwrap().map(Result::unwrap).collect();
    let has_rows = |(name, _): &(String, u32)| {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM \"{name}\")");
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    tables.into_iter().filter(has_rows).collect()
}

#[test]
fn a_start_that_a_torn_page_prevents_names_the_command_that_goes_back() {
    let scratch = Scratch::new("torn-pages");
    let data = scratch.path().join("data");
    let server = ServerProcess::start(&data, 0);
    let entries = entries(&server);
    let post = json!({"text": "kept"});
    assert_eq!(server.ask("POST", &entries, Some(&post)).0, 201);
    assert_eq!(server.stop(), Some(0));
    let database = data.join("guildhall.sqlite");
    let whole = fs::read(&database).unwrap();
    for (table, root) in roots(&database) {
        fs::write(&database, &whole).unwrap();
        for of_last_start in ["guildhall.sqlite-wal", "guildhall.sqlite-shm"] {
            // There are none where the last start came to no store.
            let _ = fs::remove_file(data.join(of_last_start));
        }
        let file = fs::OpenOptions::new().write(true).open(&database).unwrap();
        let half = u64::from(root - 1) * PAGE + PAGE / 2;
        file.write_all_at(&[0; PAGE as usize / 2], half).unwrap();
        let mut start = Command::new(env!("CARGO_BIN_EXE_guildhall"))
            .args(["serve", "--bind", "127.0.0.1:0", "--data-dir"])
            .arg(&data)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut hello = String::new();
        let mut output = BufReader::new(start.stdout.take().unwrap());
        output.read_line(&mut hello).unwrap();
        if !hello.is_empty() {
            // It starts, and its check tells of the damage.
            start.kill().unwrap();
            start.wait().unwrap();
            continue;
        }
        let ended = start.wait_with_output().unwrap();
        let why = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(FAILED), "{table}: {why}");
        assert!(why.contains("guildhall restore latest"), "{table}: {why}");
    }
}
