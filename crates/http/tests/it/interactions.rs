//! Interactions: who decides, on what, and that each is decided once. Source: contract 3.8.

use guildhall_domain::{
    interactions::{
        InteractionRequest, InteractionResponse, Question, QuestionChoice, QuestionType,
    },
    sessions::Session,
};
use guildhall_hall::interactions::OpenOutcome;
use guildhall_testkit::{TestCaller, TestHall, TestResponse as HttpAnswer, call, usual_options};
use serde_json::{Value, json};

use crate::test_values::{text, wrong_fields};

/// A route of a session.
pub(crate) fn at(session: &Session, verb: &str) -> String {
    format!("/api/sessions/{}/{verb}", session.id)
}

pub(crate) async fn approve(by: &TestCaller, session: &Session, call: &str) -> HttpAnswer {
    by.post(&at(session, "approve"), json!({ "toolCallId": call }))
        .await
}

pub(crate) async fn deny(by: &TestCaller, session: &Session, call: &str) -> HttpAnswer {
    by.post(&at(session, "deny"), json!({ "toolCallId": call }))
        .await
}

pub(crate) fn selected(option: &str) -> InteractionResponse {
    InteractionResponse::Selected(option.to_owned())
}

fn questions() -> Vec<Question> {
    let choices = ["left", "right"].map(|value| QuestionChoice {
        value: value.to_owned(),
        label: value.to_uppercase(),
    });
    let question = |id: &str, kind| Question {
        id: id.to_owned(),
        title: id.to_owned(),
        description: String::new(),
        kind,
        options: match kind {
            QuestionType::Choice | QuestionType::Multi => choices.to_vec(),
            _ => Vec::new(),
        },
        required: kind != QuestionType::Text,
        default: None,
    };
    vec![
        question("way", QuestionType::Choice),
        question("ways", QuestionType::Multi),
        question("steps", QuestionType::Number),
        question("words", QuestionType::Text),
    ]
}

#[tokio::test]
async fn what_waits_is_listed_oldest_first_for_people_and_for_no_agent() {
    let t = TestHall::open_login().await;
    let ada = t.agent("ada").await;
    let session = t.session(&ada);
    let mut events = t.events();
    let first = t.seed_interaction(&session, "c1", "ls").await;
    let second = t.seed_interaction(&session, "c2", "rm -rf /").await;
    let listed = t.pending().await;
    let expected = json!({
        "id": first.id, "sessionId": session.id.to_string(), "toolCallId": "c1",
        "kind": "tool_call", "state": "pending", "title": "Run ls", "toolName": "bash",
        "toolKind": "execute", "input": {"command": "ls"}, "inputTruncated": false,
        "content": [], "locations": [], "cwd": "/w", "mode": "default",
        "options": [
            {"optionId": "always", "name": "always", "kind": "allow_always"},
            {"optionId": "never", "name": "never", "kind": "reject_always"},
            {"optionId": "once", "name": "once", "kind": "allow_once"},
            {"optionId": "no", "name": "no", "kind": "reject_once"},
        ],
        "questions": [], "digest": first.digest, "opaque": false,
        "openedAt": "2026-09-21T14:13:20.000Z", "parksAt": "2026-09-21T14:23:20.000Z",
        "expiresAt": "2026-09-21T18:13:20.000Z", "remainingMs": 14_400_000,
        "parked": false, "detached": false,
        "resolution": null, "resolvedBy": null, "resolvedAt": null, "reply": null,
        "agentId": ada.agent(), "roomId": null,
    });
    assert_eq!(listed[0], expected);
    assert_eq!((listed.len(), &listed[1]["id"]), (2, &json!(second.id)));
    // The event tells the same but for what the list adds.
    let told = events.all();
    assert_eq!(told[0]["scope"], format!("session:{}", session.id));
    let mut opened = told[0]["data"]["interaction"].clone();
    for member in ["agentId", "roomId"] {
        opened[member] = expected[member].clone();
    }
    assert_eq!(
        (&told[0]["type"], opened),
        (&json!("interaction_opened"), expected)
    );

    let path = "/api/sessions/pending-interactions";
    let person = t.person("Pia").await.get(path).await.ok(200);
    assert_eq!(person["interactions"], json!(listed));
    assert_eq!(ada.get(path).await.ok(200), json!({"interactions": []}));
}

