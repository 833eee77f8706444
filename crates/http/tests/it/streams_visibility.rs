//! Streams: who hears of what. Source: contract 1.10, the table of scopes.

use guildhall_testkit::{StreamFrame, TestCaller, TestHall};
use serde_json::{Value, json};

use crate::test_values::text;

/// What a caller would hear of everything, replayed from the beginning up to a last post in
/// `team`, which everybody there hears.
async fn replay(t: &TestHall, by: &TestCaller, query: &str) -> Vec<StreamFrame> {
    t.say(&t.owner(), &t.team().await, "the end").await;
    let head = t.events().place().unsigned_abs();
    let path = format!("/api/events?after=0{query}");
    t.stream(by, &path, None).await.until(head).await
}

fn names(frames: &[StreamFrame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.event.as_str()).collect()
}

#[tokio::test]
async fn an_agent_hears_of_a_room_from_its_joining_to_its_leaving() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.bystander("ada").await, t.bystander("bob").await);
    let team = t.team().await;
    let mut live = t.stream(&ada, "/api/events", None).await;
    live.expect("snapshot").await;
    let room = t.channel(&owner, "Ops", &[&bob]).await;
    let members = format!("/api/rooms/{room}/members");
    let own = format!("{members}/{}", ada.author());
    t.say(&owner, &room, "hidden before").await;

    let joined = owner
        .post(&members, json!({"agentId": ada.agent()}))
        .await
        .ok(201);
    let shown = t.say(&owner, &room, "shown").await;
    owner.delete(&own).await.ok(204);
    t.say(&owner, &room, "hidden after").await;
    owner
        .patch(&format!("/api/rooms/{room}"), json!({"topic": "hidden"}))
        .await
        .ok(200);
    t.say(&owner, &team, "in between").await;

    assert_eq!(
        live.expect("room_member_added").await.inner()["member"],
        joined
    );
    assert_eq!(live.expect("entry_added").await.inner()["entry"], shown);
    let left = live.expect("room_member_removed").await;
    assert_eq!(
        left.inner(),
        &json!({"roomId": room, "authorId": ada.author()})
    );
    assert_eq!(
        live.expect("entry_added").await.inner()["entry"]["text"],
        "in between"
    );

    // Replayed by the rights of the moment of reading: of the room only the leaving is left.
    let of_room = |frames: Vec<StreamFrame>| -> Vec<StreamFrame> {
        let scope = format!("room:{room}");
        frames
            .into_iter()
            .filter(|frame| frame.data["scope"] == scope)
            .collect()
    };
    let replayed = of_room(replay(&t, &ada, "").await);
    assert_eq!(names(&replayed), ["room_member_removed"]);
    live.expect("entry_added").await;

    // Back again, it hears what comes from then on.
    owner
        .post(&members, json!({"agentId": ada.agent()}))
        .await
        .ok(201);
    let again = t.say(&owner, &room, "again").await;
    live.expect("room_member_added").await;
    assert_eq!(live.expect("entry_added").await.inner()["entry"], again);
    let replayed = of_room(replay(&t, &ada, "").await);
    assert!(names(&replayed).ends_with(&["room_member_added", "entry_added"]));
    assert!(
        !replayed
            .iter()
            .any(|frame| frame.data.to_string().contains("hidden"))
    );
}

#[tokio::test]
async fn a_stream_of_a_room_alone_ends_when_the_room_is_out_of_sight() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let by_route = format!("/api/rooms/{room}/events");
    let by_scope = format!("/api/events?scope=room:{room}");
    let with_hall = format!("{by_scope}&scope=hall");
    let cursor = t.events().place().to_string();
    let mut ending = Vec::new();
    for (path, id) in [
        (&by_route, None),
        (&by_scope, None),
        (&by_route, Some(cursor.as_str())),
    ] {
        ending.push(t.stream(&ada, path, id).await);
        if id.is_none() {
            ending.last_mut().unwrap().expect("snapshot").await;
        }
    }
    let mut staying = t.stream(&ada, &with_hall, None).await;
    staying.expect("snapshot").await;
    let mut socket = t.socket(&ada, &by_route).await;
    assert_eq!(socket.next().await.event, "snapshot");
    let mut of_owner = t.stream(&owner, &by_route, None).await;
    of_owner.expect("snapshot").await;

    owner
        .delete(&format!("/api/rooms/{room}/members/{}", ada.author()))
        .await
        .ok(204);
    t.say(&owner, &room, "unheard").await;
    for stream in &mut ending {
        stream.expect("room_member_removed").await;
        stream.end().await;
    }
    assert_eq!(socket.next().await.event, "room_member_removed");
    assert_eq!(socket.closed().await, 1000);
    of_owner.expect("room_member_removed").await;
    of_owner.expect("entry_added").await;
    staying.expect("room_member_removed").await;
    owner
        .patch(&owner.author_url(), json!({"emoji": "🦉"}))
        .await
        .ok(200);
    staying.expect("author_updated").await;
    ada.get(&by_route).await.refused(404, "ROOM_NOT_FOUND");
}

