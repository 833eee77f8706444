//! Members: joining, answering modes, leaving. Source: contract 2.2, "Members".

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::test_values::{column, list, text};

#[tokio::test]
async fn people_add_and_remove_members_and_agents_never_do() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = t.channel(&owner, "Ops", &[]).await;
    let members = format!("/api/rooms/{room}/members");
    t.say(&owner, &room, "before").await;
    t.advance(60);
    let mut events = t.events();
    let joined = owner
        .post(&members, json!({"agentId": ada.agent()}))
        .await
        .ok(201);
    let author = &joined["author"];
    let expected = json!({
        "roomId": room, "authorId": ada.author(), "author": author, "responseMode": "engaged",
        "joinedAt": "2026-09-21T14:14:20.000Z", "joinedSeq": 1, "lastReadSeq": 1, "origin": "local",
    });
    assert_eq!((&joined, &author["id"]), (&expected, &json!(ada.author())));
    assert_eq!(events.next("room_member_added")["member"], joined);
    // Who is in stays as it is.
    let again = json!({"authorId": ada.author(), "responseMode": "silent"});
    assert_eq!(owner.post(&members, again).await.ok(200), joined);
    events.none();
    let kept = owner.get(&members).await.ok(200);
    assert_eq!(
        column(&kept["members"], "authorId"),
        [owner.author(), ada.author()]
    );
    assert_eq!(ada.get(&members).await.ok(200), kept);

    let ask = json!({"authorId": bob.author()});
    ada.post(&members, ask).await.refused(403, "HUMANS_ONLY");
    let own = format!("{members}/{}", ada.author());
    ada.delete(&own).await.refused(403, "HUMANS_ONLY");
    ada.patch(&own, json!({"responseMode": "always"}))
        .await
        .refused(403, "HUMANS_ONLY");
    events.none();

    assert_eq!(owner.delete(&own).await.ok(204), Value::Null);
    let left = json!({"roomId": room, "authorId": ada.author()});
    assert_eq!(events.next("room_member_removed"), left);
    owner.delete(&own).await.refused(404, "MEMBER_NOT_FOUND");
    ada.get(&members).await.refused(404, "ROOM_NOT_FOUND");
}

#[tokio::test]
async fn a_member_answers_as_asked_else_as_its_agent_does_and_always_in_a_direct_message() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ask = json!({"name": "ada", "cwd": t.folder("ada"), "responseMode": "silent"});
    let ada = t.agent_of(ask).await;
    let mode_in = |room: Value| {
        let members = list(&room["members"]).clone();
        let own = members
            .into_iter()
            .find(|member| member["authorId"] == ada.author());
        text(&own.unwrap()["responseMode"])
    };
    let channel = json!({"kind": "channel", "title": "Ops", "memberIds": [ada.author()]});
    assert_eq!(
        mode_in(owner.post("/api/rooms", channel).await.ok(201)),
        "silent"
    );
    let dm = json!({"kind": "dm", "memberIds": [ada.author()]});
    assert_eq!(
        mode_in(owner.post("/api/rooms", dm).await.ok(201)),
        "always"
    );
    let room = t.channel(&owner, "Lab", &[]).await;
    let members = format!("/api/rooms/{room}/members");
    let ask = json!({"agentId": ada.agent(), "responseMode": "mention-only"});
    assert_eq!(
        owner.post(&members, ask).await.ok(201)["responseMode"],
        "mention-only"
    );

    let own = format!("{members}/{}", ada.author());
    let mut events = t.events();
    for mode in ["always", "engaged", "direct-only", "mention-only", "silent"] {
        let changed = owner
            .patch(&own, json!({"responseMode": mode}))
            .await
            .ok(200);
        assert_eq!(changed["responseMode"], mode);
        assert_eq!(events.next("room_member_updated")["member"], changed);
        owner
            .patch(&own, json!({"responseMode": mode}))
            .await
            .ok(200);
        events.none();
    }
    for body in [
        json!({}),
        json!({"responseMode": "loud"}),
        json!({"responseMode": null}),
    ] {
        owner
            .patch(&own, body)
            .await
            .refused(400, "VALIDATION_FAILED");
    }
    let nobody = format!("{members}/x");
    owner
        .patch(&nobody, json!({"responseMode": "loud"}))
        .await
        .refused(400, "VALIDATION_FAILED");
    owner
        .patch(&nobody, json!({"responseMode": "silent"}))
        .await
        .refused(404, "MEMBER_NOT_FOUND");
    let nowhere = format!("/api/rooms/x/members/{}", ada.author());
    owner
        .patch(&nowhere, json!({"responseMode": "silent"}))
        .await
        .refused(404, "ROOM_NOT_FOUND");
    events.none();
}

