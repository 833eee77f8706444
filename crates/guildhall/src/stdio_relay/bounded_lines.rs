//! Lines: one message each, read to a bound. A longer one is dropped whole, so that the next one
//! is read as what it is.

use tokio::io::{self, AsyncBufRead, AsyncBufReadExt};

/// Bytes of a line, as many as the server takes in a body.
pub(super) const LINE_BYTES_MAX: usize = 1024 * 1024;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineRead {
    /// A line without its end.
    Whole(Vec<u8>),
    /// A line that was longer than [`LINE_BYTES_MAX`], and is gone.
    TooLong,
}

/// Lines of `from`.
pub(super) struct LineReader<R> {
    from: R,
    /// The line that has not ended yet.
    line: Vec<u8>,
    is_too_long: bool,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    /// The lines that `from` brings.
    pub(super) fn of(from: R) -> Self {
        Self {
            from,
            line: Vec::new(),
            is_too_long: false,
        }
    }

    /// The next line that is not empty; `None` at the end. May be dropped at any await: what was
    /// read is kept.
    ///
    /// # Errors
    /// When the reader fails.
    pub(super) async fn next(&mut self) -> io::Result<Option<LineRead>> {
        loop {
            let bytes = self.from.fill_buf().await?;
            if bytes.is_empty() {
                // A last line without its end was cut off.
                return Ok(None);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + part.len() > LINE_BYTES_MAX {
                self.is_too_long = true;
                self.line.clear();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.from.consume(taken);
            if end.is_none() {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if std::mem::take(&mut self.is_too_long) {
                return Ok(Some(LineRead::TooLong));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(LineRead::Whole(line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    #[tokio::test]
    async fn lines_come_one_by_one_and_one_that_is_too_long_costs_only_itself() {
        let long = "x".repeat(LINE_BYTES_MAX + 1);
        let full = "y".repeat(LINE_BYTES_MAX);
        let text = format!("one\n\n  \r\n{long}\ntwo\n{full}\ncut off");
        for capacity in [1, 7, 8 * 1024] {
            let mut lines = LineReader::of(BufReader::with_capacity(capacity, text.as_bytes()));
            let mut found = Vec::new();
            while let Some(line) = lines.next().await.unwrap() {
                found.push(line);
            }
            let whole = |text: &str| LineRead::Whole(text.as_bytes().to_vec());
            let expected = [whole("one"), LineRead::TooLong, whole("two"), whole(&full)];
            assert_eq!(found, expected, "{capacity}");
        }
    }
}
