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
use http_body_util::{BodyExt, Limited};
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
    failure::Failure,
    request_body::RequestBody,
    request_target::RequestTarget,
    server_discovery::{RunningServer, ServerLocation},
};

/// How long a server may take to accept a connection.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// How long a request may take with its answer, apart from the time the server may hold it.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(150);
/// Bytes of an answer that is read whole.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The header that carries the token of an approval.
const SERVICE_APPROVAL: HeaderName = HeaderName::from_static("x-service-approval");
/// The header that says how long to wait.
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// Asks one server.
#[derive(Debug)]
pub(super) struct Client {
    server: ServerLocation,
    /// The header the command shows, when the environment names one.
    credential: Option<(HeaderName, HeaderValue)>,
}

/// An answer, read whole.
#[derive(Debug)]
pub(super) struct HttpResponse {
    /// Its status.
    pub(super) status: StatusCode,
    /// Its `X-Request-Id`, under which the server's log tells of it.
    pub(super) request_id: Option<String>,
    /// Its `ETag`.
    pub(super) etag: Option<String>,
    /// The sign-in that its `Set-Cookie` brings, as `name=value`.
    pub(super) cookie: Option<String>,
    /// Its body, byte for byte.
    pub(super) body: Bytes,
}

/// An answer whose body comes bit by bit.
pub(super) struct StreamingResponse {
    /// Its status.
    pub(super) status: StatusCode,
    headers: HeaderMap,
    body: Incoming,
    line: ConnectionDriver,
}

/// What a request carries besides its target.
#[derive(Default)]
pub(super) struct RequestParts {
    /// Its body.
    pub(super) payload: RequestBody,
    /// `Last-Event-ID`.
    pub(super) last_event_id: Option<u64>,
    /// `Idempotency-Key`.
    pub(super) idempotency_key: Option<String>,
    /// `If-Match`.
    pub(super) if_match: Option<String>,
    /// `Prefer: wait`, in seconds: how long the server may hold its answer.
    pub(super) wait: Option<u32>,
    /// `X-Service-Approval`.
    pub(super) approval: Option<String>,
}

/// What goes along with a request that a person may have to approve. Without `Debug`, because a
/// token is a secret.
#[derive(Clone, Default)]
pub(super) struct ApprovalOptions {
    /// `Prefer: wait`, in seconds.
    pub(super) wait: Option<u32>,
    /// `X-Service-Approval`.
    pub(super) token: Option<String>,
    /// `Idempotency-Key`.
    pub(super) idempotency_key: Option<String>,
    /// `If-Match`.
    pub(super) if_match: Option<String>,
}

impl Client {
    /// A client of `server_discovery` that shows `credential`; without one it shows what the server's data
    /// folder has for programs of its owner.
    pub(super) fn new(
        server: ServerLocation,
        credential: Option<(HeaderName, HeaderValue)>,
    ) -> Self {
        Self { server, credential }
    }

    /// A client of the same server that shows a sign-in, `name=value`.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it cannot be sent in a header.
    pub(super) fn signed_in(&self, cookie: &str) -> Result<Self, Failure> {
        let credential = Some(secret(header::COOKIE, cookie)?);
        Ok(Self::new(self.server.clone(), credential))
    }

