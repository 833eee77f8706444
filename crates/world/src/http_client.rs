//! Requests to other servers over HTTP/1.1, with TLS by rustls and the certificates this computer
//! trusts. Never through a proxy, never to another origin than the one that was named, and no
//! body is read beyond a bound. What is asked and what answers mean is the caller's.

use std::{
    collections::BTreeSet,
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use guildhall_domain::mcp_signins::AddressReach;
use http::{
    HeaderName, HeaderValue, Request, Response, StatusCode, Uri,
    header::{HeaderMap, LOCATION},
    uri::{Authority, PathAndQuery, Scheme},
};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        Client, ResponseFuture,
        connect::{
            HttpConnector, capture_connection,
            dns::{GaiResolver, Name},
        },
    },
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};
use tower::Service;

use crate::peer_lookup::is_local_address;

/// How long a connection may take to come about.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// How long an idle connection is kept: shorter than the five seconds after which Node and Uvicorn
/// close theirs, because a POST that meets such an end is lost and must not be sent again.
const IDLE_KEPT: Duration = Duration::from_secs(4);
/// Redirects of one request that are followed.
const REDIRECTS_MAX: usize = 3;

/// What every request that goes out carries: at a guildhall it makes nobody the owner.
pub const OUTGOING: HeaderName = HeaderName::from_static("guildhall-outgoing");

/// The ports this server listens on: for people, for agents, and for previews. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ListenerPorts(Arc<RwLock<BTreeSet<u16>>>);

/// A port that is one of the [`ListenerPorts`] until this is dropped.
#[derive(Debug)]
#[must_use = "the port is no own one any more when this is dropped"]
pub struct ListenerPort {
    ports: ListenerPorts,
    port: u16,
}

impl ListenerPorts {
    /// Adds one that is listened on as long as the server runs.
    pub fn add(&self, port: u16) {
        self.change(|ports| ports.insert(port));
    }

    /// Adds one that is listened on for a while.
    pub fn hold(&self, port: u16) -> ListenerPort {
        self.add(port);
        let ports = self.clone();
        ListenerPort { ports, port }
    }

    /// Whether this server listens on a port.
    pub fn contains(&self, port: u16) -> bool {
        let ports = self.0.read().unwrap_or_else(PoisonError::into_inner);
        ports.contains(&port)
    }

    /// Whether this server listens at an address.
    fn are_at(&self, address: SocketAddr) -> bool {
        self.contains(address.port()) && is_local_address(address)
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<u16>) -> bool) {
        let mut ports = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Whether that is new says nothing: nobody else listens there.
        let _is_new = change(&mut ports);
    }
}

impl Drop for ListenerPort {
    fn drop(&mut self) {
        self.ports.change(|ports| ports.remove(&self.port));
    }
}

/// The way out. Cheap to clone; all clones share their connections.
#[derive(Clone)]
pub struct HttpClient {
    client: Client<HttpsConnector<GuardedConnector>, Full<Bytes>>,
    tls: ClientConfig,
    own: ListenerPorts,
}

/// Connects anywhere but to this server itself, by whatever name or address: nothing has been sent
/// when the other end is known.
#[derive(Clone)]
struct GuardedConnector {
    tcp: HttpConnector<FilteringResolver>,
    own: ListenerPorts,
}

impl Service<Uri> for GuardedConnector {
    type Response = TokioIo<TcpStream>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let (connecting, own) = (self.tcp.call(address), self.own.clone());
        Box::pin(async move {
            let stream = connecting.await?;
            if own.are_at(stream.inner().peer_addr()?) {
                return Err("it leads to this server itself".into());
            }
            Ok(stream)
        })
    }
}

/// Finds the addresses behind a name, and of them those that may be asked: what is found is
/// what is dialled, so that a name cannot mean one address to a check and another one then.
#[derive(Clone, Debug)]
struct FilteringResolver {
    /// How far; `None` for everywhere.
    reach: Option<AddressReach>,
}

impl Service<Name> for FilteringResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let reach = self.reach;
        Box::pin(async move {
            let found = GaiResolver::new().call(name).await?;
            let is_allowed =
                |address: &SocketAddr| reach.is_none_or(|reach| reach.allows(address.ip()));
            let allowed: Vec<SocketAddr> = found.filter(is_allowed).collect();
            if allowed.is_empty() {
                return Err(io::Error::other(
                    "it leads to an address that may not be asked",
                ));
            }
            Ok(allowed.into_iter())
        })
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outgoing")
    }
}

/// A request that got no answer, and whether anybody may have heard it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// Why; `None` when the time was over.
    pub error: Option<HttpClientError>,
    /// Whether something of it may have left this computer.
    pub may_be_sent: bool,
}

