//! The page and its assets, as a browser is answered.

use axum::http::Request;
use tower::ServiceExt;

use super::*;

async fn ask(method: Method, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let router: Router = routes().fallback(fallback);
    router
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap()
}

const OPENED: [(&str, &str); 1] = [("sec-fetch-mode", "navigate")];

#[tokio::test]
async fn the_page_comes_under_the_strict_policy() {
    let response = ask(Method::GET, "/", &[]).await;
    assert_eq!(response.status(), 200);
    let header = |name: &str| response.headers()[name].to_str().unwrap();
    assert_eq!(header("content-type"), "text/html; charset=utf-8");
    assert_eq!(header("cache-control"), "no-cache");
    assert_eq!(header("cross-origin-opener-policy"), "same-origin");
    assert_eq!(header("cross-origin-resource-policy"), "same-origin");
    assert_eq!(
        header("content-security-policy"),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         media-src 'self' data: blob:; connect-src 'self'; frame-src http: https: blob:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'"
    );
}

#[tokio::test]
async fn a_page_the_browser_holds_is_not_sent_again() {
    let first = ask(Method::GET, "/", &[]).await;
    let etag = first.headers()[ETAG].to_str().unwrap().to_owned();
    assert_eq!(etag.len(), 34, "{etag}");
    for tags in [etag.clone(), format!("\"other\", W/{etag}"), "*".to_owned()] {
        let again = ask(Method::GET, "/", &[("if-none-match", &tags)]).await;
        assert_eq!(again.status(), 304, "{tags}");
        assert_eq!(again.headers()[ETAG].to_str().unwrap(), etag);
    }
    let changed = ask(Method::GET, "/", &[("if-none-match", "\"other\"")]).await;
    assert_eq!(changed.status(), 200);
}

#[tokio::test]
async fn an_address_of_the_page_opens_the_page() {
    for path in ["/rooms/0192f0c1", "/agents", "/apian", "/settings/a/b"] {
        assert_eq!(
            ask(Method::GET, path, &OPENED).await.status(),
            200,
            "{path}"
        );
        let typed = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
        assert_eq!(ask(Method::GET, path, &typed).await.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn whatever_else_has_no_route_is_an_envelope() {
    let not_found = |method: Method, path: &'static str, headers: &'static [_]| async move {
        let response = ask(method, path, headers).await;
        assert_eq!(response.status(), 404, "{path}");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        let body = axum::body::to_bytes(response.into_body(), 1_024)
            .await
            .unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["code"], "NOT_FOUND", "{path}");
        assert!(body["details"].is_null());
    };
    not_found(Method::GET, "/rooms/0192f0c1", &[("accept", "*/*")]).await;
    not_found(Method::POST, "/rooms/0192f0c1", &OPENED).await;
    for path in ["/api", "/api/none", "/docs/none", "/mcp", "/metrics/none"] {
        not_found(Method::GET, path, &OPENED).await;
    }
    for path in [
        "/assets/none.js",
        "/assets/../index.html",
        "/assets/..%2findex.html",
        "/assets/%2e%2e/index.html",
        "/assets/%2fetc%2fpasswd",
        "/assets/..%5cindex.html",
    ] {
        not_found(Method::GET, path, &OPENED).await;
    }
}

#[test]
fn an_asset_is_kept_for_good() {
    let file = || EmbeddedAssets::get(INDEX).unwrap();
    let response = answer(file(), FOREVER, &HeaderMap::new());
    assert_eq!(
        response.headers()[CACHE_CONTROL],
        "public, max-age=31536000, immutable"
    );
}
