//! The crowd: every open connection, so that there are never more than allowed.

use std::{
    collections::{BTreeMap, HashMap},
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::net::TcpStream;

use super::{Limits, line::Line};

/// All open connections of one door.
#[derive(Default)]
pub(super) struct Crowd {
    // A std mutex: held for a few instructions and never over an await.
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// By order of arrival.
    lines: BTreeMap<u64, Arc<Line>>,
    arrivals: u64,
    /// Open connections of each address beyond this machine.
    strangers: HashMap<IpAddr, usize>,
}

impl Crowd {
    /// Takes a connection in, or drops it when there is no room.
    ///
    /// When all places are taken, the connection that has been longest without a complete
    /// head makes room; when every one has a request running, the new one is closed.
    pub(super) fn enter(
        self: &Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        limits: &Limits,
    ) -> Option<Place> {
        let line = Arc::new(Line::new(stream, peer).ok()?);
        let stranger = (!line.is_loopback()).then(|| peer.ip().to_canonical());
        let mut open = self.open();
        if let Some(address) = stranger {
            let theirs = open.strangers.get(&address).copied().unwrap_or(0);
            if theirs >= limits.connections_per_stranger_max {
                return None;
            }
        }
        if open.lines.len() >= limits.connections_max && !open.make_room() {
            return None;
        }
        if let Some(address) = stranger {
            *open.strangers.entry(address).or_default() += 1;
        }
        let number = open.arrivals;
        open.arrivals += 1;
        open.lines.insert(number, Arc::clone(&line));
        Some(Place {
            crowd: Arc::clone(self),
            number,
            stranger,
            line,
        })
    }

    /// Ends the connection that has been longest without a complete head.
    pub(super) fn make_room(&self) {
        self.open().make_room();
    }

    /// Ends every connection.
    pub(super) fn cut_all(&self) {
        self.open().lines.values().for_each(|line| line.cut());
    }

    /// How many connections are open.
    pub(super) fn len(&self) -> usize {
        self.open().lines.len()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn make_room(&mut self) -> bool {
        let longest = self
            .lines
            .iter()
            .filter_map(|(number, line)| Some((line.course().waiting_since()?, *number)))
            .min();
        let Some((_, number)) = longest else {
            return false;
        };
        if let Some(line) = self.lines.remove(&number) {
            line.cut();
        }
        true
    }
}

/// One connection's place; dropping it leaves.
pub(super) struct Place {
    crowd: Arc<Crowd>,
    number: u64,
    stranger: Option<IpAddr>,
    pub(super) line: Arc<Line>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.crowd.open();
        open.lines.remove(&self.number);
        if let Some(address) = self.stranger
            && let Some(theirs) = open.strangers.get_mut(&address)
        {
            *theirs = theirs.saturating_sub(1);
            if *theirs == 0 {
                open.strangers.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::TcpListener;

    use super::*;

    async fn enter(crowd: &Arc<Crowd>, peer: &str, limits: &Limits) -> Option<Place> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (near, _) = tokio::join!(
            TcpStream::connect(listener.local_addr().unwrap()),
            listener.accept()
        );
        crowd.enter(near.unwrap(), peer.parse().unwrap(), limits)
    }

    #[tokio::test]
    async fn whether_a_silent_peer_is_still_there_is_asked_by_the_kernel() {
        let crowd = Arc::new(Crowd::default());
        let place = enter(&crowd, "127.0.0.1:1000", &Limits::default()).await;
        let line = Arc::clone(&place.unwrap().line);
        assert!(socket2::SockRef::from(&line.stream).keepalive().unwrap());
    }

    #[tokio::test]
    async fn a_foreign_address_has_its_own_bound() {
        let crowd = Arc::new(Crowd::default());
        let limits = Limits {
            connections_per_stranger_max: 1,
            ..Limits::default()
        };
        let first = enter(&crowd, "192.0.2.1:1000", &limits).await;
        assert!(first.is_some());
        for same in ["192.0.2.1:1001", "[::ffff:192.0.2.1]:1002"] {
            assert!(enter(&crowd, same, &limits).await.is_none(), "{same}");
        }
        let other = enter(&crowd, "192.0.2.2:1000", &limits).await;
        let here = enter(&crowd, "127.0.0.1:1000", &limits).await;
        let here_too = enter(&crowd, "127.0.0.1:1001", &limits).await;
        assert!(other.is_some() && here.is_some() && here_too.is_some());
        drop(first);
        assert!(enter(&crowd, "192.0.2.1:1003", &limits).await.is_some());
        drop((other, here, here_too));
        assert_eq!(crowd.len(), 0);
        assert!(crowd.open().strangers.is_empty());
    }
}
