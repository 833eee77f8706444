//! Streams: where they begin, go on, begin anew and end. Source: contract 1.10.

use futures_util::future::join_all;
use guildhall_hall::retention::EventRetention;
use guildhall_testkit::{HallOptions, SseClient, StreamFrame, TestHall, until};
use serde_json::{Value, json};

use crate::test_values::{SeededRandom, list, text, wrong_fields};

/// The places of the events; signals have none.
fn ids(frames: &[StreamFrame]) -> Vec<u64> {
    frames.iter().filter_map(|frame| frame.id).collect()
}

async fn log_id(t: &TestHall) -> String {
    text(&t.owner().get("/api/health").await.ok(200)["logId"])
}

fn head(t: &TestHall) -> u64 {
    t.events().place().unsigned_abs()
}

#[tokio::test]
async fn a_stream_begins_with_a_snapshot_and_goes_on_live() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (team, log) = (t.team().await, log_id(&t).await);
    let entry = t.say(&owner, &team, "before").await;
    let cursor = head(&t);
    let all = t.stream(&owner, "/api/events", None).await;
    let header = |name: &str| all.headers[name].to_str().unwrap().to_owned();
    let headers = ["content-type", "cache-control", "x-accel-buffering"].map(header);
    assert_eq!(headers, ["text/event-stream", "no-cache", "no"]);
    assert_eq!(all.preamble, ": connected\nretry: 1000");

    let room = owner.get(&format!("/api/rooms/{team}")).await.ok(200);
    let of_room = json!({
        "cursor": cursor, "room": room, "entries": [entry], "threadRoots": [], "documents": [],
        "turns": [],
    });
    let place = json!({"cursor": cursor, "retainedFrom": 1, "logId": log});
    let with = |scopes: Value| {
        let mut named = place.clone();
        named["scopes"] = scopes;
        named
    };
    let scope = format!("room:{team}");
    let mut streams = vec![(all, place.clone())];
    for (path, data) in [
        ("/api/events?scope=*".to_owned(), place.clone()),
        (
            "/api/events?scope=hall&scope=hall".to_owned(),
            with(json!({"hall": {}})),
        ),
        (
            format!("/api/events?scope={scope}"),
            with(json!({&scope: of_room})),
        ),
        (
            format!("/api/events?scope=hall&scope={scope}"),
            with(json!({"hall": {}, &scope: of_room})),
        ),
        (format!("/api/rooms/{team}/events"), of_room.clone()),
    ] {
        streams.push((t.stream(&owner, &path, None).await, data));
    }
    for (stream, data) in &mut streams {
        let snapshot = stream.expect("snapshot").await;
        assert_eq!((snapshot.id, &snapshot.data), (Some(cursor), &*data));
    }
    t.advance(1);
    let said = t.say(&owner, &team, "live").await;
    let live = json!({
        "seq": cursor + 1, "type": "entry_added", "scope": scope,
        "at": "2026-09-21T14:13:21.000Z", "actorId": owner.author(), "data": {"entry": said},
    });
    for (n, (stream, _)) in streams.iter_mut().enumerate() {
        if n != 2 {
            let frame = stream.expect("entry_added").await;
            assert_eq!((frame.id, frame.data), (Some(cursor + 1), live.clone()));
        }
    }
    // The hall's own stream brings what is the hall's.
    owner
        .patch(&owner.author_url(), json!({"emoji": "🦉"}))
        .await
        .ok(200);
    let frame = streams[2].0.expect("author_updated").await;
    assert_eq!(frame.id, Some(cursor + 2));
}

#[tokio::test]
async fn a_cursor_brings_every_later_event_once_and_in_order_and_no_snapshot() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let team = t.team().await;
    let room = format!("/api/rooms/{team}/events");
    for n in 0..5 {
        t.say(&ada, &team, &n.to_string()).await;
    }
    let last = head(&t);
    for restarted in [false, true] {
        if restarted {
            t.restart().await;
        }
        let mut whole = t.stream(&owner, "/api/events?after=0", None).await;
        let all = whole.until(last).await;
        assert_eq!(
            ids(&all),
            (1..=last).collect::<Vec<u64>>(),
            "the owner sees everything"
        );
        for after in 0..=last {
            for (path, id) in [
                (format!("/api/events?after={after}"), None),
                ("/api/events".to_owned(), Some(after.to_string())),
                (
                    format!("/api/events?after=0&log={}", log_id(&t).await),
                    Some(after.to_string()),
                ),
            ] {
                if after == last {
                    continue;
                }
                let mut stream = t.stream(&owner, &path, id.as_deref()).await;
                let seen = stream.until(last).await;
                let expected = usize::try_from(after).unwrap();
                assert_eq!(seen, all[expected..], "{path} {id:?}");
            }
            let narrow: Vec<&StreamFrame> = all
                .iter()
                .filter(|frame| {
                    frame.id > Some(after) && frame.data["scope"] == format!("room:{team}")
                })
                .collect();
            if let Some(end) = narrow.last() {
                let mut stream = t
                    .stream(&owner, &format!("{room}?after={after}"), None)
                    .await;
                let seen = stream.until(end.id.unwrap()).await;
                let seen: Vec<&StreamFrame> = seen
                    .iter()
                    .filter(|frame| frame.event != "author_updated")
                    .collect();
                assert_eq!(seen, narrow, "{after}");
            }
        }
    }
    // At the head there is nothing yet; what comes next is live.
    let mut stream = t
        .stream(&owner, &format!("/api/events?after={last}"), None)
        .await;
    t.say(&owner, &team, "next").await;
    assert_eq!(stream.expect("entry_added").await.id, Some(last + 1));
}

