//! Connections whose other side is gone without a word, such as a computer that sleeps: the kernel
//! asks for it, and ends them.

use std::{io, time::Duration};

use guildhall_domain::limits;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// Lets the kernel ask, once a connection is silent for a while, whether the other side is still
/// there.
///
/// # Errors
/// Whatever the kernel answers.
pub fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    let asking = TcpKeepalive::new()
        .with_time(Duration::from_secs(limits::KEEPALIVE_AFTER_S))
        .with_interval(Duration::from_secs(limits::KEEPALIVE_EVERY_S))
        .with_retries(limits::KEEPALIVE_TRIES);
    SockRef::from(stream).set_tcp_keepalive(&asking)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_silent_connection_is_asked_about_until_it_is_known_to_be_dead() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap());
        let stream = stream.await.unwrap();
        keep_alive(&stream).unwrap();
        let asked = SockRef::from(&stream);
        assert!(asked.keepalive().unwrap());
        let seconds = Duration::from_secs;
        assert_eq!(asked.tcp_keepalive_time().unwrap(), seconds(60));
        assert_eq!(asked.tcp_keepalive_interval().unwrap(), seconds(15));
        assert_eq!(asked.tcp_keepalive_retries().unwrap(), 4);
    }
}
