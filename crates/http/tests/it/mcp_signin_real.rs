//! The whole way of a sign-in with a real authorization server and a real tool server behind it:
//! registration, the person's pages, PKCE, refresh with rotation, and giving back.
//! Installed by `cargo xtask counterparts install`. Source: contract 4.8.

use std::{collections::BTreeMap, path::PathBuf, process::Stdio, time::Duration};

use guildhall_testkit::{TestHall, soon};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{Child, Command},
    time::timeout,
};

use crate::{
    mcp_servers::{ask, at},
    test_values::text,
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oidc/server.mjs");

/// How long the servers may take to start. Not as short as the wait for an answer of ours: two
/// programs of Node.js are loaded first, which takes half a minute beside a full machine.
const START_MAX: Duration = Duration::from_secs(100);

fn counterpart(name: &str, program: &str) -> PathBuf {
    let below = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../counterparts");
    let program = below.join(name).join("node_modules").join(program);
    assert!(
        program.is_file(),
        "it is not installed: `cargo xtask counterparts install`"
    );
    program
}

/// Both servers; they end with this, by the end of their standard input.
pub(crate) struct RealServers {
    pub(crate) origin: String,
    _process: Child,
}

impl RealServers {
    pub(crate) async fn start() -> Self {
        let mut process = Command::new("node")
            .arg(SCRIPT)
            .arg(counterpart("oidc-provider", "oidc-provider/lib/index.js"))
            .arg(counterpart(
                "everything",
                "@modelcontextprotocol/server-everything/dist/index.js",
            ))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let origin = timeout(START_MAX, lines.next_line()).await;
        let origin = origin.expect("the servers start in time").unwrap();
        Self {
            origin: origin.expect("the servers run"),
            _process: process,
        }
    }
}

/// A browser without a screen: it keeps cookies and follows what it is sent to.
pub(crate) struct HeadlessBrowser {
    origin: String,
    cookies: BTreeMap<String, String>,
    /// As whom it signs in.
    who: String,
}

/// What a page answered.
pub(crate) struct PageResponse {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
}

impl HeadlessBrowser {
    /// A browser of a person that signs in as `who`.
    pub(crate) fn of(servers: &RealServers, who: &str) -> Self {
        Self {
            origin: servers.origin.clone(),
            cookies: BTreeMap::new(),
            who: who.to_owned(),
        }
    }

    pub(crate) async fn ask(&mut self, path: &str, form: Option<&str>) -> PageResponse {
        let authority = self.origin.trim_start_matches("http://").to_owned();
        let mut socket = TcpStream::connect(&authority).await.unwrap();
        let cookies: Vec<_> = self
            .cookies
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        let (method, form) = form.map_or(("GET", ""), |form| ("POST", form));
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\ncookie: {}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
            cookies.join("; "),
            form.len(),
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        soon(path, socket.read_to_end(&mut answer)).await.unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut location = None;
        for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            match name.to_ascii_lowercase().as_str() {
                "location" => location = Some(value.to_owned()),
                "set-cookie" => {
                    let (pair, _) = value.split_once(';').unwrap_or((value, ""));
                    let (name, value) = pair.split_once('=').unwrap();
                    match value {
                        "" => self.cookies.remove(name),
                        value => self.cookies.insert(name.to_owned(), value.to_owned()),
                    };
                }
                _ => {}
            }
        }
        PageResponse {
            status,
            location,
            body: body.to_owned(),
        }
    }

    /// Signs in and agrees, until it is sent to `until`; answers where exactly.
    pub(crate) async fn walk(&mut self, from: &str, until: &str) -> String {
        let mut at = from.to_owned();
        for _ in 0..20 {
            if at.starts_with(until) {
                return at;
            }
            let path = at.strip_prefix(&self.origin).unwrap_or(&at).to_owned();
            let page = self.ask(&path, None).await;
            let page = match (page.status, &page.location) {
                (200, _) => {
                    let prompt = match page.body.contains("name=\"password\"") {
                        true => format!("prompt=login&login={}&password=x", self.who),
                        false => "prompt=consent".to_owned(),
                    };
                    assert!(page.body.contains("name=\"prompt\""), "{}", page.body);
                    self.ask(&path, Some(&prompt)).await
                }
                _ => page,
            };
            let next = page.location.clone();
            at = next.unwrap_or_else(|| panic!("{at}: {} {}", page.status, page.body));
        }
        panic!("it goes in circles");
    }

    /// Types a code where it is to be typed, and says `answer` to what is asked then.
    async fn answer_code(&mut self, code: &str, answer: &str) -> PageResponse {
        let hidden = |page: &PageResponse, name: &str| {
            let (_, rest) = page
                .body
                .split_once(&format!("name=\"{name}\" value=\""))
                .unwrap();
            rest.split('"').next().unwrap().to_owned()
        };
        let first = self.ask("/device", None).await;
        let typed = format!("xsrf={}&user_code={code}", hidden(&first, "xsrf"));
        let asks = self.ask("/device", Some(&typed)).await;
        let answer = format!(
            "xsrf={}&user_code={}&{answer}=yes",
            hidden(&asks, "xsrf"),
            hidden(&asks, "user_code")
        );
        self.ask("/device", Some(&answer)).await
    }

    /// Types a code where it is to be typed, and refuses.
    pub(crate) async fn refuse_code(&mut self, code: &str) {
        let over = self.answer_code(code, "abort").await;
        assert_eq!(over.location, None, "{}", over.body);
    }

    /// Types a code where it is to be typed, signs in and agrees.
    pub(crate) async fn type_code(&mut self, code: &str) {
        let sent = self.answer_code(code, "confirm").await;
        let from = sent.location.unwrap();
        let back = format!("{}/device/", self.origin);
        let mut at = self.walk(&from, &back).await;
        // Signing in and agreeing each come back there.
        for _ in 0..4 {
            let path = at.trim_start_matches(&self.origin).to_owned();
            let page = self.ask(&path, None).await;
            match page.location {
                Some(next) => at = self.walk(&next, &back).await,
                None => return assert_eq!(page.status, 200, "{}", page.body),
            }
        }
        panic!("it goes in circles");
    }
}

