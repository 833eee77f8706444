//! Redaction: a text is gone from every answer, every event and every file. Source: contract 2.3.

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::{
    reactions::reaction,
    test_values::{list, text},
    threads::reply,
};

/// A word no other text of the house holds.
const SECRET: &str = "xylographer";

fn entry_path(entry: &Value) -> String {
    let (room, id) = (text(&entry["roomId"]), text(&entry["id"]));
    format!("/api/rooms/{room}/entries/{id}")
}

/// Whether any file of the installation holds these bytes.
fn on_disk(t: &TestHall, bytes: &[u8]) -> Vec<String> {
    let folder = t.database().parent().unwrap().to_owned();
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let holding = files.filter(|file| {
        file.file_type().unwrap().is_file() && {
            let content = std::fs::read(file.path()).unwrap();
            content.windows(bytes.len()).any(|window| window == bytes)
        }
    });
    holding
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .collect()
}

async fn found(by: &TestCaller, q: &str) -> usize {
    let path = format!("/api/search?q={q}");
    list(&by.get(&path).await.ok(200)["results"]).len()
}

#[tokio::test]
async fn a_redacted_entry_keeps_its_place_and_loses_its_text_once() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let mut entry = t.say(&ada, &room, "@ada and hello").await;
    let answer = reply(&ada, &entry, "reply").await;
    let given = ada
        .ask("PUT", &reaction(&entry, "%F0%9F%91%8D"))
        .send()
        .await
        .ok(200);
    let mut events = t.events();
    t.advance(3);
    let redacted = owner.delete(&entry_path(&entry)).await.ok(200);
    entry["text"] = "".into();
    entry["mentionSpans"] = json!([]);
    entry["threadReplyCount"] = 1.into();
    entry["threadLastReplyAt"] = answer["createdAt"].clone();
    entry["reactions"] = given["reactions"].clone();
    entry["redactedAt"] = "2026-09-21T14:13:23.000Z".into();
    assert_eq!(redacted, entry);
    assert_eq!(events.next("entry_redacted"), json!({"entry": entry}));
    assert_eq!(ada.get(&entry_path(&entry)).await.ok(200), entry);
    let before = t.rows();
    t.advance(3);
    assert_eq!(owner.delete(&entry_path(&entry)).await.ok(200), entry);
    assert_eq!(t.rows(), before);
    events.none();
}

#[tokio::test]
async fn people_alone_redact_and_what_is_not_there_is_not_there() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let own = t.say(&ada, &room, "hers").await;
    let mine = t.say(&owner, &room, "mine").await;
    let before = t.rows();
    ada.delete(&entry_path(&own))
        .await
        .refused(403, "HUMANS_ONLY");
    owner
        .delete(&format!("/api/rooms/{room}/entries/none"))
        .await
        .refused(404, "ENTRY_NOT_FOUND");
    owner
        .delete(&format!("/api/rooms/none/entries/{}", text(&own["id"])))
        .await
        .refused(404, "ROOM_NOT_FOUND");
    assert_eq!(t.rows(), before);
    // What must not be read must not be read in an archive either, nor by who left.
    owner
        .patch(&format!("/api/rooms/{room}"), json!({"archived": true}))
        .await
        .ok(200);
    owner.delete(&entry_path(&mine)).await.ok(200);
    owner
        .delete(&format!("/api/rooms/{room}/members/{}", owner.author()))
        .await
        .ok(204);
    owner.delete(&entry_path(&own)).await.ok(200);
}

#[tokio::test]
async fn a_person_redacts_their_own_and_the_owner_everybodys() {
    let t = TestHall::open_login().await;
    let (owner, pia) = (t.owner(), t.person("Pia").await);
    let room = t.team().await;
    let (hers, his) = (
        t.say(&pia, &room, "hers").await,
        t.say(&owner, &room, "his").await,
    );
    let before = t.rows();
    pia.delete(&entry_path(&his))
        .await
        .refused(403, "OWNER_ONLY");
    assert_eq!(t.rows(), before);
    let redacted = pia.delete(&entry_path(&hers)).await.ok(200);
    assert_eq!(redacted["text"], "");
    let other = t.say(&pia, &room, "hers too").await;
    owner.delete(&entry_path(&other)).await.ok(200);
}

