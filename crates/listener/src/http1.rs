//! One connection: hyper reads and writes HTTP/1.1, and a timer of ours ends what takes
//! too long.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response, StatusCode};
use hyper::{
    body::{Body, Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep_until},
};

use super::{
    Application, Connection, HEADERS_BYTES_MAX, Limits, Rejection, connection::TrackedSocket,
    deadlines::TimeoutReason,
};

/// Bytes hyper may hold of a head, and of an answer before it waits for the socket.
/// Twice our own bound, so that an application's own check answers the ordinary overrun.
const BUFFER_BYTES_MAX: usize = 2 * HEADERS_BYTES_MAX;

/// Serves one connection until either side ends it; `closing` turns true when the server stops.
pub(super) async fn serve<A: Application>(
    connection: Arc<Connection>,
    application: Arc<A>,
    limits: &Limits,
    mut closing: watch::Receiver<bool>,
) {
    if application.inspects_heads() {
        connection.progress().watch_heads();
    }
    let end = speak_http(&connection, &application, limits, &mut closing).await;
    match end {
        Some(TimeoutReason::HeadTimeout) => {
            let answer = application.rejection(Rejection::HeadTimeout);
            // One try: a peer that takes nothing either does not get it.
            let _ = connection.stream.try_write(&answer);
            connection.linger().await;
        }
        Some(TimeoutReason::Stalled) => connection.reset(),
        Some(TimeoutReason::Idle) => {}
        None if connection.progress().is_upgraded() => watch_upgraded(&connection, limits).await,
        None => connection.linger().await,
    }
}

/// Speaks HTTP until the connection is over (`None`) or has to be ended.
async fn speak_http<A: Application>(
    connection: &Arc<Connection>,
    application: &Arc<A>,
    limits: &Limits,
    closing: &mut watch::Receiver<bool>,
) -> Option<TimeoutReason> {
    let socket = TrackedSocket::new(Arc::clone(connection), Arc::clone(application));
    let peer = Arc::new(application.connected(Arc::clone(connection)));
    let service = service_fn(|request| {
        let (connection, peer) = (Arc::clone(connection), Arc::clone(&peer));
        let application = Arc::clone(application);
        async move { Ok::<_, Infallible>(answer(connection, &*application, &peer, request).await) }
    });
    let http = http1::Builder::new()
        // The deadline of a head is ours, see `deadlines`.
        .header_read_timeout(None)
        .max_buf_size(BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(socket), service)
        .with_upgrades();
    let (mut http, mut alarm) = (pin!(http), pin!(ConnectionTimer::new(connection, limits)));
    let mut is_closing = false;
    loop {
        let over = poll_fn(|cx| match http.as_mut().poll(cx) {
            // An error is a peer that left or broke the protocol; there is nobody to tell.
            Poll::Ready(Ok(()) | Err(_)) => Poll::Ready(None),
            Poll::Pending => alarm.as_mut().poll_end(cx).map(Some),
        });
        tokio::select! {
            end = over => return end,
            // An error means that the listener is gone, which is a close as well.
            _ = closing.wait_for(|closing| *closing), if !is_closing => {
                is_closing = true;
                http.as_mut().graceful_shutdown();
                if connection.progress().waiting_since().is_some() {
                    connection.cut();
                }
            }
        }
    }
}

async fn answer<A: Application>(
    connection: Arc<Connection>,
    application: &A,
    peer: &A::Peer,
    request: Request<Incoming>,
) -> Response<TrackedResponseBody<A::Body>> {
    let has_body = !request.body().is_end_stream();
    connection.progress().request_began(has_body);
    let response = application.answer(peer, request).await;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        connection.progress().upgraded();
    }
    response.map(|body| TrackedResponseBody { body, connection })
}

/// Watches over an upgraded connection: it keeps its place, and a stalled peer ends.
async fn watch_upgraded(connection: &Connection, limits: &Limits) {
    let mut alarm = pin!(ConnectionTimer::new(connection, limits));
    while !connection.progress().is_left() {
        tokio::select! {
            () = connection.changed.notified() => {}
            _ = poll_fn(|cx| alarm.as_mut().poll_end(cx)) => {
                connection.reset();
                return;
            }
        }
    }
}

/// The timer of one connection. It is set again only when it rings or an earlier deadline
/// comes up, so a busy connection costs no timer work.
struct ConnectionTimer<'a> {
    connection: &'a Connection,
    limits: &'a Limits,
    sleep: Pin<Box<Sleep>>,
    set_for: Option<Instant>,
}

impl<'a> ConnectionTimer<'a> {
    fn new(connection: &'a Connection, limits: &'a Limits) -> Self {
        Self {
            connection,
            limits,
            sleep: Box::pin(sleep_until(Instant::now())),
            set_for: None,
        }
    }

    fn poll_end(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<TimeoutReason> {
        loop {
            let Some(deadline) = self.connection.progress().deadline(self.limits) else {
                return Poll::Pending;
            };
            if self.set_for.is_none_or(|set_for| deadline < set_for) {
                self.sleep.as_mut().reset(deadline);
                self.set_for = Some(deadline);
            }
            ready!(self.sleep.as_mut().poll(cx));
            self.set_for = None;
            if let Some(end) = self.connection.progress().end(self.limits, Instant::now()) {
                return Poll::Ready(end);
            }
        }
    }
}

/// An answer's body that tells its connection when it is over.
struct TrackedResponseBody<B> {
    body: B,
    connection: Arc<Connection>,
}

impl<B: Body + Unpin> Body for TrackedResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for TrackedResponseBody<B> {
    fn drop(&mut self) {
        self.connection.progress().request_ended(Instant::now());
    }
}
