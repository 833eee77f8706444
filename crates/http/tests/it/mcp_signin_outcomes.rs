//! How sign-ins with tool servers fail, what ends them, what survives a restart, and how their
//! tokens are kept fresh. Source: contract 4.8, 4.11.

use guildhall_testkit::soon;
use serde_json::{Value, json};

use crate::{
    mcp_servers::{ask, at},
    mcp_signin::AgentWithSigninServer,
};

/// Demands that a sign-in failed by `code`, and that its end was told once.
async fn failed(scene: &AgentWithSigninServer, started: &Value, code: &str) {
    let polled = scene.poll(started).await;
    assert_eq!(
        json!([
            polled["status"],
            polled["phase"],
            polled["code"],
            polled["toolCount"]
        ]),
        json!(["failed", "done", code, null])
    );
    assert!(polled["error"].as_str().unwrap().ends_with('.'));
}

#[tokio::test]
async fn a_sign_in_that_cannot_begin_says_why() {
    let far = json!({"token_endpoint": "http://192.0.2.7/token"});
    let private = json!({"authorization_endpoint": "ftp://127.0.0.1/authorize"});
    let script = json!({"authorization_endpoint": "javascript:alert(1)"});
    let metadata = "/.well-known/oauth-authorization-server";
    let own = "/.well-known/oauth-protected-resource/mcp";
    for (code, change) in [
        (
            "SIGNIN_PKCE_UNSUPPORTED",
            json!({"code_challenge_methods_supported": null}),
        ),
        (
            "SIGNIN_PKCE_UNSUPPORTED",
            json!({"code_challenge_methods_supported": ["plain"]}),
        ),
        (
            "SIGNIN_NO_APP_REGISTRATION",
            json!({"registration_endpoint": null}),
        ),
        ("SIGNIN_INSECURE_ADDRESS", far),
        ("SIGNIN_INSECURE_ADDRESS", private),
        ("SIGNIN_INSECURE_ADDRESS", script),
        (
            "SIGNIN_NO_SIGNIN_SUPPORT",
            json!({"issuer": "https://elsewhere.example"}),
        ),
        ("SIGNIN_NO_SIGNIN_SUPPORT", json!({"token_endpoint": null})),
    ] {
        let scene = AgentWithSigninServer::open().await;
        scene.place.says(&change);
        let mut events = scene.t.events();
        let started = scene.start(&scene.ada).await;
        let page = scene.go(&started).await;
        assert_eq!(page.status, 502, "{change}: {}", page.text());
        assert!(page.text().contains(code), "{change}: {}", page.text());
        failed(&scene, &started, code).await;
        assert_eq!(events.single_event("mcp_signin_resolved")["code"], code);
        scene.go(&started).await.refused(404, "SIGNIN_NOT_FOUND");
    }
    for (code, path, status, body) in [
        (
            "SIGNIN_NO_APP_REGISTRATION",
            "/register",
            403,
            json!({"error": "no"}),
        ),
        ("SIGNIN_NO_SIGNIN_SUPPORT", metadata, 404, json!({})),
        (
            "SIGNIN_UNREACHABLE",
            metadata,
            200,
            json!({"issuer": "x".repeat(300 * 1024)}),
        ),
        (
            "SIGNIN_NO_SIGNIN_SUPPORT",
            own,
            200,
            json!({"resource": "https://elsewhere.example/mcp"}),
        ),
        (
            "SIGNIN_INSECURE_ADDRESS",
            own,
            200,
            json!({"resource": null}),
        ),
    ] {
        let scene = AgentWithSigninServer::open().await;
        let body = match body["resource"] {
            Value::Null if path == own => json!({
                "resource": format!("{}/mcp", scene.place.origin),
                "authorization_servers": ["http://192.0.2.9"],
            }),
            _ => body,
        };
        scene.place.answers(path, status, body);
        let started = scene.start(&scene.ada).await;
        let page = scene.go(&started).await;
        assert_eq!(page.status, 502, "{code} at {path}");
        failed(&scene, &started, code).await;
    }
}

#[tokio::test]
async fn an_answer_that_is_no_code_of_the_one_asked_gives_no_token() {
    let iss = "iss=https%3A%2F%2Felsewhere.example";
    for (query, says_issuer, code) in [
        (format!("code=good&{iss}"), false, "SIGNIN_ISSUER_MISMATCH"),
        ("code=good".to_owned(), true, "SIGNIN_ISSUER_MISMATCH"),
        ("error=access_denied".to_owned(), false, "SIGNIN_REFUSED"),
        ("code=".to_owned(), false, "SIGNIN_REFUSED"),
        (String::new(), false, "SIGNIN_REFUSED"),
    ] {
        let scene = AgentWithSigninServer::open().await;
        let parameter = "authorization_response_iss_parameter_supported";
        scene.place.says(&json!({parameter: says_issuer}));
        let started = scene.start(&scene.ada).await;
        let away = scene.sent(&started).await;
        let page = scene.back(&away, &query).await;
        assert_eq!(page.status, 400, "{query}");
        assert!(page.text().contains(code), "{query}: {}", page.text());
        failed(&scene, &started, code).await;
        assert_eq!(scene.place.asked_of("POST /token").len(), 0, "{query}");
    }
}

