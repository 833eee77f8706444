//! Server-sent events, read as they come. Source: WHATWG HTML, "Parsing an event stream".
//! Lines end with `\n` here, as this server writes them; a `\r` before it is dropped.

/// Bytes of one line or one frame; a longer one ends the connection.
const FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;

/// One frame.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SseFrame {
    /// The position it moves the reader to.
    pub(crate) id: Option<u64>,
    /// Its name; empty for a frame without data.
    pub(crate) event: String,
    /// Its data; `None` when it only moves the position.
    pub(crate) data: Option<String>,
}

/// Makes frames out of bytes.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The frame that has not ended yet.
    frame: SseFrame,
}

/// The stream holds something that no frame can be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FrameTooLong;

impl SseParser {
    /// The frames that `bytes` complete.
    ///
    /// # Errors
    /// [`FrameTooLong`] when a frame does not end within 64 MiB.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Vec<SseFrame>, FrameTooLong> {
        let mut frames = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let held = self.frame.data.as_ref().map_or(0, String::len);
            if held + self.line.len() + part.len() > FRAME_BYTES_MAX {
                return Err(FrameTooLong);
            }
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                let line = String::from_utf8_lossy(&line);
                frames.extend(self.end_of_line(line.trim_end_matches(['\r', '\n'])));
            }
        }
        Ok(frames)
    }

    fn end_of_line(&mut self, line: &str) -> Option<SseFrame> {
        if line.is_empty() {
            let frame = std::mem::take(&mut self.frame);
            return (frame != SseFrame::default()).then_some(frame);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.frame.id = value.parse().ok(),
            "event" => self.frame.event = value.to_owned(),
            "data" => match &mut self.frame.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.frame.data = Some(value.to_owned()),
            },
            // Comments keep the connection awake; other fields are for browsers.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_whole_however_the_bytes_are_cut() {
        let stream = ": connected\nretry: 1000\n\nid: 7\nevent: entry_added\ndata: {\"é\":1}\n\n\
                      : keepalive\n\nid: 9\n\nevent: reset\r\ndata: a\r\ndata: b\r\n\r\nid: 10\n";
        let expected = [
            SseFrame {
                id: Some(7),
                event: "entry_added".to_owned(),
                data: Some("{\"é\":1}".to_owned()),
            },
            SseFrame {
                id: Some(9),
                ..SseFrame::default()
            },
            SseFrame {
                id: None,
                event: "reset".to_owned(),
                data: Some("a\nb".to_owned()),
            },
        ];
        for size in 1..stream.len() {
            let mut frames = SseParser::default();
            let mut found = Vec::new();
            for bytes in stream.as_bytes().chunks(size) {
                found.extend(frames.take(bytes).unwrap());
            }
            assert_eq!(found, expected, "cut to {size}");
        }
    }
}
