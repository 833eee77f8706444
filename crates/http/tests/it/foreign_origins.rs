//! Pages of other origins and names of other hosts: neither a byte read nor a byte written.
//! Source: contract 1.3. The lists of names and origins themselves are proven in the crate.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

/// Every address of the interface that somebody is let in to, with its methods, ids filled in with
/// something.
fn addresses() -> Vec<(String, String)> {
    let document = guildhall_http::openapi::json();
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let parts = path
            .split('/')
            .map(|part| if part.starts_with('{') { "x" } else { part });
        let path = parts.collect::<Vec<&str>>().join("/");
        for (method, operation) in item.as_object().unwrap() {
            // A served folder is for whoever has its address, from wherever they come.
            if operation["x-gate"] != "url-token" {
                all.push((method.to_uppercase(), path.clone()));
            }
        }
    }
    all.extend(
        ["/", "/docs", "/rooms/x", "/api/none"].map(|path| ("GET".to_owned(), path.to_owned())),
    );
    all
}

#[tokio::test]
async fn no_address_answers_a_foreign_page_or_under_a_foreign_name() {
    let t = TestHall::open().await;
    let team = t.team().await;
    let before = t.rows();
    let host = "Host: localhost:4747";
    for (heads, code) in [
        ("Host: evil.example", "HOST_NOT_ALLOWED"),
        ("Host: localhost.", "HOST_NOT_ALLOWED"),
        ("Host: localhost.evil.example", "HOST_NOT_ALLOWED"),
        ("Host: 0.0.0.0", "HOST_NOT_ALLOWED"),
        ("Host: localhost:0", "HOST_NOT_ALLOWED"),
        (&format!("{host}\r\nOrigin: null"), "ORIGIN_NOT_ALLOWED"),
        (
            &format!("{host}\r\nOrigin: https://evil.example"),
            "ORIGIN_NOT_ALLOWED",
        ),
        (
            &format!("{host}\r\nOrigin: http://localhost:5173"),
            "ORIGIN_NOT_ALLOWED",
        ),
        (
            &format!("{host}\r\nOrigin: http://localhost:4747\r\nOrigin: http://localhost:4747"),
            "ORIGIN_NOT_ALLOWED",
        ),
        (
            &format!("{host}\r\nSec-Fetch-Site: cross-site"),
            "ORIGIN_NOT_ALLOWED",
        ),
        (
            &format!("{host}\r\nSec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors"),
            "ORIGIN_NOT_ALLOWED",
        ),
    ] {
        for (method, path) in addresses() {
            let request =
                format!("{method} {path} HTTP/1.1\r\n{heads}\r\nConnection: close\r\n\r\n");
            let answer = t.raw(request.as_bytes()).await;
            assert_eq!(answer.refused(403, code), Value::Null, "{method} {path}");
        }
    }
    // What a form of another page would send: refused before it is looked at.
    let body = json!({"text": "forged"}).to_string();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json",
    ] {
        let request = format!(
            "POST /api/rooms/{team}/entries HTTP/1.1\r\n{host}\r\nOrigin: https://evil.example\r\n\
             Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len(),
        );
        t.raw(request.as_bytes())
            .await
            .refused(403, "ORIGIN_NOT_ALLOWED");
    }
    // A link leads to the page and to nothing else.
    let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document";
    for (path, status) in [
        ("/", 200),
        ("/rooms/x", 200),
        ("/api/rooms", 403),
        ("/docs", 403),
    ] {
        let request =
            format!("GET {path} HTTP/1.1\r\n{host}\r\n{link}\r\nConnection: close\r\n\r\n");
        assert_eq!(t.raw(request.as_bytes()).await.status, status, "{path}");
    }
    assert_eq!(t.rows(), before);
    // The page itself is let in.
    let request = format!(
        "GET /api/rooms HTTP/1.1\r\n{host}\r\nOrigin: http://LOCALHOST:4747\r\nSec-Fetch-Site: same-origin\r\nConnection: close\r\n\r\n"
    );
    t.raw(request.as_bytes()).await.ok(200);
}
