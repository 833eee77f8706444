//! Guards: what every request of every listener passes before any route sees it.
//! In order: framing, sizes, `Host`, `Origin`. Who is calling is decided later, by gates.

use std::net::IpAddr;

use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri,
        header::{
            ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH,
            CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HOST, IF_NONE_MATCH, REFERRER_POLICY,
            RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::IntoResponse,
};
use guildhall_hall::peer_lookup::PeerOwner;
use guildhall_listener::{Forwarded, HEADERS_BYTES_MAX, Rejection};
use guildhall_wire::errors::ErrorEnvelope;
use serde_json::{Value, json};

use crate::{
    docs::ErrorDoc,
    error_catalogue,
    errors::ApiError,
    origin::{AllowedSources, host_allowed, host_and_port_allowed, is_served_path, origin_allowed},
    preconditions,
    previews::came_through_a_preview,
    problem_json,
    request_id::{MakeId, REQUEST_ID, RequestId},
};

/// Header lines of a request.
pub const HEADERS_MAX: usize = 100;
/// Bytes of a request target.
pub const TARGET_BYTES_MAX: usize = 8 * 1_024;

/// A no that needs nothing but the head of the request, or the listener's own state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardRefusal {
    /// No `Host`, or more than one.
    HostLines,
    /// The target names another server than `Host`.
    AuthorityMismatch,
    /// The path does not decode to UTF-8.
    PathEncoding,
    /// The request is not HTTP/1.1 as it should be.
    Unreadable,
    /// The target is longer than [`TARGET_BYTES_MAX`].
    TargetTooLong,
    /// More than [`HEADERS_MAX`] lines, or more than [`HEADERS_BYTES_MAX`] bytes of them.
    HeadersTooLarge,
    /// The head did not arrive in time.
    HeadTimeout,
    /// The body did not arrive before others needed its place.
    BodyTimeout,
    /// `Host` does not name this server.
    HostNotAllowed,
    /// The request comes from a foreign page.
    OriginNotAllowed,
    /// The request comes through a preview, whose pages are as foreign; to this server it is the
    /// owner's own program that asks.
    CameThroughAPreview,
    /// A page in the local browser asks for what is not for pages.
    LocalBrowser,
    /// No route has this path.
    NoRoute,
    /// As many requests are running as may run.
    Overloaded,
    /// A handler panicked; the log has the rest.
    Broken,
}

impl GuardRefusal {
    /// The code of the refusal. Source: contract 1.2.
    fn doc(self) -> ErrorDoc {
        match self {
            Self::HostLines | Self::AuthorityMismatch | Self::PathEncoding | Self::Unreadable => {
                error_catalogue::BAD_REQUEST
            }
            Self::TargetTooLong => error_catalogue::URI_TOO_LONG,
            Self::HeadersTooLarge => error_catalogue::HEADERS_TOO_LARGE,
            Self::HeadTimeout | Self::BodyTimeout => error_catalogue::REQUEST_TIMEOUT,
            Self::HostNotAllowed => error_catalogue::HOST_NOT_ALLOWED,
            Self::OriginNotAllowed | Self::CameThroughAPreview => {
                error_catalogue::ORIGIN_NOT_ALLOWED
            }
            Self::LocalBrowser => error_catalogue::LOCAL_BROWSER_REFUSED,
            Self::NoRoute => error_catalogue::NOT_FOUND,
            Self::Overloaded => error_catalogue::OVERLOADED,
            Self::Broken => error_catalogue::INTERNAL_ERROR,
        }
    }