#[tokio::test]
async fn a_code_that_buys_nothing_the_server_takes_is_no_sign_in() {
    let scene = AgentWithSigninServer::open().await;
    let useless = json!({"access_token": "unknown", "token_type": "Bearer"});
    for (status, body) in [(400, json!({"error": "invalid_grant"})), (200, useless)] {
        scene.place.answers("/token", status, body);
        let started = scene.start(&scene.ada).await;
        let away = scene.sent(&started).await;
        assert_eq!(scene.back(&away, "code=good").await.status, 400);
        failed(&scene, &started, "SIGNIN_EXCHANGE_FAILED").await;
        assert_eq!(scene.entry().await["authStatus"], "needs-auth");
    }
}

#[tokio::test]
async fn time_a_newer_sign_in_and_another_address_end_it() {
    let scene = AgentWithSigninServer::open().await;
    let owner = scene.t.owner();
    let mut events = scene.t.events();
    // Nobody opens it.
    let started = scene.start(&scene.ada).await;
    events.next("mcp_signin_required");
    scene.t.advance(600);
    failed(&scene, &started, "SIGNIN_EXPIRED").await;
    scene.go(&started).await.refused(404, "SIGNIN_NOT_FOUND");
    events.none();
    scene.t.hall().end_due_mcp_signins().await.unwrap();
    assert_eq!(events.next("mcp_signin_resolved")["code"], "SIGNIN_EXPIRED");
    // Whoever opens it has the whole time once more, and once.
    let started = scene.start(&scene.ada).await;
    scene.t.advance(599);
    let away = scene.sent(&started).await;
    scene.t.advance(599);
    assert_eq!(scene.poll(&started).await["phase"], "opened");
    scene.sent(&started).await;
    scene.t.advance(1);
    assert_eq!(scene.back(&away, "code=good").await.status, 400);
    failed(&scene, &started, "SIGNIN_EXPIRED").await;
    // A newer one.
    let older = scene.start(&scene.ada).await;
    let away = scene.sent(&older).await;
    let started = scene.start(&scene.ada).await;
    failed(&scene, &older, "SIGNIN_SUPERSEDED").await;
    assert_eq!(scene.back(&away, "code=good").await.status, 400);
    // Another address.
    let away = scene.sent(&started).await;
    let mut elsewhere = scene.place.connection();
    elsewhere["url"] = format!("{}/mcp?x=1", scene.place.origin).into();
    let change = json!({"connection": elsewhere});
    owner.patch_approved(&scene.server(), change).await.ok(200);
    failed(&scene, &started, "SIGNIN_TARGET_CHANGED").await;
    assert_eq!(scene.back(&away, "code=good").await.status, 400);
    assert_eq!(scene.place.asked_of("POST /token").len(), 0);
    // No server.
    let started = scene.start(&scene.ada).await;
    events.all();
    owner.delete(&scene.server()).await.ok(200);
    assert_eq!(
        events.single_event("mcp_signin_resolved")["code"],
        "SIGNIN_TARGET_CHANGED"
    );
    assert_eq!(started["alreadyConnected"], false);
}

#[tokio::test]
async fn tokens_are_bound_to_the_address_and_go_with_the_server() {
    let scene = AgentWithSigninServer::signed_in().await;
    let owner = scene.t.owner();
    let mut elsewhere = scene.place.connection();
    elsewhere["url"] = format!("{}/mcp?x=1", scene.place.origin).into();
    let before = scene.place.asked().len();
    let change = json!({"connection": elsewhere});
    owner.patch_approved(&scene.server(), change).await.ok(200);
    let back = json!({"connection": scene.place.connection()});
    owner.patch_approved(&scene.server(), back).await.ok(200);
    assert_eq!(scene.test().await["needsAuth"], true);
    let shown = scene.place.asked().split_off(before);
    assert!(
        shown.iter().all(|asked| asked.authorization.is_empty()),
        "{shown:?}"
    );
    // Removed and added again, it is another one.
    let scene = AgentWithSigninServer::signed_in().await;
    let owner = scene.t.owner();
    owner.delete(&scene.server()).await.ok(200);
    let asked = ask("web", &scene.place.connection());
    owner.post_approved(&at(&scene.ada), asked).await.ok(200);
    assert_eq!(scene.test().await["needsAuth"], true);
    let AgentWithSigninServer { t, place, .. } = scene;
    t.close().await;
    assert_eq!(place.asked_of("POST /revoke").len(), 2);
}

