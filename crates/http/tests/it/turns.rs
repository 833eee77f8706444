//! Turns: whom a post means, what collects, what limits refuse, what the ledger shows.
//! Source: contract 2.6, 2.7, 2.9.

use guildhall_domain::{ids::TurnId, sessions::TurnOutcome};
use guildhall_hall::turns::SessionReport;
use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::test_values::{column, list, text};

/// Posts in a room; answers the turns of the post.
pub(crate) async fn post(by: &TestCaller, room: &str, words: &str) -> Vec<Value> {
    reply(by, room, words, None).await
}

/// Posts in a thread of a room; answers the turns of the post.
pub(crate) async fn reply(
    by: &TestCaller,
    room: &str,
    words: &str,
    root: Option<&str>,
) -> Vec<Value> {
    let ask = json!({"text": words, "threadRootEntryId": root});
    let posted = by.post(&format!("/api/rooms/{room}/entries"), ask).await;
    list(&posted.ok(201)["turns"]).clone()
}

/// A channel with these agents, which answer there as told.
pub(crate) async fn room_of(t: &TestHall, agents: &[(&TestCaller, &str)]) -> String {
    t.silence_agents();
    let members: Vec<&TestCaller> = agents.iter().map(|(agent, _)| *agent).collect();
    let room = t.channel(&t.owner(), "Ops", &members).await;
    for (agent, mode) in agents {
        let path = format!("/api/rooms/{room}/members/{}", agent.author());
        let mode = json!({"responseMode": mode});
        t.owner().patch(&path, mode).await.ok(200);
    }
    room
}

/// Lets the time of collecting pass, and has the dispatcher look.
pub(crate) async fn due(t: &TestHall) {
    t.advance(1);
    look(t).await;
}

/// Has the dispatcher look.
pub(crate) async fn look(t: &TestHall) {
    t.hall().dispatch_turns().await.unwrap();
}

/// Plays the part of a turn's session.
pub(crate) async fn play(t: &TestHall, turn: &Value, played: SessionReport) {
    let id = TurnId::named(turn["id"].as_str().unwrap());
    t.hall().report_turn(id, played).await.unwrap();
}

/// The agent is done and says this.
pub(crate) fn says(reply: &str) -> SessionReport {
    SessionReport::Ended {
        outcome: TurnOutcome::EndTurn,
        reply: reply.to_owned(),
        error: None,
    }
}

/// A turn as it is now.
pub(crate) async fn turn(t: &TestHall, turn: &Value) -> Value {
    let (room, id) = (text(&turn["roomId"]), text(&turn["id"]));
    let path = format!("/api/rooms/{room}/turns/{id}");
    t.owner().get(&path).await.ok(200)
}

/// Its state and rule.
pub(crate) async fn stands(t: &TestHall, of: &Value) -> [String; 2] {
    let turn = turn(t, of).await;
    [text(&turn["state"]), text(&turn["rule"])]
}

/// The ledger of a room, newest first.
pub(crate) async fn ledger(by: &TestCaller, room: &str, query: &str) -> Value {
    let path = format!("/api/rooms/{room}/turns?limit=200{query}");
    by.get(&path).await.ok(200)
}

/// The entries of a room.
pub(crate) async fn entries(t: &TestHall, room: &str) -> Vec<Value> {
    let path = format!("/api/rooms/{room}/entries?limit=200");
    list(&t.owner().get(&path).await.ok(200)["entries"]).clone()
}

/// The codes of a room's notices.
pub(crate) async fn notices(t: &TestHall, room: &str) -> Vec<String> {
    let entries = entries(t, room).await;
    let notices = entries.iter().filter(|entry| entry["kind"] == "notice");
    notices
        .map(|entry| text(&entry["notice"]["code"]))
        .collect()
}

fn rules(turns: &[Value]) -> Vec<[String; 2]> {
    let of = |turn: &Value| [text(&turn["state"]), text(&turn["rule"])];
    turns.iter().map(of).collect()
}

