//! What bad input gets: one envelope, a plain sentence, nothing changed.

use guildhall_testkit::{Answer, TestHall, until};
use serde_json::{Value, json};

use crate::shared::{text, wrong_fields};

/// Bytes of a request with this head and body, on a connection that then closes.
fn request(line: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
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
        "/api/settings",
        "/api/search",
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            let ask = t.owner().ask(method, path).header("accept", "text/html");
            assert_eq!(ask.send().await.refused(404, "NOT_FOUND"), Value::Null);
        }
    }
    // The page answers people who follow a link, and nobody else.
    let link = t.owner().ask("GET", "/rooms/x").header("accept", "text/html");
    let page = link.send().await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
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
            assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control")));
            answer.refused(405, "METHOD_NOT_ALLOWED");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_for_us_is_refused_and_changes_nothing() {
    let t = TestHall::open().await;
    let mut events = t.events();
    let deep = format!("{{\"handle\":{}{}}}", "[".repeat(128), "]".repeat(128));
    let fits = format!("{{\"handle\":\"ada\",\"more\":{}{}}}", "[".repeat(120), "]".repeat(120));
    let url = t.owner().handle_url();
    let send = |kind: &str, body: &[u8]| {
        let ask = t.owner().ask("PATCH", &url).header("content-type", kind);
        ask.body(body.to_vec()).send()
    };
    let json = "application/json";
    for body in [
        "{".as_bytes(),
        b"{\"handle\":\"ada\"} x",
        b"{'handle':'ada'}",
        b"{\"handle\":\"ada\",\"handle\":\"bob\"}",
        b"{\"handle\":\"ada\",\"more\":{\"a\":1,\"a\":1}}",
        b"{\"handle\":\"\\ud800\"}",
        b"{\"handle\":\"\xff\"}",
        b"\xef\xbb\xbf{\"handle\":\"ada\"}",
        b"handle=ada",
        deep.as_bytes(),
    ] {
        assert_eq!(send(json, body).await.refused(400, "INVALID_JSON"), Value::Null);
    }
    for body in ["[]", "null", "\"ada\"", "7", "true"] {
        let details = send(json, body.as_bytes()).await.refused(400, "VALIDATION_FAILED");
        assert_eq!(details["fieldErrors"], json!({}));
        assert_eq!(details["formErrors"].as_array().unwrap().len(), 1);
    }
    for body in ["{}", "", "{\"handle\":null}", "{\"handle\":7}", "{\"Handle\":\"ada\"}"] {
        let details = send(json, body.as_bytes()).await.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), ["handle"], "{body}");
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "", "json"] {
        let answer = send(kind, b"{\"handle\":\"ada\"}").await;
        answer.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    }
    let bare = t.owner().ask("PATCH", &url).body("{\"handle\":\"ada\"}");
    bare.send().await.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    events.none();

    for kind in ["application/json", "Application/JSON; charset=utf-8"] {
        send(kind, fits.as_bytes()).await.ok(200);
    }
}

#[tokio::test]
async fn everything_wrong_with_a_request_is_told_at_once() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let team = t.team().await;
    for (method, path, body, wrong) in [
        (
            "POST",
            "/api/rooms".to_owned(),
            json!({"kind": "thread", "title": 1, "memberIds": [1, "x"], "agentIds": "x"}),
            vec!["agentIds", "kind", "memberIds.0", "title"],
        ),
        (
            "POST",
            "/api/rooms".to_owned(),
            json!({"kind": "channel", "title": "t".repeat(201), "topic": "t".repeat(501),
                "memberIds": vec!["x"; 101], "agentIds": vec!["x"; 51]}),
            vec!["agentIds", "memberIds", "title", "topic"],
        ),
        (
            "PATCH",
            format!("/api/rooms/{team}"),
            json!({"archived": "yes", "ambientMaxEntries": -1, "maxAgentDepth": 1.5,
                "maxTurnsPerAgentPerCascade": "9", "turnLimitsEnabled": 1}),
            vec![
                "ambientMaxEntries",
                "archived",
                "maxAgentDepth",
                "maxTurnsPerAgentPerCascade",
                "turnLimitsEnabled",
            ],
        ),
        (
            "POST",
            "/api/agents".to_owned(),
            json!({"name": "", "cwd": "here", "description": "d".repeat(501), "model": "a\nb"}),
            vec!["cwd", "description", "model", "name"],
        ),
        (
            "PATCH",
            owner.author_url(),
            json!({"displayName": "", "color": "red", "imageUrl": "http://x", "emoji": 1}),
            vec!["emoji"],
        ),
        (
            "PATCH",
            owner.author_url(),
            json!({"displayName": "", "color": "red", "imageUrl": "javascript:alert(1)"}),
            vec!["color", "displayName", "imageUrl"],
        ),
        (
            "PUT",
            format!("/api/rooms/{team}/read-cursor"),
            json!({"lastReadSeq": -1, "allowBack": "no"}),
            vec!["allowBack", "lastReadSeq"],
        ),
        (
            "POST",
            format!("/api/rooms/{team}/signals"),
            json!({"kind": "working", "on": 1}),
            vec!["kind", "on"],
        ),
        ("POST", format!("/api/agents/{team}/tokens"), json!({"label": "l".repeat(81)}), vec!["label"]),
        ("POST", format!("/api/rooms/{team}/entries"), json!({"text": ""}), vec!["text"]),
    ] {
        let before = t.rows();
        let answer = owner.ask(method, &path).json(&body).send().await;
        let details = answer.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), wrong, "{method} {path}");
        for told in details["fieldErrors"].as_object().unwrap().values() {
            assert!(!told.as_array().unwrap().is_empty() && told[0].is_string());
        }
        assert_eq!(t.rows(), before, "{method} {path}");
    }
}