#[tokio::test]
async fn a_person_signs_in_at_a_real_authorization_server() {
    let servers = RealServers::start().await;
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let connection = json!({"transport": "http", "url": format!("{}/mcp", servers.origin),
        "headers": {}});
    owner
        .post_approved(&at(&ada), ask("web", &connection))
        .await
        .ok(200);
    let server = format!("{}/web", at(&ada));
    let entry = owner.get(&server).await.ok(200);
    assert_eq!(entry["connection"]["authKind"], "oauth2");

    let started = ada
        .post(&format!("{server}/signin"), json!({}))
        .await
        .ok(200);
    let link = text(&started["signInUrl"]);
    let (_, ticket) = link.rsplit_once('/').unwrap();
    let sent = owner.get(&format!("/api/oauth/go/{ticket}")).await;
    assert_eq!(sent.status, 303, "{}", sent.text());
    let cookie = sent
        .header("set-cookie")
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let mut browser = HeadlessBrowser::of(&servers, "ada");
    let until = format!("http://127.0.0.1:{}/api/oauth/callback?", t.port());
    let back = browser.walk(sent.header("location"), &until).await;
    let (_, query) = back.split_once('?').unwrap();
    assert!(query.contains("iss="), "it says who it is: {query}");
    let path = format!("/api/oauth/callback?{query}");
    let page = t.nobody().with("cookie", &cookie).get(&path).await;
    // Why it failed stands in the warnings beside this.
    assert_eq!(page.status, 200, "{}", page.text());

    let entry = owner.get(&server).await.ok(200);
    assert_eq!(
        json!([
            entry["status"],
            entry["authStatus"],
            entry["authClientOrigin"]
        ]),
        json!(["ready", "connected", "registered"])
    );
    let count = entry["toolCount"].as_u64().unwrap();
    assert!(count > 5, "{count}");
    let test = async || -> Value {
        let path = format!("{server}/test");
        ada.post(&path, json!({})).await.ok(200)
    };
    assert_eq!(test().await["toolCount"], count);
    // Two refreshes: the second works only with the refresh token that the first one brought.
    for _ in 0..2 {
        t.advance(60);
        assert_eq!(test().await["ok"], true);
    }
    let again = ada
        .post(&format!("{server}/signin"), json!({}))
        .await
        .ok(200);
    assert_eq!(again["alreadyConnected"], true);
    let out = ada.delete(&format!("{server}/signin")).await.ok(200);
    assert_eq!(out, json!({"signedOut": true}));
    assert_eq!(test().await["needsAuth"], true);
}
