//! Interactions and time: what is parked, what expires, what survives its agent and the server.
//! Source: contract 3.8.2, 3.8.3.

use guildhall_domain::{
    ids::SessionId,
    interactions::{InteractionRequest, InteractionResponse},
    sessions::Session,
};
use guildhall_hall::interactions::OpenOutcome;
use guildhall_testkit::{TestHall, call, usual_options};
use serde_json::json;

use crate::interactions::{approve, at, deny, selected};

const MINUTE: i64 = 60;
const HOUR: i64 = 3_600;

/// What opening the same ask again comes to.
async fn again(t: &TestHall, session: &Session, id: &str, command: &str) -> OpenOutcome {
    t.open_call_interaction(session, id, command).await.opening
}

fn is_granted(opening: &OpenOutcome) -> bool {
    matches!(opening, OpenOutcome::Granted { option_id } if option_id == "once")
}

#[tokio::test]
async fn a_deadline_counts_before_anybody_writes_it_down() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    let card = t.seed_interaction(&session, "c1", "ls").await;
    t.advance(4 * HOUR - 1);
    assert_eq!(t.pending().await[0]["remainingMs"], 1_000);
    t.advance(1);
    assert!(t.pending().await.is_empty());
    let details = approve(&t.owner(), &session, "c1").await;
    let details = details.refused(409, "INTERACTION_ALREADY_RESOLVED");
    let expected = json!({"resolution": "expired", "resolvedAt": "2026-09-21T18:13:20.000Z"});
    assert_eq!(details, expected);
    t.hall().end_due_interactions().await.unwrap();
    assert_eq!(card.answer().await, selected("no"));
    let details = deny(&t.owner(), &session, "c1").await;
    assert_eq!(
        details.refused(409, "INTERACTION_ALREADY_RESOLVED"),
        expected
    );
}

#[tokio::test]
async fn the_chore_comes_by_itself_parks_after_ten_minutes_and_refuses_after_four_hours() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    let mut card = t.seed_interaction(&session, "c1", "ls").await;
    let question = t.seed_questions(&session, Vec::new()).await;
    let mut stream = t.stream(&t.owner(), "/api/events", None).await;
    stream.expect("snapshot").await;
    t.advance(10 * MINUTE);
    for _ in 0..2 {
        stream.expect("interaction_parked").await;
    }
    assert!(card.waits());
    assert_eq!(t.pending().await[0]["parked"], true);
    t.advance(4 * HOUR);
    for _ in 0..2 {
        stream.expect("interaction_resolved").await;
        stream.expect("session_updated").await;
    }
    assert_eq!(card.answer().await, selected("no"));
    assert_eq!(question.answer().await, InteractionResponse::Cancelled);
}

#[tokio::test]
async fn parking_is_told_once_and_before_it_is_told_it_is_seen() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    let mut all = t.events();
    let _card = t.seed_interaction(&session, "c1", "ls").await;
    assert_eq!(t.pending().await[0]["parked"], false);
    t.advance(10 * MINUTE);
    assert_eq!(t.pending().await[0]["parked"], true);
    let hall = t.hall();
    for _ in 0..2 {
        let next = hall.end_due_interactions().await.unwrap();
        let next = next.map(|next| next.to_string());
        assert_eq!(next.as_deref(), Some("2026-09-21T18:13:20.000Z"));
    }
    assert_eq!(all.names(), ["interaction_opened", "interaction_parked"]);
}

#[tokio::test]
async fn a_restart_keeps_the_card_and_its_deadline_and_a_yes_then_waits_for_the_agent() {
    let mut t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    let card = t.seed_interaction(&session, "c1", "ls").await;
    let digest = card.digest.clone();
    t.advance(5 * MINUTE);
    let mut events = t.events();
    t.restart().await;
    card.dies();
    let told = events.next("interaction_detached");
    assert_eq!(told["interaction"]["detached"], true);
    let listed = t.pending().await;
    let expires = "2026-09-21T18:13:20.000Z";
    assert_eq!(
        (
            &listed[0]["digest"],
            &listed[0]["expiresAt"],
            &listed[0]["detached"]
        ),
        (&json!(digest), &json!(expires), &json!(true))
    );
    let yes = json!({"toolCallId": "c1", "digest": digest});
    let answered = t.owner().post(&at(&session, "approve"), yes).await.ok(200);
    assert_eq!(answered, json!({"ok": true}));
    let told = events.all();
    // What follows is the agent's process being started for the message.
    let types: Vec<_> = told.iter().take(3).map(|event| &event["type"]).collect();
    assert_eq!(
        types,
        ["interaction_resolved", "session_updated", "message_queued"]
    );
    assert_eq!(told[0]["data"]["resolution"], "approved");
    // Anything else is asked about; exactly this is allowed once, under whatever id.
    assert!(matches!(
        again(&t, &session, "c2", "pwd").await,
        OpenOutcome::Asked(_)
    ));
    assert!(is_granted(&again(&t, &session, "c3", "ls").await));
    assert!(matches!(
        again(&t, &session, "c4", "ls").await,
        OpenOutcome::Asked(_)
    ));
    let details = approve(&t.owner(), &session, "c1").await;
    let details = details.refused(409, "INTERACTION_ALREADY_RESOLVED");
    assert_eq!(details["resolution"], "approved");
}

