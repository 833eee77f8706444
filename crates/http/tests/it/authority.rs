//! Who may call what: the table in `authority.tsv` against the running door.

use std::collections::BTreeSet;

use guildhall_testkit::{Caller, TestHall};
use serde_json::{Value, json};

use crate::canvas;

const TABLE: &str = include_str!("../authority.tsv");
/// An id that names nothing.
const NOTHING: &str = "01980000-0000-7000-8000-000000000000";
/// Routes of pages, which are no operations of the interface.
const PAGES: [&str; 4] = ["/", "/assets/{path}", "/docs", "/docs/errors/{code}"];

struct Row<'a> {
    method: &'a str,
    path: &'a str,
    gate: &'a str,
    cells: Vec<&'a str>,
}

fn rows() -> Vec<Row<'static>> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut columns = line.split('\t');
            let mut next = || columns.next().expect(line);
            let (method, path, gate) = (next(), next(), next());
            let cells: Vec<&str> = columns.collect();
            assert_eq!(cells.len(), 5, "{line}");
            Row {
                method,
                path,
                gate,
                cells,
            }
        })
        .collect()
}

fn document() -> Value {
    guildhall_http::openapi::json()
}

#[test]
fn every_operation_has_a_row_with_its_gate_and_no_row_stands_for_nothing() {
    let document = document();
    let mut operations = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let gate = operation["x-gate"].as_str().expect(path);
            operations.insert((method.to_uppercase(), path.clone(), gate.to_owned()));
        }
    }
    for page in PAGES {
        operations.insert(("GET".to_owned(), page.to_owned(), "open".to_owned()));
    }
    let named = |row: &Row<'_>| {
        (
            row.method.to_owned(),
            row.path.to_owned(),
            row.gate.to_owned(),
        )
    };
    let listed: BTreeSet<_> = rows().iter().map(named).collect();
    assert_eq!(listed.len(), rows().len(), "each row stands once");
    assert_eq!(listed, operations);
}

/// The row's path with ids of things that exist; the last one of a DELETE names nothing, so
/// that the table changes nothing.
fn address(row: &Row<'_>, room: &str, entry: &str, page: &str, ada: &Caller) -> String {
    let is_agents = row.path.starts_with("/api/agents");
    let id = if is_agents { ada.agent() } else { room };
    let mut path = row.path.to_owned();
    if row.method == "DELETE" {
        let last = path.rfind('{').unwrap();
        path.replace_range(last.., NOTHING);
    }
    path.replace("{id}", id)
        .replace("{authorId}", ada.author())
        .replace("{entryId}", entry)
        .replace("{documentId}", page)
        .replace("{code}", "NOT_FOUND")
        .replace("{path}", "none.js")
}

