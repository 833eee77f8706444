//! Peers: which operating-system user, and which agent, is behind a loopback connection.
//! Asks the kernel and reports its word; what a word allows is `hall::callers`.
//!
//! Where the kernel cannot be asked there is no word, and no word is never a yes.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use guildhall_domain::ids::AgentId;

use crate::process_tree::{ProcessTrees, SocketHolder};

/// What is known about the other end of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerOwner {
    /// The kernel named the socket.
    User {
        /// The user the socket was made by.
        uid: u32,
        /// The socket's inode, never 0: the way to the process that holds it.
        inode: u64,
    },
    /// The kernel named the socket, and whoever holds it may be an agent, see [`SocketHolder::InDoubt`].
    InDoubt {
        /// The user the socket was made by.
        uid: u32,
        /// Whether the cookie of a trusted browser settles it.
        can_be_settled: bool,
    },
    /// A process of this agent's tree holds the socket.
    Agent(AgentId),
    /// A process of the local browser holds the socket: a page, whoever drives it.
    Browser,
    /// A process below the server that belongs to no agent holds the socket.
    Stray,
    /// The connection came to the listener for agents, where nobody is known but by a token; with
    /// the agent whose process holds the socket, where the kernel named one.
    AgentListener(Option<AgentId>),
    /// The kernel was asked and named nobody: no such socket, one that was closed already
    /// (its inode is 0), one that no process holds while agents run, or no answer at all.
    Unknown,
    /// Nobody asked: the check is switched off.
    NotAsked,
    /// The peer is on another computer.
    Elsewhere,
}

/// Who is asked about a connection.
#[derive(Clone, Debug)]
pub enum PeerLookup {
    /// The kernel, by netlink `sock_diag`, and by `/proc` whether the holder is one of these.
    Kernel(ProcessTrees),
    /// Nobody: every word on a loopback connection is [`PeerOwner::NotAsked`].
    Off,
    /// A script, for tests that need a peer of another user.
    Scripted(ScriptedPeers),
    /// These, for connections to the listener for agents: see [`PeerOwner::AgentListener`].
    AgentListener(Box<Self>),
}

/// Words by source address; an address that is not listed belongs to our own user. Clones
/// share the words.
#[derive(Clone, Debug, Default)]
pub struct ScriptedPeers {
    // A std mutex: held for a look-up and never over an await.
    words: Arc<Mutex<BTreeMap<IpAddr, PeerOwner>>>,
}

impl ScriptedPeers {
    /// Lets connections from `address` have `word`.
    #[must_use]
    pub fn with(self, address: IpAddr, word: PeerOwner) -> Self {
        self.set(address, word);
        self
    }

    /// The same from now on, for every clone.
    pub fn set(&self, address: IpAddr, word: PeerOwner) {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.insert(address, word);
    }

    fn word(&self, address: IpAddr) -> PeerOwner {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.get(&address).copied().unwrap_or(PeerOwner::User {
            uid: own_uid(),
            inode: 1,
        })
    }
}

impl PeerLookup {
    /// Whether another process may hold a connection at its next request: its holder is asked for
    /// again then.
    pub fn may_change(&self) -> bool {
        match self {
            Self::Kernel(trees) => trees.may_be_open(),
            // Nobody is known there but by a token.
            Self::AgentListener(_) | Self::Off | Self::Scripted(_) => false,
        }
    }

    /// Who is behind the connection that `peer` made to our end `local`.
    ///
    /// The answer is of this moment: a caller that acts on it makes sure afterwards that our end
    /// is still connected, since only then the address pair was not reused. Takes some 20 µs; while
    /// agents run some milliseconds, and at most some 50 whatever they do.
    ///
    /// Source: contract 1.4, "The peer check".
    pub async fn look_up(&self, peer: SocketAddr, local: SocketAddr) -> PeerOwner {
        match self {
            // First, so that no address that a connection comes from leads around it.
            Self::AgentListener(peers) => match Box::pin(peers.look_up(peer, local)).await {
                PeerOwner::Agent(agent) => PeerOwner::AgentListener(Some(agent)),
                // Pages are refused everywhere.
                word @ (PeerOwner::Browser | PeerOwner::Stray) => word,
                PeerOwner::AgentListener(_)
                | PeerOwner::User { .. }
                | PeerOwner::InDoubt { .. }
                | PeerOwner::Unknown
                | PeerOwner::NotAsked
                | PeerOwner::Elsewhere => PeerOwner::AgentListener(None),
            },
            Self::Kernel(trees) => match ask_kernel(peer, local) {
                PeerOwner::User { uid, inode } => placed(uid, inode, trees).await,
                // Nobody on this computer has such a socket.
                PeerOwner::Unknown if !is_local_address(peer) => PeerOwner::Elsewhere,
                word => word,
            },
            Self::Off | Self::Scripted(_) if !is_loopback(peer) => PeerOwner::Elsewhere,
            Self::Off => PeerOwner::NotAsked,
            Self::Scripted(script) => script.word(peer.ip().to_canonical()),
        }
    }
}

