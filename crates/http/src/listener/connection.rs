//! One connection: hyper reads and writes HTTP/1.1, and a timer of ours ends what takes
//! too long. Every request passes the guards here, before any route sees it.

use std::{
    convert::Infallible,
    future::poll_fn,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, Request, Response, StatusCode, header::CONNECTION},
    response::IntoResponse,
};
use bytes::Bytes;
use futures_util::FutureExt;
use guildhall_hall::{approvals::Listening, outgoing::OUTGOING, peers::Peers, tasks::Tasks};
use hyper::{
    body::{Body as HttpBody, Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep_until},
};
use tower::Service;

use super::{
    Counting, Limits,
    deadlines::End,
    in_flight::InFlight,
    line::{Line, Socket},
};
use crate::{
    guards::{Guards, Passage, Refused},
    openapi,
};

/// Bytes hyper may hold of a head, and of an answer before it waits for the socket.
/// Twice our own bound, so that our guard answers the ordinary overrun.
const BUFFER_BYTES_MAX: usize = 2 * crate::guards::HEADERS_BYTES_MAX;

/// What all connections of one door share.
pub(super) struct House {
    pub(super) router: Router,
    pub(super) guards: Arc<Guards>,
    pub(super) limits: Limits,
    pub(super) peers: Peers,
    pub(super) metrics: Arc<dyn Counting>,
    pub(super) tasks: Tasks,
    pub(super) in_flight: Arc<InFlight>,
}

/// Serves one connection until either side ends it; `closing` turns true when the server stops.
pub(super) async fn serve(line: Arc<Line>, house: Arc<House>, mut closing: watch::Receiver<bool>) {
    if house.guards.is_of_preview() {
        line.course().watch_heads();
    }
    let end = speak_http(&line, &house, &mut closing).await;
    match end {
        Some(End::HeadTimeout) => {
            let answer = Refused::HeadTimeout.on_the_wire(&house.guards.new_id());
            // One try: a peer that takes nothing either does not get it.
            let _ = line.stream.try_write(&answer);
            line.linger().await;
        }
        Some(End::Stalled) => line.reset(),
        Some(End::Idle) => {}
        None if line.course().is_upgraded() => stand_by(&line, &house.limits).await,
        None => line.linger().await,
    }
}

/// Speaks HTTP until the connection is over (`None`) or has to be ended.
async fn speak_http(
    line: &Arc<Line>,
    house: &Arc<House>,
    closing: &mut watch::Receiver<bool>,
) -> Option<End> {
    let socket = Socket::new(Arc::clone(line), Arc::clone(&house.guards));
    let service = service_fn(|request| {
        let (line, house) = (Arc::clone(line), Arc::clone(house));
        async move { Ok::<_, Infallible>(house.answer(line, request).await) }
    });
    let http = http1::Builder::new()
        // The deadline of a head is ours, see `Course`.
        .header_read_timeout(None)
        .max_buf_size(BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(socket), service)
        .with_upgrades();
    let (mut http, mut alarm) = (pin!(http), pin!(Alarm::new(line, &house.limits)));
    let mut is_closing = false;
    loop {
        let over = poll_fn(|cx| match http.as_mut().poll(cx) {
            // An error is a peer that left or broke the protocol; there is nobody to tell.
            Poll::Ready(Ok(()) | Err(_)) => Poll::Ready(None),
            Poll::Pending => alarm.as_mut().poll_end(cx).map(Some),
        });
        tokio::select! {
            end = over => return end,
            // An error means that the door is gone, which is a close as well.
            _ = closing.wait_for(|closing| *closing), if !is_closing => {
                is_closing = true;
                http.as_mut().graceful_shutdown();
                if line.course().waiting_since().is_some() {
                    line.cut();
                }
            }
        }
    }
}

/// Watches over an upgraded connection: it keeps its place, and a stalled peer ends.
async fn stand_by(line: &Arc<Line>, limits: &Limits) {
    let mut alarm = pin!(Alarm::new(line, limits));
    while !line.course().is_left() {
        tokio::select! {
            () = line.changed.notified() => {}
            _ = poll_fn(|cx| alarm.as_mut().poll_end(cx)) => {
                line.reset();
                return;
            }
        }
    }
}

/// The timer of one connection. It is set again only when it rings or an earlier deadline
/// comes up, so a busy connection costs no timer work.
struct Alarm<'a> {
    line: &'a Line,
    limits: &'a Limits,
    sleep: Pin<Box<Sleep>>,
    set_for: Option<Instant>,
}

