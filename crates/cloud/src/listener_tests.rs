//! The service over real sockets: what it says of requests that the listener does not let through,
//! and where requests come from. What each bound holds back is tried at the server's listener.

use std::{net::SocketAddr, time::Duration};

use axum::{
    Extension,
    routing::{get, post},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{Notify, mpsc},
    task::JoinSet,
    time::timeout,
};

use super::*;

const SHORT: Duration = Duration::from_millis(150);
/// How long a test waits for something that must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What `/wait` and its test tell each other.
#[derive(Clone)]
struct WaitRouteState {
    entered: mpsc::UnboundedSender<()>,
    release: Arc<Notify>,
}

struct TestService {
    address: SocketAddr,
    entered: mpsc::UnboundedReceiver<()>,
    release: Arc<Notify>,
    /// Ends with the test.
    _serving: JoinSet<()>,
}

impl TestService {
    async fn open(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (entered, has_entered) = mpsc::unbounded_channel();
        let release = Arc::<Notify>::default();
        let waiting = WaitRouteState {
            entered,
            release: Arc::clone(&release),
        };
        let router = Router::new()
            .route("/", get(async || "here"))
            .route(
                "/source",
                get(async |ClientAddress(from): ClientAddress| from.to_string()),
            )
            .route("/wait", get(wait))
            .route("/read", post(async |body: String| body))
            .layer(Extension(waiting));
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, router, limits, std::future::pending()));
        Self {
            address,
            entered: has_entered,
            release,
            _serving: serving,
        }
    }

    /// A connection that sent these bytes.
    async fn sends(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// The answer to one request on a connection of its own.
    async fn asks(&self, path: &str, headers: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{headers}\r\n");
        rest(self.sends(&head).await).await
    }
}

async fn wait(Extension(waiting): Extension<WaitRouteState>) -> &'static str {
    waiting.entered.send(()).unwrap();
    waiting.release.notified().await;
    "waited"
}

/// Everything that comes until the other side closes or cuts.
async fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A cut is an end as well.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut bytes))
        .await
        .unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Status and code of the problem that was answered.
fn problem(answer: &str) -> (u16, String) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains("content-type: application/problem+json"),
        "{head}"
    );
    let body: Value = serde_json::from_str(body).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    assert_eq!(body["status"], status);
    (status, body["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn half_heads_keep_nobody_out() {
    let service = TestService::open(Limits {
        connections_max: 8,
        ..Limits::DEFAULT
    })
    .await;
    let mut halves = Vec::new();
    for _ in 0..9 {
        halves.push(service.sends("GET / HT").await);
    }
    assert!(service.asks("/", "").await.ends_with("here"));
    drop(halves);
}

#[tokio::test]
async fn what_cannot_be_read_is_a_problem() {
    let service = TestService::open(Limits {
        header_read: SHORT,
        ..Limits::DEFAULT
    })
    .await;
    let long = "x".repeat(200_000);
    for (sent, status) in [
        ("GET / HT".to_owned(), 408),
        ("nonsense\r\n\r\n".to_owned(), 400),
        (format!("GET /{long} HTTP/1.1\r\n"), 414),
        (
            format!("GET / HTTP/1.1\r\nHost: h\r\nX: {long}\r\n\r\n"),
            431,
        ),
    ] {
        let answer = rest(service.sends(&sent).await).await;
        let expected = (status, "MALFORMED_REQUEST".to_owned());
        assert_eq!(problem(&answer), expected);
    }
}

#[tokio::test]
async fn whoever_comes_when_all_places_are_taken_is_told_so_and_a_slow_body_gives_its_place_up() {
    let mut service = TestService::open(Limits {
        requests_in_flight_max: 1,
        ..Limits::DEFAULT
    })
    .await;
    let slow = service
        .sends("POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx")
        .await;
    let waiting = service
        .sends("GET /wait HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(
        problem(&rest(slow).await),
        (408, "MALFORMED_REQUEST".to_owned())
    );
    service.entered.recv().await.unwrap();
    let refused = service.asks("/", "").await;
    assert_eq!(problem(&refused), (503, "RATE_LIMITED".to_owned()));
    assert!(refused.contains("retry-after: 1\r\n"), "{refused}");
    service.release.notify_one();
    assert!(rest(waiting).await.ends_with("waited"));
}

#[tokio::test]
async fn a_proxy_on_this_computer_is_believed_whom_it_speaks_for() {
    let service = TestService::open(Limits::DEFAULT).await;
    for (headers, source) in [
        ("", "127.0.0.1"),
        (
            "X-Forwarded-For: 192.0.2.1, 198.51.100.7\r\n",
            "198.51.100.7",
        ),
        ("Forwarded: for=\"[2001:db8::1]:80\"\r\n", "2001:db8::1"),
        ("X-Forwarded-For: nonsense\r\n", "127.0.0.1"),
    ] {
        let answer = service.asks("/source", headers).await;
        assert!(answer.ends_with(&format!("\r\n{source}")), "{answer}");
    }
}
