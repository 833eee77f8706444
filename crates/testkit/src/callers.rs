//! Callers: somebody who asks, from an address and with the credentials of its kind.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::{TcpSocket, TcpStream},
    task::JoinSet,
};

use crate::{responses::TestResponse, soon};

/// Where the hall listens now; a restart moves it.
#[derive(Clone, Debug, Default)]
pub(crate) struct HallAddress(pub(crate) Arc<AtomicU16>);

impl HallAddress {
    pub(crate) fn socket(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.0.load(Ordering::SeqCst)).into()
    }
}

/// Somebody who asks.
#[derive(Clone, Debug)]
pub struct TestCaller {
    address: HallAddress,
    source: Ipv4Addr,
    headers: Vec<(String, String)>,
    /// What the cookie of its sign-in holds; `""` for who has none.
    cookie: String,
    author: String,
    agent: String,
    token: String,
}

impl TestCaller {
    pub(crate) fn new(address: HallAddress, source: Ipv4Addr, author: String) -> Self {
        Self {
            address,
            source,
            headers: Vec::new(),
            cookie: String::new(),
            author,
            agent: String::new(),
            token: String::new(),
        }
    }

    /// The same at another listener of its server, showing the cookie of the one it asked before.
    pub(crate) fn at_listener(mut self, listener: &HallAddress) -> Self {
        if !self.cookie.is_empty() {
            let cookie = format!("guildhall_{}={}", self.address.socket().port(), self.cookie);
            self.cookie.clear();
            self = self.with("cookie", &cookie);
        }
        self.address = listener.clone();
        self
    }

    /// The same, signed in with this cookie.
    #[must_use]
    pub fn signed_in(mut self, cookie: String, author: String) -> Self {
        (self.cookie, self.author) = (cookie, author);
        self
    }

    /// The same, at another address.
    pub(crate) fn at(mut self, source: Ipv4Addr) -> Self {
        self.source = source;
        self
    }

    pub(crate) fn being_agent(mut self, agent: &str, token: &str) -> Self {
        agent.clone_into(&mut self.agent);
        token.clone_into(&mut self.token);
        self.with_agent_token(token)
    }

    /// The same, with one more header on every request.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, showing this agent token and no other.
    #[must_use]
    pub fn with_agent_token(mut self, token: &str) -> Self {
        self.headers.retain(|(name, _)| name != "x-service-agent");
        token.clone_into(&mut self.token);
        self.with("x-service-agent", token)
    }

    /// The same at the server's own computer, showing no cookie.
    #[must_use]
    pub fn on_loopback(mut self) -> Self {
        self.cookie.clear();
        self.at(Ipv4Addr::LOCALHOST)
    }

    /// The same, showing this API key instead of a cookie.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        self.cookie.clear();
        self.with("authorization", &format!("Bearer {key}"))
    }

    /// What the cookie of its sign-in holds; `""` for who has none.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The id of the author it writes as; `""` for nobody.
    pub fn author(&self) -> &str {
        &self.author
    }

    /// The id of the agent it is; `""` for people.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The token it shows; `""` for people.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The address of its author.
    pub fn author_url(&self) -> String {
        format!("/api/rooms/authors/{}", self.author)
    }

    /// The address of its handle.
    pub fn handle_url(&self) -> String {
        format!("{}/handle", self.author_url())
    }

    /// Begins a request.
    pub fn ask(&self, method: &str, path: &str) -> TestRequest {
        TestRequest {
            caller: self.clone(),
            method: method.to_owned(),
            path: path.to_owned(),
            headers: self.headers(),
            body: Bytes::new(),
        }
    }

    /// `GET`.
    pub async fn get(&self, path: &str) -> TestResponse {
        self.ask("GET", path).send().await
    }

    /// `HEAD`.
    pub async fn head(&self, path: &str) -> TestResponse {
        self.ask("HEAD", path).send().await
    }

    /// `DELETE`.
    pub async fn delete(&self, path: &str) -> TestResponse {
        self.ask("DELETE", path).send().await
    }

    /// `POST` of a JSON body.
    pub async fn post(&self, path: &str, body: Value) -> TestResponse {
        self.ask("POST", path).json(&body).send().await
    }

    /// `PATCH` with a JSON body.
    pub async fn patch(&self, path: &str, body: Value) -> TestResponse {
        self.ask("PATCH", path).json(&body).send().await
    }

    /// [`TestRequest::approved`] of a `POST` of a JSON body.
    pub async fn post_approved(&self, path: &str, body: Value) -> TestResponse {
        self.ask("POST", path).json(&body).approved().await
    }

    /// [`TestRequest::approved`] of a `PATCH` with a JSON body.
    pub async fn patch_approved(&self, path: &str, body: Value) -> TestResponse {
        self.ask("PATCH", path).json(&body).approved().await
    }

    /// `PUT` of a JSON body.
    pub async fn put(&self, path: &str, body: Value) -> TestResponse {
        self.ask("PUT", path).json(&body).send().await
    }

    /// A connection from this caller's address.
    pub(crate) async fn connect(&self) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((self.source, 0).into()).unwrap();
        let address = self.address.socket();
        soon("a connection", socket.connect(address)).await.unwrap()
    }

    /// The headers of every request of this caller.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let mut headers = self.headers.clone();
        if !self.cookie.is_empty() {
            let port = self.address.socket().port();
            let cookie = format!("guildhall_{port}={}", self.cookie);
            headers.push(("cookie".to_owned(), cookie));
        }
        headers
    }

    pub(crate) fn host(&self) -> String {
        self.address.socket().to_string()
    }
}

