//! Executions whose way breaks: what was seen, what is said of it, and that nothing is sent
//! twice that may have happened. Source: contract 5.6 and 5.14, 3 and 4.

use guildhall_testkit::{
    TestCaller, TestHall,
    fault_proxy::{ConnectionCut, FaultProxy},
};
use serde_json::{Value, json};

use crate::{
    connector_fixtures::{RUN, connect, grant, revision, running},
    test_values::{column, text},
};

/// What a service is asked for in these tests.
struct ReviewedConnection {
    t: TestHall,
    service: FaultProxy,
    ada: TestCaller,
    connection: String,
    review: Value,
}

const SLUGS: [&str; 3] = ["readNotes", "addNote", "addKeyed"];

fn document() -> Value {
    let said = json!({"200": {"description": "Said"}});
    let body = json!({"content": {"application/json": {"schema": {"type": "object"}}}});
    let key = json!([{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}]);
    json!({
        "openapi": "3.1.0", "info": {"title": "Notes", "version": "1.0"},
        "paths": {
            "/notes": {
                "get": {"operationId": "readNotes", "responses": said},
                "post": {"operationId": "addNote", "requestBody": body, "responses": said},
            },
            "/keyed": {
                "post": {"operationId": "addKeyed", "parameters": key, "requestBody": body,
                    "responses": said},
            },
        },
    })
}

impl ReviewedConnection {
    async fn open() -> Self {
        let t = TestHall::open().await;
        let service = FaultProxy::open().await;
        let ada = t.agent("ada").await;
        let body = json!({"type": "openapi", "label": "Notes"});
        let provider = t.owner().post("/api/connectors/providers", body).await;
        let provider = text(&provider.ok(201)["id"]);
        let toolkit = json!({"displayName": "Notes", "document": document(),
            "baseUrl": service.url(), "auth": {"kind": "none"}});
        let path = format!("/api/connectors/providers/{provider}/toolkits/notes");
        t.owner().put(&path, toolkit).await.ok(200);
        let connection = connect(&t, &provider, "notes").await;
        let review = grant(&t, &connection, &ada, &SLUGS).await;
        service.seen();
        Self {
            t,
            service,
            ada,
            connection,
            review,
        }
    }

    async fn run(&self, slug: &str) -> Value {
        let id = revision(&self.review, slug);
        let with = match slug {
            "readNotes" => json!({}),
            _ => json!({"body": {"text": "a"}}),
        };
        let body = running(&self.ada, &self.connection, &id, &with);
        self.t.owner().post(RUN, body).await.ok(200)
    }
}

#[tokio::test]
async fn what_is_cut_anywhere_is_never_sent_again() {
    let stage = ReviewedConnection::open().await;
    for (cut, seen) in [
        (ConnectionCut::Before, 0),
        (ConnectionCut::Within, 0),
        (ConnectionCut::After, 1),
    ] {
        for slug in SLUGS {
            stage.service.push_cut(&[cut]);
            let ran = stage.run(slug).await;
            let expected = match slug {
                "readNotes" => ("error", "PROVIDER_UNREACHABLE"),
                _ => ("outcome_unknown", "PROVIDER_OUTCOME_UNKNOWN"),
            };
            let result = &ran["result"];
            assert_eq!(result["status"], expected.0, "{cut:?} {slug}: {ran}");
            assert_eq!(result["code"], expected.1, "{cut:?} {slug}");
            assert_eq!(result["data"], Value::Null);
            assert_eq!(ran["attemptCount"], 1, "{cut:?} {slug}");
            assert_eq!(stage.service.seen().len(), seen, "{cut:?} {slug}");
        }
    }
}

#[tokio::test]
async fn a_passing_no_is_tried_once_more_where_that_does_no_harm() {
    let stage = ReviewedConnection::open().await;
    let no = ConnectionCut::None(503, "Retry-After: 0\r\n");
    for (slug, attempts, status) in [
        ("readNotes", 2, "success"),
        ("addNote", 1, "error"),
        ("addKeyed", 2, "success"),
    ] {
        stage.service.push_cut(&[no]);
        let ran = stage.run(slug).await;
        assert_eq!(ran["attemptCount"], attempts, "{slug}: {ran}");
        assert_eq!(ran["result"]["status"], status, "{slug}");
        let seen = stage.service.seen();
        assert_eq!(seen.len(), attempts, "{slug}");
        let id = text(&ran["logicalOperationId"]);
        let key = format!("idempotency-key: guildhall:{id}\r\n");
        let with_key = seen.iter().filter(|head| head.contains(&key)).count();
        let expected = if slug == "addKeyed" { 2 } else { 0 };
        assert_eq!(with_key, expected, "{slug}: the same key both times");
    }
    // The second no is the last word.
    stage.service.push_cut(&[no, no]);
    let ran = stage.run("readNotes").await;
    assert_eq!(ran["attemptCount"], 2);
    assert_eq!(ran["result"]["code"], "PROVIDER_HTTP_503");
    // It asks for more patience than there is.
    stage
        .service
        .push_cut(&[ConnectionCut::None(429, "Retry-After: 11\r\n")]);
    let ran = stage.run("readNotes").await;
    assert_eq!(ran["attemptCount"], 1);
    assert_eq!(ran["result"]["code"], "PROVIDER_HTTP_429");
}

#[tokio::test]
async fn every_attempt_is_listed_with_what_it_came_to() {
    let stage = ReviewedConnection::open().await;
    stage
        .service
        .push_cut(&[ConnectionCut::None(503, "Retry-After: 0\r\n")]);
    let mut events = stage.t.events();
    stage.run("readNotes").await;
    let names = [
        "connector_execution_started",
        "connector_execution_started",
        "connector_execution_finished",
    ];
    assert_eq!(events.names(), names);
    let usage = stage.t.owner().get("/api/connectors/usage").await.ok(200);
    assert_eq!(column(&usage["attempts"], "status"), ["success", "error"]);
    assert_eq!(usage["attempts"][1]["code"], "PROVIDER_HTTP_503");
}

#[tokio::test]
async fn a_new_version_needs_a_new_grant() {
    let stage = ReviewedConnection::open().await;
    let provider = text(&stage.review["connection"]["providerInstanceId"]);
    let mut newer = document();
    newer["info"]["version"] = json!("1.1");
    let toolkit = json!({"displayName": "Notes", "document": newer,
        "baseUrl": stage.service.url(), "auth": {"kind": "none"}});
    let path = format!("/api/connectors/providers/{provider}/toolkits/notes");
    stage.t.owner().put(&path, toolkit).await.ok(200);
    let id = revision(&stage.review, "readNotes");
    let body = running(&stage.ada, &stage.connection, &id, &json!({}));
    let refused = stage.t.owner().post(RUN, body).await;
    refused.refused(409, "CONNECTOR_REVISION_MISMATCH");
    assert_eq!(stage.service.seen().len(), 0);
}
