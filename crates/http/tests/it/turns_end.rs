//! Turns: what is posted, what stops, what takes long, what a restart leaves.
//! Source: contract 2.3 "Halt", 2.6, 2.7, 2.10.

use guildhall_domain::{ids::TurnId, sessions::TurnOutcome};
use guildhall_hall::turns::SessionReport;
use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::{
    canvas,
    test_values::text,
    turns::{due, entries, ledger, look, notices, play, post, reply, room_of, says, stands, turn},
};

fn ends(outcome: TurnOutcome, reply: &str, error: Option<&str>) -> SessionReport {
    SessionReport::Ended {
        outcome,
        reply: reply.to_owned(),
        error: error.map(str::to_owned),
    }
}

#[tokio::test]
async fn a_reply_stands_in_the_thread_with_its_turn_and_cascade() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = room_of(&t, &[(&ada, "always")]).await;
    let root = t.say(&owner, &room, "root").await;
    let first = post(&owner, &room, "first").await.remove(0);
    let asked = reply(&owner, &room, "why?", root["id"].as_str())
        .await
        .remove(0);
    due(&t).await;
    play(&t, &first, says("")).await;
    look(&t).await;
    let seq = asked["triggerEntryIds"][0].clone();
    play(&t, &asked, says("  because @ada\n")).await;
    let answered = turn(&t, &asked).await;
    assert_eq!(
        (&answered["state"], &answered["rule"]),
        (&json!("answered"), &json!("done"))
    );
    assert_eq!(answered["endedAt"], "2026-09-21T14:13:21.000Z");
    let all = entries(&t, &room).await;
    let answer = all.last().unwrap();
    assert_eq!(answer["id"], answered["replyEntryId"]);
    assert_eq!(answer["text"], "  because @ada\n", "as the agent wrote it");
    assert_eq!(answer["authorId"], ada.author());
    assert_eq!(answer["threadRootEntryId"], root["id"]);
    assert_eq!(
        (&answer["turnId"], &answer["sessionId"]),
        (&asked["id"], &answered["sessionId"])
    );
    assert_eq!(
        (&answer["cascadeRootId"], &answer["cascadeDepth"]),
        (&seq, &json!(1))
    );
    assert_eq!(stands(&t, &first).await, ["silent", "done"]);
    assert_eq!(all.len(), 4, "silence is no entry");
}

#[tokio::test]
async fn each_outcome_has_its_end() {
    use TurnOutcome::{Cancelled, EndTurn, Failed, Interrupted, MaxTokens, Refusal};
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = room_of(&t, &[(&ada, "always")]).await;
    for (outcome, reply, error, end, noticed) in [
        (EndTurn, "hello", None, ["answered", "done"], false),
        (EndTurn, " \n", None, ["silent", "done"], false),
        (MaxTokens, "half", None, ["answered", "done"], false),
        (MaxTokens, "", None, ["failed", "error"], true),
        (Refusal, "", None, ["failed", "error"], true),
        (Failed, "half", Some("no model"), ["failed", "error"], true),
        (Interrupted, "half", None, ["failed", "error"], true),
        (Cancelled, "half", None, ["stopped", "halted"], false),
    ] {
        let before = notices(&t, &room).await.len();
        let asked = post(&owner, &room, "go").await.remove(0);
        due(&t).await;
        play(&t, &asked, SessionReport::Began).await;
        play(&t, &asked, ends(outcome, reply, error)).await;
        assert_eq!(stands(&t, &asked).await, end, "{outcome:?} {reply:?}");
        let told = notices(&t, &room).await.split_off(before);
        let expected: &[&str] = if noticed { &["turn_failed"] } else { &[] };
        assert_eq!(told, expected, "{outcome:?}");
        let last = entries(&t, &room).await.pop().unwrap();
        if error.is_some() {
            assert_eq!(last["text"], "ada's turn failed: no model.");
            let data = json!({"turnId": asked["id"], "rule": "error", "error": "no model"});
            assert_eq!(last["notice"]["data"], data);
            assert_eq!(last["notice"]["subjectAuthorId"], ada.author());
        }
    }
}

