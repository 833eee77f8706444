//! Credentials of every kind of sign-in, and where none of them may show: answers, events, the
//! log and the disk of a server that used them all, at a service that says them back wherever it
//! can. Source: contract 5.14, 8.

use std::{
    collections::BTreeMap,
    fs::File,
    sync::{Arc, Mutex},
};

use guildhall_testkit::columns;
use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::{
    recording_client::{RecordingClient, holds, is_at_rest, text},
    server_process::{ServerProcess, frames, head},
    test_sites::{SitePage, SiteRequest, TestSite},
};

/// How every secret begins that the service or a person makes up.
const CANARY: &str = "canary-secret";
/// What stands openly beside the secrets, and is found wherever it may show.
const OPENLY: &str = "openly-known";

/// A service that signs in by everything, and repeats what it was shown.
fn service() -> TestSite {
    let origin: Arc<Mutex<String>> = Arc::default();
    let (told, count) = (Arc::clone(&origin), Mutex::new(0));
    let site = TestSite::new(move |asked| {
        let origin = told.lock().unwrap().clone();
        let mut count = count.lock().unwrap();
        *count += 1;
        answer(asked, &origin, *count)
    });
    *origin.lock().unwrap() = site.url("");
    site
}

fn answer(asked: &SiteRequest, origin: &str, count: usize) -> SitePage {
    let say = |value: Value| SitePage::of("application/json", value.to_string());
    // Whatever proves who asks, said back.
    let echo = format!("{} {} {}", asked.path, asked.headers, asked.body);
    let tokens = |kind: &str| {
        say(
            json!({"access_token": format!("{CANARY}-access-{kind}-{count}"),
            "refresh_token": format!("{CANARY}-refresh-{kind}-{count}"),
            "token_type": "bearer", "expires_in": 30}),
        )
    };
    let no = |word: &str| {
        say(json!({"error": word, "error_description": echo})).status("400 Bad Request")
    };
    let path = asked.path.split('?').next().unwrap_or_default();
    match path {
        "/.well-known/oauth-authorization-server" => say(json!({
            "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "device_authorization_endpoint": format!("{origin}/device"),
            "registration_endpoint": format!("{origin}/register"),
            "revocation_endpoint": format!("{origin}/revoke"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        })),
        "/register" => say(json!({"client_id": format!("{OPENLY}-registered"),
            "client_secret": format!("{CANARY}-registered"),
            "token_endpoint_auth_method": "client_secret_post"})),
        "/device" => say(
            json!({"device_code": format!("{CANARY}-device"), "interval": 1,
            "user_code": "ABCD-EFGH", "verification_uri": format!("{origin}/activate")}),
        ),
        "/token" if asked.body.contains("code=canary-secret-bad-code") => no("invalid_grant"),
        "/token" if asked.body.contains("grant_type=refresh_token") => tokens("renewed"),
        "/token" if asked.body.contains("device_code") => tokens("device"),
        "/token" => tokens("code"),
        "/me" if echo.contains(CANARY) => say(json!({"login": "ada", "echo": echo})),
        "/notes" if asked.body.contains("fail") => {
            say(json!({"message": echo})).status("500 Broken")
        }
        "/revoke" | "/notes" => say(json!({"said": echo})),
        _ => say(json!({"message": echo})).status("401 Unauthorized"),
    }
}

impl RecordingClient {
    /// An instance with one toolkit that signs in this way; its id.
    fn installed(&mut self, site: &TestSite, auth: &Value) -> String {
        let ask = json!({"type": "openapi", "label": OPENLY});
        let made = self.post("/api/connectors/providers", &ask);
        let provider = text(&made["id"]);
        let said = json!({"200": {"description": "Said"}});
        let body = json!({"content": {"application/json": {"schema": {"type": "object"}}}});
        let document = json!({"openapi": "3.1.0", "info": {"title": "Notes", "version": "1"},
        "paths": {"/notes": {
            "get": {"operationId": "read", "responses": said},
            "post": {"operationId": "write", "requestBody": body, "responses": said},
            "delete": {"operationId": "clear", "responses": said},
        }}});
        let toolkit = json!({"displayName": "Notes", "document": document,
            "baseUrl": site.url(""), "auth": auth,
            "account": {"path": "/me", "pointer": "/login"}});
        let path = format!("/api/connectors/providers/{provider}/toolkits/notes");
        self.send("PUT", &path, &toolkit);
        if !auth["clientId"].is_null() {
            let secret = json!({"secret": format!("{CANARY}-client")});
            self.send("PUT", &format!("{path}/credential"), &secret);
        }
        provider
    }

    /// The flow once it is no longer as `states`.
    fn after(&mut self, path: &str, states: &[&str]) -> Value {
        loop {
            let seen = head(self.port);
            let flow = self.get(path);
            if !states.iter().any(|state| flow["state"] == *state) {
                return flow;
            }
            frames(self.port, "/api/events", seen, seen + 1);
        }
    }

    fn begun(&mut self, provider: &str, key: &str) -> (String, Value) {
        let wish = json!({"providerInstanceId": provider, "toolkit": "notes",
            "idempotencyKey": key});
        let flow = self.post("/api/connectors/connections", &wish);
        let path = format!(
            "/api/connectors/authentication-flows/{}",
            text(&flow["flowId"])
        );
        let waits = self.after(&path, &["starting"]);
        (path, waits)
    }

    /// Signs in behind the link of a flow, as the service would send a browser back with `code`;
    /// what only the browser and the server know is added to `links`.
    fn signed_in(&mut self, flow: &Value, code: &str, links: &mut Vec<String>) -> u16 {
        let link = text(&flow["authorizeUrl"]);
        let ticket = link.rsplit('/').next().unwrap().to_owned();
        assert_eq!(
            self.ask("GET", &format!("/api/oauth/start/{ticket}"), "", None)
                .status,
            200
        );
        let sent = self.ask("GET", &format!("/api/oauth/go/{ticket}"), "", None);
        assert_eq!(sent.status, 303);
        let cookie = sent.header("set-cookie");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let place = sent.header("location");
        let (_, state) = place.split_once("state=").unwrap();
        let state = state.split('&').next().unwrap().to_owned();
        let path = format!("/api/oauth/callback?code={code}&state={state}");
        let shown = format!("Cookie: {cookie}\r\n");
        let status = self.ask("GET", &path, &shown, None).status;
        let (_, cookie) = cookie.split_once('=').unwrap();
        links.extend([ticket, state, cookie.to_owned()]);
        status
    }

    /// Uses a connection for everything there is, and says how often that was answered well.
    fn used(&mut self, connection: &str, agent: &str, program: &str) -> usize {
        let one = format!("/api/connectors/connections/{connection}");
        let review = self.post(&format!("{one}/reviews"), &json!({}));
        let revisions: BTreeMap<String, String> = review["operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| (text(&of["operationSlug"]), text(&of["id"])))
            .collect();
        let all: Vec<_> = revisions.values().collect();
        let path = format!(
            "/api/connectors/reviews/{}/apply",
            text(&review["reviewId"])
        );
        let grants = json!({"grants": [{"agentId": agent, "operationRevisionIds": all}]});
        self.post(&path, &grants);
        self.get(&format!("{one}/grants"));
        self.get(&format!("/api/connectors/accessible?agentId={agent}"));
        let operations = format!("/api/connectors/accessible/{connection}/operations");
        self.get(&format!("{operations}?agentId={agent}"));
        let shown = format!("Authorization: Bearer {program}\r\nPrefer: wait=0\r\n");
        let mut good = 0;
        for (slug, arguments) in [
            ("read", json!({})),
            ("write", json!({"body": {"text": "well"}})),
            ("write", json!({"body": {"text": "fail"}})),
            ("clear", json!({})),
        ] {
            let body = json!({"agentId": agent, "connectionId": connection,
                "operationRevisionId": revisions[slug], "arguments": arguments});
            let ran = self.post("/api/connectors/executions", &body);
            good += usize::from(ran["result"]["status"] == "success");
            let path = "/api/connectors/cli/executions";
            let as_program = self.ask("POST", path, &shown, Some(&body));
            let expected = if slug == "clear" { 202 } else { 200 };
            assert_eq!(as_program.status, expected, "{slug}: {}", as_program.body);
        }
        good
    }
}

/// What the server minted and showed the service alone: the proof keys, and its client's secret
/// as a header carries it.
fn shown_to(site: &TestSite) -> Vec<String> {
    let asked = site.asked();
    let of = |text: &str, name: &str, end: &[char]| -> Option<String> {
        let (_, rest) = text.split_once(name)?;
        Some(rest.split(end).next().unwrap_or_default().to_owned())
    };
    let verifiers = asked
        .iter()
        .filter_map(|one| of(&one.body, "code_verifier=", &['&']));
    let basics = asked
        .iter()
        .filter_map(|one| of(&one.headers, "Basic ", &['\n']));
    let basics = basics.chain(
        asked
            .iter()
            .filter_map(|one| of(&one.headers, "basic ", &['\n'])),
    );
    verifiers.chain(basics).collect()
}

#[test]
fn credentials_of_every_kind_show_in_no_answer_event_log_or_file() {
    let home = Scratch::new("connector-canaries");
    let (data, log) = (home.path().join("data"), home.path().join("log"));
    let folder = home.path().join("agent");
    for made in [&data, &folder] {
        std::fs::create_dir(made).unwrap();
    }
    let site = service();
    let args = ["--bind", "127.0.0.1:0"];
    let server = ServerProcess::start_with_log(&data, &args, Some(File::create(&log).unwrap()));
    let mut by = RecordingClient::at(server.port());
    let session = json!({"cwd": folder, "runtime": "rehearsal"});
    let agent = text(&by.post("/api/sessions", &session)["agentId"]);
    let program = text(&by.post("/api/auth/keys", &json!({"label": "program"}))["key"]);

    let key = |place: &str, prefix: &str| json!({"kind": "api-key", "in": place, "name": "x-key", "prefix": prefix});
    let issuer = site.url("");
    let client = format!("{OPENLY}-client");
    let by_code = json!({"kind": "oauth2", "flow": "authorization_code", "issuer": issuer,
        "clientId": client});
    let by_device = json!({"kind": "oauth2", "flow": "device_code", "issuer": issuer});
    let mut links = Vec::new();
    let mut connections = Vec::new();
    for (name, auth) in [
        ("header", key("header", "Token ")),
        ("query", key("query", "")),
        ("code", by_code),
        ("device", by_device),
    ] {
        let provider = by.installed(&site, &auth);
        let (path, waits) = by.begun(&provider, name);
        let step = text(&waits["step"]);
        match step.as_str() {
            "credential" => {
                // Some of it stands plainly in no address and no JSON.
                let secret = format!("\"/+ {CANARY}-{name}");
                let secret = json!({"secret": secret});
                by.post(&format!("{path}/credential"), &secret);
            }
            "browser" => {
                let code = format!("{CANARY}-code");
                assert_eq!(by.signed_in(&waits, &code, &mut links), 200);
            }
            _ => assert_eq!(waits["userCode"], "ABCD-EFGH", "{waits}"),
        }
        let over = by.after(&path, &["pending"]);
        assert_eq!(over["state"], "connected", "{name}: {over}");
        let connection = text(&over["connectionId"]);
        assert_eq!(by.used(&connection, &agent, &program), 3, "{name}");
        connections.push(connection);
        // What is wrong is told without what it was.
        let (path, waits) = by.begun(&provider, &format!("{name}-wrong"));
        match step.as_str() {
            "credential" => {
                let secret = json!({"secret": "wrong"});
                let over = by.post(&format!("{path}/credential"), &secret);
                assert_eq!(over["state"], "failed", "{name}: {over}");
            }
            "browser" => {
                let code = format!("{CANARY}-bad-code");
                assert_eq!(by.signed_in(&waits, &code, &mut links), 400);
                assert_eq!(by.get(&path)["state"], "failed");
            }
            _ => {
                by.ask("DELETE", &path, "", None);
            }
        }
    }
    for path in ["providers", "catalog", "connections", "usage?limit=200"] {
        by.get(&format!("/api/connectors/{path}"));
    }
    let asked = by.get("/api/approvals");
    assert_eq!(asked["approvals"].as_array().unwrap().len(), 4);
    let events = frames(by.port, "/api/events", 0, head(by.port));
    let secrets: Vec<String> = [CANARY.to_owned()]
        .into_iter()
        .chain(shown_to(&site))
        .collect();
    // Two proof keys, and the client's secret whenever it was shown.
    assert!(secrets.len() > 6, "{secrets:?}");
    let is_kept_from = |place: &str, holds: &dyn Fn(&str) -> bool| {
        assert!(holds(OPENLY), "the search finds what is there in {place}");
        for secret in &secrets {
            assert!(!holds(secret), "{secret} stands in {place}");
        }
    };
    let at_rest = |place: &str| {
        let rows = columns(&data.join("guildhall.sqlite"));
        is_kept_from(place, &|it| rows.iter().any(|(_, bytes)| holds(bytes, it)));
        is_kept_from(place, &|it| is_at_rest(&data, it));
        for link in &links {
            assert!(
                !is_at_rest(&data, link),
                "a link of a sign-in stands in {place}"
            );
        }
    };
    at_rest("the database while it is written");
    for connection in &connections {
        let one = format!("/api/connectors/connections/{connection}");
        by.post(&format!("{one}/pause"), &json!({}));
        by.post(
            &format!("{one}/reconnect"),
            &json!({"idempotencyKey": connection}),
        );
        by.ask("DELETE", &one, "", None);
        by.post(&format!("{one}/remove"), &json!({}));
    }
    is_kept_from("answers", &|it| by.answers.contains(it));
    let more = frames(by.port, "/api/events", 0, head(by.port));
    let told = json!([events, more]).to_string();
    assert!(told.contains("connector_execution_finished"));
    for secret in secrets.iter().chain(&links) {
        assert!(!told.contains(secret), "{secret} stands in an event");
    }
    assert_eq!(server.stop(), Some(0));
    at_rest("the database at its end");
    let log = std::fs::read(&log).unwrap();
    assert!(holds(&log, "TRACE"), "it tells all it does");
    for secret in secrets.iter().chain(&links) {
        assert!(!holds(&log, secret), "{secret} stands in the log");
    }
}
