//! A request as it comes in at a service that is played.

use tokio::{io::AsyncReadExt, net::TcpStream};

/// A request that came whole.
pub(crate) struct ReceivedRequest {
    /// Its line and its headers.
    pub(crate) head: String,
    /// What stands behind them.
    pub(crate) body: Vec<u8>,
}

impl ReceivedRequest {
    /// Reads a request to its end; `None` when it never came whole.
    pub(crate) async fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        };
        let mut body = bytes.split_off(end);
        let head = String::from_utf8(bytes).ok()?;
        let length = head
            .to_ascii_lowercase()
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
            .unwrap_or(0);
        while body.len() < length {
            if stream.read_buf(&mut body).await.ok()? == 0 {
                return None;
            }
        }
        body.truncate(length);
        Some(Self { head, body })
    }
}
