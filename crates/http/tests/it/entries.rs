//! Entries: posting, mentions, pages, and what agents may read. Source: contract 2.3.

use futures_util::future::join_all;
use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::test_values::{column, list, text};

fn seqs(page: &Value) -> Vec<u64> {
    let entries = list(&page["entries"]);
    entries
        .iter()
        .map(|entry| entry["seq"].as_u64().unwrap())
        .collect()
}

#[tokio::test]
async fn a_post_is_kept_byte_for_byte_and_told_once() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let mut events = t.events();
    let words = " \u{feff}Grüße 😀\r\n\t`x` <b>&amp;</b> \u{202e}e\u{301} \\u0041 ";
    t.advance(5);
    let entry = t.say(&owner, &room, words).await;
    let expected = json!({
        "id": entry["id"], "roomId": room, "seq": 1, "authorId": owner.author(), "kind": "post",
        "text": words, "notice": null, "mentions": [], "mentionSpans": [],
        "threadRootEntryId": null, "threadReplyCount": 0, "threadLastReplyAt": null,
        "sessionId": null, "turnId": null, "cascadeRootId": entry["id"], "cascadeDepth": 0,
        "canvasOps": [], "attachments": [], "reactions": [], "redactedAt": null,
        "createdAt": "2026-09-21T14:13:25.000Z",
    });
    assert_eq!(entry, expected);
    assert_eq!(events.next("entry_added")["entry"], entry);
    let path = format!("/api/rooms/{room}/entries/{}", text(&entry["id"]));
    assert_eq!(owner.get(&path).await.ok(200), entry);
    let page = owner
        .get(&format!("/api/rooms/{room}/entries"))
        .await
        .ok(200);
    let whole = json!({
        "entries": [entry], "threadRoots": [], "firstSeq": 1, "lastSeq": 1, "hasMore": false,
    });
    assert_eq!(page, whole);
    let seen = owner.get(&format!("/api/rooms/{room}")).await.ok(200);
    assert_eq!(seen["lastActivityAt"], "2026-09-21T14:13:25.000Z");
    let empty = json!({"text": "x", "threadRootEntryId": null, "attachmentIds": []});
    let path = format!("/api/rooms/{room}/entries");
    owner.post(&path, empty).await.ok(201);
    let longest = "é".repeat(100_000);
    assert_eq!(t.say(&owner, &room, &longest).await["text"], longest);
}

#[tokio::test]
async fn of_sixteen_who_post_at_once_each_gets_its_own_number_without_a_gap() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let (t_ref, room_ref) = (&t, &room);
    let posters = (0..16).map(|n| {
        let caller = if n % 2 == 0 {
            owner.clone()
        } else {
            ada.clone()
        };
        async move {
            let mut own = Vec::new();
            for turn in 0..8 {
                let entry = t_ref.say(&caller, room_ref, &format!("{n} {turn}")).await;
                own.push(entry["seq"].as_u64().unwrap());
            }
            own
        }
    });
    let given = join_all(posters).await;
    for own in &given {
        assert!(
            own.is_sorted(),
            "a poster's own posts keep their order: {own:?}"
        );
    }
    let mut all: Vec<u64> = given.into_iter().flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (1..=128).collect::<Vec<u64>>());
    t.restart().await;
    let path = format!("/api/rooms/{room}/entries?limit=200");
    let page = owner.get(&path).await.ok(200);
    assert_eq!(seqs(&page), all);
    assert_eq!(t.say(&owner, &room, "next").await["seq"], 129);
}