    /// Sends a request and reads its answer whole, whatever its status.
    ///
    /// # Errors
    /// [`Failure::Unreached`] when no server was there, [`Failure::CutOff`] when no answer came.
    pub(super) async fn ask(
        &self,
        method: Method,
        target: &str,
        load: RequestParts,
    ) -> Result<HttpResponse, Failure> {
        let within = ANSWER_TIME_MAX + Duration::from_secs(load.wait.unwrap_or_default().into());
        let deadline = Instant::now() + within;
        let work = async { self.open(method, target, load).await?.whole().await };
        match timeout_at(deadline, work).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::CutOff(format!(
                "the server at {} did not answer within {} seconds.",
                written(&self.server.find()?.url),
                within.as_secs()
            ))),
        }
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// # Errors
    /// [`Failure::Unreached`] when no server was there, [`Failure::CutOff`] when none came.
    pub(super) async fn open(
        &self,
        method: Method,
        target: &str,
        load: RequestParts,
    ) -> Result<StreamingResponse, Failure> {
        let RunningServer { url, local_token } = self.server.find()?;
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
        let mut line = ConnectionDriver(Some(Box::pin(connection)));
        let answer = line.drive(sender.send_request(request)).await;
        let (head, body) = answer.map_err(|error| broke(&error))?.into_parts();
        Ok(StreamingResponse {
            status: head.status,
            headers: head.headers,
            body,
            line,
        })
    }

    /// Where its server is, as people write it.
    ///
    /// # Errors
    /// [`Failure::Unreached`] when no server uses the data folder.
    pub(super) fn address(&self) -> Result<String, Failure> {
        Ok(written(&self.server.find()?.url))
    }

    /// The log's id as the server names it, when it answers.
    pub(super) async fn log_id(&self) -> Result<String, Failure> {
        let target = RequestTarget::new("/api/health");
        let answer = self
            .ask(Method::GET, target.as_str(), RequestParts::default())
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
    load: RequestParts,
) -> Result<Request<RequestBody>, Failure> {
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
    if let Some(key) = load.idempotency_key {
        request = request.header("idempotency-key", key);
    }
    if let Some(tags) = load.if_match {
        request = request.header(header::IF_MATCH, tags);
    }
    if let Some(wait) = load.wait {
        request = request.header(PREFER, format!("wait={wait}"));
    }
    if let Some(token) = load.approval {
        let (name, value) = secret(SERVICE_APPROVAL, &token)?;
        request = request.header(name, value);
    }
    if let Some(kind) = load.payload.kind() {
        request = request.header(header::CONTENT_TYPE, kind);
    }
    request
        .body(load.payload)
        .map_err(|error| Failure::Usage(format!("this is no request: {error}.")))
}

impl HttpResponse {
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

impl StreamingResponse {
    /// Whether the body is a stream of events.
    pub(super) fn is_stream(&self) -> bool {
        let kind = self.headers.get(header::CONTENT_TYPE);
        kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
    }

    /// Its `ETag`.
    pub(super) fn etag(&self) -> Option<&str> {
        self.headers.get(header::ETAG)?.to_str().ok()
    }

    /// Reads the rest.
    ///
    /// # Errors
    /// [`Failure::CutOff`] when the connection breaks before the end.
    pub(super) async fn whole(self) -> Result<HttpResponse, Failure> {
        let Self {
            status,
            headers,
            body,
            mut line,
        } = self;
        let body = line.drive(Limited::new(body, ANSWER_BYTES_MAX).collect());
        let body = body.await.map_err(|error| broke(&*error))?.to_bytes();
        let text = |name: &str| {
            let value = headers.get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        // What stands behind the first `;` is for browsers.
        let cookie =
            text("set-cookie").and_then(|cookie| cookie.split(';').next().map(str::to_owned));
        Ok(HttpResponse {
            status,
            request_id: text("x-request-id"),
            etag: text("etag"),
            cookie,
            body,
        })
    }

    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// [`Failure::CutOff`] when the connection broke before the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        while let Some(frame) = self.line.drive(self.body.frame()).await {
            if let Ok(bytes) = frame.map_err(|error| broke(&error))?.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

/// A connection at work: it moves only while somebody waits for what it brings.
struct ConnectionDriver(Option<Pin<Box<dyn Future<Output = hyper::Result<()>>>>>);

impl ConnectionDriver {
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
    // What happened stands behind what the library was doing.
    let why = std::iter::successors(error.source(), |error| (*error).source()).last();
    let why = why.map_or_else(|| error.to_string(), ToString::to_string);
    Failure::CutOff(format!(
        "the connection ended before the answer was whole ({why}); \
         whether something was changed is not known."
    ))
}