#[tokio::test]
async fn refusals_of_joining_and_leaving_come_in_order() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, gone) = (t.agent("ada").await, t.agent("gone").await);
    owner
        .delete(&format!("/api/agents/{}", gone.agent()))
        .await
        .ok(200);
    let room = t.channel(&owner, "Ops", &[]).await;
    let members = format!("/api/rooms/{room}/members");
    let system = owner.get("/api/rooms/authors?kind=system").await.ok(200);
    let system = text(&system["authors"][0]["id"]);
    let before = t.rows();
    for (path, ask, status, code) in [
        ("/api/rooms/x/members", json!({}), 400, "VALIDATION_FAILED"),
        (
            "/api/rooms/x/members",
            json!({"authorId": "x", "agentId": "x"}),
            400,
            "VALIDATION_FAILED",
        ),
        (
            "/api/rooms/x/members",
            json!({"authorId": "x"}),
            404,
            "ROOM_NOT_FOUND",
        ),
        (&members, json!({"authorId": "x"}), 404, "AUTHOR_NOT_FOUND"),
        (
            &members,
            json!({"authorId": system}),
            404,
            "AUTHOR_NOT_FOUND",
        ),
        (&members, json!({"agentId": "x"}), 404, "AGENT_NOT_FOUND"),
        (
            &members,
            json!({"agentId": ada.author()}),
            404,
            "AGENT_NOT_FOUND",
        ),
        (
            &members,
            json!({"authorId": gone.author()}),
            409,
            "AUTHOR_RETIRED",
        ),
        (
            &members,
            json!({"agentId": gone.agent()}),
            404,
            "AGENT_NOT_FOUND",
        ),
    ] {
        owner.post(path, ask).await.refused(status, code);
    }
    let team = t.team().await;
    let seat = format!("/api/rooms/{team}/members/{}", owner.author());
    owner.delete(&seat).await.refused(409, "SYSTEM_ROOM");
    owner
        .delete(&format!("/api/rooms/x/members/{}", owner.author()))
        .await
        .refused(404, "ROOM_NOT_FOUND");
    assert_eq!(t.rows(), before);
}

#[tokio::test]
async fn a_room_takes_two_hundred_members() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let mut agents = Vec::new();
    for n in 0..200 {
        let ask =
            json!({"name": format!("a{n}"), "cwd": t.folder(&format!("a{n}")), "joinTeam": false});
        agents.push(text(&owner.post("/api/agents", ask).await.ok(201)["id"]));
    }
    let ask = json!({"kind": "channel", "title": "Full", "agentIds": agents[..50]});
    let room = text(&owner.post("/api/rooms", ask).await.ok(201)["id"]);
    let members = format!("/api/rooms/{room}/members");
    for agent in &agents[50..199] {
        owner
            .post(&members, json!({"agentId": agent}))
            .await
            .ok(201);
    }
    let mut events = t.events();
    let answer = owner.post(&members, json!({"agentId": agents[199]})).await;
    assert_eq!(
        answer.refused(409, "LIMIT_REACHED"),
        json!({"limit": "members"})
    );
    events.none();
}
