//! The listener: HTTP/1.1 over TCP, with its own accept loop and a deadline and a bound for
//! everything a peer can do. What a request means, who may send it, how a refusal is written and
//! what is counted is the [`Application`]'s.
//!
//! hyper's own timers are off: one timer a connection, driven by `deadlines`, covers the head, the
//! pause between requests and a peer that takes no bytes.

mod connection;
mod connections;
mod deadlines;
pub mod forwarded;
mod http1;
mod in_flight;
mod request_heads;

use std::{
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use http::{Request, Response};
use hyper::body::{Body, Incoming};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinError, JoinSet},
    time::{Instant, interval, sleep_until, timeout},
};

use self::connections::Connections;

pub use connection::Connection;
pub use forwarded::Forwarded;
pub use in_flight::{Admission, InFlight, OPEN_BODIES_MAX, RequestSlot, TrackedBody, with_close};
pub use request_heads::RequestHead;

/// Open connections.
pub const CONNECTIONS_MAX: usize = 8_192;
/// Open connections of one network beyond this machine, see
/// [`network_of`](guildhall_domain::attempt_limiter::network_of).
pub const CONNECTIONS_PER_STRANGER_MAX: usize = 256;
/// Requests being answered at one moment; a stream counts until its head is sent.
pub const REQUESTS_IN_FLIGHT_MAX: usize = 1_024;
/// Seconds a request's head may take, from its first byte; the first one from accept.
pub const HEADER_READ_S: u64 = 10;
/// Seconds a connection may rest between two requests.
pub const KEEPALIVE_IDLE_S: u64 = 75;
/// Seconds a peer may take no byte of what waits for it.
pub const STREAM_STALL_S: u64 = 30;
/// Seconds running requests get to finish when the server stops.
pub const SHUTDOWN_GRACE_S: u64 = 10;
/// Bytes of all header lines of a request together.
pub const HEADERS_BYTES_MAX: usize = 32 * 1_024;

/// How long accepting pauses when the system has no descriptor or memory left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How often [`Application::tick`] is called.
const TICK: Duration = Duration::from_secs(5);

/// The bounds of one listener. The default is the constants of this module; configuration may
/// raise them.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections, see [`CONNECTIONS_MAX`].
    pub connections_max: usize,
    /// Open connections of one foreign network, see [`CONNECTIONS_PER_STRANGER_MAX`].
    pub connections_per_stranger_max: usize,
    /// Requests being answered, see [`REQUESTS_IN_FLIGHT_MAX`].
    pub requests_in_flight_max: usize,
    /// Time for a head, see [`HEADER_READ_S`].
    pub header_read: Duration,
    /// Pause between requests, see [`KEEPALIVE_IDLE_S`].
    pub keepalive_idle: Duration,
    /// Patience with a peer that takes no bytes, see [`STREAM_STALL_S`].
    pub stream_stall: Duration,
    /// Time to finish when the server stops, see [`SHUTDOWN_GRACE_S`].
    pub shutdown_grace: Duration,
}

impl Limits {
    /// The bounds where nothing else is configured.
    pub const DEFAULT: Self = Self {
        connections_max: CONNECTIONS_MAX,
        connections_per_stranger_max: CONNECTIONS_PER_STRANGER_MAX,
        requests_in_flight_max: REQUESTS_IN_FLIGHT_MAX,
        header_read: Duration::from_secs(HEADER_READ_S),
        keepalive_idle: Duration::from_secs(KEEPALIVE_IDLE_S),
        stream_stall: Duration::from_secs(STREAM_STALL_S),
        shutdown_grace: Duration::from_secs(SHUTDOWN_GRACE_S),
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Why the listener itself does not let a request be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The request is not HTTP/1.1 as it should be.
    Unreadable,
    /// The request line is longer than can be read.
    TargetTooLong,
    /// The header lines are more, or longer, than can be read.
    HeadersTooLarge,
    /// The head did not arrive in time.
    HeadTimeout,
    /// The body did not arrive before others needed its place.
    BodyTimeout,
    /// As many requests are running as may run.
    Overloaded,
    /// The handler panicked.
    Broken,
}

/// What is behind a listener.
pub trait Application: Send + Sync + 'static {
    /// What is known of one connection for as long as it is open.
    type Peer: Send + Sync + 'static;
    /// The bodies of answers.
    type Body: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static;

