//! Posts that come again with their idempotency key. Source: contract 1.7.

use guildhall_testkit::{TestCaller, TestHall, TestResponse};
use serde_json::{Value, json};

use crate::canvas;

const A_DAY_S: i64 = 24 * 3_600;

async fn post(by: &TestCaller, path: &str, key: &str, body: Value) -> TestResponse {
    by.ask("POST", path)
        .header("idempotency-key", key)
        .json(&body)
        .send()
        .await
}

fn said_again(first: &TestResponse, again: &TestResponse) {
    assert_eq!(first.header("idempotency-replayed"), "");
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!((first.status, &first.bytes), (again.status, &again.bytes));
}

#[tokio::test]
async fn a_repeated_post_has_one_effect_and_one_event_set_also_over_a_restart() {
    let mut t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let path = format!("/api/rooms/{room}/entries");
    let hello = json!({"text": "hello"});
    let first = post(&owner, &path, "k-1", hello.clone()).await;
    assert_eq!(first.status, 201);
    let rows = t.rows();
    said_again(&first, &post(&owner, &path, "k-1", hello.clone()).await);
    t.restart().await;
    said_again(&first, &post(&t.owner(), &path, "k-1", hello).await);
    assert_eq!(t.rows(), rows);
}

#[tokio::test]
async fn every_post_that_changes_something_is_answered_again() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let room = t.channel(&owner, "Ops", &[]).await;
    let document = canvas::open(&owner, &room, 1).await;
    for (path, body) in [
        (
            "/api/rooms".to_owned(),
            json!({"kind": "channel", "title": "News"}),
        ),
        (
            format!("/api/rooms/{room}/members"),
            json!({"authorId": ada.author()}),
        ),
        (format!("/api/rooms/{room}/entries"), json!({"text": "hi"})),
        (
            canvas::of(&room),
            json!({"content": {"type": "json", "data": 1}}),
        ),
        (
            format!("{}/thread", canvas::at(&room, &document)),
            json!({}),
        ),
        (
            "/api/agents".to_owned(),
            json!({"name": "bob", "cwd": t.folder("bob")}),
        ),
    ] {
        let first = post(&owner, &path, "same", body.clone()).await;
        assert_eq!(first.status, 201, "{}", first.text());
        let rows = t.rows();
        said_again(&first, &post(&owner, &path, "same", body).await);
        assert_eq!(t.rows(), rows, "{path}");
    }
}

#[tokio::test]
async fn a_save_under_its_key_never_overwrites_what_somebody_wrote_after_it() {
    let mut t = TestHall::open().await;
    let folder = t.folder("desk");
    let path = format!("{folder}/a.md");
    std::fs::write(&path, "old").unwrap();
    let ask = json!({"cwd": folder, "path": "a.md", "content": "ours"});
    let put = async |t: &TestHall, body: &Value| {
        let ask = t.owner().ask("PUT", "/api/files/content");
        ask.header("idempotency-key", "k-1").json(body).send().await
    };
    let first = put(&t, &ask).await;
    assert_eq!(first.status, 200, "{}", first.text());
    std::fs::write(&path, "theirs").unwrap();
    let rows = t.rows();
    said_again(&first, &put(&t, &ask).await);
    t.restart().await;
    said_again(&first, &put(&t, &ask).await);
    assert_eq!(t.rows(), rows);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
    // The key stands for this save alone, and without one a save is another one.
    let other = json!({"cwd": folder, "path": "a.md", "content": "other"});
    put(&t, &other).await.refused(422, "IDEMPOTENCY_KEY_REUSED");
    t.owner().put("/api/files/content", ask).await.ok(200);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "ours");
}

