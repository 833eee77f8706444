//! The HTTP client of the command line: one request on one connection, `http://` only.
//! It follows no redirect and repeats nothing: a request that may have changed something is
//! never sent a second time.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    body::{Bytes, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};

use super::{
    failures::Failure,
    server::{Found, Server},
    target::Target,
};

/// How long a server may take to accept a connection.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// How long a request may take with its answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(150);
/// Bytes of an answer that is read whole.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Asks one server.
#[derive(Debug)]
pub(super) struct Client {
    server: Server,
    /// The header the command shows, when the environment names one.
    credential: Option<(HeaderName, HeaderValue)>,
}

/// An answer, read whole.
#[derive(Debug)]
pub(super) struct Answer {
    /// Its status.
    pub(super) status: StatusCode,
    /// Its `X-Request-Id`, under which the server's log tells of it.
    pub(super) request_id: Option<String>,
    /// Its body, byte for byte.
    pub(super) body: Bytes,
}

/// An answer whose body comes bit by bit.
pub(super) struct Opened {
    /// Its status.
    pub(super) status: StatusCode,
    headers: HeaderMap,
    body: Incoming,
    line: Line,
}

/// What a request carries besides its target.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// JSON text.
    pub(super) json: Option<Vec<u8>>,
    /// `Last-Event-ID`.
    pub(super) last_event_id: Option<u64>,
}

impl Client {
    /// A client of `server` that shows `credential`; without one it shows what the server's data
    /// folder has for programs of its owner.
    pub(super) fn new(server: Server, credential: Option<(HeaderName, HeaderValue)>) -> Self {
        Self { server, credential }
    }

    /// Sends a request and reads its answer whole, whatever its status.
    ///
    /// # Errors
    /// [`Failure::Unreached`] when no answer came.
    pub(super) async fn ask(
        &self,
        method: Method,
        target: &str,
        load: Load,
    ) -> Result<Answer, Failure> {
        let deadline = Instant::now() + ANSWER_TIME_MAX;
        let work = async { self.open(method, target, load).await?.whole().await };
        match timeout_at(deadline, work).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::Unreached(format!(
                "the server at {} did not answer within {} seconds.",
                written(&self.server.find()?.url),
                ANSWER_TIME_MAX.as_secs()
            ))),
        }
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// # Errors
    /// [`Failure::Unreached`] when none came.
    pub(super) async fn open(
        &self,
        method: Method,
        target: &str,
        load: Load,
    ) -> Result<Opened, Failure> {
        let Found { url, local_token } = self.server.find()?;
        let credential = match (&self.credential, local_token) {
            (Some(credential), _) => Some(credential.clone()),
            (None, Some(token)) => Some(bearer(&token)?),
            (None, None) => None,
        };
        let request = request(&url, credential, method, target, load)?;
        let gone =
            |_| Failure::Unreached(format!("no guildhall server answers at {}.", written(&url)));
        let socket = connect(&url).await.map_err(gone)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(socket))
            .await
            .map_err(|error| broke(&error))?;
        let mut line = Line(Some(Box::pin(connection)));
        let answer = line.drive(sender.send_request(request)).await;
        let (head, body) = answer.map_err(|error| broke(&error))?.into_parts();
        Ok(Opened {
            status: head.status,
            headers: head.headers,
            body,
            line,
        })
    }

    /// The log's id as the server names it, when it answers.
    pub(super) async fn log_id(&self) -> Result<String, Failure> {
        let target = Target::new("/api/health");
        let answer = self
            .ask(Method::GET, target.as_str(), Load::default())
            .await?;
        let health: serde_json::Value = answer.success()?.json()?;
        Ok(health["logId"].as_str().unwrap_or_default().to_owned())
    }
}

/// The header of an API key or local token.
///
/// # Errors
/// [`Failure::Usage`] when it cannot be sent in a header.
pub(super) fn bearer(token: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    secret(header::AUTHORIZATION, &format!("Bearer {token}"))
}

