//! Signals: true for a moment, stored nowhere. Source: contract 2.3.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

#[tokio::test]
async fn a_signal_reaches_whoever_sees_the_room_and_leaves_no_trace() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let watch = format!("/api/rooms/{room}/events");
    let signals = format!("/api/rooms/{room}/signals");
    let mut of_room = t.stream(&owner, &watch, None).await;
    let mut of_all = t.stream(&owner, "/api/events", None).await;
    let mut of_ada = t.stream(&ada, "/api/events", None).await;
    let mut of_bob = t.stream(&bob, "/api/events", None).await;
    let mut of_hall = t.stream(&owner, "/api/events?scope=hall", None).await;
    for stream in [
        &mut of_room,
        &mut of_all,
        &mut of_ada,
        &mut of_bob,
        &mut of_hall,
    ] {
        stream.expect("snapshot").await;
    }
    let before = t.rows();
    for (caller, kind, on, document) in [
        (&ada, "typing", true, Value::Null),
        (&owner, "viewing", false, json!("doc-1")),
    ] {
        let mut ask = json!({"kind": kind, "on": on});
        if !document.is_null() {
            ask["documentId"] = document.clone();
        }
        caller.post(&signals, ask).await.ok(204);
        let expected = json!({
            "type": "signal", "scope": format!("room:{room}"), "at": "2026-09-21T14:13:20.000Z",
            "actorId": caller.author(),
            "data": {
                "kind": kind, "authorId": caller.author(), "on": on, "documentId": document,
                "turnId": null, "until": "2026-09-21T14:13:50.000Z",
            },
        });
        for stream in [&mut of_room, &mut of_all, &mut of_ada] {
            let frame = stream.expect("signal").await;
            assert_eq!((frame.id, frame.data), (None, expected.clone()));
        }
    }
    assert_eq!(t.rows(), before);
    // Who sees another room, or asked for another scope, hears the next event and no signal.
    let team = t.team().await;
    t.say(&owner, &team, "hello").await;
    of_bob.expect("entry_added").await;
    owner
        .patch(&owner.author_url(), json!({"emoji": "🦉"}))
        .await
        .ok(200);
    of_hall.expect("author_updated").await;
}

#[tokio::test]
async fn only_members_send_signals_and_only_of_two_kinds() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[]).await;
    owner
        .delete(&format!("/api/rooms/{room}/members/{}", owner.author()))
        .await
        .ok(204);
    let path = format!("/api/rooms/{room}/signals");
    let typing = json!({"kind": "typing", "on": true});
    owner
        .post(&path, typing.clone())
        .await
        .refused(409, "NOT_A_MEMBER");
    ada.post(&path, typing.clone())
        .await
        .refused(404, "ROOM_NOT_FOUND");
    owner
        .post("/api/rooms/x/signals", typing)
        .await
        .refused(404, "ROOM_NOT_FOUND");
    for wrong in [
        json!({}),
        json!({"kind": "typing"}),
        json!({"on": true}),
        json!({"kind": "working", "on": true}),
        json!({"kind": "typing", "on": "yes"}),
        json!({"kind": "typing", "on": true, "documentId": 7}),
        json!({"kind": "typing", "on": true, "documentId": "d".repeat(201)}),
    ] {
        owner
            .post("/api/rooms/x/signals", wrong)
            .await
            .refused(400, "VALIDATION_FAILED");
    }
}
