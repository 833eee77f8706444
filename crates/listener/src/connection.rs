//! One accepted socket with its progress, shared by all who watch it.
//! [`TrackedSocket`] is its side towards hyper: it reports bytes, and replaces hyper's own bare
//! refusals with the application's.

use std::{
    io,
    net::{Shutdown, SocketAddr},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use guildhall_world::{peer_lookup, tcp_keepalive::keep_alive};
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::Notify,
    time::Instant,
};

use super::{Application, Rejection, RequestHead, deadlines::ConnectionProgress};

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    pub(super) stream: TcpStream,
    peer: SocketAddr,
    local: SocketAddr,
    // A std mutex: held for a few instructions and never over an await.
    progress: Mutex<ConnectionProgress>,
    /// Tells the connection's task that this changed while another task drives the socket.
    pub(super) changed: Notify,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, peer: SocketAddr) -> io::Result<Self> {
        // An answer is written whole, so waiting for more only delays it.
        stream.set_nodelay(true)?;
        keep_alive(&stream)?;
        Ok(Self {
            local: stream.local_addr()?,
            stream,
            peer,
            progress: Mutex::new(ConnectionProgress::new(Instant::now())),
            changed: Notify::new(),
        })
    }

    /// The other end's address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// This end's address.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Whether the other end is on this computer, by its address.
    pub fn is_loopback(&self) -> bool {
        peer_lookup::is_loopback(self.peer)
    }

    /// Whether it is still open, so that nobody else can have had the peer's pair of addresses.
    pub fn is_connected(&self) -> bool {
        self.stream.peer_addr().is_ok()
    }

    /// What was seen of the head of the request that begins to be answered; `None` unless the
    /// application [inspects heads](Application::inspects_heads).
    pub fn head(&self) -> Option<RequestHead> {
        self.progress().head()
    }

    /// Whether bytes arrived behind that head, as far as they were read; false where heads are not
    /// inspected.
    pub fn is_followed(&self) -> bool {
        self.progress().is_followed()
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, ConnectionProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
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
        if !is_open || !self.progress().is_peer_sending() {
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

/// The side of a connection that hyper, or an upgraded protocol, reads and writes.
pub(super) struct TrackedSocket<A> {
    connection: Arc<Connection>,
    application: Arc<A>,
    /// What goes out in place of a bare refusal of hyper's.
    replacement: Option<ReplacementResponse>,
}

struct ReplacementResponse {
    bytes: Vec<u8>,
    sent: usize,
}

impl<A: Application> TrackedSocket<A> {
    pub(super) fn new(connection: Arc<Connection>, application: Arc<A>) -> Self {
        Self {
            connection,
            application,
            replacement: None,
        }
    }

    /// The application's answer for a refusal that hyper writes on its own, with an empty body.
    fn replacement_for(&self, bytes: &[u8]) -> Option<ReplacementResponse> {
        let is_refusal = bytes.starts_with(b"HTTP/1.") && bytes.get(9) == Some(&b'4');
        if !is_refusal {
            return None;
        }
        let progress = self.connection.progress();
        if !progress.is_unasked() {
            return None;
        }
        let rejection = match bytes.get(9..12)? {
            b"400" => Rejection::Unreadable,
            b"431" if progress.is_target_read() => Rejection::HeadersTooLarge,
            b"414" | b"431" => Rejection::TargetTooLong,
            _ => return None,
        };
        Some(ReplacementResponse {
            bytes: self.application.rejection(rejection),
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
            match self.connection.stream.poll_write_ready(cx) {
                Poll::Pending => {
                    self.blocked();
                    return Poll::Pending;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => {}
            }
            match send(&self.connection.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(sent) => {
                    self.connection.progress().written();
                    return Poll::Ready(Ok(sent));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn blocked(&self) {
        let mut progress = self.connection.progress();
        if progress.write_blocked(Instant::now()) && progress.is_upgraded() {
            self.connection.changed.notify_one();
        }
    }
}

impl<A: Application> AsyncRead for TrackedSocket<A> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        loop {
            ready!(self.connection.stream.poll_read_ready(cx))?;
            match self.connection.stream.try_read_buf(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(0) => return Poll::Ready(Ok(())),
                Ok(_) => {
                    let bytes = buffer.filled().get(before..).unwrap_or_default();
                    self.connection.progress().bytes_read(bytes, Instant::now());
                    return Poll::Ready(Ok(()));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<A: Application> AsyncWrite for TrackedSocket<A> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.replacement.is_none() {
            self.replacement = self.replacement_for(bytes);
        }
        let Some(mut replacement) = self.replacement.take() else {
            return self.poll_send(cx, |stream| stream.try_write(bytes));
        };
        while let Some(rest) = replacement
            .bytes
            .get(replacement.sent..)
            .filter(|rest| !rest.is_empty())
        {
            match self.poll_send(cx, |stream| stream.try_write(rest)) {
                Poll::Ready(Ok(sent)) => replacement.sent += sent,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.replacement = Some(replacement);
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
        if self.replacement.is_none() {
            self.replacement = self.replacement_for(head);
        }
        if self.replacement.is_some() {
            return self.poll_write(cx, head);
        }
        self.poll_send(cx, |stream| stream.try_write_vectored(parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.progress().flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&self.connection.stream).shutdown(Shutdown::Write))
    }
}

impl<A> Drop for TrackedSocket<A> {
    fn drop(&mut self) {
        self.connection.progress().left();
        self.connection.changed.notify_one();
    }
}
