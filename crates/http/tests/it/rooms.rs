//! Rooms: what is listed to whom, making and changing them. Source: spec, "GET /api/rooms";
//! contract 2.2.

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::test_values::{column, list, listed, text};

async fn titles(by: &TestCaller, query: &str) -> Vec<String> {
    let rooms = by.get(&format!("/api/rooms{query}")).await.ok(200);
    assert_eq!(rooms["warnings"], json!([]));
    column(&rooms["rooms"], "title")
}

async fn dm(t: &TestHall, with: &[&TestCaller]) -> String {
    let ids: Vec<&str> = with.iter().map(|member| member.author()).collect();
    let ask = json!({"kind": "dm", "memberIds": ids});
    text(&t.owner().post("/api/rooms", ask).await.ok(201)["id"])
}

#[tokio::test]
async fn a_field_of_a_room_is_null_only_where_there_is_none() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    t.channel(&t.owner(), "Ops", &[]).await;
    t.channel(&t.owner(), "Lab", &[&ada]).await;
    dm(&t, &[&ada]).await;
    dm(&t, &[&ada, &bob]).await;
    let archived = t.channel(&t.owner(), "Old", &[&bob]).await;
    let path = format!("/api/rooms/{archived}");
    t.owner()
        .patch(&path, json!({"archived": true}))
        .await
        .ok(200);
    for caller in [t.owner(), ada, bob] {
        let me = caller.author().to_owned();
        let rooms = caller.get("/api/rooms?includeArchived=1").await.ok(200);
        for room in list(&rooms["rooms"]) {
            let detail = caller
                .get(&format!("/api/rooms/{}", text(&room["id"])))
                .await
                .ok(200);
            let is_member = column(&detail["members"], "authorId").contains(&me);
            for (field, value) in room.as_object().unwrap() {
                let may_be_null = match field.as_str() {
                    "bridge" => true,
                    "unreadCount" | "mentionCount" => !is_member,
                    "participants" => room["kind"] == "channel",
                    "slug" => room["kind"] == "dm",
                    "topic" | "wellKnown" => room["slug"] != "team",
                    _ => false,
                };
                assert_eq!(value.is_null(), may_be_null, "{field} of {room}");
                assert_eq!(
                    &detail[field], value,
                    "the listing and the room agree on {field}"
                );
            }
            if room["kind"] == "dm" {
                let members: Vec<Value> = list(&detail["members"])
                    .iter()
                    .map(|member| member["author"].clone())
                    .collect();
                assert_eq!(room["participants"], json!(members));
            }
        }
    }
}

#[tokio::test]
async fn a_person_sees_every_room_and_an_agent_exactly_its_own() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    t.channel(&t.owner(), "Ops", &[]).await;
    t.advance(1);
    t.channel(&t.owner(), "Lab", &[&ada]).await;
    t.advance(1);
    let made_by_bob = t.channel(&bob, "Bobs", &[&t.owner()]).await;
    assert_eq!(titles(&t.owner(), "").await, ["Bobs", "Lab", "Ops", "Team"]);
    assert_eq!(titles(&ada, "").await, ["Lab", "Team"]);
    assert_eq!(titles(&bob, "").await, ["Bobs", "Team"]);
    t.stranger()
        .get("/api/rooms")
        .await
        .refused(401, "NOT_THE_OWNER");
    t.unverifiable()
        .get("/api/rooms?includeArchived=maybe")
        .await
        .refused(401, "AGENT_IDENTITY_UNVERIFIED");
    // Who leaves a room sees it no more.
    let member = format!("/api/rooms/{made_by_bob}/members/{}", bob.author());
    t.owner().delete(&member).await.ok(204);
    assert_eq!(titles(&bob, "").await, ["Team"]);
}

#[tokio::test]
async fn an_unknown_room_and_one_out_of_sight_give_the_same_answer() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let hidden = t.channel(&t.owner(), "Ops", &[]).await;
    let entry = text(&t.say(&t.owner(), &hidden, "secret").await["id"]);
    let unknown = "01980000-0000-7000-8000-000000000000";
    for (method, rest, body) in [
        ("GET", String::new(), Value::Null),
        ("GET", "/members".to_owned(), Value::Null),
        ("GET", "/entries".to_owned(), Value::Null),
        ("GET", format!("/entries/{entry}"), Value::Null),
        ("GET", "/events".to_owned(), Value::Null),
        ("POST", "/entries".to_owned(), json!({"text": "hello"})),
        (
            "POST",
            "/signals".to_owned(),
            json!({"kind": "typing", "on": true}),
        ),
    ] {
        let mut answers = Vec::new();
        for room in [hidden.as_str(), unknown, "x"] {
            let path = format!("/api/rooms/{room}{rest}");
            let ask = ada.ask(method, &path).header("x-request-id", "same");
            let ask = if body.is_null() { ask } else { ask.json(&body) };
            let answer = ask.send().await;
            let mut headers: Vec<String> = answer
                .headers
                .iter()
                .map(|(name, value)| format!("{name}: {value:?}"))
                .collect();
            headers.retain(|line| !line.starts_with("date"));
            answers.push((answer.status, headers, answer.text()));
            answer.refused(404, "ROOM_NOT_FOUND");
        }
        assert_eq!(answers[0], answers[1], "{method} {rest}");
        assert_eq!(answers[0], answers[2], "{method} {rest}");
    }
    for room in [&hidden, unknown] {
        let path = format!("/api/events?scope=room:{room}");
        ada.get(&path).await.refused(404, "ROOM_NOT_FOUND");
    }
    let bob = t.agent("bob").await;
    for agent in [bob.agent(), unknown, "x"] {
        ada.get(&format!("/api/agents/{agent}"))
            .await
            .refused(404, "AGENT_NOT_FOUND");
        ada.get(&format!("/api/events?scope=agent:{agent}"))
            .await
            .refused(404, "AGENT_NOT_FOUND");
    }
}

