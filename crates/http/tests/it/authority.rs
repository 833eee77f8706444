//! Who may call what: the table in `authority.tsv` against the running door.

use std::collections::BTreeSet;

use guildhall_testkit::{PASSWORD, TestCaller, TestHall};
use serde_json::{Value, json};

use crate::{
    canvas,
    mcp_servers::{address, ask, at},
};

const TABLE: &str = include_str!("../authority.tsv");
/// An id that names nothing.
const NOTHING: &str = "01980000-0000-7000-8000-000000000000";
/// Routes beside the interface, which are no operations of it: pages, and the endpoint whose
/// messages describe themselves.
const BESIDE: [(&str, &str, &str); 13] = [
    ("GET", "/", "open"),
    ("GET", "/assets/{path}", "open"),
    ("GET", "/docs", "open"),
    ("GET", "/docs/errors/{code}", "open"),
    ("POST", "/mcp", "agent"),
    ("POST", "/mcp/servers/{name}", "agent"),
    ("GET", "/api/oauth/start/{ticket}", "owner interactive"),
    ("GET", "/api/oauth/go/{ticket}", "owner interactive"),
    ("GET", "/api/oauth/callback", "open"),
    ("GET", "/api/oauth/client", "open"),
    ("GET", "/api/auth/open/{token}", "url-token"),
    ("GET", "/api/local-browser/stream", "owner here"),
    ("GET", "/api/workbench/serve/{token}", "url-token"),
];

/// The kinds of callers, in the order of the table's columns.
const KINDS: [&str; 7] = [
    "nobody",
    "owner",
    "owner's API key",
    "person",
    "live agent",
    "unverifiable header",
    "owner elsewhere",
];
/// The one operation that takes a caller's credential away.
const LOGOUT: &str = "/api/auth/logout";

struct AuthorityRow<'a> {
    method: &'a str,
    path: &'a str,
    gate: &'a str,
    cells: Vec<&'a str>,
}

fn rows() -> Vec<AuthorityRow<'static>> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut columns = line.split('\t');
            let mut next = || columns.next().expect(line);
            let (method, path, gate) = (next(), next(), next());
            let cells: Vec<&str> = columns.collect();
            assert_eq!(cells.len(), KINDS.len(), "{line}");
            AuthorityRow {
                method,
                path,
                gate,
                cells,
            }
        })
        .collect()
}

fn document() -> &'static Value {
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
    for (method, path, gate) in BESIDE {
        operations.insert((method.to_owned(), path.to_owned(), gate.to_owned()));
    }
    let named = |row: &AuthorityRow<'_>| {
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

/// What the ids of the table's paths name, and which operations take a body.
struct AuthorityFixtures {
    document: &'static Value,
    room: String,
    entry: String,
    file: String,
    page: String,
    turn: String,
    ada: TestCaller,
}

impl AuthorityFixtures {
    async fn of(t: &TestHall) -> Self {
        let room = t.team().await;
        let ada = t.agent("ada").await;
        let server = ask("kept", &address());
        t.owner().post_approved(&at(&ada), server).await.ok(200);
        let file = t.upload(&t.owner(), &room, ("a", "x/y", b"a")).await;
        let post = json!({"text": "hello", "attachmentIds": [file["id"]]});
        let path = format!("/api/rooms/{room}/entries");
        let posted = t.owner().post(&path, post).await.ok(201);
        // Its thread has begun, so that asking for it once more changes nothing.
        let page = canvas::open(&t.owner(), &room, 1).await;
        let thread = format!("{}/thread", canvas::at(&room, &page));
        t.owner().post(&thread, json!({})).await.ok(201);
        // Its turn is stopped, so that stopping it once more changes nothing.
        let turn = posted["turns"][0]["id"].as_str().unwrap().to_owned();
        let halt = format!("/api/rooms/{room}/halt");
        t.owner().post(&halt, json!({})).await.ok(200);
        Self {
            turn,
            document: document(),
            entry: posted["entry"]["id"].as_str().unwrap().to_owned(),
            file: file["id"].as_str().unwrap().to_owned(),
            page: page["id"].as_str().unwrap().to_owned(),
            room,
            ada,
        }
    }

