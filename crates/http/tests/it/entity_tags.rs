//! Entity tags: changes that wait for a revision, and answers a caller has already.
//! Source: contract 1.9.

use guildhall_testkit::{TestCaller, TestHall, TestResponse};
use serde_json::{Value, json};

use crate::canvas;

async fn change(by: &TestCaller, path: &str, if_match: &str, body: Value) -> TestResponse {
    by.ask("PATCH", path)
        .header("if-match", if_match)
        .json(&body)
        .send()
        .await
}

#[tokio::test]
async fn a_change_with_a_stale_tag_changes_nothing_and_names_the_tag_of_now() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let room = t.channel(&owner, "Ops", &[]).await;
    let document = canvas::open(&owner, &room, 1).await;
    for (path, body, other) in [
        (
            canvas::at(&room, &document),
            json!({"pinned": true}),
            json!({"pinned": false}),
        ),
        (
            format!("/api/rooms/{room}"),
            json!({"topic": "a"}),
            json!({"topic": "b"}),
        ),
        (
            owner.author_url(),
            json!({"emoji": "🦉"}),
            json!({"emoji": "🦊"}),
        ),
        (
            format!("/api/agents/{}", ada.agent()),
            json!({"model": "a"}),
            json!({"model": "b"}),
        ),
        (
            "/api/settings".to_owned(),
            json!({"rooms.maxAgentDepth": 3}),
            json!({"rooms.maxAgentDepth": 4}),
        ),
    ] {
        let read = owner.get(&path).await;
        let tag = read.header("etag").to_owned();
        assert_eq!(read.header("cache-control"), "no-store", "{path}");
        let changed = change(&owner, &path, &tag, body.clone()).await;
        assert_eq!(changed.status, 200, "{}", changed.text());
        let now = changed.header("etag").to_owned();
        assert_ne!(now, tag, "{path}");
        assert_eq!(owner.get(&path).await.header("etag"), now, "{path}");

        let (rows, mut events) = (t.rows(), t.events());
        for stale in [tag.clone(), format!("W/{now}"), "\"x\"".to_owned()] {
            let refused = change(&owner, &path, &stale, other.clone()).await;
            let details = refused.refused(412, "PRECONDITION_FAILED");
            assert_eq!(details, json!({ "currentETag": now }), "{path}");
        }
        assert_eq!(t.rows(), rows, "{path}");
        events.none();

        // What is so already is no change, and its tag stays.
        let same = change(&owner, &path, "*", body).await;
        assert_eq!(
            (same.status, same.header("etag")),
            (200, now.as_str()),
            "{path}"
        );
        let either = format!("\"0\", {now}");
        assert_eq!(
            change(&owner, &path, &either, other).await.status,
            200,
            "{path}"
        );
    }
    let wrong = change(&owner, &owner.author_url(), "3", json!({})).await;
    wrong.refused(400, "VALIDATION_FAILED");
}

#[tokio::test]
async fn handles_and_retirements_wait_for_a_revision_too() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let tag = owner
        .get(&owner.author_url())
        .await
        .header("etag")
        .to_owned();
    let handle = json!({"handle": "boss"});
    let taken = change(&owner, &owner.handle_url(), &tag, handle.clone()).await;
    assert_eq!(taken.status, 200);
    let stale = change(
        &owner,
        &owner.handle_url(),
        &tag,
        json!({"handle": "chief"}),
    )
    .await;
    stale.refused(412, "PRECONDITION_FAILED");
    let path = format!("/api/agents/{}", ada.agent());
    let retire = |tag: &str| owner.ask("DELETE", &path).header("if-match", tag).send();
    retire("\"99\"").await.refused(412, "PRECONDITION_FAILED");
    assert_eq!(owner.get(&path).await.ok(200)["state"], "ready");
    retire("\"1\"").await.ok(200);
}

#[tokio::test]
async fn the_state_is_checked_before_the_tag() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ops, _news) = (
        t.channel(&owner, "Ops", &[]).await,
        t.channel(&owner, "News", &[]).await,
    );
    let path = format!("/api/rooms/{ops}");
    let renamed = change(&owner, &path, "\"99\"", json!({"title": "News"})).await;
    renamed.refused(409, "SLUG_TAKEN");
    change(&owner, "/api/rooms/none", "\"99\"", json!({}))
        .await
        .refused(404, "ROOM_NOT_FOUND");
}

#[tokio::test]
async fn a_list_the_caller_has_already_is_not_sent_again() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    for path in [
        "/api/rooms".to_owned(),
        "/api/agents".to_owned(),
        "/api/rooms/authors".to_owned(),
        format!("/api/rooms/{room}/entries"),
        format!("/api/rooms/{room}/members"),
    ] {
        let first = owner.get(&path).await;
        let tag = first.header("etag").to_owned();
        assert_eq!(tag.len(), 34, "{path}: {tag}");
        assert_eq!(first.header("cache-control"), "private, no-cache", "{path}");
        let again = |tag: &str| owner.ask("GET", &path).header("if-none-match", tag).send();
        for known in [tag.clone(), format!("W/{tag}"), "*".to_owned()] {
            let known = again(&known).await;
            assert_eq!((known.status, known.bytes.len()), (304, 0), "{path}");
            assert_eq!(known.header("etag"), tag, "{path}");
            assert!(!known.header("x-event-seq").is_empty(), "{path}");
        }
        assert_eq!(again("\"other\"").await.status, 200, "{path}");
    }
    let path = format!("/api/rooms/{room}/entries");
    let tag = owner.get(&path).await.header("etag").to_owned();
    t.say(&owner, &room, "news").await;
    let newer = owner
        .ask("GET", &path)
        .header("if-none-match", &tag)
        .send()
        .await;
    assert_eq!(newer.status, 200);
}

#[tokio::test]
async fn an_object_that_changes_is_sent_each_time() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let path = format!("/api/rooms/{room}");
    let tag = owner.get(&path).await.header("etag").to_owned();
    let again = owner
        .ask("GET", &path)
        .header("if-none-match", &tag)
        .send()
        .await;
    assert_eq!(again.status, 200);
}

#[tokio::test]
async fn errors_are_problems_for_whom_asks() {
    let t = TestHall::open().await;
    let ask = |path: &str| {
        t.owner()
            .ask("GET", path)
            .header("accept", "application/problem+json")
            .header("x-request-id", "01a1fe26-ce7a-77e6-9c51-69b26c991bbe")
    };
    for (path, status, code, title) in [
        ("/api/rooms/none", 404, "ROOM_NOT_FOUND", "Room not found"),
        ("/api/none", 404, "NOT_FOUND", "Not found"),
        (
            "/api/rooms?kind=x",
            400,
            "VALIDATION_FAILED",
            "Validation failed",
        ),
    ] {
        let answer = ask(path).send().await;
        assert_eq!(answer.header("content-type"), "application/problem+json");
        let plain = t.owner().get(path).await.body;
        assert_eq!(
            (answer.status, answer.body),
            (
                status,
                json!({
                    "type": format!("/docs/errors/{code}"), "title": title, "status": status,
                    "detail": plain["error"], "code": code, "details": plain["details"],
                    "instance": "urn:uuid:01a1fe26-ce7a-77e6-9c51-69b26c991bbe",
                })
            )
        );
    }
    let fine = ask("/api/rooms").send().await;
    assert_eq!(
        (fine.status, fine.header("content-type")),
        (200, "application/json")
    );
}