#[tokio::test]
async fn the_character_u_0000_is_in_no_text() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let team = t.team().await;
    let before = t.rows();
    for (method, path, field) in [
        ("POST", format!("/api/rooms/{team}/entries"), "text"),
        ("PATCH", format!("/api/rooms/{team}"), "title"),
        ("PATCH", format!("/api/rooms/{team}"), "topic"),
        ("PATCH", owner.author_url(), "displayName"),
        ("PATCH", owner.author_url(), "emoji"),
        ("PATCH", owner.author_url(), "imageUrl"),
        ("PATCH", owner.handle_url(), "handle"),
        ("POST", format!("/api/agents/{team}/tokens"), "label"),
    ] {
        let body = json!({field: "a\0b"});
        let answer = owner.ask(method, &path).json(&body).send().await;
        let details = answer.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), [field], "{method} {path}");
    }
    for field in ["name", "cwd", "description", "model", "effort"] {
        let mut body = json!({"name": "x", "cwd": t.folder("x"), "runtime": "rehearsal"});
        body[field] = "/a\0b".into();
        let details = owner.post("/api/agents", body).await.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), [field]);
    }
    for field in ["title", "topic"] {
        let mut body = json!({"kind": "channel", "title": "x"});
        body[field] = "a\0b".into();
        let details = owner.post("/api/rooms", body).await.refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), [field]);
    }
    let signal = json!({"kind": "viewing", "on": true, "documentId": "a\0b"});
    let path = format!("/api/rooms/{team}/signals");
    owner.post(&path, signal).await.refused(400, "VALIDATION_FAILED");
    owner
        .get("/api/rooms/authors?q=a%00b")
        .await
        .refused(400, "VALIDATION_FAILED");
    assert_eq!(t.rows(), before);
}

#[tokio::test]
async fn a_body_has_at_most_one_mebibyte_however_it_comes() {
    let t = TestHall::open().await;
    let team = t.team().await;
    let path = format!("/api/rooms/{team}/entries");
    let most = 1024 * 1024;
    let padded = |bytes: usize| {
        let body = "{\"text\":\"hello\"}";
        format!("{body}{}", " ".repeat(bytes - body.len()))
    };
    let json = "Content-Type: application/json\r\n";
    let by_length = |body: String| {
        let headers = format!("{json}Content-Length: {}\r\n", body.len());
        request(&format!("POST {path}"), &headers, body.as_bytes())
    };
    let chunked = |body: String| {
        let mut chunks = Vec::new();
        for chunk in body.as_bytes().chunks(60_000) {
            chunks.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
            chunks.extend(chunk);
            chunks.extend(b"\r\n");
        }
        chunks.extend(b"0\r\n\r\n");
        request(&format!("POST {path}"), &format!("{json}Transfer-Encoding: chunked\r\n"), &chunks)
    };
    t.raw(&by_length(padded(most))).await.ok(201);
    t.raw(&chunked(padded(most))).await.ok(201);
    let mut events = t.events();
    for bytes in [by_length(padded(most + 1)), chunked(padded(most + 1)), chunked(padded(3 * most))] {
        let details = t.raw(&bytes).await.refused(413, "PAYLOAD_TOO_LARGE");
        assert_eq!(details, json!({"limitBytes": most}));
    }
    // A promise is enough to be refused; nobody waits for the bytes.
    let promised = format!("{json}Content-Length: 99999999999\r\n");
    let answer = t.raw(&request(&format!("POST {path}"), &promised, b"")).await;
    answer.refused(413, "PAYLOAD_TOO_LARGE");
    events.none();
}

