//! Origin: whether a request names this server, and comes from this server's own page.
//! Pure decisions over header texts; `guards` applies them and answers.
//!
//! `Host` alone catches a rebound name, `Origin` alone a foreign WebSocket,
//! `Sec-Fetch-Site` alone a foreign image: none replaces another.

use axum::http::{
    HeaderMap, Method, Uri,
    header::{HeaderName, ORIGIN},
};

use guildhall_domain::trusted_proxies::TrustedProxies;

use crate::web_page;

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Names every installation answers to.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// "Every address": browsers send it to whatever listens, so it never names us.
const NEVER_NAMES: [&str; 2] = ["0.0.0.0", "[::]"];

/// What an installation allows beyond its own names.
#[derive(Clone, Debug, Default)]
pub struct AllowedSources {
    /// Further names, without a port: `server.allowedHosts`.
    pub hosts: Vec<String>,
    /// Further origins such as `https://hall.example`: `server.allowedOrigins`.
    pub origins: Vec<String>,
    /// Proxies that are believed whom they speak for: `server.trustedProxies`.
    pub proxies: TrustedProxies,
}

/// Whether a `Host` value names this server.
///
/// The name must be written exactly as listed, upper or lower case; a port must be
/// 1 to 65535 and is otherwise ignored, since SSH forwards change it.
///
/// Source: contract 1.3, "Host".
pub fn host_allowed(host: &str, allowed: &AllowedSources) -> bool {
    let Some(HostAndPort { name, port: _ }) = HostAndPort::parse(host) else {
        return false;
    };
    let is = |listed: &str| name.eq_ignore_ascii_case(listed);
    !NEVER_NAMES.into_iter().any(is)
        && (is_loopback_name(name) || allowed.hosts.iter().any(|listed| is(listed)))
}

/// Whether a `Host` value names this server on this very port, as a preview asks.
///
/// Source: contract 6.9, "Host rule".
pub fn host_and_port_allowed(host: &str, port: u16, allowed: &AllowedSources) -> bool {
    let is_port = |authority: HostAndPort<'_>| authority.port.unwrap_or(80) == port;
    host_allowed(host, allowed) && HostAndPort::parse(host).is_some_and(is_port)
}

/// The name in a `Host` value, IPv6 in brackets.
pub fn name_of(host: &str) -> Option<&str> {
    HostAndPort::parse(host).map(|authority| authority.name)
}

/// Whether a name is one that every installation answers to.
pub fn is_loopback_name(name: &str) -> bool {
    OWN_NAMES.iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// Whether a path is of a served folder, whose token decides instead of where a request comes
/// from.
pub fn is_served_path(path: &str) -> bool {
    path.starts_with("/api/workbench/serve/")
}

/// Whether the request may come from where it comes from, given a `Host` that is allowed.
///
/// Source: contract 1.3, "Origin".
pub fn origin_allowed(
    host: &str,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    allowed: &AllowedSources,
) -> bool {
    let is_served = method.is_safe() && is_served_path(uri.path());
    if is_served
        || opens_the_page(method, uri, headers)
        || comes_from_a_sign_in(method, uri, headers)
    {
        return true;
    }
    let mut origins = headers.get_all(ORIGIN).iter();
    let is_listed = match (origins.next(), origins.next()) {
        (None, _) => false,
        (Some(origin), None) => {
            let Ok(origin) = origin.to_str() else {
                return false;
            };
            let is_listed = allowed
                .origins
                .iter()
                .any(|listed| listed.eq_ignore_ascii_case(origin));
            if !is_listed && !is_same_origin(origin, host) {
                return false;
            }
            is_listed
        }
        (Some(_), Some(_)) => return false,
    };
    is_listed
        || !headers.get_all(SEC_FETCH_SITE).iter().any(|site| {
            [&b"same-site"[..], b"cross-site"]
                .iter()
                .any(|foreign| site.as_bytes().eq_ignore_ascii_case(foreign))
        })
}

/// A browser sent to a page of a sign-in from elsewhere: the answer of an authorization server,
/// which its state and cookie prove, or the page that only says what will happen.
fn comes_from_a_sign_in(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    let path = uri.path();
    let is_page = path == "/api/oauth/callback" || path.starts_with("/api/oauth/start/");
    let is = |name: &HeaderName, value: &str| {
        let mut sent = headers.get_all(name).iter();
        sent.next().is_some_and(|first| first == value) && sent.next().is_none()
    };
    method == Method::GET
        && is_page
        && !headers.contains_key(ORIGIN)
        && is(&SEC_FETCH_MODE, "navigate")
        && is(&SEC_FETCH_DEST, "document")
}

/// A person following a link to the web page: without effect, and the page is ours.
fn opens_the_page(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    let is = |name: &HeaderName, value: &str| {
        let mut sent = headers.get_all(name).iter();
        sent.next().is_some_and(|first| first == value) && sent.next().is_none()
    };
    method == Method::GET
        && is(&SEC_FETCH_MODE, "navigate")
        && is(&SEC_FETCH_DEST, "document")
        && web_page::is_page_path(uri.path())
}

/// Whether `origin` is http(s) with the host and port of `host`.
fn is_same_origin(origin: &str, host: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else {
        return false;
    };
    let default_port = match scheme.to_ascii_lowercase().as_str() {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    let (Some(theirs), Some(ours)) = (HostAndPort::parse(authority), HostAndPort::parse(host))
    else {
        return false;
    };
    theirs.name.eq_ignore_ascii_case(ours.name)
        && theirs.port.unwrap_or(default_port) == ours.port.unwrap_or(default_port)
}

/// A name with an optional port, as `Host` and `Origin` write it.
struct HostAndPort<'a> {
    name: &'a str,
    port: Option<u16>,
}

impl<'a> HostAndPort<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let name_end = if text.starts_with('[') {
            text.find(']')? + 1
        } else {
            text.find(':').unwrap_or(text.len())
        };
        let (name, rest) = text.split_at(name_end);
        if name.is_empty() || name.contains(['/', '?', '#', '@']) {
            return None;
        }
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => None,
            None => return None,
            Some(digits) => Some(port(digits)?),
        };
        Some(Self { name, port })
    }
}

/// A port in its one written form: digits without leading zero, 1 to 65535.
fn port(digits: &str) -> Option<u16> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
#[path = "origin_tests.rs"]
pub(crate) mod tests;
