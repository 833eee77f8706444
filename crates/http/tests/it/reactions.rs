//! Reactions: giving them, taking them back, their limits. Source: contract 2.3, "Reactions".

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::test_values::{list, text};

/// 👍, 🎉 and a heart without its presentation selector, as an address carries them.
const THUMBS: &str = "%F0%9F%91%8D";
const PARTY: &str = "%F0%9F%8E%89";
const HEART: &str = "%E2%9D%A4";

/// The address of a reaction to `entry`.
pub(crate) fn reaction(entry: &Value, emoji: &str) -> String {
    let (room, id) = (text(&entry["roomId"]), text(&entry["id"]));
    format!("/api/rooms/{room}/entries/{id}/reactions/{emoji}")
}

/// The smileys from U+1F600 on, as an address carries them.
fn smiley(n: u32) -> String {
    let smiley = char::from_u32(0x1_f600 + n).unwrap().to_string();
    smiley.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn a_reaction_is_given_once_and_taken_back_once() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let entry = t.say(&owner, &room, "hello").await;
    let mut events = t.events();
    let (thumbs, party) = (reaction(&entry, THUMBS), reaction(&entry, PARTY));
    let put = |by: &guildhall_testkit::TestCaller, path: &str| by.ask("PUT", path).send();
    let mut first_at = Vec::new();
    for path in [&thumbs, &party] {
        t.advance(1);
        let given = put(&ada, path).await.ok(200);
        assert_eq!(
            events.next("entry_reactions"),
            json!({"entryId": entry["id"], "reactions": given["reactions"]})
        );
        first_at.push(list(&given["reactions"]).last().unwrap()["firstAt"].clone());
    }
    t.advance(1);
    let given = put(&owner, &thumbs).await.ok(200);
    let expected = json!({"reactions": [
        {"emoji": "👍", "authorIds": [ada.author(), owner.author()], "firstAt": first_at[0]},
        {"emoji": "🎉", "authorIds": [ada.author()], "firstAt": first_at[1]},
    ]});
    assert_eq!(given, expected);
    events.next("entry_reactions");
    assert_eq!(put(&owner, &thumbs).await.ok(200), expected);
    events.none();
    let path = format!("/api/rooms/{room}/entries/{}", text(&entry["id"]));
    let seen = owner.get(&path).await.ok(200);
    assert_eq!(seen["reactions"], expected["reactions"]);
    let page = ada.get(&format!("/api/rooms/{room}/entries")).await.ok(200);
    assert_eq!(page["entries"], json!([seen]));
    // The one who came first goes: the next one's moment counts, and the order follows it.
    let left = ada.delete(&thumbs).await.ok(200);
    assert_eq!(left["reactions"][0]["emoji"], "🎉");
    assert_eq!(left["reactions"][1]["authorIds"], json!([owner.author()]));
    assert!(left["reactions"][1]["firstAt"].as_str() > first_at[1].as_str());
    assert_eq!(
        events.next("entry_reactions")["reactions"],
        left["reactions"]
    );
    assert_eq!(ada.delete(&thumbs).await.ok(200), left);
    events.none();
    ada.delete(&party).await.ok(200);
    let none = owner.delete(&thumbs).await.ok(200);
    assert_eq!(none, json!({"reactions": []}));
    assert_eq!(owner.get(&path).await.ok(200)["reactions"], json!([]));
}

#[tokio::test]
async fn two_spellings_of_an_emoji_are_one_reaction() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let entry = t.say(&owner, &room, "hello").await;
    let full = format!("{HEART}%EF%B8%8F");
    let given = owner
        .ask("PUT", &reaction(&entry, HEART))
        .send()
        .await
        .ok(200);
    assert_eq!(given["reactions"][0]["emoji"], "❤\u{fe0f}");
    let again = owner.ask("PUT", &reaction(&entry, &full)).send().await;
    assert_eq!(again.ok(200), given);
    let none = owner.delete(&reaction(&entry, &full)).await.ok(200);
    assert_eq!(none, json!({"reactions": []}));
}

