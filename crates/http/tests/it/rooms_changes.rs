//! Changing rooms: who, what, and in which order it is refused. Source: contract 2.2, 2.9.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::test_values::text;

#[tokio::test]
async fn the_fields_asked_for_change_and_everybody_is_told_once() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let id = t.channel(&owner, "Ops", &[&ada]).await;
    let path = format!("/api/rooms/{id}");
    let mut room = owner.get(&path).await.ok(200);
    let mut events = t.events();
    let overrides = "limitOverrides";
    for (ask, changes) in [
        (json!({"topic": "t"}), vec![("/topic", json!("t"))]),
        (json!({"topic": null}), vec![("/topic", Value::Null)]),
        (json!({"topic": "t"}), vec![("/topic", json!("t"))]),
        (
            json!({"title": " New Name "}),
            vec![("/title", json!("New Name")), ("/slug", json!("new-name"))],
        ),
        (
            json!({"title": "New name"}),
            vec![("/title", json!("New name"))],
        ),
        (
            json!({"ambientMaxEntries": 0}),
            vec![("/ambientMaxEntries", json!(0))],
        ),
        (
            json!({"maxAgentDepth": 0, "maxAutoTurnsPerHour": 10_000}),
            vec![
                ("/maxAgentDepth", json!(0)),
                ("/limitOverrides/maxAgentDepth", json!(0)),
                ("/maxAutoTurnsPerHour", json!(10_000)),
                ("/limitOverrides/maxAutoTurnsPerHour", json!(10_000)),
            ],
        ),
        (
            json!({"turnLimitsEnabled": false, "maxTurnsPerAgentPerCascade": 1}),
            vec![
                ("/turnLimitsEnabled", json!(false)),
                ("/limitOverrides/turnLimitsEnabled", json!(false)),
                ("/maxTurnsPerAgentPerCascade", json!(1)),
                ("/limitOverrides/maxTurnsPerAgentPerCascade", json!(1)),
            ],
        ),
        // The installation's number as the room's own stays the room's own.
        (
            json!({"maxAgentDepth": 30}),
            vec![
                ("/maxAgentDepth", json!(30)),
                ("/limitOverrides/maxAgentDepth", json!(30)),
            ],
        ),
        (
            json!({"turnLimitsEnabled": null, "maxAutoTurnsPerHour": null, "maxAgentDepth": null}),
            vec![
                ("/turnLimitsEnabled", json!(true)),
                ("/limitOverrides/turnLimitsEnabled", Value::Null),
                ("/maxAutoTurnsPerHour", json!(1000)),
                ("/limitOverrides/maxAutoTurnsPerHour", Value::Null),
                ("/limitOverrides/maxAgentDepth", Value::Null),
            ],
        ),
        (
            json!({"fallbackSeatAuthorId": ada.author()}),
            vec![("/fallbackSeatAuthorId", json!(ada.author()))],
        ),
        (
            json!({"fallbackSeatAuthorId": null}),
            vec![("/fallbackSeatAuthorId", json!(""))],
        ),
        (json!({"archived": true}), vec![("/archived", json!(true))]),
        (
            json!({"archived": false, "topic": ""}),
            vec![("/archived", json!(false)), ("/topic", Value::Null)],
        ),
    ] {
        for (field, value) in changes {
            *room.pointer_mut(field).unwrap() = value;
        }
        assert_eq!(owner.patch(&path, ask.clone()).await.ok(200), room, "{ask}");
        assert_eq!(owner.get(&path).await.ok(200), room, "{ask}");
        let told = events.next("room_updated")["room"].clone();
        for (field, value) in told.as_object().unwrap() {
            assert_eq!(&room[field], value, "{field} in the event after {ask}");
        }
        for own in [
            "unreadCount",
            "mentionCount",
            "participants",
            "viewerHasPosted",
            "members",
        ] {
            assert!(
                told.get(own).is_none(),
                "an event has no viewer, so no {own}"
            );
        }
        // The same again changes nothing.
        assert_eq!(owner.patch(&path, ask).await.ok(200), room);
        events.none();
    }
    for ask in [
        json!({}),
        json!({"unknown": 1}),
        json!({"fallbackSeatAuthorId": ""}),
    ] {
        assert_eq!(owner.patch(&path, ask).await.ok(200), room);
    }
    assert!(room[overrides].is_object());
    events.none();
}