#[tokio::test]
async fn every_kind_of_caller_gets_what_the_table_says() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let room = t.team().await;
    let entry = t.say(&t.owner(), &room, "hello").await;
    let entry = entry["id"].as_str().unwrap();
    // Its thread has begun, so that asking for it once more changes nothing.
    let page = canvas::open(&t.owner(), &room, 1).await;
    let thread = format!("{}/thread", canvas::at(&room, &page));
    t.owner().post(&thread, json!({})).await.ok(201);
    let page = page["id"].as_str().unwrap();
    let document = document();
    let callers = [
        ("another user", t.stranger()),
        ("owner", t.owner()),
        ("live agent", ada.clone()),
        ("unverifiable header", t.unverifiable()),
        (
            "owner elsewhere",
            t.owner().with("x-forwarded-for", "203.0.113.7"),
        ),
    ];
    let before = t.rows();
    let mut wrong = Vec::new();
    for row in rows() {
        let path = address(&row, &room, entry, page, &ada);
        let operation = &document["paths"][row.path][row.method.to_lowercase()];
        let has_body = operation["requestBody"].is_object();
        for ((kind, caller), expected) in callers.iter().zip(&row.cells) {
            let mut ask = caller.ask(row.method, &path);
            if has_body {
                ask = ask.json(&json!(["no", "object"]));
            }
            let answer = ask.send().await;
            if answer.status >= 400 {
                answer.is_an_envelope();
            }
            let code = answer.body["code"].as_str();
            let found = match code.filter(|_| answer.status >= 400) {
                Some(code) => format!("{} {code}", answer.status),
                None => answer.status.to_string(),
            };
            if found != *expected {
                wrong.push(format!(
                    "{} {path} as {kind}: {expected}, not {found}",
                    row.method
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // An agent's first request writes when its token was used; nothing else was written.
    let untouched = |rows: &str| -> Vec<String> {
        let others = rows.lines().filter(|row| !row.starts_with("tokens\t"));
        others.map(str::to_owned).collect()
    };
    assert_eq!(untouched(&t.rows()), untouched(&before));
}

#[tokio::test]
async fn whom_the_kernel_does_not_know_is_nobody_even_with_a_live_token() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let hidden = t.nobody_knows();
    let with_token = hidden.clone().showing(ada.token());
    for nobody in [&hidden, &with_token] {
        nobody.get("/api/rooms").await.refused(401, "NOT_THE_OWNER");
        let who = nobody.get("/api/auth/whoami").await.ok(200);
        assert_eq!(who["caller"], Value::Null);
    }
}

#[tokio::test]
async fn a_credential_that_was_shown_and_failed_never_falls_through_to_a_weaker_rule() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let bob = t.agent("bob").await;
    let unknown = format!("gha_{}", "y".repeat(43));
    let bearer = |token: &str| format!("Bearer {token}");
    let (unverified, required) = ("AGENT_IDENTITY_UNVERIFIED", "AUTH_REQUIRED");
    let agent_header = "x-service-agent";
    for (headers, code, challenge) in [
        (
            vec![(agent_header, String::new())],
            unverified,
            "ServiceAgent",
        ),
        (
            vec![(agent_header, "  ".to_owned())],
            unverified,
            "ServiceAgent",
        ),
        (
            vec![(agent_header, "nonsense".to_owned())],
            unverified,
            "ServiceAgent",
        ),
        (
            vec![(agent_header, unknown.clone())],
            unverified,
            "ServiceAgent",
        ),
        (
            vec![(agent_header, "gha_ü".to_owned())],
            unverified,
            "ServiceAgent",
        ),
        (
            vec![
                (agent_header, ada.token().to_owned()),
                (agent_header, ada.token().to_owned()),
            ],
            unverified,
            "ServiceAgent",
        ),
        (
            vec![
                (agent_header, ada.token().to_owned()),
                ("authorization", bearer(bob.token())),
            ],
            unverified,
            "ServiceAgent",
        ),
        (
            vec![("authorization", bearer(&unknown))],
            unverified,
            "ServiceAgent",
        ),
        (
            vec![("authorization", bearer("ghk_unknown"))],
            required,
            "Bearer",
        ),
        (
            vec![("authorization", "Basic b3duZXI6".to_owned())],
            required,
            "Bearer",
        ),
        (vec![("authorization", String::new())], required, "Bearer"),
    ] {
        let ask = |method, path: &str| {
            let ask = t.owner().ask(method, path);
            headers
                .iter()
                .fold(ask, |ask, (name, value)| ask.header(name, value))
        };
        for path in [
            "/api/rooms",
            "/api/events",
            "/metrics",
            "/api/agents/x/tokens",
        ] {
            let answer = ask("GET", path).send().await;
            let expected = format!("{challenge} realm=\"guildhall\"");
            assert_eq!(answer.header("www-authenticate"), expected, "{headers:?}");
            answer.refused(401, code);
        }
        let who = ask("GET", "/api/auth/whoami").send().await.ok(200);
        assert_eq!(who["caller"], Value::Null, "{headers:?}");
        ask("GET", "/api/health").send().await.ok(200);
    }
}

#[tokio::test]
async fn a_live_token_names_its_agent_in_either_header_and_from_any_user_of_this_computer() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let bearer = format!("bearer {}", ada.token());
    let expected = json!({
        "mode": "local",
        "caller": {
            "kind": "agent",
            "authorId": ada.author(),
            "displayName": "ada",
            "credential": "agent-token",
        },
        "ownerHere": false,
        "registrationOpen": false,
    });
    for caller in [
        ada.clone(),
        t.owner().with("authorization", &bearer),
        ada.clone().with("authorization", &bearer),
        t.stranger().showing(ada.token()),
    ] {
        assert_eq!(caller.get("/api/auth/whoami").await.ok(200), expected);
    }
}

#[tokio::test]
async fn the_owner_is_here_only_without_a_proxy_between() {
    let t = TestHall::open().await;
    let me = t.owner().get("/api/rooms/authors/me").await.ok(200);
    let seen = |here: bool| {
        json!({
            "mode": "local",
            "caller": {
                "kind": "owner",
                "authorId": t.owner().author(),
                "displayName": me["displayName"],
                "credential": "loopback",
            },
            "ownerHere": here,
            "registrationOpen": false,
        })
    };
    let who = "/api/auth/whoami";
    assert_eq!(t.owner().get(who).await.ok(200), seen(true));
    for name in [
        "forwarded",
        "x-forwarded-for",
        "x-forwarded-proto",
        "x-real-ip",
        "via",
    ] {
        let elsewhere = t.owner().with(name, "203.0.113.7");
        assert_eq!(elsewhere.get(who).await.ok(200), seen(false), "{name}");
    }
    let nobody = json!({
        "mode": "local", "caller": null, "ownerHere": false, "registrationOpen": false,
    });
    for somebody in [t.stranger(), t.unverifiable(), t.nobody_knows()] {
        assert_eq!(somebody.get(who).await.ok(200), nobody);
    }
}

#[tokio::test]
async fn metrics_are_for_the_owner_and_the_holder_of_the_metrics_token() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    for watcher in [t.owner(), t.watcher()] {
        let answer = watcher.get("/metrics").await;
        assert_eq!(
            answer.header("content-type").split(';').next(),
            Some("text/plain")
        );
        let metrics = answer.text();
        assert!(metrics.contains("# TYPE"), "{metrics}");
        for secret in [ada.agent(), ada.author(), ada.token(), "/api/rooms/0"] {
            assert!(!metrics.contains(secret), "{secret} in {metrics}");
        }
    }
    let wrong = t.stranger().with("authorization", "Bearer wrong");
    wrong.get("/metrics").await.refused(401, "AUTH_REQUIRED");
    // The token opens nothing else.
    t.watcher()
        .get("/api/rooms")
        .await
        .refused(401, "AUTH_REQUIRED");
}
