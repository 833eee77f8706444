//! The server's listeners: what stands between an accepted connection and a route. Requests pass the
//! guards, the kernel says whose connection it is, and a place in flight is taken.
//! Sockets, deadlines and bounds are `guildhall_listener`'s; what a request means is the routes'.

#[cfg(test)]
mod test_listener;

use std::{
    convert::Infallible,
    future::Future,
    net::{IpAddr, SocketAddr},
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    http::{Method, Request, Response, StatusCode},
    response::IntoResponse,
};
use futures_util::FutureExt;
use guildhall_hall::{
    approvals::ClientPresence,
    http_client::OUTGOING,
    peer_lookup::{PeerLookup, PeerOwner},
    tasks::Tasks,
};
use guildhall_listener::{
    Admission, Application, Connection, InFlight, Rejection, RequestSlot, TrackedBody, with_close,
};
use hyper::body::{Body as _, Incoming};
use tokio::{net::TcpListener, sync::watch};
use tower::Service;

use crate::{
    guards::{GuardRefusal, Guards, ResponsePolicy},
    metrics::Metrics,
    openapi,
};

pub use guildhall_listener::{Limits, REQUESTS_IN_FLIGHT_MAX, RequestHead, STREAM_STALL_S};

/// Who is at the other end of a request's connection; every request has it as an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionPeer {
    /// The other end's address.
    pub addr: SocketAddr,
    /// The kernel's word on it.
    pub word: PeerOwner,
}

impl ConnectionPeer {
    /// The same for a request that a guildhall sends for somebody else: it is no person of this
    /// computer, whoever holds the connection.
    ///
    /// Anybody can send the mark, so it must give nobody more than they have without it: a
    /// connection in doubt stays nobody's, also for a trusted browser's cookie.
    fn behind_a_server(self) -> Self {
        let word = match self.word {
            PeerOwner::User { .. } | PeerOwner::NotAsked | PeerOwner::Elsewhere => {
                PeerOwner::Elsewhere
            }
            PeerOwner::InDoubt { .. } => PeerOwner::Unknown,
            word @ (PeerOwner::Unknown
            | PeerOwner::Agent(_)
            | PeerOwner::Browser
            | PeerOwner::Stray
            | PeerOwner::AgentListener(_)) => word,
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
        self.word != PeerOwner::Elsewhere
    }
}

/// Who counts what comes and goes through a listener.
pub trait ListenerMetrics: Send + Sync {
    /// So many connections are open.
    fn connections(&self, open: usize);
    /// A request was answered.
    fn answered(&self, method: &Method, status: StatusCode, took: Duration);
    /// Some seconds are over.
    fn tidy(&self);
}

impl ListenerMetrics for Metrics {
    fn connections(&self, open: usize) {
        self.connections(open);
    }

    fn answered(&self, method: &Method, status: StatusCode, took: Duration) {
        self.answered(method, status, took);
    }

    fn tidy(&self) {
        self.run_upkeep();
    }
}

/// What the listener for agents counts: its answers like all others, but the open connections are
/// those of the main listener.
pub struct AgentListenerMetrics(pub Arc<Metrics>);

impl ListenerMetrics for AgentListenerMetrics {
    fn connections(&self, _open: usize) {}

    fn answered(&self, method: &Method, status: StatusCode, took: Duration) {
        self.0.answered(method, status, took);
    }

    fn tidy(&self) {}
}

/// Everything a listener needs to let requests in.
pub struct Listener {
    /// The routes, with their own answer for paths and methods that they do not have.
    pub router: Router,
    /// What is checked before a route is looked for.
    pub guards: Guards,
    /// The bounds.
    pub limits: Limits,
    /// Who is asked about loopback connections.
    pub peers: PeerLookup,
    /// Where connections and answers are counted.
    pub metrics: Arc<dyn ListenerMetrics>,
    /// Where changes run to their end.
    pub tasks: Tasks,
}

impl Listener {
    /// Serves all `listeners` until `shutdown` is over, see [`guildhall_listener::serve`].
    pub async fn serve(self, listeners: Vec<TcpListener>, shutdown: impl Future<Output = ()>) {
        let application = HttpApplication {
            router: self.router,
            guards: self.guards,
            peers: self.peers,
            metrics: self.metrics,
            tasks: self.tasks,
            in_flight: Arc::new(InFlight::new(self.limits.requests_in_flight_max)),
        };
        guildhall_listener::serve(application, self.limits, listeners, shutdown).await;
    }
}

/// What all connections of one listener share.
struct HttpApplication {
    router: Router,
    guards: Guards,
    peers: PeerLookup,
    metrics: Arc<dyn ListenerMetrics>,
    tasks: Tasks,
    in_flight: Arc<InFlight>,
}

/// One connection and the kernel's word on it.
struct PeerConnection {
    connection: Arc<Connection>,
    /// Asked once, unless it may change.
    word: OnceLock<PeerOwner>,
}

impl PeerConnection {
    /// Who is at the other end, looked up at the first request, and at each where that may change.
    async fn peer(&self, peers: &PeerLookup) -> ConnectionPeer {
        let word = match self.word.get() {
            Some(word) if !peers.may_change() => *word,
            _ => match self.look_up(peers).await {
                word @ PeerOwner::InDoubt { .. } => word,
                word if peers.may_change() => word,
                word => *self.word.get_or_init(|| word),
            },
        };
        ConnectionPeer {
            addr: self.connection.peer(),
            word,
        }
    }

