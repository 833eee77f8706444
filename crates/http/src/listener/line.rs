//! A line: one accepted socket with its course, shared by all who watch it.
//! [`Socket`] is its side towards hyper: it reports bytes, and gives hyper's own bare
//! refusals the envelope.

use std::{
    io,
    net::{Shutdown, SocketAddr},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use guildhall_hall::{
    keepalive::keep_alive,
    peers::{self, PeerWord, Peers},
};
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::Notify,
    time::Instant,
};

use super::{Peer, deadlines::Course};
use crate::guards::{Guards, Refused};

pub(super) struct Line {
    pub(super) stream: TcpStream,
    peer: SocketAddr,
    local: SocketAddr,
    /// The kernel's word, asked once, unless it may change.
    word: OnceLock<PeerWord>,
    // A std mutex: held for a few instructions and never over an await.
    course: Mutex<Course>,
    /// Tells the connection's task that the course changed while another task drives the socket.
    pub(super) changed: Notify,
}

impl Line {
    pub(super) fn new(stream: TcpStream, peer: SocketAddr) -> io::Result<Self> {
        // An answer is written whole, so waiting for more only delays it.
        stream.set_nodelay(true)?;
        keep_alive(&stream)?;
        Ok(Self {
            local: stream.local_addr()?,
            stream,
            peer,
            word: OnceLock::new(),
            course: Mutex::new(Course::new(Instant::now())),
            changed: Notify::new(),
        })
    }

    /// The other end's address.
    pub(super) fn address(&self) -> SocketAddr {
        self.peer
    }

    pub(super) fn is_loopback(&self) -> bool {
        peers::is_loopback(self.peer)
    }

    pub(super) fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who is at the other end, looked up at the first request, and at each where that may change.
    pub(super) async fn peer(&self, peers: &Peers) -> Peer {
        let word = match self.word.get() {
            Some(word) if !peers.may_change() => *word,
            _ => match self.look_up(peers).await {
                word @ PeerWord::InDoubt { .. } => word,
                word if peers.may_change() => word,
                word => *self.word.get_or_init(|| word),
            },
        };
        Peer {
            addr: self.peer,
            word,
        }
    }

    async fn look_up(&self, peers: &Peers) -> PeerWord {
        let word = peers.look_up(self.peer, self.local).await;
        match word {
            PeerWord::User { .. }
            | PeerWord::InDoubt { .. }
            | PeerWord::Agent(_)
            | PeerWord::Browser
            | PeerWord::Stray
            | PeerWord::AgentListener(_)
                // While our end is connected nobody else can have had the peer's address pair;
                // after a reset the word may be about a stranger who took it over.
                if self.stream.peer_addr().is_err() =>
            {
                PeerWord::Unknown
            }
            word => word,
        }
    }

    /// Ends the connection; whoever reads or writes it learns at once.
    pub(super) fn cut(&self) {
        // An error means that it is gone already.
        let _ = SockRef::from(&self.stream).shutdown(Shutdown::Both);
        self.changed.notify_one();
    }

    /// Ends the connection and drops what the peer has not taken yet.
    pub(super) fn reset(&self) {
        // Without it the kernel would keep the unsent bytes for minutes.
        let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        self.cut();
    }

    /// Lets the peer read our last answer before the socket closes.
    ///
    /// Bytes that nobody read turn a close into a reset, which takes answers on the way
    /// with it; so what still arrives is dropped until the peer closes or `LINGER` is over.
    pub(super) async fn linger(&self) {
        let is_open = SockRef::from(&self.stream)
            .shutdown(Shutdown::Write)
            .is_ok();
        if !is_open || !self.course().is_peer_sending() {
            return;
        }
        let drain = async {
            let mut dropped = vec![0; 4_096];
            let mut left = LINGER_BYTES_MAX;
            while self.stream.readable().await.is_ok() {
                match self.stream.try_read(&mut dropped) {
                    Ok(0) => break,
                    Ok(bytes) if bytes <= left => left -= bytes,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Ok(_) | Err(_) => break,
                }
            }
        };
        // Either way the socket closes now.
        let _ = tokio::time::timeout(LINGER, drain).await;
    }
}

/// How long a peer may go on sending what nobody reads.
const LINGER: Duration = Duration::from_secs(2);
/// Bytes a peer may send that nobody reads: a whole file at its usual limit, so that who sends
/// one where it is refused hears why.
const LINGER_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// The side of a line that hyper, or an upgraded protocol, reads and writes.
pub(super) struct Socket {
    line: Arc<Line>,
    guards: Arc<Guards>,
    /// What goes out in place of a bare refusal of hyper's.
    instead: Option<Instead>,
}

struct Instead {
    bytes: Vec<u8>,
    sent: usize,
}

impl Socket {
    pub(super) fn new(line: Arc<Line>, guards: Arc<Guards>) -> Self {
        Self {
            line,
            guards,
            instead: None,
        }
    }

    /// The envelope for a refusal that hyper writes on its own, with an empty body.
    fn envelope_for(&self, bytes: &[u8]) -> Option<Instead> {
        let is_refusal = bytes.starts_with(b"HTTP/1.") && bytes.get(9) == Some(&b'4');
        if !is_refusal {
            return None;
        }
        let course = self.line.course();
        if !course.is_unasked() {
            return None;
        }
        let refused = match bytes.get(9..12)? {
            b"400" => Refused::Unreadable,
            b"431" if course.is_target_read() => Refused::HeadersTooLarge,
            b"414" | b"431" => Refused::TargetTooLong,
            _ => return None,
        };
        Some(Instead {
            bytes: refused.on_the_wire(&self.guards.new_id()),
            sent: 0,
        })
    }

    /// Sends by `send` once the peer takes bytes.
    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        send: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.line.stream.poll_write_ready(cx) {
                Poll::Pending => {
                    self.blocked();
                    return Poll::Pending;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => {}
            }
            match send(&self.line.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(sent) => {
                    self.line.course().written();
                    return Poll::Ready(Ok(sent));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn blocked(&self) {
        let mut course = self.line.course();
        if course.write_blocked(Instant::now()) && course.is_upgraded() {
            self.line.changed.notify_one();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        loop {
            ready!(self.line.stream.poll_read_ready(cx))?;
            match self.line.stream.try_read_buf(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(0) => return Poll::Ready(Ok(())),
                Ok(_) => {
                    let bytes = buffer.filled().get(before..).unwrap_or_default();
                    self.line.course().bytes_read(bytes, Instant::now());
                    return Poll::Ready(Ok(()));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.instead.is_none() {
            self.instead = self.envelope_for(bytes);
        }
        let Some(mut instead) = self.instead.take() else {
            return self.poll_send(cx, |stream| stream.try_write(bytes));
        };
        while let Some(rest) = instead
            .bytes
            .get(instead.sent..)
            .filter(|rest| !rest.is_empty())
        {
            match self.poll_send(cx, |stream| stream.try_write(rest)) {
                Poll::Ready(Ok(sent)) => instead.sent += sent,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.instead = Some(instead);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    /// Without this hyper would copy every body into a buffer that the connection keeps.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = parts.iter().find(|part| !part.is_empty());
        let head: &[u8] = first.map_or(&[], |part| part);
        if self.instead.is_none() {
            self.instead = self.envelope_for(head);
        }
        if self.instead.is_some() {
            return self.poll_write(cx, head);
        }
        self.poll_send(cx, |stream| stream.try_write_vectored(parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.line.course().flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&self.line.stream).shutdown(Shutdown::Write))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.line.course().left();
        self.line.changed.notify_one();
    }
}
