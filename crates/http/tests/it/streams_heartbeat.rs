//! Streams at rest: what a heartbeat brings. Source: contract 1.4, 1.10, "Frames".

use guildhall_testkit::TestHall;
use serde_json::Value;

/// One test, since a heartbeat is 15 seconds away and all streams wait for theirs together.
#[tokio::test]
async fn a_heartbeat_tells_the_place_behind_what_is_hidden_and_notices_a_token_that_died() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let team = t.team().await;
    let hidden = t.channel(&owner, "Hidden", &[]).await;
    let mut dying = t.stream(&bob, "/api/events", None).await;
    dying.expect("snapshot").await;
    t.advance(8 * 24 * 3_600);
    let lively = ada
        .clone()
        .with_agent_token(&t.mint(ada.agent(), "fresh").await);
    let mut stream = t.stream(&lively, "/api/events", None).await;
    let mut socket = t.socket(&lively, "/api/events").await;
    let mut narrow = t.stream(&owner, "/api/events?scope=hall", None).await;
    stream.expect("snapshot").await;
    narrow.expect("snapshot").await;
    assert_eq!(socket.next().await.event, "snapshot");

    t.say(&owner, &hidden, "unheard").await;
    let place = t.events().place().unsigned_abs();
    for frame in [
        stream.next().await,
        socket.next().await,
        narrow.next().await,
    ] {
        let found = (frame.event.as_str(), frame.id, frame.data);
        assert_eq!(found, ("position", Some(place), Value::Null));
    }
    dying.end().await;
    // The heartbeat itself comes behind the position, and the stream goes on.
    let said = t.say(&owner, &team, "heard").await;
    for frame in [stream.next().await, socket.next().await] {
        assert_eq!(
            (frame.id, &frame.inner()["entry"]),
            (Some(place + 1), &said)
        );
    }
    assert_eq!((stream.heartbeats, socket.heartbeats), (1, 1));
    // From the position told on, nothing is missed.
    let mut again = t
        .stream(&lively, "/api/events", Some(&place.to_string()))
        .await;
    assert_eq!(again.expect("entry_added").await.inner()["entry"], said);
}
