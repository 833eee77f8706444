//! A disk that fails a commit: the caller is told to come again, and the store is verified before
//! the next change is acknowledged.

use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::server_process::ServerProcess;

fn post(server: &ServerProcess, team: &str, text: &str) -> (u16, Value) {
    let path = format!("/api/rooms/{team}/entries");
    server.ask("POST", &path, Some(&json!({"text": text})))
}

fn texts(server: &ServerProcess, team: &str) -> Vec<String> {
    let (status, page) = server.ask("GET", &format!("/api/rooms/{team}/entries"), None);
    assert_eq!(status, 200, "{page}");
    let entries = page["entries"].as_array().unwrap().iter();
    let text = |entry: &Value| entry["text"].as_str().unwrap().to_owned();
    let mut texts: Vec<String> = entries.map(text).collect();
    texts.sort_unstable();
    texts
}

#[test]
fn a_commit_the_disk_fails_is_a_503_and_the_store_takes_changes_again_once_it_was_verified() {
    let scratch = Scratch::new("io-errors");
    let data = scratch.path().join("data");
    let server = ServerProcess::start_outliving_failed_writes(&data);
    let (_, rooms) = server.ask("GET", "/api/rooms", None);
    let team = rooms["rooms"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(post(&server, &team, "before").0, 201);

    server.let_writes_fail(true);
    for n in 0..3 {
        let (status, refused) = post(&server, &team, &format!("lost {n}"));
        let told = (status, refused["code"].as_str().unwrap());
        assert_eq!(told, (503, "STORAGE_IO_FAILED"), "{refused}");
    }
    assert_eq!(texts(&server, &team), ["before"], "reading goes on");

    server.let_writes_fail(false);
    let (status, entry) = post(&server, &team, "later");
    assert_eq!(status, 201, "{entry}");
    assert_eq!(texts(&server, &team), ["before", "later"]);
    server.kill();
    let server = ServerProcess::start(&data, 0);
    assert_eq!(texts(&server, &team), ["before", "later"]);
}
