//! The dev server behind a preview: reached on the two loopback addresses and nowhere else, over
//! connections that are kept for a moment. What may be sent there is the caller's to decide.
//! Source: contract 6.9, "Upstream".

use std::{
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use guildhall_domain::limits;
use http::{Request, Response, Uri};
use hyper::body::{Body, Incoming};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tower::Service;

use crate::tcp_keepalive::keep_alive;

/// How long an idle connection is kept: shorter than dev servers do, so that a request seldom
/// meets one that is being closed.
const IDLE_KEPT: Duration = Duration::from_secs(3);
/// Idle connections that are kept: as many as a page with several streams and a crowd of modules
/// asks over at once, else each burst opens most of them anew.
const IDLE_MAX: usize = 64;

/// The way to one dev server. Cheap to clone; clones share their connections.
pub struct DevServerClient<B> {
    client: Client<LoopbackConnector, B>,
    dialing: LoopbackConnector,
}

/// Why a dev server gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DevServerError {
    /// Nothing listens on the port.
    Refused,
    /// It ended the connection, or what it said is no HTTP.
    Broken,
}

impl<B> DevServerClient<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// The way to the dev server on `port`; nothing is sent yet.
    pub fn new(port: u16) -> Self {
        let dialing = LoopbackConnector {
            port,
            is_v6_first: Arc::default(),
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_KEPT)
            .pool_max_idle_per_host(IDLE_MAX)
            .build(dialing.clone());
        Self { client, dialing }
    }

    /// Sends a request whose address names any host, and answers the head of what came back.
    /// Redirects are answers like any other. Waits as long as the other side does.
    ///
    /// # Errors
    /// Why there is none; the next request looks for the address anew.
    pub async fn send(&self, request: Request<B>) -> Result<Response<Incoming>, DevServerError> {
        self.client.request(request).await.map_err(|error| {
            self.dialing.is_v6_first.store(false, Ordering::Relaxed);
            match error.is_connect() {
                true => DevServerError::Refused,
                false => DevServerError::Broken,
            }
        })
    }
}

/// Connects to a dev server, first where it was found last.
#[derive(Clone, Debug)]
struct LoopbackConnector {
    port: u16,
    is_v6_first: Arc<AtomicBool>,
}

impl Service<Uri> for LoopbackConnector {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let dialing = self.clone();
        Box::pin(async move {
            let is_v6_first = dialing.is_v6_first.load(Ordering::Relaxed);
            let mut last = io::ErrorKind::ConnectionRefused.into();
            for address in addresses(dialing.port, is_v6_first) {
                let wait = Duration::from_millis(limits::UPSTREAM_CONNECT_MS);
                match timeout(wait, TcpStream::connect(address)).await {
                    Ok(Ok(stream)) => {
                        stream.set_nodelay(true)?;
                        keep_alive(&stream)?;
                        let is_v6 = address.is_ipv6();
                        dialing.is_v6_first.store(is_v6, Ordering::Relaxed);
                        return Ok(TokioIo::new(stream));
                    }
                    Ok(Err(error)) => last = error,
                    Err(_) => last = io::ErrorKind::TimedOut.into(),
                }
            }
            Err(last)
        })
    }
}

/// Whether something takes connections on `port` of this computer.
pub async fn is_listening(port: u16) -> bool {
    let end = Instant::now() + Duration::from_millis(limits::PROBE_MS);
    let connects = |address| async move {
        matches!(
            timeout_at(end, TcpStream::connect(address)).await,
            Ok(Ok(_))
        )
    };
    let [v4, v6] = addresses(port, false);
    let (v4, v6) = tokio::join!(connects(v4), connects(v6));
    v4 || v6
}

fn addresses(port: u16, is_v6_first: bool) -> [SocketAddr; 2] {
    let (v4, v6) = (
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    );
    let order = if is_v6_first { [v6, v4] } else { [v4, v6] };
    order.map(|address| (address, port).into())
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, Full};
    use socket2::SockRef;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpSocket},
    };

    use super::*;

    async fn once(listener: &TcpListener, answer: &str) {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut seen = Vec::new();
        let mut part = [0; 1_024];
        while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
            let count = stream.read(&mut part).await.unwrap();
            seen.extend_from_slice(&part[..count]);
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
    }

    fn ask(port: u16) -> Request<Full<Bytes>> {
        let address = format!("http://localhost:{port}/");
        Request::get(address).body(Full::default()).unwrap()
    }

    /// A port that is nobody else's on either loopback address, as long as the two are kept:
    /// nothing listens on them yet.
    fn reserved() -> (TcpSocket, TcpSocket, u16) {
        loop {
            let v6 = bound((Ipv6Addr::LOCALHOST, 0).into()).unwrap();
            let port = v6.local_addr().unwrap().port();
            if let Ok(v4) = bound((Ipv4Addr::LOCALHOST, port).into()) {
                return (v6, v4, port);
            }
        }
    }

    fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
        socket.bind(address)?;
        Ok(socket)
    }

    #[tokio::test]
    async fn a_dev_server_is_found_on_either_loopback_address_and_looked_for_anew() {
        let (v6, v4, port) = reserved();
        let v6 = v6.listen(1).unwrap();
        let upstream = DevServerClient::new(port);
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nsix";
        let (_, found) = tokio::join!(once(&v6, answer), upstream.send(ask(port)));
        let body = found.unwrap().into_body().collect().await.unwrap();
        assert_eq!(body.to_bytes(), "si");
        assert!(upstream.dialing.is_v6_first.load(Ordering::Relaxed));
        assert!(is_listening(port).await);
        let dialed = upstream.dialing.clone().call(Uri::default()).await.unwrap();
        assert!(SockRef::from(dialed.inner()).keepalive().unwrap());
        drop(v6);
        let _kept = bound((Ipv6Addr::LOCALHOST, port).into());
        assert!(!is_listening(port).await);
        assert_eq!(
            upstream.send(ask(port)).await.err(),
            Some(DevServerError::Refused)
        );
        let v4 = v4.listen(1).unwrap();
        let answer = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
        let (_, found) = tokio::join!(once(&v4, answer), upstream.send(ask(port)));
        assert_eq!(found.unwrap().status(), 204);
        let (_, found) = tokio::join!(once(&v4, "nonsense\r\n\r\n"), upstream.send(ask(port)));
        assert_eq!(found.err(), Some(DevServerError::Broken));
        assert!(is_listening(port).await);
    }
}