    /// What a person reads: what is wrong with the frame, else what the code says.
    fn sentence(self) -> &'static str {
        match self {
            Self::HostLines => "A request must carry exactly one Host header.",
            Self::AuthorityMismatch => {
                "The address in the request line and the Host header must name the same server."
            }
            Self::PathEncoding => "The path of the address must be percent-encoded UTF-8.",
            Self::Unreadable => "The request could not be read as HTTP/1.1.",
            Self::CameThroughAPreview => {
                "This is a guildhall and no dev server: open it by its own address."
            }
            Self::BodyTimeout => {
                "The server is busy, and the request waited longest for its body; send it again."
            }
            Self::TargetTooLong
            | Self::HeadersTooLarge
            | Self::HeadTimeout
            | Self::HostNotAllowed
            | Self::OriginNotAllowed
            | Self::LocalBrowser
            | Self::NoRoute
            | Self::Overloaded
            | Self::Broken => self.doc().meaning,
        }
    }

    fn details(self) -> Value {
        match self {
            Self::TargetTooLong => json!({ "limitBytes": TARGET_BYTES_MAX }),
            Self::HeadersTooLarge => json!({ "limitBytes": HEADERS_BYTES_MAX }),
            Self::HostLines
            | Self::AuthorityMismatch
            | Self::PathEncoding
            | Self::Unreadable
            | Self::HeadTimeout
            | Self::BodyTimeout
            | Self::HostNotAllowed
            | Self::OriginNotAllowed
            | Self::CameThroughAPreview
            | Self::LocalBrowser
            | Self::NoRoute
            | Self::Overloaded
            | Self::Broken => Value::Null,
        }
    }

    /// The whole answer as bytes, for a request that could not be read; the connection ends.
    pub fn to_bytes(self, id: &RequestId) -> Vec<u8> {
        let (doc, details) = (self.doc(), self.details());
        let envelope = ErrorEnvelope {
            error: self.sentence().to_owned(),
            code: doc.code.to_owned(),
            details: (!details.is_null()).then_some(details),
        };
        // A value of plain texts always serializes.
        let body = serde_json::to_string(&envelope).unwrap_or_default();
        let head = [
            (CONTENT_TYPE, "application/json".to_owned()),
            (CONTENT_LENGTH, body.len().to_string()),
            (CONNECTION, "close".to_owned()),
            (CACHE_CONTROL, "no-store".to_owned()),
            (REQUEST_ID, id.as_str().to_owned()),
            (X_CONTENT_TYPE_OPTIONS, NOSNIFF.to_owned()),
            (REFERRER_POLICY, NO_REFERRER.to_owned()),
        ]
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .concat();
        let status = StatusCode::from_u16(doc.status).unwrap_or(StatusCode::BAD_REQUEST);
        format!("HTTP/1.1 {status}\r\n{head}\r\n{body}").into_bytes()
    }
}

impl From<Rejection> for GuardRefusal {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Unreadable => Self::Unreadable,
            Rejection::TargetTooLong => Self::TargetTooLong,
            Rejection::HeadersTooLarge => Self::HeadersTooLarge,
            Rejection::HeadTimeout => Self::HeadTimeout,
            Rejection::BodyTimeout => Self::BodyTimeout,
            Rejection::Overloaded => Self::Overloaded,
            Rejection::Broken => Self::Broken,
        }
    }
}

impl From<GuardRefusal> for ApiError {
    fn from(refused: GuardRefusal) -> Self {
        let error = Self::new(refused.doc())
            .with_sentence(refused.sentence())
            .with_details(refused.details());
        match refused {
            GuardRefusal::Overloaded => error.with_header(RETRY_AFTER, 1),
            _ => error,
        }
    }
}

impl IntoResponse for GuardRefusal {
    fn into_response(self) -> Response<Body> {
        ApiError::from(self).into_response()
    }
}

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");
const NOSNIFF: &str = "nosniff";
const NO_REFERRER: &str = "no-referrer";

/// The guards of one server, the same for all its listeners.
#[derive(Clone, Debug)]
pub struct Guards {
    allowed: AllowedSources,
    make_id: MakeId,
    /// What a served page may do, and who may frame it.
    served_policy: HeaderValue,
    /// The listener's own port, when it shows a dev server: what comes and goes is that one's.
    preview: Option<u16>,
}

/// What a served page may do. Source: contract 6.8.
const SERVED_SANDBOX: &str =
    "sandbox allow-scripts allow-forms allow-popups allow-modals; frame-ancestors 'self'";

impl Guards {
    /// Guards that let in what is `allowed`, and name requests by `make_id`.
    pub fn new(allowed: AllowedSources, make_id: MakeId) -> Self {
        let framers = allowed.origins.iter();
        let framers: String = framers.map(|origin| format!(" {origin}")).collect();
        let policy = HeaderValue::try_from(format!("{SERVED_SANDBOX}{framers}"));
        Self {
            allowed,
            make_id,
            served_policy: policy.unwrap_or(HeaderValue::from_static(SERVED_SANDBOX)),
            preview: None,
        }
    }