#[tokio::test]
async fn a_checkbox_and_a_reload_are_answered_again_whatever_became_of_the_file() {
    let mut t = TestHall::open().await;
    let (room, folder) = (t.team().await, t.folder("desk"));
    let path = format!("{folder}/a.md");
    std::fs::write(&path, "- [ ] water").unwrap();
    let shown = json!({"content": {"type": "file", "sourcePath": path}});
    let document = t.owner().post(&canvas::of(&room), shown).await.ok(201);
    let tick = json!({"cwd": folder, "path": "a.md", "line": 1, "expectedLine": "- [ ] water",
        "checked": true});
    for (path, body) in [
        ("/api/files/checkbox".to_owned(), tick),
        (
            format!("{}/reload", canvas::at(&room, &document)),
            json!({}),
        ),
    ] {
        let first = post(&t.owner(), &path, "k", body.clone()).await;
        assert_eq!(first.status, 200, "{}", first.text());
        // Somebody clears it again: what was asked once is not done twice.
        std::fs::write(format!("{folder}/a.md"), "- [ ] water").unwrap();
        let rows = t.rows();
        said_again(&first, &post(&t.owner(), &path, "k", body.clone()).await);
        t.restart().await;
        said_again(&first, &post(&t.owner(), &path, "k", body).await);
        assert_eq!(t.rows(), rows, "{path}");
        let held = std::fs::read_to_string(format!("{folder}/a.md")).unwrap();
        assert_eq!(held, "- [ ] water");
        let other = post(
            &t.owner(),
            &path,
            "k",
            json!({"line": 1, "cwd": folder,
            "path": "a.md", "expectedLine": "- [x] water", "checked": false}),
        )
        .await;
        other.refused(422, "IDEMPOTENCY_KEY_REUSED");
    }
}

#[tokio::test]
async fn a_key_belongs_to_its_caller_path_and_body() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let (team, ops) = (t.team().await, t.channel(&owner, "Ops", &[&ada]).await);
    let entries = |room: &str| format!("/api/rooms/{room}/entries");
    let one = json!({"text": "one"});
    let first = post(&owner, &entries(&team), "k", one.clone())
        .await
        .ok(201);
    for (caller, room) in [(&ada, &team), (&owner, &ops)] {
        let other = post(caller, &entries(room), "k", one.clone()).await.ok(201);
        assert_ne!(other["entry"]["id"], first["entry"]["id"]);
    }
    let rows = t.rows();
    let other = post(&owner, &entries(&team), "k", json!({"text": "two"})).await;
    other.refused(422, "IDEMPOTENCY_KEY_REUSED");
    for key in ["", "a b", "é"] {
        let wrong = post(&owner, &entries(&team), key, one.clone()).await;
        wrong.refused(400, "VALIDATION_FAILED");
    }
    assert_eq!(t.rows(), rows);
}

#[tokio::test]
async fn a_refused_post_leaves_its_key_unused() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.channel(&t.owner(), "Ops", &[]).await);
    let (path, body) = (
        format!("/api/rooms/{room}/entries"),
        json!({"text": "now?"}),
    );
    let archive = |archived: bool| json!({"archived": archived});
    let room_path = format!("/api/rooms/{room}");
    owner.patch(&room_path, archive(true)).await.ok(200);
    let refused = post(&owner, &path, "k", body.clone()).await;
    refused.refused(409, "ROOM_ARCHIVED");
    owner.patch(&room_path, archive(false)).await.ok(200);
    let done = post(&owner, &path, "k", body).await;
    assert_eq!(
        (done.status, done.header("idempotency-replayed")),
        (201, "")
    );
}

#[tokio::test]
async fn a_repeat_never_shows_a_secret_again() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let path = format!("/api/agents/{}/tokens", ada.agent());
    let label = json!({"label": "laptop"});
    let minted = post(&owner, &path, "k", label.clone()).await.ok(201);
    let rows = t.rows();
    assert!(!rows.contains(minted["token"].as_str().unwrap()));
    let again = post(&owner, &path, "k", label).await;
    let details = again.refused(409, "SECRET_ALREADY_SHOWN");
    assert_eq!(details, json!({"id": minted["id"]}));
    assert_eq!(t.rows(), rows);
}

#[tokio::test]
async fn a_key_counts_for_a_day() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let (path, body) = (format!("/api/rooms/{room}/entries"), json!({"text": "x"}));
    let first = post(&owner, &path, "k", body.clone()).await;
    t.advance(A_DAY_S - 1);
    said_again(&first, &post(&owner, &path, "k", body.clone()).await);
    t.advance(1);
    let fresh = post(&owner, &path, "k", body).await;
    assert_eq!(
        (fresh.status, fresh.header("idempotency-replayed")),
        (201, "")
    );
}

#[tokio::test]
async fn many_at_once_have_one_effect() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let path = format!("/api/rooms/{room}/entries");
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (owner, path) = (owner.clone(), path.clone());
        asking.spawn(async move { post(&owner, &path, "k", json!({"text": "once"})).await });
    }
    for answer in asking.join_all().await {
        match answer.status {
            201 => {}
            _ => {
                assert_eq!(answer.header("retry-after"), "1");
                answer.refused(409, "IDEMPOTENCY_IN_PROGRESS");
            }
        }
    }
    let page = owner.get(&path).await.ok(200);
    assert_eq!(page["entries"].as_array().unwrap().len(), 1);
}
