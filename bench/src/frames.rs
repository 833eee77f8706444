//! Frames: the client side of one stream of server-sent events.

use tokio::{io::AsyncReadExt, net::TcpStream};

use crate::{Result, http::find};

/// How every snapshot begins on a stream.
pub(crate) const SNAPSHOT: &[u8] = b"event: snapshot\n";
/// How every frame ends.
const FRAME_END: &[u8] = b"\n\n";

/// A stream that is read as its frames come.
pub(crate) struct Frames {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Frames {
    /// Reads `stream` from now on.
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            received: Vec::new(),
        }
    }

    /// Reads until a whole frame that begins with `mark` is there, and forgets it and all before.
    pub(crate) async fn until(&mut self, mark: &[u8]) -> Result<()> {
        let end = self.end_of(mark).await?;
        self.received.drain(..end);
        if self.received.is_empty() {
            self.received = Vec::new();
        }
        Ok(())
    }

    /// The same; answers the frame with what came before it.
    pub(crate) async fn take(&mut self, mark: &[u8]) -> Result<Vec<u8>> {
        let end = self.end_of(mark).await?;
        let rest = self.received.split_off(end);
        Ok(std::mem::replace(&mut self.received, rest))
    }

    async fn end_of(&mut self, mark: &[u8]) -> Result<usize> {
        loop {
            if let Some(end) = frame_end(&self.received, mark) {
                return Ok(end);
            }
            if self.stream.read_buf(&mut self.received).await? == 0 {
                let text = String::from_utf8_lossy(&self.received);
                return Err(format!("a stream ended: {text}").into());
            }
        }
    }
}

/// Where the first frame that begins with `mark` ends.
fn frame_end(received: &[u8], mark: &[u8]) -> Option<usize> {
    let begins = find(received, mark)?;
    let length = find(&received[begins..], FRAME_END)?;
    Some(begins + length + FRAME_END.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_counts_only_when_it_is_whole() {
        let mark = b"event: entry_added\n";
        let text = b": keepalive\n\nid: 3\nevent: entry_added\ndata: {}\n\nrest";
        assert_eq!(frame_end(text, mark), Some(text.len() - 4));
        assert_eq!(frame_end(&text[..40], mark), None);
        assert_eq!(frame_end(text, SNAPSHOT), None);
    }
}
