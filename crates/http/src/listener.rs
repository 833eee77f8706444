//! The listener: our own accept loop, with a deadline and a bound for everything a peer can do.
//! It hands requests that passed the guards to the router; what a request means is the routes'.
//!
//! hyper's own timers are off: one timer a connection, driven by `deadlines`, covers the
//! head, the rest between requests and a peer that takes no bytes.

mod connection;
mod crowd;
mod deadlines;
mod heads;
mod in_flight;
mod line;
#[cfg(test)]
mod test_door;

use std::{
    future::{Future, poll_fn},
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use axum::{
    Router,
    http::{Method, StatusCode},
};
use guildhall_hall::{
    peers::{PeerWord, Peers},
    tasks::Tasks,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinError, JoinSet},
    time::{Instant, interval, sleep_until, timeout},
};

use self::{connection::House, crowd::Crowd};
use crate::{guards::Guards, metrics::Metrics};

pub use connection::Behind;
pub use heads::Head;

/// Open connections.
pub const CONNECTIONS_MAX: usize = 8_192;
/// Open connections of one address beyond this machine.
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

/// How long accepting pauses when the system has no descriptor or memory left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How often recorded durations are folded, see [`Metrics::tidy`].
const METRICS_TIDY: Duration = Duration::from_secs(5);

/// The bounds of one door. The default is the contract's, see the constants of this module;
/// configuration may raise them.
///
/// Source: contract 1.11.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections, see [`CONNECTIONS_MAX`].
    pub connections_max: usize,
    /// Open connections of one foreign address, see [`CONNECTIONS_PER_STRANGER_MAX`].
    pub connections_per_stranger_max: usize,
    /// Requests being answered, see [`REQUESTS_IN_FLIGHT_MAX`].
    pub requests_in_flight_max: usize,
    /// Time for a head, see [`HEADER_READ_S`].
    pub header_read: Duration,
    /// Rest between requests, see [`KEEPALIVE_IDLE_S`].
    pub keepalive_idle: Duration,
    /// Patience with a peer that takes no bytes, see [`STREAM_STALL_S`].
    pub stream_stall: Duration,
    /// Time to finish when the server stops, see [`SHUTDOWN_GRACE_S`].
    pub shutdown_grace: Duration,
}

impl Limits {
    /// The bounds of the contract.
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

/// Who is at the other end of a request's connection; every request has it as an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The other end's address.
    pub addr: SocketAddr,
    /// The kernel's word on it.
    pub word: PeerWord,
}

impl Peer {
    /// The same for a request that a guildhall sends for somebody else: it is no person of this
    /// computer, whoever holds the connection.
    ///
    /// Anybody can send the mark, so it must give nobody more than they have without it: a
    /// connection in doubt stays nobody's, also for a trusted browser's cookie.
    fn behind_a_server(self) -> Self {
        let word = match self.word {
            PeerWord::User { .. } | PeerWord::NotAsked | PeerWord::Elsewhere => PeerWord::Elsewhere,
            PeerWord::InDoubt { .. } => PeerWord::Unknown,
            word @ (PeerWord::Unknown
            | PeerWord::Agent(_)
            | PeerWord::Browser
            | PeerWord::Stray
            | PeerWord::AgentListener(_)) => word,
        };
        Self { word, ..self }
    }

    /// The same for a request that a trusted proxy sends for somebody else: it is no person of
    /// this computer, and counts where the proxy says it comes from.
    fn behind_a_proxy(self, client: Option<IpAddr>) -> Self {
        let addr = client.map_or(self.addr, |client| SocketAddr::new(client, 0));
        Self {
            addr,
            ..self.behind_a_server()
        }
    }

    /// Whether the other end is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.word != PeerWord::Elsewhere
    }
}

/// Whoever counts what comes and goes through a door.
pub trait Counting: Send + Sync {
    /// So many connections are open.
    fn connections(&self, open: usize);
    /// A request was answered.
    fn answered(&self, method: &Method, status: StatusCode, took: Duration);
    /// Some seconds are over.
    fn tidy(&self);
}

