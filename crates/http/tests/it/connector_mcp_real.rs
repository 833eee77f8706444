//! A real tool server behind a real authorization server, as a connection: signed in, reviewed,
//! run, renewed, and lost. Installed by `cargo xtask counterparts install`.
//! Source: contract 5.3 to 5.6, 5.12.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::{
    connector_auth_flows::{after, at, wish},
    connector_auth_flows_real::{sign_in, token},
    connector_fixtures::{RUN, apply, review, revision, running, to},
    mcp_signin_real::{HeadlessBrowser, RealServers},
    test_values::{list, text},
};

const CONNECTIONS: &str = "/api/connectors/connections";

#[tokio::test]
async fn an_account_at_a_tool_server_is_signed_in_run_renewed_and_lost() {
    let servers = RealServers::start().await;
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let body = json!({"type": "mcp", "label": "Tools"});
    let provider = owner.post("/api/connectors/providers", body).await.ok(201);
    let provider = text(&provider["id"]);
    let toolkit = json!({"displayName": "Everything", "url": format!("{}/mcp", servers.origin),
        "auth": {"kind": "oauth2", "flow": "authorization_code", "scopes": ["tools", "offline_access"]}});
    let path = format!("/api/connectors/providers/{provider}/toolkits/notes");
    let put = owner.put(&path, toolkit).await.ok(200);
    assert_eq!(
        put["operationCount"], 0,
        "its tools are for those who signed in"
    );

    let begun = owner.post(CONNECTIONS, wish(&provider, "notes", "k")).await;
    let waits = after(&t, &begun.ok(201), "starting").await;
    assert_eq!(waits["step"], "browser", "{waits}");
    assert_eq!(sign_in(&t, &servers, &waits, "ada").await, 200);
    let over = owner.get(&at(&waits)).await.ok(200);
    assert_eq!(over["state"], "connected", "{over}");
    let connection = text(&over["connectionId"]);
    let one = format!("{CONNECTIONS}/{connection}");

    let listed = review(&t, &connection).await;
    let count = list(&listed["operations"]).len();
    assert!(count > 5, "{listed}");
    let body = to(&listed, &ada, &["echo"]);
    apply(&t, &listed, body).await.ok(200);
    let echo = revision(&listed, "echo");
    let said = json!({"message": "hello"});
    let run = async || -> Value {
        let body = running(&ada, &connection, &echo, &said);
        owner.post(RUN, body).await.ok(200)["result"].clone()
    };
    let ran = run().await;
    assert_eq!(ran["status"], "success", "{ran}");
    assert_eq!(ran["data"]["content"][0]["text"], "Echo: hello");

    // Two renewals: the second works only with the refresh token that the first one brought.
    let id = &over["connectionId"];
    let mut tokens = vec![token(&t, id).await.unwrap()];
    for _ in 0..2 {
        t.advance(60);
        assert_eq!(run().await["status"], "success");
        tokens.push(token(&t, id).await.unwrap());
    }
    assert!(tokens[0] != tokens[1] && tokens[1] != tokens[2]);

    // Over there it counts no more.
    let mut browser = HeadlessBrowser::of(&servers, "ada");
    assert_eq!(browser.ask("/forget", Some(&tokens[2])).await.status, 200);
    let mut events = t.events();
    let refused = run().await;
    assert_eq!(
        json!([refused["status"], refused["code"]]),
        json!(["error", "PROVIDER_HTTP_401"])
    );
    let told = events.single_event("connector_connection_changed");
    assert_eq!(told["accountStatus"], "revoked");
    let lost = owner.get(&one).await.ok(200);
    assert_eq!(
        json!([lost["accountStatus"], lost["readiness"]["state"]]),
        json!(["revoked", "needs_you"])
    );
    let body = running(&ada, &connection, &echo, &said);
    let refused = owner.post(RUN, body).await;
    refused.refused(409, "CONNECTOR_NOT_EXECUTABLE");

    // Signing in anew is all it needs.
    let again = json!({"idempotencyKey": "again"});
    let again = owner.post(&format!("{one}/reconnect"), again).await;
    let waits = after(&t, &again.ok(201), "starting").await;
    assert_eq!(sign_in(&t, &servers, &waits, "ada").await, 200);
    assert_eq!(run().await["status"], "success");
    let gone = owner.delete(&one).await.ok(200);
    assert_eq!(gone["externalCleanup"], "complete");
}
