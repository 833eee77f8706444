//! Bodies: what is no JSON for us, what is too large, and what is wrong with the rest.
//! Source: contract 1.1, 1.2, 1.11.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::{error_envelope::request, test_values::wrong_fields};

#[tokio::test]
async fn a_body_that_is_no_json_for_us_is_refused_and_changes_nothing() {
    let t = TestHall::open().await;
    let mut events = t.events();
    let deep = format!("{{\"handle\":{}{}}}", "[".repeat(128), "]".repeat(128));
    let fits = format!(
        "{{\"handle\":\"ada\",\"more\":{}{}}}",
        "[".repeat(120),
        "]".repeat(120)
    );
    let many = format!(
        "{{\"handle\":\"ada\",\"more\":[{}0]}}",
        "{},".repeat(40_000)
    );
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
        many.as_bytes(),
    ] {
        assert_eq!(
            send(json, body).await.refused(400, "INVALID_JSON"),
            Value::Null
        );
    }
    for body in ["[]", "null", "\"ada\"", "7", "true"] {
        let details = send(json, body.as_bytes())
            .await
            .refused(400, "VALIDATION_FAILED");
        assert_eq!(details["fieldErrors"], json!({}));
        assert_eq!(details["formErrors"].as_array().unwrap().len(), 1);
    }
    for body in [
        "{}",
        "",
        "{\"handle\":null}",
        "{\"handle\":7}",
        "{\"Handle\":\"ada\"}",
    ] {
        let details = send(json, body.as_bytes())
            .await
            .refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), ["handle"], "{body}");
    }
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "",
        "json",
    ] {
        let answer = send(kind, b"{\"handle\":\"ada\"}").await;
        answer.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    }
    // The media type is looked at before the size.
    let large = send("text/plain", &[b' '; 2_000_000]).await;
    large.refused(415, "UNSUPPORTED_MEDIA_TYPE");
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
        (
            "POST",
            format!("/api/agents/{team}/tokens"),
            json!({"label": "l".repeat(81)}),
            vec!["label"],
        ),
        (
            "POST",
            format!("/api/rooms/{team}/entries"),
            json!({"text": ""}),
            vec!["text"],
        ),
        // What this version cannot do is refused and not left out.
        (
            "POST",
            format!("/api/rooms/{team}/entries"),
            json!({"text": "x", "threadRootEntryId": 1, "attachmentIds": ["x", 1]}),
            vec!["attachmentIds.1", "threadRootEntryId"],
        ),
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
        let details = owner
            .post("/api/agents", body)
            .await
            .refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), [field]);
    }
    for field in ["title", "topic"] {
        let mut body = json!({"kind": "channel", "title": "x"});
        body[field] = "a\0b".into();
        let details = owner
            .post("/api/rooms", body)
            .await
            .refused(400, "VALIDATION_FAILED");
        assert_eq!(wrong_fields(&details), [field]);
    }
    let signal = json!({"kind": "viewing", "on": true, "documentId": "a\0b"});
    let path = format!("/api/rooms/{team}/signals");
    owner
        .post(&path, signal)
        .await
        .refused(400, "VALIDATION_FAILED");
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
        request(
            &format!("POST {path}"),
            &format!("{json}Transfer-Encoding: chunked\r\n"),
            &chunks,
        )
    };
    t.raw(&by_length(padded(most))).await.ok(201);
    t.raw(&chunked(padded(most))).await.ok(201);
    let mut events = t.events();
    for bytes in [
        by_length(padded(most + 1)),
        chunked(padded(most + 1)),
        chunked(padded(3 * most)),
    ] {
        let details = t.raw(&bytes).await.refused(413, "PAYLOAD_TOO_LARGE");
        assert_eq!(details, json!({"limitBytes": most}));
    }
    // A promise is enough to be refused; nobody waits for the bytes.
    let promised = format!("{json}Content-Length: 99999999999\r\n");
    let answer = t
        .raw(&request(&format!("POST {path}"), &promised, b""))
        .await;
    answer.refused(413, "PAYLOAD_TOO_LARGE");
    events.none();
}
