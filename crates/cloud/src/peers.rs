//! Where a request comes from: the address that wrong guesses count against.

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use axum::extract::FromRequestParts;
use http::{HeaderMap, request::Parts};

/// The address at the other end of a connection; put into each request by the listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Where a request comes from.
///
/// A proxy on this computer is believed what it appended to `X-Forwarded-For`; anybody else's
/// word is worth nothing, since it would let everyone guess under ever new addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source(pub(crate) IpAddr);

impl<S: Sync> FromRequestParts<S> for Source {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<Peer>();
        let peer = peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0);
        Ok(Self(source(peer.to_canonical(), &parts.headers)))
    }
}

/// What is counted as one address: of an IPv6 address the network, since one computer has them all.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn source(peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let appended = || {
        let last = headers.get_all("x-forwarded-for").iter().next_back()?;
        let last = last.to_str().ok()?.rsplit(',').next()?;
        last.trim().parse().ok()
    };
    match peer.is_loopback() {
        true => appended().unwrap_or(peer),
        false => peer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_proxy_on_this_computer_is_believed() {
        let headers = |text: &str| {
            HeaderMap::from_iter([("x-forwarded-for".parse().unwrap(), text.parse().unwrap())])
        };
        let here = || "127.0.0.1".parse().unwrap();
        let there: IpAddr = "198.51.100.7".parse().unwrap();
        let two = headers("192.0.2.1, 198.51.100.7");
        assert_eq!(source(here(), &two), there);
        assert_eq!(source(here(), &headers("nonsense")), here());
        assert_eq!(source(here(), &HeaderMap::new()), here());
        assert_eq!(source(there, &headers("192.0.2.1")), there);
    }
}
