//! Header fields on their way to a dev server and back: what is ours is taken out, what names a
//! place is put right, and what is between two connections alone goes no further.
//! Pure: tables in, tables out. Source: contract 6.9, the rows on headers.

use axum::http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        AUTHORIZATION, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY_REPORT_ONLY,
        COOKIE, EXPECT, HOST, LOCATION, ORIGIN, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, REFERER,
        SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, VIA, X_FRAME_OPTIONS,
    },
};

use super::{CLEAR_SITE_DATA, PARAMETER, STATION};

/// Fields between two connections (RFC 9110 §7.6.1), beside those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 10] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    // It was met by reading the body.
    EXPECT,
];

/// Whose request it is, and where it goes.
pub(super) struct ProxyRoute<'a> {
    /// The preview's origin, as the browser knows it.
    pub(super) origin: &'a str,
    /// The dev server's port.
    pub(super) port: u16,
    /// This installation's name in `Via`.
    pub(super) own_name: &'a str,
}

/// Whether the request came through this installation before.
pub(super) fn came_through(headers: &HeaderMap, own_name: &str) -> bool {
    via_names(headers).any(|name| name.eq_ignore_ascii_case(own_name.as_bytes()))
}

/// Whether the request came through a preview, of this installation or another one.
pub(super) fn came_through_any(headers: &HeaderMap) -> bool {
    via_names(headers).any(|name| {
        let start = name.get(..STATION.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(STATION.as_bytes()))
    })
}

/// The names of those that passed a request on (RFC 9110 §7.6.3).
fn via_names(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let lines = headers.get_all(VIA).iter();
    lines
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .filter_map(|station| {
            let mut words = station
                .split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty());
            words.nth(1)
        })
}

/// Makes a request's fields those that the dev server gets.
pub(super) fn to_dev_server(headers: &mut HeaderMap, way: &ProxyRoute<'_>) {
    drop_hop_by_hop(headers);
    headers.remove(AUTHORIZATION);
    let ours: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with("x-service-"))
        .cloned()
        .collect();
    for name in ours {
        headers.remove(name);
    }
    replace(headers, &COOKIE, foreign_cookies);
    let there = format!("http://localhost:{}", way.port);
    replace(headers, &ORIGIN, |origin| {
        let is_preview = origin
            .as_bytes()
            .eq_ignore_ascii_case(way.origin.as_bytes());
        Some(match is_preview {
            true => HeaderValue::try_from(&there).ok()?,
            false => origin.clone(),
        })
    });
    replace(headers, &REFERER, |from| referer(from, way.origin, &there));
    if let Ok(host) = HeaderValue::try_from(format!("localhost:{}", way.port)) {
        headers.insert(HOST, host);
    }
    if let Ok(station) = HeaderValue::try_from(format!("1.1 {}", way.own_name)) {
        headers.append(VIA, station);
    }
}

/// Makes an answer's fields those that the browser gets.
pub(super) fn to_browser(headers: &mut HeaderMap, port: u16) {
    drop_hop_by_hop(headers);
    headers.remove(X_FRAME_OPTIONS);
    for name in [CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY_REPORT_ONLY] {
        replace(headers, &name, without_framers);
    }
    replace(headers, &LOCATION, |place| {
        let here = place
            .to_str()
            .ok()
            .and_then(|place| within_preview(place, port));
        here.map_or(Some(place.clone()), |here| HeaderValue::try_from(here).ok())
    });
    replace(headers, &SET_COOKIE, foreign_cookie);
    replace(headers, &CLEAR_SITE_DATA, without_cookies);
}

fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect();
    for name in HOP_BY_HOP.into_iter().chain(named) {
        headers.remove(name);
    }
}

/// Replaces each value of a field, or drops it.
fn replace(
    headers: &mut HeaderMap,
    name: &HeaderName,
    with: impl Fn(&HeaderValue) -> Option<HeaderValue>,
) {
    if !headers.contains_key(name) {
        return;
    }
    let kept: Vec<HeaderValue> = headers.get_all(name).iter().filter_map(with).collect();
    headers.remove(name);
    for value in kept {
        headers.append(name, value);
    }
}

