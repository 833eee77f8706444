//! Canvas documents: the rows of PATCH and of editing locks. Source: contract 2.5.

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::{
    canvas::{at, of, open, order, page},
    test_values::text,
};

/// Every kind of change a PATCH can ask for.
fn every_body() -> [Value; 8] {
    let content = page(9)["content"].clone();
    [
        json!({}),
        json!({"activate": false}),
        json!({"activate": true}),
        json!({"pinned": true}),
        json!({"pinned": false}),
        json!({"content": content}),
        json!({"content": content, "pinned": true}),
        json!({"content": content, "pinned": true, "activate": true}),
    ]
}

async fn edit(
    by: &TestCaller,
    room: &str,
    document: &Value,
    editing: bool,
) -> guildhall_testkit::TestResponse {
    let path = format!("{}/editing", at(room, document));
    by.post(&path, json!({"editing": editing})).await
}

#[tokio::test]
async fn each_patch_changes_what_it_asks_for_and_is_told_once_by_its_last_change() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let mut document = open(&owner, &room, 1).await;
    let other = open(&owner, &room, 2).await;
    let path = at(&room, &document);
    let mut events = t.events();
    let mut front = 2;
    let shown = |n: u64| json!({"type": "json", "data": n, "title": "JSON data"});
    for (ask, told) in [
        (json!({}), None),
        (json!({"unknown": 1}), None),
        (json!({"activate": false}), None),
        (json!({"pinned": false}), None),
        (json!({"pinned": true}), Some("pinned")),
        (json!({"pinned": true}), None),
        (json!({"pinned": true, "activate": false}), None),
        (json!({"activate": true}), Some("activated")),
        (json!({"activate": true}), Some("activated")),
        (json!({"content": shown(1)}), Some("updated")),
        (json!({"content": shown(1)}), Some("updated")),
        (
            json!({"content": shown(2), "pinned": true}),
            Some("updated"),
        ),
        (
            json!({"content": shown(3), "pinned": false}),
            Some("pinned"),
        ),
        (json!({"pinned": true, "activate": true}), Some("activated")),
        (
            json!({"content": shown(4), "activate": true}),
            Some("activated"),
        ),
        (
            json!({"content": shown(5), "pinned": false, "activate": true}),
            Some("activated"),
        ),
    ] {
        t.advance(1);
        let before = document.clone();
        document = ada.patch(&path, ask.clone()).await.ok(200);
        let Some(change) = told else {
            assert_eq!(document, before, "{ask}");
            events.none();
            continue;
        };
        let mut expected = before;
        let now = document["lastActiveAt"].clone();
        expected["rev"] = (expected["rev"].as_u64().unwrap() + 1).into();
        if let Some(content) = ask.get("content") {
            expected["content"] = content.clone();
            expected["title"] = "JSON data".into();
            expected["contentType"] = "json".into();
            expected["lastTouchedBy"] = ada.author().into();
            expected["lastTouchedAt"] = now.clone();
            expected["lastActiveAt"] = now.clone();
        }
        if let Some(pinned) = ask.get("pinned") {
            expected["pinned"] = pinned.clone();
        }
        if ask["activate"] == true {
            front += 1;
            expected["position"] = front.into();
            expected["lastActiveAt"] = now;
        }
        assert_eq!(document, expected, "{ask}");
        let event = json!({"document": expected, "change": change});
        assert_eq!(events.next("canvas_document"), event, "{ask}");
        assert_eq!(owner.get(&path).await.ok(200), document, "{ask}");
        assert_eq!(owner.get(&at(&room, &other)).await.ok(200), other, "{ask}");
    }
    assert_eq!(document["lastActiveAt"], "2026-09-21T14:13:36.000Z");
}

#[tokio::test]
async fn activating_again_leaves_the_document_first_and_the_rest_in_their_order() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.team().await;
    let mut ids = Vec::new();
    for n in 0..4 {
        ids.push(open(&owner, &room, n).await);
    }
    let expected: Vec<String> = [1, 3, 2, 0].map(|n: usize| text(&ids[n]["id"])).into();
    for _ in 0..3 {
        let path = at(&room, &ids[1]);
        owner.patch(&path, json!({"activate": true})).await.ok(200);
        assert_eq!(order(&owner, &room).await, expected);
    }
}

#[tokio::test]
async fn every_patch_of_an_archived_room_is_refused_and_the_document_unchanged() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let document = open(&owner, &room, 1).await;
    let archive = json!({"archived": true});
    owner
        .patch(&format!("/api/rooms/{room}"), archive)
        .await
        .ok(200);
    let before = t.rows();
    for body in every_body() {
        let answer = owner.patch(&at(&room, &document), body).await;
        answer.refused(409, "ROOM_ARCHIVED");
    }
    assert_eq!(t.rows(), before);
}