#[tokio::test]
async fn a_post_says_of_every_agent_whether_it_is_meant_and_by_which_rule() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let (cleo, dan) = (t.agent("cleo").await, t.agent("dan").await);
    let room = room_of(
        &t,
        &[
            (&ada, "always"),
            (&bob, "mention-only"),
            (&cleo, "silent"),
            (&dan, "engaged"),
        ],
    )
    .await;
    let mut events = t.events();
    let turns = post(&owner, &room, "hello @cleo").await;
    let expected = [
        ["collecting", "addressed"],
        ["not_addressed", "not_named"],
        ["not_addressed", "silent"],
        ["not_addressed", "not_engaged"],
    ];
    assert_eq!(rules(&turns), expected);
    let [entry, updated] = &events.all()[..] else {
        panic!("an entry and one turn")
    };
    assert_eq!(updated["type"], "turn_updated");
    assert_eq!(updated["data"]["turn"], turns[0]);
    let entry = &entry["data"]["entry"];
    let ada_turn = json!({
        "id": turns[0]["id"], "roomId": room, "agentAuthorId": ada.author(),
        "triggerEntryIds": [entry["id"]], "cascadeRootId": entry["id"], "depth": 1,
        "state": "collecting", "rule": "addressed", "limit": null, "sessionId": null,
        "replyEntryId": null, "createdAt": entry["createdAt"], "startedAt": null, "endedAt": null,
    });
    assert_eq!(turns[0], ada_turn);
    assert_eq!(
        turns[1]["id"], "",
        "who is not meant has no turn of its own"
    );
    // The same is made up again when it is asked for, and stored nowhere.
    let rows = t.rows();
    assert_eq!(ledger(&owner, &room, "").await["turns"], json!(turns));
    assert_eq!(t.rows(), rows);
    assert_eq!(rows.matches("not_addressed").count(), 0);

    // An agent is named, and its answer counts as one more post.
    let turns = post(&owner, &room, "@dan @bob").await;
    assert_eq!(turns[1]["state"], "collecting");
    assert_eq!(turns[3]["state"], "collecting");
    let engaged = post(&owner, &room, "and?").await;
    assert_eq!(
        engaged[3]["id"], turns[3]["id"],
        "engaged, and in the same turn"
    );
    assert_eq!(rules(&engaged)[1], ["not_addressed", "not_named"]);
    t.advance(601);
    let later = post(&owner, &room, "still there?").await;
    assert_eq!(rules(&later)[3], ["not_addressed", "not_engaged"]);
}

#[tokio::test]
async fn the_seat_of_the_team_answers_what_is_for_nobody_else() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let team = t.team().await;
    let states = |turns: &[Value]| rules(turns);
    let [first, other] = &states(&post(&owner, &team, "hello").await)[..] else {
        panic!("two agents")
    };
    assert_eq!(first[0], "collecting", "the first agent has the seat");
    assert_eq!(other, &["not_addressed", "not_engaged"]);
    let turns = post(&owner, &team, "@bob hello").await;
    assert_eq!(states(&turns)[0], ["not_addressed", "seat_stood_down"]);
    let by_bob = post(&bob, &team, "hello").await;
    assert_eq!(states(&by_bob), [["not_addressed", "seat_stood_down"]]);
    // In a direct message agents reach only whom they name.
    let ask = json!({"kind": "dm", "memberIds": [ada.author(), bob.author()]});
    let dm = text(&owner.post("/api/rooms", ask).await.ok(201)["id"]);
    let both = states(&post(&owner, &dm, "hello").await);
    assert_eq!(
        both,
        [["collecting", "addressed"], ["collecting", "addressed"]]
    );
    let named = states(&post(&bob, &dm, "hello").await);
    assert_eq!(named, [["not_addressed", "not_named"]]);
}

