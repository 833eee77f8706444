//! Threads: replies, their counts, reading one, and the caller's own. Source: contract 2.3.

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::{
    reactions::reaction,
    test_values::{column, list, text},
};

/// Answers an entry; answers the reply.
pub(crate) async fn reply(by: &TestCaller, root: &Value, words: &str) -> Value {
    let path = format!("/api/rooms/{}/entries", text(&root["roomId"]));
    let ask = json!({"text": words, "threadRootEntryId": root["id"]});
    by.post(&path, ask).await.ok(201)["entry"].take()
}

fn thread_path(root: &Value) -> String {
    let (room, id) = (text(&root["roomId"]), text(&root["id"]));
    format!("/api/rooms/{room}/threads/{id}")
}

#[tokio::test]
async fn a_reply_stands_in_the_room_and_counts_at_its_root() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let root = t.say(&owner, &room, "root").await;
    let other = t.say(&owner, &room, "other").await;
    let mut events = t.events();
    t.advance(5);
    let first = reply(&ada, &root, "first").await;
    assert_eq!(first["threadRootEntryId"], root["id"]);
    assert_eq!(first["threadReplyCount"], 0);
    assert_eq!(events.next("entry_added")["entry"], first);
    let second = reply(&owner, &root, "second").await;
    let counted = owner
        .get(&format!("/api/rooms/{room}/entries/{}", text(&root["id"])))
        .await
        .ok(200);
    let mut expected = root.clone();
    expected["threadReplyCount"] = 2.into();
    expected["threadLastReplyAt"] = second["createdAt"].clone();
    assert_eq!(counted, expected);
    let page = owner
        .get(&format!("/api/rooms/{room}/entries"))
        .await
        .ok(200);
    assert_eq!(page["entries"], json!([counted, other, first, second]));
    assert_eq!(page["threadRoots"], json!([]));
    let whole = json!({"root": counted, "entries": [first, second], "hasMore": false});
    assert_eq!(owner.get(&thread_path(&root)).await.ok(200), whole);
    let alone = json!({"root": other, "entries": [], "hasMore": false});
    assert_eq!(owner.get(&thread_path(&other)).await.ok(200), alone);
}

#[tokio::test]
async fn a_thread_is_read_in_runs() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let root = t.say(&owner, &room, "root").await;
    for n in 0..5 {
        reply(&owner, &root, &format!("reply {n}")).await;
        t.say(&owner, &room, "between").await;
    }
    let path = thread_path(&root);
    for (query, texts, more) in [
        (
            "",
            vec!["reply 0", "reply 1", "reply 2", "reply 3", "reply 4"],
            false,
        ),
        ("?limit=2", vec!["reply 0", "reply 1"], true),
        ("?limit=2&after=4", vec!["reply 2", "reply 3"], true),
        ("?limit=2&after=8", vec!["reply 4"], false),
        ("?after=999", vec![], false),
    ] {
        let thread = owner.get(&format!("{path}{query}")).await.ok(200);
        assert_eq!(column(&thread["entries"], "text"), texts, "{query}");
        assert_eq!(thread["hasMore"], more, "{query}");
    }
    owner
        .get(&format!("{path}?limit=201"))
        .await
        .refused(400, "VALIDATION_FAILED");
}

