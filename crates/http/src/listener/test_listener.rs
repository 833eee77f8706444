//! A listener with a few routes and raw clients, for tests over real sockets.

use std::{
    io,
    net::Ipv4Addr,
    sync::atomic::{AtomicUsize, Ordering},
    task::Poll,
};

use axum::{
    Extension,
    body::Body,
    extract::{State, ws::WebSocketUpgrade},
    http::StatusCode,
    response::Response,
    routing::{any, get, post},
};
use bytes::Bytes;
use futures_util::StreamExt;
use guildhall_hall::peer_lookup::ScriptedPeers;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{Notify, mpsc, oneshot},
    task::JoinSet,
};

use super::*;
use crate::origin::AllowedSources;

pub(super) const SHORT: Duration = Duration::from_millis(150);
pub(super) const LONG: Duration = Duration::from_secs(60);

/// What handlers and tests tell each other.
#[derive(Clone)]
pub(super) struct HandlerSignals {
    /// How many requests reached a handler.
    pub(super) handled: Arc<AtomicUsize>,
    /// Says that `/wait` or `/change` is running, and that `/change` is done.
    entered: mpsc::UnboundedSender<()>,
    /// Lets one `/wait` or `/change` go on.
    pub(super) release: Arc<Notify>,
    /// Says that a body of `/flood` or `/stream` is gone.
    body_gone: mpsc::UnboundedSender<()>,
}

pub(super) struct TestListener {
    pub(super) address: SocketAddr,
    pub(super) stage: HandlerSignals,
    pub(super) entered: mpsc::UnboundedReceiver<()>,
    pub(super) body_gone: mpsc::UnboundedReceiver<()>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinSet<()>,
}

/// A body that never ends: endless bytes, or silence after the first ones.
struct EndlessBody {
    is_silent: bool,
    has_begun: bool,
    gone: mpsc::UnboundedSender<()>,
}

impl futures_util::Stream for EndlessBody {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _cx: &mut std::task::Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        if self.is_silent && self.has_begun {
            return Poll::Pending;
        }
        self.has_begun = true;
        Poll::Ready(Some(Ok(Bytes::from_static(&[b'x'; 16 * 1_024]))))
    }
}

impl Drop for EndlessBody {
    fn drop(&mut self) {
        let _ = self.gone.send(());
    }
}

fn endless(stage: &HandlerSignals, is_silent: bool) -> Body {
    Body::from_stream(EndlessBody {
        is_silent,
        has_begun: false,
        gone: stage.body_gone.clone(),
    })
}

fn routes(stage: HandlerSignals) -> Router {
    Router::new()
        .route(
            "/",
            any(|State(stage): State<HandlerSignals>| async move {
                stage.handled.fetch_add(1, Ordering::SeqCst);
                "hello"
            }),
        )
        .route(
            "/wait",
            get(|State(stage): State<HandlerSignals>| async move {
                stage.entered.send(()).unwrap();
                stage.release.notified().await;
                "waited"
            }),
        )
        .route(
            "/change",
            post(|State(stage): State<HandlerSignals>| async move {
                stage.entered.send(()).unwrap();
                stage.release.notified().await;
                stage.entered.send(()).unwrap();
            }),
        )
        .route(
            "/flood",
            get(|State(stage): State<HandlerSignals>| async move { endless(&stage, false) }),
        )
        .route(
            "/stream",
            get(|State(stage): State<HandlerSignals>| async move { endless(&stage, true) }),
        )
        .route(
            "/peer",
            get(|Extension(peer): Extension<ConnectionPeer>| async move { format!("{:?}", peer.word) }),
        )
        .route("/read", post(read))
        .route("/api/auth/login", post(read))
        .route("/panic", get(panicking))
        .route("/echo", get(echo))
        .with_state(stage)
}

async fn panicking() -> StatusCode {
    panic!("on purpose")
}

async fn read(State(stage): State<HandlerSignals>, body: Body) -> Result<String, StatusCode> {
    let mut body = body.into_data_stream();
    let mut bytes = 0;
    while let Some(part) = body.next().await {
        bytes += part.map_err(|_| StatusCode::BAD_REQUEST)?.len();
        // Says that a body began.
        let _ = stage.entered.send(());
    }
    Ok(format!("{bytes} bytes"))
}

async fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|mut socket| async move {
        while let Some(Ok(message)) = socket.recv().await {
            if socket.send(message).await.is_err() {
                break;
            }
        }
    })
}