#[tokio::test]
async fn after_a_halt_no_output_of_a_stopped_turn_reaches_the_room() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = room_of(&t, &[(&ada, "always"), (&bob, "always")]).await;
    let path = format!("/api/rooms/{room}");
    let turns = post(&owner, &room, "go").await;
    due(&t).await;
    let waiting = post(&owner, &room, "more").await;
    play(&t, &turns[1], SessionReport::Awaits).await;
    let detail = owner.get(&path).await.ok(200);
    assert_eq!(detail["working"], 2);
    let working = json!([
        {"authorId": ada.author(), "turnId": turns[0]["id"], "since": "2026-09-21T14:13:21.000Z", "state": "running"},
        {"authorId": bob.author(), "turnId": turns[1]["id"], "since": "2026-09-21T14:13:21.000Z", "state": "waiting"},
    ]);
    assert_eq!(detail["workingAgents"], working);
    let halt = format!("{path}/halt");
    ada.post(&halt, json!({})).await.refused(403, "HUMANS_ONLY");
    let one = format!("{halt}/{}", bob.author());
    assert_eq!(
        owner.post(&one, json!({})).await.ok(200),
        json!({"stopped": 2})
    );
    assert_eq!(stands(&t, &turns[0]).await, ["running", "started"]);
    assert_eq!(stands(&t, &waiting[1]).await, ["stopped", "halted"]);
    assert_eq!(
        owner.post(&halt, json!({})).await.ok(200),
        json!({"stopped": 2})
    );
    assert_eq!(
        owner.post(&halt, json!({})).await.ok(200),
        json!({"stopped": 0})
    );
    assert_eq!(
        notices(&t, &room).await,
        ["awaiting_approval", "halted", "halted"],
        "one for each halt that stopped something"
    );
    let before = entries(&t, &room).await;
    for stopped in &turns {
        play(&t, stopped, SessionReport::GoesOn).await;
        play(&t, stopped, says("too late")).await;
        play(&t, stopped, ends(TurnOutcome::Failed, "", Some("late"))).await;
        assert_eq!(stands(&t, stopped).await, ["stopped", "halted"]);
    }
    due(&t).await;
    assert_eq!(entries(&t, &room).await, before);
    assert_eq!(owner.get(&path).await.ok(200)["working"], 0);
    let nobody = format!("{halt}/{}", t.agent("cleo").await.author());
    owner
        .post(&nobody, json!({}))
        .await
        .refused(404, "MEMBER_NOT_FOUND");
    owner
        .post("/api/rooms/x/halt", json!({}))
        .await
        .refused(404, "ROOM_NOT_FOUND");
    owner.patch(&path, json!({"archived": true})).await.ok(200);
    assert_eq!(
        owner.post(&halt, json!({})).await.ok(200),
        json!({"stopped": 0})
    );
}

#[tokio::test]
async fn a_turn_ends_with_the_membership_the_room_and_the_agent_it_rests_on() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    for (deed, rule) in [
        ("leave", ["refused", "not_a_member"]),
        ("archive", ["refused", "room_archived"]),
        ("silence", ["stopped", "halted"]),
        ("retire", ["refused", "agent_gone"]),
    ] {
        let room = room_of(&t, &[(&ada, "always"), (&bob, "silent")]).await;
        let path = format!("/api/rooms/{room}");
        let runs = post(&owner, &room, "go").await.remove(0);
        due(&t).await;
        let waits = post(&owner, &room, "more").await.remove(0);
        let member = format!("{path}/members/{}", ada.author());
        let answer = match deed {
            "leave" => owner.delete(&member).await,
            "archive" => owner.patch(&path, json!({"archived": true})).await,
            "silence" => {
                owner
                    .patch(&member, json!({"responseMode": "silent"}))
                    .await
            }
            _ => owner.delete(&format!("/api/agents/{}", ada.agent())).await,
        };
        assert!(answer.status < 300, "{deed}");
        assert_eq!(stands(&t, &waits).await, rule, "{deed}");
        let running = if deed == "silence" {
            ["running", "started"]
        } else {
            ["stopped", "halted"]
        };
        assert_eq!(stands(&t, &runs).await, running, "{deed}");
        let told: &[&str] = if deed == "retire" {
            &["agent_gone"]
        } else {
            &[]
        };
        assert_eq!(notices(&t, &room).await, told, "{deed}");
        play(&t, &runs, says("bye")).await;
        if deed != "archive" {
            owner.patch(&path, json!({"archived": true})).await.ok(200);
        }
    }
}