impl Counting for Metrics {
    fn connections(&self, open: usize) {
        self.connections(open);
    }

    fn answered(&self, method: &Method, status: StatusCode, took: Duration) {
        self.answered(method, status, took);
    }

    fn tidy(&self) {
        self.tidy();
    }
}

/// What the listener for agents counts: its answers like all others, but the open connections are
/// those of the main listener.
pub struct CountsOfAgents(pub Arc<Metrics>);

impl Counting for CountsOfAgents {
    fn connections(&self, _open: usize) {}

    fn answered(&self, method: &Method, status: StatusCode, took: Duration) {
        self.0.answered(method, status, took);
    }

    fn tidy(&self) {}
}

/// Everything a listener needs to let requests in.
pub struct Door {
    /// The routes, with their own answer for paths and methods that they do not have.
    pub router: Router,
    /// What is checked before a route is looked for.
    pub guards: Guards,
    /// The bounds.
    pub limits: Limits,
    /// Who is asked about loopback connections.
    pub peers: Peers,
    /// Where connections and answers are counted.
    pub metrics: Arc<dyn Counting>,
    /// Where changes run to their end.
    pub tasks: Tasks,
}

impl Door {
    /// Serves all `listeners` until `shutdown` is over.
    ///
    /// Then nothing new is accepted, resting connections close, running requests get
    /// `shutdown_grace` to finish, and what remains is cut. Nothing outlives the call but
    /// the tasks of upgraded connections, whose sockets are closed.
    pub async fn serve(self, listeners: Vec<TcpListener>, shutdown: impl Future<Output = ()>) {
        let house = Arc::new(House {
            router: self.router,
            guards: Arc::new(self.guards),
            limits: self.limits,
            peers: self.peers,
            metrics: self.metrics,
            tasks: self.tasks,
            in_flight: Arc::default(),
        });
        let crowd = Arc::new(Crowd::default());
        let (close, closing) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut pause = None;
        let mut tidy = interval(METRICS_TIDY);
        let mut shutdown = pin!(shutdown);
        // Every branch only waits, or takes what it returns at once: cancel-safe.
        loop {
            tokio::select! {
                () = shutdown.as_mut() => break,
                accepted = accept(&listeners, &mut pause) => match accepted {
                    Ok((stream, peer)) => {
                        if let Some(place) = crowd.enter(stream, peer, &house.limits) {
                            let (house, closing) = (Arc::clone(&house), closing.clone());
                            connections.spawn(async move {
                                connection::serve(Arc::clone(&place.line), house, closing).await;
                                drop(place);
                            });
                        }
                    }
                    Err(error) => {
                        if let Some(until) = breath_after(&error) {
                            tracing::warn!(%error, "no connection could be accepted");
                            crowd.make_room();
                            pause = Some(until);
                        }
                    }
                },
                Some(ended) = connections.join_next() => note(ended),
                _ = tidy.tick() => house.metrics.tidy(),
            }
            house.metrics.connections(crowd.len());
        }
        drop(listeners);
        // Nobody listening any more means that every connection has ended.
        let _ = close.send(true);
        let finish = async {
            while let Some(ended) = connections.join_next().await {
                note(ended);
            }
        };
        if timeout(house.limits.shutdown_grace, finish).await.is_err() {
            tracing::warn!(
                open = crowd.len(),
                "connections are cut, they did not finish"
            );
            crowd.cut_all();
            connections.shutdown().await;
        }
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
fn breath_after(error: &io::Error) -> Option<Instant> {
    let is_peers_fault = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    );
    (!is_peers_fault).then(|| Instant::now() + ACCEPT_PAUSE)
}

/// A panic beside a handler, such as in a stream's body, ends its connection alone.
fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection ended in a panic");
    }
}

#[cfg(test)]
#[path = "listener_tests.rs"]
mod tests;
