//! Connecting by a real authorization server: in a browser and by a code that is typed elsewhere,
//! over a restart, with renewed tokens, another account, and giving back.
//! Installed by `cargo xtask counterparts install`. Source: contract 5.4, 5.12.

use guildhall_domain::ids::ConnectorConnectionId;
use guildhall_testkit::TestHall;
use guildhall_world::connectors::AccountCredentials;
use serde_json::{Value, json};

use crate::{
    connector_auth_flows::{after, at, instance, wish},
    mcp_signin_real::{HeadlessBrowser, RealServers},
    test_values::text,
};

const CONNECTIONS: &str = "/api/connectors/connections";

fn auth(servers: &RealServers, flow: &str) -> Value {
    json!({"kind": "oauth2", "flow": flow, "issuer": servers.origin,
        "scopes": ["openid", "offline_access"]})
}

/// Follows the link of a flow and signs in behind it as `who`; answers the last page's status.
pub(crate) async fn sign_in(t: &TestHall, servers: &RealServers, flow: &Value, who: &str) -> u16 {
    let link = text(&flow["authorizeUrl"]);
    let (_, ticket) = link.rsplit_once('/').unwrap();
    let page = t.owner().get(&format!("/api/oauth/start/{ticket}")).await;
    assert_eq!(page.status, 200, "{}", page.text());
    let sent = t.owner().get(&format!("/api/oauth/go/{ticket}")).await;
    assert_eq!(sent.status, 303, "{}", sent.text());
    let cookie = sent.header("set-cookie").split(';').next().unwrap();
    let until = format!("http://127.0.0.1:{}/api/oauth/callback?", t.port());
    let mut browser = HeadlessBrowser::of(servers, who);
    let back = browser.walk(sent.header("location"), &until).await;
    let (_, query) = back.split_once('?').unwrap();
    let path = format!("/api/oauth/callback?{query}");
    t.nobody().with("cookie", cookie).get(&path).await.status
}

pub(crate) async fn token(t: &TestHall, id: &Value) -> Option<String> {
    let id = ConnectorConnectionId::parse(&text(id)).unwrap();
    match t.hall().connector_credentials(id).await.unwrap() {
        Some(AccountCredentials::Token(token)) => Some(token),
        Some(AccountCredentials::None | AccountCredentials::Key(_)) | None => None,
    }
}

#[tokio::test]
async fn a_person_connects_in_a_browser_and_the_tokens_are_renewed_and_given_back() {
    let servers = RealServers::start().await;
    let t = TestHall::open().await;
    let owner = t.owner();
    let me = json!({"path": "/me", "pointer": "/sub"});
    let auth = auth(&servers, "authorization_code");
    let provider = instance(&t, &servers.origin, &auth, &me).await;
    let begun = owner.post(CONNECTIONS, wish(&provider, "notes", "k")).await;
    let waits = after(&t, &begun.ok(201), "starting").await;
    assert_eq!(waits["step"], "browser", "{waits}");
    assert_eq!(sign_in(&t, &servers, &waits, "ada").await, 200);
    let over = owner.get(&at(&waits)).await.ok(200);
    assert_eq!(
        json!([over["state"], over["authorizeUrl"]]),
        json!(["connected", null])
    );
    let id = &over["connectionId"];
    let one = format!("{CONNECTIONS}/{}", text(id));
    assert_eq!(owner.get(&one).await.ok(200)["accountLabel"], "ada");
    let first = token(&t, id).await.unwrap();
    assert_eq!(token(&t, id).await.as_ref(), Some(&first));
    // Two renewals: the second works only with the refresh token that the first one brought.
    t.advance(60);
    let second = token(&t, id).await.unwrap();
    t.advance(60);
    let third = token(&t, id).await.unwrap();
    assert!(first != second && second != third);
    for secret in [&first, &second, &third] {
        assert!(!t.rows().contains(secret.as_str()), "it is sealed");
    }
    // Another account is not this connection's.
    let again = json!({"idempotencyKey": "again"});
    let again = owner.post(&format!("{one}/reconnect"), again).await.ok(201);
    let waits = after(&t, &again, "starting").await;
    assert_eq!(sign_in(&t, &servers, &waits, "bob").await, 400);
    let over = owner.get(&at(&waits)).await.ok(200);
    assert_eq!(over["state"], "failed");
    assert!(text(&over["reason"]).contains("another account"), "{over}");
    let kept = owner.get(&one).await.ok(200);
    assert_eq!(
        json!([kept["lifecycle"], kept["accountLabel"]]),
        json!(["paused", "ada"])
    );
    let gone = owner.delete(&one).await.ok(200);
    assert_eq!(
        json!([gone["lifecycle"], gone["externalCleanup"]]),
        json!(["disconnected", "complete"])
    );
    assert_eq!(token(&t, id).await, None);
}

#[tokio::test]
async fn a_person_connects_by_a_code_that_is_typed_elsewhere_over_a_restart() {
    let servers = RealServers::start().await;
    let mut t = TestHall::open().await;
    let me = json!({"path": "/me", "pointer": "/sub"});
    let auth = auth(&servers, "device_code");
    let provider = instance(&t, &servers.origin, &auth, &me).await;
    let ask = wish(&provider, "notes", "k");
    let begun = t.owner().post(CONNECTIONS, ask).await.ok(201);
    let waits = after(&t, &begun, "starting").await;
    assert_eq!(waits["step"], "device", "{waits}");
    assert!(text(&waits["verificationUriComplete"]).contains(&*text(&waits["userCode"])));
    t.restart().await;
    assert_eq!(t.owner().get(&at(&begun)).await.ok(200), waits);
    let mut browser = HeadlessBrowser::of(&servers, "ada");
    browser.type_code(&text(&waits["userCode"])).await;
    // It says nothing of how often it wants to be asked.
    assert_eq!(t.advance_to_awaited().await, 5);
    let over = after(&t, &begun, "pending").await;
    assert_eq!(
        json!([over["state"], over["userCode"], over["verificationUri"]]),
        json!(["connected", null, null])
    );
    let all = t.owner().get(CONNECTIONS).await.ok(200);
    assert_eq!(all["connections"][0]["accountLabel"], "ada");
    assert!(token(&t, &over["connectionId"]).await.is_some());
}