#[tokio::test]
async fn a_head_beyond_its_bounds_or_out_of_frame_is_refused_in_json() {
    let t = TestHall::open().await;
    let target = |bytes: usize| format!("/api/rooms?x={}", "x".repeat(bytes - "/api/rooms?x=".len()));
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
        (long(8 * 1024 + 1), 414, "URI_TOO_LONG", json!({"limitBytes": 8 * 1024})),
        (long(100_000), 414, "URI_TOO_LONG", json!({"limitBytes": 8 * 1024})),
        (good(many(101)), 431, "HEADERS_TOO_LARGE", json!({"limitBytes": 32 * 1024})),
        (good(big(33_000)), 431, "HEADERS_TOO_LARGE", json!({"limitBytes": 32 * 1024})),
        (good(big(300_000)), 431, "HEADERS_TOO_LARGE", json!({"limitBytes": 32 * 1024})),
        (line("GET /api/rooms/%"), 400, "BAD_REQUEST", Value::Null),
        (line("GET /api/rooms/%zz"), 400, "BAD_REQUEST", Value::Null),
        (line("GET /api/rooms/%ff"), 400, "BAD_REQUEST", Value::Null),
        (line("GET http://elsewhere/api/rooms"), 400, "BAD_REQUEST", Value::Null),
        (good("Host: localhost\r\n".to_owned()), 400, "BAD_REQUEST", Value::Null),
        (bare("GET /api/rooms HTTP/1.1\r\n\r\n"), 400, "BAD_REQUEST", Value::Null),
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
        let answer: Answer = t.raw(&bytes).await;
        assert_eq!(answer.refused(status, code), limit);
    }
}