#[tokio::test]
async fn a_yes_is_this_once_whatever_the_agent_offers_first() {
    let t = TestHall::open_login().await;
    let ada = t.agent("ada").await;
    let session = t.session(&ada);
    let card = t.seed_interaction(&session, "c1", "ls").await;
    let mut events = t.events();
    let pia = t.person("Pia").await;
    events.all();
    let answered = approve(&pia, &session, "c1").await.ok(200);
    assert_eq!(answered, json!({"ok": true}));
    let id = card.id.clone();
    assert_eq!(card.answer().await, selected("once"));
    let told = events.single_event("interaction_resolved");
    let expected = json!({
        "sessionId": session.id.to_string(), "id": id, "toolCallId": "c1", "kind": "tool_call",
        "resolution": "approved", "resolvedBy": pia.author(), "at": "2026-09-21T14:13:20.000Z",
        "reply": {
            "option": {"optionId": "once", "name": "once", "kind": "allow_once"},
            "denyReason": null, "answers": null,
        },
    });
    assert_eq!(told, expected);
    assert!(t.pending().await.is_empty());

    let card = t.seed_interaction(&session, "c2", "ls").await;
    let always = json!({"toolCallId": "c2", "alwaysAllow": true, "digest": card.digest});
    pia.post(&at(&session, "approve"), always).await.ok(200);
    assert_eq!(card.answer().await, selected("always"));
}

#[tokio::test]
async fn a_no_is_this_once_and_keeps_its_reason() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    let card = t.seed_interaction(&session, "c1", "ls").await;
    let no = json!({"toolCallId": "c1", "reason": "  not on a Friday ", "tellAgent": true});
    let answered = t.owner().post(&at(&session, "deny"), no).await.ok(200);
    assert_eq!(answered, json!({"ok": true}));
    assert_eq!(card.answer().await, selected("no"));
    assert!(t.rows().contains("\tnot on a Friday\t"));

    let asked = InteractionRequest::Permission {
        tool_call_id: "c2".to_owned(),
        options: usual_options()[..2].to_vec(),
    };
    let posed = t.open_interaction(&session, None, asked).await;
    assert!(matches!(&posed.opening, OpenOutcome::Asked(card) if card.opaque));
    let refused = approve(&t.owner(), &session, "c2").await;
    let details = refused.refused(409, "OPTION_NOT_OFFERED");
    assert_eq!(details["options"].as_array().unwrap().len(), 2);
    deny(&t.owner(), &session, "c2").await.ok(200);
    assert_eq!(posed.answer.await.unwrap(), InteractionResponse::Cancelled);
}

#[tokio::test]
async fn no_agent_and_no_key_decides_and_neither_learns_what_a_good_request_is() {
    let t = TestHall::open_login().await;
    let ada = t.agent("ada").await;
    let session = t.session(&ada);
    let mut card = t.seed_interaction(&session, "c1", "ls").await;
    let key = t.key(&t.owner(), "script").await;
    let before = t.rows();
    for verb in [
        "approve",
        "deny",
        "submit-answers",
        "batch-approve",
        "batch-deny",
    ] {
        for (path, body) in [
            (
                at(&session, verb),
                json!({"toolCallId": "c1", "toolCallIds": ["c1"]}),
            ),
            (at(&session, verb), json!({"toolCallId": 7})),
            (format!("/api/sessions/no-uuid/{verb}"), json!([])),
        ] {
            for (caller, status, code) in [
                (t.nobody(), 401, "AUTH_REQUIRED"),
                (t.unverifiable(), 401, "AGENT_IDENTITY_UNVERIFIED"),
                (ada.clone(), 403, "AGENT_CANNOT_DECIDE"),
                // A cookie beside the agent's token makes no person of it.
                (
                    t.owner().with_agent_token(ada.token()),
                    403,
                    "AGENT_CANNOT_DECIDE",
                ),
                (t.owner().with_key(&key), 403, "INTERACTIVE_ONLY"),
            ] {
                caller.post(&path, body.clone()).await.refused(status, code);
            }
        }
    }
    let changed = |rows: &str| -> Vec<String> {
        let approvals = rows.lines().filter(|row| row.starts_with("approvals\t"));
        approvals.map(str::to_owned).collect()
    };
    assert_eq!(changed(&t.rows()), changed(&before));
    assert!(card.waits());
}

