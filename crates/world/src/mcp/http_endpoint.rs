//! What both transports over HTTP have in common: the address with its headers, what a status
//! means, and a stream of events.

use guildhall_domain::mcp_servers::server_test::is_bearer;
use http::{
    HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, USER_AGENT, WWW_AUTHENTICATE},
};
use hyper::body::Incoming;

use super::{
    McpError, ServerAddress, SharedBearerToken,
    sse_parser::{SseParser, SseRead},
};
use crate::http_client::{HttpClient, HttpClientError, next_piece};

/// What is said of us.
const AGENT: &str = concat!("guildhall/", env!("CARGO_PKG_VERSION"));
/// The media type of messages.
pub(super) const JSON: &str = "application/json";
/// The media type of streams.
pub(super) const EVENTS: &str = "text/event-stream";

/// An address and all that goes with every request to it.
#[derive(Clone, Debug)]
pub(super) struct HttpEndpoint {
    pub(super) outgoing: HttpClient,
    pub(super) uri: Uri,
    headers: HeaderMap,
    bearer: SharedBearerToken,
}

impl HttpEndpoint {
    pub(super) fn of(address: &ServerAddress) -> Result<Self, McpError> {
        let unusable = |what: &str| McpError::NotStarted(format!("{what} cannot be sent"));
        let uri: Uri = address
            .url
            .split('#')
            .next()
            .unwrap_or_default()
            .parse()
            .map_err(|_| unusable("the address"))?;
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        for (name, value) in &address.headers {
            let name: HeaderName = name.parse().map_err(|_| unusable("a header"))?;
            let mut value: HeaderValue = value.parse().map_err(|_| unusable("a header"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(Self {
            outgoing: address.outgoing.clone(),
            uri,
            headers,
            bearer: address.bearer.clone(),
        })
    }

    /// A request to `uri`, which must be of this origin.
    pub(super) fn request(&self, method: Method, uri: &Uri) -> Request<bytes::Bytes> {
        let is_post = method == Method::POST;
        let mut request = Request::default();
        *request.method_mut() = method;
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = self.headers.clone();
        let headers = request.headers_mut();
        if let Some(bearer) = self.bearer.header() {
            headers.insert(AUTHORIZATION, bearer);
        }
        if is_post {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        request
    }
}

/// The challenge of an answer that wants another sign-in, `""` when a 401 has none. A 403 wants
/// one only where it says that the scope is what is missing.
pub(super) fn challenge<B>(answer: &Response<B>) -> Option<String> {
    let status = answer.status();
    let challenge = answer.headers().get(WWW_AUTHENTICATE);
    let challenge = challenge.and_then(|value| value.to_str().ok());
    match challenge {
        Some(challenge) if status == StatusCode::UNAUTHORIZED => Some(challenge.to_owned()),
        Some(challenge)
            if status == StatusCode::FORBIDDEN
                && is_bearer(challenge)
                && challenge.contains("insufficient_scope") =>
        {
            Some(challenge.to_owned())
        }
        None if status == StatusCode::UNAUTHORIZED => Some(String::new()),
        _ => None,
    }
}

/// Whether the answer's body is of this media type.
pub(super) fn is_of<B>(answer: &Response<B>, media_type: &str) -> bool {
    let told = answer.headers().get(CONTENT_TYPE);
    let told = told.and_then(|value| value.to_str().ok());
    told.and_then(|value| value.split(';').next())
        .is_some_and(|value| value.trim().eq_ignore_ascii_case(media_type))
}

/// The events of an answer.
#[derive(Debug)]
pub(super) struct SseStream {
    body: Incoming,
    events: SseParser,
}

impl SseStream {
    pub(super) fn of(body: Incoming, bytes_max: usize) -> Self {
        Self {
            body,
            events: SseParser::new(bytes_max),
        }
    }

    /// The next event; `None` behind the last. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Option<SseRead>, HttpClientError> {
        loop {
            if let Some(heard) = self.events.next() {
                return Ok(Some(heard));
            }
            match next_piece(&mut self.body).await? {
                Some(piece) => self.events.read(&piece),
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_403_wants_a_wider_sign_in_only_where_it_says_so() {
        let answer = |status: u16, told: Option<&str>| {
            let mut answer = Response::builder().status(status);
            if let Some(told) = told {
                answer = answer.header(WWW_AUTHENTICATE, told);
            }
            challenge(&answer.body(()).unwrap())
        };
        let scope = r#"Bearer error="insufficient_scope", scope="a""#;
        assert_eq!(answer(403, Some(scope)).as_deref(), Some(scope));
        for told in [None, Some("Basic"), Some(r#"Bearer error="access_denied""#)] {
            assert_eq!(answer(403, told), None, "{told:?}");
        }
        assert_eq!(answer(401, Some("Basic")).as_deref(), Some("Basic"));
        assert_eq!(answer(401, None).as_deref(), Some(""));
        assert_eq!(answer(500, Some(scope)), None);
    }
}