#[tokio::test]
async fn what_takes_long_is_told_after_ten_minutes_and_ended_after_sixty() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = room_of(&t, &[(&ada, "always")]).await;
    let asked = post(&owner, &room, "go").await.remove(0);
    due(&t).await;
    t.advance(599);
    look(&t).await;
    assert!(notices(&t, &room).await.is_empty());
    // The clock stands while a person is asked, however long that takes.
    play(&t, &asked, SessionReport::Awaits).await;
    t.advance(7_200);
    look(&t).await;
    assert_eq!(stands(&t, &asked).await, ["waiting", "awaiting_person"]);
    play(&t, &asked, SessionReport::GoesOn).await;
    assert_eq!(stands(&t, &asked).await, ["running", "started"]);
    t.advance(1);
    look(&t).await;
    look(&t).await;
    assert_eq!(
        notices(&t, &room).await,
        ["awaiting_approval", "agent_busy"]
    );
    assert_eq!(entries(&t, &room).await[2]["text"], "ada is working late.");
    t.advance(2_999);
    look(&t).await;
    assert_eq!(stands(&t, &asked).await[0], "running");
    t.advance(1);
    look(&t).await;
    assert_eq!(stands(&t, &asked).await, ["failed", "timeout"]);
    assert_eq!(notices(&t, &room).await[2], "turn_failed");
    play(&t, &asked, says("at last")).await;
    assert_eq!(entries(&t, &room).await.len(), 4);
}

#[tokio::test]
async fn after_a_restart_what_waited_resumes_and_what_ran_has_failed() {
    let mut t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = room_of(&t, &[(&ada, "always"), (&bob, "always")]).await;
    let ran = post(&owner, &room, "go").await;
    due(&t).await;
    play(&t, &ran[1], SessionReport::Awaits).await;
    let waits = post(&owner, &room, "more").await;
    t.restart().await;
    for turn in &ran {
        assert_eq!(stands(&t, turn).await, ["failed", "server_restart"]);
    }
    assert_eq!(
        notices(&t, &room).await,
        ["awaiting_approval", "turn_failed"]
    );
    assert_eq!(
        owner.get(&format!("/api/rooms/{room}")).await.ok(200)["working"],
        0
    );
    // The dispatcher comes by itself once it is due.
    let mut events = t
        .stream(&owner, &format!("/api/rooms/{room}/events"), None)
        .await;
    let snapshot = events.expect("snapshot").await;
    assert_eq!(snapshot.data["turns"], json!(waits));
    t.advance(1);
    let mut started = 0;
    while started < 2 {
        let frame = events.next().await;
        if frame.event == "turn_updated" {
            assert_eq!(frame.inner()["turn"]["state"], "running");
            started += 1;
        }
    }
    // A person approves what bob had asked: it goes on in a turn of its own, once bob is done
    // with what runs meanwhile.
    play(&t, &ran[1], SessionReport::Reopened).await;
    let held = ledger(&owner, &room, "&state=held").await;
    let reopened = held["turns"][0].clone();
    assert_ne!(reopened["id"], ran[1]["id"]);
    for field in [
        "triggerEntryIds",
        "cascadeRootId",
        "depth",
        "agentAuthorId",
        "sessionId",
    ] {
        assert_eq!(reopened[field], turn(&t, &ran[1]).await[field], "{field}");
    }
    // Its message waits already: no post joins it, nobody has it run, and none starts before it.
    let later = post(&owner, &room, "later").await;
    assert_ne!(later[1]["id"], reopened["id"]);
    let run = format!("/api/rooms/{room}/turns/{}/run", text(&reopened["id"]));
    let refused = owner.post(&run, json!({})).await;
    refused.refused(409, "TURN_NOT_RUNNABLE");
    play(&t, &waits[1], says("")).await;
    due(&t).await;
    assert_eq!(stands(&t, &later[1]).await, ["held", "agent_busy"]);
    play(&t, &reopened, SessionReport::Began).await;
    assert_eq!(stands(&t, &reopened).await, ["running", "by_person"]);
    play(&t, &reopened, says("done")).await;
    assert_eq!(stands(&t, &reopened).await, ["answered", "done"]);
    look(&t).await;
    assert_eq!(stands(&t, &later[1]).await, ["running", "started"]);
}