#[tokio::test]
async fn a_redacted_text_is_in_no_answer_no_event_and_no_file() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let first = t.say(&owner, &room, "first").await;
    let long = format!(
        "{} {SECRET} {}",
        "before ".repeat(3_000),
        "after ".repeat(3_000)
    );
    let root = t.say(&owner, &room, &format!("the {SECRET} is here")).await;
    let answer = reply(&ada, &root, &long).await;
    t.say(&owner, &room, "last").await;
    assert_eq!(found(&owner, SECRET).await, 2);
    assert!(!on_disk(&t, SECRET.as_bytes()).is_empty());
    let beginning = first["seq"].as_u64().unwrap();
    for entry in [&root, &answer] {
        owner.delete(&entry_path(entry)).await.ok(200);
    }
    assert_eq!(on_disk(&t, SECRET.as_bytes()), Vec::<String>::new());
    assert_eq!(found(&owner, SECRET).await, 0);
    assert_eq!(found(&ada, &SECRET[..4]).await, 0);
    assert_eq!(found(&owner, "last").await, 1);
    t.restart().await;
    for path in [
        format!("/api/rooms/{room}/entries"),
        format!("/api/rooms/{room}/entries?limit=1&after={}", beginning + 1),
        format!("/api/rooms/{room}/threads/{}", text(&root["id"])),
        "/api/rooms/threads".to_owned(),
        entry_path(&root),
        entry_path(&answer),
    ] {
        let answer = owner.get(&path).await;
        assert!(!answer.text().contains(SECRET), "{path}");
    }
    let mut events = t.events();
    t.say(&owner, &room, "end").await;
    events.all();
    let newest = events.place().unsigned_abs();
    for path in [
        "/api/events".to_owned(),
        format!("/api/rooms/{room}/events"),
    ] {
        let log = owner.get("/api/rooms").await;
        assert_eq!(log.header("x-event-seq"), newest.to_string());
        let mut stream = t.stream(&owner, &path, Some("1")).await;
        for frame in stream.until(newest).await {
            assert!(!frame.data.to_string().contains(SECRET), "{}", frame.data);
        }
    }
    assert_eq!(on_disk(&t, SECRET.as_bytes()), Vec::<String>::new());
}

#[tokio::test]
async fn a_repeated_post_answers_the_entry_without_its_text() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let path = format!("/api/rooms/{room}/entries");
    let post = || {
        let ask = owner.ask("POST", &path).header("idempotency-key", "once");
        ask.json(&json!({"text": format!("@me {SECRET}")})).send()
    };
    let posted = post().await.ok(201);
    let redacted = owner.delete(&entry_path(&posted["entry"])).await.ok(200);
    let mut events = t.events();
    let again = post().await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    let expected = json!({"entry": redacted, "turns": []});
    assert_eq!(again.ok(201), expected);
    events.none();
    assert_eq!(on_disk(&t, SECRET.as_bytes()), Vec::<String>::new());
}

#[tokio::test]
async fn a_replay_tells_a_redacted_entry_as_one_without_text() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let mut events = t.events();
    let before = events.place().to_string();
    let mut entry = t.say(&owner, &room, SECRET).await;
    reply(&owner, &entry, "reply").await;
    let redacted = owner.delete(&entry_path(&entry)).await.ok(200);
    events.all();
    let newest = events.place().unsigned_abs();
    let path = format!("/api/rooms/{room}/events");
    let mut stream = t.stream(&owner, &path, Some(&before)).await;
    let frames = stream.until(newest).await;
    // As it came, so that counting its replies from there on gives what a GET answers.
    entry["text"] = "".into();
    entry["redactedAt"] = redacted["redactedAt"].clone();
    assert_eq!(frames[0].inner()["entry"], entry);
    assert_eq!(frames[2].inner()["entry"], redacted);
}
