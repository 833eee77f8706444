//! Ranges of ports, and the ports that are reserved: where guildhalls listen, the same for every
//! one on a computer, so that no agent of any of them reaches the owner's listener of another.

use std::{ops::RangeInclusive, str::FromStr};

/// Ports from the first to the last, as `4748-4779`; one port alone is a range, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The lowest.
    pub first: u16,
    /// The highest.
    pub last: u16,
}

impl PortRange {
    /// How many they are.
    pub fn count(self) -> usize {
        usize::from(self.last - self.first) + 1
    }

    /// Whether a port is in both.
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// All of them, in order.
    pub fn ports(self) -> RangeInclusive<u16> {
        self.first..=self.last
    }
}

impl FromStr for PortRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u16>()
                .ok()
                .filter(|port| is_plain && *port > 0)
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (Some(first), Some(last)) = (port(first), port(last)) else {
            return Err("must be two ports with a hyphen between, such as 4748-4779".to_owned());
        };
        if last < first {
            return Err("must name the lower port first".to_owned());
        }
        Ok(Self { first, last })
    }
}

/// Ports that are known by their numbers: the default one of a server, those of its previews, and
/// that of a companion.
pub const KNOWN: PortRange = PortRange {
    first: 4_740,
    last: 4_799,
};

/// The ports that agents are kept from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedPorts {
    /// Ports for listeners whose number nobody chose.
    free: PortRange,
}

impl Default for ReservedPorts {
    /// They lie above those that Linux gives to outgoing connections (`ip_local_port_range`, 32768
    /// to 60999 by default), so that none of them is taken by chance.
    fn default() -> Self {
        Self {
            free: PortRange {
                first: 61_000,
                last: 64_999,
            },
        }
    }
}

impl FromStr for ReservedPorts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let free: PortRange = text.parse()?;
        // Those below 1024 take rights, and few leave no room for previews and other servers.
        if free.first < 1_024 || free.count() < 100 {
            return Err("must span at least 100 ports from 1024 on".to_owned());
        }
        Ok(Self { free })
    }
}

impl ReservedPorts {
    /// Whether agents are kept from a port.
    pub fn contains(self, port: u16) -> bool {
        KNOWN.ports().contains(&port) || self.free.ports().contains(&port)
    }

    /// Whether one of them lies in a range.
    pub fn overlaps(self, range: PortRange) -> bool {
        KNOWN.overlaps(range) || self.free.overlaps(range)
    }

    /// Every port for a listener whose number nobody chose, each once, beginning at a place that
    /// `seed` names: two servers that look for a port at once rarely try the same one.
    pub fn candidates(self, seed: usize) -> impl Iterator<Item = u16> {
        let ports = self.free.ports();
        let skipped = seed % self.free.count();
        ports.clone().skip(skipped).chain(ports.take(skipped))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn candidates_are_all_free_ports_each_once() {
        let reserved = ReservedPorts::default();
        for seed in [0, 1, 3_999, 4_000, usize::MAX] {
            let ports: Vec<u16> = reserved.candidates(seed).collect();
            assert_eq!(ports.len(), 4_000);
            assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), 4_000);
            assert!(ports.iter().all(|port| reserved.contains(*port)));
        }
        assert_ne!(reserved.candidates(1).next(), reserved.candidates(2).next());
    }

    #[test]
    fn ports_of_other_programs_are_not_reserved() {
        for port in [0, 80, 3000, 4_739, 4_800, 5_173, 32_768, 60_999, 65_000] {
            assert!(!ReservedPorts::default().contains(port), "{port}");
        }
    }

    #[test]
    fn the_free_ports_can_be_moved_and_the_known_ones_stay() {
        let moved: ReservedPorts = "20000-20999".parse().unwrap();
        for (port, is_reserved) in [
            (20_000, true),
            (20_999, true),
            (61_000, false),
            (4_747, true),
        ] {
            assert_eq!(moved.contains(port), is_reserved, "{port}");
        }
        let range = |text: &str| text.parse::<PortRange>().unwrap();
        assert!(!moved.overlaps(range("32768-60999")));
        assert!(moved.overlaps(range("1024-65535")) && moved.overlaps(range("20999")));
        for wrong in ["", "80-2000", "20000-20010", "20999-20000", "x-y", "+1-2"] {
            assert!(wrong.parse::<ReservedPorts>().is_err(), "{wrong}");
        }
    }
}
