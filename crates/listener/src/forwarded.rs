//! Forwarded addresses: for whom a trusted proxy speaks, and how it was asked.
//! Read from `X-Forwarded-For`, `-Proto` and `-Host`, or from `Forwarded` (RFC 7239).
//!
//! Anybody can send these headers, so they count only where the connection's other end is one of
//! `server.trustedProxies`, and only as far as trusted proxies wrote them: see
//! [`TrustedProxies::client`]. A proxy that sets one of the two forms passes the other on as it
//! came, so where both are there and disagree, neither says who is asking.

use std::net::IpAddr;

use guildhall_domain::trusted_proxies::TrustedProxies;
use http::{
    HeaderMap, HeaderName, HeaderValue, Request,
    header::{FORWARDED, HOST},
};

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// What a trusted proxy says of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// Where the request comes from; `None` where the proxy does not say it in a way that can be
    /// relied on.
    pub client: Option<IpAddr>,
    /// Whether it was asked by https.
    pub is_https: bool,
    /// The host that was asked for.
    host: Option<String>,
}

/// What one hop of a chain says.
#[derive(Clone, Debug, Default)]
struct ForwardedHop {
    address: Option<IpAddr>,
    proto: Option<String>,
    host: Option<String>,
}

impl Forwarded {
    /// What the headers of a request from `peer` say; `None` unless that is a trusted proxy which
    /// says that it speaks for somebody.
    pub fn read(headers: &HeaderMap, peer: IpAddr, trusted: &TrustedProxies) -> Option<Self> {
        if !trusted.contains(peer) {
            return None;
        }
        let by_prefix = prefixed(headers);
        let by_standard = standard(headers);
        let (by_prefix, by_standard) = match (by_prefix, by_standard) {
            (None, None) => return None,
            (by_prefix, by_standard) => (
                by_prefix.map(|hops| Self::of(&hops, peer, trusted)),
                by_standard.map(|hops| Self::of(&hops, peer, trusted)),
            ),
        };
        match (by_prefix, by_standard) {
            (Some(one), Some(other)) if one.client != other.client => Some(Self::default()),
            (one, other) => one.or(other),
        }
    }

    fn of(hops: &[ForwardedHop], peer: IpAddr, trusted: &TrustedProxies) -> Self {
        let addresses: Vec<_> = hops.iter().map(|hop| hop.address).collect();
        let client = trusted.client(peer, &addresses);
        // The proxy at the other end wrote the last hop, also where that names nobody.
        let said = client.map_or(hops.last(), |n| hops.get(n));
        Self {
            client: client.and_then(|n| addresses.get(n).copied().flatten()),
            is_https: said
                .and_then(|hop| hop.proto.as_deref())
                .is_some_and(|proto| proto.eq_ignore_ascii_case("https")),
            host: said.and_then(|hop| hop.host.clone()),
        }
    }

    /// Puts the host that was asked for into the request, so that all who read `Host` see that
    /// one. What is no host is refused by them.
    pub fn name_host<B>(&self, request: &mut Request<B>) {
        let has_one = request.headers().get_all(HOST).iter().count() == 1;
        let host = self.host.as_deref().map(HeaderValue::from_str);
        if let (true, None, Some(Ok(host))) = (has_one, request.uri().authority(), host) {
            request.headers_mut().insert(HOST, host);
        }
    }
}

/// The chain of the `X-Forwarded-` headers; `None` where there are none.
fn prefixed(headers: &HeaderMap) -> Option<Vec<ForwardedHop>> {
    let lists = [FOR, PROTO, FORWARDED_HOST].map(|name| list(headers, &name));
    if lists.iter().all(Option::is_none) {
        return None;
    }
    let [addresses, protos, hosts] = lists.map(Option::unwrap_or_default);
    let count = addresses.len().max(1);
    let hop = |n: usize| {
        // A list as long as the addresses names each hop's; else the last proxy's word is the
        // only one that is surely a proxy's.
        let of = |list: &[String]| match list.len() == count {
            true => list.get(n).cloned(),
            false => list.last().cloned(),
        };
        ForwardedHop {
            address: addresses.get(n).and_then(|text| address(text)),
            proto: of(&protos),
            host: of(&hosts),
        }
    };
    Some((0..count).map(hop).collect())
}

