//! Frames: the client side of one stream of server-sent events.

use std::ops::Range;

use tokio::{io::AsyncReadExt, net::TcpStream};

use crate::{Result, http_client::find, timeouts::with_timeout};

/// How every snapshot begins on a stream.
pub(crate) const SNAPSHOT: &[u8] = b"event: snapshot\n";
/// How every frame ends.
const FRAME_END: &[u8] = b"\n\n";

/// A stream that is read as its frames come.
pub(crate) struct SseClient {
    stream: TcpStream,
    received: Vec<u8>,
}

impl SseClient {
    /// Reads `stream` from now on.
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            received: Vec::new(),
        }
    }

    /// Reads until a whole frame that begins with `mark` is there, and forgets it and all before.
    pub(crate) async fn until(&mut self, mark: &[u8]) -> Result<()> {
        let frame = self.place_of(mark).await?;
        self.received.drain(..frame.end);
        if self.received.is_empty() {
            self.received = Vec::new();
        }
        Ok(())
    }

    /// The same; answers the frame.
    pub(crate) async fn take(&mut self, mark: &[u8]) -> Result<Vec<u8>> {
        let place = self.place_of(mark).await?;
        let frame = self.received[place.clone()].to_vec();
        self.received.drain(..place.end);
        Ok(frame)
    }

    async fn place_of(&mut self, mark: &[u8]) -> Result<Range<usize>> {
        loop {
            if let Some(place) = frame(&self.received, mark) {
                return Ok(place);
            }
            let read = self.stream.read_buf(&mut self.received);
            if with_timeout("an event stream", read).await? == 0 {
                let text = String::from_utf8_lossy(&self.received);
                return Err(format!("a stream ended: {text}").into());
            }
        }
    }
}

/// Where the first frame that begins with `mark` lies.
fn frame(received: &[u8], mark: &[u8]) -> Option<Range<usize>> {
    let begins = find(received, mark)?;
    let length = find(&received[begins..], FRAME_END)?;
    Some(begins..begins + length + FRAME_END.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_counts_only_when_it_is_whole() {
        let mark = b"event: entry_added\n";
        let text = b": keepalive\n\nid: 3\nevent: entry_added\ndata: {}\n\nrest";
        assert_eq!(frame(text, mark), Some(19..text.len() - 4));
        assert_eq!(frame(&text[..40], mark), None);
        assert_eq!(frame(text, SNAPSHOT), None);
    }
}