#[tokio::test]
async fn a_turn_that_waits_in_its_session_is_stopped_by_a_halt_and_by_the_end_of_its_message() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = room_of(&t, &[(&ada, "always")]).await;
    let first = post(&owner, &room, "go").await.remove(0);
    due(&t).await;
    play(&t, &first, SessionReport::Awaits).await;
    for is_halted in [true, false] {
        play(&t, &first, SessionReport::Reopened).await;
        let held = ledger(&owner, &room, "&state=held").await["turns"][0].clone();
        if is_halted {
            let path = format!("/api/rooms/{room}/halt");
            owner.post(&path, json!({})).await.ok(200);
        } else {
            play(&t, &held, ends(TurnOutcome::Cancelled, "", None)).await;
        }
        assert_eq!(stands(&t, &held).await, ["stopped", "halted"]);
        look(&t).await;
        if is_halted {
            post(&owner, &room, "again").await;
            due(&t).await;
        }
    }
}

#[tokio::test]
async fn what_a_session_writes_belongs_to_its_turn_and_has_its_bounds() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = room_of(&t, &[(&ada, "always"), (&bob, "always")]).await;
    let path = format!("/api/rooms/{room}/entries");
    // Any other credential of an agent starts nobody.
    let free = ada.post(&path, json!({"text": "hi"})).await.ok(201);
    assert_eq!(free["entry"]["cascadeDepth"], 30);
    assert_eq!(free["turns"][0]["rule"], "depth");
    assert!(
        notices(&t, &room).await.is_empty(),
        "nothing was stopped by it"
    );

    let turns = post(&owner, &room, "go").await;
    due(&t).await;
    let ran = turn(&t, &turns[0]).await;
    t.bind_tokens(&ada, &text(&ran["sessionId"]));
    for n in 0..3 {
        let entry = ada
            .post(&path, json!({"text": format!("{n}")}))
            .await
            .ok(201)["entry"]
            .clone();
        assert_eq!(
            (&entry["turnId"], &entry["sessionId"]),
            (&ran["id"], &ran["sessionId"])
        );
        assert_eq!(
            (&entry["cascadeRootId"], &entry["cascadeDepth"]),
            (&ran["cascadeRootId"], &json!(1))
        );
    }
    let more = json!({"text": "more"});
    ada.post(&path, more.clone())
        .await
        .refused(429, "TOO_MANY_POSTS_THIS_TURN");
    for n in 1..=3 {
        canvas::open(&ada, &room, n).await;
    }
    let content = json!({"content": {"type": "url", "url": "http://four.example"}});
    let of_canvas = format!("/api/rooms/{room}/canvas");
    ada.post(&of_canvas, content.clone())
        .await
        .refused(429, "TOO_MANY_CANVAS_OPS_THIS_TURN");
    // What its turn writes in passing does not keep it from answering.
    let halt = format!("/api/rooms/{room}/halt/{}", ada.author());
    owner.post(&halt, json!({})).await.ok(200);
    ada.post(&path, more.clone())
        .await
        .refused(409, "TURN_WAS_STOPPED");
    ada.post(&of_canvas, content)
        .await
        .refused(409, "TURN_WAS_STOPPED");
    // Without a turn its session is as any other credential.
    let next = post(&owner, &room, "again").await.remove(0);
    due(&t).await;
    play(&t, &next, says("done")).await;
    let free = ada.post(&path, more).await.ok(201);
    assert_eq!(free["entry"]["cascadeDepth"], 30);
    assert_eq!(free["entry"]["turnId"], Value::Null);
}

