//! A cloud service for tests: what it says is as the test wants it, and what it heard is kept.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use guildhall_domain::settings::{CLOUD_URL, SettingSource, SettingValue as Setting};
use guildhall_testkit::{HallOptions, TestHall, until};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinSet};

use crate::test_values::text;

/// What every key of this service holds.
pub(crate) const CANARY: &str = "ghc_canary";
/// What is only said when a code is asked for.
pub(crate) const DEVICE_CODE: &str = "canary-device-code";

/// What the service says next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceCodeReply {
    /// Nobody typed the code.
    Waiting,
    /// Somebody did, and agreed.
    Key,
    /// An error of OAuth.
    Error(&'static str),
    /// It is out of order.
    Broken,
}

#[derive(Default)]
struct StubState {
    /// Each request: its path and what it brought.
    requests: Vec<(String, String)>,
    keys: u32,
    revoked: Vec<String>,
    /// Whether the next key that is given back meets a service that is out of order.
    is_deaf: bool,
    word: Option<DeviceCodeReply>,
    /// Whether keys are no longer taken.
    is_closed: bool,
    /// What billing pages answer: the status, the media type, the body.
    page: Option<(u16, &'static str, Value)>,
    offers: Option<Value>,
}

/// The service.
pub(crate) struct CloudServiceStub {
    pub(crate) origin: String,
    heard: Arc<Mutex<StubState>>,
    /// How many answers about the code may leave.
    gate: Arc<Semaphore>,
    _serving: JoinSet<()>,
}

#[derive(Clone)]
struct StubContext {
    origin: String,
    heard: Arc<Mutex<StubState>>,
    gate: Arc<Semaphore>,
}

impl CloudServiceStub {
    /// A service whose answers about codes leave at once.
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    /// The same at an address of its own.
    pub(crate) async fn start_at(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::<Mutex<StubState>>::default();
        let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        let shared = StubContext {
            origin: origin.clone(),
            heard: Arc::clone(&heard),
            gate: Arc::clone(&gate),
        };
        let routes = Router::new().fallback(serve).with_state(shared);
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            origin,
            heard,
            gate,
            _serving: serving,
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut StubState) -> T) -> T {
        look(&mut self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says this from now on when it is asked about the code.
    pub(crate) fn says(&self, word: DeviceCodeReply) {
        self.with(|heard| heard.word = Some(word));
    }

    /// Takes no key any more.
    pub(crate) fn close(&self) {
        self.with(|heard| heard.is_closed = true);
    }

    /// Is out of order when the next key is given back.
    pub(crate) fn is_deaf_once(&self) {
        self.with(|heard| heard.is_deaf = true);
    }

    /// Answers this when it is asked for a billing page.
    pub(crate) fn page(&self, status: u16, media_type: &'static str, body: Value) {
        self.with(|heard| heard.page = Some((status, media_type, body)));
    }

    /// Answers this when it is asked for offers.
    pub(crate) fn offers(&self, offers: Value) {
        self.with(|heard| heard.offers = Some(offers));
    }

    /// Holds its answers about the code back from now on.
    pub(crate) async fn hold(&self) {
        let all = self.gate.acquire_many(u32::MAX >> 3).await;
        all.unwrap().forget();
        self.gate.forget_permits(Semaphore::MAX_PERMITS);
    }

    /// Lets one answer about the code go.
    pub(crate) fn let_go(&self) {
        self.gate.add_permits(1);
    }

    /// How often it was asked at this path.
    pub(crate) fn asked(&self, path: &str) -> usize {
        self.with(|heard| heard.requests.iter().filter(|(at, _)| at == path).count())
    }

    /// What the last request to this path brought.
    pub(crate) fn last(&self, path: &str) -> String {
        let found = |heard: &mut StubState| {
            let mut all = heard.requests.iter().rev();
            all.find(|(at, _)| at == path).map(|(_, body)| body.clone())
        };
        self.with(found).unwrap_or_default()
    }

    /// How often it was asked at all.
    pub(crate) fn requests(&self) -> usize {
        self.with(|heard| heard.requests.len())
    }

    /// The keys that were given back.
    pub(crate) fn revoked(&self) -> Vec<String> {
        self.with(|heard| heard.revoked.clone())
    }

    /// A hall that may be linked to it.
    pub(crate) fn options(&self) -> HallOptions {
        options_at(&self.origin)
    }
}

/// A hall that may be linked to the service at `origin`.
pub(crate) fn options_at(origin: &str) -> HallOptions {
    let url = Setting::Text(origin.to_owned());
    let configured = Box::new([(&CLOUD_URL, SettingSource::Flag, url)]);
    HallOptions {
        configured: Box::leak(configured),
        ..HallOptions::default()
    }
}

async fn serve(
    State(shared): State<StubContext>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().to_owned();
    let body = String::from_utf8_lossy(&body).into_owned();
    let with = |look: &mut dyn FnMut(&mut StubState)| {
        look(&mut shared.heard.lock().unwrap_or_else(PoisonError::into_inner));
    };
    with(&mut |heard| heard.requests.push((path.clone(), body.clone())));
    match path.as_str() {
        "/.well-known/oauth-authorization-server" => Json(json!({
            "issuer": shared.origin,
            "token_endpoint": format!("{}/oauth/token", shared.origin),
            "device_authorization_endpoint": format!("{}/oauth/device", shared.origin),
            "revocation_endpoint": format!("{}/oauth/revoke", shared.origin),
            "grant_types_supported": ["urn:ietf:params:oauth:grant-type:device_code"],
            "token_endpoint_auth_methods_supported": ["none"],
            "response_types_supported": [],
        }))
        .into_response(),
        "/oauth/device" => Json(json!({
            "device_code": DEVICE_CODE,
            "user_code": "BCDF-GHJK",
            "verification_uri": format!("{}/activate", shared.origin),
            "verification_uri_complete": format!("{}/activate?user_code=BCDF-GHJK", shared.origin),
            "expires_in": 1800,
            "interval": 1,
        }))
        .into_response(),
        "/oauth/token" => {
            let permit = shared.gate.acquire().await.unwrap();
            permit.forget();
            let mut answer = None;
            with(&mut |heard| answer = Some(about_the_code(heard)));
            answer.unwrap()
        }
        "/oauth/revoke" => {
            let mut is_deaf = false;
            with(&mut |heard| {
                is_deaf = std::mem::take(&mut heard.is_deaf);
                if !is_deaf {
                    heard.revoked.push(body.clone());
                }
            });
            let status = match is_deaf {
                true => StatusCode::BAD_GATEWAY,
                false => StatusCode::OK,
            };
            status.into_response()
        }
        _ => {
            let key = headers.get("authorization").and_then(|it| it.to_str().ok());
            let has_key = key.is_some_and(|key| key.starts_with(&format!("Bearer {CANARY}")));
            let mut answer = None;
            with(&mut |heard| answer = Some(for_holders(heard, &path, has_key)));
            answer.unwrap()
        }
    }
}

fn about_the_code(heard: &mut StubState) -> Response {
    let error =
        |word: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": word }))).into_response();
    match heard.word.unwrap_or(DeviceCodeReply::Waiting) {
        DeviceCodeReply::Waiting => error("authorization_pending"),
        DeviceCodeReply::Error(word) => error(word),
        DeviceCodeReply::Broken => StatusCode::BAD_GATEWAY.into_response(),
        DeviceCodeReply::Key => {
            heard.keys += 1;
            let token = format!("{CANARY}_{}", heard.keys);
            Json(json!({"access_token": token, "token_type": "Bearer"})).into_response()
        }
    }
}

fn for_holders(heard: &mut StubState, path: &str, has_key: bool) -> Response {
    if !has_key || heard.is_closed {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    match path {
        "/v1/instances/heartbeat" => Json(json!({"instanceId": "i1",
            "lastSeenAt": "2026-11-21T03:37:32.114Z", "accountLabel": "ada@cloud.example"}))
        .into_response(),
        "/v1/offers" => match &heard.offers {
            Some(offers) => Json(offers.clone()).into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        },
        "/v1/portal" | "/v1/checkout" | "/v1/topup" => match &heard.page {
            Some((status, media_type, body)) => {
                let status = StatusCode::from_u16(*status).unwrap();
                (status, [(CONTENT_TYPE, *media_type)], body.to_string()).into_response()
            }
            None => StatusCode::NOT_FOUND.into_response(),
        },
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The link as the owner sees it.
pub(crate) async fn link(t: &TestHall) -> Value {
    t.owner().get("/api/cloud/link/status").await.ok(200)
}

/// The link once it is in `state`. Looked at anew after each event.
pub(crate) async fn becomes(t: &TestHall, state: &str) -> Value {
    let mut stream = t.stream(&t.owner(), "/api/events", None).await;
    loop {
        let now = link(t).await;
        if now["state"] == state {
            return now;
        }
        stream.next().await;
    }
}

/// A hall that is linked to it, whose first heartbeat was answered.
pub(crate) async fn linked(cloud: &CloudServiceStub) -> TestHall {
    let t = TestHall::open_with(cloud.options()).await;
    cloud.says(DeviceCodeReply::Key);
    begin(&t).await;
    poll(&t).await;
    becomes(&t, "linked").await;
    t.owner()
        .post("/api/cloud/link/check", json!({}))
        .await
        .ok(200);
    t
}

/// Lets the time go by until the service is asked about the code; answers how many seconds that
/// took.
pub(crate) async fn poll(t: &TestHall) -> i64 {
    // A heartbeat is further off.
    let is_soon = || t.awaited_s().is_some_and(|seconds| seconds <= 60);
    until("a poll is due", is_soon).await;
    t.advance_to_awaited().await
}

/// Asks for a code.
pub(crate) async fn begin(t: &TestHall) -> String {
    let code = t.owner().post("/api/cloud/link/start", json!({})).await;
    text(&code.ok(200)["userCode"])
}
