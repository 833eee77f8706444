//! Requests in flight: how many are answered at one moment, and whose body is still awaited.
//!
//! A body may arrive as slowly as its sender likes, so waiting for it must cost nobody else their
//! place: when all places are taken, of the network with most of such requests the one that has
//! waited longest gives its place up and is answered 408. Where nobody has to say who they are,
//! such requests have a small bound of their own, so that they push out each other and nobody else.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::FutureExt;
use guildhall_domain::attempt_limiter::network_of;
use http::{HeaderValue, Request, Response, StatusCode, header::CONNECTION};
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::{sync::oneshot, task::yield_now};

use super::Rejection;

/// Requests to open routes whose bodies are awaited at one moment.
pub const OPEN_BODIES_MAX: usize = 64;
/// Bytes of a body nobody read that are dropped so that the connection can go on.
const DROPPED_BYTES_MAX: usize = 64 * 1_024;

/// An answer to a request whose body nobody reads, after which the connection closes.
pub fn with_close<B>(mut response: Response<B>) -> Response<B> {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}

/// The requests that run.
#[derive(Debug)]
pub struct InFlight {
    max: usize,
    // A std mutex: held for a few instructions and never over an await.
    running: Mutex<RunningRequests>,
}

#[derive(Debug, Default)]
struct RunningRequests {
    arrivals: u64,
    /// By order of arrival; those that wait for their body with what gives their place up.
    requests: BTreeMap<u64, Option<AwaitedBody>>,
}

#[derive(Debug)]
struct AwaitedBody {
    is_open: bool,
    /// Where it comes from.
    network: IpAddr,
    /// Tells the body that its place is given up.
    give_up: oneshot::Sender<()>,
}

/// What an application says of a request before it is answered.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    /// Where it comes from.
    pub from: IpAddr,
    /// Whether its route is open to everybody, so that its body has a place in the small bound.
    pub is_open: bool,
    /// Whether the answer is passed on as it comes, from a server that reads the body itself.
    pub is_passed_on: bool,
}

impl InFlight {
    /// At most `max` requests run at one moment.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            running: Mutex::default(),
        }
    }

    /// Runs a request in a place of its own. `run` answers it and keeps the place until then;
    /// `None` says that it panicked.
    ///
    /// A body that nobody reads to its end is dropped where it is short and there already; else the
    /// answer says that the connection closes.
    ///
    /// # Errors
    /// [`Rejection::Overloaded`] when there is no place, [`Rejection::BodyTimeout`] when it was
    /// given up for another request, [`Rejection::Broken`] after a panic.
    pub async fn run<B, F>(
        self: &Arc<Self>,
        request: Request<Incoming>,
        admission: Admission,
        run: impl FnOnce(Request<TrackedBody>, RequestSlot) -> F,
    ) -> Result<Response<B>, Rejection>
    where
        F: Future<Output = Option<Response<B>>>,
    {
        let (head, body) = request.into_parts();
        let (place, body) = self.enter(body, admission).ok_or(Rejection::Overloaded)?;
        let ending = body.ending();
        let answer = run(Request::from_parts(head, body), place).await;
        let response = answer.ok_or(Rejection::Broken)?;
        if ending.is_given_up() {
            return Err(Rejection::BodyTimeout);
        }
        let goes_on = admission.is_passed_on
            || response.status() == StatusCode::SWITCHING_PROTOCOLS
            || ending.is_read_to_its_end().await;
        Ok(match goes_on {
            true => response,
            false => with_close(response),
        })
    }

    /// Takes a place for a request with `body`, which may be empty; `None` when all places are taken
    /// by requests that are at work.
    fn enter(
        self: &Arc<Self>,
        body: Incoming,
        admission: Admission,
    ) -> Option<(RequestSlot, TrackedBody)> {
        let (is_open, network) = (admission.is_open, network_of(admission.from));
        let mut running = self.running();
        let is_awaited = !body.is_end_stream();
        if is_awaited && is_open && running.open_bodies() >= OPEN_BODIES_MAX {
            running.make_room(|awaited| awaited.is_open);
        }
        if running.requests.len() >= self.max && !running.make_room(|_| true) {
            return None;
        }
        let number = running.arrivals;
        running.arrivals += 1;
        let (give_up, given_up) = oneshot::channel();
        let awaited = is_awaited.then_some(AwaitedBody {
            is_open,
            network,
            give_up,
        });
        running.requests.insert(number, awaited);
        drop(running);
        let place = RequestSlot {
            flight: Arc::clone(self),
            number,
        };
        let ending = Arc::new(BodyEnd {
            is_whole: AtomicBool::new(!is_awaited),
            is_given_up: AtomicBool::new(false),
            rest: Mutex::default(),
        });
        let body = TrackedBody {
            body: Some(body),
            given_up: is_awaited.then_some(given_up),
            flight: Arc::clone(self),
            number,
            ending,
        };
        Some((place, body))
    }

    /// The body of a request is there: its place is its own from now on.
    fn body_is_whole(&self, number: u64) {
        if let Some(awaited) = self.running().requests.get_mut(&number) {
            *awaited = None;
        }
    }

    fn running(&self) -> MutexGuard<'_, RunningRequests> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningRequests {
    fn open_bodies(&self) -> usize {
        let awaited = self.requests.values().flatten();
        awaited.filter(|awaited| awaited.is_open).count()
    }

    /// Takes the place of whoever of these has waited longest for a body, in the network that waits
    /// for most of them.
    fn make_room(&mut self, of: impl Fn(&AwaitedBody) -> bool) -> bool {
        let waiting = || {
            let requests = self.requests.iter();
            let waiting = requests.filter_map(|(number, it)| Some((*number, it.as_ref()?)));
            waiting.filter(|(_, awaited)| of(awaited))
        };
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for (_, awaited) in waiting() {
            *counts.entry(awaited.network).or_default() += 1;
        }
        let most = counts.values().copied().max();
        let mut of_most = waiting().filter(|(_, it)| counts.get(&it.network).copied() == most);
        let longest = of_most.next().map(|(number, _)| number);
        drop(of_most);
        let Some(Some(longest)) = longest.and_then(|number| self.requests.remove(&number)) else {
            return false;
        };
        // An error means that nobody reads that body any more.
        let _ = longest.give_up.send(());
        true
    }
}

