//! Listening where agents cannot come: see [`guildhall_domain::port_ranges`].

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use guildhall_domain::port_ranges::{PortRange, ReservedPorts};
use tokio::net::TcpListener;

/// Listens at an address; port 0 is any reserved port that is free there.
///
/// # Errors
/// What the system says, such as that the address is another's.
pub async fn listen(address: SocketAddr, reserved: ReservedPorts) -> io::Result<TcpListener> {
    if address.port() != 0 {
        return TcpListener::bind(address).await;
    }
    // Servers that start at once have different numbers.
    let seed = std::process::id() as usize * 97;
    let mut last = io::ErrorKind::AddrInUse.into();
    for port in reserved.candidates(seed) {
        match TcpListener::bind(SocketAddr::new(address.ip(), port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            bound => return bound,
        }
    }
    Err(last)
}

/// The ports that the system gives to programs which choose none, if reserved ones are among them:
/// agents can be given one of those to listen on (`ip(7)`, `ip_local_port_range`).
pub fn overlapping_range(reserved: ReservedPorts) -> Option<PortRange> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let range: PortRange = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join("-")
        .parse()
        .ok()?;
    reserved.overlaps(range).then_some(range)
}

/// Listens where agents can come: on this computer, at a port that the system chooses and that is
/// not reserved.
///
/// # Errors
/// What the system says.
pub async fn listen_outside(reserved: ReservedPorts) -> io::Result<TcpListener> {
    let mut refused = Vec::new();
    loop {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        if !reserved.contains(listener.local_addr()?.port()) {
            return Ok(listener);
        }
        // Held, so that the system does not choose it again.
        refused.push(listener);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_that_nobody_chose_is_reserved_and_free() {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (one, other) = (
            listen(any, ReservedPorts::default()).await.unwrap(),
            listen(any, ReservedPorts::default()).await.unwrap(),
        );
        let [one, other] = [one, other].map(|listener| listener.local_addr().unwrap().port());
        let reserved = ReservedPorts::default();
        assert!(reserved.contains(one) && reserved.contains(other));
        assert_ne!(one, other);
    }

    #[tokio::test]
    async fn a_port_that_somebody_chose_is_that_one() {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let taken = listen(any, ReservedPorts::default()).await.unwrap();
        let again = listen(taken.local_addr().unwrap(), ReservedPorts::default())
            .await
            .unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AddrInUse);
    }
}
