//! Linking to a real authorization server: by a code that is typed elsewhere, over a restart, with
//! a refusal, and giving the key back. Installed by `cargo xtask counterparts install`.
//! Source: contract 5.10, 5.12.

use guildhall_testkit::{TestHall, soon, until};
use serde_json::json;

use crate::{
    cloud_service_stub::{becomes, begin, link, options_at, poll},
    mcp_signin_real::{HeadlessBrowser, RealServers},
};

/// How many keys the server holds to count.
async fn keys(servers: &RealServers) -> String {
    HeadlessBrowser::of(servers, "nobody")
        .ask("/keys", None)
        .await
        .body
}

#[tokio::test]
async fn a_real_authorization_server_links_over_a_restart_and_takes_its_key_back() {
    let servers = RealServers::start().await;
    let options = || options_at(&servers.origin);
    let mut t = TestHall::open_with(options()).await;
    let code = begin(&t).await;
    let waits = link(&t).await;
    let complete = waits["pending"]["verificationUriComplete"]
        .as_str()
        .unwrap();
    assert!(
        complete.ends_with(&format!("user_code={code}")),
        "{complete}"
    );
    t.restart_with(options()).await;
    assert_eq!(link(&t).await, waits);
    // Whoever types it needs a moment; the server says nothing of how often it wants to be asked.
    assert_eq!(poll(&t).await, 5);
    until("the next one", || t.awaited_s() == Some(5)).await;
    HeadlessBrowser::of(&servers, "ada").type_code(&code).await;
    assert_eq!(poll(&t).await, 5);
    becomes(&t, "linked").await;
    let check = t.owner().post("/api/cloud/link/check", json!({})).await;
    let checked = check.ok(200);
    assert_eq!(
        json!([checked["linked"], checked["accountLabel"]]),
        json!([true, "ada"])
    );
    assert_eq!(keys(&servers).await, "1");
    let unlink = t.owner().post("/api/cloud/unlink", json!({})).await;
    assert_eq!(unlink.ok(200), json!({"ok": true}));
    // Giving it back comes after the answer.
    let given_back = async { while keys(&servers).await != "0" {} };
    soon("the key is given back", given_back).await;
    assert_eq!(link(&t).await["state"], "idle");
}

#[tokio::test]
async fn a_real_authorization_server_refuses_for_a_person() {
    let servers = RealServers::start().await;
    let t = TestHall::open_with(options_at(&servers.origin)).await;
    let code = begin(&t).await;
    HeadlessBrowser::of(&servers, "ada")
        .refuse_code(&code)
        .await;
    assert_eq!(poll(&t).await, 5);
    assert_eq!(becomes(&t, "denied").await["pending"], json!(null));
    assert_eq!(keys(&servers).await, "0");
}