#[tokio::test]
async fn a_decision_is_refused_in_the_order_of_the_table() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let session = t.session(&t.agent("ada").await);
    let card = t.seed_interaction(&session, "c1", "ls").await;
    let question = t.seed_questions(&session, questions()).await;
    let path = at(&session, "approve");
    let bad = json!({"toolCallId": "c1", "digest": "d", "optionId": "unknown"});

    let nowhere = "/api/sessions/no-uuid/approve";
    owner
        .post(nowhere, bad.clone())
        .await
        .refused(400, "VALIDATION_FAILED");
    for body in [
        json!({}),
        json!({"toolCallId": ""}),
        json!({"toolCallId": "c".repeat(257)}),
        json!({"toolCallId": "c1", "alwaysAllow": "yes"}),
        json!({"toolCallId": "c1", "digest": 7}),
    ] {
        owner
            .post(&path, body)
            .await
            .refused(400, "VALIDATION_FAILED");
    }
    let stranger = t.session(&t.agent("bob").await);
    for (session, call) in [
        (&stranger, "c1"),
        (&session, "c9"),
        (&session, question.id.as_str()),
    ] {
        approve(&owner, session, call)
            .await
            .refused(404, "NO_PENDING_APPROVAL");
        deny(&owner, session, call)
            .await
            .refused(404, "NO_PENDING_APPROVAL");
    }
    let answers = json!({"toolCallId": "c1", "answers": {}});
    owner
        .post(&at(&session, "submit-answers"), answers)
        .await
        .refused(404, "NO_PENDING_QUESTION");
    let details = owner
        .post(&path, bad.clone())
        .await
        .refused(409, "INTERACTION_CHANGED");
    assert_eq!(details, json!({"digest": card.digest}));
    let mut shown = bad.clone();
    shown["digest"] = card.digest.clone().into();
    let details = owner
        .post(&path, shown)
        .await
        .refused(409, "OPTION_NOT_OFFERED");
    assert_eq!(details["options"][2]["optionId"], "once");
    // A session's id may be written in capitals.
    let capitals = path.replace(
        &session.id.to_string(),
        &session.id.to_string().to_uppercase(),
    );
    owner
        .post(&capitals, json!({"toolCallId": "c1"}))
        .await
        .ok(200);
    let details = owner
        .post(&path, bad)
        .await
        .refused(409, "INTERACTION_ALREADY_RESOLVED");
    let expected = json!({"resolution": "approved", "resolvedAt": "2026-09-21T14:13:20.000Z"});
    assert_eq!(details, expected);
    assert_eq!(card.answer().await, selected("once"));
}

#[tokio::test]
async fn of_racing_decisions_one_counts_and_the_agent_hears_that_one() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    for round in 0..5 {
        let id = format!("c{round}");
        let card = t.seed_interaction(&session, &id, "ls").await;
        let mut events = t.events();
        let mut racing = tokio::task::JoinSet::new();
        for n in 0..12 {
            let (owner, session, id) = (t.owner(), session.clone(), id.clone());
            racing.spawn(async move {
                let is_yes = n % 2 == 0;
                let answer = if is_yes {
                    approve(&owner, &session, &id).await
                } else {
                    deny(&owner, &session, &id).await
                };
                (is_yes, answer)
            });
        }
        let mut winners = Vec::new();
        for (is_yes, answer) in racing.join_all().await {
            if answer.status == 200 {
                winners.push(is_yes);
            } else {
                answer.refused(409, "INTERACTION_ALREADY_RESOLVED");
            }
        }
        assert_eq!(winners.len(), 1, "{winners:?}");
        let (option, resolution) = if winners[0] {
            ("once", "approved")
        } else {
            ("no", "denied")
        };
        assert_eq!(card.answer().await, selected(option));
        let told = events.single_event("interaction_resolved");
        assert_eq!(told["resolution"], resolution);
    }
}