/// Whether a cookie is one of ours, on either scheme and whatever server of ours set it.
fn is_ours(name: &[u8]) -> bool {
    let name = name.trim_ascii();
    let starts_with = |prefix: &[u8]| {
        let start = name.get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    starts_with(b"guildhall_")
        || starts_with(b"__host-guildhall")
        || starts_with(b"__secure-guildhall")
        || name.eq_ignore_ascii_case(b"gh_flow")
}

/// The cookies of a line that are not ours; `None` when none is left.
fn foreign_cookies(line: &HeaderValue) -> Option<HeaderValue> {
    let pairs = line.as_bytes().split(|byte| *byte == b';');
    let kept: Vec<&[u8]> = pairs
        .map(<[u8]>::trim_ascii)
        .filter(|pair| !pair.is_empty() && !is_ours(name_of(pair)))
        .collect();
    let line = kept.join(&b"; "[..]);
    (!line.is_empty()).then(|| HeaderValue::from_bytes(&line).ok())?
}

/// A cookie's name. One without a name is shown by its value alone, as if that were its name.
fn name_of(pair: &[u8]) -> &[u8] {
    let mut parts = pair.split(|byte| *byte == b'=').map(<[u8]>::trim_ascii);
    parts.find(|part| !part.is_empty()).unwrap_or_default()
}

/// What a dev server may set: no cookie of ours, and none for other hosts.
fn foreign_cookie(line: &HeaderValue) -> Option<HeaderValue> {
    let mut parts = line.as_bytes().split(|byte| *byte == b';');
    let pair = parts.next()?;
    if is_ours(name_of(pair)) {
        return None;
    }
    let is_kept = |part: &&[u8]| !name_of(part).eq_ignore_ascii_case(b"domain");
    let kept: Vec<&[u8]> = std::iter::once(pair).chain(parts.filter(is_kept)).collect();
    HeaderValue::from_bytes(&kept.join(&b';')).ok()
}

/// What of its origin a dev server may clear. Not the cookies: those are of the whole host, our
/// sign-in among them. `None` when nothing else is to be cleared.
fn without_cookies(wanted: &HeaderValue) -> Option<HeaderValue> {
    const ITS_OWN: [&str; 3] = ["\"cache\"", "\"storage\"", "\"executionContexts\""];
    let kinds = wanted.as_bytes().split(|byte| *byte == b',');
    let kinds: Vec<&[u8]> = kinds.map(<[u8]>::trim_ascii).collect();
    let is_wanted =
        |kind: &&str| kinds.contains(&kind.as_bytes()) || kinds.contains(&&b"\"*\""[..]);
    let kept: Vec<&str> = ITS_OWN.into_iter().filter(is_wanted).collect();
    (!kept.is_empty()).then(|| HeaderValue::try_from(kept.join(", ")).ok())?
}

/// A policy that says nothing of who may frame the page; `None` when nothing is left of it.
fn without_framers(policy: &HeaderValue) -> Option<HeaderValue> {
    let is_framers = |directive: &[u8]| {
        let mut words = directive.split(u8::is_ascii_whitespace);
        let name = words.find(|word| !word.is_empty()).unwrap_or_default();
        name.eq_ignore_ascii_case(b"frame-ancestors")
    };
    let policies: Vec<Vec<u8>> = policy
        .as_bytes()
        .split(|byte| *byte == b',')
        .map(|policy| {
            let directives = policy.split(|byte| *byte == b';');
            let kept: Vec<&[u8]> = directives.filter(|one| !is_framers(one)).collect();
            kept.join(&b';')
        })
        .filter(|policy| !policy.trim_ascii().is_empty())
        .collect();
    let policy = policies.join(&b',');
    (!policy.is_empty()).then(|| HeaderValue::from_bytes(policy.trim_ascii()).ok())?
}

/// Where a page of the preview says it comes from; an address with a token is not told.
fn referer(from: &HeaderValue, origin: &str, there: &str) -> Option<HeaderValue> {
    let Ok(text) = from.to_str() else {
        return Some(from.clone());
    };
    if text.contains(PARAMETER) {
        return None;
    }
    let start = text.get(..origin.len());
    let is_preview = start.is_some_and(|start| start.eq_ignore_ascii_case(origin));
    match text.get(origin.len()..) {
        Some(rest) if is_preview && (rest.is_empty() || rest.starts_with('/')) => {
            HeaderValue::try_from(format!("{there}{rest}")).ok()
        }
        _ => Some(from.clone()),
    }
}

/// The place within the preview that an address of the dev server names; `None` for others.
fn within_preview(place: &str, port: u16) -> Option<String> {
    let authority = match place.split_once("//") {
        Some((scheme, rest)) if scheme.is_empty() || scheme.eq_ignore_ascii_case("http:") => rest,
        _ => return None,
    };
    let end = authority.find(['/', '?', '#']).unwrap_or(authority.len());
    let (authority, rest) = authority.split_at(end);
    let (name, shown) = match authority.rsplit_once(':') {
        Some((name, digits)) if !digits.contains(']') => (name, digits.parse().ok()?),
        _ => (authority, 80),
    };
    let is_local = ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|local| name.eq_ignore_ascii_case(local));
    if !is_local || shown != port {
        return None;
    }
    Some(match rest.as_bytes() {
        // Two slashes would name another host.
        [b'/', b'/', ..] => format!("/.{rest}"),
        [b'/', ..] => rest.to_owned(),
        _ => format!("/{rest}"),
    })
}

#[cfg(test)]
#[path = "header_rewrite_tests.rs"]
mod tests;
