//! Another person, at another computer: sees what people see, does what people may.
//! Source: contract 1.5, 1.10, 2.2.

use guildhall_domain::callers::AuthMode;
use guildhall_hall::streams::StreamLimits;
use guildhall_testkit::{HallOptions, TestCaller, TestHall};
use serde_json::json;

use crate::test_values::{column, listed, text};

#[tokio::test]
async fn a_person_sees_every_room_with_its_own_eyes() {
    let t = TestHall::open_login().await;
    let (owner, bob) = (t.owner(), t.person("Bob").await);
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    t.say(&owner, &room, "not for members alone").await;
    let path = format!("/api/rooms/{room}");
    let detail = bob.get(&path).await.ok(200);
    assert_eq!(
        (
            &detail["viewerIsOwner"],
            &detail["viewerAuthorId"],
            &detail["unreadCount"]
        ),
        (&json!(false), &json!(bob.author()), &json!(null))
    );
    bob.get(&format!("{path}/entries")).await.ok(200);
    let said = bob
        .post(&format!("{path}/entries"), json!({"text": "hello"}))
        .await;
    said.refused(409, "NOT_A_MEMBER");
    let own = json!({"authorId": bob.author()});
    bob.post(&format!("{path}/members"), own).await.ok(201);
    t.say(&bob, &room, "hello").await;
    // Each person reads with a cursor of its own.
    let unread = async |by| listed(by, &room).await["unreadCount"].clone();
    assert_eq!(
        (unread(&owner).await, unread(&bob).await),
        (json!(1), json!(0))
    );
    t.say(&owner, &room, "and to you").await;
    let read = json!({"lastReadSeq": 3});
    owner
        .put(&format!("{path}/read-cursor"), read)
        .await
        .ok(200);
    assert_eq!(
        (unread(&owner).await, unread(&bob).await),
        (json!(0), json!(1))
    );
}

#[tokio::test]
async fn a_person_may_do_what_people_may_and_nothing_of_the_owners() {
    let t = TestHall::open_login().await;
    let (owner, bob) = (t.owner(), t.person("Bob").await);
    let ada = t.agent("ada").await;
    let team = format!("/api/rooms/{}", t.team().await);
    let agent = format!("/api/agents/{}", ada.agent());
    let script = t.nobody().with_key(&t.key(&bob, "script").await);
    let rows = t.rows();
    for by in [&bob, &script] {
        for (method, path) in [
            ("PATCH", team.as_str()),
            ("POST", "/api/agents"),
            ("PATCH", &agent),
            ("DELETE", &agent),
            ("GET", &format!("{agent}/tokens")),
            ("GET", "/api/settings"),
            ("PATCH", "/api/settings"),
            ("GET", "/metrics"),
            ("GET", "/api/auth/accounts"),
        ] {
            let ask = by
                .ask(method, path)
                .header("content-type", "application/json");
            ask.body("{{").send().await.refused(403, "OWNER_ONLY");
        }
    }
    let untouched = |rows: String| -> Vec<String> {
        let others = rows.lines().filter(|row| !row.starts_with("api_keys\t"));
        others.map(str::to_owned).collect()
    };
    assert_eq!(untouched(t.rows()), untouched(rows));
    bob.patch(&ada.handle_url(), json!({"handle": "lovelace"}))
        .await
        .ok(200);
    bob.patch(&bob.author_url(), json!({"emoji": "🦊"}))
        .await
        .ok(200);
    let agents = bob.get("/api/agents").await.ok(200);
    assert_eq!(column(&agents["agents"], "id"), [ada.agent()]);
    // The owner stays where agents meet, whoever asks.
    let room = t
        .channel(&bob, "Agents", &[&owner, &ada, &t.agent("eve").await])
        .await;
    let out = format!("/api/rooms/{room}/members/{}", owner.author());
    bob.delete(&out).await.refused(409, "OWNER_MUST_BE_PRESENT");
}

