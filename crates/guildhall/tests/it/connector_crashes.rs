//! The server killed while connectors work: every sign-in and every execution ends in a named
//! state, and no service sees twice what may have happened. Source: contract 5.14, 1 to 4.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::{
    server_process::{ServerProcess, ask},
    test_sites::{SitePage, TestSite},
};

/// How often the server is killed.
const KILLS: usize = 12;
/// Who asks at the same time.
const CLIENTS: usize = 4;
/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// When the server is killed.
#[derive(Clone, Copy, Debug)]
enum KillPoint {
    /// When so many requests have reached the service, before it answers the last of them.
    Request(usize),
    /// When so many requests were answered to who asked for them.
    Answer(usize),
}

/// What happened, as tests are told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServiceEvent {
    Request,
    Answer,
}

/// A service that tells of each request before it answers.
fn service() -> (TestSite, Arc<Mutex<Option<mpsc::Sender<ServiceEvent>>>>) {
    let listener: Arc<Mutex<Option<mpsc::Sender<ServiceEvent>>>> = Arc::default();
    let told = Arc::clone(&listener);
    let site = TestSite::new(move |asked| {
        let told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = told.as_ref() {
            // Who was waiting for it has seen enough.
            let _ = told.send(ServiceEvent::Request);
        }
        SitePage::of("application/json", answer(&asked.path))
    });
    (site, listener)
}

fn answer(path: &str) -> String {
    match path {
        "/device" => json!({"device_code": "d", "user_code": "ABCD-EFGH", "expires_in": 900,
            "interval": 60, "verification_uri": "https://service.example/activate"}),
        _ => json!({"said": true}),
    }
    .to_string()
}

/// Waits until `at`; whatever happens besides is passed over.
fn until(at: KillPoint, happening: &mpsc::Receiver<ServiceEvent>) {
    let (what, count) = match at {
        KillPoint::Request(count) => (ServiceEvent::Request, count),
        KillPoint::Answer(count) => (ServiceEvent::Answer, count),
    };
    let mut seen = 0;
    while seen < count {
        let happened = happening.recv_timeout(PATIENCE).expect("it happens");
        seen += usize::from(happened == what);
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// An answer that must be `status`.
fn done(
    server: &ServerProcess,
    method: &str,
    path: &str,
    body: Option<&Value>,
    status: u16,
) -> Value {
    let (is, answer) = server.ask(method, path, body);
    assert_eq!(is, status, "{method} {path}: {answer}");
    answer
}

fn post(server: &ServerProcess, path: &str, body: &Value, status: u16) -> Value {
    done(server, "POST", path, Some(body), status)
}

/// A service at `site` with this sign-in; answers the id of its instance.
fn installed(server: &ServerProcess, site: &TestSite, auth: &Value) -> String {
    let body = json!({"type": "openapi", "label": "Notes"});
    let provider = text(&post(server, "/api/connectors/providers", &body, 201)["id"]);
    let body = json!({"content": {"application/json": {"schema": {"type": "object"}}}});
    let add = json!({"operationId": "addNote", "requestBody": body,
        "responses": {"200": {"description": "Said"}}});
    let document = json!({"openapi": "3.1.0", "info": {"title": "Notes", "version": "1"},
        "paths": {"/notes": {"post": add}}});
    let toolkit = json!({"displayName": "Notes", "document": document,
        "baseUrl": site.url(""), "auth": auth});
    let path = format!("/api/connectors/providers/{provider}/toolkits/notes");
    done(server, "PUT", &path, Some(&toolkit), 200);
    provider
}

fn flow_of(server: &ServerProcess, id: &str) -> Value {
    let path = format!("/api/connectors/authentication-flows/{id}");
    done(server, "GET", &path, None, 200)
}

/// The flow once it is over, or waits for a person.
fn settled(server: &ServerProcess, id: &str) -> Value {
    let began = std::time::Instant::now();
    loop {
        let flow = flow_of(server, id);
        let is_on_its_way =
            flow["state"] == "starting" || (flow["state"] == "pending" && flow["step"] == "none");
        if !is_on_its_way {
            return flow;
        }
        assert!(began.elapsed() < PATIENCE, "{flow}");
    }
}

fn wish(provider: &str, key: &str) -> Value {
    json!({"providerInstanceId": provider, "toolkit": "notes", "idempotencyKey": key})
}

/// The body that adds a note, without its text.
fn granted(server: &ServerProcess, home: &Scratch, provider: &str) -> Value {
    let folder = home.path().join("agent");
    std::fs::create_dir_all(&folder).unwrap();
    let body = json!({"cwd": folder, "runtime": "rehearsal"});
    let agent = text(&post(server, "/api/sessions", &body, 201)["agentId"]);
    let flow = post(
        server,
        "/api/connectors/connections",
        &wish(provider, "one"),
        201,
    );
    let connection = text(&settled(server, &text(&flow["flowId"]))["connectionId"]);
    let path = format!("/api/connectors/connections/{connection}/reviews");
    let review = post(server, &path, &json!({}), 201);
    let revision = text(&review["operations"][0]["id"]);
    let path = format!(
        "/api/connectors/reviews/{}/apply",
        text(&review["reviewId"])
    );
    let body = json!({"grants": [{"agentId": agent, "operationRevisionIds": [revision]}]});
    post(server, &path, &body, 200);
    json!({"agentId": agent, "connectionId": connection, "operationRevisionId": revision})
}

/// Every attempt that is listed.
fn attempts(server: &ServerProcess) -> Vec<Value> {
    let mut all = Vec::new();
    let mut path = "/api/connectors/usage?limit=200".to_owned();
    loop {
        let page = done(server, "GET", &path, None, 200);
        all.extend(page["attempts"].as_array().expect("attempts").clone());
        match page["nextCursor"].as_str() {
            Some(cursor) => path = format!("/api/connectors/usage?limit=200&cursor={cursor}"),
            None => return all,
        }
    }
}

#[test]
fn killed_at_any_point_an_execution_ends_in_a_named_state_and_is_never_sent_again() {
    let home = Scratch::new("connector-kills");
    let data = home.path().join("data");
    std::fs::create_dir_all(&data).unwrap();
    let (site, listener) = service();
    let mut server = ServerProcess::start(&data, 0);
    let provider = installed(&server, &site, &json!({"kind": "none"}));
    let granted = granted(&server, &home, &provider);
    let mut said_yes = Vec::new();
    for kill in 0..KILLS {
        let at = match kill % 2 {
            0 => KillPoint::Request(kill + 1),
            _ => KillPoint::Answer(kill),
        };
        let (happened, happening) = mpsc::channel();
        *listener.lock().unwrap() = Some(happened.clone());
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (port, granted, happened) = (server.port(), granted.clone(), happened.clone());
                thread::spawn(move || adding(port, &granted, kill, client, &happened))
            })
            .collect();
        until(at, &happening);
        server.kill();
        for client in clients {
            said_yes.extend(client.join().unwrap());
        }
        server = ServerProcess::start(&data, 0);
        for attempt in attempts(&server) {
            let is_named = ["success", "outcome_unknown", "cancelled", "error"]
                .iter()
                .any(|status| attempt["status"] == *status);
            assert!(is_named, "{at:?}: {attempt}");
        }
    }
    *listener.lock().unwrap() = None;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for asked in site.asked() {
        *seen.entry(asked.body).or_default() += 1;
    }
    assert!(!said_yes.is_empty(), "something was answered in between");
    for note in &said_yes {
        assert_eq!(seen.get(note), Some(&1), "{note} was said to be added");
    }
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
    let listed = attempts(&server);
    assert!(
        seen.len() <= listed.len(),
        "{} of {}",
        seen.len(),
        listed.len()
    );
    let unknown = listed
        .iter()
        .filter(|one| one["status"] == "outcome_unknown");
    assert!(unknown.count() > 0, "a kill met an attempt on its way");
}

