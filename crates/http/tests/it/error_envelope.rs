//! What bad input gets: one envelope, a plain sentence, nothing changed.

use guildhall_testkit::{TestHall, TestResponse};
use serde_json::{Value, json};

use crate::test_values::wrong_fields;

/// Bytes of a request with this head and body, on a connection that then closes.
pub(crate) fn request(line: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
            .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

#[tokio::test]
async fn an_unknown_address_under_api_is_not_found_in_json() {
    let t = TestHall::open().await;
    for path in [
        "/api",
        "/api/",
        "/api/nothing",
        "/api/rooms/",
        "/api/rooms/x/y",
        "/api//rooms",
        "/api/ROOMS",
        "/api/setting",
        "/api/searches",
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            let ask = t.owner().ask(method, path).header("accept", "text/html");
            assert_eq!(ask.send().await.refused(404, "NOT_FOUND"), Value::Null);
        }
    }
    // The page answers people who follow a link, and nobody else.
    let link = t
        .owner()
        .ask("GET", "/rooms/x")
        .header("accept", "text/html");
    let page = link.send().await;
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, "text/html; charset=utf-8")
    );
    t.owner().get("/rooms/x").await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn a_wrong_method_is_told_the_right_ones() {
    let t = TestHall::open().await;
    for (path, allowed) in [
        ("/api/rooms", "GET,HEAD,POST"),
        ("/api/rooms/x", "GET,HEAD,PATCH"),
        ("/api/rooms/authors/x/handle", "PATCH"),
        ("/api/rooms/x/read-cursor", "GET,HEAD,PUT"),
        ("/api/rooms/x/signals", "POST"),
        ("/api/agents/x", "DELETE,GET,HEAD,PATCH"),
        ("/api/agents/x/tokens/y", "DELETE"),
        ("/api/events", "GET,HEAD"),
        ("/healthz", "GET,HEAD"),
    ] {
        for method in ["OPTIONS", "TRACE", "DELETE", "PUT", "POST", "PATCH", "BREW"] {
            if allowed.split(',').any(|allowed| allowed == method) {
                continue;
            }
            // Also before anybody asks who is calling.
            let answer = t.stranger().ask(method, path).send().await;
            let mut told: Vec<&str> = answer.header("allow").split(',').map(str::trim).collect();
            told.sort_unstable();
            assert_eq!(told.join(","), allowed, "{method} {path}");
            assert!(
                !answer
                    .headers
                    .keys()
                    .any(|name| name.as_str().starts_with("access-control"))
            );
            answer.refused(405, "METHOD_NOT_ALLOWED");
        }
    }
}

