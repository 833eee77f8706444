//! The listener over real sockets: what each bound holds back, and what it lets through.

use axum::{Extension, routing::get};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
};

use super::*;

const SHORT: Duration = Duration::from_millis(150);
/// How long a test waits for something that must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What `/wait` and its test tell each other.
#[derive(Clone)]
struct Stage {
    entered: mpsc::UnboundedSender<()>,
    release: Arc<Notify>,
}

struct TestDoor {
    address: SocketAddr,
    entered: mpsc::UnboundedReceiver<()>,
    release: Arc<Notify>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl TestDoor {
    #[expect(clippy::disallowed_methods, reason = "a test has no supervisor")]
    async fn open(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (entered, has_entered) = mpsc::unbounded_channel();
        let release = Arc::<Notify>::default();
        let stage = Stage {
            entered,
            release: Arc::clone(&release),
        };
        let router = Router::new()
            .route("/", get(async || "here"))
            .route("/wait", get(wait))
            .route("/much", get(async || "x".repeat(64 * 1_024 * 1_024)))
            .layer(Extension(stage));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(serve(listener, router, limits, async move {
            // A test that is over is a stop as well.
            let _ = stopped.await;
        }));
        Self {
            address,
            entered: has_entered,
            release,
            stop: Some(stop),
            serving,
        }
    }

    /// A connection that sent these bytes.
    async fn sends(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    async fn waits(&mut self) -> TcpStream {
        let stream = self.sends("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n").await;
        soon(self.entered.recv()).await.unwrap();
        stream
    }
}

async fn wait(Extension(stage): Extension<Stage>) -> &'static str {
    stage.entered.send(()).unwrap();
    stage.release.notified().await;
    "waited"
}

async fn soon<T>(it: impl Future<Output = T>) -> T {
    timeout(PATIENCE, it).await.unwrap()
}

/// Everything that comes until the other side closes or cuts.
async fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A cut is an end as well.
    let _ = soon(stream.read_to_end(&mut bytes)).await;
    String::from_utf8(bytes).unwrap()
}

const HERE: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const HERE_AND_CLOSE: &str = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn a_head_that_does_not_come_and_a_connection_that_rests_too_long_are_ended() {
    let door = TestDoor::open(Limits {
        head_wait: SHORT,
        ..Limits::default()
    })
    .await;
    assert!(!rest(door.sends("GET / HT").await).await.contains("here"));
    assert_eq!(rest(door.sends("").await).await, "");
    assert!(rest(door.sends(HERE).await).await.ends_with("here"));
}

#[tokio::test]
async fn a_head_beyond_its_bound_is_refused() {
    let door = TestDoor::open(Limits::default()).await;
    let head = |len| {
        let long = "x".repeat(len);
        format!("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX: {long}\r\n\r\n")
    };
    let served = rest(door.sends(&head(HEAD_BYTES_MAX / 2)).await).await;
    assert!(served.ends_with("here"), "{served}");
    let refused = rest(door.sends(&head(2 * HEAD_BYTES_MAX)).await).await;
    assert!(!refused.contains("here"), "{refused}");
}

#[tokio::test]
async fn one_connection_too_many_waits_until_another_ends() {
    let mut door = TestDoor::open(Limits {
        connections_max: 1,
        ..Limits::default()
    })
    .await;
    let first = door.waits().await;
    let mut second = door.sends(HERE_AND_CLOSE).await;
    let mut byte = [0];
    let is_served = timeout(SHORT, second.read(&mut byte)).await;
    assert!(is_served.is_err(), "it waits");
    drop(first);
    door.release.notify_one();
    assert!(rest(second).await.ends_with("here"));
}

#[tokio::test]
async fn whoever_takes_no_bytes_holds_no_place_for_ever() {
    let door = TestDoor::open(Limits {
        connections_max: 1,
        age_max: SHORT,
        last_wait: SHORT,
        ..Limits::default()
    })
    .await;
    let greedy = door.sends("GET /much HTTP/1.1\r\nHost: h\r\n\r\n").await;
    assert!(
        rest(door.sends(HERE_AND_CLOSE).await)
            .await
            .ends_with("here")
    );
    drop(greedy);
}

#[tokio::test]
async fn an_old_connection_ends_after_the_answer_it_waits_for() {
    let mut door = TestDoor::open(Limits {
        age_max: 4 * SHORT,
        ..Limits::default()
    })
    .await;
    let mut waiting = door.waits().await;
    let mut byte = [0];
    let answered = timeout(6 * SHORT, waiting.read(&mut byte)).await;
    assert!(answered.is_err(), "it is not cut");
    door.release.notify_one();
    assert!(rest(waiting).await.ends_with("waited"));
}

#[tokio::test]
async fn a_stop_lets_requests_end_and_cuts_those_that_do_not() {
    for (stop_grace, ends) in [(PATIENCE, true), (SHORT, false)] {
        let mut door = TestDoor::open(Limits {
            stop_grace,
            ..Limits::default()
        })
        .await;
        let (mut resting, waiting) = (door.sends(HERE).await, door.waits().await);
        let mut answer = Vec::new();
        while !answer.ends_with(b"here") {
            assert_ne!(soon(resting.read_buf(&mut answer)).await.unwrap(), 0);
        }
        drop(door.stop.take());
        assert_eq!(rest(resting).await, "");
        assert!(TcpStream::connect(door.address).await.is_err());
        if ends {
            door.release.notify_one();
        }
        assert_eq!(rest(waiting).await.ends_with("waited"), ends);
        soon(door.serving).await.unwrap();
    }
}