    /// The same for the listener of a preview on `port`: a request names that port, where it comes
    /// from is asked where it matters, and answers are left as they are.
    #[must_use]
    pub fn for_preview(self, port: u16) -> Self {
        Self {
            preview: Some(port),
            ..self
        }
    }

    /// Whether they stand before a preview.
    pub fn is_of_preview(&self) -> bool {
        self.preview.is_some()
    }

    /// What a trusted proxy says of a request from `peer`; `Host` names the host it was asked for
    /// from then on, but for a preview, whose port tells which one is meant.
    pub fn forwarded<B>(&self, request: &mut Request<B>, peer: IpAddr) -> Option<Forwarded> {
        let forwarded = Forwarded::read(request.headers(), peer, &self.allowed.proxies)?;
        if self.preview.is_none() {
            forwarded.name_host(request);
        }
        Some(forwarded)
    }

    /// An id for an answer to something that is not a request.
    pub fn new_id(&self) -> RequestId {
        RequestId::new(self.make_id)
    }

    /// Holds back the pages of the local browser, whoever drives it: served folders alone are for
    /// them, else one that an agent drives would be the owner at this computer. `word` is what the
    /// kernel says of the connection.
    ///
    /// # Errors
    /// [`GuardRefusal::LocalBrowser`].
    ///
    /// Source: contract 7.9, "Isolation rule".
    pub fn check_peer<B>(&self, request: &Request<B>, word: PeerOwner) -> Result<(), GuardRefusal> {
        let is_page = word == PeerOwner::Browser;
        if is_page && self.preview.is_none() && !is_served_path(request.uri().path()) {
            return Err(GuardRefusal::LocalBrowser);
        }
        Ok(())
    }

    /// What the answer to `request` will carry, whatever becomes of the request.
    pub fn response_policy<B>(&self, request: &Request<B>) -> ResponsePolicy {
        let headers = request.headers();
        let if_none_match = headers.get(IF_NONE_MATCH);
        let is_served = self.preview.is_none() && is_served_path(request.uri().path());
        ResponsePolicy {
            served_policy: is_served.then(|| self.served_policy.clone()),
            is_foreign: self.preview.is_some(),
            id: RequestId::of(headers, self.make_id),
            is_api: is_api_path(request.uri().path()),
            wants_problems: problem_json::is_preferred(headers),
            known: if_none_match
                .filter(|_| request.method().is_safe())
                .cloned(),
        }
    }

    /// Lets the request through to the routes, or says why not.
    ///
    /// # Errors
    /// The first check that fails, in the order of contract 1.3, rows 1 to 3.
    pub fn check<B>(&self, request: &Request<B>) -> Result<(), GuardRefusal> {
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        let host = framing(uri, headers)?;
        sizes(uri, headers)?;
        let host = host.to_str().map_err(|_| GuardRefusal::HostNotAllowed)?;
        if let Some(port) = self.preview {
            let is_allowed = host_and_port_allowed(host, port, &self.allowed);
            return is_allowed.then_some(()).ok_or(GuardRefusal::HostNotAllowed);
        }
        // Of a served folder the token is looked at first; its route says what does not decode.
        if !is_served_path(uri.path()) && !decodes_to_utf8(uri.path()) {
            return Err(GuardRefusal::PathEncoding);
        }
        if !host_allowed(host, &self.allowed) {
            return Err(GuardRefusal::HostNotAllowed);
        }
        if came_through_a_preview(headers) {
            return Err(GuardRefusal::CameThroughAPreview);
        }
        if !origin_allowed(host, method, uri, headers, &self.allowed) {
            return Err(GuardRefusal::OriginNotAllowed);
        }
        Ok(())
    }
}

/// What a request's answer will carry.
#[derive(Clone, Debug)]
pub struct ResponsePolicy {
    id: RequestId,
    is_api: bool,
    /// What the page may do that is served.
    served_policy: Option<HeaderValue>,
    /// Whether the answer is a dev server's.
    is_foreign: bool,
    /// Errors are to be problems.
    wants_problems: bool,
    /// The tags of what the caller has already, when it only reads.
    known: Option<HeaderValue>,
}