#[tokio::test]
async fn a_head_beyond_its_bounds_or_out_of_frame_is_refused_in_json() {
    let t = TestHall::open().await;
    let target =
        |bytes: usize| format!("/api/rooms?x={}", "x".repeat(bytes - "/api/rooms?x=".len()));
    let many = |count: usize| (0..count).fold(String::new(), |all, n| format!("{all}X-{n}: y\r\n"));
    let big = |bytes: usize| format!("X-Big: {}\r\n", "y".repeat(bytes));
    let good = |headers: String| request("GET /api/rooms", &headers, b"");
    let long = |bytes| request(&format!("GET {}", target(bytes)), "", b"");
    for bytes in [good(many(90)), good(big(30_000)), long(8 * 1024)] {
        t.raw(&bytes).await.ok(200);
    }
    let bare = |text: &str| text.as_bytes().to_vec();
    let line = |line: &str| request(line, "", b"");
    for (bytes, status, code, limit) in [
        (
            long(8 * 1024 + 1),
            414,
            "URI_TOO_LONG",
            json!({"limitBytes": 8 * 1024}),
        ),
        (
            long(100_000),
            414,
            "URI_TOO_LONG",
            json!({"limitBytes": 8 * 1024}),
        ),
        (
            good(many(101)),
            431,
            "HEADERS_TOO_LARGE",
            json!({"limitBytes": 32 * 1024}),
        ),
        (
            good(big(33_000)),
            431,
            "HEADERS_TOO_LARGE",
            json!({"limitBytes": 32 * 1024}),
        ),
        (
            good(big(300_000)),
            431,
            "HEADERS_TOO_LARGE",
            json!({"limitBytes": 32 * 1024}),
        ),
        (line("GET /api/rooms/%"), 400, "BAD_REQUEST", Value::Null),
        (line("GET /api/rooms/%zz"), 400, "BAD_REQUEST", Value::Null),
        (line("GET /api/rooms/%ff"), 400, "BAD_REQUEST", Value::Null),
        (
            line("GET http://elsewhere/api/rooms"),
            400,
            "BAD_REQUEST",
            Value::Null,
        ),
        (
            good("Host: localhost\r\n".to_owned()),
            400,
            "BAD_REQUEST",
            Value::Null,
        ),
        (
            bare("GET /api/rooms HTTP/1.1\r\n\r\n"),
            400,
            "BAD_REQUEST",
            Value::Null,
        ),
        (bare("nonsense\r\n\r\n"), 400, "BAD_REQUEST", Value::Null),
        (
            bare("GET /api/rooms HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
            403,
            "HOST_NOT_ALLOWED",
            Value::Null,
        ),
        (
            good("Origin: https://evil.example\r\n".to_owned()),
            403,
            "ORIGIN_NOT_ALLOWED",
            Value::Null,
        ),
    ] {
        let answer: TestResponse = t.raw(&bytes).await;
        assert_eq!(answer.refused(status, code), limit);
    }
}

#[tokio::test]
async fn ids_that_cannot_exist_are_not_found_and_never_a_fault() {
    let t = TestHall::open().await;
    let long = "x".repeat(300);
    for id in [
        "x",
        "0",
        "%20",
        "..%2f..",
        "%F0%9F%98%80",
        "null",
        "-1",
        &long,
        "'%20OR%201=1",
    ] {
        for (path, code) in [
            (format!("/api/rooms/{id}"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/{id}/entries"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/{id}/entries/{id}"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/{id}/members"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/{id}/read-cursor"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/{id}/events"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/authors/{id}"), "AUTHOR_NOT_FOUND"),
            (
                format!("/api/rooms/authors/{id}/handles"),
                "AUTHOR_NOT_FOUND",
            ),
            (format!("/api/agents/{id}"), "AGENT_NOT_FOUND"),
            (format!("/api/agents/{id}/tokens"), "AGENT_NOT_FOUND"),
        ] {
            t.owner().get(&path).await.refused(404, code);
        }
    }
    // An id has one written form.
    let me = t.owner().author().to_uppercase();
    let path = format!("/api/rooms/authors/{me}");
    t.owner().get(&path).await.refused(404, "AUTHOR_NOT_FOUND");
}

#[tokio::test]
async fn queries_that_cannot_be_read_are_refused() {
    let t = TestHall::open().await;
    let team = t.team().await;
    let entries = format!("/api/rooms/{team}/entries");
    for (path, field) in [
        ("/api/rooms?kind=thread".to_owned(), "kind"),
        ("/api/rooms?kind=dm&kind=dm".to_owned(), "kind"),
        (
            "/api/agents?includeRetired=yes".to_owned(),
            "includeRetired",
        ),
        (
            "/api/rooms/authors?includeRetired=2".to_owned(),
            "includeRetired",
        ),
        ("/api/rooms/authors?kind=robot".to_owned(), "kind"),
        ("/api/rooms/authors?limit=0".to_owned(), "limit"),
        ("/api/rooms/authors?limit=201".to_owned(), "limit"),
        ("/api/rooms/authors?cursor=x".to_owned(), "cursor"),
        (format!("{entries}?limit=x"), "limit"),
        (format!("{entries}?after=-1"), "after"),
        (format!("{entries}?before=1.5"), "before"),
        (format!("{entries}?before=1&before=2"), "before"),
        ("/api/events?after=x".to_owned(), "after"),
        ("/api/events?scope=everything".to_owned(), "scope"),
    ] {
        let details = t.owner().get(&path).await.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), [field], "{path}");
    }
    for path in [
        "/api/rooms?kind=",
        "/api/rooms?unknown=1&unknown=2",
        "/api/rooms/authors?limit=",
    ] {
        t.owner().get(path).await.ok(200);
    }
}
