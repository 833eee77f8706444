//! Trusted proxies: whose word on where a request comes from counts, and the chain of hops that a
//! request names. Anybody can write such a header, so it is read from the right, as far as each
//! address that appended to it is a trusted one.

use std::{net::IpAddr, str::FromStr};

/// A range of addresses, such as `10.0.0.0/8`; an address alone is a range of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNetwork {
    first: IpAddr,
    bits: u8,
}

impl FromStr for IpNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("must be addresses or networks such as 10.0.0.0/8, not {text}");
        let (address, bits) = text.split_once('/').unzip();
        let first: IpAddr = address.unwrap_or(text).parse().map_err(|_| invalid())?;
        let width = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => width,
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|parsed: &u8| *parsed <= width && parsed.to_string() == bits)
                .ok_or_else(invalid)?,
        };
        Ok(Self { first, bits })
    }
}

impl IpNetwork {
    /// Whether an address is in it; an IPv4 address written as IPv6 is the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let host_bits = 32 - u32::from(self.bits);
                let of = |address: std::net::Ipv4Addr| {
                    address.to_bits().checked_shr(host_bits).unwrap_or(0)
                };
                of(first) == of(address)
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let host_bits = 128 - u32::from(self.bits);
                let of = |address: std::net::Ipv6Addr| {
                    address.to_bits().checked_shr(host_bits).unwrap_or(0)
                };
                of(first) == of(address)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// The proxies whose word counts; none unless they are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNetwork>);

impl TrustedProxies {
    /// Reads addresses and networks.
    ///
    /// # Errors
    /// What is wrong with the first that is none.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let networks: Result<_, _> = texts.into_iter().map(str::parse).collect();
        networks.map(Self)
    }

    /// Whether an address is one of them.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// Which hop of a chain a request comes from, by its place in `hops`, which name the client
    /// first and end with what the proxy at the other end of the connection appended.
    ///
    /// It is the last hop that is not a trusted proxy itself. What stands before it, or before a
    /// hop that is no address, was written by nobody who is trusted. `None` where `peer` is no
    /// trusted proxy, and where the last hop is no address.
    pub fn client(&self, peer: IpAddr, hops: &[Option<IpAddr>]) -> Option<usize> {
        if !self.contains(peer) {
            return None;
        }
        let known = hops
            .iter()
            .enumerate()
            .rev()
            .map_while(|(n, hop)| Some((n, (*hop)?)));
        let mut client = None;
        for (n, hop) in known {
            client = Some(n);
            if !self.contains(hop) {
                break;
            }
        }
        client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_contains_its_addresses() {
        for (network, address, is_in) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.1.2.3/8", "10.0.0.0", true),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "2001:db8::1", true),
            ("::1", "::1", true),
        ] {
            let read: IpNetwork = network.parse().unwrap();
            assert_eq!(read.contains(ip(address)), is_in, "{network} {address}");
        }
        for wrong in [
            "",
            "localhost",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/08",
            "::/129",
            "1/8",
        ] {
            assert!(wrong.parse::<IpNetwork>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_client_is_the_last_hop_that_is_no_trusted_proxy() {
        let trusted = TrustedProxies::parse(["127.0.0.1", "10.0.0.0/8"]).unwrap();
        let chain = |hops: &[&str]| -> Vec<Option<IpAddr>> {
            hops.iter().map(|hop| hop.parse().ok()).collect()
        };
        for (peer, hops, client) in [
            ("127.0.0.1", &["192.0.2.1"][..], Some(0)),
            ("127.0.0.1", &["192.0.2.66", "192.0.2.1"], Some(1)),
            ("127.0.0.1", &["192.0.2.1", "10.0.0.2"], Some(0)),
            ("127.0.0.1", &["unknown", "10.0.0.2"], Some(1)),
            ("127.0.0.1", &["192.0.2.1", "unknown"], None),
            ("127.0.0.1", &["10.0.0.1", "10.0.0.2"], Some(0)),
            ("127.0.0.1", &[], None),
            ("192.0.2.9", &["192.0.2.1"], None),
        ] {
            assert_eq!(
                trusted.client(ip(peer), &chain(hops)),
                client,
                "{peer} {hops:?}"
            );
        }
        let nobody = TrustedProxies::default();
        assert_eq!(nobody.client(ip("127.0.0.1"), &chain(&["192.0.2.1"])), None);
    }
}