impl ResponsePolicy {
    /// The request's id.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Gives an answer the form the caller asked for, and the headers that every answer has.
    /// Source: contract 1.1, 1.2 and 1.9.
    pub fn apply(&self, response: &mut Response<Body>) {
        if self.is_foreign {
            return;
        }
        if self.wants_problems {
            problem_json::rewrite(response, &self.id);
        }
        if self.is_known(response) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
            response.headers_mut().remove(CONTENT_LENGTH);
            response.headers_mut().remove(CONTENT_TYPE);
        }
        let headers = response.headers_mut();
        headers.insert(REQUEST_ID, self.id.header());
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static(NOSNIFF));
        // A page with forms says `same-origin` itself.
        unless_said(headers, REFERRER_POLICY, NO_REFERRER);
        if let Some(policy) = &self.served_policy {
            headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
            // Its origin is opaque, and without this it could not load its own modules and fonts.
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
            headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        }
        if self.is_api {
            unless_said(headers, CACHE_CONTROL, "no-store");
            // Pages of other ports of this host are shown nothing of ours, not even how large a
            // picture is: where browsers say not whence they ask, its cookies come with them.
            unless_said(headers, RESOURCE_POLICY, "same-origin");
            unless_said(headers, CONTENT_SECURITY_POLICY, "frame-ancestors 'self'");
        }
    }

    /// Whether the caller has this answer already; an object that changes is sent each time.
    fn is_known(&self, response: &Response<Body>) -> bool {
        let headers = response.headers();
        let tag = headers
            .get(ETAG)
            .filter(|_| headers.contains_key(CACHE_CONTROL));
        response.status() == StatusCode::OK
            && self
                .known
                .as_ref()
                .zip(tag)
                .is_some_and(|(known, tag)| preconditions::is_known(known, tag))
    }
}

fn unless_said(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers
        .entry(name)
        .or_insert(HeaderValue::from_static(value));
}

/// Whether a path belongs to the interface for programs.
pub fn is_api_path(path: &str) -> bool {
    path == "/api" || path.starts_with("/api/")
}

/// One `Host`, and no second opinion about it in the request line.
fn framing<'a>(uri: &Uri, headers: &'a HeaderMap) -> Result<&'a HeaderValue, GuardRefusal> {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(GuardRefusal::HostLines);
    };
    let agrees = uri.authority().is_none_or(|authority| {
        host.as_bytes()
            .eq_ignore_ascii_case(authority.as_str().as_bytes())
    });
    if !agrees {
        return Err(GuardRefusal::AuthorityMismatch);
    }
    Ok(host)
}

fn decodes_to_utf8(path: &str) -> bool {
    if path.bytes().all(|byte| byte.is_ascii() && byte != b'%') {
        return true;
    }
    let mut rest = path.as_bytes();
    let mut decoded = Vec::with_capacity(rest.len());
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            decoded.push(first);
            continue;
        }
        let digits = after.first_chunk::<2>().and_then(|pair| {
            let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
            u8::try_from(high? * 16 + low?).ok()
        });
        let Some(byte) = digits else {
            return false;
        };
        decoded.push(byte);
        rest = &after[2..];
    }
    std::str::from_utf8(&decoded).is_ok()
}

fn sizes(uri: &Uri, headers: &HeaderMap) -> Result<(), GuardRefusal> {
    let scheme = uri
        .scheme_str()
        .map_or(0, |scheme| scheme.len() + "://".len());
    let authority = uri.authority().map_or(0, |name| name.as_str().len());
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    if scheme + authority + path > TARGET_BYTES_MAX {
        return Err(GuardRefusal::TargetTooLong);
    }
    let bytes: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + ": \r\n".len() + value.len())
        .sum();
    if headers.len() > HEADERS_MAX || bytes > HEADERS_BYTES_MAX {
        return Err(GuardRefusal::HeadersTooLarge);
    }
    Ok(())
}

#[cfg(test)]
#[path = "guards_tests.rs"]
mod tests;
