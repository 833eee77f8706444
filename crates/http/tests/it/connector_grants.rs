//! Reviews of connections, and what is granted by them. Source: contract 5.5, 5.7 and 5.14.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::{
    connector_fixtures::{apply, grant, review, revision, scripted, to},
    test_values::{column, list, text},
};

fn grants_at(connection: &str) -> String {
    format!("/api/connectors/connections/{connection}/grants")
}

#[tokio::test]
async fn a_review_shows_what_can_be_granted_and_to_whom() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let review = review(&t, &connection).await;
    assert_eq!(
        column(&review["operations"], "operationSlug"),
        ["list_notes", "add_note", "clear_notes"]
    );
    assert_eq!(
        column(&review["operations"], "classification"),
        ["read", "write", "destructive"]
    );
    assert_eq!(review["connection"]["id"], connection.as_str());
    assert_eq!(
        review["agents"],
        json!([{"id": ada.agent(), "name": "ada"}])
    );
    assert_eq!(review["currentGrants"], json!([]));
    let again = super::connector_fixtures::review(&t, &connection).await;
    assert_eq!(again["operations"], review["operations"], "nothing changed");
    assert_ne!(again["reviewId"], review["reviewId"]);
}

#[tokio::test]
async fn applying_replaces_all_grants_and_tells_those_it_concerns() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let connection = scripted(&t).await;
    let first = grant(&t, &connection, &ada, &["list_notes", "add_note"]).await;
    let mut events = t.events();
    let second = review(&t, &connection).await;
    let ids = json!([revision(&first, "list_notes"), revision(&first, "add_note")]);
    let of_ada = json!([{"agentId": ada.agent(), "operationRevisionIds": ids}]);
    assert_eq!(second["currentGrants"], of_ada);
    let mut body = to(&second, &bob, &["list_notes"]);
    body["everyAgent"] = json!([]);
    let granted = apply(&t, &second, body).await.ok(200);
    let of_bob = json!({"grants": [{"agentId": bob.agent(),
        "operationRevisionIds": [revision(&second, "list_notes")]}], "everyAgent": []});
    assert_eq!(granted, of_bob);
    let stands = t.owner().get(&grants_at(&connection)).await.ok(200);
    assert_eq!(stands, of_bob);
    let told = events.single_event("connector_grants_changed");
    let expected = json!({"connectionId": connection, "agentIds": [bob.agent()],
        "revisionCount": 1});
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_review_is_applied_once_in_time_and_to_what_it_shows() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let first = review(&t, &connection).await;
    let nobody = json!({"grants": [{"agentId": "x", "operationRevisionIds": []}]});
    let nothing = json!({"grants": [{"agentId": ada.agent(), "operationRevisionIds": ["x"]}]});
    for wrong in [nobody, nothing, json!({"grants": [], "everyAgent": ["x"]})] {
        apply(&t, &first, wrong)
            .await
            .refused(400, "INVALID_SELECTION");
    }
    apply(&t, &first, json!({"grants": []})).await.ok(200);
    let body = to(&first, &ada, &["list_notes"]);
    apply(&t, &first, body.clone())
        .await
        .refused(409, "REVIEW_STALE");
    let second = review(&t, &connection).await;
    t.advance(600);
    apply(&t, &second, body)
        .await
        .refused(410, "REVIEW_EXPIRED");
    let unknown = json!({"reviewId": "x"});
    let refused = apply(&t, &unknown, json!({"grants": []})).await;
    refused.refused(404, "REVIEW_NOT_FOUND");
    let stands = t.owner().get(&grants_at(&connection)).await.ok(200);
    assert_eq!(stands, json!({"grants": [], "everyAgent": []}));
}

#[tokio::test]
async fn what_is_for_every_agent_is_for_those_that_come_later() {
    let t = TestHall::open().await;
    let connection = scripted(&t).await;
    let review = review(&t, &connection).await;
    let id = revision(&review, "list_notes");
    let body = json!({"grants": [], "everyAgent": [id]});
    apply(&t, &review, body).await.ok(200);
    let ada = t.agent("ada").await;
    let path = format!("/api/connectors/accessible?agentId={}", ada.agent());
    let found = t.owner().get(&path).await.ok(200);
    let expected = json!({"connections": [{"connectionId": connection, "toolkit": "rehearsal",
        "label": "Notes", "operationCount": 1}]});
    assert_eq!(found, expected);
    let path = format!(
        "/api/connectors/accessible/{connection}/operations?agentId={}",
        ada.agent()
    );
    let found = t.owner().get(&path).await.ok(200);
    assert_eq!(column(&found["operations"], "id"), [id]);
}

#[tokio::test]
async fn only_the_owner_at_a_screen_grants() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    let shown = review(&t, &connection).await;
    let path = format!("/api/connectors/reviews/{}/apply", text(&shown["reviewId"]));
    let program = super::connector_fixtures::program(&t, "script").await;
    let wrong = Value::Null;
    program
        .post(&path, wrong.clone())
        .await
        .refused(403, "INTERACTIVE_ONLY");
    ada.post(&path, wrong).await.refused(403, "OWNER_ONLY");
    let seen = program.get(&grants_at(&connection)).await.ok(200);
    assert_eq!(list(&seen["grants"]).len(), 0);
}