impl RequestError {
    /// One that was heard.
    pub(crate) fn sent(error: HttpClientError) -> Self {
        Self {
            error: Some(error),
            may_be_sent: true,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => error.fmt(f),
            None => f.write_str("it did not answer in time"),
        }
    }
}

/// Why a request got no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpClientError {
    /// Nobody answered.
    #[error("{0}")]
    Unreachable(String),
    /// The answer sends us to another origin, which nobody agreed to.
    #[error("it redirects to another address, {0}")]
    Elsewhere(String),
    /// The answer sends us on and on.
    #[error("it redirects too often")]
    Circles,
    /// The answer is longer than the bound.
    #[error("its answer is too large")]
    TooLarge,
}

impl HttpClient {
    /// A way out that trusts the certificates of this computer, and leads to none of the server's
    /// own ports. Reads the certificates from the disk.
    ///
    /// Where there are none, only `http` addresses can be reached.
    ///
    /// # Errors
    /// When there is no TLS, which is our own mistake.
    pub fn open(own: ListenerPorts) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        // One that cannot be read or used is not trusted, and the others are.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self::through(tls, None, own))
    }

    /// A way out of its own that goes no further than `reach`. Addresses that are written as
    /// numbers are not looked up: whoever asks checks them before.
    pub(crate) fn within_reach(&self, reach: AddressReach) -> Self {
        Self::through(self.tls.clone(), Some(reach), self.own.clone())
    }

    fn through(tls: ClientConfig, reach: Option<AddressReach>, own: ListenerPorts) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(FilteringResolver { reach });
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_WAIT));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls.clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(GuardedConnector {
                tcp,
                own: own.clone(),
            });
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_KEPT)
            .build(connector);
        Self { client, tls, own }
    }

    fn request(&self, mut request: Request<Full<Bytes>>) -> ResponseFuture {
        let mark = HeaderValue::from_static("1");
        request.headers_mut().insert(OUTGOING, mark);
        self.client.request(request)
    }

    /// Sends a request and answers the head of what came back, a redirect like anything else.
    pub(crate) async fn send_once(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<Incoming>, HttpClientError> {
        let answer = self.request(request.map(Full::new)).await;
        answer.map_err(|error| HttpClientError::Unreachable(deepest(&error)))
    }

    /// Sends a request and answers the head of what came back, a redirect like anything else;
    /// what comes to nothing says whether it may have been heard.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn traced(
        &self,
        request: Request<Bytes>,
        until: Instant,
    ) -> Result<Response<Incoming>, RequestError> {
        let mut request = request.map(Full::new);
        // Known from the moment on that a connection is chosen, which is before the first byte.
        let connection = capture_connection(&mut request);
        let answer = timeout_at(until, self.request(request)).await;
        let (error, is_connecting) = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => {
                let reason = HttpClientError::Unreachable(deepest(&error));
                (Some(reason), error.is_connect())
            }
            Err(_) => (None, false),
        };
        Err(RequestError {
            error,
            may_be_sent: !is_connecting && connection.connection_metadata().is_some(),
        })
    }

    /// Sends a request and answers the head of what came back; the body is read by [`read`] or
    /// piece by piece. Redirects within the origin are followed where they keep the method.
    ///
    /// Waits as long as the other side does: callers have their own limits.
    pub(crate) async fn send(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<Incoming>, HttpClientError> {
        let (mut head, body) = request.into_parts();
        for _ in 0..=REDIRECTS_MAX {
            let one = Request::from_parts(head.clone(), Full::new(body.clone()));
            let answer = self.request(one).await;
            let answer = answer.map_err(|error| HttpClientError::Unreachable(deepest(&error)))?;
            let is_redirect = matches!(
                answer.status(),
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
            );
            let Some(place) = location(answer.headers()).filter(|_| is_redirect) else {
                return Ok(answer);
            };
            head.uri = within(&head.uri, place)
                .ok_or_else(|| HttpClientError::Elsewhere(redacted_address(place)))?;
        }
        Err(HttpClientError::Circles)
    }
}

/// Reads a body of at most `bytes_max` bytes.
///
/// # Errors
/// When it is longer, or breaks off.
pub async fn read(mut body: Incoming, bytes_max: usize) -> Result<Vec<u8>, HttpClientError> {
    let mut bytes = Vec::new();
    while let Some(piece) = next_piece(&mut body).await? {
        if bytes.len() + piece.len() > bytes_max {
            return Err(HttpClientError::TooLarge);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// The next piece of a body; `None` behind its end. Cancel-safe.
pub(crate) async fn next_piece(body: &mut Incoming) -> Result<Option<Bytes>, HttpClientError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| HttpClientError::Unreachable(deepest(&error)))?;
        if let Ok(piece) = frame.into_data() {
            return Ok(Some(piece));
        }
    }
    Ok(None)
}

