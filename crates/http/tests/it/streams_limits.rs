//! Streams: why they are refused, how many there are, and their end. Source: contract 1.10, 1.11.

use guildhall_hall::streams::StreamLimits;
use guildhall_testkit::{HallOptions, TestHall, until};

#[tokio::test]
async fn refusals_of_a_stream_come_in_order_and_before_it_begins() {
    let streams = StreamLimits {
        all: 2,
        per_human: 1,
        per_agent: 1,
    };
    let t = TestHall::open_with(HallOptions {
        streams,
        ..HallOptions::default()
    })
    .await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let mut kept = t.stream(&owner, "/api/events", None).await;
    kept.expect("snapshot").await;
    let many = format!("/api/events?{}", "scope=hall&".repeat(65));
    for (caller, path, status, code) in [
        (
            &t.unverifiable(),
            "/api/events?after=x",
            401,
            "AGENT_IDENTITY_UNVERIFIED",
        ),
        (
            &t.stranger(),
            "/api/rooms/x/events?after=x",
            401,
            "NOT_THE_OWNER",
        ),
        (
            &owner,
            "/api/rooms/x/events?after=x",
            400,
            "VALIDATION_FAILED",
        ),
        (
            &owner,
            "/api/events?scope=room:x&after=x",
            400,
            "VALIDATION_FAILED",
        ),
        (
            &owner,
            "/api/events?scope=room:x&scope=session",
            400,
            "VALIDATION_FAILED",
        ),
        (&owner, "/api/events?scope=room:", 400, "VALIDATION_FAILED"),
        (&owner, &many, 400, "VALIDATION_FAILED"),
        (&owner, "/api/rooms/x/events", 404, "ROOM_NOT_FOUND"),
        (
            &owner,
            "/api/events?scope=hall&scope=room:x",
            404,
            "ROOM_NOT_FOUND",
        ),
        (
            &owner,
            "/api/events?scope=agent:x&scope=room:x",
            404,
            "AGENT_NOT_FOUND",
        ),
        (&owner, "/api/events", 429, "TOO_MANY_STREAMS"),
    ] {
        let answer = caller.get(path).await;
        if status == 429 {
            assert_eq!(answer.header("retry-after"), "1");
        }
        answer.refused(status, code);
    }
    let mut adas = t.stream(&ada, "/api/events", None).await;
    adas.expect("snapshot").await;
    let answer = ada.get("/api/events").await;
    assert_eq!(answer.header("retry-after"), "1");
    answer.refused(503, "OVERLOADED");
    drop(kept);
    until("a place", || t.hall().streams_open() == 1).await;
    ada.get("/api/events")
        .await
        .refused(429, "TOO_MANY_STREAMS");
    t.stream(&owner, "/api/events", None)
        .await
        .expect("snapshot")
        .await;
}

#[tokio::test]
async fn an_agent_holds_sixteen_streams_and_each_agent_its_own() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let other = ada
        .clone()
        .with_agent_token(&t.mint(ada.agent(), "other").await);
    let mut open = Vec::new();
    for n in 0..16 {
        let caller = if n % 2 == 0 { &ada } else { &other };
        open.push(t.stream(caller, "/api/events", None).await);
    }
    for caller in [&ada, &other] {
        caller
            .get("/api/events")
            .await
            .refused(429, "TOO_MANY_STREAMS");
    }
    t.stream(&bob, "/api/events", None)
        .await
        .expect("snapshot")
        .await;
    t.stream(&t.owner(), "/api/events", None)
        .await
        .expect("snapshot")
        .await;
    open.pop();
    until("a place", || t.hall().streams_open() == 15).await;
    t.stream(&ada, "/api/events", None)
        .await
        .expect("snapshot")
        .await;
}

#[tokio::test]
async fn streams_end_when_the_server_stops() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let mut streams = [
        t.stream(&t.owner(), "/api/events", None).await,
        t.stream(&ada, "/api/events", None).await,
    ];
    let mut socket = t.socket(&ada, "/api/events").await;
    for stream in &mut streams {
        stream.expect("snapshot").await;
    }
    assert_eq!(socket.next().await.event, "snapshot");
    t.start_stopping();
    for stream in &mut streams {
        stream.end().await;
    }
    assert_eq!(socket.closed().await, 1001);
    t.close().await;
}