/// Demands a reset with this reason and then a snapshot.
async fn is_reset(stream: &mut SseClient, reason: &str, retained_from: u64, cursor: u64) {
    let reset = stream.expect("reset").await;
    let expected = json!({"reason": reason, "retainedFrom": retained_from, "cursor": cursor});
    assert_eq!((reset.id, reset.data), (None, expected));
    let snapshot = stream.expect("snapshot").await;
    assert_eq!(
        (snapshot.id, &snapshot.data["cursor"]),
        (Some(cursor), &json!(cursor))
    );
}

#[tokio::test]
async fn a_cursor_of_another_log_or_none_at_all_is_reset_and_never_silence() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let team = t.team().await;
    let last = head(&t);
    let beyond = (last + 1).to_string();
    for base in [
        "/api/events".to_owned(),
        format!("/api/rooms/{team}/events"),
    ] {
        for (query, id, reason) in [
            (format!("?after={beyond}"), None, "unknown_log"),
            (String::new(), Some(beyond.as_str()), "unknown_log"),
            (
                "?after=18446744073709551615".to_owned(),
                None,
                "unknown_log",
            ),
            (
                format!("?after={last}&log=01980000-0000-7000-8000-000000000000"),
                None,
                "unknown_log",
            ),
            ("?log=other".to_owned(), Some("0"), "unknown_log"),
            (String::new(), Some("x"), "bad_cursor"),
            (String::new(), Some("-1"), "bad_cursor"),
            (String::new(), Some("1.5"), "bad_cursor"),
            (String::new(), Some("99999999999999999999999"), "bad_cursor"),
            (format!("?after={last}"), Some("+1"), "bad_cursor"),
        ] {
            let mut stream = t.stream(&owner, &format!("{base}{query}"), id).await;
            is_reset(&mut stream, reason, 1, last).await;
        }
        for after in ["x", "-1", "1.5", "+1", "99999999999999999999999"] {
            let answer = owner.get(&format!("{base}?after={after}")).await;
            assert_eq!(
                wrong_fields(&answer.refused(400, "VALIDATION_FAILED")),
                ["after"]
            );
        }
    }
}

#[tokio::test]
async fn a_cursor_older_than_the_log_is_reset_and_the_rest_of_the_log_still_serves() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let team = t.team().await;
    for n in 0..20 {
        t.say(&owner, &team, &n.to_string()).await;
    }
    let last = head(&t);
    t.advance(60);
    let retention = EventRetention {
        age_s: 1,
        newest: 5,
        ..EventRetention::default()
    };
    t.restart_with(HallOptions {
        retention,
        ..HallOptions::default()
    })
    .await;
    let from = last - 4;
    let oldest = || t.oldest_event().unsigned_abs();
    until("old events to be dropped", || oldest() == from).await;
    for path in [
        "/api/events".to_owned(),
        format!("/api/rooms/{team}/events"),
    ] {
        for after in [0, from - 2] {
            let mut stream = t
                .stream(&owner, &format!("{path}?after={after}"), None)
                .await;
            is_reset(&mut stream, "retention", from, last).await;
        }
        let mut stream = t
            .stream(&owner, &format!("{path}?after={}", from - 1), None)
            .await;
        assert_eq!(
            ids(&stream.until(last).await),
            (from..=last).collect::<Vec<u64>>()
        );
    }
    // Retention is about the log alone: the entries are all there.
    let entries = owner
        .get(&format!("/api/rooms/{team}/entries"))
        .await
        .ok(200);
    assert_eq!(
        (&entries["firstSeq"], &entries["lastSeq"]),
        (&json!(1), &json!(20))
    );
}

#[tokio::test]
async fn everything_includes_rooms_made_later() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let mut of_owner = t.stream(&owner, "/api/events?scope=*", None).await;
    let mut of_ada = t.stream(&ada, "/api/events?scope=*", None).await;
    of_owner.expect("snapshot").await;
    of_ada.expect("snapshot").await;
    let room = t.channel(&owner, "Later", &[&ada]).await;
    let said = t.say(&owner, &room, "hello").await;
    for event in [
        "room_created",
        "room_member_added",
        "room_member_added",
        "entry_added",
    ] {
        of_owner.expect(event).await;
    }
    let joined = of_ada.expect("room_member_added").await;
    assert_eq!(joined.inner()["member"]["authorId"], ada.author());
    assert_eq!(of_ada.expect("entry_added").await.inner()["entry"], said);
}