/// What a caller hears up to the event at `head`: the names, and whose keys were made.
async fn heard(t: &TestHall, by: &TestCaller, path: &str, head: u64) -> (Vec<String>, Vec<String>) {
    let frames = t.stream(by, path, None).await.until(head).await;
    let keys = frames
        .iter()
        .filter(|frame| frame.event == "api_key_created");
    let keys = keys.map(|frame| text(&frame.inner()["authorId"])).collect();
    (frames.into_iter().map(|frame| frame.event).collect(), keys)
}

#[tokio::test]
async fn what_is_the_owners_or_anothers_alone_reaches_no_other_person() {
    let t = TestHall::open_login().await;
    let (owner, bob) = (t.owner(), t.person("Bob").await);
    let ada = t.agent("ada").await;
    let team = t.team().await;
    t.key(&owner, "owner's").await;
    t.key(&bob, "bob's").await;
    t.say(&bob, &team, "one").await;
    let cursor = format!("/api/rooms/{team}/read-cursor");
    let read = json!({"lastReadSeq": 1});
    owner.put(&cursor, read).await.ok(200);
    let depth = json!({"rooms.maxAgentDepth": 7});
    owner.patch("/api/settings", depth).await.ok(200);
    // The last event is one that everybody hears in every scope asked for.
    let name = json!({"displayName": "the end"});
    bob.patch(&bob.author_url(), name).await.ok(200);
    let head = t.events().place().unsigned_abs();
    let theirs = [
        "account_created",
        "agent_token_created",
        "settings_changed",
        "read_cursor",
    ];
    let agent = format!("&scope=hall&scope=agent:{}", ada.agent());
    for scopes in ["", "&scope=hall", &agent] {
        let path = format!("/api/events?after=0{scopes}");
        let (names, keys) = heard(&t, &bob, &path, head).await;
        let mut leaked = theirs
            .iter()
            .filter(|name| names.iter().any(|heard| heard == *name));
        assert_eq!(leaked.next(), None, "{scopes}: {names:?}");
        assert_eq!(keys, [bob.author()]);
        let (names, keys) = heard(&t, &owner, &path, head).await;
        for name in theirs {
            assert!(names.iter().any(|heard| heard == name), "{scopes}: {name}");
        }
        assert_eq!(keys, [owner.author()]);
    }
}

#[tokio::test]
async fn each_person_has_streams_of_its_own() {
    let mut t = TestHall::open_login().await;
    let streams = StreamLimits {
        per_human: 1,
        ..StreamLimits::default()
    };
    t.restart_with(HallOptions {
        mode: AuthMode::Login,
        streams,
        ..HallOptions::default()
    })
    .await;
    let bob = t.person("Bob").await;
    let script = t.nobody().with_key(&t.key(&bob, "script").await);
    let _owners = t.stream(&t.owner(), "/api/events", None).await;
    let _bobs = t.stream(&bob, "/api/events", None).await;
    for by in [&bob, &script, &t.owner()] {
        by.get("/api/events").await.refused(429, "TOO_MANY_STREAMS");
    }
}

#[tokio::test]
async fn a_person_shows_no_file_of_the_owners_unless_the_owner_opened_them_to_people() {
    let t = TestHall::open_login().await;
    let (owner, bob) = (t.owner(), t.person("Bob").await);
    let file = format!("{}/a.rs", t.folder("ada"));
    std::fs::write(&file, "x").unwrap();
    let canvas = format!("/api/rooms/{}/canvas", t.team().await);
    let shown = json!({"content": {"type": "file", "sourcePath": file}});
    let missing = json!({"content": {"type": "file", "sourcePath": format!("{file}.none")}});
    for ask in [&shown, &missing] {
        let refused = bob.post(&canvas, ask.clone()).await;
        refused.refused(403, "OWNER_ONLY");
    }
    owner
        .patch("/api/settings", json!({"files.people": "boundary"}))
        .await
        .ok(200);
    bob.post(&canvas, shown).await.ok(201);
}