#[tokio::test]
async fn what_waits_survives_a_restart_and_what_was_exchanged_does_not() {
    let mut scene = AgentWithSigninServer::open().await;
    let started = scene.start(&scene.ada).await;
    scene.t.restart().await;
    assert_eq!(scene.poll(&started).await["phase"], "waiting");
    let away = scene.sent(&started).await;
    scene.t.restart().await;
    assert_eq!(scene.poll(&started).await["phase"], "opened");
    // The link still leads to the same place.
    assert_eq!(scene.sent(&started).await.location, away.location);
    assert_eq!(scene.back(&away, "code=good").await.status, 200);
    assert_eq!(scene.poll(&started).await["status"], "connected");
    scene.t.restart().await;
    assert_eq!(scene.test().await["ok"], true);

    let mut scene = AgentWithSigninServer::open().await;
    let started = scene.start(&scene.ada).await;
    let away = scene.sent(&started).await;
    scene.place.holds(Some("code="));
    let path = format!(
        "/api/oauth/callback?state={}&code=good",
        away.parameter("state")
    );
    let browser = scene.t.nobody().with("cookie", &away.cookie);
    let coming = browser.ask("GET", &path).send();
    let ending = async {
        let asked = async {
            while scene.place.asked_of("POST /token").is_empty() {
                tokio::task::yield_now().await;
            }
        };
        soon("the code arrives", asked).await;
        assert_eq!(scene.poll(&started).await["phase"], "exchanging");
        scene.t.restart().await;
    };
    let (page, ()) = futures_util::future::join(coming, ending).await;
    assert_ne!(page.status, 200);
    failed(&scene, &started, "SIGNIN_INTERRUPTED").await;
    assert_eq!(scene.entry().await["authStatus"], "needs-auth");
}

#[tokio::test]
async fn a_token_is_replaced_before_its_end_once_and_what_replaces_it_is_kept() {
    let scene = AgentWithSigninServer::open().await;
    scene.place.tokens_end_in(600);
    let started = scene.start(&scene.ada).await;
    let away = scene.sent(&started).await;
    assert_eq!(scene.back(&away, "code=good").await.status, 200);
    scene.t.advance(539);
    assert_eq!(scene.test().await["ok"], true);
    assert_eq!(scene.place.asked_of("POST /token").len(), 1);
    scene.t.advance(1);
    let all = futures_util::future::join_all((0..6).map(|_| scene.test())).await;
    assert!(all.iter().all(|tested| tested["ok"] == true), "{all:?}");
    let tokens = scene.place.asked_of("POST /token");
    assert_eq!(tokens.len(), 2, "one for all of them");
    assert!(tokens[1].body.contains("refresh_token=canary-refresh-1"));
    let mut scene = scene;
    scene.t.restart().await;
    scene.t.advance(540);
    assert_eq!(scene.test().await["ok"], true);
    let tokens = scene.place.asked_of("POST /token");
    assert!(tokens[2].body.contains("refresh_token=canary-refresh-2"));
}

#[tokio::test]
async fn a_refused_refresh_forgets_the_token_and_an_unanswered_one_does_not() {
    let scene = AgentWithSigninServer::signed_in().await;
    scene.t.advance(3_590);
    // Out of order, three times.
    scene
        .place
        .answers("/token", 503, json!({"error": "temporarily_unavailable"}));
    assert_eq!(scene.test().await["ok"], true, "the old one counts still");
    assert_eq!(scene.place.asked_of("POST /token").len(), 4);
    assert_eq!(scene.entry().await["authStatus"], "connected");
    // Nobody else waits for it at once.
    assert_eq!(scene.test().await["ok"], true);
    scene.t.advance(29);
    assert_eq!(scene.test().await["ok"], true);
    assert_eq!(scene.place.asked_of("POST /token").len(), 4);
    scene.t.advance(1);
    scene
        .place
        .answers("/token", 400, json!({"error": "invalid_grant"}));
    let mut events = scene.t.events();
    assert_eq!(scene.test().await["needsAuth"], true);
    let changed = events.single_event("mcp_server_status_changed");
    assert_eq!(
        (&changed["status"], &changed["authStatus"]),
        (&json!("needsSignIn"), &json!("needs-auth"))
    );
    scene.test().await;
    assert_eq!(
        scene.place.asked_of("POST /token").len(),
        5,
        "it is not tried again"
    );
}