#[tokio::test]
async fn what_is_no_emoji_or_not_to_be_seen_or_written_is_refused_in_order() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let old = t.say(&owner, &room, "hello").await;
    let members = format!("/api/rooms/{room}/members");
    owner
        .post(&members, json!({"authorId": bob.author()}))
        .await
        .ok(201);
    let before = t.rows();
    let nowhere = json!({"roomId": "none", "id": old["id"]});
    let nothing = json!({"roomId": room, "id": "none"});
    for method in ["PUT", "DELETE"] {
        for emoji in ["a", "1", "%20", &format!("{THUMBS}{THUMBS}"), "%E2%80%8D"] {
            let path = reaction(&nowhere, emoji);
            owner
                .ask(method, &path)
                .send()
                .await
                .refused(400, "INVALID_EMOJI");
        }
        for (by, entry, code) in [
            (&owner, &nowhere, "ROOM_NOT_FOUND"),
            (&owner, &nothing, "ENTRY_NOT_FOUND"),
            // Bob joined behind the entry.
            (&bob, &old, "ENTRY_NOT_FOUND"),
        ] {
            let path = reaction(entry, THUMBS);
            by.ask(method, &path).send().await.refused(404, code);
        }
    }
    let tokens_aside = |rows: &str| -> Vec<String> {
        let others = rows.lines().filter(|row| !row.starts_with("tokens\t"));
        others.map(str::to_owned).collect()
    };
    assert_eq!(tokens_aside(&t.rows()), tokens_aside(&before));
    let seat = format!("{members}/{}", owner.author());
    owner
        .delete(&format!("{members}/{}", bob.author()))
        .await
        .ok(204);
    owner.delete(&seat).await.ok(204);
    let mut events = t.events();
    for method in ["PUT", "DELETE"] {
        let path = reaction(&old, THUMBS);
        owner
            .ask(method, &path)
            .send()
            .await
            .refused(409, "NOT_A_MEMBER");
    }
    events.none();
    owner
        .patch(&format!("/api/rooms/{room}"), json!({"archived": true}))
        .await
        .ok(200);
    for method in ["PUT", "DELETE"] {
        for by in [&owner, &ada] {
            let path = reaction(&old, THUMBS);
            by.ask(method, &path)
                .send()
                .await
                .refused(409, "ROOM_ARCHIVED");
        }
    }
}

#[tokio::test]
async fn an_entry_takes_20_different_emojis() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let entry = t.say(&owner, &room, "hello").await;
    let put = |by: guildhall_testkit::TestCaller, n| {
        let path = reaction(&entry, &smiley(n));
        async move { by.ask("PUT", &path).send().await }
    };
    for n in 0..20 {
        put(owner.clone(), n).await.ok(200);
    }
    let mut events = t.events();
    put(owner.clone(), 20)
        .await
        .refused(409, "TOO_MANY_REACTIONS");
    put(ada.clone(), 20)
        .await
        .refused(409, "TOO_MANY_REACTIONS");
    events.none();
    put(owner.clone(), 19).await.ok(200);
    let joined = put(ada, 19).await.ok(200);
    assert_eq!(list(&joined["reactions"]).len(), 20);
}

#[tokio::test]
async fn an_agent_adds_20_reactions_a_room_and_hour_and_taking_back_gives_none_back() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let elsewhere = t.channel(&owner, "Else", &[&ada]).await;
    let entry = t.say(&owner, &room, "hello").await;
    let other = t.say(&owner, &elsewhere, "hello").await;
    let thumbs = reaction(&entry, THUMBS);
    for n in 0..20 {
        ada.ask("PUT", &thumbs).send().await.ok(200);
        // Once more adds nothing, so that it is not counted.
        ada.ask("PUT", &thumbs).send().await.ok(200);
        if n < 19 {
            ada.delete(&thumbs).await.ok(200);
        }
        t.advance(60);
    }
    t.restart().await;
    let mut events = t.events();
    let party = reaction(&entry, PARTY);
    let refused = ada.ask("PUT", &party).send().await;
    assert_eq!(refused.header("retry-after"), "2400");
    refused.refused(429, "REACTION_RATE_LIMITED");
    events.none();
    ada.ask("PUT", &thumbs).send().await.ok(200);
    ada.ask("PUT", &reaction(&other, PARTY))
        .send()
        .await
        .ok(200);
    owner.ask("PUT", &party).send().await.ok(200);
    t.advance(2_399);
    ada.ask("PUT", &party)
        .send()
        .await
        .refused(429, "REACTION_RATE_LIMITED");
    t.advance(1);
    ada.ask("PUT", &party).send().await.ok(200);
}