#[tokio::test]
async fn a_batch_decides_each_for_itself_in_the_order_asked() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    let one = t.seed_interaction(&session, "c1", "ls").await;
    let two = t.seed_interaction(&session, "c2", "pwd").await;
    let three = t.seed_interaction(&session, "c3", "id").await;
    deny(&t.owner(), &session, "c2").await.ok(200);
    let ask = json!({"toolCallIds": ["c2", "c9", "c1"]});
    let path = at(&session, "batch-approve");
    let key = |ask: &Value| {
        let ask = t.owner().ask("POST", &path).json(ask);
        ask.header("idempotency-key", "k1").send()
    };
    let answered = key(&ask).await.ok(200);
    let expected = json!({"results": [
        {"toolCallId": "c2", "ok": false, "code": "INTERACTION_ALREADY_RESOLVED"},
        {"toolCallId": "c9", "ok": false, "code": "NO_PENDING_APPROVAL"},
        {"toolCallId": "c1", "ok": true, "code": ""},
    ]});
    assert_eq!(answered, expected);
    assert_eq!(one.answer().await, selected("once"));
    assert_eq!(two.answer().await, selected("no"));
    // The same again under its key is the same answer and no second decision.
    let again = key(&ask).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.ok(200), expected);

    let no = json!({"toolCallIds": ["c3"]});
    let path = at(&session, "batch-deny");
    t.owner().post(&path, no).await.ok(200);
    assert_eq!(three.answer().await, selected("no"));
    let many: Vec<String> = (0..51).map(|n| n.to_string()).collect();
    for ids in [
        json!([]),
        json!(["a", "a"]),
        json!(many),
        json!([""]),
        json!([7]),
    ] {
        let refused = t.owner().post(&path, json!({"toolCallIds": ids})).await;
        refused.refused(400, "VALIDATION_FAILED");
    }
}

#[tokio::test]
async fn answers_that_do_not_fit_leave_the_question_open_and_good_ones_reach_the_agent() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    let mut card = t.seed_questions(&session, questions()).await;
    let listed = t.pending().await;
    assert_eq!(
        (
            &listed[0]["kind"],
            &listed[0]["toolCallId"],
            &listed[0]["title"]
        ),
        (&json!("question"), &json!(card.id), &json!("Which way?"))
    );
    assert_eq!(
        listed[0]["questions"][0],
        json!({"id": "way", "title": "way", "description": "", "type": "choice", "required": true,
            "options": [{"value": "left", "label": "LEFT"}, {"value": "right", "label": "RIGHT"}],
            "default": null})
    );
    let path = at(&session, "submit-answers");
    let id = card.id.clone();
    let submit = |mut ask: Value| {
        ask["toolCallId"] = id.clone().into();
        let (owner, path) = (t.owner(), path.clone());
        async move { owner.post(&path, ask).await }
    };
    for (ask, wrong) in [
        (json!({}), vec!["answers"]),
        (json!({"decline": false}), vec!["answers"]),
        (json!({"answers": {"way": 7}}), vec!["answers.way"]),
        (
            json!({"answers": {"way": "up", "steps": "many", "other": "x"}}),
            vec![
                "answers.other",
                "answers.steps",
                "answers.way",
                "answers.ways",
            ],
        ),
    ] {
        let details = submit(ask).await.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), wrong);
    }
    let good = json!({"way": "left", "ways": ["right", "left"], "steps": "3", "words": "go"});
    submit(json!({"answers": good, "digest": "other"}))
        .await
        .refused(409, "INTERACTION_CHANGED");
    assert!(card.waits());
    assert_eq!(t.pending().await, listed);
    let mut events = t.events();
    submit(json!({"answers": good, "digest": card.digest}))
        .await
        .ok(200);
    assert_eq!(
        events.single_event("interaction_resolved")["resolution"],
        "answered"
    );
    let expected = json!({"way": "left", "ways": ["right", "left"], "steps": 3, "words": "go"});
    let InteractionResponse::Accepted(found) = card.answer().await else {
        panic!("answers are told");
    };
    assert_eq!(Value::Object(found), expected);

    let card = t.seed_questions(&session, questions()).await;
    let ask = json!({"toolCallId": card.id, "decline": true});
    t.owner().post(&path, ask).await.ok(200);
    assert_eq!(
        events.single_event("interaction_resolved")["resolution"],
        "denied"
    );
    assert_eq!(card.answer().await, InteractionResponse::Declined);
}