/// The items of a header that may stand in several lines; `None` where it is absent.
fn list(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<String>> {
    headers.contains_key(name).then(|| {
        let lines = headers.get_all(name).iter();
        let items = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
        items
            .map(|item| String::from_utf8_lossy(item).trim().to_owned())
            .collect()
    })
}

/// The chain of `Forwarded`; `None` where it is absent. A line whose quotes do not end says nothing
/// and hides the ones before it.
fn standard(headers: &HeaderMap) -> Option<Vec<ForwardedHop>> {
    headers.contains_key(FORWARDED).then(|| {
        let lines = headers.get_all(FORWARDED).iter();
        let hops = lines.map(|line| {
            let text = line.to_str().ok();
            text.and_then(|text| split(text, ',')).map_or_else(
                || vec![ForwardedHop::default()],
                |elements| elements.into_iter().map(element).collect(),
            )
        });
        hops.flatten().collect()
    })
}

/// One element of `Forwarded`, such as `for="[2001:db8::1]:80";proto=https`.
fn element(text: &str) -> ForwardedHop {
    let mut hop = ForwardedHop::default();
    for pair in split(text, ';').unwrap_or_default() {
        let Some((name, value)) = pair.split_once('=') else {
            continue;
        };
        let value = value.trim();
        let quoted = value
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        let value = quoted.map_or_else(|| value.to_owned(), |text| text.replace('\\', ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "for" => hop.address = address(&value),
            "proto" => hop.proto = Some(value),
            "host" => hop.host = Some(value),
            _ => {}
        }
    }
    hop
}

/// Splits outside of quotes; `None` where a quote does not end.
fn split(text: &str, at: char) -> Option<Vec<&str>> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = text.split(|c: char| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        is_escaped = is_quoted && c == '\\';
        is_quoted ^= c == '"';
        !is_quoted && c == at
    });
    let parts = parts.collect();
    (!is_quoted).then_some(parts)
}

/// An address with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => match text.split_once(':') {
            Some((v4, port)) if !port.contains(':') => v4,
            _ => text,
        },
    };
    bare.parse()
        .ok()
        .map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(peer: &str, lines: &[(HeaderName, &str)]) -> Option<Forwarded> {
        let trusted = TrustedProxies::parse(["127.0.0.1", "10.0.0.0/8"]).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        Forwarded::read(&headers, peer.parse().unwrap(), &trusted)
    }

    #[test]
    fn a_trusted_proxy_is_believed_whom_it_speaks_for_and_nobody_else_is() {
        for (lines, client) in [
            (&[(FOR, "192.0.2.1")][..], Some("192.0.2.1")),
            (&[(FOR, "192.0.2.66, 192.0.2.1")], Some("192.0.2.1")),
            (
                &[(FOR, "192.0.2.66"), (FOR, "192.0.2.1")],
                Some("192.0.2.1"),
            ),
            (&[(FOR, "192.0.2.1, 10.0.0.2")], Some("192.0.2.1")),
            (&[(FOR, "192.0.2.1:4711")], Some("192.0.2.1")),
            (&[(FOR, "[2001:db8::1]:4711")], Some("2001:db8::1")),
            (&[(FOR, "2001:db8::1")], Some("2001:db8::1")),
            (&[(FOR, "192.0.2.1, unknown")], None),
            (&[(FOR, "")], None),
            (&[(PROTO, "https")], None),
            (&[(FORWARDED, "for=192.0.2.1")], Some("192.0.2.1")),
            (
                &[(
                    FORWARDED,
                    "for=192.0.2.66, For=\"[2001:db8::1]:80\";proto=https",
                )],
                Some("2001:db8::1"),
            ),
            (&[(FORWARDED, "for=\"192.0.2.66, for=192.0.2.1")], None),
            (
                &[(FORWARDED, "for=\"a\\\", for=192.0.2.66\", for=192.0.2.1")],
                Some("192.0.2.1"),
            ),
            (&[(FORWARDED, "for=_hidden")], None),
            (
                &[(FOR, "192.0.2.1"), (FORWARDED, "for=192.0.2.1")],
                Some("192.0.2.1"),
            ),
            (&[(FOR, "192.0.2.1"), (FORWARDED, "for=192.0.2.66")], None),
        ] {
            let read_there = read("127.0.0.1", lines).unwrap();
            let expected = client.map(|text| text.parse().unwrap());
            assert_eq!(read_there.client, expected, "{lines:?}");
            assert_eq!(read("192.0.2.9", lines), None, "{lines:?}");
        }
        assert_eq!(read("127.0.0.1", &[]), None);
    }

    #[test]
    fn how_it_was_asked_is_said_by_the_hop_that_is_believed() {
        let https = |lines: &[(HeaderName, &str)]| read("127.0.0.1", lines).unwrap().is_https;
        assert!(https(&[(FOR, "192.0.2.1"), (PROTO, "HTTPS")]));
        assert!(https(&[
            (FOR, "192.0.2.1, 10.0.0.2"),
            (PROTO, "https, http")
        ]));
        assert!(!https(&[
            (FOR, "192.0.2.66, 192.0.2.1"),
            (PROTO, "https, http")
        ]));
        assert!(!https(&[(FOR, "192.0.2.1"), (PROTO, "https, http")]));
        assert!(https(&[(
            FORWARDED,
            "for=192.0.2.66;proto=http, for=192.0.2.1;proto=https"
        )]));
        let mut request = Request::get("/")
            .header(HOST, "127.0.0.1:4747")
            .body(())
            .unwrap();
        let lines = [(FOR, "192.0.2.1"), (FORWARDED_HOST, "hall.example")];
        read("127.0.0.1", &lines).unwrap().name_host(&mut request);
        assert_eq!(request.headers()[HOST], "hall.example");
    }
}