#[tokio::test]
async fn what_is_posted_in_quick_succession_is_answered_at_once() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = room_of(&t, &[(&ada, "always")]).await;
    let first = &post(&owner, &room, "one").await[0];
    let second = &post(&owner, &room, "two").await[0];
    assert_eq!(second["id"], first["id"]);
    assert_eq!(list(&second["triggerEntryIds"]).len(), 2);
    let root = entries(&t, &room).await[0]["id"].clone();
    let apart = &reply(&owner, &room, "in a thread", root.as_str()).await[0];
    assert_ne!(apart["id"], first["id"], "another thread is another turn");
    look(&t).await;
    assert_eq!(stands(&t, first).await, ["collecting", "addressed"]);
    due(&t).await;
    assert_eq!(stands(&t, first).await, ["running", "started"]);
    assert_eq!(stands(&t, apart).await, ["held", "agent_busy"]);
    // Twenty posts do not wait.
    for n in 0..20 {
        let turn = &post(&owner, &room, &format!("{n}")).await[0];
        let posts = list(&turn["triggerEntryIds"]).len();
        assert_eq!(posts, n + 1);
    }
    let next = &post(&owner, &room, "one more").await[0];
    assert_eq!(list(&next["triggerEntryIds"]).len(), 1, "twenty are enough");
    play(&t, first, says("done")).await;
    look(&t).await;
    assert_eq!(stands(&t, apart).await, ["running", "started"], "in order");
}

#[tokio::test]
async fn two_agents_that_always_answer_stop_at_the_exact_count_with_one_notice() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    for (limits, count, rule) in [
        (json!({"maxAgentDepth": 3}), 6, "depth"),
        (json!({"maxTurnsPerAgentPerCascade": 2}), 4, "repeat"),
        (json!({"maxAgentDepth": 0}), 0, "depth"),
    ] {
        let room = room_of(&t, &[(&ada, "always"), (&bob, "always")]).await;
        let path = format!("/api/rooms/{room}");
        owner.patch(&path, limits.clone()).await.ok(200);
        post(&owner, &room, "go").await;
        let mut taken = 0;
        loop {
            due(&t).await;
            let running = ledger(&owner, &room, "&state=running").await;
            let running = list(&running["turns"]).clone();
            if running.is_empty() {
                break;
            }
            for turn in running {
                taken += 1;
                play(&t, &turn, says("and you?")).await;
            }
        }
        assert_eq!(taken, count, "{limits}");
        let refused = ledger(&owner, &room, "&state=refused").await;
        let refused = list(&refused["turns"]);
        assert!(!refused.is_empty() && refused.iter().all(|turn| turn["rule"] == rule));
        let codes = notices(&t, &room).await;
        let expected: &[&str] = if count > 0 { &["cascade_stopped"] } else { &[] };
        assert_eq!(codes, expected, "{limits}");
        // The limit and its counter stand in the ledger.
        let met = &refused[0]["limit"];
        assert_eq!(met["source"], "room");
        assert_eq!(met["used"], met["value"]);
        let archive = json!({"archived": true});
        owner.patch(&path, archive).await.ok(200);
    }
}

#[tokio::test]
async fn with_depth_0_a_persons_run_starts_exactly_one_turn() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = room_of(&t, &[(&ada, "always"), (&bob, "always")]).await;
    let path = format!("/api/rooms/{room}");
    owner
        .patch(&path, json!({"maxAgentDepth": 0}))
        .await
        .ok(200);
    let turns = post(&owner, &room, "go").await;
    assert_eq!(rules(&turns), [["refused", "depth"], ["refused", "depth"]]);
    let run = format!("{path}/turns/{}/run", text(&turns[0]["id"]));
    ada.post(&run, json!({})).await.refused(403, "HUMANS_ONLY");
    let started = owner.post(&run, json!({})).await.ok(202);
    assert_eq!(rules(&[started]), [["running", "by_person"]]);
    owner
        .post(&run, json!({}))
        .await
        .refused(409, "TURN_NOT_RUNNABLE");
    play(&t, &turns[0], SessionReport::Awaits).await;
    play(&t, &turns[0], SessionReport::GoesOn).await;
    assert_eq!(stands(&t, &turns[0]).await, ["running", "by_person"]);
    play(&t, &turns[0], says("here @bob")).await;
    due(&t).await;
    let of_bob = ledger(&owner, &room, &format!("&agentAuthorId={}", bob.author())).await;
    assert_eq!(column(&of_bob["turns"], "state"), ["refused", "refused"]);
    let nothing = format!("{path}/turns/x/run");
    owner
        .post(&nothing, json!({}))
        .await
        .refused(404, "TURN_NOT_FOUND");
    owner.patch(&path, json!({"archived": true})).await.ok(200);
    let run = format!("{path}/turns/{}/run", text(&turns[1]["id"]));
    owner
        .post(&run, json!({}))
        .await
        .refused(409, "ROOM_ARCHIVED");
}

