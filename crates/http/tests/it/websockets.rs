//! The same streams over WebSockets. Source: contract 1.10, "Frames".

use guildhall_hall::streams::StreamLimits;
use guildhall_testkit::{HallOptions, TestCaller, TestHall, TestRequest};
use serde_json::json;

/// A handshake as a browser sends it, to be answered without one.
fn handshake(by: &TestCaller, path: &str) -> TestRequest {
    by.ask("GET", path)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
}

#[tokio::test]
async fn a_websocket_brings_the_same_frames_as_server_sent_events() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let team = t.team().await;
    for n in 0..3 {
        t.say(&owner, &team, &format!("{n} @ada \u{1f989}\n")).await;
    }
    let room = format!("/api/rooms/{team}/events");
    for (caller, path, count) in [
        (&owner, "/api/events?after=0", 10),
        (&ada, "/api/events?after=0", 5),
        (&owner, "/api/events", 1),
        (&owner, "/api/events?after=999999", 2),
        (&ada, room.as_str(), 1),
    ] {
        let mut events = t.stream(caller, path, None).await;
        let mut socket = t.socket(caller, path).await;
        for _ in 0..count {
            assert_eq!(socket.next().await, events.next().await, "{path}");
        }
        let signal = json!({"kind": "typing", "on": true});
        owner
            .post(&format!("/api/rooms/{team}/signals"), signal)
            .await
            .ok(204);
        let seen = loop {
            let pair = (socket.next().await, events.next().await);
            assert_eq!(pair.0, pair.1, "{path}");
            if pair.0.event == "signal" {
                break pair.0;
            }
        };
        assert_eq!(seen.id, None);
    }
}

#[tokio::test]
async fn a_client_that_talks_is_refused() {
    let t = TestHall::open().await;
    let mut socket = t.socket(&t.owner(), "/api/events").await;
    assert_eq!(socket.next().await.event, "snapshot");
    socket.say("{\"subscribe\":\"everything\"}").await;
    assert_eq!(socket.closed().await, 1003);
    guildhall_testkit::until("its place", || t.hall().streams_open() == 0).await;
}

#[tokio::test]
async fn a_websocket_is_refused_before_the_upgrade() {
    let streams = StreamLimits {
        per_agent: 1,
        ..StreamLimits::default()
    };
    let t = TestHall::open_with(HallOptions {
        streams,
        ..HallOptions::default()
    })
    .await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let _open = t.socket(&ada, "/api/events").await;
    for (ask, status, code) in [
        (
            handshake(&t.stranger(), "/api/events"),
            401,
            "NOT_THE_OWNER",
        ),
        (
            handshake(&t.unverifiable(), "/api/events"),
            401,
            "AGENT_IDENTITY_UNVERIFIED",
        ),
        (
            handshake(&owner, "/api/events?after=x"),
            400,
            "VALIDATION_FAILED",
        ),
        (
            handshake(&owner, "/api/rooms/x/events"),
            404,
            "ROOM_NOT_FOUND",
        ),
        (handshake(&ada, "/api/events"), 429, "TOO_MANY_STREAMS"),
        (handshake(&owner, "/api/none"), 404, "NOT_FOUND"),
        (
            handshake(&owner, "/api/events").header("origin", "null"),
            403,
            "ORIGIN_NOT_ALLOWED",
        ),
        (
            handshake(&owner, "/api/events").header("origin", "https://evil.example"),
            403,
            "ORIGIN_NOT_ALLOWED",
        ),
        (
            handshake(&owner, "/api/events").header("sec-fetch-site", "same-site"),
            403,
            "ORIGIN_NOT_ALLOWED",
        ),
    ] {
        ask.send().await.refused(status, code);
    }
    let old = owner
        .ask("GET", "/api/events")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "8")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    old.send().await.refused(400, "VALIDATION_FAILED");
    assert_eq!(t.hall().streams_open(), 1, "a refused one takes no place");
}