#[tokio::test]
async fn a_changed_input_is_shown_anew_and_the_digest_of_before_decides_nothing() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    let card = t.seed_interaction(&session, "c1", "ls").await;
    let mut events = t.events();
    let hall = t.hall();
    let changed = async |command| {
        let changed = hall.redraw_card(session.clone(), call("c1", command));
        changed.await.unwrap();
    };
    changed("ls").await;
    events.none();
    changed("rm -rf /").await;
    let told = events.next("interaction_opened");
    let digest = text(&told["interaction"]["digest"]);
    assert_ne!(digest, card.digest);
    assert_eq!(told["interaction"]["input"]["command"], "rm -rf /");
    assert_eq!(t.pending().await[0]["digest"], digest);
    let yes = |digest: &str| json!({"toolCallId": "c1", "digest": digest});
    let path = at(&session, "approve");
    let details = t.owner().post(&path, yes(&card.digest)).await;
    let details = details.refused(409, "INTERACTION_CHANGED");
    assert_eq!(details, json!({ "digest": digest }));
    // Back again is the same as before.
    changed("ls").await;
    t.owner().post(&path, yes(&card.digest)).await.ok(200);
    changed("pwd").await;
    assert_eq!(
        events.names(),
        [
            "interaction_opened",
            "interaction_resolved",
            "session_updated"
        ]
    );
}

#[tokio::test]
async fn what_a_digest_reaches_is_every_member_of_the_card_but_no_id() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let session = t.session(&ada);
    let first = t.seed_interaction(&session, "c1", "ls").await;
    let same = t.seed_interaction(&session, "c2", "ls").await;
    assert_eq!(first.digest, same.digest);
    let elsewhere = Session {
        cwd: "/other".to_owned(),
        ..t.session(&ada)
    };
    let others = [
        t.seed_interaction(&session, "c3", "ls ").await,
        t.seed_interaction(&t.session(&bob), "c1", "ls").await,
        t.seed_interaction(&elsewhere, "c1", "ls").await,
        t.seed_questions(&session, questions()).await,
        t.seed_questions(&session, questions()[..1].to_vec()).await,
    ];
    let mut digests: Vec<_> = others.iter().map(|card| card.digest.clone()).collect();
    digests.push(first.digest);
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), others.len() + 1);
}

#[tokio::test]
async fn a_call_that_is_asked_about_is_not_asked_about_twice_and_fifty_wait_at_most() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let session = t.session(&ada);
    let mut kept = vec![t.seed_interaction(&session, "c0", "ls").await];
    let again = t.open_call_interaction(&session, "c0", "pwd").await.opening;
    assert!(matches!(again, OpenOutcome::AskedAlready), "{again:?}");
    for n in 1..50 {
        kept.push(t.seed_interaction(&session, &format!("c{n}"), "ls").await);
    }
    let more = t.open_call_interaction(&session, "c50", "ls").await.opening;
    assert!(matches!(more, OpenOutcome::Refused), "{more:?}");
    // Another session has fifty of its own, and an answer makes place.
    t.seed_interaction(&t.session(&ada), "c50", "ls").await;
    deny(&t.owner(), &session, "c7").await.ok(200);
    t.seed_interaction(&session, "c50", "ls").await;
    assert_eq!(t.pending().await.len(), 51);
    assert!(
        kept.iter_mut()
            .skip(8)
            .all(guildhall_testkit::OpenInteraction::waits)
    );
}

#[tokio::test]
async fn what_is_cancelled_is_told_so_and_decided_no_more() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let (session, other) = (t.session(&ada), t.session(&ada));
    let card = t.seed_interaction(&session, "c1", "ls").await;
    let mut stays = t.seed_interaction(&other, "c1", "ls").await;
    let mut events = t.events();
    let owner = t.owner();
    let by = guildhall_domain::ids::AuthorId::parse(owner.author());
    t.hall()
        .withdraw_session_interactions(session.id, by)
        .await
        .unwrap();
    assert_eq!(card.answer().await, InteractionResponse::Cancelled);
    let told = events.single_event("interaction_resolved");
    assert_eq!(
        (&told["resolution"], &told["resolvedBy"]),
        (&json!("cancelled"), &json!(owner.author()))
    );
    let details = approve(&owner, &session, "c1").await;
    let details = details.refused(409, "INTERACTION_ALREADY_RESOLVED");
    assert_eq!(details["resolution"], "cancelled");
    assert!(stays.waits());
    assert_eq!(t.pending().await.len(), 1);
}
