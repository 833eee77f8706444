//! Signing in with connectors: how a flow begins and ends, what a restart makes of it, and what
//! becomes of its connection. Source: contract 5.4, 5.14.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use guildhall_testkit::{TestHall, soon};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::JoinSet};

use crate::test_values::text;

const CONNECTIONS: &str = "/api/connectors/connections";

pub(crate) fn wish(provider: &str, toolkit: &str, key: &str) -> Value {
    json!({"providerInstanceId": provider, "toolkit": toolkit, "idempotencyKey": key})
}

pub(crate) fn at(flow: &Value) -> String {
    format!(
        "/api/connectors/authentication-flows/{}",
        text(&flow["flowId"])
    )
}

/// The flow once it is no longer as `state`. Looked at anew after each event.
pub(crate) async fn after(t: &TestHall, flow: &Value, state: &str) -> Value {
    let mut stream = t.stream(&t.owner(), "/api/events", None).await;
    loop {
        let now = t.owner().get(&at(flow)).await.ok(200);
        if now["state"] != state {
            return now;
        }
        stream.next().await;
    }
}

/// The scripted instance of every installation.
async fn rehearsal(t: &TestHall) -> String {
    let all = t.owner().get("/api/connectors/providers").await.ok(200);
    let all = all["providers"].as_array().unwrap();
    let one = all.iter().find(|one| one["type"] == "rehearsal").unwrap();
    text(&one["id"])
}

/// An instance with the toolkit `notes`, which signs in by `auth`.
pub(crate) async fn instance(t: &TestHall, base: &str, auth: &Value, account: &Value) -> String {
    let ask = json!({"type": "openapi", "label": "Ours"});
    let made = t.owner().post("/api/connectors/providers", ask).await;
    let id = text(&made.ok(201)["id"]);
    put(t, &id, base, auth, account).await;
    id
}

async fn put(t: &TestHall, id: &str, base: &str, auth: &Value, account: &Value) {
    let document = json!({"openapi": "3.1.0", "info": {"title": "Notes", "version": "1"},
        "paths": {"/notes": {"get": {"operationId": "listNotes",
            "responses": {"200": {"description": "them"}}}}}});
    let mut toolkit = json!({"document": document, "baseUrl": base, "auth": auth});
    if account.is_object() {
        toolkit["account"] = account.clone();
    }
    let path = format!("/api/connectors/providers/{id}/toolkits/notes");
    t.owner()
        .ask("PUT", &path)
        .json(&toolkit)
        .send()
        .await
        .ok(200);
}

/// A service that knows one key, and a sign-in page that never answers.
struct KeyServiceStub {
    origin: String,
    is: Arc<StubState>,
    _serving: JoinSet<()>,
}

#[derive(Default)]
struct StubState {
    /// How often it was asked for a code to type.
    devices: AtomicUsize,
    /// Tells when it is.
    asked: Notify,
}

const KEY: &str = "canary-key-0123456789";
/// The key of another account.
const OTHER_KEY: &str = "another-account-0123456789";

impl KeyServiceStub {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let is = Arc::new(StubState::default());
        let routes = Router::new().fallback(serve).with_state(Arc::clone(&is));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            origin,
            is,
            _serving: serving,
        }
    }

    /// A way to sign in that begins with a request nobody answers.
    fn silent(&self) -> Value {
        json!({"kind": "oauth2", "flow": "device_code", "clientId": "us",
            "deviceUrl": format!("{}/device", self.origin),
            "tokenUrl": format!("{}/token", self.origin)})
    }
}