    async fn look_up(&self, peers: &PeerLookup) -> PeerOwner {
        let (peer, local) = (self.connection.peer(), self.connection.local());
        let word = peers.look_up(peer, local).await;
        match word {
            PeerOwner::User { .. }
            | PeerOwner::InDoubt { .. }
            | PeerOwner::Agent(_)
            | PeerOwner::Browser
            | PeerOwner::Stray
            | PeerOwner::AgentListener(_)
                // After a reset the word may be about a stranger who took the address pair over.
                if !self.connection.is_connected() =>
            {
                PeerOwner::Unknown
            }
            word => word,
        }
    }
}

/// What arrives behind the request that is being answered.
#[derive(Clone)]
pub struct PipelinedBytes(Arc<Connection>);

impl PipelinedBytes {
    /// Whether anything did, as far as it was read.
    pub fn have_arrived(&self) -> bool {
        self.0.is_followed()
    }
}

impl Application for HttpApplication {
    type Peer = PeerConnection;
    type Body = Body;

    fn connected(&self, connection: Arc<Connection>) -> PeerConnection {
        PeerConnection {
            connection,
            word: OnceLock::new(),
        }
    }

    async fn answer(
        &self,
        from: &PeerConnection,
        mut request: Request<Incoming>,
    ) -> Response<Body> {
        let began = Instant::now();
        let method = request.method().clone();
        let passage = self.guards.response_policy(&request);
        if let Some(head) = from.connection.head() {
            let behind = PipelinedBytes(Arc::clone(&from.connection));
            request.extensions_mut().insert(head);
            request.extensions_mut().insert(behind);
        }
        let mut response = self.pass_guards(from, &passage, request).await;
        passage.apply(&mut response);
        self.metrics
            .answered(&method, response.status(), began.elapsed());
        response
    }

    fn rejection(&self, rejection: Rejection) -> Vec<u8> {
        GuardRefusal::from(rejection).to_bytes(&self.guards.new_id())
    }

    fn inspects_heads(&self) -> bool {
        self.guards.is_of_preview()
    }

    fn connections(&self, open: usize) {
        self.metrics.connections(open);
    }

    fn tick(&self) {
        self.metrics.tidy();
    }
}

impl HttpApplication {
    /// Lets the request through to its route. Where it is refused before, its body is not read.
    async fn pass_guards(
        &self,
        from: &PeerConnection,
        passage: &ResponsePolicy,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let has_body = !request.body().is_end_stream();
        match self.check_and_run(from, passage, request).await {
            Ok(response) => response,
            Err(refused) if has_body || self.guards.is_of_preview() => {
                with_close(refused.into_response())
            }
            Err(refused) => refused.into_response(),
        }
    }

    /// The answer of the request's route.
    ///
    /// # Errors
    /// The first check that fails, in the order of contract 1.3.
    async fn check_and_run(
        &self,
        from: &PeerConnection,
        passage: &ResponsePolicy,
        mut request: Request<Incoming>,
    ) -> Result<Response<Body>, GuardRefusal> {
        let address = from.connection.peer().ip();
        let forwarded = self.guards.forwarded(&mut request, address);
        self.guards.check(&request)?;
        let mut peer = from.peer(&self.peers).await;
        if request.headers().contains_key(OUTGOING) {
            peer = peer.behind_a_server();
        }
        if let Some(forwarded) = forwarded {
            peer = peer.behind_a_proxy(forwarded.client);
            request.extensions_mut().insert(forwarded);
        }
        self.guards.check_peer(&request, peer.word)?;
        request.extensions_mut().insert(passage.id().clone());
        request.extensions_mut().insert(peer);
        // Dropped with this future, which ends when the client goes away.
        let (_waiting, waits) = watch::channel(());
        request.extensions_mut().insert(ClientPresence::on(waits));
        let admission = Admission {
            from: peer.addr.ip(),
            is_open: openapi::is_open(request.method(), request.uri().path()),
            // What is shown of a dev server is passed on as it comes.
            is_passed_on: self.guards.is_of_preview(),
        };
        let run = self.in_flight.run(request, admission, |request, place| {
            self.route(passage, request, place)
        });
        Ok(run.await?)
    }

    /// Hands the request to its route; `None` when that panicked.
    async fn route(
        &self,
        passage: &ResponsePolicy,
        request: Request<TrackedBody>,
        place: RequestSlot,
    ) -> Option<Response<Body>> {
        let is_change = !request.method().is_safe();
        let routed = self.router.clone().call(request.map(Body::new));
        let answered = if is_change {
            // Also when its client goes away: what follows a commit, such as waking or stopping
            // an agent, must happen as well.
            let change = async move {
                let _place = place;
                routed.await
            };
            self.tasks.finish(change).await
        } else {
            // Nothing of a panicked request is used again, so its broken state is not seen.
            let answered = AssertUnwindSafe(routed).catch_unwind().await;
            drop(place);
            answered.ok()
        };
        if answered.is_none() {
            tracing::error!(request_id = passage.id().as_str(), "a handler panicked");
        }
        answered.map(|answered: Result<_, Infallible>| match answered {
            Ok(response) => response,
            Err(never) => match never {},
        })
    }
}

#[cfg(test)]
#[path = "listener_tests.rs"]
mod tests;