#[tokio::test]
async fn threads_have_one_level_and_their_root_lies_in_the_room() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let elsewhere = t.channel(&owner, "Else", &[]).await;
    let root = t.say(&owner, &room, "root").await;
    let answer = reply(&owner, &root, "reply").await;
    let foreign = t.say(&owner, &elsewhere, "foreign").await;
    let entries = format!("/api/rooms/{room}/entries");
    let mut events = t.events();
    let before = t.rows();
    for (root, status, code) in [
        (&answer["id"], 409, "NESTED_THREAD"),
        (&foreign["id"], 404, "ENTRY_NOT_FOUND"),
        (&json!("no-such-entry"), 404, "ENTRY_NOT_FOUND"),
    ] {
        let ask = json!({"text": "x", "threadRootEntryId": root});
        owner.post(&entries, ask).await.refused(status, code);
    }
    owner
        .get(&thread_path(&answer))
        .await
        .refused(404, "ENTRY_NOT_FOUND");
    let here = format!("/api/rooms/{room}/threads/{}", text(&foreign["id"]));
    owner.get(&here).await.refused(404, "ENTRY_NOT_FOUND");
    owner
        .get(&format!("/api/rooms/x/threads/{}", text(&root["id"])))
        .await
        .refused(404, "ROOM_NOT_FOUND");
    // The missing root is told before the archive, and the archive before the nesting.
    owner
        .patch(&format!("/api/rooms/{room}"), json!({"archived": true}))
        .await
        .ok(200);
    events.next("room_updated");
    let missing = json!({"text": "x", "threadRootEntryId": "none"});
    owner
        .post(&entries, missing)
        .await
        .refused(404, "ENTRY_NOT_FOUND");
    let nested = json!({"text": "x", "threadRootEntryId": answer["id"]});
    owner
        .post(&entries, nested)
        .await
        .refused(409, "ROOM_ARCHIVED");
    events.none();
    owner
        .patch(&format!("/api/rooms/{room}"), json!({"archived": false}))
        .await
        .ok(200);
    let talk = |rows: &str| -> Vec<String> {
        let kept = ["entries\t", "responses\t", "thread_writers\t"];
        rows.lines()
            .filter(|row| kept.iter().any(|table| row.starts_with(table)))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(talk(&t.rows()), talk(&before));
}

#[tokio::test]
async fn a_page_brings_the_roots_it_names_and_does_not_hold() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let (one, two) = (
        t.say(&owner, &room, "one").await,
        t.say(&owner, &room, "two").await,
    );
    reply(&owner, &two, "a").await;
    reply(&owner, &one, "b").await;
    reply(&owner, &two, "c").await;
    let path = format!("/api/rooms/{room}/entries");
    for (query, held, roots) in [
        ("?limit=3", vec!["a", "b", "c"], vec!["one", "two"]),
        ("?limit=1", vec!["c"], vec!["two"]),
        ("?after=1&limit=2", vec!["two", "a"], vec![]),
        ("?after=1&limit=3", vec!["two", "a", "b"], vec!["one"]),
        ("?before=3", vec!["one", "two"], vec![]),
    ] {
        let page = owner.get(&format!("{path}{query}")).await.ok(200);
        assert_eq!(column(&page["entries"], "text"), held, "{query}");
        assert_eq!(column(&page["threadRoots"], "text"), roots, "{query}");
        for root in list(&page["threadRoots"]) {
            let whole = format!("{path}/{}", text(&root["id"]));
            assert_eq!(&owner.get(&whole).await.ok(200), root, "{query}");
        }
    }
}

#[tokio::test]
async fn a_snapshot_brings_the_roots_of_its_entries() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let root = t.say(&owner, &room, "root").await;
    for n in 0..100 {
        t.say(&owner, &room, &n.to_string()).await;
    }
    reply(&owner, &root, "reply").await;
    let path = format!("/api/rooms/{room}/events");
    let mut stream = t.stream(&owner, &path, None).await;
    let snapshot = stream.expect("snapshot").await.data;
    assert_eq!(list(&snapshot["entries"]).len(), 100);
    assert_eq!(column(&snapshot["threadRoots"], "text"), ["root"]);
    assert_eq!(snapshot["threadRoots"][0]["threadReplyCount"], 1);
}

#[tokio::test]
async fn an_agent_reads_no_root_from_before_it_joined() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[]).await;
    let root = t.say(&owner, &room, "the old root").await;
    reply(&owner, &root, "an old reply").await;
    owner
        .post(
            &format!("/api/rooms/{room}/members"),
            json!({"authorId": ada.author()}),
        )
        .await
        .ok(201);
    let answer = reply(&owner, &root, "a new reply").await;
    let page = ada.get(&format!("/api/rooms/{room}/entries")).await.ok(200);
    assert_eq!(page["entries"], json!([answer]));
    assert_eq!(page["threadRoots"], json!([]));
    ada.get(&thread_path(&root))
        .await
        .refused(404, "ENTRY_NOT_FOUND");
    let ask = json!({"text": "me too", "threadRootEntryId": root["id"]});
    ada.post(&format!("/api/rooms/{room}/entries"), ask)
        .await
        .refused(404, "ENTRY_NOT_FOUND");
    let mut stream = t
        .stream(&ada, &format!("/api/rooms/{room}/events"), None)
        .await;
    let snapshot = stream.expect("snapshot").await.data;
    assert_eq!(snapshot["threadRoots"], json!([]));
    // What becomes of the old ones is not told either.
    let thumbs = reaction(&root, "%F0%9F%91%8D");
    owner.ask("PUT", &thumbs).send().await.ok(200);
    let old = format!("/api/rooms/{room}/entries/{}", text(&root["id"]));
    owner.delete(&old).await.ok(200);
    let young = t.say(&owner, &room, "a young root").await;
    let told = stream.expect("entry_added").await;
    assert_eq!(told.inner()["entry"], young);
    let thumbs = reaction(&young, "%F0%9F%91%8D");
    owner.ask("PUT", &thumbs).send().await.ok(200);
    stream.expect("entry_reactions").await;
    let mine = reply(&ada, &young, "mine").await;
    let thread = ada.get(&thread_path(&young)).await.ok(200);
    assert_eq!(thread["entries"], json!([mine]));
}