impl<'a> Alarm<'a> {
    fn new(line: &'a Line, limits: &'a Limits) -> Self {
        Self {
            line,
            limits,
            sleep: Box::pin(sleep_until(Instant::now())),
            set_for: None,
        }
    }

    fn poll_end(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<End> {
        loop {
            let Some(deadline) = self.line.course().deadline(self.limits) else {
                return Poll::Pending;
            };
            if self.set_for.is_none_or(|set_for| deadline < set_for) {
                self.sleep.as_mut().reset(deadline);
                self.set_for = Some(deadline);
            }
            ready!(self.sleep.as_mut().poll(cx));
            self.set_for = None;
            if let Some(end) = self.line.course().end(self.limits, Instant::now()) {
                return Poll::Ready(end);
            }
        }
    }
}

/// What arrives behind the request that is being answered.
#[derive(Clone)]
pub struct Behind(Arc<Line>);

impl Behind {
    /// Whether anything did, as far as it was read.
    pub fn has_bytes(&self) -> bool {
        self.0.course().is_followed()
    }
}

impl House {
    async fn answer(&self, line: Arc<Line>, mut request: Request<Incoming>) -> Response<Watched> {
        let began = Instant::now();
        line.course()
            .request_began(!HttpBody::is_end_stream(request.body()));
        let method = request.method().clone();
        let passage = self.guards.begin(&request);
        let head = line.course().head();
        if let Some(head) = head {
            request.extensions_mut().insert(head);
            request.extensions_mut().insert(Behind(Arc::clone(&line)));
        }
        let mut response = self.pass(&line, &passage, request).await;
        passage.sign(&mut response);
        self.metrics
            .answered(&method, response.status(), began.elapsed());
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            line.course().upgraded();
        }
        response.map(|body| Watched { body, line })
    }

    /// Lets the request through to its route, in the order of contract 1.3.
    async fn pass(
        &self,
        line: &Line,
        passage: &Passage,
        mut request: Request<Incoming>,
    ) -> Response<Body> {
        let forwarded = self.guards.forwarded(&mut request, line.address().ip());
        if let Err(refused) = self.guards.check(&request) {
            let mut response = refused.into_response();
            if self.guards.is_of_preview() {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(CONNECTION, close);
            }
            return response;
        }
        let mut peer = line.peer(&self.peers).await;
        if request.headers().contains_key(OUTGOING) {
            peer = peer.behind_a_server();
        }
        if let Some(forwarded) = forwarded {
            peer = peer.behind_a_proxy(forwarded.client);
            request.extensions_mut().insert(forwarded);
        }
        if let Err(refused) = self.guards.check_peer(&request, peer.word) {
            return refused.into_response();
        }
        request.extensions_mut().insert(passage.id().clone());
        request.extensions_mut().insert(peer);
        // Dropped with this future, which ends when the client goes away.
        let (_waiting, waits) = watch::channel(());
        request.extensions_mut().insert(Listening::on(waits));
        let is_change = !request.method().is_safe();
        let is_open = openapi::is_open(request.method(), request.uri().path());
        let (head, body) = request.into_parts();
        let max = self.limits.requests_in_flight_max;
        let Some((place, body)) = self.in_flight.enter(body, is_open, max) else {
            return Refused::Overloaded.into_response();
        };
        let ending = body.ending();
        let routed = self
            .router
            .clone()
            .call(Request::from_parts(head, Body::new(body)));
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
        match answered {
            Some(Ok(_)) if ending.is_given_up() => Refused::BodyTimeout.into_response(),
            // What is shown of a dev server is passed on as it comes.
            Some(Ok(response)) if self.guards.is_of_preview() => response,
            Some(Ok(mut response)) => {
                if response.status() != StatusCode::SWITCHING_PROTOCOLS
                    && !ending.is_read_to_its_end().await
                {
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(CONNECTION, close);
                }
                response
            }
            Some(Err(never)) => match never {},
            None => {
                tracing::error!(request_id = passage.id().as_str(), "a handler panicked");
                Refused::Broken.into_response()
            }
        }
    }
}

/// An answer's body that tells its line when it is over.
struct Watched {
    body: Body,
    line: Arc<Line>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.line.course().request_ended(Instant::now());
    }
}
