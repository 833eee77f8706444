//! What tests of connectors share: a connection of the scripted toolkit, and what is granted
//! with it.

use guildhall_testkit::{TestCaller, TestHall, TestResponse, soon};
use serde_json::{Value, json};

use crate::test_values::{list, text};

/// Where a program runs operations.
pub(crate) const RUN: &str = "/api/connectors/executions";

/// The scripted instance of every installation.
pub(crate) async fn rehearsal(t: &TestHall) -> String {
    let listed = t.owner().get("/api/connectors/providers").await.ok(200);
    let mut all = list(&listed["providers"]).iter();
    let found = all.find(|one| one["type"] == "rehearsal");
    text(&found.expect("a scripted instance")["id"])
}

/// A connection through this instance and toolkit that needs no sign-in.
pub(crate) async fn connect(t: &TestHall, provider: &str, toolkit: &str) -> String {
    let body = json!({"providerInstanceId": provider, "toolkit": toolkit,
        "idempotencyKey": format!("{toolkit}-1"), "label": "Notes"});
    let flow = t.owner().post("/api/connectors/connections", body).await;
    let path = format!(
        "/api/connectors/authentication-flows/{}",
        text(&flow.ok(201)["flowId"])
    );
    let connected = async {
        loop {
            let flow = t.owner().get(&path).await.ok(200);
            if flow["state"] == "connected" {
                return text(&flow["connectionId"]);
            }
            assert!(
                flow["state"] == "starting" || flow["state"] == "pending",
                "{flow}"
            );
            tokio::task::yield_now().await;
        }
    };
    soon("the connection", connected).await
}

/// A connection of the scripted toolkit.
pub(crate) async fn scripted(t: &TestHall) -> String {
    connect(t, &rehearsal(t).await, "rehearsal").await
}

/// A review of a connection.
pub(crate) async fn review(t: &TestHall, connection: &str) -> Value {
    let path = format!("/api/connectors/connections/{connection}/reviews");
    t.owner().post(&path, json!({})).await.ok(201)
}

/// The revision of an operation in a review.
pub(crate) fn revision(review: &Value, slug: &str) -> String {
    let mut all = list(&review["operations"]).iter();
    let found = all.find(|one| one["operationSlug"] == slug);
    text(&found.expect("an operation of this name")["id"])
}

/// Applies a review.
pub(crate) async fn apply(t: &TestHall, review: &Value, body: Value) -> TestResponse {
    let path = format!(
        "/api/connectors/reviews/{}/apply",
        text(&review["reviewId"])
    );
    t.owner().post(&path, body).await
}

/// What an agent is granted of a review, by the names of operations.
pub(crate) fn to(review: &Value, agent: &TestCaller, slugs: &[&str]) -> Value {
    let ids: Vec<_> = slugs.iter().map(|slug| revision(review, slug)).collect();
    json!({"grants": [{"agentId": agent.agent(), "operationRevisionIds": ids}]})
}

/// Grants an agent these operations with a connection and nothing else; answers the review.
pub(crate) async fn grant(
    t: &TestHall,
    connection: &str,
    agent: &TestCaller,
    slugs: &[&str],
) -> Value {
    let review = review(t, connection).await;
    let body = to(&review, agent, slugs);
    apply(t, &review, body).await.ok(200);
    review
}

/// The body that runs an operation.
pub(crate) fn running(agent: &TestCaller, connection: &str, revision: &str, with: &Value) -> Value {
    json!({"agentId": agent.agent(), "connectionId": connection,
        "operationRevisionId": revision, "arguments": with})
}

/// A program of the owner's.
pub(crate) async fn program(t: &TestHall, label: &str) -> TestCaller {
    let key = t.key(&t.owner(), label).await;
    t.owner().with_key(&key)
}
