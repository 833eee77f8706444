//! Making rooms: their first state, their names, and who must be in them. Source: contract 2.2.

use guildhall_testkit::{TestHall, TestResponse};
use serde_json::{Value, json};

use crate::test_values::{column, text};

#[tokio::test]
async fn a_new_room_has_every_field_and_null_where_there_is_none() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let made = owner
        .post(
            "/api/rooms",
            json!({"kind": "channel", "title": " Release  Train! "}),
        )
        .await
        .ok(201);
    let me = owner.get("/api/rooms/authors/me").await.ok(200);
    let mut summary = me.clone();
    summary.as_object_mut().unwrap().remove("retired");
    let now = "2026-09-21T14:13:20.000Z";
    let expected = json!({
        "id": made["id"], "kind": "channel", "slug": "release-train", "title": "Release  Train!",
        "topic": null, "archived": false, "ambientMaxEntries": 30, "wellKnown": null,
        "fallbackSeatAuthorId": "", "turnLimitsEnabled": true, "maxAgentDepth": 30,
        "maxTurnsPerAgentPerCascade": 10, "maxAutoTurnsPerHour": 1000,
        "limitOverrides": {"turnLimitsEnabled": null, "maxAgentDepth": null,
            "maxTurnsPerAgentPerCascade": null, "maxAutoTurnsPerHour": null},
        "createdAt": now, "lastActivityAt": now, "bridge": null, "unreadCount": 0,
        "mentionCount": 0, "participants": null, "working": 0, "viewerHasPosted": false,
        "members": [{
            "roomId": made["id"], "authorId": owner.author(), "author": summary,
            "responseMode": "engaged", "joinedAt": now, "joinedSeq": 0, "lastReadSeq": 0,
            "origin": "local",
        }],
        "formerAuthors": [], "viewerAuthorId": owner.author(), "viewerIsOwner": true,
        "deliverNotices": null, "workingAgents": [],
    });
    assert_eq!(made, expected);
    let path = format!("/api/rooms/{}", text(&made["id"]));
    assert_eq!(owner.get(&path).await.ok(200), expected);
}

#[tokio::test]
async fn a_direct_message_with_the_same_members_is_found_again() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let with_ada = json!({"kind": "dm", "memberIds": [ada.author()]});
    let made = owner.post("/api/rooms", with_ada.clone()).await.ok(201);
    let me = owner.get("/api/rooms/authors/me").await.ok(200);
    assert_eq!((&made["slug"], &made["kind"]), (&Value::Null, &json!("dm")));
    assert_eq!(made["title"], format!("{}, ada", text(&me["displayName"])));
    let mut events = t.events();
    for again in [
        with_ada.clone(),
        json!({"kind": "dm", "agentIds": [ada.agent()]}),
        json!({"kind": "dm", "title": "Other", "agentIds": [ada.agent()], "memberIds": [ada.author(), owner.author()]}),
    ] {
        assert_eq!(owner.post("/api/rooms", again).await.ok(200), made);
    }
    events.none();
    let both = json!({"kind": "dm", "memberIds": [bob.author(), ada.author()]});
    let three = owner.post("/api/rooms", both).await.ok(201);
    assert_ne!(three["id"], made["id"]);
    assert_eq!(
        text(&three["title"]),
        format!("{}, bob, ada", text(&me["displayName"]))
    );
    // Found in the archive it comes out again.
    let path = format!("/api/rooms/{}", text(&made["id"]));
    owner.patch(&path, json!({"archived": true})).await.ok(200);
    events.all();
    assert_eq!(
        owner.post("/api/rooms", with_ada.clone()).await.ok(200),
        made
    );
    assert_eq!(
        events.next("room_updated")["room"]["archived"],
        json!(false)
    );
    // Its title follows its members' names until somebody names it.
    owner
        .patch(&ada.author_url(), json!({"displayName": "Ada L."}))
        .await
        .ok(200);
    let renamed = owner.get(&path).await.ok(200);
    assert_eq!(
        renamed["title"],
        format!("{}, Ada L.", text(&me["displayName"]))
    );
    owner.patch(&path, json!({"title": "Us"})).await.ok(200);
    owner
        .patch(&ada.author_url(), json!({"displayName": "Ada"}))
        .await
        .ok(200);
    assert_eq!(owner.get(&path).await.ok(200)["title"], "Us");
    for alone in [
        json!({"kind": "dm"}),
        json!({"kind": "dm", "title": "x", "slug": "x"}),
    ] {
        owner
            .post("/api/rooms", alone)
            .await
            .refused(400, "VALIDATION_FAILED");
    }
}

