//! What every answer carries, and that reading changes nothing. Source: contract 1.1, 1.10, 1.12.

use guildhall_testkit::{TestHall, until};
use serde_json::json;

use crate::test_values::text;

#[tokio::test]
async fn every_answer_carries_an_id_and_is_kept_by_no_shared_cache() {
    let t = TestHall::open().await;
    let ask = |id: &str| {
        t.owner()
            .ask("GET", "/api/rooms")
            .header("x-request-id", id)
    };
    let longest = "a".repeat(64);
    for id in ["mine", "A.b_c-9", longest.as_str()] {
        assert_eq!(ask(id).send().await.header("x-request-id"), id);
    }
    let too_long = "a".repeat(65);
    for id in ["", "a b", "a/b", "é", too_long.as_str()] {
        let given = ask(id).send().await;
        let given = given.header("x-request-id");
        assert_eq!((given.len(), &given[14..15]), (36, "7"), "{id:?} {given}");
    }
    for path in ["/api/rooms", "/api/none", "/healthz", "/docs", "/"] {
        let answer = t.owner().get(path).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
        let foreign = |name: &str| name.starts_with("access-control");
        assert!(
            !answer.headers.keys().any(|name| foreign(name.as_str())),
            "{path}"
        );
    }
    for (path, kept) in [
        ("/api/rooms", "private, no-cache"),
        ("/api/auth/whoami", "no-store"),
        ("/api/none", "no-store"),
    ] {
        let answer = t.owner().get(path).await;
        assert_eq!(answer.header("cache-control"), kept, "{path}");
    }
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let team = t.team().await;
    let entry = text(&t.say(&t.owner(), &team, "hello").await["id"]);
    for caller in [t.owner(), ada.clone(), t.unverifiable(), t.stranger()] {
        for path in [
            "/api/rooms",
            "/api/rooms/x",
            "/api/none",
            "/api/rooms?kind=x",
            &format!("/api/rooms/{team}"),
            &format!("/api/rooms/{team}/entries"),
            &format!("/api/rooms/{team}/entries/{entry}"),
            &format!("/api/rooms/{team}/members"),
            &format!("/api/rooms/{team}/read-cursor"),
            &format!("/api/rooms/{team}/events"),
            "/api/events",
            "/api/rooms/authors",
            "/api/rooms/authors/me",
            "/api/agents",
            &format!("/api/agents/{}/tokens", ada.agent()),
            "/api/auth/whoami",
            "/api/health",
            "/healthz",
            "/readyz",
            "/metrics",
            "/docs",
            "/",
        ] {
            let (get, head) = (caller.get(path).await, caller.head(path).await);
            assert_eq!(head.status, get.status, "{path}");
            assert_eq!(
                head.header("content-type"),
                get.header("content-type"),
                "{path}"
            );
            assert_eq!(
                head.header("x-event-seq"),
                get.header("x-event-seq"),
                "{path}"
            );
            assert!(head.bytes.is_empty(), "{path}: {}", head.text());
        }
    }
    until("the end of every stream", || t.hall().streams_open() == 0).await;
}

#[tokio::test]
async fn reading_changes_nothing_and_says_where_it_read() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let team = t.team().await;
    let entry = text(&t.say(&ada, &team, "hello").await["id"]);
    let before = t.rows();
    let newest = t.events().place().to_string();
    let (me, agent) = (ada.author(), ada.agent());
    for caller in [t.owner(), ada.clone()] {
        for path in [
            "/api/rooms".to_owned(),
            "/api/rooms?includeArchived=true&kind=channel".to_owned(),
            format!("/api/rooms/{team}"),
            format!("/api/rooms/{team}/members"),
            format!("/api/rooms/{team}/entries?limit=1"),
            format!("/api/rooms/{team}/entries/{entry}"),
            "/api/rooms/authors".to_owned(),
            "/api/rooms/authors/me".to_owned(),
            format!("/api/rooms/authors/{me}"),
            "/api/agents".to_owned(),
            format!("/api/agents/{agent}"),
        ] {
            let answer = caller.get(&path).await;
            assert_eq!(answer.header("x-event-seq"), newest, "{path}");
            answer.ok(200);
        }
    }
    for path in [
        format!("/api/rooms/authors/{me}/handles"),
        format!("/api/rooms/{team}/read-cursor"),
        format!("/api/agents/{agent}/tokens"),
    ] {
        let answer = t.owner().get(&path).await;
        assert_eq!(answer.header("x-event-seq"), newest, "{path}");
        answer.ok(200);
    }
    t.stream(&ada, "/api/events", None)
        .await
        .expect("snapshot")
        .await;
    for path in [
        "/api/auth/whoami",
        "/api/health",
        "/readyz",
        "/metrics",
        "/docs",
        "/",
    ] {
        assert_eq!(t.owner().get(path).await.status, 200, "{path}");
    }
    assert_eq!(t.rows(), before);
}

#[tokio::test]
async fn health_and_readiness_say_what_runs_and_details_only_to_the_owner() {
    let mut t = TestHall::open().await;
    let owners = "Agents on this computer are not enclosed: agents.enclosure is off.";
    let callers = [
        (t.owner(), owners),
        (t.stranger(), "not ok"),
        (t.unverifiable(), "not ok"),
    ];
    for (caller, enclosure) in callers {
        assert_eq!(
            caller.get("/healthz").await.ok(200),
            json!({"status": "ok"})
        );
        let checks = json!({
            "store": "ok", "disk": "ok", "tasks": "ok", "enclosure": {
                "ports": enclosure, "files": enclosure, "scopes": enclosure, "calls": enclosure,
            },
        });
        let ready = json!({"status": "ready", "checks": checks});
        assert_eq!(caller.get("/readyz").await.ok(200), ready);
    }
    for path in ["/healthz", "/readyz"] {
        let answer = t.stranger().get(path).await;
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
    }
    let health = t.stranger().get("/api/health").await.ok(200);
    let expected = json!({
        "name": "guildhall", "version": "0.0.0-test", "mode": "local", "setupRequired": false,
        "logId": health["logId"], "startedAt": "2026-09-21T14:13:20.000Z", "peerCheck": "on",
    });
    assert_eq!(health, expected);
    t.start_stopping();
    let draining = t.stranger().get("/readyz").await.ok(503);
    assert_eq!(draining["status"], "draining");
    t.owner()
        .get("/api/events")
        .await
        .refused(503, "SHUTTING_DOWN");
    t.restart().await;
    let again = t.stranger().get("/api/health").await.ok(200);
    assert_eq!(
        again["logId"], health["logId"],
        "one log for the life of the installation"
    );
}