#[tokio::test]
async fn a_room_hears_who_works_as_long_as_it_does() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = room_of(&t, &[(&ada, "always")]).await;
    let asked = post(&owner, &room, "go").await.remove(0);
    let mut events = t
        .stream(&owner, &format!("/api/rooms/{room}/events"), None)
        .await;
    events.expect("snapshot").await;
    t.advance(1);
    let signal = async |events: &mut guildhall_testkit::SseClient| loop {
        let frame = events.next().await;
        if frame.event == "signal" {
            return frame.inner().clone();
        }
    };
    let expected = json!({"kind": "working", "authorId": ada.author(), "on": true,
        "documentId": null, "turnId": asked["id"], "until": "2026-09-21T14:13:51.000Z"});
    assert_eq!(signal(&mut events).await, expected);
    t.advance(10);
    assert_eq!(
        signal(&mut events).await["until"],
        "2026-09-21T14:14:01.000Z"
    );
    play(&t, &asked, says("done")).await;
    assert_eq!(signal(&mut events).await["on"], false);
}

/// What the session of a turn would be handed.
async fn handed(t: &TestHall, turn: &Value) -> (String, String) {
    let id = TurnId::named(turn["id"].as_str().unwrap());
    t.hall().preview_turn(id).await.unwrap()
}

#[tokio::test]
async fn a_turn_is_handed_the_post_byte_exact_and_beside_it_what_its_agent_has_not_seen() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.bystander("bob").await);
    let room = room_of(&t, &[(&bob, "silent")]).await;
    let root = t.say(&owner, &room, "hidden before").await;
    let join = json!({"agentId": ada.agent(), "responseMode": "mention-only"});
    let members = format!("/api/rooms/{room}/members");
    owner.post(&members, join).await.ok(201);
    let path = format!("/api/rooms/{room}");
    owner
        .patch(&path, json!({"ambientMaxEntries": 2, "topic": "what runs"}))
        .await
        .ok(200);
    for n in 1..=3 {
        t.say(&bob, &room, &format!("note {n}")).await;
    }
    let file = t
        .upload(&owner, &room, ("plan.txt", "text/plain", b"a"))
        .await;
    let redacted = t.say(&owner, &room, "a secret").await;
    let redacted = format!("{path}/entries/{}", text(&redacted["id"]));
    owner.delete(&redacted).await.ok(200);
    post(&owner, &room, "@ada first").await;
    let words = "  @ada second\u{2028}\r\n";
    let ask = json!({"text": words, "attachmentIds": [file["id"]]});
    let posted = owner.post(&format!("{path}/entries"), ask).await.ok(201);
    let asked = posted["turns"]
        .as_array()
        .unwrap()
        .iter()
        .find(|turn| turn["state"] == "collecting");
    let (content, context) = handed(&t, asked.unwrap()).await;
    assert_eq!(content, words);
    for told in [
        "You are @ada (ada) in the room \"Ops\"",
        "What it is for: what runs",
        "@bob (bob) (agent)",
        "(1 older entries are left out)\n[3] @bob (bob):\n  note 2\n[4] @bob (bob):\n  note 3\n",
        "and to be answered with it:\n[6] ",
        "  @ada first\n",
        "The message is entry [7]",
        "(files: plan.txt)",
    ] {
        assert!(context.contains(told), "{told:?} in {context}");
    }
    for hidden in ["hidden before", "a secret", "note 1", "second"] {
        assert!(!context.contains(hidden), "{hidden:?} in {context}");
    }
    // What was handed over is seen; the root of its thread is shown, however old.
    due(&t).await;
    let again = reply(&owner, &room, "@ada why?", root["id"].as_str()).await;
    let again = again
        .iter()
        .find(|turn| turn["state"] == "collecting")
        .unwrap();
    let (_, context) = handed(&t, again).await;
    assert!(context.contains("began with:\n[1] "), "{context}");
    assert!(context.contains("hidden before"), "{context}");
    assert!(
        !context.contains("Written since you last read"),
        "{context}"
    );
}