#[tokio::test]
async fn a_channel_gets_its_slug_from_the_ask_or_the_title_and_keeps_it_for_itself() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let make = |ask: Value| async { owner.post("/api/rooms", ask).await };
    let channel =
        |title: &str, slug: &str| json!({"kind": "channel", "title": title, "slug": slug});
    let long = "a".repeat(80);
    for (ask, slug, title) in [
        (json!({"kind": "channel", "slug": "ops"}), "ops", "#ops"),
        (
            channel("Night", "0-night--shift-"),
            "0-night--shift-",
            "Night",
        ),
        (
            json!({"kind": "channel", "title": "Über: Größe 9"}),
            "ber-gr-e-9",
            "Über: Größe 9",
        ),
        (channel("Long", &long), long.as_str(), "Long"),
    ] {
        let made = make(ask).await.ok(201);
        assert_eq!(
            (text(&made["slug"]), text(&made["title"])),
            (slug.to_owned(), title.to_owned())
        );
    }
    let mut events = t.events();
    let too_long = "a".repeat(81);
    for slug in ["", "-x", "X", "a b", "ä", "a_b", &too_long] {
        make(channel("Fine", slug))
            .await
            .refused(400, "INVALID_SLUG");
    }
    make(json!({"kind": "channel", "title": "日本"}))
        .await
        .refused(400, "INVALID_SLUG");
    make(json!({"kind": "channel"}))
        .await
        .refused(400, "VALIDATION_FAILED");
    make(channel("Ops", "ops")).await.refused(409, "SLUG_TAKEN");
    make(json!({"kind": "channel", "title": "TEAM!"}))
        .await
        .refused(409, "SLUG_TAKEN");
    // In the order of the table: what is wrong with the ask, what is missing, what is taken.
    let none = "01980000-0000-7000-8000-000000000000";
    let ask =
        |slug: &str, member: &str| json!({"kind": "channel", "slug": slug, "memberIds": [member]});
    make(ask("-", none)).await.refused(400, "INVALID_SLUG");
    make(ask("ops", none))
        .await
        .refused(404, "AUTHOR_NOT_FOUND");
    let ask = json!({"kind": "channel", "slug": "ops", "agentIds": [none]});
    make(ask).await.refused(404, "AGENT_NOT_FOUND");
    events.none();
}

#[tokio::test]
async fn a_room_of_two_agents_or_made_by_one_needs_the_owner() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    for ask in [
        json!({"kind": "channel", "title": "Mine"}),
        json!({"kind": "dm", "memberIds": [bob.author()]}),
    ] {
        ada.post("/api/rooms", ask)
            .await
            .refused(409, "OWNER_MUST_BE_PRESENT");
    }
    let mine = t.channel(&ada, "Mine", &[&owner]).await;
    let detail = ada.get(&format!("/api/rooms/{mine}")).await.ok(200);
    assert_eq!(
        column(&detail["members"], "authorId"),
        [ada.author(), owner.author()]
    );
    assert_eq!(
        (&detail["viewerIsOwner"], &detail["viewerAuthorId"]),
        (&json!(false), &json!(ada.author()))
    );

    let leave = |room: &str| format!("/api/rooms/{room}/members/{}", owner.author());
    owner
        .delete(&leave(&mine))
        .await
        .refused(409, "OWNER_MUST_BE_PRESENT");
    let two = t.channel(&owner, "Two", &[&ada, &bob]).await;
    owner
        .delete(&leave(&two))
        .await
        .refused(409, "OWNER_MUST_BE_PRESENT");
    let one = t.channel(&owner, "One", &[&ada]).await;
    owner.delete(&leave(&one)).await.ok(204);
    let members = format!("/api/rooms/{one}/members");
    let mut events = t.events();
    owner
        .post(&members, json!({"agentId": bob.agent()}))
        .await
        .refused(409, "OWNER_MUST_BE_PRESENT");
    events.none();
    owner
        .post(&members, json!({"authorId": owner.author()}))
        .await
        .ok(201);
    owner
        .post(&members, json!({"agentId": bob.agent()}))
        .await
        .ok(201);
    // An agent invites only whom it may know of.
    let eve = t
        .agent_of(json!({"name": "eve", "cwd": t.folder("eve"), "joinTeam": false}))
        .await;
    let ask = json!({"kind": "channel", "title": "X", "memberIds": [owner.author(), eve.author()]});
    ada.post("/api/rooms", ask)
        .await
        .refused(404, "AUTHOR_NOT_FOUND");
    let ask = json!({"kind": "channel", "title": "X", "memberIds": [owner.author()], "agentIds": [eve.agent()]});
    ada.post("/api/rooms", ask)
        .await
        .refused(404, "AGENT_NOT_FOUND");
}

#[tokio::test]
async fn a_taken_slug_is_told_before_the_missing_owner() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let ask = json!({"kind": "channel", "title": "Team"});
    ada.post("/api/rooms", ask).await.refused(409, "SLUG_TAKEN");
}

#[tokio::test]
async fn of_two_who_make_the_same_thing_at_once_one_makes_it() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let statuses = |first: &TestResponse, second: &TestResponse| {
        let mut both = [first.status, second.status];
        both.sort_unstable();
        both
    };
    for round in 0..10 {
        let channel = json!({"kind": "channel", "title": format!("Room {round}")});
        let (first, second) = tokio::join!(
            owner.post("/api/rooms", channel.clone()),
            owner.post("/api/rooms", channel.clone()),
        );
        assert_eq!(statuses(&first, &second), [201, 409]);

        let ask = json!({"name": "x", "cwd": t.folder(&format!("x{round}"))});
        let (first, second) = tokio::join!(
            owner.post("/api/agents", ask.clone()),
            owner.post("/api/agents", ask.clone()),
        );
        assert_eq!(statuses(&first, &second), [201, 409]);

        let made = if first.status == 201 { first } else { second };
        let dm = json!({"kind": "dm", "agentIds": [ada.agent(), made.body["id"]]});
        let (first, second) = tokio::join!(
            owner.post("/api/rooms", dm.clone()),
            owner.post("/api/rooms", dm.clone()),
        );
        assert_eq!(statuses(&first, &second), [200, 201]);
        assert_eq!(first.body, second.body);

        let room = format!("/api/rooms/{}/members", t.team().await);
        let seat = format!("{room}/{}", ada.author());
        owner.delete(&seat).await.ok(204);
        let join = json!({"authorId": ada.author()});
        let mut events = t.events();
        let (first, second) = tokio::join!(
            owner.post(&room, join.clone()),
            owner.post(&room, join.clone()),
        );
        assert_eq!(statuses(&first, &second), [200, 201]);
        assert_eq!(first.body, second.body);
        let joined = |name: &&String| *name == "room_member_added";
        assert_eq!(events.names().iter().filter(joined).count(), 1);
    }
}
