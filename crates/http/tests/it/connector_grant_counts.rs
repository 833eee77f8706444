//! Who holds grants, and how many a connection counts. Source: contract 5.4, 5.5 and 5.7.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::{
    connector_fixtures::{apply, grant, review, revision, scripted},
    test_values::{column, list},
};

const CONNECTIONS: &str = "/api/connectors/connections";

/// How many grants a connection counts, which the list and the connection tell alike.
async fn count(t: &TestHall, connection: &str) -> Value {
    let one = t.owner().get(&format!("{CONNECTIONS}/{connection}")).await;
    let one = one.ok(200);
    let all = t.owner().get(CONNECTIONS).await.ok(200);
    let mut all = list(&all["connections"]).iter();
    assert_eq!(all.find(|it| it["id"] == connection), Some(&one));
    one["grantCount"].clone()
}

#[tokio::test]
async fn a_connection_counts_the_grants_of_agents_that_are_there() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let connection = scripted(&t).await;
    assert_eq!(count(&t, &connection).await, 0);
    let shown = review(&t, &connection).await;
    let (read, write) = (revision(&shown, "list_notes"), revision(&shown, "add_note"));
    let body = json!({"everyAgent": [read], "grants": [
        {"agentId": ada.agent(), "operationRevisionIds": [read, write]},
        {"agentId": bob.agent(), "operationRevisionIds": [write]},
    ]});
    apply(&t, &shown, body).await.ok(200);
    assert_eq!(count(&t, &connection).await, 4);
    let again = review(&t, &connection).await;
    assert_eq!(again["connection"]["grantCount"], 4);
    let path = format!("/api/agents/{}", ada.agent());
    t.owner().delete(&path).await.ok(200);
    assert_eq!(count(&t, &connection).await, 2);
}

#[tokio::test]
async fn a_connection_that_is_given_up_takes_its_grants_along() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let connection = scripted(&t).await;
    grant(&t, &connection, &ada, &["list_notes", "add_note"]).await;
    let mut events = t.events();
    let path = format!("{CONNECTIONS}/{connection}");
    let gone = t.owner().delete(&path).await.ok(200);
    assert_eq!(gone["grantCount"], 0);
    let told = events.all();
    assert_eq!(
        column(&json!(told), "type"),
        ["connector_connection_changed", "connector_grants_changed"]
    );
    let expected = json!({"connectionId": connection, "agentIds": [], "revisionCount": 0});
    assert_eq!(told[1]["data"], expected);
    assert_eq!(count(&t, &connection).await, 0);
    let granted = t.owner().get(&format!("{path}/grants")).await.ok(200);
    assert_eq!(granted, json!({"grants": [], "everyAgent": []}));
    t.owner().delete(&path).await.ok(200);
    events.none();
}