#[tokio::test]
async fn who_edits_hinders_every_change_by_others_for_45_seconds_and_never_itself() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let document = open(&owner, &room, 1).await;
    let path = at(&room, &document);
    let mut events = t.events();
    let free = json!({"editingBy": "", "expiresAt": null});
    assert_eq!(edit(&ada, &room, &document, false).await.ok(200), free);
    events.none();

    let held = |until: &str| json!({"editingBy": ada.author(), "expiresAt": until});
    let until = held("2026-09-21T14:14:05.000Z");
    assert_eq!(edit(&ada, &room, &document, true).await.ok(200), until);
    let mut edited = document.clone();
    edited["editingBy"] = ada.author().into();
    let told = json!({"document": edited, "change": "editing"});
    assert_eq!(events.next("canvas_document"), told);
    assert_eq!(
        owner.get(&path).await.ok(200),
        edited,
        "the lock moves no rev"
    );

    // A prolongation is not told, and giving back another's lock changes nothing.
    t.advance(15);
    let until = held("2026-09-21T14:14:20.000Z");
    assert_eq!(edit(&ada, &room, &document, true).await.ok(200), until);
    assert_eq!(edit(&owner, &room, &document, false).await.ok(200), until);
    t.advance(44);
    let before = t.rows();
    for body in every_body() {
        let answer = owner.patch(&path, body).await;
        assert_eq!(answer.refused(409, "CANVAS_BEING_EDITED"), until);
    }
    for answer in [
        owner.delete(&path).await,
        owner.post(&of(&room), page(1)).await,
        edit(&owner, &room, &document, true).await,
    ] {
        assert_eq!(answer.refused(409, "CANVAS_BEING_EDITED"), until);
    }
    assert_eq!(t.rows(), before);
    for body in every_body() {
        assert_eq!(
            ada.patch(&path, body).await.ok(200)["editingBy"],
            ada.author()
        );
    }
    assert_eq!(
        ada.post(&of(&room), page(1)).await.ok(200)["editingBy"],
        ada.author()
    );

    t.advance(1);
    assert_eq!(owner.get(&path).await.ok(200)["editingBy"], Value::Null);
    assert_eq!(
        owner.get(&of(&room)).await.ok(200)["documents"][0]["editingBy"],
        Value::Null
    );
    for body in every_body() {
        assert_eq!(
            owner.patch(&path, body).await.ok(200)["editingBy"],
            Value::Null
        );
    }
    edit(&owner, &room, &document, true).await.ok(200);
    ada.delete(&path).await.refused(409, "CANVAS_BEING_EDITED");
    assert_eq!(edit(&owner, &room, &document, false).await.ok(200), free);
    ada.delete(&path).await.ok(204);
}

#[tokio::test]
async fn a_lock_outlives_a_restart_and_ends_in_time() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let document = open(&owner, &room, 1).await;
    edit(&ada, &room, &document, true).await.ok(200);
    t.restart().await;
    let path = at(&room, &document);
    assert_eq!(owner.get(&path).await.ok(200)["editingBy"], ada.author());
    owner
        .patch(&path, json!({}))
        .await
        .refused(409, "CANVAS_BEING_EDITED");
    t.advance(45);
    owner.patch(&path, json!({})).await.ok(200);
    assert_eq!(owner.get(&path).await.ok(200), document);
}

#[tokio::test]
async fn the_end_of_an_edit_is_told_when_its_time_is_over() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let document = open(&owner, &room, 1).await;
    edit(&owner, &room, &document, true).await.ok(200);
    let after = t.events().place().to_string();
    let path = format!("/api/rooms/{room}/events");
    let mut stream = t.stream(&owner, &path, Some(&after)).await;
    t.advance(45);
    let frame = stream.expect("canvas_document").await;
    assert_eq!(frame.data["actorId"], Value::Null);
    let told = json!({"document": document, "change": "editing"});
    assert_eq!(frame.inner(), &told);
    assert!(!t.hall().end_expired_edits().await.unwrap());
}

#[tokio::test]
async fn who_leaves_a_room_edits_nothing_there_any_more() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let other = t.channel(&owner, "Lab", &[&ada]).await;
    let (here, there) = (open(&owner, &room, 1).await, open(&owner, &other, 1).await);
    edit(&ada, &room, &here, true).await.ok(200);
    edit(&ada, &other, &there, true).await.ok(200);
    let mut events = t.events();
    let seat = format!("/api/rooms/{room}/members/{}", ada.author());
    owner.delete(&seat).await.ok(204);
    let told = events.all();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(
        told[0]["data"],
        json!({"document": here, "change": "editing"})
    );
    assert_eq!(told[1]["type"], "room_member_removed");
    assert_eq!(owner.get(&at(&room, &here)).await.ok(200), here);
    let still = owner.get(&at(&other, &there)).await.ok(200);
    assert_eq!(still["editingBy"], ada.author());
}

#[tokio::test]
async fn a_stale_tag_is_told_last_and_hinders_closing_too() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let document = open(&owner, &room, 1).await;
    let path = at(&room, &document);
    let stale = |by: &TestCaller, method: &str| by.ask(method, &path).header("if-match", "\"9\"");
    edit(&ada, &room, &document, true).await.ok(200);
    let before = t.rows();
    for method in ["PATCH", "DELETE"] {
        let hindered = stale(&owner, method).send().await;
        hindered.refused(409, "CANVAS_BEING_EDITED");
        let refused = stale(&ada, method).send().await;
        let tag = json!({"currentETag": "\"1\""});
        assert_eq!(refused.refused(412, "PRECONDITION_FAILED"), tag);
    }
    // A file is looked for only when nothing else stands in the way.
    let outside = json!({"content": {"type": "file", "sourcePath": "/etc/hostname"}});
    let refused = stale(&ada, "PATCH").json(&outside).send().await;
    refused.refused(412, "PRECONDITION_FAILED");
    let hindered = owner.patch(&path, outside.clone()).await;
    hindered.refused(409, "CANVAS_BEING_EDITED");
    let refused = ada.patch(&path, outside).await;
    refused.refused(403, "OUTSIDE_BOUNDARY");
    assert_eq!(t.rows(), before);
    let current = ada.ask("DELETE", &path).header("if-match", "\"1\"");
    current.send().await.ok(204);
}
