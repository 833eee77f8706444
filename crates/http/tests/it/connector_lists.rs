//! What is listed beside connections: sign-ins of the last half hour, what a session's agent can
//! reach, and what the operations of attempts are called.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::{
    connector_auth_flows::{after, at, instance, wish},
    connector_fixtures::{RUN, grant, revision, running, scripted},
    test_values::{column, text},
};

#[tokio::test]
async fn sign_ins_of_the_last_half_hour_are_listed_the_open_ones_first() {
    let t = TestHall::open().await;
    let key = json!({"kind": "api-key", "in": "header", "name": "x-key"});
    let provider = instance(&t, "http://127.0.0.1:9", &key, &Value::Null).await;
    let owner = t.owner();
    let all = async || {
        let path = "/api/connectors/authentication-flows";
        owner.get(path).await.ok(200)["flows"].clone()
    };
    let begin = async |name: &str| {
        let ask = wish(&provider, "notes", name);
        let begun = owner.post("/api/connectors/connections", ask).await;
        after(&t, &begun.ok(201), "starting").await
    };
    assert_eq!(all().await, json!([]));
    let waits = begin("waits").await;
    t.advance(1);
    let over = owner.delete(&at(&begin("over").await)).await.ok(200);
    t.advance(1);
    let newest = begin("newest").await;
    assert_eq!(all().await, json!([newest, waits, over]));
    t.advance(15 * 60);
    assert_eq!(
        column(&all().await, "state"),
        ["expired", "expired", "failed"]
    );
    t.advance(15 * 60);
    assert_eq!(column(&all().await, "flowId"), [text(&newest["flowId"])]);
}

#[tokio::test]
async fn a_session_lists_what_its_agent_can_reach_and_what_it_says_of_it() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let owner = t.owner();
    let connection = scripted(&t).await;
    grant(&t, &connection, &ada, &["list_notes"]).await;
    let session = async |agent: &str| {
        let ask = json!({"agentId": agent});
        let opened = owner.post("/api/sessions", ask).await.ok(201);
        format!("/api/sessions/{}/connections", text(&opened["id"]))
    };
    let path = session(ada.agent()).await;
    let said = |on: Value| {
        let one =
            json!({"connectionId": connection, "toolkit": "rehearsal", "label": "Notes", "on": on});
        json!({"connections": [one]})
    };
    assert_eq!(owner.get(&path).await.ok(200), said(Value::Null));
    for on in [json!(false), json!(true), Value::Null] {
        let switch = format!("{path}/{connection}");
        owner.put(&switch, json!({"on": on})).await.ok(200);
        assert_eq!(owner.get(&path).await.ok(200), said(on));
    }
    let nothing = json!({"connections": []});
    assert_eq!(
        owner.get(&session(bob.agent()).await).await.ok(200),
        nothing
    );
    ada.get(&path).await.refused(403, "OWNER_ONLY");
}

#[tokio::test]
async fn an_attempt_names_its_operation_also_when_nobody_may_run_it_any_more() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let review = grant(&t, &connection, &ada, &["list_notes"]).await;
    let read = revision(&review, "list_notes");
    let body = running(&ada, &connection, &read, &json!({}));
    t.owner().post(RUN, body).await.ok(200);
    grant(&t, &connection, &ada, &[]).await;
    let path = format!("/api/connectors/connections/{connection}");
    t.owner().delete(&path).await.ok(200);
    let gone = format!("{path}/remove");
    t.owner().post(&gone, json!({})).await.ok(204);
    let usage = t.owner().get("/api/connectors/usage").await.ok(200);
    assert_eq!(column(&usage["attempts"], "operationSlug"), ["list_notes"]);
    assert_eq!(column(&usage["attempts"], "title"), ["List the notes"]);
}
