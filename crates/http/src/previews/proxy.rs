//! What comes to a preview: its own two addresses, those who show no token, and everything else,
//! which goes to the dev server and streams back.

use std::{
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderValue, Response, StatusCode, Uri,
        header::{
            CACHE_CONTROL, CONNECTION, COOKIE, HOST, LOCATION, REFERRER_POLICY, SET_COOKIE,
            TRANSFER_ENCODING,
        },
        uri::PathAndQuery,
    },
    response::IntoResponse,
};
use bytes::Bytes;
use guildhall_domain::workbench::AddressClaims;
use guildhall_hall::{
    Hall,
    dev_server::{DevServerClient, DevServerError},
    workbench::previews::Preview,
};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::{Instant, sleep_until};

use super::{
    CLEAR_SITE_DATA, PARAMETER,
    error_pages::ProxyError,
    header_rewrite::{self, ProxyRoute},
    websocket_upgrades,
};
use crate::listener::RequestHead;

/// What a preview asks to see whether it is there; never the dev server's.
const HEALTH: &str = "/__guildhall_preview/health";

/// Seconds a browser keeps which dev server it met here: as long as what that one's pages left
/// may stay, as far as browsers let a cookie live.
const MARKED_S: u32 = 400 * 24 * 3_600;

/// A preview and the way to its dev server.
pub(super) struct PreviewProxy {
    pub(super) hall: Hall,
    pub(super) preview: Arc<Preview>,
    pub(super) upstream: DevServerClient<TimedBody>,
    /// This installation's name in `Via`.
    pub(super) own_name: String,
}

/// Answers one request.
pub(super) async fn answer(
    State(proxy): State<Arc<PreviewProxy>>,
    mut request: Request,
) -> Response<Body> {
    let head = request.extensions_mut().remove::<RequestHead>();
    let head = head.unwrap_or_default();
    // What is behind it may be read otherwise by whoever reads it next, and is not read here.
    let is_last = head.is_followed || !HttpBody::is_end_stream(request.body());
    let answered = proxy.answer(request, head).await;
    let mut answer = answered.unwrap_or_else(IntoResponse::into_response);
    if is_last && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
    }
    answer
}

impl PreviewProxy {
    async fn answer(
        self: &Arc<Self>,
        mut request: Request,
        head: RequestHead,
    ) -> Result<Response<Body>, ProxyError> {
        require_unambiguous(&request, head)?;
        if request.uri().path() == HEALTH {
            return Ok(healthy());
        }
        if header_rewrite::came_through(request.headers(), &self.own_name) {
            return Err(ProxyError::Loop);
        }
        let origin = self.origin(request.headers());
        if let Some((token, place)) = token_in(request.uri()) {
            self.admit([token]).await?;
            let place = format!("{origin}{place}");
            return self.enter(token, &place, request.headers());
        }
        let tokens = cookies(request.headers(), self.token_cookie());
        let grant = self.admit(tokens).await?;
        self.hall.record_preview_request(&self.preview);
        if websocket_upgrades::is_wanted(request.headers()) {
            return websocket_upgrades::answer(self, request, head, &origin, grant).await;
        }
        self.to_dev_server(&mut request, &origin);
        let answer = self.send_upstream(request).await?;
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(ProxyError::Broken(self.preview.port()));
        }
        Ok(self.to_browser(answer))
    }

    /// The preview's origin as the browser knows it; the guards found its host to be ours.
    fn origin(&self, headers: &HeaderMap) -> String {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        format!("http://{}", host.unwrap_or("localhost"))
    }

    /// Lets in who shows a token for this preview; what a browser was given by others who use the
    /// same name counts for nothing.
    async fn admit<'a>(
        &self,
        tokens: impl IntoIterator<Item = &'a str>,
    ) -> Result<AddressClaims, ProxyError> {
        /// Cookies of the name that are looked at.
        const TOKENS_MAX: usize = 64;
        for token in tokens.into_iter().take(TOKENS_MAX) {
            match self.hall.preview_claims(token, &self.preview).await {
                Ok(Some(grant)) => return Ok(grant),
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(?error, "the token of a preview could not be looked up");
                    return Err(ProxyError::Fault);
                }
            }
        }
        Err(ProxyError::Stranger)
    }

    /// Where this preview's token is kept.
    fn token_cookie(&self) -> String {
        format!("guildhall_preview_{}", self.preview.listen_port())
    }

    /// Where a browser keeps which dev server it met on this port.
    fn dev_server_cookie(&self) -> String {
        format!("guildhall_shown_{}", self.preview.listen_port())
    }

    /// Sends the browser to the same address without its token, which a cookie holds from now on.
    /// One that met another dev server on this port clears what that one's pages left.
    fn enter(
        &self,
        token: &str,
        place: &str,
        shown: &HeaderMap,
    ) -> Result<Response<Body>, ProxyError> {
        let cookie = format!(
            "{}={token}; Path=/; HttpOnly; SameSite=Lax",
            self.token_cookie()
        );
        let mut cookie = HeaderValue::try_from(cookie).map_err(|_| ProxyError::Fault)?;
        cookie.set_sensitive(true);
        let port = self.preview.port().to_string();
        let marker = self.dev_server_cookie();
        let met_another = cookies(shown, marker.clone()).any(|met| met != port);
        let marker = format!("{marker}={port}; Path=/; Max-Age={MARKED_S}; HttpOnly; SameSite=Lax");
        let marker = HeaderValue::try_from(marker).map_err(|_| ProxyError::Fault)?;
        let place = HeaderValue::try_from(place).map_err(|_| ProxyError::Fault)?;
        let mut response = StatusCode::FOUND.into_response();
        let headers = response.headers_mut();
        headers.insert(LOCATION, place);
        headers.append(SET_COOKIE, cookie);
        headers.append(SET_COOKIE, marker);
        if met_another {
            let left = HeaderValue::from_static("\"cache\", \"storage\"");
            headers.insert(CLEAR_SITE_DATA, left);
        }
        let no_referrer = HeaderValue::from_static("no-referrer");
        headers.insert(REFERRER_POLICY, no_referrer);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }

    /// Makes a request the one that the dev server gets.
    pub(super) fn to_dev_server(&self, request: &mut Request, origin: &str) {
        let port = self.preview.port();
        let way = ProxyRoute {
            origin,
            port,
            own_name: &self.own_name,
        };
        header_rewrite::to_dev_server(request.headers_mut(), &way);
        let mut parts = std::mem::take(request.uri_mut()).into_parts();
        parts.scheme = Some(axum::http::uri::Scheme::HTTP);
        parts.authority = format!("localhost:{port}").parse().ok();
        let path = parts.path_and_query.take();
        parts.path_and_query = Some(path.unwrap_or(PathAndQuery::from_static("/")));
        // Of these parts an address can always be made.
        *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
    }

    /// Makes an answer of the dev server the one that the browser gets.
    pub(super) fn to_browser(&self, answer: Response<Incoming>) -> Response<Body> {
        let mut answer = answer.map(Body::new);
        header_rewrite::to_browser(answer.headers_mut(), self.preview.port());
        // What hyper noted of the other connection is none of this one's.
        answer.extensions_mut().clear();
        *answer.version_mut() = axum::http::Version::HTTP_11;
        answer
    }

    /// Sends a request to the dev server and waits for the head of its answer.
    pub(super) async fn send_upstream(
        &self,
        request: Request,
    ) -> Result<Response<Incoming>, ProxyError> {
        let (port, wait) = (self.preview.port(), self.preview.head_wait());
        let sent = Arc::new(Mutex::new(Instant::now()));
        let last_sent = || *sent.lock().unwrap_or_else(PoisonError::into_inner);
        let request = request.map(|body| TimedBody {
            body,
            sent: Arc::clone(&sent),
        });
        let (mut parts, body) = request.into_parts();
        // Those are of the listener, and the dev server's connection keeps its own.
        parts.extensions.clear();
        parts.version = axum::http::Version::HTTP_11;
        let request = Request::from_parts(parts, body);
        let mut answer = pin!(self.upstream.send(request));
        loop {
            let due = last_sent() + wait;
            // Both only wait: cancel-safe.
            tokio::select! {
                answer = answer.as_mut() => return answer.map_err(|why| match why {
                    DevServerError::Refused => ProxyError::NobodyListens(port),
                    DevServerError::Broken => ProxyError::Broken(port),
                }),
                () = sleep_until(due) => if last_sent() + wait <= Instant::now() {
                    return Err(ProxyError::Silent(port));
                }
            }
        }
    }
}