#[tokio::test]
async fn what_is_due_at_the_start_has_ended_before_anybody_is_answered() {
    let mut t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    t.seed_interaction(&session, "c1", "ls").await.dies();
    let mut events = t.events();
    // Nobody comes by while the server stands still.
    t.start_stopping();
    assert!(t.hall().tasks().ended(guildhall_testkit::PATIENCE).await);
    t.advance(4 * HOUR);
    t.restart().await;
    let told = events.single_event("interaction_resolved");
    assert_eq!(
        (&told["resolution"], &told["at"]),
        (&json!("expired"), &json!("2026-09-21T18:13:20.000Z"))
    );
    assert!(t.pending().await.is_empty());
}

#[tokio::test]
async fn a_grant_is_gone_after_half_an_hour_and_after_a_restart_it_is_not() {
    let mut t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    for (id, passes, is_live) in [("c1", 30 * MINUTE - 1, true), ("c2", 30 * MINUTE, false)] {
        t.seed_interaction(&session, id, "ls").await.dies();
        t.hall().detach_session(session.id).await.unwrap();
        approve(&t.owner(), &session, id).await.ok(200);
        t.restart().await;
        t.advance(passes);
        let opening = again(&t, &session, "next", "ls").await;
        assert_eq!(is_granted(&opening), is_live, "{opening:?}");
    }
    t.hall().end_due_interactions().await.unwrap();
    let details = approve(&t.owner(), &session, "c2").await;
    let details = details.refused(409, "INTERACTION_ALREADY_RESOLVED");
    assert_eq!(details["resolution"], "expired");
}

#[tokio::test]
async fn a_grant_dies_with_a_cancel_and_belongs_to_its_session_alone() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let (session, other) = (t.session(&ada), t.session(&ada));
    t.seed_interaction(&session, "c1", "ls").await.dies();
    t.hall().detach_session(session.id).await.unwrap();
    approve(&t.owner(), &session, "c1").await.ok(200);
    assert!(matches!(
        again(&t, &other, "c1", "ls").await,
        OpenOutcome::Asked(_)
    ));
    let mut events = t.events();
    t.hall()
        .withdraw_session_interactions(session.id, None)
        .await
        .unwrap();
    assert_eq!(
        events.single_event("interaction_resolved")["resolution"],
        "cancelled"
    );
    assert!(matches!(
        again(&t, &session, "c2", "ls").await,
        OpenOutcome::Asked(_)
    ));
}

#[tokio::test]
async fn a_no_to_an_agent_that_is_gone_is_heard_once_when_it_asks_the_same() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    t.seed_interaction(&session, "c1", "ls").await.dies();
    t.hall().detach_session(session.id).await.unwrap();
    deny(&t.owner(), &session, "c1").await.ok(200);
    assert!(matches!(
        again(&t, &session, "c2", "pwd").await,
        OpenOutcome::Asked(_)
    ));
    assert!(matches!(
        again(&t, &session, "c3", "ls").await,
        OpenOutcome::Refused
    ));
    assert!(matches!(
        again(&t, &session, "c4", "ls").await,
        OpenOutcome::Asked(_)
    ));
}

#[tokio::test]
async fn a_yes_that_reached_nobody_is_kept_for_the_agent_that_comes_back() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    t.seed_interaction(&session, "c1", "ls").await.dies();
    let mut events = t.events();
    approve(&t.owner(), &session, "c1").await.ok(200);
    // It is told of, and the agent is asked to go on.
    assert_eq!(
        events.names()[..4],
        [
            "interaction_resolved",
            "session_updated",
            "interaction_detached",
            "message_queued"
        ]
    );
    assert!(is_granted(&again(&t, &session, "c2", "ls").await));
    assert!(matches!(
        again(&t, &session, "c3", "ls").await,
        OpenOutcome::Asked(_)
    ));
}