#[tokio::test]
async fn archived_rooms_are_listed_when_asked_for() {
    let t = TestHall::open().await;
    let old = t.channel(&t.owner(), "Old", &[]).await;
    t.advance(1);
    let path = format!("/api/rooms/{old}");
    t.owner()
        .patch(&path, json!({"archived": true}))
        .await
        .ok(200);
    for (value, shown) in [
        ("true", true),
        ("1", true),
        ("false", false),
        ("0", false),
        ("null", false),
        ("", false),
    ] {
        let expected: &[&str] = if shown { &["Old", "Team"] } else { &["Team"] };
        let query = format!("?includeArchived={value}");
        assert_eq!(titles(&t.owner(), &query).await, expected, "{value:?}");
    }
    assert_eq!(titles(&t.owner(), "").await, ["Team"]);
    for value in [
        "maybe",
        "TRUE",
        "yes",
        "2",
        "NULL",
        "%20",
        "true&includeArchived=true",
    ] {
        let query = format!("/api/rooms?includeArchived={value}");
        let details = t
            .owner()
            .get(&query)
            .await
            .refused(400, "VALIDATION_FAILED");
        assert_eq!(
            crate::test_values::wrong_fields(&details),
            ["includeArchived"],
            "{value}"
        );
    }
}

#[tokio::test]
async fn rooms_are_listed_by_their_last_entry_then_id_newest_first() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.bystander("ada").await;
    let ids = [
        t.channel(&owner, "One", &[]).await,
        t.channel(&owner, "Two", &[]).await,
        dm(&t, &[&ada]).await,
    ];
    // What the agent would answer moved the room too.
    let seat = format!("/api/rooms/{}/members/{}", ids[2], ada.author());
    let silent = json!({"responseMode": "silent"});
    owner.patch(&seat, silent).await.ok(200);
    let order = || async {
        let rooms = owner.get("/api/rooms").await.ok(200);
        column(&rooms["rooms"], "id")
    };
    let team = t.team().await;
    let mut by_id = vec![ids[0].clone(), ids[1].clone(), ids[2].clone(), team.clone()];
    by_id.sort();
    by_id.reverse();
    assert_eq!(
        order().await,
        by_id,
        "made in one moment, so the id decides"
    );
    for room in [&ids[0], &team, &ids[2], &ids[1], &ids[0]] {
        t.advance(1);
        t.say(&owner, room, "hello").await;
        assert_eq!(&order().await[0], room);
    }
    // Nothing but an entry moves a room.
    t.advance(1);
    let path = format!("/api/rooms/{team}");
    let before = order().await;
    owner.patch(&path, json!({"topic": "new"})).await.ok(200);
    owner
        .put(&format!("{path}/read-cursor"), json!({"lastReadSeq": 1}))
        .await
        .ok(200);
    assert_eq!(order().await, before);
    // The kind filter keeps the order.
    let dms = owner.get("/api/rooms?kind=dm").await.ok(200);
    assert_eq!(column(&dms["rooms"], "id"), [ids[2].clone()]);
    let channels = owner.get("/api/rooms?kind=channel").await.ok(200);
    let expected: Vec<String> = before.into_iter().filter(|id| *id != ids[2]).collect();
    assert_eq!(column(&channels["rooms"], "id"), expected);
}

#[tokio::test]
async fn counts_and_marks_are_the_callers_own() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    owner
        .patch(&owner.handle_url(), json!({"handle": "boss"}))
        .await
        .ok(200);
    t.say(&ada, &room, "hello @boss").await;
    t.say(&ada, &room, "again").await;
    t.say(&owner, &room, "yes @ada @boss").await;
    let marks = |room: Value| {
        (
            room["unreadCount"].clone(),
            room["mentionCount"].clone(),
            room["viewerHasPosted"].clone(),
        )
    };
    assert_eq!(
        marks(listed(&owner, &room).await),
        (json!(2), json!(1), json!(true))
    );
    assert_eq!(
        marks(listed(&ada, &room).await),
        (json!(1), json!(1), json!(true))
    );
    let me = format!("/api/rooms/{room}/members/{}", owner.author());
    owner.delete(&me).await.ok(204);
    assert_eq!(
        marks(listed(&owner, &room).await),
        (Value::Null, Value::Null, json!(true))
    );
    let detail = ada.get(&format!("/api/rooms/{room}")).await.ok(200);
    assert_eq!(column(&detail["formerAuthors"], "id"), [owner.author()]);
}