#[tokio::test]
async fn an_hour_holds_so_many_turns_of_a_room_and_of_all() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = room_of(&t, &[(&ada, "always")]).await;
    let path = format!("/api/rooms/{room}");
    let limit = json!({"maxAutoTurnsPerHour": 2});
    owner.patch(&path, limit).await.ok(200);
    for n in 0..2 {
        let turn = &post(&owner, &room, "go").await[0];
        due(&t).await;
        play(&t, turn, says(&format!("{n}"))).await;
    }
    let refused = post(&owner, &room, "go").await;
    assert_eq!(rules(&refused), [["refused", "hour_room"]]);
    assert_eq!(
        rules(&post(&owner, &room, "go").await),
        [["refused", "hour_room"]]
    );
    assert_eq!(notices(&t, &room).await, ["budget_reached"], "told once");
    let run = format!("{path}/turns/{}/run", text(&refused[0]["id"]));
    let answer = owner.post(&run, json!({})).await;
    assert_eq!(answer.header("retry-after"), "3599");
    answer.refused(429, "TURN_BUDGET_REACHED");
    let budget = ledger(&owner, &room, "").await["budget"].clone();
    assert_eq!(budget["roomUsed"], 2);
    assert_eq!(
        (&budget["roomMax"], &budget["globalUsed"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(budget["globalMax"], 5_000);
    assert_eq!(budget["resetsAt"], "2026-09-21T15:13:21.000Z");
    // The window rolls on: one unit comes free.
    t.advance(3_599);
    let turn = &post(&owner, &room, "go").await[0];
    due(&t).await;
    assert_eq!(stands(&t, turn).await, ["running", "started"]);
    // A room's own switch lifts its limits, and the total stays.
    let lifted = json!({"turnLimitsEnabled": false});
    owner.patch(&path, lifted).await.ok(200);
    let total = json!({"rooms.maxAutoTurnsTotalPerHour": 1});
    owner.patch("/api/settings", total).await.ok(200);
    let refused = post(&owner, &room, "go").await;
    assert_eq!(rules(&refused), [["refused", "hour_global"]]);
    assert_eq!(refused[0]["limit"]["source"], "install");
    let all = json!({"rooms.turnLimitsEnabled": false});
    owner.patch("/api/settings", all).await.ok(200);
    assert_eq!(rules(&post(&owner, &room, "go").await)[0][0], "collecting");
}

#[tokio::test]
async fn limits_are_checked_once_more_before_a_turn_starts() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = room_of(&t, &[(&ada, "always"), (&bob, "always")]).await;
    let limit = json!({"maxAutoTurnsPerHour": 1});
    owner
        .patch(&format!("/api/rooms/{room}"), limit)
        .await
        .ok(200);
    let turns = post(&owner, &room, "go").await;
    assert_eq!(
        rules(&turns),
        [["collecting", "addressed"], ["collecting", "addressed"]]
    );
    due(&t).await;
    assert_eq!(stands(&t, &turns[0]).await, ["running", "started"]);
    assert_eq!(stands(&t, &turns[1]).await, ["refused", "hour_room"]);
    assert_eq!(notices(&t, &room).await, ["budget_reached"]);
}

#[tokio::test]
async fn an_agent_takes_one_turn_a_room_and_so_many_at_once() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let one = json!({"rooms.maxConcurrentTurnsPerAgent": 1});
    owner.patch("/api/settings", one).await.ok(200);
    let room = room_of(&t, &[(&ada, "always")]).await;
    let ask = json!({"kind": "dm", "memberIds": [ada.author()]});
    let dm = text(&owner.post("/api/rooms", ask).await.ok(201)["id"]);
    let here = post(&owner, &room, "go").await.remove(0);
    due(&t).await;
    let there = post(&owner, &dm, "go").await.remove(0);
    let again = post(&owner, &room, "go").await.remove(0);
    due(&t).await;
    assert_eq!(stands(&t, &here).await, ["running", "started"]);
    assert_eq!(stands(&t, &there).await, ["held", "agent_busy"]);
    assert_eq!(stands(&t, &again).await, ["held", "agent_busy"]);
    let two = json!({"rooms.maxConcurrentTurnsPerAgent": 2});
    owner.patch("/api/settings", two).await.ok(200);
    look(&t).await;
    assert_eq!(stands(&t, &there).await, ["running", "started"]);
    assert_eq!(
        stands(&t, &again).await,
        ["held", "agent_busy"],
        "one a room"
    );
    // A person's run passes the slot.
    let run = format!("/api/rooms/{room}/turns/{}/run", text(&again["id"]));
    owner.post(&run, json!({})).await.ok(202);
    let session = |turn: Value| text(&turn["sessionId"]);
    let of_room = session(turn(&t, &here).await);
    assert_eq!(
        session(turn(&t, &again).await),
        of_room,
        "one session a room"
    );
    assert_ne!(session(turn(&t, &there).await), of_room);
}