/// Adds notes until the server is gone; answers the bodies of those that were said to be added.
fn adding(
    port: u16,
    granted: &Value,
    kill: usize,
    client: usize,
    happened: &mpsc::Sender<ServiceEvent>,
) -> Vec<String> {
    let mut added = Vec::new();
    for number in 0.. {
        let note = json!({"text": format!("{kill}-{client}-{number}")});
        let mut body = granted.clone();
        body["arguments"] = json!({"body": note});
        let answered = ask(port, "POST", "/api/connectors/executions", Some(&body));
        let Some((200, answer)) = answered else {
            break;
        };
        if answer["result"]["status"] == "success" {
            added.push(note.to_string());
        }
        if happened.send(ServiceEvent::Answer).is_err() {
            break;
        }
    }
    added
}

#[test]
fn killed_at_any_point_a_flow_is_in_one_of_its_states_and_asks_the_service_once() {
    let home = Scratch::new("connector-kills");
    let (site, listener) = service();
    let mut server = ServerProcess::start(home.path(), 0);
    let auth = json!({"kind": "oauth2", "flow": "device_code", "clientId": "guildhall",
        "deviceUrl": site.url("/device"), "tokenUrl": site.url("/token"), "scopes": []});
    let device = installed(&server, &site, &auth);
    let open = installed(&server, &site, &json!({"kind": "none"}));
    let mut flows: Vec<String> = Vec::new();
    let mut finals: BTreeMap<String, Value> = BTreeMap::new();
    for kill in 0..KILLS {
        let (happened, happening) = mpsc::channel();
        *listener.lock().unwrap() = Some(happened.clone());
        let provider = if kill % 3 == 2 { &open } else { &device };
        let flow = post(
            &server,
            "/api/connectors/connections",
            &wish(provider, &format!("k{kill}")),
            201,
        );
        assert_eq!(flow["state"], "starting");
        let id = text(&flow["flowId"]);
        match kill % 3 {
            // While the service is asked, or right after.
            0 => until(KillPoint::Request(1), &happening),
            // Once the person may type the code.
            1 => assert_eq!(settled(&server, &id)["state"], "pending"),
            // Right after the row was written.
            _ => {}
        }
        flows.push(id);
        server.kill();
        server = ServerProcess::start(home.path(), 0);
        for id in &flows {
            let flow = settled(&server, id);
            let state = text(&flow["state"]);
            match state.as_str() {
                "pending" => assert_eq!(flow["userCode"], "ABCD-EFGH"),
                "connected" => assert!(flow["connectionId"].is_string()),
                "start_unknown" => assert!(flow["userCode"].is_null()),
                other => panic!("{other}: {flow}"),
            }
            if state != "pending" {
                let before = finals.entry(id.clone()).or_insert_with(|| flow.clone());
                assert_eq!(*before, flow, "what is over stays as it is");
            }
        }
    }
    *listener.lock().unwrap() = None;
    let asked = site.asked();
    let begun = asked.iter().filter(|one| one.path == "/device").count();
    let wanted = (0..KILLS).filter(|kill| kill % 3 != 2).count();
    assert!(
        begun <= wanted,
        "{begun} codes were asked for by {wanted} flows"
    );
    let connected = finals.values().filter(|flow| flow["state"] == "connected");
    let listed = done(&server, "GET", "/api/connectors/connections", None, 200);
    let listed = listed["connections"].as_array().expect("connections").len();
    assert_eq!(
        listed,
        connected.count(),
        "one connection for each that ended well"
    );
}