fn location(headers: &HeaderMap) -> Option<&str> {
    headers.get(LOCATION)?.to_str().ok()
}

/// Where an address was meant to lead without what may be a secret in it.
fn redacted_address(place: &str) -> String {
    let end = place.find(['?', '#']).unwrap_or(place.len());
    place.chars().take(end.min(200)).collect()
}

/// At most `chars` characters of what somebody out there said, on one line for people.
pub(crate) fn plain(text: &str, chars: usize) -> String {
    let plain = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(chars);
    plain.collect::<String>().trim().to_owned()
}

/// The address that `reference` names when it is met at `base`; `None` when it is none, or one of
/// another origin.
///
/// Dots in the path are left to the other side.
pub(crate) fn within(base: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.split('#').next().unwrap_or_default();
    if reference.starts_with("//") {
        return None;
    }
    let has_scheme = reference
        .split(['/', '?'])
        .next()
        .is_some_and(|start| start.contains(':'));
    if has_scheme {
        let other: Uri = reference.parse().ok()?;
        return (origin(&other)? == origin(base)?).then_some(other);
    }
    let path = base.path();
    let path = match reference.chars().next() {
        None => return Some(base.clone()),
        Some('/') => reference.to_owned(),
        Some('?') => format!("{path}{reference}"),
        Some(_) => {
            let folder = path.rfind('/').map_or(0, |slash| slash + 1);
            format!("{}{reference}", path.get(..folder).unwrap_or("/"))
        }
    };
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(path.parse::<PathAndQuery>().ok()?);
    Uri::from_parts(parts).ok()
}

/// Scheme, host and port; `None` for what is no address of a server.
fn origin(address: &Uri) -> Option<(Scheme, String, u16)> {
    let scheme = address.scheme()?.clone();
    let authority: &Authority = address.authority()?;
    let usual = match scheme.as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    if authority.as_str().contains('@') {
        return None;
    }
    let host = authority.host().to_ascii_lowercase();
    Some((scheme, host, authority.port_u16().unwrap_or(usual)))
}

/// The innermost reason, which says more than those around it.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut reason = error;
    while let Some(inner) = reason.source() {
        reason = inner;
    }
    reason.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_goes_to_a_port_of_our_own_by_any_name() {
        use tokio::{io::AsyncReadExt, net::TcpListener};
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = ListenerPorts::default();
        own.add(port);
        let outgoing = HttpClient::open(own).unwrap();
        for host in [
            "127.0.0.1",
            "localhost",
            "127.1",
            "2130706433",
            "[::ffff:127.0.0.1]",
        ] {
            let request = Request::get(format!("http://{host}:{port}/"));
            let asked = outgoing
                .send_once(request.body(Bytes::new()).unwrap())
                .await;
            assert!(
                matches!(asked, Err(HttpClientError::Unreachable(_))),
                "{host}"
            );
        }
        drop(outgoing);
        let (mut first, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        first.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, b"", "not a byte");
        assert!(HttpClient::open(ListenerPorts::default()).is_ok());
    }

    #[test]
    fn references_stay_within_their_origin() {
        let base: Uri = "https://a.example:8443/mcp/sse?x=1".parse().unwrap();
        let cases = [
            ("/message?s=1", Some("https://a.example:8443/message?s=1")),
            ("message", Some("https://a.example:8443/mcp/message")),
            ("?s=2", Some("https://a.example:8443/mcp/sse?s=2")),
            ("", Some("https://a.example:8443/mcp/sse?x=1")),
            ("/a#part", Some("https://a.example:8443/a")),
            ("https://A.example:8443/b", Some("https://A.example:8443/b")),
            ("https://a.example/b", None),
            ("http://a.example:8443/b", None),
            ("//b.example/c", None),
            ("https://a.example:8443@b.example/c", None),
            ("https://u:p@a.example:8443/c", None),
            ("ftp://a.example:8443/c", None),
            ("javascript:alert(1)", None),
        ];
        for (reference, expected) in cases {
            let found = within(&base, reference).map(|uri| uri.to_string());
            assert_eq!(found.as_deref(), expected, "{reference}");
        }
    }

    #[test]
    fn a_usual_port_is_the_same_origin_as_none() {
        let base: Uri = "https://a.example/mcp".parse().unwrap();
        let found = within(&base, "https://a.example:443/b").unwrap();
        assert_eq!(found.to_string(), "https://a.example:443/b");
    }
}