async fn serve(State(is): State<Arc<StubState>>, uri: Uri, headers: HeaderMap) -> Response {
    match uri.path() {
        "/me" if headers.get("x-key").is_some_and(|key| key == KEY) => {
            Json(json!({"login": "ada"})).into_response()
        }
        "/me" if headers.get("x-key").is_some_and(|key| key == OTHER_KEY) => {
            Json(json!({"login": "bob"})).into_response()
        }
        "/me" => StatusCode::UNAUTHORIZED.into_response(),
        "/device" => {
            is.devices.fetch_add(1, Ordering::SeqCst);
            is.asked.notify_one();
            std::future::pending().await
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn by_key() -> Value {
    json!({"kind": "api-key", "in": "header", "name": "x-key"})
}

fn me() -> Value {
    json!({"path": "/me", "pointer": "/login"})
}

#[tokio::test]
async fn a_service_that_asks_nothing_is_connected_by_itself() {
    let t = TestHall::open().await;
    let provider = rehearsal(&t).await;
    let ask = wish(&provider, "rehearsal", "one");
    let answer = t.owner().post(CONNECTIONS, ask.clone()).await;
    let place = answer.header("location").to_owned();
    let begun = answer.ok(201);
    assert_eq!(begun["state"], "starting");
    assert_eq!(place, at(&begun));
    let mut over = after(&t, &begun, "starting").await;
    if over["state"] == "pending" {
        over = after(&t, &begun, "pending").await;
    }
    assert_eq!(over["state"], "connected");
    let all = t.owner().get(CONNECTIONS).await.ok(200);
    let all = all["connections"].as_array().unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["id"], over["connectionId"]);
    assert_eq!(all[0]["readiness"]["state"], "ready");
    // The same wish again is the same flow, as it is now.
    let again = t.owner().post(CONNECTIONS, ask).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.ok(201), over);
}

#[tokio::test]
async fn one_key_begins_one_flow() {
    let t = TestHall::open().await;
    let provider = rehearsal(&t).await;
    let owner = t.owner();
    let ask = || wish(&provider, "rehearsal", "same");
    let (one, other) = tokio::join!(
        owner.post(CONNECTIONS, ask()),
        owner.post(CONNECTIONS, ask())
    );
    assert_eq!(one.ok(201)["flowId"], other.ok(201)["flowId"]);
    for other in [
        wish(&provider, "notes", "same"),
        wish("elsewhere", "rehearsal", "same"),
        json!({"providerInstanceId": provider, "toolkit": "rehearsal", "idempotencyKey": "same",
            "label": "Another"}),
    ] {
        let answer = owner.post(CONNECTIONS, other).await;
        answer.refused(409, "IDEMPOTENCY_CONFLICT");
    }
}

#[tokio::test]
async fn a_wish_is_refused_in_order_and_leaves_nothing() {
    let t = TestHall::open().await;
    let provider = rehearsal(&t).await;
    let owner = t.owner();
    let mut events = t.events();
    let mut closed = wish(&provider, "rehearsal", "k");
    closed["more"] = json!(1);
    for wrong in [json!({}), closed, wish("", "", "")] {
        let answer = owner.post(CONNECTIONS, wrong).await;
        answer.refused(400, "VALIDATION_FAILED");
    }
    let answer = owner
        .post(CONNECTIONS, wish("none", "rehearsal", "k"))
        .await;
    answer.refused(404, "PROVIDER_NOT_FOUND");
    for toolkit in ["none", "No Slug"] {
        let answer = owner.post(CONNECTIONS, wish(&provider, toolkit, "k")).await;
        answer.refused(404, "TOOLKIT_NOT_FOUND");
    }
    events.none();
}

#[tokio::test]
async fn a_typed_key_is_held_against_the_service_and_shown_nowhere() {
    let t = TestHall::open().await;
    let service = KeyServiceStub::start().await;
    let provider = instance(&t, &service.origin, &by_key(), &me()).await;
    let owner = t.owner();
    let mut ends = Vec::new();
    for (key, secret) in [("wrong", "another-key-0123456789"), ("right", KEY)] {
        let ask = wish(&provider, "notes", key);
        let begun = owner.post(CONNECTIONS, ask).await.ok(201);
        let waits = after(&t, &begun, "starting").await;
        assert_eq!(
            json!([waits["state"], waits["step"]]),
            json!(["pending", "credential"])
        );
        let path = format!("{}/credential", at(&begun));
        let entered = owner.post(&path, json!({"secret": secret})).await.ok(200);
        ends.push(entered["state"].clone());
        let again = owner.post(&path, json!({"secret": secret})).await;
        again.refused(409, "FLOW_NOT_WAITING");
    }
    assert_eq!(ends, ["failed", "connected"]);
    let all = owner.get(CONNECTIONS).await.ok(200);
    assert_eq!(all["connections"].as_array().unwrap().len(), 1);
    assert_eq!(all["connections"][0]["accountLabel"], "ada");
    assert!(!t.rows().contains(KEY), "it is sealed");
    assert!(!all.to_string().contains(KEY));
}

#[tokio::test]
async fn a_connection_is_reconnected_to_its_own_account_alone() {
    let t = TestHall::open().await;
    let service = KeyServiceStub::start().await;
    let provider = instance(&t, &service.origin, &by_key(), &me()).await;
    let owner = t.owner();
    let enter = async |flow: Value, secret: &str| {
        let waits = after(&t, &flow, "starting").await;
        let path = format!("{}/credential", at(&waits));
        owner.post(&path, json!({"secret": secret})).await.ok(200)
    };
    let begun = owner.post(CONNECTIONS, wish(&provider, "notes", "k")).await;
    let first = enter(begun.ok(201), KEY).await;
    let one = format!("{CONNECTIONS}/{}", text(&first["connectionId"]));
    for (secret, state, shown) in [
        (OTHER_KEY, "failed", ["paused", "ada"]),
        (KEY, "connected", ["connected", "ada"]),
    ] {
        let again = json!({"idempotencyKey": secret});
        let again = owner.post(&format!("{one}/reconnect"), again).await;
        let over = enter(again.ok(201), secret).await;
        assert_eq!(over["state"], state);
        let is_told = over["reason"]
            .as_str()
            .is_some_and(|it| it.contains("another account"));
        assert_eq!(is_told, state == "failed", "{over}");
        let kept = owner.get(&one).await.ok(200);
        assert_eq!(
            json!([kept["lifecycle"], kept["accountLabel"]]),
            json!(shown)
        );
    }
    let all = owner.get(CONNECTIONS).await.ok(200);
    assert_eq!(all["connections"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_was_being_started_at_the_end_of_a_server_is_never_sent_again() {
    let mut t = TestHall::open().await;
    let service = KeyServiceStub::start().await;
    let provider = instance(&t, &service.origin, &service.silent(), &Value::Null).await;
    let ask = wish(&provider, "notes", "k");
    let begun = t.owner().post(CONNECTIONS, ask.clone()).await.ok(201);
    soon("the service is asked", service.is.asked.notified()).await;
    t.restart().await;
    let over = t.owner().get(&at(&begun)).await.ok(200);
    assert_eq!(over["state"], "start_unknown");
    assert!(over["completedAt"].is_string());
    t.restart().await;
    // A final state stays, also for the same wish once more.
    assert_eq!(t.owner().get(&at(&begun)).await.ok(200), over);
    assert_eq!(t.owner().post(CONNECTIONS, ask).await.ok(201), over);
    assert_eq!(t.owner().delete(&at(&begun)).await.ok(200), over);
    assert_eq!(service.is.devices.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_flow_that_waits_outlives_a_restart_and_ends_with_its_time() {
    let mut t = TestHall::open().await;
    let service = KeyServiceStub::start().await;
    let provider = instance(&t, &service.origin, &by_key(), &me()).await;
    let begin = async |t: &TestHall, key: &str| {
        let ask = wish(&provider, "notes", key);
        let begun = t.owner().post(CONNECTIONS, ask).await.ok(201);
        after(t, &begun, "starting").await
    };
    let (taken, late) = (begin(&t, "taken").await, begin(&t, "late").await);
    t.restart().await;
    let path = format!("{}/credential", at(&taken));
    let entered = t.owner().post(&path, json!({"secret": KEY})).await.ok(200);
    assert_eq!(entered["state"], "connected");
    t.advance(15 * 60);
    let expired = t.owner().get(&at(&late)).await.ok(200);
    assert_eq!(expired["state"], "expired");
    assert_eq!(expired["completedAt"], late["expiresAt"]);
    let path = format!("{}/credential", at(&late));
    let answer = t.owner().post(&path, json!({"secret": KEY})).await;
    answer.refused(409, "FLOW_NOT_WAITING");
    let mut events = t.events();
    t.hall().end_due_connector_flows().await.unwrap();
    assert_eq!(events.next("connector_flow_changed")["state"], "expired");
    assert_eq!(t.owner().get(&at(&late)).await.ok(200), expired);
}

#[tokio::test]
async fn a_changed_instance_and_a_cancelled_flow_make_no_connection() {
    let t = TestHall::open().await;
    let service = KeyServiceStub::start().await;
    let provider = instance(&t, &service.origin, &by_key(), &me()).await;
    let owner = t.owner();
    let begin = async |key: &str| {
        let begun = owner.post(CONNECTIONS, wish(&provider, "notes", key)).await;
        after(&t, &begun.ok(201), "starting").await
    };
    let (cancelled, changed) = (begin("a").await, begin("b").await);
    let over = owner.delete(&at(&cancelled)).await.ok(200);
    assert_eq!(
        json!([over["state"], over["reason"], over["step"]]),
        json!(["failed", "cancelled", "none"])
    );
    put(&t, &provider, &service.origin, &by_key(), &me()).await;
    let path = format!("{}/credential", at(&changed));
    let entered = owner.post(&path, json!({"secret": KEY})).await.ok(200);
    assert_eq!(entered["state"], "failed");
    let all = owner.get(CONNECTIONS).await.ok(200);
    assert_eq!(all, json!({"connections": []}));
}

#[tokio::test]
async fn no_more_than_twenty_flows_are_open() {
    let t = TestHall::open().await;
    let service = KeyServiceStub::start().await;
    let provider = instance(&t, &service.origin, &by_key(), &me()).await;
    let owner = t.owner();
    for n in 0..20 {
        let ask = wish(&provider, "notes", &n.to_string());
        owner.post(CONNECTIONS, ask).await.ok(201);
    }
    let more = wish(&provider, "notes", "more");
    let answer = owner.post(CONNECTIONS, more.clone()).await;
    answer.refused(429, "TOO_MANY_FLOWS");
    t.advance(15 * 60);
    owner.post(CONNECTIONS, more).await.ok(201);
}

#[tokio::test]
async fn a_connection_is_held_given_up_and_removed_in_this_order() {
    let t = TestHall::open().await;
    let service = KeyServiceStub::start().await;
    let provider = instance(&t, &service.origin, &by_key(), &me()).await;
    let owner = t.owner();
    let begun = owner.post(CONNECTIONS, wish(&provider, "notes", "k")).await;
    let waits = after(&t, &begun.ok(201), "starting").await;
    let key = json!({"secret": KEY});
    let path = format!("{}/credential", at(&waits));
    let connected = owner.post(&path, key.clone()).await.ok(200);
    let one = format!("{CONNECTIONS}/{}", text(&connected["connectionId"]));
    let deed = async |deed: &str| owner.post(&format!("{one}/{deed}"), json!({})).await;
    let paused = deed("pause").await.ok(200);
    assert_eq!(paused["readiness"]["state"], "paused");
    assert_eq!(deed("resume").await.ok(200)["lifecycle"], "connected");
    let off = json!({"enabled": false, "label": "Mine"});
    let off = owner.patch(&one, off).await.ok(200);
    assert_eq!(
        json!([off["enabled"], off["label"]]),
        json!([false, "Mine"])
    );
    deed("remove")
        .await
        .refused(409, "CONNECTION_NOT_DISCONNECTED");
    // Signing in anew holds it, and ends with it.
    let again = owner
        .post(
            &format!("{one}/reconnect"),
            json!({"idempotencyKey": "again"}),
        )
        .await
        .ok(201);
    assert_eq!(again["reconnectOf"], connected["connectionId"]);
    assert_eq!(owner.get(&one).await.ok(200)["lifecycle"], "paused");
    let waits = after(&t, &again, "starting").await;
    let gone = owner.delete(&one).await.ok(200);
    assert_eq!(
        json!([
            gone["lifecycle"],
            gone["readiness"]["state"],
            gone["externalCleanup"]
        ]),
        json!(["disconnected", "gone", "not_required"])
    );
    assert_eq!(owner.get(&at(&waits)).await.ok(200)["state"], "failed");
    assert_eq!(owner.delete(&one).await.ok(200), gone);
    deed("resume").await.refused(409, "CONNECTION_DISCONNECTED");
    assert_eq!(deed("remove").await.status, 204);
    owner.get(&one).await.refused(404, "CONNECTION_NOT_FOUND");
}
