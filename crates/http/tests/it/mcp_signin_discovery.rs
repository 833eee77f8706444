//! Where a sign-in is found when a tool server says less than all of it, and who guildhall is
//! there. Source: contract 4.8, "discovery" and "client".

use serde_json::{Value, json};

use crate::{
    mcp_signin::{AgentWithSigninServer, SentBrowser},
    signin_server_stub::SigninServerStub,
};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
const PUBLIC: &str = "https://hall.example";

/// A scene whose tool server and authorization server say nothing of themselves.
async fn silent() -> AgentWithSigninServer {
    let scene = AgentWithSigninServer::open().await;
    for place in [
        &format!("{RESOURCE}/mcp"),
        RESOURCE,
        SERVER,
        OPENID,
        &format!("{SERVER}/mcp"),
        &format!("{OPENID}/mcp"),
    ] {
        scene.place.answers(place, 404, json!({}));
    }
    scene
}

/// Goes the whole way; answers what the browser was sent away with.
async fn whole_way(scene: &AgentWithSigninServer) -> SentBrowser {
    let started = scene.start(&scene.ada).await;
    let away = scene.sent(&started).await;
    let page = scene.back(&away, "code=good").await;
    assert_eq!(page.status, 200, "{}", page.text());
    assert_eq!(scene.entry().await["authStatus"], "connected");
    assert_eq!(scene.test().await["ok"], true);
    away
}

#[tokio::test]
async fn a_client_that_a_person_typed_is_shown_to_nobody_whom_the_server_names_later() {
    let scene = AgentWithSigninServer::open().await;
    let client = json!({"clientId": "mine", "clientSecret": "canary-client-secret"});
    let path = format!("{}/client", scene.server());
    scene.t.owner().put(&path, client.clone()).await.ok(200);
    let started = scene.start(&scene.ada).await;
    scene.sent(&started).await;
    let other = SigninServerStub::open().await;
    let named = json!({"resource": format!("{}/mcp", scene.place.origin),
        "authorization_servers": [other.origin]});
    let own = "/.well-known/oauth-protected-resource/mcp";
    scene.place.answers(own, 200, named);
    let started = scene.start(&scene.ada).await;
    let page = scene.go(&started).await;
    assert_eq!(page.status, 502, "{}", page.text());
    assert_eq!(
        scene.poll(&started).await["code"],
        "SIGNIN_NO_APP_REGISTRATION"
    );
    assert_eq!(other.asked_of("POST /register").len(), 0);
    // Typed once more, it is for the one who is named now; the one of before still takes his.
    scene.t.owner().put(&path, client).await.ok(200);
    let started = scene.start(&scene.ada).await;
    let away = scene.sent(&started).await;
    assert!(
        away.location.starts_with(&other.origin),
        "{}",
        away.location
    );
    scene.place.answers_as_usual(own);
    let started = scene.start(&scene.ada).await;
    assert_eq!(scene.go(&started).await.status, 502);
}

#[tokio::test]
async fn an_authorization_server_that_knows_openid_alone_is_found() {
    let scene = AgentWithSigninServer::open().await;
    scene.place.answers(SERVER, 404, json!({}));
    scene.place.says_at(OPENID, &json!({}));
    let away = whole_way(&scene).await;
    assert_eq!(away.parameter("scope"), "tools");
    let asked = scene.place.asked_of(&format!("GET {OPENID}"));
    assert_eq!(asked.len(), 1);
    // What it says there is held against the same rules.
    let scene = AgentWithSigninServer::open().await;
    scene.place.answers(SERVER, 404, json!({}));
    let other = json!({"issuer": "https://elsewhere.example"});
    scene.place.says_at(OPENID, &other);
    let started = scene.start(&scene.ada).await;
    let page = scene.go(&started).await;
    assert_eq!(page.status, 502);
    assert!(page.text().contains("SIGNIN_NO_SIGNIN_SUPPORT"));
}

#[tokio::test]
async fn a_server_of_2025_03_26_is_signed_in_with_at_its_own_origin() {
    // With metadata there.
    let scene = silent().await;
    let issued = json!({"authorization_endpoint": format!("{}/own", scene.place.origin)});
    scene.place.says_at(SERVER, &issued);
    let away = whole_way(&scene).await;
    let own = format!("{}/own?", scene.place.origin);
    assert!(away.location.starts_with(&own), "{}", away.location);
    // Without any, at the places that were usual; its tokens are for its address.
    let scene = silent().await;
    let away = whole_way(&scene).await;
    let usual = format!("{}/authorize?", scene.place.origin);
    assert!(away.location.starts_with(&usual), "{}", away.location);
    assert_eq!(away.parameter("code_challenge_method"), "S256");
    assert_eq!(away.parameter("scope"), "");
    assert!(away.parameter("resource").ends_with("%2Fmcp"));
    assert_eq!(scene.place.asked_of("POST /register").len(), 1);
    // A server that asks for no token has no such places.
    let scene = silent().await;
    let started = scene.start(&scene.ada).await;
    scene.place.answers("/mcp", 200, json!({}));
    let page = scene.go(&started).await;
    assert_eq!(page.status, 502);
    assert!(page.text().contains("SIGNIN_NO_SIGNIN_SUPPORT"));
    assert_eq!(scene.place.asked_of("POST /register").len(), 0);
}

#[tokio::test]
async fn at_a_public_address_the_client_is_its_own_document() {
    let scene = AgentWithSigninServer::open().await;
    let document = "/api/oauth/client";
    let nobody = scene.t.nobody();
    let absent = nobody.get(document).await;
    absent.refused(404, "SIGNIN_NOT_FOUND");
    let publish = async |url: &str| {
        let change = json!({"server.publicUrl": url});
        let _: Value = scene.t.owner().patch("/api/settings", change).await.ok(200);
    };
    publish("http://hall.example").await;
    let plain = nobody.get(document).await;
    plain.refused(404, "SIGNIN_NOT_FOUND");
    publish(PUBLIC).await;
    let told: Value = nobody.get(document).await.ok(200);
    let redirect = format!("{PUBLIC}/api/oauth/callback");
    assert_eq!(
        told,
        json!({
            "client_id": format!("{PUBLIC}{document}"),
            "client_name": "guildhall",
            "client_uri": PUBLIC,
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        })
    );
    // Whoever takes such documents is shown it, and nobody registers.
    let takes = json!({"client_id_metadata_document_supported": true});
    scene.place.says(&takes);
    let away = whole_way(&scene).await;
    assert_eq!(
        [away.parameter("client_id"), away.parameter("redirect_uri")],
        [
            "https%3A%2F%2Fhall.example%2Fapi%2Foauth%2Fclient",
            "https%3A%2F%2Fhall.example%2Fapi%2Foauth%2Fcallback"
        ]
    );
    assert_eq!(scene.place.asked_of("POST /register").len(), 0);
    assert_eq!(scene.entry().await["authClientOrigin"], "metadata");
    // Without a public address it cannot be read, so one is registered.
    publish("").await;
    let signed_out: Value = {
        let path = format!("{}/signin", scene.server());
        scene.t.owner().delete(&path).await.ok(200)
    };
    assert_eq!(signed_out, json!({"signedOut": true}));
    let away = whole_way(&scene).await;
    assert_eq!(away.parameter("client_id"), "registered-client");
    assert_eq!(scene.entry().await["authClientOrigin"], "registered");
}