#[tokio::test]
async fn the_ledger_is_read_in_pages_and_by_what_is_asked() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let room = room_of(&t, &[(&ada, "always"), (&bob, "mention-only")]).await;
    let mut expected = Vec::new();
    for n in 0..7 {
        let turns = post(&owner, &room, &format!("{n}")).await;
        due(&t).await;
        play(&t, &turns[0], says("")).await;
        let stored = turn(&t, &turns[0]).await;
        expected.splice(0..0, [stored, turns[1].clone()]);
    }
    assert_eq!(rules(&expected)[0], ["silent", "done"]);
    let mut found = Vec::new();
    let base = format!("/api/rooms/{room}/turns?limit=3");
    let mut path = base.clone();
    loop {
        let page = owner.get(&path).await.ok(200);
        found.extend(list(&page["turns"]).clone());
        match page["nextCursor"].as_str() {
            Some(cursor) => path = format!("{base}&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(found, expected);
    let entry = text(&expected[2]["triggerEntryIds"][0]);
    let of_entry = ledger(&owner, &room, &format!("&entryId={entry}")).await;
    assert_eq!(of_entry["turns"], json!(expected[2..4]));
    let of_bob = ledger(&owner, &room, &format!("&agentAuthorId={}", bob.author())).await;
    assert_eq!(column(&of_bob["turns"], "rule"), ["not_named"; 7]);
    let silent = ledger(&owner, &room, "&state=silent").await;
    assert_eq!(list(&silent["turns"]).len(), 7);
    for wrong in ["state=asleep", "limit=0", "cursor=x"] {
        let path = format!("/api/rooms/{room}/turns?{wrong}");
        owner.get(&path).await.refused(400, "VALIDATION_FAILED");
    }
    // An agent reads the ledger from its joining on, as it reads entries.
    let cleo = t.bystander("cleo").await;
    let path = format!("/api/rooms/{room}/turns");
    cleo.get(&path).await.refused(404, "ROOM_NOT_FOUND");
    let join = json!({"agentId": cleo.agent()});
    let members = format!("/api/rooms/{room}/members");
    owner.post(&members, join).await.ok(201);
    assert_eq!(ledger(&cleo, &room, "").await["turns"], json!([]));
    let hidden = format!("{path}/{}", text(&expected[0]["id"]));
    cleo.get(&hidden).await.refused(404, "TURN_NOT_FOUND");
    assert_eq!(ada.get(&hidden).await.ok(200), expected[0]);
    let turns = post(&owner, &room, "new").await;
    let mut seen = ledger(&cleo, &room, "").await["turns"].take();
    seen.as_array_mut()
        .unwrap()
        .sort_by_key(|turn| text(&turn["rule"]));
    assert_eq!(column(&seen, "rule"), ["addressed", "not_named", "silent"]);
    assert_eq!(turns.len(), 3);
}