impl TestListener {
    pub(super) async fn open(limits: Limits) -> Self {
        Self::open_with(limits, PeerLookup::Scripted(ScriptedPeers::default())).await
    }

    pub(super) async fn open_with(limits: Limits, peers: PeerLookup) -> Self {
        Self::open_wholly(limits, peers, AllowedSources::default()).await
    }

    pub(super) async fn open_behind(allowed: AllowedSources) -> Self {
        let peers = PeerLookup::Scripted(ScriptedPeers::default());
        Self::open_wholly(Limits::default(), peers, allowed).await
    }

    async fn open_wholly(limits: Limits, peers: PeerLookup, allowed: AllowedSources) -> Self {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = socket.local_addr().unwrap();
        let (entered_sender, entered) = mpsc::unbounded_channel();
        let (gone_sender, body_gone) = mpsc::unbounded_channel();
        let stage = HandlerSignals {
            handled: Arc::default(),
            entered: entered_sender,
            release: Arc::default(),
            body_gone: gone_sender,
        };
        let listener = Listener {
            router: routes(stage.clone()),
            guards: Guards::new(allowed, || "id-of-the-door".to_owned()),
            limits,
            peers,
            metrics: Arc::new(Metrics::new().unwrap()),
            tasks: Tasks::default(),
        };
        let (stop, stopped) = oneshot::channel();
        let mut serving = JoinSet::new();
        serving.spawn(listener.serve(vec![socket], async {
            let _ = stopped.await;
        }));
        Self {
            address,
            stage,
            entered,
            body_gone,
            stop: Some(stop),
            serving,
        }
    }

    pub(super) async fn connect(&self) -> RawClient {
        RawClient(TcpStream::connect(self.address).await.unwrap())
    }

    /// One request on a connection of its own.
    pub(super) async fn ask(&self, request_line: &str) -> RawResponse {
        let mut client = self.connect().await;
        client
            .send(&format!(
                "{request_line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            ))
            .await;
        client.answer().await
    }

    /// Whether there is a place for another connection.
    pub(super) async fn serves_another(&self) -> bool {
        let mut client = self.connect().await;
        let ask = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let mut answer = Vec::new();
        client.0.write_all(ask).await.is_ok()
            && client.0.read_to_end(&mut answer).await.is_ok()
            && !answer.is_empty()
    }

    pub(super) fn begin_to_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    pub(super) async fn stopped(&mut self) {
        self.serving.join_next().await.unwrap().unwrap();
    }
}

pub(super) struct RawClient(pub(super) TcpStream);

impl RawClient {
    pub(super) async fn send(&mut self, bytes: &str) {
        self.0.write_all(bytes.as_bytes()).await.unwrap();
    }

    pub(super) async fn get(&mut self, path: &str) {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            .await;
    }

    /// Everything until the server closes.
    pub(super) async fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes).await.unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// The one answer before the server closes.
    pub(super) async fn answer(&mut self) -> RawResponse {
        RawResponse::parse(&self.rest().await)
    }

    /// The head and body of the next answer on a connection that stays open.
    pub(super) async fn next_answer(&mut self) -> RawResponse {
        let mut text = String::new();
        loop {
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = RawResponse::parse(head).header("content-length").to_owned();
                if body.len() >= length.parse().unwrap() {
                    return RawResponse::parse(&text);
                }
            }
            let mut bytes = [0; 4_096];
            let read = self.0.read(&mut bytes).await.unwrap();
            assert_ne!(read, 0, "closed after {text:?}");
            text.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        }
    }

    /// Waits until the server closed; an orderly close and a reset count alike.
    pub(super) async fn closed(&mut self) {
        let mut byte = [0];
        assert!(matches!(self.0.read(&mut byte).await, Ok(0) | Err(_)));
    }
}

#[derive(Debug)]
pub(super) struct RawResponse {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl RawResponse {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Self {
            status: status.unwrap_or_else(|| panic!("no answer: {text:?}")),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .unwrap_or_else(|| panic!("no {name} in {}", self.head))
            .1
    }

    /// Asserts that this is the envelope with this status and code.
    pub(super) fn refused(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/json");
        assert_eq!(self.header("content-length"), self.body.len().to_string());
        assert_eq!(self.header("x-request-id"), "id-of-the-door");
        assert_eq!(self.header("x-content-type-options"), "nosniff");
        assert_eq!(self.header("referrer-policy"), "no-referrer");
        let body: Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(body["code"], code);
        assert!(body["error"].is_string() && body.get("details").is_some());
    }
}
