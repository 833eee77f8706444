//! All open connections of one listener, so that there are never more than allowed.

use std::{
    collections::{BTreeMap, HashMap},
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use guildhall_domain::attempt_limiter::network_of;
use tokio::net::TcpStream;

use super::{Connection, Limits};

/// All open connections of one listener.
#[derive(Default)]
pub(super) struct Connections {
    // A std mutex: held for a few instructions and never over an await.
    open: Mutex<OpenConnections>,
}

#[derive(Default)]
struct OpenConnections {
    /// By order of arrival.
    connections: BTreeMap<u64, Arc<Connection>>,
    arrivals: u64,
    /// Open connections of each network beyond this machine.
    strangers: HashMap<IpAddr, usize>,
}

impl Connections {
    /// Takes a connection in, or drops it when there is no room.
    ///
    /// When all places are taken, the connection that has been longest without a complete
    /// head makes room; when every one has a request running, the new one is closed.
    pub(super) fn enter(
        self: &Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        limits: &Limits,
    ) -> Option<ConnectionSlot> {
        let connection = Arc::new(Connection::new(stream, peer).ok()?);
        let stranger = (!connection.is_loopback()).then(|| network_of(peer.ip()));
        let mut open = self.open();
        if let Some(network) = stranger {
            let theirs = open.strangers.get(&network).copied().unwrap_or(0);
            if theirs >= limits.connections_per_stranger_max {
                return None;
            }
        }
        if open.connections.len() >= limits.connections_max && !open.make_room() {
            return None;
        }
        if let Some(network) = stranger {
            *open.strangers.entry(network).or_default() += 1;
        }
        let number = open.arrivals;
        open.arrivals += 1;
        open.connections.insert(number, Arc::clone(&connection));
        Some(ConnectionSlot {
            all: Arc::clone(self),
            number,
            stranger,
            connection,
        })
    }

    /// Ends the connection that has been longest without a complete head.
    pub(super) fn make_room(&self) {
        self.open().make_room();
    }

    /// Ends every connection.
    pub(super) fn cut_all(&self) {
        let open = self.open();
        open.connections.values().for_each(|each| each.cut());
    }

    /// How many connections are open.
    pub(super) fn len(&self) -> usize {
        self.open().connections.len()
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    fn make_room(&mut self) -> bool {
        let longest = self
            .connections
            .iter()
            .filter_map(|(number, each)| Some((each.progress().waiting_since()?, *number)))
            .min();
        let Some((_, number)) = longest else {
            return false;
        };
        if let Some(longest) = self.connections.remove(&number) {
            longest.cut();
        }
        true
    }
}

/// One connection's place; dropping it leaves.
pub(super) struct ConnectionSlot {
    all: Arc<Connections>,
    number: u64,
    stranger: Option<IpAddr>,
    pub(super) connection: Arc<Connection>,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut open = self.all.open();
        open.connections.remove(&self.number);
        if let Some(network) = self.stranger
            && let Some(theirs) = open.strangers.get_mut(&network)
        {
            *theirs = theirs.saturating_sub(1);
            if *theirs == 0 {
                open.strangers.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::TcpListener;

    use super::*;

    async fn enter(open: &Arc<Connections>, peer: &str, limits: &Limits) -> Option<ConnectionSlot> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (near, _) = tokio::join!(
            TcpStream::connect(listener.local_addr().unwrap()),
            listener.accept()
        );
        open.enter(near.unwrap(), peer.parse().unwrap(), limits)
    }

    #[tokio::test]
    async fn whether_a_silent_peer_is_still_there_is_asked_by_the_kernel() {
        let open = Arc::new(Connections::default());
        let slot = enter(&open, "127.0.0.1:1000", &Limits::default()).await;
        let connection = Arc::clone(&slot.unwrap().connection);
        assert!(
            socket2::SockRef::from(&connection.stream)
                .keepalive()
                .unwrap()
        );
    }

    #[tokio::test]
    async fn a_foreign_network_has_its_own_bound() {
        let open = Arc::new(Connections::default());
        let limits = Limits {
            connections_per_stranger_max: 1,
            ..Limits::default()
        };
        let first = enter(&open, "192.0.2.1:1000", &limits).await;
        assert!(first.is_some());
        for same in ["192.0.2.1:1001", "[::ffff:192.0.2.1]:1002"] {
            assert!(enter(&open, same, &limits).await.is_none(), "{same}");
        }
        let v6 = enter(&open, "[2001:db8::1]:1000", &limits).await;
        assert!(v6.is_some());
        let same_network = enter(&open, "[2001:db8::2]:1000", &limits).await;
        assert!(same_network.is_none());
        let other_network = enter(&open, "[2001:db8:0:1::1]:1000", &limits).await;
        assert!(other_network.is_some());
        let other = enter(&open, "192.0.2.2:1000", &limits).await;
        let here = enter(&open, "127.0.0.1:1000", &limits).await;
        let here_too = enter(&open, "127.0.0.1:1001", &limits).await;
        assert!(other.is_some() && here.is_some() && here_too.is_some());
        drop(first);
        assert!(enter(&open, "192.0.2.1:1003", &limits).await.is_some());
        drop((v6, other_network, other, here, here_too));
        assert_eq!(open.len(), 0);
        assert!(open.open().strangers.is_empty());
    }
}
