//! Heads: what is seen of a request's head as it arrives, and lost once hyper has read it: that it
//! named two lengths of its body, and that more came behind it. For applications that pass requests
//! on to servers which may read the same bytes otherwise.

/// What was seen of a request's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestHead {
    /// Whether it says both how long its body is and that it comes in chunks.
    pub has_two_lengths: bool,
    /// Whether bytes came with its end: its body, or what was sent before it was answered.
    pub is_followed: bool,
}

/// Reads the heads of one connection, byte by byte. In step with hyper as long as no request with
/// a body is followed by another one, so after those the connection ends.
#[derive(Debug, Default)]
pub(super) struct HeadReader {
    /// How the present line begins.
    line: Vec<u8>,
    /// Whether a line of this head is complete.
    has_begun: bool,
    is_over: bool,
    has_length: bool,
    has_coding: bool,
    has_bytes: bool,
    seen: RequestHead,
}

/// Bytes of a line that tell the names that matter from others.
const NAME_BYTES: usize = 32;

impl HeadReader {
    /// Bytes arrived that belong to the present head, or come behind it.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.has_bytes = true;
            if self.is_over {
                self.seen.is_followed = true;
                return;
            }
            match byte {
                b'\n' => self.end_line(),
                byte if self.line.len() < NAME_BYTES => self.line.push(*byte),
                _ => {}
            }
        }
    }

    /// The head that is complete; from now on bytes are of the next one.
    pub(super) fn take(&mut self) -> RequestHead {
        let seen = RequestHead {
            has_two_lengths: self.has_length && self.has_coding,
            ..self.seen
        };
        *self = Self::default();
        seen
    }

    /// Whether anything arrived since the last head was taken.
    pub(super) fn has_bytes(&self) -> bool {
        self.has_bytes
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        match line.strip_suffix(b"\r").unwrap_or(&line) {
            // Empty lines before a head are skipped.
            [] => self.is_over = self.has_begun,
            line => {
                self.has_begun = true;
                let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
                self.has_length |= name.eq_ignore_ascii_case(b"content-length");
                self.has_coding |= name.eq_ignore_ascii_case(b"transfer-encoding");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_seen_however_it_arrives() {
        let plain = RequestHead::default();
        let two = RequestHead {
            has_two_lengths: true,
            ..plain
        };
        let followed = RequestHead {
            is_followed: true,
            ..plain
        };
        for (text, expected) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", plain),
            ("\r\n\r\nGET / HTTP/1.1\r\n\r\n", plain),
            ("GET / HTTP/1.1\nHost: a\n\n", plain),
            ("GET / HTTP/1.1\r\n\r\nx", followed),
            ("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", followed),
            ("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", plain),
            (
                "POST / HTTP/1.1\r\ncontent-length: 1\r\nTRANSFER-ENCODING: chunked\r\n\r\n",
                two,
            ),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
                two,
            ),
            (
                "GET / HTTP/1.1\r\nX: Content-Length: 1\r\nTransfer-Encodings: a\r\n\r\n",
                plain,
            ),
        ] {
            let mut whole = HeadReader::default();
            whole.feed(text.as_bytes());
            assert_eq!(whole.take(), expected, "{text}");
            assert!(!whole.has_bytes());
            let mut pieces = HeadReader::default();
            text.as_bytes().chunks(1).for_each(|one| pieces.feed(one));
            assert_eq!(pieces.take(), expected, "{text}");
        }
    }
}
