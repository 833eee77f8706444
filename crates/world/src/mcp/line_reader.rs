//! Messages as lines, read from a program that may never end one.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::message_id_scan::MessageIdScanner;

/// One line.
#[derive(Debug, PartialEq)]
pub(super) enum LineRead {
    /// All of it, without its end.
    Whole(Vec<u8>),
    /// One beyond the bound, with the id of its message where it has one.
    TooLong(Option<Value>),
}

/// Lines of at most so many bytes; longer ones are skimmed and forgotten.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    source: BufReader<R>,
    bytes_max: usize,
    line: Vec<u8>,
    /// The line that is being read, once it is too long.
    long: Option<MessageIdScanner>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(source: R, bytes_max: usize) -> Self {
        Self {
            source: BufReader::new(source),
            bytes_max,
            line: Vec::new(),
            long: None,
        }
    }

    /// The next line; `None` at the end, or when nothing can be read any more. What stands behind
    /// the last line's end is no line. Cancel-safe: what was read is kept in here.
    pub(super) async fn next(&mut self) -> Option<LineRead> {
        loop {
            let available = match self.source.fill_buf().await {
                Ok([]) | Err(_) => return None,
                Ok(available) => available,
            };
            let end = memchr::memchr(b'\n', available);
            let piece = available.get(..end.unwrap_or(available.len()));
            let piece = piece.unwrap_or_default();
            if let Some(skim) = &mut self.long {
                skim.read(piece);
            } else if self.line.len() + piece.len() > self.bytes_max {
                let mut skim = MessageIdScanner::default();
                skim.read(&self.line);
                skim.read(piece);
                self.long = Some(skim);
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(piece);
            }
            let read = piece.len() + usize::from(end.is_some());
            self.source.consume(read);
            if end.is_some() {
                return Some(match self.long.take() {
                    Some(skim) => LineRead::TooLong(skim.id().cloned()),
                    None => LineRead::Whole(std::mem::take(&mut self.line)),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_costs_itself_alone() {
        let text = b"{\"a\":1}\n{\"id\":5,\"result\":\"xxxxxxxxxxxxxxxxxxxx\"}\nshort\nrest";
        let mut lines = LineReader::new(&text[..], 12);
        assert_eq!(
            lines.next().await,
            Some(LineRead::Whole(b"{\"a\":1}".to_vec()))
        );
        assert_eq!(lines.next().await, Some(LineRead::TooLong(Some(json!(5)))));
        assert_eq!(lines.next().await, Some(LineRead::Whole(b"short".to_vec())));
        assert_eq!(lines.next().await, None);
    }
}