#[tokio::test]
async fn who_reconnects_at_random_gets_each_event_exactly_once_and_in_order() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let team = t.team().await;
    let mut chance = SeededRandom(0xcafe);
    let begin = head(&t);
    let mut last = begin;
    let mut seen = Vec::new();
    let mut stream = None;
    for step in 0..60 {
        for _ in 0..chance.below(4) {
            let who = if chance.below(2) == 0 { &owner } else { &ada };
            t.say(who, &team, "words").await;
        }
        if step % 15 == 14 {
            stream = None;
            t.restart().await;
        }
        let mut open = match stream.take() {
            Some(open) => open,
            None => t.stream(&ada, "/api/events", Some(&last.to_string())).await,
        };
        // Reads some of what is there, then stays or falls off.
        while last < head(&t) && chance.below(4) > 0 {
            // A signal, that somebody works, is no event.
            let Some(id) = open.next().await.id else {
                continue;
            };
            last = id;
            seen.push(last);
        }
        if chance.below(2) == 0 {
            stream = Some(open);
        }
    }
    drop(stream);
    if last < head(&t) {
        let mut rest = t
            .stream(&ada, &format!("/api/events?after={last}"), None)
            .await;
        seen.extend(ids(&rest.until(head(&t)).await));
    }
    assert_eq!(seen, (begin + 1..=head(&t)).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_long_absence_is_made_good_page_by_page() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.bystander("ada").await;
    let team = t.team().await;
    let hidden = t.channel(&owner, "Hidden", &[]).await;
    let begin = head(&t);
    // More than two pages of what ada may not see, then one thing that she may.
    let posters = (0..16).map(|n| {
        let (t, owner, hidden) = (&t, &owner, &hidden);
        async move {
            for turn in 0..65 {
                t.say(owner, hidden, &format!("{n} {turn}")).await;
            }
        }
    });
    join_all(posters).await;
    let visible = t.say(&owner, &team, "hello").await;
    let last = head(&t);
    assert_eq!(last - begin, 16 * 65 + 1);
    let mut all = t
        .stream(&owner, &format!("/api/events?after={begin}"), None)
        .await;
    let seen = all.until(last).await;
    assert_eq!(ids(&seen), (begin + 1..=last).collect::<Vec<u64>>());
    // A cursor whose pages end exactly at the head is no special case.
    for after in [last - 500, last - 501, last - 1_000] {
        let mut some = t
            .stream(&owner, &format!("/api/events?after={after}"), None)
            .await;
        assert_eq!(
            ids(&some.until(last).await),
            (after + 1..=last).collect::<Vec<u64>>()
        );
    }
    let scopes = format!(
        "/api/events?scope=room:{team}&scope=agent:{}&after={begin}",
        ada.agent()
    );
    for path in [format!("/api/events?after={begin}"), scopes] {
        let mut adas = t.stream(&ada, &path, None).await;
        assert_eq!(adas.expect("entry_added").await.inner()["entry"], visible);
    }
    let of_hidden = format!("/api/rooms/{hidden}/events?after={begin}");
    let mut narrow = t.stream(&owner, &of_hidden, None).await;
    assert_eq!(
        ids(&narrow.until(last - 1).await),
        (begin + 1..last).collect::<Vec<u64>>()
    );
    // The snapshot holds the newest hundred.
    let mut fresh = t
        .stream(&owner, &format!("/api/rooms/{hidden}/events"), None)
        .await;
    let snapshot = fresh.expect("snapshot").await;
    let entries = list(&snapshot.data["entries"]);
    let ends = (entries.len(), &entries[0]["seq"], &entries[99]["seq"]);
    assert_eq!(ends, (100, &json!(941), &json!(1_040)));
}

#[tokio::test]
async fn what_is_read_while_others_write_and_the_stream_from_there_make_one_whole() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.bystander("ada").await;
    let team = t.team().await;
    let path = format!("/api/rooms/{team}/entries?limit=200");
    for _ in 0..10 {
        let (_, _, read, _, _) = tokio::join!(
            t.say(&ada, &team, "one"),
            t.say(&owner, &team, "two"),
            owner.get(&path),
            t.say(&ada, &team, "three"),
            t.say(&owner, &team, "four"),
        );
        let place = read.header("x-event-seq").to_owned();
        let mut entries = list(&read.ok(200)["entries"]).clone();
        t.say(&owner, &team, "last").await;
        let mut rest = t
            .stream(&owner, &format!("/api/events?after={place}"), None)
            .await;
        let later = rest.until(head(&t)).await;
        entries.extend(later.iter().map(|frame| frame.inner()["entry"].clone()));
        let whole = owner.get(&path).await.ok(200);
        assert_eq!(
            whole["entries"],
            json!(entries),
            "neither a gap nor a double"
        );
    }
}