#[tokio::test]
async fn ones_threads_are_those_one_wrote_in_newest_activity_first() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let ask = json!({"kind": "dm", "memberIds": [ada.author()]});
    let dm = text(&owner.post("/api/rooms", ask).await.ok(201)["id"]);
    let own = t.say(&owner, &room, "my question").await;
    let theirs = t.say(&ada, &room, "her question").await;
    let foreign = t.say(&ada, &room, "not mine").await;
    let direct = t.say(&owner, &dm, "between us").await;
    t.say(&owner, &room, "nobody answers").await;
    reply(&ada, &own, "a").await;
    reply(&owner, &theirs, "b").await;
    reply(&ada, &foreign, "c").await;
    reply(&ada, &direct, "d").await;
    t.advance(7);
    let newest = reply(&ada, &own, "e").await;
    let path = "/api/rooms/threads";
    ada.get(path).await.refused(403, "HUMANS_ONLY");
    let all = owner.get(path).await.ok(200);
    assert_eq!(all["nextCursor"], Value::Null);
    let roots: Vec<String> = list(&all["threads"])
        .iter()
        .map(|thread| text(&thread["root"]["text"]))
        .collect();
    assert_eq!(roots, ["my question", "between us", "her question"]);
    let root_path = format!("/api/rooms/{room}/entries/{}", text(&own["id"]));
    let expected = json!({
        "roomId": room, "roomTitle": "Ops", "root": owner.get(&root_path).await.ok(200),
        "replyCount": 2, "unreadCount": 2, "lastActivityAt": newest["createdAt"],
    });
    assert_eq!(all["threads"][0], expected);
    let title = owner.get(&format!("/api/rooms/{dm}")).await.ok(200)["title"].take();
    assert_eq!(all["threads"][1]["roomTitle"], title);
    assert_eq!(all["threads"][2]["unreadCount"], 0, "one's own is read");
    // Reading the room reads its threads; who is no member has nothing unread.
    let cursor = json!({"lastReadSeq": newest["seq"].as_u64().unwrap() - 1});
    owner
        .put(&format!("/api/rooms/{room}/read-cursor"), cursor)
        .await
        .ok(200);
    let read = owner.get(path).await.ok(200);
    assert_eq!(read["threads"][0]["unreadCount"], 1);
    owner
        .delete(&format!("/api/rooms/{room}/members/{}", owner.author()))
        .await
        .ok(204);
    let left = owner.get(path).await.ok(200);
    assert_eq!(left["threads"][0]["unreadCount"], 0);
}

#[tokio::test]
async fn ones_threads_come_in_pages() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    for n in 0..5 {
        let root = t.say(&owner, &room, &format!("root {n}")).await;
        reply(&owner, &root, "reply").await;
    }
    let mut path = "/api/rooms/threads?limit=2".to_owned();
    let mut seen = Vec::new();
    loop {
        let answer = owner.get(&path).await;
        let link = answer.header("link").to_owned();
        let page = answer.ok(200);
        for thread in list(&page["threads"]) {
            seen.push(text(&thread["root"]["text"]));
        }
        let Some(cursor) = page["nextCursor"].as_str() else {
            assert_eq!(link, "");
            break;
        };
        path = format!("/api/rooms/threads?limit=2&cursor={cursor}");
        assert_eq!(link, format!("<{path}>; rel=\"next\""));
    }
    assert_eq!(seen, ["root 4", "root 3", "root 2", "root 1", "root 0"]);
    owner
        .get("/api/rooms/threads?cursor=nonsense")
        .await
        .refused(400, "VALIDATION_FAILED");
}
