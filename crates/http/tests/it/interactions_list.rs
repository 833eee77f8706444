//! What a session asked and what people decided with, read back later. Source: contract 3.8.1.

use guildhall_domain::interactions::{Question, QuestionType};
use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::interactions::{approve, at};

fn question(id: &str, kind: QuestionType) -> Question {
    Question {
        id: id.to_owned(),
        title: id.to_owned(),
        description: String::new(),
        kind,
        options: Vec::new(),
        required: true,
        default: None,
    }
}

#[tokio::test]
async fn what_was_decided_is_kept_with_its_option_its_reason_and_its_answers() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    let owner = t.owner();
    let mut events = t.events();
    for id in ["c1", "c2", "c3", "c4"] {
        t.seed_interaction(&session, id, "ls").await;
    }
    let asked = t.seed_questions(
        &session,
        vec![
            question("name", QuestionType::Text),
            question("port", QuestionType::Number),
        ],
    );
    let asked = asked.await;
    events.all();

    approve(&owner, &session, "c1").await.ok(200);
    for (verb, ask) in [
        ("approve", json!({"toolCallId": "c2", "alwaysAllow": true})),
        (
            "deny",
            json!({"toolCallId": "c3", "reason": " Use staging "}),
        ),
        (
            "submit-answers",
            json!({"toolCallId": asked.id, "answers": {"name": "api", "port": "8080"}}),
        ),
    ] {
        owner.post(&at(&session, verb), ask).await.ok(200);
    }
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
    let replies = json!([
        {"option": option("once", "allow_once"), "denyReason": null, "answers": null},
        {"option": option("always", "allow_always"), "denyReason": null, "answers": null},
        {"option": null, "denyReason": "Use staging", "answers": null},
        {"option": null, "denyReason": null, "answers": {"name": "api", "port": 8080}},
    ]);
    let told = events.all();
    let told = told
        .iter()
        .filter(|event| event["type"] == "interaction_resolved");
    let told: Vec<&Value> = told.map(|event| &event["data"]["reply"]).collect();
    assert_eq!(json!(told), replies);

    let page = owner.get(&at(&session, "interactions")).await.ok(200);
    let found = page["interactions"].as_array().unwrap();
    let seen: Vec<_> = found
        .iter()
        .map(|one| json!([one["toolCallId"], one["resolution"], one["reply"]]))
        .collect();
    let expected = json!([
        ["c1", "approved", replies[0]],
        ["c2", "approved", replies[1]],
        ["c3", "denied", replies[2]],
        ["c4", null, null],
        [asked.id, "answered", replies[3]],
    ]);
    assert_eq!(json!(seen), expected);
    assert_eq!(page["nextCursor"], json!(null));
}

#[tokio::test]
async fn the_newest_page_comes_first_and_leads_to_those_before_it() {
    let t = TestHall::open().await;
    let session = t.session(&t.agent("ada").await);
    for id in ["c1", "c2", "c3"] {
        t.seed_interaction(&session, id, "ls").await;
    }
    let path = at(&session, "interactions");
    let calls = |page: &Value| {
        let found = page["interactions"].as_array().unwrap();
        let calls: Vec<_> = found.iter().map(|one| one["toolCallId"].clone()).collect();
        json!(calls)
    };
    let newest = t.owner().get(&format!("{path}?limit=2")).await.ok(200);
    assert_eq!(calls(&newest), json!(["c2", "c3"]));
    let cursor = newest["nextCursor"].as_str().unwrap();
    let before = format!("{path}?limit=2&cursor={cursor}");
    let before = t.owner().get(&before).await.ok(200);
    assert_eq!(
        (calls(&before), &before["nextCursor"]),
        (json!(["c1"]), &json!(null))
    );
}

#[tokio::test]
async fn an_agent_reads_none_of_it() {
    let t = TestHall::open_login().await;
    let ada = t.agent("ada").await;
    let session = t.session(&ada);
    t.seed_interaction(&session, "c1", "ls").await;
    let nothing = json!({"interactions": [], "nextCursor": null});
    assert_eq!(
        ada.get(&at(&session, "interactions")).await.ok(200),
        nothing
    );
}