/// A request's place; dropping it leaves.
#[derive(Debug)]
pub struct RequestSlot {
    flight: Arc<InFlight>,
    number: u64,
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        self.flight.running().requests.remove(&self.number);
    }
}

/// How a request's body ended.
#[derive(Debug)]
struct BodyEnd {
    is_whole: AtomicBool,
    is_given_up: AtomicBool,
    /// What nobody read.
    rest: Mutex<Option<Incoming>>,
}

impl BodyEnd {
    /// Whether the place was given up before the body was there.
    fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// Whether the next request on the connection can be read: the body was, or what is left of it
    /// is here already and not much, which is dropped.
    async fn is_read_to_its_end(&self) -> bool {
        if self.is_whole.load(Ordering::Relaxed) {
            return true;
        }
        let rest = self
            .rest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(mut rest) = rest else {
            return false;
        };
        let (mut left, mut is_asked) = (DROPPED_BYTES_MAX, false);
        loop {
            if rest.is_end_stream() {
                return true;
            }
            match rest.frame().now_or_never() {
                Some(None) => return true,
                // hyper hands over what it has when it is asked, and runs in this very task.
                None if !is_asked => {
                    is_asked = true;
                    yield_now().await;
                }
                Some(Some(Ok(frame))) => {
                    is_asked = false;
                    let bytes = frame.data_ref().map_or(0, Bytes::len);
                    match left.checked_sub(bytes) {
                        Some(after) => left = after,
                        None => return false,
                    }
                }
                None | Some(Some(Err(_))) => return false,
            }
        }
    }
}

/// A request's body, which tells when it is there, and ends when its place is given up.
#[derive(Debug)]
pub struct TrackedBody {
    body: Option<Incoming>,
    given_up: Option<oneshot::Receiver<()>>,
    flight: Arc<InFlight>,
    number: u64,
    ending: Arc<BodyEnd>,
}

impl TrackedBody {
    /// How it ends.
    fn ending(&self) -> Arc<BodyEnd> {
        Arc::clone(&self.ending)
    }

    fn is_whole(&mut self) {
        // Nobody gives up what is not awaited.
        self.given_up = None;
        self.ending.is_whole.store(true, Ordering::Relaxed);
        self.flight.body_is_whole(self.number);
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let given_up = self.given_up.as_mut();
        match given_up.map(|given_up| given_up.poll_unpin(cx)) {
            Some(Poll::Ready(Ok(()))) => {
                self.given_up = None;
                self.body = None;
                self.ending.is_given_up.store(true, Ordering::Relaxed);
            }
            // The request was answered while its body goes on: it has no place to give up.
            Some(Poll::Ready(Err(_))) => self.given_up = None,
            Some(Poll::Pending) | None => {}
        }
        let Some(body) = self.body.as_mut() else {
            return Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())));
        };
        let frame = Pin::new(&mut *body).poll_frame(cx);
        let is_over = matches!(frame, Poll::Ready(None)) || body.is_end_stream();
        if is_over && !self.ending.is_whole.load(Ordering::Relaxed) {
            self.is_whole();
        }
        frame.map_err(io::Error::other)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_some_and(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.body.as_ref();
        body.map(HttpBody::size_hint).unwrap_or_default()
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        let mut rest = self
            .ending
            .rest
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *rest = self.body.take();
    }
}