/// The kernel's word, with the place of the socket's holder among the trees of agents.
async fn placed(uid: u32, inode: u64, trees: &ProcessTrees) -> PeerOwner {
    match trees.holder(inode).await {
        SocketHolder::Agent(agent) => PeerOwner::Agent(agent),
        SocketHolder::Browser => PeerOwner::Browser,
        SocketHolder::Stray => PeerOwner::Stray,
        SocketHolder::InDoubt { can_be_settled } => PeerOwner::InDoubt {
            uid,
            can_be_settled,
        },
        SocketHolder::Outside => PeerOwner::User { uid, inode },
        SocketHolder::Nobody => PeerOwner::Unknown,
    }
}

/// Whether an address is one of this computer's own: only such a one can be listened at.
///
/// Where that cannot be told it is, so that nobody there is known by default.
pub fn is_local_address(address: SocketAddr) -> bool {
    let mut own = SocketAddr::new(address.ip().to_canonical(), 0);
    if let (SocketAddr::V6(own), SocketAddr::V6(address)) = (&mut own, address) {
        own.set_scope_id(address.scope_id());
    }
    let bound = std::net::UdpSocket::bind(own);
    !matches!(bound, Err(error) if error.kind() == std::io::ErrorKind::AddrNotAvailable)
}

/// Whether the address is of this machine alone, IPv4 written as IPv6 included.
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// The user this process makes its sockets as.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether this kernel answers, found out with a connection made for the purpose.
pub fn available() -> bool {
    own_connection_is_known().unwrap_or(false)
}

fn own_connection_is_known() -> std::io::Result<bool> {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
    let near = std::net::TcpStream::connect(listener.local_addr()?)?;
    let word = ask_kernel(near.local_addr()?, near.peer_addr()?);
    Ok(matches!(word, PeerOwner::User { uid, .. } if uid == own_uid()))
}

#[cfg(target_os = "linux")]
fn ask_kernel(peer: SocketAddr, local: SocketAddr) -> PeerOwner {
    sock_diag::ask(peer, local).unwrap_or(PeerOwner::Unknown)
}

#[cfg(not(target_os = "linux"))]
fn ask_kernel(_peer: SocketAddr, _local: SocketAddr) -> PeerOwner {
    PeerOwner::Unknown
}

/// One question to the kernel: the TCP socket with exactly these two ends.
#[cfg(target_os = "linux")]
mod sock_diag {
    use std::{io, net::SocketAddr};

    use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
    use netlink_packet_sock_diag::{
        SockDiagMessage,
        constants::{
            AF_INET, AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2,
        },
        inet::{ExtensionFlags, InetRequest, InetResponseHeader, SocketId, StateFlags},
    };
    use netlink_sys::{Socket, SocketAddr as NetlinkAddr, protocols::NETLINK_SOCK_DIAG};

    use super::PeerOwner;

    /// Ties the answer to the question; each question has a socket of its own.
    const SEQUENCE: u32 = 1;
    /// Bytes of an answer with its attributes: some 150.
    const ANSWER_BYTES_MAX: usize = 4_096;

    pub(super) fn ask(peer: SocketAddr, local: SocketAddr) -> io::Result<PeerOwner> {
        let wanted = socket_id(peer, local);
        let socket = Socket::new(NETLINK_SOCK_DIAG)?;
        // Port 0 is the kernel: nobody else can answer on a connected socket.
        socket.connect(&NetlinkAddr::new(0, 0))?;
        // The kernel answers before `send` returns, so there is nothing to wait for.
        socket.set_non_blocking(true)?;
        socket.send(&question(&wanted), 0)?;
        let mut answer = Vec::with_capacity(ANSWER_BYTES_MAX);
        socket.recv(&mut answer, 0)?;
        Ok(read(&answer, &wanted))
    }

