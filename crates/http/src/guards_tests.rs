//! What the guards refuse, and what every answer carries.

use super::*;

fn guards() -> Guards {
    Guards::new(AllowedSources::default(), || "fresh".to_owned())
}

fn get(target: &str) -> axum::http::request::Builder {
    Request::builder().uri(target)
}

fn check(request: axum::http::request::Builder) -> Result<(), GuardRefusal> {
    guards().check(&request.body(()).unwrap())
}

#[test]
fn a_request_names_its_host_once() {
    assert_eq!(check(get("/").header("host", "localhost")), Ok(()));
    assert_eq!(check(get("/")), Err(GuardRefusal::HostLines));
    for second in ["localhost", "evil.test"] {
        let two = get("/").header("host", "localhost").header("host", second);
        assert_eq!(check(two), Err(GuardRefusal::HostLines), "{second}");
    }
}

#[test]
fn the_request_line_may_only_repeat_the_host() {
    let absolute = |authority: &str| {
        check(get(&format!("http://{authority}/api/rooms")).header("host", "localhost:4747"))
    };
    assert_eq!(absolute("localhost:4747"), Ok(()));
    assert_eq!(absolute("LOCALHOST:4747"), Ok(()));
    for other in [
        "localhost",
        "evil.test",
        "localhost:80",
        "me@localhost:4747",
    ] {
        assert_eq!(
            absolute(other),
            Err(GuardRefusal::AuthorityMismatch),
            "{other}"
        );
    }
}

#[test]
fn a_path_decodes_to_text() {
    let path = |path: &str| check(get(path).header("host", "localhost"));
    for good in [
        "/rooms/%C3%A9",
        "/a%2fb",
        "/%F0%9F%8F%9B",
        "/?%ff",
        "/a%00b",
    ] {
        assert_eq!(path(good), Ok(()), "{good}");
    }
    for bad in [
        "/%ff",
        "/%C3",
        "/%c0%af",
        "/%ed%a0%80",
        "/%",
        "/%2",
        "/%zz",
        "/%+1",
    ] {
        assert_eq!(path(bad), Err(GuardRefusal::PathEncoding), "{bad}");
    }
}

#[test]
fn a_target_has_its_limit() {
    let target = |bytes: usize| {
        check(get(&format!("/{}", "a".repeat(bytes - 1))).header("host", "localhost"))
    };
    assert_eq!(target(TARGET_BYTES_MAX), Ok(()));
    assert_eq!(
        target(TARGET_BYTES_MAX + 1),
        Err(GuardRefusal::TargetTooLong)
    );
    assert_eq!(target(60_000), Err(GuardRefusal::TargetTooLong));
}

#[test]
fn headers_have_their_limits() {
    let lines = |count: usize| {
        let host = get("/").header("host", "localhost");
        check((1..count).fold(host, |request, at| request.header(format!("x-{at}"), "v")))
    };
    assert_eq!(lines(HEADERS_MAX), Ok(()));
    assert_eq!(lines(HEADERS_MAX + 1), Err(GuardRefusal::HeadersTooLarge));
    let bytes = |count: usize| {
        let spent = "host: localhost\r\n".len() + "x: \r\n".len();
        check(
            get("/")
                .header("host", "localhost")
                .header("x", "v".repeat(count - spent)),
        )
    };
    assert_eq!(bytes(HEADERS_BYTES_MAX), Ok(()));
    assert_eq!(
        bytes(HEADERS_BYTES_MAX + 1),
        Err(GuardRefusal::HeadersTooLarge)
    );
}

#[test]
fn the_first_failing_check_answers() {
    let foreign = || get("/%ff").header("origin", "http://evil.test");
    let evil = foreign().header("host", "evil.test");
    assert_eq!(check(evil), Err(GuardRefusal::PathEncoding));
    let evil = get("/")
        .header("host", "evil.test")
        .header("origin", "null");
    assert_eq!(check(evil), Err(GuardRefusal::HostNotAllowed));
    let evil = get("/")
        .header("host", "localhost")
        .header("origin", "null");
    assert_eq!(check(evil), Err(GuardRefusal::OriginNotAllowed));
}

