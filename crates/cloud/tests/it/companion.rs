//! A companion service of one test, and what is asked of it.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use guildhall_cloud::{
    CompanionConfig, PaymentSetup, accounts,
    settings::{self, HttpOrigin},
    store::Store,
    stripe::{STRIPE_WAIT, StripeClient},
};
use guildhall_domain::Timestamp;
use guildhall_world::{
    clock::Clock,
    http_client::{HttpClient, ListenerPorts},
    scratch::Scratch,
};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};
use url::form_urlencoded;

use crate::soon;

/// A service on a port of its own; it ends with the test.
pub(crate) struct TestCompanion {
    pub(crate) address: SocketAddr,
    pub(crate) clock: Clock,
    pub(crate) database: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
    _folder: Scratch,
}

/// How it is set up.
#[derive(Default)]
pub(crate) struct CompanionOptions {
    /// Where the payment service is; none without.
    pub(crate) stripe: Option<String>,
    pub(crate) topup_price: Option<&'static str>,
    pub(crate) public: Option<&'static str>,
    /// How long the payment service is waited for; as long as ever without.
    pub(crate) patience: Option<Duration>,
}

/// The key of the payment service in tests.
pub(crate) const STRIPE_KEY: &str = "sk_test_canary_51";
/// The password of tests.
pub(crate) const PASSWORD: &str = "correct horse battery";

impl TestCompanion {
    pub(crate) async fn open() -> Self {
        Self::with(CompanionOptions::default()).await
    }

    #[expect(clippy::disallowed_methods, reason = "a test has no supervisor")]
    pub(crate) async fn with(options: CompanionOptions) -> Self {
        let folder = Scratch::new("cloud");
        let database = folder.path().join("cloud.sqlite");
        let clock = Clock::scripted(Timestamp::from_millis(1_795_232_252_114));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let paid = options.stripe.map(|base| {
            let file = folder.path().join("stripe-key");
            std::fs::write(&file, format!("{STRIPE_KEY}\n")).unwrap();
            let base = HttpOrigin::read("base", &base).unwrap();
            let key = settings::read_key(&file).unwrap();
            PaymentSetup {
                stripe: StripeClient::new(
                    HttpClient::open(ListenerPorts::default()).unwrap(),
                    base,
                    key,
                )
                .with_timeout(options.patience.unwrap_or(STRIPE_WAIT)),
                topup_price: options.topup_price.map(Arc::from),
            }
        });
        let public = options
            .public
            .map(|url| HttpOrigin::read("url", url).unwrap());
        let opening = CompanionConfig {
            store: Store::open(&database).unwrap(),
            clock: clock.clone(),
            public,
            paid,
        };
        let companion = opening.behind(listener, address).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(companion.serve(async move {
            // A test that is over is a stop as well.
            let _ = stopped.await;
        }));
        Self {
            address,
            clock,
            database,
            stop: Some(stop),
            serving: Some(serving),
            _folder: folder,
        }
    }

    /// Ends it in good order.
    pub(crate) async fn stop(&mut self) {
        drop(self.stop.take());
        soon("the end", self.serving.take().unwrap()).await.unwrap();
    }

    /// The one-time link of an account, without its origin.
    pub(crate) async fn invite(&self, email: &str) -> String {
        let store = Store::open(&self.database).unwrap();
        let public = HttpOrigin::at(self.address).unwrap();
        let link = accounts::add(&store, &public, email, self.clock.now())
            .await
            .unwrap();
        let origin = format!("http://{}", self.address);
        link.strip_prefix(&origin).unwrap().to_owned()
    }

    pub(crate) async fn send(&self, request: Request<Bytes>) -> CompanionResponse {
        send(self.address, request).await
    }

    pub(crate) async fn get(&self, path: &str) -> CompanionResponse {
        let request = Request::get(path).body(Bytes::new()).unwrap();
        self.send(request).await
    }

    /// Posts a form as an instance does.
    pub(crate) async fn form(&self, path: &str, fields: &[(&str, &str)]) -> CompanionResponse {
        self.send(form(path, fields)).await
    }

    /// Asks something with an instance's key.
    pub(crate) async fn get_with_key(
        &self,
        method: &str,
        path: &str,
        key: &str,
        body: Option<Value>,
    ) -> CompanionResponse {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {key}"));
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        self.send(request.body(body.into()).unwrap()).await
    }

    /// Codes for one instance.
    pub(crate) async fn device(&self, name: &str) -> Value {
        let fields = [
            ("client_id", "guildhall-instance"),
            ("scope", "instance"),
            ("name", name),
        ];
        self.form("/oauth/device", &fields).await.ok()
    }

    /// Asks for the key of a device.
    pub(crate) async fn poll(&self, device: &Value) -> CompanionResponse {
        self.form("/oauth/token", &token_fields(device)).await
    }

    /// The key of an instance that `email` let in.
    pub(crate) async fn link(&self, email: &str) -> String {
        let browser = self.browser(email).await;
        let device = self.device("workshop").await;
        browser
            .decide(&device, "approve")
            .await
            .shows(200, "It is linked");
        let answer = self.poll(&device).await.ok();
        answer["access_token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn heartbeat(&self, key: &str) -> CompanionResponse {
        let ask = json!({"name": "workshop", "platform": "linux", "version": "0.1.0"});
        self.get_with_key("POST", "/v1/instances/heartbeat", key, Some(ask))
            .await
    }
}

/// What a device sends when it asks for its key.
pub(crate) fn token_fields(device: &Value) -> [(&str, &str); 3] {
    [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("device_code", device["device_code"].as_str().unwrap()),
        ("client_id", "guildhall-instance"),
    ]
}

pub(crate) fn form(path: &str, fields: &[(&str, &str)]) -> Request<Bytes> {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    Request::post(path)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body.into())
        .unwrap()
}

/// Sends a request whose address is a path.
pub(crate) async fn send(address: SocketAddr, request: Request<Bytes>) -> CompanionResponse {
    let (mut head, body) = request.into_parts();
    head.uri = format!("http://{address}{}", head.uri).parse().unwrap();
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let asked = client.request(Request::from_parts(head, Full::new(body)));
    let answer = soon("an answer", asked).await.unwrap();
    let (head, body) = answer.into_parts();
    let body = soon("its body", body.collect()).await.unwrap().to_bytes();
    CompanionResponse {
        status: head.status,
        headers: head.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct CompanionResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl CompanionResponse {
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The body of a success.
    pub(crate) fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }

    /// A page with this status that says this.
    pub(crate) fn shows(self, status: u16, says: &str) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        assert!(
            self.header("content-type").starts_with("text/html"),
            "{self:?}"
        );
        assert!(self.body.contains(says), "{says}: {self:?}");
        self
    }

    /// An error of OAuth.
    pub(crate) fn error(self, status: u16, error: &str) {
        assert_eq!(self.json(), json!({"error": error}));
        assert_eq!(self.status, status);
        assert_eq!(self.header("cache-control"), "no-store");
    }

    /// A problem with this code.
    pub(crate) fn problem(self, status: u16, code: &str) -> Value {
        let problem = self.json();
        assert_eq!(problem["code"], code, "{self:?}");
        assert_eq!(problem["status"], status, "{self:?}");
        assert_eq!(self.status, status);
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.header("cache-control"), "no-store");
        assert!(
            problem["instance"]
                .as_str()
                .unwrap()
                .starts_with("urn:uuid:")
        );
        problem
    }
}
