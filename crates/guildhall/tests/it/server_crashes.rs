//! What a killed server owes: every acknowledged change, and no event twice, missing or early.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU16, Ordering},
    },
    thread,
};

use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::server_process::{self, ServerProcess, ask};

/// How often the server is killed.
const KILLS: usize = 12;
/// Acknowledgements waited for before each kill.
const ACKS_BETWEEN_KILLS: usize = 40;
/// People posting at once.
const POSTERS: usize = 4;

/// Where the server is now, and what it acknowledged; kept outside the server's folder.
#[derive(Default)]
struct AcknowledgedChanges {
    port: AtomicU16,
    done: AtomicBool,
    /// (entry id, seq in the room, text) of every 201.
    acks: Mutex<Vec<(String, u64, String)>>,
}

impl AcknowledgedChanges {
    fn acked(&self) -> usize {
        self.acks.lock().unwrap().len()
    }
}

#[test]
fn a_killed_server_keeps_every_acknowledged_post_and_its_events() {
    let scratch = Scratch::new("kill");
    let first = ServerProcess::start(scratch.path(), 0);
    let room = team(&first);
    let ledger = Arc::new(AcknowledgedChanges::default());
    ledger.port.store(first.port(), Ordering::SeqCst);
    let posters: Vec<_> = (0..POSTERS)
        .map(|n| {
            let (ledger, room) = (Arc::clone(&ledger), room.clone());
            thread::spawn(move || post_until_done(&ledger, &room, n))
        })
        .collect();
    let reader = {
        let ledger = Arc::clone(&ledger);
        thread::spawn(move || read_until_done(&ledger))
    };

    let mut server = first;
    for n in 1..=KILLS {
        while ledger.acked() < n * ACKS_BETWEEN_KILLS {
            thread::yield_now();
        }
        server.kill();
        server = ServerProcess::start(scratch.path(), 0);
        ledger.port.store(server.port(), Ordering::SeqCst);
    }
    ledger.done.store(true, Ordering::SeqCst);
    for poster in posters {
        poster.join().unwrap();
    }

    let entries = all_entries(&server, &room);
    let seqs: Vec<u64> = entries
        .iter()
        .map(|entry| entry["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(
        seqs,
        (1..=seqs.len() as u64).collect::<Vec<_>>(),
        "no gap and no double"
    );
    for (id, seq, text) in ledger.acks.lock().unwrap().iter() {
        let entry = &entries[usize::try_from(*seq).unwrap() - 1];
        assert_eq!((&entry["id"], &entry["text"]), (&json!(id), &json!(text)));
    }

    let mut read = reader.join().unwrap();
    let behind = read.last().copied().unwrap_or(0);
    let head = server_process::head(server.port());
    if behind < head {
        read.extend(server_process::events(
            server.port(),
            "/api/events",
            behind,
            head,
        ));
    }
    assert_eq!(
        read,
        (1..=head).collect::<Vec<_>>(),
        "each event once and in order"
    );
    let told = entry_events(&server, head);
    assert_eq!(told, seqs, "an event exactly for each entry");
}

#[test]
fn a_server_that_is_asked_to_stop_leaves_no_announcement_and_ends_well() {
    let scratch = Scratch::new("stop");
    let server = ServerProcess::start(scratch.path(), 0);
    let announced: Value =
        serde_json::from_str(&std::fs::read_to_string(server.discovery_file()).unwrap()).unwrap();
    assert_eq!(announced["url"], json!(server.url));
    assert_eq!(announced["pid"], json!(server.pid()));
    assert_eq!(
        (&announced["mode"], &announced["localToken"]),
        (&json!("local"), &Value::Null)
    );
    let file = server.discovery_file();
    assert_eq!(server.stop(), Some(0));
    assert!(!file.exists());
}

#[test]
fn a_second_server_on_the_same_folder_names_the_first() {
    let scratch = Scratch::new("second");
    let server = ServerProcess::start(scratch.path(), 0);
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_guildhall"))
        .args(["serve", "--bind", "127.0.0.1:0", "--data-dir"])
        .arg(scratch.path())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(3));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains(&server.url), "{said}");
}

#[test]
fn a_server_reachable_from_elsewhere_does_not_start() {
    let scratch = Scratch::new("elsewhere");
    let refused = std::process::Command::new(env!("CARGO_BIN_EXE_guildhall"))
        .args(["serve", "--bind", "0.0.0.0:0", "--data-dir"])
        .arg(scratch.path())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!scratch.path().join("guildhall.sqlite").exists());
}

fn post_until_done(ledger: &AcknowledgedChanges, room: &str, poster: usize) {
    let path = format!("/api/rooms/{room}/entries");
    for n in 0.. {
        if ledger.done.load(Ordering::SeqCst) {
            return;
        }
        let text = format!("{poster}/{n}");
        let port = ledger.port.load(Ordering::SeqCst);
        // A broken connection promises nothing: the post may be there or not, but whole.
        if let Some((201, body)) = ask(port, "POST", &path, Some(&json!({ "text": text }))) {
            let id = body["entry"]["id"].as_str().unwrap().to_owned();
            let seq = body["entry"]["seq"].as_u64().unwrap();
            ledger.acks.lock().unwrap().push((id, seq, text));
        }
    }
}

/// Reads the stream over every restart, each time going on behind what it has.
fn read_until_done(ledger: &AcknowledgedChanges) -> Vec<u64> {
    let mut seqs = Vec::new();
    while !ledger.done.load(Ordering::SeqCst) {
        let port = ledger.port.load(Ordering::SeqCst);
        let behind = seqs.last().copied().unwrap_or(0);
        // Every few events it hangs up by itself, as clients do.
        seqs.extend(server_process::events(
            port,
            "/api/events",
            behind,
            behind + 25,
        ));
    }
    seqs
}

fn team(server: &ServerProcess) -> String {
    let (_, rooms) = server.ask("GET", "/api/rooms", None);
    rooms["rooms"][0]["id"].as_str().unwrap().to_owned()
}

fn all_entries(server: &ServerProcess, room: &str) -> Vec<Value> {
    let mut entries = Vec::new();
    loop {
        let path = format!(
            "/api/rooms/{room}/entries?after={}&limit=200",
            entries.len()
        );
        let (_, page) = server.ask("GET", &path, None);
        entries.extend(page["entries"].as_array().unwrap().iter().cloned());
        if page["hasMore"] == json!(false) {
            return entries;
        }
    }
}

/// The room seqs that the log's `entry_added` events tell of.
fn entry_events(server: &ServerProcess, head: u64) -> Vec<u64> {
    server_process::frames(server.port(), "/api/events", 0, head)
        .into_iter()
        .filter(|event| event["type"] == json!("entry_added"))
        .map(|event| event["data"]["entry"]["seq"].as_u64().unwrap())
        .collect()
}
