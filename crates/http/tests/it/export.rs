//! Export of rooms. Source: contract 2.3, "Export".

use guildhall_testkit::{TestCaller, TestHall, TestResponse, soon};
use serde_json::{Value, json};

use crate::canvas;

fn path(room: &str) -> String {
    format!("/api/rooms/{room}/export")
}

/// The lines of an export, its summary checked against the bytes before it.
fn lines(answer: &TestResponse) -> Vec<Value> {
    let text = std::str::from_utf8(&answer.bytes).unwrap();
    assert!(text.ends_with('\n'));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let summary = text.trim_end().rfind('\n').unwrap() + 1;
    let mut digest = guildhall_world::digests::DigestBuilder::default();
    digest.add(&answer.bytes[..summary]);
    let last = lines.last().unwrap();
    assert_eq!(last["type"], "summary");
    assert_eq!(last["sha256"], digest.finish().to_string());
    lines
}

#[tokio::test]
async fn a_room_leaves_as_its_members_its_entries_and_a_digest_of_them() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.bystander("ada").await);
    let room = t.channel(&owner, "Ops & more", &[&ada]).await;
    let mut created = t.events();
    let file = t.upload(&ada, &room, ("a.txt", "text/plain", b"a")).await;
    let mut entries = Vec::new();
    for n in 0..120 {
        let words = format!("entry {n}: \"quoted\", ünicode\u{2028}, @ada\n`code`");
        entries.push(t.say(&owner, &room, &words).await);
    }
    let post = json!({"text": "", "attachmentIds": [file["id"]]});
    let posted = ada.post(&format!("/api/rooms/{room}/entries"), post).await;
    entries.push(posted.ok(201)["entry"].clone());
    for n in 1..=2 {
        canvas::open(&owner, &room, n).await;
    }
    created.all();
    let topic = json!({"topic": "read again", "archived": true});
    owner
        .patch(&format!("/api/rooms/{room}"), topic)
        .await
        .ok(200);
    let told = created.next("room_updated");
    t.advance(60);
    let before = t.rows();

    let answer = owner.get(&path(&room)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    assert_eq!(
        answer.header("content-disposition"),
        "attachment; filename=\"guildhall-ops-more-2026-09-21.jsonl\""
    );
    let lines = lines(&answer);
    let members = owner
        .get(&format!("/api/rooms/{room}/members"))
        .await
        .ok(200);
    let head = json!({
        "type": "room-export", "version": 1, "exportedAt": lines[0]["exportedAt"],
        "room": told["room"], "members": members["members"],
    });
    assert_eq!(lines[0], head);
    let documents = owner
        .get(&format!("/api/rooms/{room}/canvas"))
        .await
        .ok(200);
    let documents = documents["documents"].as_array().unwrap();
    assert_eq!(documents.len(), 2);
    let entries = entries
        .iter()
        .map(|entry| json!({"type": "entry", "entry": entry}));
    let documents = documents
        .iter()
        .map(|document| json!({"type": "canvas", "document": document}));
    let expected: Vec<Value> = entries.chain(documents).collect();
    assert_eq!(lines[1..lines.len() - 1], expected);
    let mut summary = lines.last().unwrap().clone();
    summary.as_object_mut().unwrap().remove("sha256");
    let expected = json!({"type": "summary", "entryCount": 121, "firstSeq": 1, "lastSeq": 121});
    assert_eq!(summary, expected);
    assert_eq!(t.rows(), before, "and nothing changed");
}

#[tokio::test]
async fn a_room_without_entries_has_a_head_and_a_summary() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let ask = json!({"kind": "dm", "memberIds": [ada.author()]});
    let room = owner.post("/api/rooms", ask).await.ok(201)["id"].clone();
    let answer = owner.get(&path(room.as_str().unwrap())).await;
    assert_eq!(
        answer.header("content-disposition"),
        "attachment; filename=\"guildhall-direct-message-2026-09-21.jsonl\""
    );
    let lines = lines(&answer);
    assert_eq!(lines.len(), 2);
    assert_eq!(
        [
            &lines[1]["entryCount"],
            &lines[1]["firstSeq"],
            &lines[1]["lastSeq"]
        ],
        [&json!(0), &Value::Null, &Value::Null]
    );
}

#[tokio::test]
async fn only_people_export_and_a_no_is_told_as_every_other_one() {
    let t = TestHall::open().await;
    let (owner, ada, room) = (t.owner(), t.agent("ada").await, t.team().await);
    ada.get(&path(&room)).await.refused(403, "HUMANS_ONLY");
    t.stranger()
        .get(&path(&room))
        .await
        .refused(401, "NOT_THE_OWNER");
    owner
        .get(&path("none"))
        .await
        .refused(404, "ROOM_NOT_FOUND");
    let head = owner.head(&path(&room)).await;
    assert_eq!((head.status, head.bytes.len()), (200, 0));
    assert_eq!(head.header("content-type"), "application/x-ndjson");
}

/// Entries of a long room, 100 kB each.
const LONG: u64 = 40;

/// A room whose export is more than sockets and queues hold.
async fn long_room(t: &TestHall, by: &TestCaller) -> String {
    let room = t.channel(by, "Long", &[]).await;
    let words = "x".repeat(100_000);
    for _ in 0..LONG {
        t.say(by, &room, &words).await;
    }
    room
}

#[tokio::test]
async fn an_export_shows_one_moment_and_two_slow_readers_keep_a_third_out_but_nobody_else() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = long_room(&t, &owner).await;
    let first = owner.ask("GET", &path(&room)).begin().await;
    let second = owner.ask("GET", &path(&room)).begin().await;
    owner.get(&path(&room)).await.refused(503, "OVERLOADED");
    // Reading and writing go on beside them.
    t.say(&owner, &room, "said meanwhile").await;
    let newest = format!("/api/rooms/{room}/entries?limit=1");
    assert_eq!(
        owner.get(&newest).await.ok(200)["entries"][0]["seq"],
        LONG + 1
    );
    let read = first.read().await;
    assert_eq!(lines(&read).last().unwrap()["lastSeq"], LONG);
    // A reader that goes away gives its place back.
    drop(second);
    let answer = soon("a free place", async {
        loop {
            let answer = owner.get(&path(&room)).await;
            if answer.status != 503 {
                return answer;
            }
        }
    });
    let answer = answer.await;
    assert_eq!(lines(&answer).last().unwrap()["lastSeq"], LONG + 1);
}