#[tokio::test]
async fn an_owners_own_events_reach_the_owner_and_the_agent_their_chapter_names() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    t.mint(bob.agent(), "another").await;
    let path = format!("/api/agents/{}/tokens", bob.agent());
    let tokens = owner.get(&path).await.ok(200);
    let last = text(&tokens["tokens"][1]["id"]);
    owner.delete(&format!("{path}/{last}")).await.ok(204);
    owner
        .patch(
            &format!("/api/agents/{}", bob.agent()),
            json!({"model": "m"}),
        )
        .await
        .ok(200);

    let about = |frames: &[StreamFrame], agent: &TestCaller| -> Vec<String> {
        let id = agent.agent();
        let is_about = |frame: &&StreamFrame| {
            frame.inner()["agentId"] == id || frame.inner()["agent"]["id"] == id
        };
        frames
            .iter()
            .filter(is_about)
            .map(|frame| frame.event.clone())
            .collect()
    };
    let all = [
        "agent_created",
        "agent_token_created",
        "agent_token_created",
        "agent_token_revoked",
        "agent_updated",
    ];
    let nothing: [&str; 0] = [];
    let of_owner = replay(&t, &owner, "").await;
    assert_eq!(about(&of_owner, &bob), all);
    let of_bob = replay(&t, &bob, "").await;
    assert_eq!(
        (about(&of_bob, &bob), about(&of_bob, &ada).len()),
        (all.map(str::to_owned).to_vec(), 0)
    );
    let of_ada = replay(&t, &ada, "").await;
    assert_eq!(about(&of_ada, &bob), nothing);
    // Not through the scope of the hall either, not even its own.
    let team = t.team().await;
    let through_hall = replay(&t, &bob, &format!("&scope=hall&scope=room:{team}")).await;
    assert_eq!(about(&through_hall, &bob), nothing);
    let own_scope = format!("/api/events?after=0&scope=agent:{}", bob.agent());
    let mut own = t.stream(&bob, &own_scope, None).await;
    for event in all {
        own.expect(event).await;
    }
}

#[tokio::test]
async fn a_read_cursor_is_told_to_its_person_alone() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let team = t.team().await;
    t.say(&ada, &team, "hello").await;
    let path = format!("/api/rooms/{team}/read-cursor");
    let moved = owner.put(&path, json!({"lastReadSeq": 1})).await.ok(200);
    let of_owner = replay(&t, &owner, "").await;
    let told: Vec<&StreamFrame> = of_owner
        .iter()
        .filter(|frame| frame.event == "read_cursor")
        .collect();
    assert_eq!(told.len(), 1);
    for field in [
        "roomId",
        "authorId",
        "lastReadSeq",
        "unreadCount",
        "mentionCount",
    ] {
        assert_eq!(told[0].inner()[field], moved[field], "{field}");
    }
    let of_ada = replay(&t, &ada, "").await;
    assert!(!names(&of_ada).contains(&"read_cursor"));
}

#[tokio::test]
async fn an_agent_hears_of_authors_and_rooms_it_may_see() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.bystander("ada").await;
    let loner = t
        .agent_of(json!({"name": "zoe", "cwd": t.folder("zoe"), "joinTeam": false}))
        .await;
    let hidden = t.channel(&owner, "Hidden", &[&loner]).await;
    let mut live = t.stream(&ada, "/api/events", None).await;
    live.expect("snapshot").await;
    owner
        .patch(&loner.author_url(), json!({"emoji": "x"}))
        .await
        .ok(200);
    owner
        .patch(&format!("/api/rooms/{hidden}"), json!({"topic": "x"}))
        .await
        .ok(200);
    owner
        .patch(&owner.author_url(), json!({"emoji": "🦉"}))
        .await
        .ok(200);
    let frame = live.expect("author_updated").await;
    assert_eq!(frame.inner()["author"]["id"], owner.author());
    let team = t.team().await;
    owner
        .patch(&format!("/api/rooms/{team}"), json!({"topic": "x"}))
        .await
        .ok(200);
    assert_eq!(
        live.expect("room_updated").await.inner()["room"]["id"],
        team
    );
    let replayed = replay(&t, &ada, "").await;
    for frame in &replayed {
        let words = frame.data.to_string();
        assert!(
            !words.contains(loner.author()) && !words.contains(&hidden),
            "{words}"
        );
    }
    assert_eq!(
        replayed.last().unwrap().inner()["entry"]["text"],
        Value::from("the end")
    );
}
