//! Read cursors and unread counts, against a recount from the entries. Source: contract 2.3.

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::test_values::{SeededRandom, list, listed};

#[tokio::test]
async fn a_cursor_moves_forward_and_back_only_when_asked() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    owner
        .patch(&owner.handle_url(), json!({"handle": "boss"}))
        .await
        .ok(200);
    for words in ["one", "two @boss", "three", "four @boss"] {
        t.say(&ada, &room, words).await;
    }
    let path = format!("/api/rooms/{room}/read-cursor");
    let mut events = t.events();
    for (seq, back, now_at, unread, named, moved) in [
        (0, None, 0, 4, 2, false),
        (1, None, 1, 3, 2, true),
        (1, None, 1, 3, 2, false),
        (3, None, 3, 1, 1, true),
        (2, None, 3, 1, 1, false),
        (2, Some(false), 3, 1, 1, false),
        (2, Some(true), 2, 2, 1, true),
        (999, None, 4, 0, 0, true),
        (5, Some(true), 4, 0, 0, false),
        (0, Some(true), 0, 4, 2, true),
    ] {
        t.advance(1);
        let mut ask = json!({"lastReadSeq": seq});
        if let Some(back) = back {
            ask["allowBack"] = back.into();
        }
        let cursor = owner.put(&path, ask.clone()).await.ok(200);
        let expected = json!({
            "roomId": room, "authorId": owner.author(), "lastReadSeq": now_at,
            "unreadCount": unread, "mentionCount": named, "updatedAt": cursor["updatedAt"],
        });
        assert_eq!(cursor, expected, "{ask}");
        assert_eq!(owner.get(&path).await.ok(200), cursor, "{ask}");
        if moved {
            let told = events.next("read_cursor");
            for field in [
                "roomId",
                "authorId",
                "lastReadSeq",
                "unreadCount",
                "mentionCount",
            ] {
                assert_eq!(told[field], cursor[field], "{field}");
            }
        } else {
            events.none();
        }
    }
}

#[tokio::test]
async fn only_members_who_are_people_have_a_cursor_to_move() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let path = format!("/api/rooms/{room}/read-cursor");
    let ask = json!({"lastReadSeq": 0});
    ada.get(&path).await.refused(403, "HUMANS_ONLY");
    ada.put(&path, ask.clone())
        .await
        .refused(403, "HUMANS_ONLY");
    owner
        .delete(&format!("/api/rooms/{room}/members/{}", owner.author()))
        .await
        .ok(204);
    let before = t.rows();
    owner.get(&path).await.refused(409, "NOT_A_MEMBER");
    owner
        .put(&path, ask.clone())
        .await
        .refused(409, "NOT_A_MEMBER");
    let nowhere = "/api/rooms/x/read-cursor";
    owner
        .put(nowhere, json!({"lastReadSeq": "1"}))
        .await
        .refused(400, "VALIDATION_FAILED");
    owner.put(nowhere, ask).await.refused(404, "ROOM_NOT_FOUND");
    assert_eq!(t.rows(), before);
}

/// Unread posts and mentions, counted from the entries themselves.
async fn recount(t: &TestHall, room: &str, member: &Value) -> (u64, u64) {
    let path = format!("/api/rooms/{room}/entries?limit=200");
    let page = t.owner().get(&path).await.ok(200);
    assert_eq!(page["hasMore"], false, "one page holds the whole test");
    let unread = list(&page["entries"]).iter().filter(|entry| {
        entry["seq"].as_u64() > member["lastReadSeq"].as_u64()
            && entry["authorId"] != member["authorId"]
            && entry["kind"] == "post"
    });
    let unread: Vec<&Value> = unread.collect();
    let names = |entry: &&&Value| list(&entry["mentions"]).contains(&member["authorId"]);
    (
        unread.len() as u64,
        unread.iter().filter(names).count() as u64,
    )
}

/// What the caller is shown equals the recount, in the listing and in the room.
async fn holds(t: &TestHall, by: &TestCaller, room: &str) {
    let members = t
        .owner()
        .get(&format!("/api/rooms/{room}/members"))
        .await
        .ok(200);
    let own = list(&members["members"])
        .iter()
        .find(|member| member["authorId"] == by.author());
    let shown = listed(by, room).await;
    let Some(own) = own else {
        assert_eq!(
            (&shown["unreadCount"], &shown["mentionCount"]),
            (&Value::Null, &Value::Null)
        );
        return;
    };
    let (unread, named) = recount(t, room, own).await;
    assert_eq!(shown["unreadCount"], unread, "{own}");
    assert_eq!(shown["mentionCount"], named, "{own}");
    let detail = by.get(&format!("/api/rooms/{room}")).await.ok(200);
    assert_eq!(detail["unreadCount"], unread);
    assert_eq!(detail["mentionCount"], named);
}

#[tokio::test]
async fn counts_equal_a_recount_after_any_sequence_of_deeds() {
    let mut t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.bystander("ada").await);
    owner
        .patch(&owner.handle_url(), json!({"handle": "boss"}))
        .await
        .ok(200);
    let mut chance = SeededRandom(0x00dd_ba11);
    for _ in 0..3 {
        let title = format!("Room {}", chance.below(u64::MAX));
        let room = t.channel(&owner, &title, &[&ada]).await;
        let path = format!("/api/rooms/{room}");
        let mut said: Vec<Value> = Vec::new();
        for step in 0..55 {
            t.advance(1);
            let words = *chance.one(&["plain", "@boss", "@ada", "@boss @boss @ada", "`@boss`"]);
            let who = if chance.below(2) == 0 { &owner } else { &ada };
            match chance.below(12) {
                0..=4 => {
                    let root = (chance.below(3) == 0).then(|| said.last()).flatten();
                    let ask = json!({"text": words, "threadRootEntryId": root});
                    let posted = who.post(&format!("{path}/entries"), ask).await;
                    if posted.status == 201 && root.is_none() {
                        said.push(posted.body["entry"]["id"].clone());
                    }
                    assert!(
                        matches!(posted.status, 201 | 404 | 409),
                        "{}",
                        posted.text()
                    );
                }
                5..=7 => {
                    let ask =
                        json!({"lastReadSeq": chance.below(30), "allowBack": chance.below(2) == 0});
                    let moved = owner.put(&format!("{path}/read-cursor"), ask).await;
                    assert!(matches!(moved.status, 200 | 409), "{}", moved.text());
                }
                10 | 11 if !said.is_empty() => {
                    let id = chance.one(&said).as_str().unwrap();
                    owner.delete(&format!("{path}/entries/{id}")).await.ok(200);
                }
                8 => {
                    let left = owner
                        .delete(&format!("{path}/members/{}", who.author()))
                        .await;
                    assert!(matches!(left.status, 204 | 404), "{}", left.text());
                }
                _ => {
                    let ask = json!({"authorId": who.author()});
                    let joined = owner.post(&format!("{path}/members"), ask).await;
                    assert!(matches!(joined.status, 200 | 201), "{}", joined.text());
                }
            }
            if step % 30 == 29 {
                t.restart().await;
            }
            holds(&t, &owner, &room).await;
            let members = owner.get(&format!("{path}/members")).await.ok(200);
            if list(&members["members"])
                .iter()
                .any(|member| member["authorId"] == ada.author())
            {
                holds(&t, &ada, &room).await;
            }
        }
    }
}