#[tokio::test]
async fn names_are_resolved_once_among_the_members_of_the_moment() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let calls = |words: &'static str| {
        let (t, owner, room) = (&t, &owner, &room);
        async move {
            let entry = t.say(owner, room, words).await;
            assert_eq!(entry["text"], words);
            let spans: Vec<(u64, u64, String)> = list(&entry["mentionSpans"])
                .iter()
                .map(|span| {
                    let number = |field: &str| span[field].as_u64().unwrap();
                    (number("offset"), number("length"), text(&span["authorId"]))
                })
                .collect();
            (column_of(&entry["mentions"]), spans)
        }
    };
    let me = || ada.author().to_owned();
    let nobody = (vec![], vec![]);
    assert_eq!(calls("hi @ada").await, (vec![me()], vec![(3, 4, me())]));
    assert_eq!(
        calls("😀 @ADA. and @ada-").await,
        (vec![me()], vec![(3, 4, me()), (13, 4, me())])
    );
    assert_eq!(
        calls("@bob @everyone @here @channel @guildhall @x").await,
        nobody
    );
    assert_eq!(
        calls("`@ada` > @ada").await,
        (vec![me()], vec![(9, 4, me())])
    );
    assert_eq!(calls("> @ada\n```\n@ada\n```").await, nobody);
    // Later joining and renaming changes nothing written before.
    let members = format!("/api/rooms/{room}/members");
    owner
        .post(&members, json!({"agentId": bob.agent()}))
        .await
        .ok(201);
    owner
        .patch(&ada.handle_url(), json!({"handle": "lovelace"}))
        .await
        .ok(200);
    assert_eq!(
        calls("@ada @lovelace @bob").await.0,
        [ada.author(), bob.author()]
    );
    let page = owner
        .get(&format!("/api/rooms/{room}/entries?limit=1&after=0"))
        .await
        .ok(200);
    assert_eq!(column_of(&page["entries"][0]["mentions"]), [ada.author()]);
}

fn column_of(ids: &Value) -> Vec<String> {
    list(ids).iter().map(text).collect()
}

#[tokio::test]
async fn pages_are_oldest_first_and_reach_in_both_directions() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    let path = format!("/api/rooms/{room}/entries");
    let empty = json!({
        "entries": [], "threadRoots": [], "firstSeq": null, "lastSeq": null, "hasMore": false,
    });
    assert_eq!(owner.get(&path).await.ok(200), empty);
    for n in 1..=60 {
        t.say(&owner, &room, &n.to_string()).await;
    }
    for (query, first, last, has_more) in [
        ("", 11, 60, true),
        ("?limit=200", 1, 60, false),
        ("?limit=60", 1, 60, false),
        ("?limit=1", 60, 60, true),
        ("?before=11", 1, 10, false),
        ("?before=12&limit=10", 2, 11, true),
        ("?before=11&limit=10", 1, 10, false),
        ("?before=999&limit=2", 59, 60, true),
        ("?after=0&limit=5", 1, 5, true),
        ("?after=55&limit=5", 56, 60, false),
        ("?after=54&limit=5", 55, 59, true),
        ("?after=10&before=20&limit=200", 11, 19, false),
    ] {
        let page = owner.get(&format!("{path}{query}")).await.ok(200);
        assert_eq!(seqs(&page), (first..=last).collect::<Vec<u64>>(), "{query}");
        let ends = (page["firstSeq"].as_u64(), page["lastSeq"].as_u64());
        assert_eq!(ends, (Some(first), Some(last)), "{query}");
        assert_eq!(page["hasMore"], has_more, "{query}");
    }
    for query in [
        "?before=1",
        "?before=0",
        "?after=60",
        "?after=18446744073709551615",
    ] {
        assert_eq!(
            owner.get(&format!("{path}{query}")).await.ok(200),
            empty,
            "{query}"
        );
    }
}