#[tokio::test]
async fn ids_that_cannot_exist_are_not_found_and_never_a_fault() {
    let t = TestHall::open().await;
    let long = "x".repeat(300);
    for id in ["x", "0", "%20", "..%2f..", "%F0%9F%98%80", "null", "-1", &long, "'%20OR%201=1"] {
        for (path, code) in [
            (format!("/api/rooms/{id}"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/{id}/entries"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/{id}/entries/{id}"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/{id}/members"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/{id}/read-cursor"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/{id}/events"), "ROOM_NOT_FOUND"),
            (format!("/api/rooms/authors/{id}"), "AUTHOR_NOT_FOUND"),
            (format!("/api/rooms/authors/{id}/handles"), "AUTHOR_NOT_FOUND"),
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
        ("/api/agents?includeRetired=yes".to_owned(), "includeRetired"),
        ("/api/rooms/authors?includeRetired=2".to_owned(), "includeRetired"),
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
    for path in ["/api/rooms?kind=", "/api/rooms?unknown=1&unknown=2", "/api/rooms/authors?limit="] {
        t.owner().get(path).await.ok(200);
    }
}

#[tokio::test]
async fn every_answer_carries_an_id_and_is_kept_by_nobody() {
    let t = TestHall::open().await;
    let ask = |id: &str| t.owner().ask("GET", "/api/rooms").header("x-request-id", id);
    let longest = "a".repeat(64);
    for id in ["mine", "A.b_c-9", longest.as_str()] {
        assert_eq!(ask(id).send().await.header("x-request-id"), id);
    }
    let too_long = "a".repeat(65);
    for id in ["", "a b", "a/b", "é", too_long.as_str()] {
        let given = ask(id).send().await;
        let given = given.header("x-request-id");
        assert_eq!((given.len(), &given[14..15]), (36, "7"), "{id:?} {given}");
    }
    for path in ["/api/rooms", "/api/none", "/healthz", "/docs", "/"] {
        let answer = t.owner().get(path).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
        let foreign = |name: &str| name.starts_with("access-control");
        assert!(!answer.headers.keys().any(|name| foreign(name.as_str())), "{path}");
    }
    assert_eq!(t.owner().get("/api/rooms").await.header("cache-control"), "no-store");
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let team = t.team().await;
    let entry = text(&t.say(&t.owner(), &team, "hello").await["id"]);
    for caller in [t.owner(), ada.clone(), t.unverifiable(), t.stranger()] {
        for path in [
            "/api/rooms",
            "/api/rooms/x",
            "/api/none",
            "/api/rooms?kind=x",
            &format!("/api/rooms/{team}"),
            &format!("/api/rooms/{team}/entries"),
            &format!("/api/rooms/{team}/entries/{entry}"),
            &format!("/api/rooms/{team}/members"),
            &format!("/api/rooms/{team}/read-cursor"),
            &format!("/api/rooms/{team}/events"),
            "/api/events",
            "/api/rooms/authors",
            "/api/rooms/authors/me",
            "/api/agents",
            &format!("/api/agents/{}/tokens", ada.agent()),
            "/api/auth/whoami",
            "/api/health",
            "/healthz",
            "/readyz",
            "/metrics",
            "/docs",
            "/",
        ] {
            let (get, head) = (caller.get(path).await, caller.head(path).await);
            assert_eq!(head.status, get.status, "{path}");
            assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
            assert_eq!(head.header("x-event-seq"), get.header("x-event-seq"), "{path}");
            assert!(head.bytes.is_empty(), "{path}: {}", head.text());
        }
    }
    until("the end of every stream", || t.hall().streams_open() == 0).await;
}

#[tokio::test]
async fn reading_changes_nothing_and_says_where_it_read() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let team = t.team().await;
    let entry = text(&t.say(&ada, &team, "hello").await["id"]);
    let before = t.rows();
    let newest = t.events().place().to_string();
    let (me, agent) = (ada.author(), ada.agent());
    for caller in [t.owner(), ada.clone()] {
        for path in [
            "/api/rooms".to_owned(),
            "/api/rooms?includeArchived=true&kind=channel".to_owned(),
            format!("/api/rooms/{team}"),
            format!("/api/rooms/{team}/members"),
            format!("/api/rooms/{team}/entries?limit=1"),
            format!("/api/rooms/{team}/entries/{entry}"),
            "/api/rooms/authors".to_owned(),
            "/api/rooms/authors/me".to_owned(),
            format!("/api/rooms/authors/{me}"),
            "/api/agents".to_owned(),
            format!("/api/agents/{agent}"),
        ] {
            let answer = caller.get(&path).await;
            assert_eq!(answer.header("x-event-seq"), newest, "{path}");
            answer.ok(200);
        }
    }
    for path in [
        format!("/api/rooms/authors/{me}/handles"),
        format!("/api/rooms/{team}/read-cursor"),
        format!("/api/agents/{agent}/tokens"),
    ] {
        let answer = t.owner().get(&path).await;
        assert_eq!(answer.header("x-event-seq"), newest, "{path}");
        answer.ok(200);
    }
    t.stream(&ada, "/api/events", None).await.expect("snapshot").await;
    for path in ["/api/auth/whoami", "/api/health", "/readyz", "/metrics", "/docs", "/"] {
        assert_eq!(t.owner().get(path).await.status, 200, "{path}");
    }
    assert_eq!(t.rows(), before);
}

#[tokio::test]
async fn health_and_readiness_say_what_runs_and_details_only_to_the_owner() {
    let mut t = TestHall::open().await;
    for caller in [t.owner(), t.stranger(), t.unverifiable()] {
        assert_eq!(caller.get("/healthz").await.ok(200), json!({"status": "ok"}));
        let checks = json!({"store": "ok", "disk": "ok", "tasks": "ok"});
        let ready = json!({"status": "ready", "checks": checks});
        assert_eq!(caller.get("/readyz").await.ok(200), ready);
    }
    let health = t.stranger().get("/api/health").await.ok(200);
    let expected = json!({
        "name": "guildhall", "version": "0.0.0-test", "mode": "local", "setupRequired": false,
        "logId": health["logId"], "startedAt": "2026-09-21T14:13:20.000Z", "peerCheck": "on",
    });
    assert_eq!(health, expected);
    t.begin_to_stop();
    let draining = t.stranger().get("/readyz").await.ok(503);
    assert_eq!(draining["status"], "draining");
    t.owner().get("/api/events").await.refused(503, "SHUTTING_DOWN");
    t.restart().await;
    let again = t.stranger().get("/api/health").await.ok(200);
    assert_eq!(again["logId"], health["logId"], "one log for the life of the installation");
}