#[test]
fn what_comes_through_a_preview_is_of_a_foreign_page() {
    for path in ["/", "/api/rooms", "/api/workbench/serve/t/", "/mcp"] {
        let through = get(path)
            .header("host", "localhost")
            .header("via", "1.1 cache, 1.1 guildhall-0198");
        assert_eq!(
            check(through),
            Err(GuardRefusal::CameThroughAPreview),
            "{path}"
        );
        let other = get(path)
            .header("host", "localhost")
            .header("via", "1.1 cache");
        assert_eq!(check(other), Ok(()), "{path}");
    }
}

fn signed(path: &str, mut response: Response<Body>) -> HeaderMap {
    let request = get(path).header("x-request-id", "mine").body(()).unwrap();
    guards().response_policy(&request).apply(&mut response);
    response.headers().clone()
}

#[test]
fn every_answer_carries_the_common_headers() {
    for path in ["/", "/api/rooms"] {
        let headers = signed(path, Response::new(Body::empty()));
        assert_eq!(headers["x-request-id"], "mine");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
    }
}

#[test]
fn api_answers_are_not_stored_unless_they_say_so() {
    assert_eq!(
        signed("/api/rooms", Response::new(Body::empty()))["cache-control"],
        "no-store"
    );
    assert!(!signed("/apian", Response::new(Body::empty())).contains_key("cache-control"));
    let said = Response::builder().header("cache-control", "no-cache");
    assert_eq!(
        signed("/api/rooms", said.body(Body::empty()).unwrap())["cache-control"],
        "no-cache"
    );
}

#[test]
fn api_answers_are_no_part_of_other_pages_unless_they_say_so() {
    let headers = signed("/api/rooms", Response::new(Body::empty()));
    assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
    assert_eq!(headers["content-security-policy"], "frame-ancestors 'self'");
    let said = Response::builder().header("content-security-policy", "sandbox");
    let headers = signed("/api/rooms", said.body(Body::empty()).unwrap());
    assert_eq!(headers["content-security-policy"], "sandbox");
    let headers = signed("/api/workbench/serve/t/", Response::new(Body::empty()));
    assert_eq!(headers["cross-origin-resource-policy"], "cross-origin");
    assert!(
        !signed("/apian", Response::new(Body::empty())).contains_key("content-security-policy")
    );
}

#[test]
fn a_page_with_forms_keeps_its_referrer_policy() {
    let said = Response::builder().header("referrer-policy", "same-origin");
    assert_eq!(
        signed("/", said.body(Body::empty()).unwrap())["referrer-policy"],
        "same-origin"
    );
}

#[tokio::test]
async fn a_refusal_is_the_envelope_however_it_leaves() {
    let response = GuardRefusal::HeadersTooLarge.into_response();
    assert_eq!(response.status(), 431);
    assert_eq!(response.headers()["content-type"], "application/json");
    let body = axum::body::to_bytes(response.into_body(), 1_024)
        .await
        .unwrap();
    let raw = GuardRefusal::HeadersTooLarge.to_bytes(&guards().new_id());
    let raw = String::from_utf8(raw).unwrap();
    let (head, raw_body) = raw.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"),
        "{head}"
    );
    assert!(head.contains("x-request-id: fresh") && head.contains("connection: close"));
    for body in [&body[..], raw_body.as_bytes()] {
        assert_eq!(
            serde_json::from_slice::<Value>(body).unwrap(),
            json!({
                "error": error_catalogue::HEADERS_TOO_LARGE.meaning,
                "code": "HEADERS_TOO_LARGE",
                "details": { "limitBytes": 32_768 },
            })
        );
    }
}

#[test]
fn a_busy_server_says_when_to_come_back() {
    assert_eq!(
        GuardRefusal::Overloaded.into_response().headers()["retry-after"],
        "1"
    );
}
