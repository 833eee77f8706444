//! Which ports of this computer programs of our own user listen on. Linux says; elsewhere nobody
//! is asked, and none is found. Reads `/proc`, so it is for threads that may wait.

use std::net::IpAddr;

/// A port somebody listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnListeningPort {
    /// The port.
    pub port: u16,
    /// The name of the program, as far as it can be seen.
    pub process: Option<String>,
}

/// Every port that is listened on by our own user where `127.0.0.1` or `[::1]` leads, in order.
pub fn ports() -> Vec<OwnListeningPort> {
    let mut found: Vec<(u16, u64)> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .flat_map(|table| listeners(&table, crate::peer_lookup::own_uid()))
        .collect();
    found.sort_unstable();
    found.dedup_by_key(|(port, _)| *port);
    let names = names(&found);
    let named = |(port, inode): (u16, u64)| OwnListeningPort {
        port,
        process: names
            .iter()
            .find(|(of, _)| *of == inode)
            .map(|(_, name)| name.clone()),
    };
    found.into_iter().map(named).collect()
}

/// Ports and inodes of a kernel's table that a loopback connection reaches.
fn listeners(table: &str, uid: u32) -> Vec<(u16, u64)> {
    /// The state of a socket that listens.
    const LISTEN: &str = "0A";
    let line = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (address, port) = columns.get(1)?.split_once(':')?;
        let is_ours = *columns.get(3)? == LISTEN && columns.get(7)?.parse() == Ok(uid);
        let address = address_of(address).filter(|address| is_ours && is_reached(*address));
        address?;
        let port = u16::from_str_radix(port, 16).ok()?;
        Some((port, columns.get(9)?.parse().ok()?))
    };
    table.lines().skip(1).filter_map(line).collect()
}

/// An address as the kernel writes it: words of 32 bits, each in the machine's own order.
fn address_of(text: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let digits = text.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    match text.len() {
        8 => Some(IpAddr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            Some(IpAddr::from(bytes).to_canonical())
        }
        _ => None,
    }
}

fn is_reached(address: IpAddr) -> bool {
    address.is_unspecified()
        || match address {
            IpAddr::V4(address) => address == std::net::Ipv4Addr::LOCALHOST,
            IpAddr::V6(address) => address == std::net::Ipv6Addr::LOCALHOST,
        }
}

/// The programs that hold these sockets; those of others cannot be looked into.
fn names(found: &[(u16, u64)]) -> Vec<(u64, String)> {
    let mut names = Vec::new();
    if found.is_empty() {
        return names;
    }
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return names;
    };
    for process in processes.flatten() {
        let is_process = process
            .file_name()
            .as_encoded_bytes()
            .iter()
            .all(u8::is_ascii_digit);
        if !is_process || names.len() == found.len() {
            continue;
        }
        let Ok(descriptors) = std::fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        for descriptor in descriptors.flatten() {
            let Some(inode) = socket_of(&descriptor.path()) else {
                continue;
            };
            let is_new = names.iter().all(|(known, _)| *known != inode);
            if is_new
                && found.iter().any(|(_, wanted)| *wanted == inode)
                && let Ok(name) = std::fs::read_to_string(process.path().join("comm"))
            {
                names.push((inode, name.trim_end().to_owned()));
            }
        }
    }
    names
}

fn socket_of(descriptor: &std::path::Path) -> Option<u64> {
    let target = std::fs::read_link(descriptor).ok()?;
    let inode = target.to_str()?.strip_prefix("socket:[")?;
    inode.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_the_kernel_gives_what_our_user_listens_on_and_loopback_reaches() {
        let line = |address: &str, state: &str, uid: u32, inode: u64| {
            format!(
                "   0: {address} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 {uid:>5} 0 {inode} 1 0 100 0 0 10 0\n"
            )
        };
        let v4 = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
        let local = v4([127, 0, 0, 1]);
        let table = [
            "  sl  local_address rem_address\n".to_owned(),
            line(&format!("{local}:1435"), "0A", 7, 11),
            line(&format!("{}:1436", v4([0; 4])), "0A", 7, 12),
            line(&format!("{local}:1437"), "01", 7, 13),
            line(&format!("{local}:1438"), "0A", 8, 14),
            line(&format!("{}:1439", v4([192, 168, 0, 2])), "0A", 7, 15),
            line(&format!("{}:143A", v4([127, 0, 0, 9])), "0A", 7, 16),
            line(
                &format!("{}{}:143B", "0".repeat(24), v4([0, 0, 0, 1])),
                "0A",
                7,
                17,
            ),
            line(
                &format!("{}{}{local}:143C", "0".repeat(16), v4([0, 0, 255, 255])),
                "0A",
                7,
                18,
            ),
            "rubbish\n".to_owned(),
        ]
        .concat();
        let found = [(0x1435, 11), (0x1436, 12), (0x143B, 17), (0x143C, 18)];
        assert_eq!(listeners(&table, 7), found);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn our_own_listeners_are_found_with_the_name_of_their_program() {
        let own = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = own.local_addr().unwrap().port();
        let found = ports();
        let one = found.iter().find(|one| one.port == port).unwrap();
        assert!(one.process.as_ref().is_some_and(|name| !name.is_empty()));
        drop(own);
    }
}