/// A request that is not sent yet.
#[derive(Clone, Debug)]
pub struct TestRequest {
    caller: TestCaller,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
}

/// A connection that lives as long as its answer is read.
pub(crate) struct TestConnection {
    pub(crate) response: Response<Incoming>,
    pub(crate) driver: JoinSet<()>,
    pub(crate) asked: String,
}

impl TestRequest {
    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends `json`.
    #[must_use]
    pub fn json(self, json: &Value) -> Self {
        self.header("content-type", "application/json")
            .body(json.to_string())
    }

    /// Sends these bytes.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends the request and reads the whole answer; of a stream only its head.
    pub async fn send(self) -> TestResponse {
        self.begin().await.read().await
    }

    /// Sends a request that needs a card, has its caller say yes to what the card shows, and sends
    /// it again; a refusal is answered as it came.
    pub async fn approved(self) -> TestResponse {
        let first = self.clone().header("prefer", "wait=0").send().await;
        if first.status >= 400 {
            return first;
        }
        let required = first.ok(202);
        let text = |name: &str| required[name].as_str().expect("a text").to_owned();
        let card = format!("/api/approvals/{}", text("approvalId"));
        let shown = self.caller.get(&card).await.ok(200);
        let yes = json!({"digest": shown["digest"]});
        let granted = self.caller.post(&format!("{card}/grant"), yes).await;
        granted.ok(200);
        let again = self.header("x-service-approval", &text("approvalToken"));
        again.send().await
    }

    /// Sends the request and reads nothing but the head of the answer yet.
    pub async fn begin(self) -> UnreadResponse {
        UnreadResponse(self.open().await)
    }
    /// Sends the request and reads the head of the answer.
    pub(crate) async fn open(self) -> TestConnection {
        let asked = format!("{} {}", self.method, self.path);
        let mut request = Request::builder()
            .method(self.method.as_str())
            .uri(&self.path)
            .header("host", self.caller.host());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(self.body)).unwrap();
        let io = TokioIo::new(self.caller.connect().await);
        let (mut sender, connection) = http1::handshake(io).await.unwrap();
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // What breaks a connection shows in its answer.
            let _ = connection.await;
        });
        let response = soon(&asked, sender.send_request(request))
            .await
            .unwrap_or_else(|error| panic!("{asked}: {error}"));
        TestConnection {
            response,
            driver,
            asked,
        }
    }
}

/// An answer whose body waits to be read; dropping it closes its connection.
pub struct UnreadResponse(TestConnection);

impl UnreadResponse {
    /// Reads the whole answer; of a stream only its head.
    pub async fn read(self) -> TestResponse {
        let TestConnection {
            response,
            driver,
            asked,
        } = self.0;
        let (head, body) = response.into_parts();
        let is_stream = head
            .headers
            .get("content-type")
            .is_some_and(|kind| kind == "text/event-stream");
        if is_stream {
            return TestResponse::new(asked, head.status.as_u16(), head.headers, Bytes::new());
        }
        let whole = soon(&format!("the body of {asked}"), body.collect()).await;
        let bytes = whole.expect("a whole body").to_bytes();
        drop(driver);
        TestResponse::new(asked, head.status.as_u16(), head.headers, bytes)
    }
}
