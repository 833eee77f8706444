//! The interface document, and what all answers have in common.

use std::collections::BTreeSet;

use guildhall_cloud::openapi;

use crate::companion::{PASSWORD, TestCompanion, form};

#[tokio::test]
async fn the_document_lists_every_route_and_nothing_else() {
    let cloud = TestCompanion::open().await;
    let document = cloud.get("/openapi.json").await.ok();
    assert_eq!(&document, openapi::json());
    let mut listed = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(
                operation["responses"]
                    .as_object()
                    .is_some_and(|all| !all.is_empty())
            );
            listed.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    let expected = [
        "GET /",
        "GET /.well-known/oauth-authorization-server",
        "GET /activate",
        "GET /billing/{end}",
        "GET /health",
        "GET /login",
        "GET /openapi.json",
        "GET /style.css",
        "GET /v1/offers",
        "GET /welcome/{link}",
        "POST /activate",
        "POST /login",
        "POST /logout",
        "POST /oauth/device",
        "POST /oauth/revoke",
        "POST /oauth/token",
        "POST /v1/checkout",
        "POST /v1/instances/heartbeat",
        "POST /v1/portal",
        "POST /v1/topup",
        "POST /welcome/{link}",
    ];
    assert_eq!(listed, expected.map(str::to_owned).into());
    // Every operation that needs a key says so.
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let is_keyed = operation["security"].is_array();
            assert_eq!(is_keyed, path.starts_with("/v1/"), "{path}");
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_a_problem_and_every_answer_is_signed() {
    let cloud = TestCompanion::open().await;
    let missing = cloud.get("/v1/nothing").await;
    assert!(!missing.header("x-request-id").is_empty());
    assert_eq!(missing.header("x-content-type-options"), "nosniff");
    assert_eq!(missing.header("referrer-policy"), "no-referrer");
    missing.problem(404, "NOT_FOUND");
    let wrong = cloud.form("/v1/offers", &[]).await;
    assert_eq!(wrong.header("allow"), "GET,HEAD");
    wrong.problem(405, "MALFORMED_REQUEST");
    assert_eq!(cloud.get("/").await.header("location"), "/activate");
    assert_eq!(cloud.get("/health").await.ok()["status"], "ok");
}

#[tokio::test]
async fn no_form_of_another_page_signs_in_or_out_or_chooses_a_password() {
    let cloud = TestCompanion::open().await;
    let browser = cloud.browser("ada@example.org").await;
    let link = cloud.invite("ada@example.org").await;
    let fields = [
        ("email", "ada@example.org"),
        ("password", PASSWORD),
        ("again", PASSWORD),
    ];
    for path in ["/login", "/logout", &link] {
        let mut request = form(path, &fields);
        let origin = "https://evil.example".parse().unwrap();
        request.headers_mut().insert("origin", origin);
        let answer = browser.send(request).await;
        let answer = answer.shows(403, "not sent from here");
        assert_eq!(answer.header("set-cookie"), "", "{path}");
    }
    // Without what the forms of this session carry, nobody is signed out.
    let bare = browser.post("/logout", &[]).await;
    bare.shows(403, "not sent from here");
    let page = browser.get("/activate").await.shows(200, "Signed in as");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(page.header("x-frame-options"), "DENY");
    cloud.get(&link).await.shows(200, "Choose a password");
}

#[tokio::test]
async fn a_body_beyond_its_bounds_is_refused() {
    let cloud = TestCompanion::open().await;
    let key = cloud.link("ada@example.org").await;
    let heart = |name: String| {
        let ask = serde_json::json!({"name": name, "platform": "", "version": ""});
        cloud.get_with_key("POST", "/v1/instances/heartbeat", &key, Some(ask))
    };
    heart("é".repeat(200)).await.ok();
    let problem = heart("é".repeat(201))
        .await
        .problem(400, "MALFORMED_REQUEST");
    assert_eq!(problem["detail"], "name must have 0 to 200 characters.");
    heart("a".repeat(70_000))
        .await
        .problem(400, "MALFORMED_REQUEST");
}
