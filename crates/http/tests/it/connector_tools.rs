//! The tools of agents for what they are granted. Source: contract 5.8.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::{
    connector_fixtures::{apply, grant, review, revision, scripted, to},
    mcp::{call, done},
    test_values::{column, list, text},
};

#[tokio::test]
async fn an_agent_sees_and_runs_what_it_is_granted_and_nothing_else() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let connection = scripted(&t).await;
    let review = grant(&t, &connection, &ada, &["list_notes", "add_note"]).await;
    let read = revision(&review, "list_notes");
    let found = done(&ada, "connector_list_connections", json!({})).await;
    assert_eq!(
        column(&found["connections"], "connectionId"),
        std::slice::from_ref(&connection)
    );
    let asked = json!({"connectionId": connection});
    let found = done(&ada, "connector_list_operations", asked.clone()).await;
    assert_eq!(
        column(&found["operations"], "operationSlug"),
        ["list_notes", "add_note"]
    );
    let none = done(&bob, "connector_list_operations", asked).await;
    assert_eq!(none["operations"], json!([]));
    let mut events = t.events();
    let body = json!({"connectionId": connection, "operationRevisionId": read, "arguments": {}});
    let ran = done(&ada, "connector_execute_read", body.clone()).await;
    assert_eq!(ran["result"]["status"], "success");
    let told = events.single_event("connector_execution_finished");
    assert_eq!(
        (&told["surface"], &told["agentId"]),
        (&json!("agent"), &json!(ada.agent()))
    );
    let (is_refused, refusal) = call(&bob, "connector_execute_read", body).await;
    assert!(is_refused);
    assert_eq!(refusal["code"], "CONNECTOR_GRANT_REQUIRED");
}

#[tokio::test]
async fn a_tool_runs_operations_of_its_class_alone() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let slugs = ["list_notes", "add_note", "clear_notes"];
    let review = grant(&t, &connection, &ada, &slugs).await;
    let tools = [
        "connector_execute_read",
        "connector_execute_write",
        "connector_execute_destructive",
    ];
    for (tool, own) in tools.iter().zip(slugs) {
        for slug in slugs.iter().filter(|slug| **slug != own) {
            let body = json!({"connectionId": connection, "arguments": {},
                "operationRevisionId": revision(&review, slug)});
            let (is_refused, refusal) = call(&ada, tool, body).await;
            assert!(is_refused, "{tool} {slug}");
            assert_eq!(refusal["code"], "CONNECTOR_CLASS_MISMATCH", "{tool} {slug}");
        }
    }
}

#[tokio::test]
async fn a_destructive_operation_of_an_agent_waits_for_a_person() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let review = grant(&t, &connection, &ada, &["clear_notes"]).await;
    let body = json!({"connectionId": connection, "arguments": {},
        "operationRevisionId": revision(&review, "clear_notes")});
    let deciding = async {
        loop {
            let listed = t.owner().get("/api/approvals").await.ok(200);
            let Some(asked) = list(&listed["approvals"]).first().cloned() else {
                tokio::task::yield_now().await;
                continue;
            };
            let path = format!("/api/approvals/{}/grant", text(&asked["id"]));
            let digest = json!({"digest": asked["digest"]});
            t.owner().post(&path, digest).await.ok(200);
            return asked;
        }
    };
    let running = done(&ada, "connector_execute_destructive", body);
    let (ran, asked) = tokio::join!(running, deciding);
    assert_eq!(ran["result"]["status"], "success");
    assert_eq!(asked["capability"], "connectors.execute");
    assert_eq!(asked["agentId"], ada.agent());
}

#[tokio::test]
async fn what_a_session_turned_off_is_off_there_and_for_who_names_no_session() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let review = grant(&t, &connection, &ada, &["list_notes"]).await;
    let ask = json!({"agentId": ada.agent()});
    let session = t.owner().post("/api/sessions", ask).await.ok(201);
    let path = format!(
        "/api/sessions/{}/connections/{connection}",
        text(&session["id"])
    );
    let body = json!({"connectionId": connection, "arguments": {},
        "operationRevisionId": revision(&review, "list_notes")});
    let off = t.owner().put(&path, json!({"on": false})).await.ok(200);
    assert_eq!(off["on"], false);
    let found = done(&ada, "connector_list_connections", json!({})).await;
    assert_eq!(found["connections"], json!([]));
    let (_, refusal) = call(&ada, "connector_execute_read", body.clone()).await;
    assert_eq!(refusal["code"], "CONNECTOR_GRANT_REQUIRED");
    t.owner().put(&path, json!({"on": null})).await.ok(200);
    done(&ada, "connector_execute_read", body).await;
    t.owner()
        .put(&path, json!({}))
        .await
        .refused(400, "VALIDATION_FAILED");
}

#[tokio::test]
async fn a_wish_for_access_is_one_question_that_a_review_settles() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let wish =
        |purpose: &str| json!({"toolkit": "rehearsal", "access": "read", "purpose": purpose});
    let asked = done(&ada, "connector_request_access", wish("to read notes")).await;
    assert_eq!(
        (&asked["kind"], &asked["state"]),
        (&json!("access"), &json!("pending"))
    );
    let again = done(&ada, "connector_request_access", wish("please")).await;
    assert_eq!(again["id"], asked["id"]);
    let path = format!("/api/approvals/{}", text(&asked["id"]));
    let digest = json!({"digest": asked["digest"]});
    let granting = t.owner().post(&format!("{path}/grant"), digest).await;
    granting.refused(409, "USE_REVIEW");
    let shown = review(&t, &connection).await;
    apply(&t, &shown, json!({"grants": []})).await.ok(200);
    let still = t.owner().get(&path).await.ok(200);
    assert_eq!(still["state"], "pending");
    let shown = review(&t, &connection).await;
    apply(&t, &shown, to(&shown, &ada, &["list_notes"]))
        .await
        .ok(200);
    let settled = t.owner().get(&path).await.ok(200);
    assert_eq!(settled["state"], "consumed");
    let unknown = json!({"toolkit": "nothing", "access": "read", "purpose": ""});
    let (_, refusal) = call(&ada, "connector_request_access", unknown).await;
    assert_eq!(refusal["code"], "TOOLKIT_NOT_FOUND");
    assert_eq!(refusal["details"], Value::Null);
}

#[tokio::test]
async fn a_denied_wish_is_not_asked_again_at_once() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let wish = json!({"toolkit": "rehearsal", "access": "read-write", "purpose": ""});
    let asked = done(&ada, "connector_request_access", wish.clone()).await;
    let path = format!("/api/approvals/{}/deny", text(&asked["id"]));
    t.owner().post(&path, json!({"reason": "no"})).await.ok(200);
    let (is_refused, refusal) = call(&ada, "connector_request_access", wish).await;
    assert!(is_refused);
    assert_eq!(refusal["code"], "APPROVAL_DENIED");
}