    /// The row's path with ids of things that exist; the last one of a DELETE, and of a server
    /// that is switched, names nothing, so that the table changes nothing.
    fn address(&self, row: &AuthorityRow<'_>) -> String {
        let is_agents = row.path.starts_with("/api/agents");
        let id = if is_agents {
            self.ada.agent()
        } else {
            &self.room
        };
        let mut path = row.path.to_owned();
        if row.method == "DELETE"
            && let Some(last) = path.rfind('{')
        {
            let end = last + path[last..].find('}').unwrap() + 1;
            path.replace_range(last..end, NOTHING);
        }
        path.replace("{id}", id)
            .replace("{agentId}", self.ada.agent())
            .replace("{authorId}", self.ada.author())
            .replace("{entryId}", &self.entry)
            .replace("{rootEntryId}", &self.entry)
            .replace("{attachmentId}", &self.file)
            .replace("{documentId}", &self.page)
            .replace("{turnId}", &self.turn)
            .replace("{messageId}", NOTHING)
            .replace("{name}/", "none/")
            .replace("{name}", "kept")
            .replace("{flowId}", NOTHING)
            .replace("{connectionId}", NOTHING)
            .replace("{ticket}", "none")
            .replace("{emoji}", "none")
            .replace("{type}", "none")
            .replace("{slug}", "none")
            .replace("{page}", "none")
            .replace("{token}", "none")
            .replace("{code}", "NOT_FOUND")
            .replace("{path}", "none.js")
            .replace("{splat}", "none.js")
    }

    /// What a caller is answered to a row, as the table writes it.
    async fn answer(&self, row: &AuthorityRow<'_>, caller: &TestCaller) -> String {
        let operation = &self.document["paths"][row.path][row.method.to_lowercase()];
        let mut ask = caller.ask(row.method, &self.address(row));
        if operation["requestBody"].is_object() {
            ask = ask.json(&json!(["no", "object"]));
        }
        let answer = ask.send().await;
        if answer.status < 400 {
            return answer.status.to_string();
        }
        // The one page that a person sees also when it went wrong.
        if row.path == "/api/oauth/callback" {
            return answer.status.to_string();
        }
        answer.is_an_envelope();
        format!(
            "{} {}",
            answer.status,
            answer.body["code"].as_str().unwrap()
        )
    }
}

