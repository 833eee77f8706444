//! Addresses of a sign-in: which may be asked, so that a tool server cannot send this computer
//! to places that only this computer reaches. Source: contract 4.8, "addresses".

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::SigninFailure;
use crate::port_ranges::ReservedPorts;

/// How far a sign-in may reach: as far as the tool server itself is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressReach {
    /// Addresses of the internet.
    Public,
    /// Those of private networks, too.
    Private,
    /// Those of this computer, too.
    Loopback,
}

impl AddressReach {
    /// How far a server at these addresses is away; `None` for one nobody may be sent to.
    ///
    /// One address of the internet among them makes it a server of the internet.
    pub fn of(addresses: &[IpAddr]) -> Option<Self> {
        let reaches: Option<Vec<Self>> = addresses.iter().map(|ip| needed(*ip)).collect();
        reaches?.into_iter().min()
    }

    /// Whether a packet may go to `ip`.
    pub fn allows(self, ip: IpAddr) -> bool {
        needed(ip).is_some_and(|needed| needed <= self)
    }

    /// Holds an address against the rules, as far as it can be told from its text: https, or
    /// http to this computer for a server of this computer; no user info.
    ///
    /// # Errors
    /// [`SigninFailure::InsecureAddress`].
    pub fn check(self, url: &Url) -> Result<(), SigninFailure> {
        let is_protected = match url.scheme() {
            "https" => true,
            "http" => self == Self::Loopback && is_loopback_host(url),
            _ => false,
        };
        let is_plain = url.username().is_empty() && url.password().is_none();
        let is_near = match url.host() {
            Some(Host::Ipv4(ip)) => self.allows(ip.into()),
            Some(Host::Ipv6(ip)) => self.allows(ip.into()),
            Some(Host::Domain(_)) => !is_loopback_host(url) || self == Self::Loopback,
            None => false,
        };
        match is_protected && is_plain && is_near {
            true => Ok(()),
            false => Err(SigninFailure::InsecureAddress),
        }
    }
}

/// Whether a guildhall of this computer may listen at an address: there a request of the server
/// would count as the owner's, so nobody else may send it there.
pub fn may_be_a_guildhall(url: &Url) -> bool {
    let port = url.port_or_known_default();
    is_loopback_host(url) && port.is_some_and(|port| ReservedPorts::default().contains(port))
}

/// Whether a host is this computer by its very name.
pub fn is_loopback_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// How far one must reach for `ip`; `None` for what is no server's address, and for link-local
/// ones, where clouds keep the keys of their machines.
fn needed(ip: IpAddr) -> Option<AddressReach> {
    match ip {
        IpAddr::V4(ip) => of_four(ip),
        IpAddr::V6(ip) => of_six(ip),
    }
}

fn of_four(ip: Ipv4Addr) -> Option<AddressReach> {
    let [a, b, ..] = ip.octets();
    if ip.is_loopback() {
        return Some(AddressReach::Loopback);
    }
    if a == 0 || a >= 224 || ip.is_link_local() {
        return None;
    }
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_of_tests = a == 198 && matches!(b, 18 | 19);
    match ip.is_private() || is_shared || is_of_tests {
        true => Some(AddressReach::Private),
        false => Some(AddressReach::Public),
    }
}

fn of_six(ip: Ipv6Addr) -> Option<AddressReach> {
    if let Some(four) = ip.to_ipv4_mapped() {
        return of_four(four);
    }
    let segments = ip.segments();
    let [a, b, ..] = segments;
    // Addresses that are translated to those of version 4.
    if (a, b) == (0x64, 0xff9b) {
        let [.., high, low] = segments;
        let bits = (u32::from(high) << 16) | u32::from(low);
        return of_four(Ipv4Addr::from_bits(bits));
    }
    if ip.is_loopback() {
        return Some(AddressReach::Loopback);
    }
    let is_link_local = a & 0xffc0 == 0xfe80;
    if ip.is_unspecified() || ip.is_multicast() || is_link_local {
        return None;
    }
    // Unique local, and site local of old.
    match a & 0xfe00 == 0xfc00 || a & 0xffc0 == 0xfec0 {
        true => Some(AddressReach::Private),
        false => Some(AddressReach::Public),
    }
}