#[tokio::test]
async fn a_card_whose_agent_is_gone_makes_place_when_the_same_is_asked_again() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    let old = t.seed_interaction(&session, "c1", "ls").await;
    t.hall().detach_session(session.id).await.unwrap();
    let new = t.seed_interaction(&session, "c7", "ls").await;
    let listed = t.pending().await;
    assert_eq!((listed.len(), &listed[0]["id"]), (1, &json!(new.id)));
    assert_ne!(old.id, new.id);
    // It is the new one that is decided, and nothing is left to be used later.
    approve(&t.owner(), &session, "c1")
        .await
        .refused(409, "INTERACTION_ALREADY_RESOLVED");
    approve(&t.owner(), &session, "c7").await.ok(200);
    assert_eq!(new.answer().await, selected("once"));
    assert!(matches!(
        again(&t, &session, "c8", "ls").await,
        OpenOutcome::Asked(_)
    ));
    // A card whose agent is gone is not drawn anew.
    t.hall().detach_session(session.id).await.unwrap();
    let mut events = t.events();
    let changed = t.hall().redraw_card(session.clone(), call("c8", "pwd"));
    changed.await.unwrap();
    events.none();
}

#[tokio::test]
async fn a_word_on_a_call_of_which_nothing_is_known_reaches_no_other_one() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    let opaque = async |id: &str| {
        let asked = InteractionRequest::Permission {
            tool_call_id: id.to_owned(),
            options: usual_options(),
        };
        t.open_interaction(&session, None, asked).await
    };
    for (ids, is_yes) in [(["c1", "c2"], true), (["c3", "c4"], false)] {
        drop(opaque(ids[0]).await);
        t.hall().detach_session(session.id).await.unwrap();
        let owner = t.owner();
        let decided = if is_yes {
            approve(&owner, &session, ids[0]).await
        } else {
            deny(&owner, &session, ids[0]).await
        };
        decided.ok(200);
        let next = opaque(ids[1]).await.opening;
        assert!(matches!(next, OpenOutcome::Asked(_)), "{next:?}");
    }
    assert_eq!(t.pending().await.len(), 2, "each is decided for itself");
}

#[tokio::test]
async fn a_yes_that_the_end_of_the_server_cut_short_is_told_at_the_next_start() {
    let mut t = TestHall::open().await;
    t.silence_agents();
    let ada = t.agent("ada").await;
    let ask = json!({"cwd": t.folder("ada"), "runtime": "rehearsal"});
    let opened = t.owner().post("/api/sessions", ask).await.ok(201);
    let session = Session {
        id: SessionId::parse(opened["id"].as_str().unwrap()).unwrap(),
        ..t.session(&ada)
    };
    t.seed_interaction(&session, "c1", "ls").await.dies();
    t.hall().detach_session(session.id).await.unwrap();
    // From here on nothing is begun.
    t.start_stopping();
    approve(&t.owner(), &session, "c1").await.ok(200);
    t.restart().await;
    let path = format!("/api/sessions/{}/events", session.id);
    let mut events = t.stream(&t.owner(), &path, None).await;
    let snapshot = events.expect("snapshot").await;
    let mut state = snapshot.data["session"]["state"].clone();
    while state != "starting" {
        let frame = events.next().await;
        if frame.event == "session_updated" {
            state = frame.inner()["session"]["state"].clone();
        }
    }
}

#[tokio::test]
async fn a_cancel_withdraws_every_ask_also_at_rest_and_its_repeat_is_answered_alike() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    t.seed_interaction(&session, "c1", "ls").await.dies();
    t.seed_questions(&session, Vec::new()).await.dies();
    t.hall().detach_session(session.id).await.unwrap();
    let cancel = || async {
        let ask = t.owner().ask("POST", &at(&session, "cancel"));
        ask.header("idempotency-key", "once").send().await
    };
    let first = cancel().await;
    assert!(t.pending().await.is_empty());
    let rows = t.rows();
    let again = cancel().await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    let expected = json!({"ok": false, "cancelledQueued": 0});
    assert_eq!((first.ok(200), again.ok(200)), (expected.clone(), expected));
    assert_eq!(t.rows(), rows);
}