#[tokio::test]
async fn who_may_not_write_here_is_told_why_in_order() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let open = t.channel(&owner, "Open", &[&ada]).await;
    let shut = t.channel(&owner, "Shut", &[&ada]).await;
    owner
        .delete(&format!("/api/rooms/{open}/members/{}", owner.author()))
        .await
        .ok(204);
    owner
        .delete(&format!("/api/rooms/{shut}/members/{}", owner.author()))
        .await
        .ok(204);
    let archive = json!({"archived": true});
    owner
        .patch(&format!("/api/rooms/{shut}"), archive)
        .await
        .ok(200);
    let before = t.rows();
    for (caller, room, words, status, code) in [
        (&owner, "x", "", 400, "VALIDATION_FAILED"),
        (&owner, "x", "hello", 404, "ROOM_NOT_FOUND"),
        (&owner, &open[..], "hello", 409, "NOT_A_MEMBER"),
        (&owner, &shut[..], "hello", 409, "ROOM_ARCHIVED"),
        (&ada, &shut[..], "hello", 409, "ROOM_ARCHIVED"),
    ] {
        let path = format!("/api/rooms/{room}/entries");
        caller
            .post(&path, json!({"text": words}))
            .await
            .refused(status, code);
    }
    let too_long = json!({"text": "x".repeat(100_001)});
    let path = format!("/api/rooms/{open}/entries");
    ada.post(&path, too_long)
        .await
        .refused(400, "VALIDATION_FAILED");
    owner
        .get(&format!("{path}/x"))
        .await
        .refused(404, "ENTRY_NOT_FOUND");
    let elsewhere = t.say(&ada, &t.team().await, "hello").await;
    let foreign = format!("{path}/{}", text(&elsewhere["id"]));
    owner.get(&foreign).await.refused(404, "ENTRY_NOT_FOUND");
    // Reading an archived room goes on.
    ada.get(&format!("/api/rooms/{shut}/entries")).await.ok(200);
    let unsaid = |rows: String| -> Vec<String> {
        let room = |row: &&str| row.starts_with("entries\t");
        rows.lines().filter(room).map(str::to_owned).collect()
    };
    assert_eq!(unsaid(t.rows()).len(), unsaid(before).len() + 1);
}

#[tokio::test]
async fn an_agent_reads_from_its_joining_on_by_list_entry_and_stream() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[]).await;
    let old = text(&t.say(&owner, &room, "old secret").await["id"]);
    let members = format!("/api/rooms/{room}/members");
    owner
        .post(&members, json!({"agentId": ada.agent()}))
        .await
        .ok(201);
    let new = t.say(&owner, &room, "new").await;
    let entries = format!("/api/rooms/{room}/entries");
    let all = json!({
        "entries": [new], "threadRoots": [], "firstSeq": 2, "lastSeq": 2, "hasMore": false,
    });
    for query in ["", "?after=0", "?before=3", "?limit=1"] {
        assert_eq!(
            ada.get(&format!("{entries}{query}")).await.ok(200),
            all,
            "{query}"
        );
    }
    ada.get(&format!("{entries}/{old}"))
        .await
        .refused(404, "ENTRY_NOT_FOUND");
    ada.get(&format!("{entries}/{}", text(&new["id"])))
        .await
        .ok(200);
    let path = format!("/api/rooms/{room}/events");
    let snapshot = t.stream(&ada, &path, None).await.expect("snapshot").await;
    assert_eq!(snapshot.data["entries"], json!([new]));
    let head = t.events().place().unsigned_abs();
    for path in [format!("{path}?after=0"), "/api/events?after=0".to_owned()] {
        let frames = t.stream(&ada, &path, None).await.until(head).await;
        assert!(
            !frames
                .iter()
                .any(|frame| frame.data.to_string().contains("old secret"))
        );
        assert!(frames.iter().any(|frame| frame.inner()["entry"] == new));
    }
    // Leaving and coming back begins anew.
    owner
        .delete(&format!("{members}/{}", ada.author()))
        .await
        .ok(204);
    t.say(&owner, &room, "meanwhile").await;
    owner
        .post(&members, json!({"agentId": ada.agent()}))
        .await
        .ok(201);
    assert_eq!(seqs(&ada.get(&entries).await.ok(200)), [] as [u64; 0]);
    assert_eq!(
        column(&owner.get(&entries).await.ok(200)["entries"], "text").len(),
        3
    );
}

#[tokio::test]
async fn an_agents_post_outside_a_turn_starts_nobody() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    assert_eq!(t.say(&owner, &room, "hello").await["cascadeDepth"], 0);
    let entry = t.say(&ada, &room, "hello").await;
    assert_eq!(
        (&entry["cascadeDepth"], &entry["cascadeRootId"]),
        (&json!(30), &entry["id"])
    );
    owner
        .patch(&format!("/api/rooms/{room}"), json!({"maxAgentDepth": 4}))
        .await
        .ok(200);
    assert_eq!(t.say(&ada, &room, "hello").await["cascadeDepth"], 4);
}