/// A header that no log shows.
///
/// # Errors
/// [`Failure::Usage`] when the text cannot be sent in a header.
pub(super) fn secret(name: HeaderName, text: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    let value = HeaderValue::from_str(text);
    let mut value = value.map_err(|_| {
        Failure::Usage("the token or key of the environment cannot be one.".to_owned())
    })?;
    value.set_sensitive(true);
    Ok((name, value))
}

fn request(
    url: &Uri,
    credential: Option<(HeaderName, HeaderValue)>,
    method: Method,
    target: &str,
    load: Load,
) -> Result<Request<Full<Bytes>>, Failure> {
    let host = url.authority().map_or("", |authority| authority.as_str());
    let mut request = Request::builder()
        .method(method)
        .uri(target)
        .header(header::HOST, host)
        .header(header::ACCEPT, "*/*")
        .header(
            header::USER_AGENT,
            concat!("guildhall/", env!("CARGO_PKG_VERSION")),
        );
    if let Some((name, value)) = credential {
        request = request.header(name, value);
    }
    if let Some(seq) = load.last_event_id {
        request = request.header("last-event-id", seq);
    }
    if load.json.is_some() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    request
        .body(Full::from(load.json.unwrap_or_default()))
        .map_err(|error| Failure::Usage(format!("this is no request: {error}.")))
}

impl Answer {
    /// The answer when it is a success.
    ///
    /// # Errors
    /// [`Failure::Answered`] with it when it is none, or when a person is needed first.
    pub(super) fn success(self) -> Result<Self, Failure> {
        if self.status.is_success() && self.status != StatusCode::ACCEPTED {
            Ok(self)
        } else {
            Err(Failure::Answered(self))
        }
    }

    /// The body, read as JSON.
    ///
    /// # Errors
    /// [`Failure::Unreadable`] when it is something else.
    pub(super) fn json<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Failure::Unreadable(format!("the server's answer cannot be read: {error}."))
        })
    }
}

impl Opened {
    /// Whether the body is a stream of events.
    pub(super) fn is_stream(&self) -> bool {
        let kind = self.headers.get(header::CONTENT_TYPE);
        kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
    }

    /// Reads the rest.
    ///
    /// # Errors
    /// [`Failure::Unreached`] when the connection breaks before the end.
    pub(super) async fn whole(self) -> Result<Answer, Failure> {
        let Self {
            status,
            headers,
            body,
            mut line,
        } = self;
        let body = line.drive(Limited::new(body, ANSWER_BYTES_MAX).collect());
        let body = body.await.map_err(|error| broke(&*error))?.to_bytes();
        let request_id = headers.get("x-request-id");
        let request_id = request_id.and_then(|id| id.to_str().ok());
        Ok(Answer {
            status,
            request_id: request_id.map(str::to_owned),
            body,
        })
    }

    /// The next bytes; `None` at the end, also when the connection broke.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            let frame = self.line.drive(self.body.frame()).await?;
            if let Ok(bytes) = frame.ok()?.into_data() {
                return Some(bytes);
            }
        }
    }
}

/// A connection at work: it moves only while somebody waits for what it brings.
struct Line(Option<Pin<Box<dyn Future<Output = hyper::Result<()>>>>>);

impl Line {
    async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            let ended = match &mut self.0 {
                Some(connection) => connection.as_mut().poll(context).is_ready(),
                None => false,
            };
            if ended {
                // Its error, if any, reaches whoever waits for the answer.
                self.0 = None;
            }
            match work.as_mut().poll(context) {
                Poll::Pending if ended => {
                    // What the connection left behind is read by asking once more.
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                polled => polled,
            }
        })
        .await
    }
}

/// An address as people write it.
fn written(url: &Uri) -> String {
    url.to_string().trim_end_matches('/').to_owned()
}

async fn connect(url: &Uri) -> std::io::Result<TcpStream> {
    let host = url.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = (host, url.port_u16().unwrap_or(80));
    let socket = tokio::time::timeout(CONNECT_TIME_MAX, TcpStream::connect(address)).await??;
    socket.set_nodelay(true)?;
    Ok(socket)
}

fn broke(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::Unreached(format!(
        "the server ended the connection before its answer was whole ({error}); \
         whether something was changed is not known."
    ))
}