    fn socket_id(peer: SocketAddr, local: SocketAddr) -> SocketId {
        SocketId {
            source_port: peer.port(),
            destination_port: local.port(),
            source_address: peer.ip().to_canonical(),
            destination_address: local.ip().to_canonical(),
            // A link-local address is one of this interface alone.
            interface_id: match peer {
                SocketAddr::V6(peer) => peer.scope_id(),
                SocketAddr::V4(_) => 0,
            },
            // "Any cookie": the addresses alone name the socket.
            cookie: [0xff; 8],
        }
    }

    fn question(wanted: &SocketId) -> Vec<u8> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST;
        header.sequence_number = SEQUENCE;
        let family = if wanted.source_address.is_ipv4() {
            AF_INET
        } else {
            AF_INET6
        };
        let mut message = NetlinkMessage::new(
            header,
            SockDiagMessage::InetRequest(InetRequest {
                family,
                protocol: IPPROTO_TCP,
                extensions: ExtensionFlags::empty(),
                states: StateFlags::all(),
                socket_id: wanted.clone(),
            })
            .into(),
        );
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }

    fn read(answer: &[u8], wanted: &SocketId) -> PeerOwner {
        let Ok(message) = NetlinkMessage::<SockDiagMessage>::deserialize(answer) else {
            return PeerOwner::Unknown;
        };
        match message.payload {
            NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(found))
                if message.header.sequence_number == SEQUENCE && names(&found.header, wanted) =>
            {
                PeerOwner::User {
                    uid: found.header.uid,
                    inode: found.header.inode.into(),
                }
            }
            _ => PeerOwner::Unknown,
        }
    }

    /// Whether `found` is the connected socket that was asked for and still has a holder.
    ///
    /// Without a connected socket the kernel offers a listening one on the same port,
    /// which may be anybody's; a socket its holder closed has inode 0 and user 0.
    fn names(found: &InetResponseHeader, wanted: &SocketId) -> bool {
        let connected = [TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2].contains(&found.state);
        let id = &found.socket_id;
        connected
            && found.inode != 0
            && id.source_port == wanted.source_port
            && id.destination_port == wanted.destination_port
            && id.source_address.to_canonical() == wanted.source_address
            && id.destination_address.to_canonical() == wanted.destination_address
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};

    use super::*;

    struct SocketPair {
        near: TcpStream,
        far: TcpStream,
    }

    impl SocketPair {
        fn of(address: impl Into<IpAddr>) -> Self {
            let listener = TcpListener::bind((address.into(), 0)).unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (far, _) = listener.accept().unwrap();
            Self { near, far }
        }

        async fn word(&self, peers: &PeerLookup) -> PeerOwner {
            let (peer, local) = (self.far.peer_addr(), self.far.local_addr());
            peers.look_up(peer.unwrap(), local.unwrap()).await
        }
    }

    fn kernel() -> PeerLookup {
        PeerLookup::Kernel(ProcessTrees::default())
    }

    /// What the real and the scripted form promise alike.
    async fn conforms(peers: &PeerLookup) {
        let word = SocketPair::of(Ipv4Addr::LOCALHOST).word(peers).await;
        assert!(
            matches!(word, PeerOwner::User { uid, inode } if uid == own_uid() && inode != 0),
            "{word:?}"
        );
        let elsewhere = "192.0.2.7:5000".parse().unwrap();
        let here = "192.0.2.1:4747".parse().unwrap();
        assert_eq!(peers.look_up(elsewhere, here).await, PeerOwner::Elsewhere);
    }

    #[tokio::test]
    async fn at_the_listener_for_agents_no_address_leads_around_the_token() {
        let peers = PeerLookup::AgentListener(Box::new(PeerLookup::Off));
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 4000));
        for peer in ["127.0.0.1:5000", "192.0.2.7:5000", "[2001:db8::7]:5000"] {
            let word = peers.look_up(peer.parse().unwrap(), here).await;
            assert_eq!(word, PeerOwner::AgentListener(None), "{peer}");
        }
    }

    #[tokio::test]
    async fn our_own_connection_has_our_user_in_the_script() {
        conforms(&PeerLookup::Scripted(ScriptedPeers::default())).await;
    }

    #[tokio::test]
    async fn a_scripted_address_has_the_scripted_word() {
        let stranger = PeerOwner::User {
            uid: 65_534,
            inode: 7,
        };
        let peers = PeerLookup::Scripted(
            ScriptedPeers::default()
                .with(Ipv4Addr::new(127, 0, 0, 9).into(), stranger)
                .with(Ipv4Addr::new(127, 0, 0, 8).into(), PeerOwner::Unknown),
        );
        let local = "127.0.0.1:4747".parse().unwrap();
        for (from, word) in [
            ("127.0.0.9:5000", stranger),
            ("[::ffff:127.0.0.9]:5000", stranger),
            ("127.0.0.8:5000", PeerOwner::Unknown),
        ] {
            assert_eq!(
                peers.look_up(from.parse().unwrap(), local).await,
                word,
                "{from}"
            );
        }
    }

    #[tokio::test]
    async fn nobody_is_asked_when_the_check_is_off() {
        assert_eq!(
            SocketPair::of(Ipv4Addr::LOCALHOST)
                .word(&PeerLookup::Off)
                .await,
            PeerOwner::NotAsked
        );
    }

    #[cfg(target_os = "linux")]
    mod linux {
        use super::*;

        #[tokio::test]
        async fn our_own_connection_has_our_user_from_the_kernel() {
            assert!(available());
            conforms(&kernel()).await;
        }

        #[tokio::test]
        async fn the_kernel_knows_connections_of_both_families() {
            for address in [
                IpAddr::from(Ipv4Addr::LOCALHOST),
                Ipv6Addr::LOCALHOST.into(),
            ] {
                let word = SocketPair::of(address).word(&kernel()).await;
                assert!(
                    matches!(word, PeerOwner::User { .. }),
                    "{address}: {word:?}"
                );
            }
        }

        #[tokio::test]
        async fn two_connections_of_one_user_have_two_inodes() {
            let (one, two) = (
                SocketPair::of(Ipv4Addr::LOCALHOST),
                SocketPair::of(Ipv4Addr::LOCALHOST),
            );
            assert_ne!(one.word(&kernel()).await, two.word(&kernel()).await);
        }

        #[tokio::test]
        async fn a_peer_that_closed_before_the_look_up_is_unknown() {
            let SocketPair { near, far } = SocketPair::of(Ipv4Addr::LOCALHOST);
            let (peer, local) = (far.peer_addr().unwrap(), far.local_addr().unwrap());
            drop(near);
            assert_eq!(kernel().look_up(peer, local).await, PeerOwner::Unknown);
        }

        #[tokio::test]
        async fn a_peer_that_only_ended_its_sending_side_is_known() {
            let pair = SocketPair::of(Ipv4Addr::LOCALHOST);
            pair.near.shutdown(std::net::Shutdown::Write).unwrap();
            assert!(matches!(pair.word(&kernel()).await, PeerOwner::User { .. }));
        }

        #[tokio::test]
        async fn a_listener_on_the_port_is_not_taken_for_the_peer() {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let peer = listener.local_addr().unwrap();
            let local = "127.0.0.1:1".parse().unwrap();
            assert_eq!(kernel().look_up(peer, local).await, PeerOwner::Unknown);
        }

        /// Needs root to become somebody else; without it the rule above stands alone.
        #[tokio::test]
        async fn a_connection_of_another_user_has_that_user() {
            const NOBODY: u32 = 65_534;
            if own_uid() != 0 {
                return;
            }
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            // A user id belongs to a thread on Linux, so the other tests keep theirs.
            let near = std::thread::spawn(move || {
                let nobody = rustix::process::Uid::from_raw(NOBODY);
                rustix::thread::set_thread_uid(nobody).unwrap();
                TcpStream::connect(address).unwrap()
            })
            .join()
            .unwrap();
            let (far, _) = listener.accept().unwrap();
            let word = SocketPair { near, far }.word(&kernel()).await;
            assert!(
                matches!(word, PeerOwner::User { uid: NOBODY, .. }),
                "{word:?}"
            );
        }
    }
}