#[tokio::test]
async fn refusals_come_in_the_order_of_the_table_and_change_nothing() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let ops = format!("/api/rooms/{}", t.channel(&owner, "Ops", &[&ada]).await);
    let team = format!("/api/rooms/{}", t.team().await);
    let unknown = "/api/rooms/x".to_owned();
    let before = t.rows();
    let none = "01980000-0000-7000-8000-000000000000";
    for (path, ask, status, code) in [
        (
            &unknown,
            json!({"ambientMaxEntries": 201}),
            400,
            "VALIDATION_FAILED",
        ),
        (&unknown, json!({"title": "x"}), 404, "ROOM_NOT_FOUND"),
        (
            &ops,
            json!({"fallbackSeatAuthorId": bob.author()}),
            404,
            "MEMBER_NOT_FOUND",
        ),
        (
            &ops,
            json!({"fallbackSeatAuthorId": owner.author()}),
            404,
            "MEMBER_NOT_FOUND",
        ),
        (
            &ops,
            json!({"fallbackSeatAuthorId": none}),
            404,
            "MEMBER_NOT_FOUND",
        ),
        (
            &team,
            json!({"fallbackSeatAuthorId": none, "archived": true}),
            404,
            "MEMBER_NOT_FOUND",
        ),
        (&team, json!({"archived": true}), 409, "SYSTEM_ROOM"),
        (
            &team,
            json!({"archived": true, "deliverNotices": true}),
            409,
            "SYSTEM_ROOM",
        ),
        (&ops, json!({"title": "Team"}), 409, "SLUG_TAKEN"),
        (&ops, json!({"title": "日本"}), 400, "INVALID_SLUG"),
        (
            &ops,
            json!({"deliverNotices": true}),
            409,
            "NOT_A_BRIDGED_ROOM",
        ),
        (
            &ops,
            json!({"deliverNotices": null, "topic": "t"}),
            409,
            "NOT_A_BRIDGED_ROOM",
        ),
    ] {
        owner.patch(path, ask).await.refused(status, code);
    }
    assert_eq!(t.rows(), before);
}

#[tokio::test]
async fn a_taken_slug_is_told_before_the_missing_bridge() {
    let t = TestHall::open().await;
    let ops = t.channel(&t.owner(), "Ops", &[]).await;
    let ask = json!({"title": "Team", "deliverNotices": true});
    let answer = t.owner().patch(&format!("/api/rooms/{ops}"), ask).await;
    answer.refused(409, "SLUG_TAKEN");
}

#[tokio::test]
async fn an_archived_channel_frees_its_slug_and_needs_a_free_one_to_come_back() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let old = format!("/api/rooms/{}", t.channel(&owner, "Ops", &[]).await);
    owner.patch(&old, json!({"archived": true})).await.ok(200);
    let new = format!("/api/rooms/{}", t.channel(&owner, "Ops", &[]).await);
    let mut events = t.events();
    owner
        .patch(&old, json!({"archived": false}))
        .await
        .refused(409, "SLUG_TAKEN");
    events.none();
    let both = json!({"archived": false, "title": "Old Ops"});
    assert_eq!(owner.patch(&old, both).await.ok(200)["slug"], "old-ops");
    owner
        .patch(&new, json!({"title": "Old ops"}))
        .await
        .refused(409, "SLUG_TAKEN");
    owner.patch(&new, json!({"title": "OPS"})).await.ok(200);
}

#[tokio::test]
async fn the_seat_of_team_falls_to_the_first_agent_that_is_a_member() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let team = t.team().await;
    let seat = || async {
        text(&owner.get(&format!("/api/rooms/{team}")).await.ok(200)["fallbackSeatAuthorId"])
    };
    assert_eq!(seat().await, "");
    let ada = t.agent("ada").await;
    let bob = t.agent("bob").await;
    assert_eq!(seat().await, ada.author());
    let path = format!("/api/rooms/{team}");
    owner
        .patch(&path, json!({"fallbackSeatAuthorId": bob.author()}))
        .await
        .ok(200);
    assert_eq!(seat().await, bob.author());
    // A seat that leaves is vacated, and the default agent has it again.
    owner
        .delete(&format!("{path}/members/{}", bob.author()))
        .await
        .ok(204);
    assert_eq!(seat().await, ada.author());
    owner
        .delete(&format!("{path}/members/{}", ada.author()))
        .await
        .ok(204);
    assert_eq!(seat().await, "", "the default agent is no member");
    owner
        .post(&format!("{path}/members"), json!({"agentId": ada.agent()}))
        .await
        .ok(201);
    owner
        .delete(&format!("/api/agents/{}", ada.agent()))
        .await
        .ok(200);
    assert_eq!(seat().await, "", "the next agent is no member either");
    owner
        .post(&format!("{path}/members"), json!({"agentId": bob.agent()}))
        .await
        .ok(201);
    assert_eq!(seat().await, bob.author());
}