/// Every row but those of which a credential's first use writes when that was.
fn untouched(rows: &str) -> Vec<String> {
    let is_bookkeeping = |row: &&str| {
        let tables = ["tokens\t", "api_keys\t", "sign_ins\t"];
        !tables.iter().any(|table| row.starts_with(table))
    };
    rows.lines()
        .filter(is_bookkeeping)
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn every_kind_of_caller_gets_what_the_table_says() {
    let t = TestHall::open_login().await;
    let things = AuthorityFixtures::of(&t).await;
    let key = t.key(&t.owner(), "table").await;
    let callers = [
        t.nobody(),
        t.owner(),
        t.owner().with_key(&key),
        t.person("Pia").await,
        things.ada.clone(),
        // A valid cookie does not outweigh a header that stands for nobody.
        t.unverifiable(),
        t.elsewhere(&t.owner()),
    ];
    let before = t.rows();
    let mut wrong = Vec::new();
    let mut check = async |row: &AuthorityRow<'_>, kind: usize, caller: &TestCaller| {
        let (found, expected) = (things.answer(row, caller).await, row.cells[kind]);
        if found != expected {
            let (method, path, kind) = (row.method, row.path, KINDS[kind]);
            wrong.push(format!(
                "{method} {path} as {kind}: {expected}, not {found}"
            ));
        }
    };
    let (leaving, staying): (Vec<_>, Vec<_>) =
        rows().into_iter().partition(|row| row.path == LOGOUT);
    for row in &staying {
        for (kind, caller) in callers.iter().enumerate() {
            check(row, kind, caller).await;
        }
    }
    assert_eq!(untouched(&t.rows()), untouched(&before));
    // Whoever signs out is nobody afterwards, so each has a sign-in for this alone.
    for row in &leaving {
        for (kind, caller) in callers.iter().enumerate() {
            let email = match KINDS[kind] {
                "owner" | "owner elsewhere" => "owner@example.org",
                "person" => "pia@example.org",
                _ => {
                    check(row, kind, caller).await;
                    continue;
                }
            };
            check(row, kind, &t.sign_in(email, PASSWORD).await).await;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The same table where there are no accounts: their routes say so to whoever may ask, and
/// whoever is nobody runs as another user.
#[tokio::test]
async fn in_mode_local_the_table_holds_without_people_and_accounts() {
    let t = TestHall::open().await;
    let things = AuthorityFixtures::of(&t).await;
    let key = t.key(&t.owner(), "table").await;
    let callers = [
        ("nobody", t.stranger()),
        ("owner", t.owner()),
        ("owner's API key", t.stranger().with_key(&key)),
        ("live agent", things.ada.clone()),
        ("unverifiable header", t.unverifiable()),
        (
            "owner elsewhere",
            t.owner().with("x-forwarded-for", "203.0.113.7"),
        ),
    ];
    let before = t.rows();
    let mut wrong = Vec::new();
    for row in rows() {
        let is_account_route = ["/register", "/login", "/logout", "/password", "/accounts"]
            .iter()
            .any(|rest| row.path.starts_with(&format!("/api/auth{rest}")));
        // No body is read of who guesses a password or code where there is none.
        let is_guess = ["/register", "/login", "/password"]
            .iter()
            .any(|rest| row.path == format!("/api/auth{rest}"));
        for (kind, caller) in &callers {
            let column = KINDS.iter().position(|known| known == kind).unwrap();
            let expected = match row.cells[column] {
                "401 AUTH_REQUIRED" => "401 NOT_THE_OWNER",
                "400 VALIDATION_FAILED" if is_guess => "409 AUTH_MODE_LOCAL",
                cell if is_account_route && (cell.starts_with('2') || cell.starts_with("404")) => {
                    "409 AUTH_MODE_LOCAL"
                }
                cell => cell,
            };
            let found = things.answer(&row, caller).await;
            if found != expected {
                let (method, path) = (row.method, row.path);
                wrong.push(format!(
                    "{method} {path} as {kind}: {expected}, not {found}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(untouched(&t.rows()), untouched(&before));
}

/// Every row at the listener for agents, in both modes: what any caller may ask is there for an
/// agent's token alone, what is told to anybody tells everybody that they are nobody, and what
/// only people use is not there.
async fn only_agents_are_known_at_their_listener(t: &TestHall, people: &[TestCaller]) {
    let things = AuthorityFixtures::of(t).await;
    let live_agent = KINDS.iter().position(|kind| *kind == "live agent").unwrap();
    let ada = t.at_agent_listener(&things.ada);
    let others: Vec<_> = people.iter().map(|one| t.at_agent_listener(one)).collect();
    let before = t.rows();
    let mut wrong = Vec::new();
    for row in rows() {
        let operation = &things.document["paths"][row.path][row.method.to_lowercase()];
        let is_open = row.gate == "open" && row.method == "GET" && operation.is_object();
        let not_there = "404 NOT_FOUND";
        let (to_ada, to_others) = match row.gate {
            "caller" => (row.cells[live_agent], "401 AGENT_IDENTITY_UNVERIFIED"),
            "agent" => (row.cells[live_agent], "401 AGENT_TOKEN_REQUIRED"),
            _ if is_open => (row.cells[live_agent], row.cells[live_agent]),
            _ => (not_there, not_there),
        };
        let mut check = async |caller: &TestCaller, expected: &str| {
            let found = things.answer(&row, caller).await;
            // Where another method of the path is there, this one is not allowed.
            let is_not_there = ["404", "405 METHOD_NOT_ALLOWED"].contains(&found.as_str());
            if found != expected && !(is_not_there && expected == not_there) {
                let (method, path) = (row.method, row.path);
                wrong.push(format!("{method} {path}: {expected}, not {found}"));
            }
        };
        check(&ada, to_ada).await;
        for other in &others {
            check(other, to_others).await;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for other in &others {
        let who = other.get("/api/auth/whoami").await.ok(200);
        assert_eq!(who["caller"], Value::Null);
    }
    assert_eq!(untouched(&t.rows()), untouched(&before));
}

#[tokio::test]
async fn at_the_listener_for_agents_no_credential_makes_a_person() {
    let t = TestHall::open_login().await;
    let key = t.key(&t.owner(), "table").await;
    let people = [
        t.nobody(),
        t.owner(),
        t.owner().with_key(&key),
        t.person("Pia").await,
        t.unverifiable(),
        t.elsewhere(&t.owner()),
    ];
    only_agents_are_known_at_their_listener(&t, &people).await;
}

#[tokio::test]
async fn at_the_listener_for_agents_nobody_is_the_owner_in_mode_local_either() {
    let t = TestHall::open().await;
    let key = t.key(&t.owner(), "table").await;
    let people = [
        t.owner(),
        t.stranger().with_key(&key),
        t.unknown_socket_caller(),
    ];
    only_agents_are_known_at_their_listener(&t, &people).await;
}

#[tokio::test]
async fn at_the_listener_for_agents_a_process_is_nobody_without_its_own_token() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let process = t.at_agent_listener(&t.process_of(&ada));
    let refused = async |caller: TestCaller| {
        let answer = caller.get("/api/rooms").await;
        answer.refused(401, "AGENT_IDENTITY_UNVERIFIED");
    };
    refused(process.clone()).await;
    refused(process.clone().with_agent_token(bob.token())).await;
    process
        .with_agent_token(ada.token())
        .get("/api/rooms")
        .await
        .ok(200);
}

#[tokio::test]
async fn whom_the_kernel_does_not_know_is_nobody_even_with_a_live_token() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let hidden = t.unknown_socket_caller();
    let with_token = hidden.clone().with_agent_token(ada.token());
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
        t.stranger().with_agent_token(ada.token()),
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
    for somebody in [t.stranger(), t.unverifiable(), t.unknown_socket_caller()] {
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