    /// A connection was accepted; nothing was read of it yet.
    fn connected(&self, connection: Arc<Connection>) -> Self::Peer;

    /// Answers a request, whose head is complete. Answers to requests that were let through
    /// [`InFlight::run`] have its bounds.
    fn answer(
        &self,
        peer: &Self::Peer,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// The bytes of a whole answer to something that could not be read as a request; the
    /// connection ends with it.
    fn rejection(&self, rejection: Rejection) -> Vec<u8>;

    /// Whether [`Connection::head`] is wanted, which takes reading each head twice.
    fn inspects_heads(&self) -> bool {
        false
    }

    /// So many connections are open.
    fn connections(&self, _open: usize) {}

    /// Some seconds are over.
    fn tick(&self) {}
}

/// Serves all `listeners` until `shutdown` is over.
///
/// Then nothing new is accepted, resting connections close, running requests get
/// `shutdown_grace` to finish, and what remains is cut. Nothing outlives the call but
/// the tasks of upgraded connections, whose sockets are closed.
pub async fn serve<A: Application>(
    application: A,
    limits: Limits,
    listeners: Vec<TcpListener>,
    shutdown: impl Future<Output = ()>,
) {
    let (application, limits) = (Arc::new(application), Arc::new(limits));
    let open = Arc::new(Connections::default());
    let (close, closing) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let mut pause = None;
    let mut tick = interval(TICK);
    let mut shutdown = pin!(shutdown);
    // Every branch only waits, or takes what it returns at once: cancel-safe.
    loop {
        tokio::select! {
            () = shutdown.as_mut() => break,
            accepted = accept(&listeners, &mut pause) => match accepted {
                Ok((stream, peer)) => {
                    if let Some(slot) = open.enter(stream, peer, &limits) {
                        let (application, limits) = (Arc::clone(&application), Arc::clone(&limits));
                        let closing = closing.clone();
                        tasks.spawn(async move {
                            let connection = Arc::clone(&slot.connection);
                            http1::serve(connection, application, &limits, closing).await;
                            drop(slot);
                        });
                    }
                }
                Err(error) => {
                    if let Some(until) = pause_after(&error) {
                        tracing::warn!(%error, "no connection could be accepted");
                        open.make_room();
                        pause = Some(until);
                    }
                }
            },
            Some(ended) = tasks.join_next() => log_panic(ended),
            _ = tick.tick() => application.tick(),
        }
        application.connections(open.len());
    }
    drop(listeners);
    // Nobody listening any more means that every connection has ended.
    let _ = close.send(true);
    let finish = async {
        while let Some(ended) = tasks.join_next().await {
            log_panic(ended);
        }
    };
    if timeout(limits.shutdown_grace, finish).await.is_err() {
        tracing::warn!(
            open = open.len(),
            "connections are cut, they did not finish"
        );
        open.cut_all();
        tasks.shutdown().await;
    }
}

/// The next connection of any listener, after the `pause` that an earlier error asked for.
async fn accept(
    listeners: &[TcpListener],
    pause: &mut Option<Instant>,
) -> io::Result<(TcpStream, SocketAddr)> {
    if let Some(until) = *pause {
        sleep_until(until).await;
        *pause = None;
    }
    poll_fn(|cx| {
        listeners
            .iter()
            .map(|listener| listener.poll_accept(cx))
            .find(Poll::is_ready)
            .unwrap_or(Poll::Pending)
    })
    .await
}

/// Until when to wait after a failed accept: not at all when only that peer is at fault.
fn pause_after(error: &io::Error) -> Option<Instant> {
    let is_peers_fault = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    );
    (!is_peers_fault).then(|| Instant::now() + ACCEPT_PAUSE)
}

/// A panic beside a handler, such as in a stream's body, ends its connection alone.
fn log_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection ended in a panic");
    }
}