/// What the cookies of this name hold.
fn cookies(headers: &HeaderMap, name: String) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(COOKIE).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(move |(known, _)| *known == name)
        .map(|(_, value)| value)
}

/// Holds back what another server may read as another request.
fn require_unambiguous(request: &Request, head: RequestHead) -> Result<(), ProxyError> {
    if head.has_two_lengths {
        return Err(ProxyError::Unclear(
            "The request says twice how long it is.",
        ));
    }
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    let is_plain = match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    };
    if !is_plain {
        return Err(ProxyError::Unclear(
            "The request's body comes in a form that is not passed on.",
        ));
    }
    if !request.uri().path().starts_with('/') {
        return Err(ProxyError::Unclear("The request names no path."));
    }
    Ok(())
}

fn healthy() -> Response<Body> {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The token that an address brings, and the same address without it.
fn token_in(uri: &Uri) -> Option<(&str, String)> {
    let is_token = |pair: &&str| pair.split('=').next() == Some(PARAMETER);
    let pairs = uri.query()?.split('&');
    let token = pairs.clone().find(is_token)?;
    let token = token.split_once('=').map_or("", |(_, token)| token);
    let rest: Vec<&str> = pairs.filter(|pair| !is_token(pair)).collect();
    let mut place = uri.path().to_owned();
    if !rest.is_empty() {
        place.push('?');
        place.push_str(&rest.join("&"));
    }
    Some((token, place))
}

/// A request's body that notes when something of it was sent last.
pub(super) struct TimedBody {
    body: Body,
    // A std mutex: held for an instruction and never over an await.
    sent: Arc<Mutex<Instant>>,
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if frame.is_ready() {
            *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_out_of_an_address_and_nothing_else() {
        for (uri, expected) in [
            ("/?__guildhall_preview=t", Some(("t", "/"))),
            (
                "/a/b?x=1&__guildhall_preview=t&y=%20",
                Some(("t", "/a/b?x=1&y=%20")),
            ),
            (
                "/a?__guildhall_preview=t&__guildhall_preview=u",
                Some(("t", "/a")),
            ),
            ("/a?__guildhall_preview", Some(("", "/a"))),
            ("/a?x__guildhall_preview=t", None),
            ("/a?__guildhall_previews=t", None),
            ("/__guildhall_preview=t", None),
            (
                "//evil.example/?__guildhall_preview=t",
                Some(("t", "//evil.example/")),
            ),
        ] {
            let uri: Uri = uri.parse().unwrap();
            let expected = expected.map(|(token, place)| (token, place.to_owned()));
            assert_eq!(token_in(&uri), expected, "{uri}");
        }
    }
}
