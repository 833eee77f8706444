//! The wire: posts of messages to the server, over connections that stay open, and again while
//! the server restarts.

use std::{
    cell::RefCell,
    future::{Future, pending},
    io,
    pin::Pin,
    time::Duration,
};

use http::{HeaderMap, Request, StatusCode, Uri, header, uri::Scheme};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    body::{Bytes, Incoming},
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpStream,
    sync::mpsc,
    time::{Instant, timeout, timeout_at},
};

/// How long a server may take to accept a connection.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// How long a message is sent again while no server takes it; a greeting, whose client waits for
/// it before it does anything, a shorter time.
const AGAIN_MAX: Duration = Duration::from_secs(60);
const GREETING_AGAIN_MAX: Duration = Duration::from_secs(8);
/// How long is waited before a message is sent again: at first, and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];
/// Bytes of an answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A connection at work; it moves only while it is waited for.
pub(super) type RelayConnection = Pin<Box<dyn Future<Output = ()>>>;

/// How a message may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResendPolicy {
    /// As long as no answer came: it is done once however often it is sent.
    Always,
    /// The same, for a client that waits for it before it does anything.
    Shortly,
    /// Only while it did not reach a server: what it does may be done twice.
    Unsent,
}

/// What the server answered.
pub(super) enum RelayResponse {
    /// One body.
    Whole(StatusCode, Bytes),
    /// A stream of events.
    Stream(Incoming),
}

/// Why no answer came.
struct SendError {
    error: io::Error,
    /// Whether a server may have got the message.
    is_sent: bool,
}

impl SendError {
    fn unsent(error: io::Error) -> Self {
        Self {
            error,
            is_sent: false,
        }
    }
}

/// The way to one address of the server.
pub(super) struct RelayClient {
    url: Uri,
    target: String,
    credential: header::HeaderValue,
    /// Connections that nobody uses now.
    idle: RefCell<Vec<SendRequest<Full<Bytes>>>>,
    /// Hands new connections to whoever drives them.
    born: mpsc::UnboundedSender<RelayConnection>,
}

impl RelayClient {
    /// The way to `target` at `url`, showing `token`; new connections go to `born`.
    ///
    /// `None` when `url` is no plain address or `token` cannot be one.
    pub(super) fn new(
        url: &str,
        target: String,
        token: &str,
        born: mpsc::UnboundedSender<RelayConnection>,
    ) -> Option<Self> {
        let url: Uri = url.parse().ok()?;
        let mut credential = header::HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        credential.set_sensitive(true);
        let is_plain = url.scheme() == Some(&Scheme::HTTP) && url.host().is_some();
        is_plain.then_some(Self {
            url,
            target,
            credential,
            idle: RefCell::default(),
            born,
        })
    }

    /// Posts a message with `headers`; again, with the same headers, while no server answers or
    /// the server is busy.
    ///
    /// # Errors
    /// When no answer came for a minute, for a greeting within ten seconds; at once when the
    /// message reached a server and may not be sent again.
    pub(super) async fn post(
        &self,
        body: &Bytes,
        headers: &HeaderMap,
        again: ResendPolicy,
    ) -> io::Result<RelayResponse> {
        let end = Instant::now()
            + match again {
                ResendPolicy::Always | ResendPolicy::Unsent => AGAIN_MAX,
                ResendPolicy::Shortly => GREETING_AGAIN_MAX,
            };
        let [mut pause, longest] = PAUSES;
        loop {
            let (answer, is_sent) = match self.attempt(body, headers, end).await {
                Ok(answer) => (Ok(answer), true),
                Err(SendError { error, is_sent }) => (Err(error), is_sent),
            };
            let is_settled = match &answer {
                Ok(RelayResponse::Whole(status, _)) => {
                    *status != StatusCode::SERVICE_UNAVAILABLE
                        && *status != StatusCode::TOO_MANY_REQUESTS
                }
                Ok(RelayResponse::Stream(_)) => true,
                Err(_) => is_sent && again == ResendPolicy::Unsent,
            };
            if is_settled || Instant::now() + pause > end {
                return answer;
            }
            // It never comes about: only the time passes.
            let _ = timeout(pause, pending::<()>()).await;
            pause = (pause * 2).min(longest);
        }
    }

    async fn attempt(
        &self,
        body: &Bytes,
        headers: &HeaderMap,
        end: Instant,
    ) -> Result<RelayResponse, SendError> {
        loop {
            let kept = self.idle.borrow_mut().pop();
            let is_kept = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => self.connect(end).await.map_err(SendError::unsent)?,
            };
            match self.exchange(&mut sender, body, headers).await {
                Ok(answer) => {
                    if matches!(answer, RelayResponse::Whole(..)) {
                        self.idle.borrow_mut().push(sender);
                    }
                    return Ok(answer);
                }
                // The server may have closed what was kept; a new one tells for certain.
                Err(lost) if is_kept && !lost.is_sent => {}
                Err(lost) => return Err(lost),
            }
        }
    }

    async fn exchange(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        body: &Bytes,
        headers: &HeaderMap,
    ) -> Result<RelayResponse, SendError> {
        let host = self.url.authority().map_or("", |host| host.as_str());
        let mut request = Request::post(&self.target)
            .header(header::HOST, host)
            .header(header::AUTHORIZATION, &self.credential)
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body.clone()))
            .map_err(|error| SendError::unsent(io::Error::other(error)))?;
        request.headers_mut().extend(headers.clone());
        let ready = sender.ready().await;
        ready.map_err(|error| SendError::unsent(io::Error::other(error)))?;
        let answer = sender.try_send_request(request).await;
        // A request that is given back was not even begun to be written.
        let answer = answer.map_err(|mut error| SendError {
            is_sent: error.take_message().is_none(),
            error: io::Error::other(error.into_error()),
        });
        let (head, body) = answer?.into_parts();
        let kind = head.headers.get(header::CONTENT_TYPE);
        if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            return Ok(RelayResponse::Stream(body));
        }
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|error| SendError {
            error: io::Error::other(error),
            is_sent: true,
        });
        let body = body?.to_bytes();
        Ok(RelayResponse::Whole(head.status, body))
    }

    async fn connect(&self, end: Instant) -> io::Result<SendRequest<Full<Bytes>>> {
        let host = self.url.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let by = end.min(Instant::now() + CONNECT_TIME_MAX);
        let address = (host, self.url.port_u16().unwrap_or(80));
        let socket = timeout_at(by, TcpStream::connect(address)).await??;
        socket.set_nodelay(true)?;
        let greeted = http1::handshake(TokioIo::new(socket)).await;
        let (sender, connection) = greeted.map_err(io::Error::other)?;
        let driven = Box::pin(async move {
            // Its error reaches whoever waits for an answer over it.
            let _ = connection.await;
        });
        let taken = self.born.send(driven);
        taken.map_err(|_| io::Error::other("nobody drives connections any more"))?;
        Ok(sender)
    }
}
