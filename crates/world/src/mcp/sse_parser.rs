//! Server-sent events out of the pieces of a body, as the HTML standard reads them.

use std::collections::VecDeque;

use serde_json::Value;

use super::message_id_scan::MessageIdScanner;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// Its type; `message` when it names none.
    pub(super) kind: String,
    pub(super) data: String,
    pub(super) id: Option<String>,
    pub(super) retry_ms: Option<u64>,
}

/// What was heard.
#[derive(Debug, PartialEq)]
pub(super) enum SseRead {
    Event(SseEvent),
    /// An event beyond the bound, with the id of its message where it has one.
    TooLong(Option<Value>),
}

/// The reading of one stream.
#[derive(Debug)]
pub(super) struct SseParser {
    bytes_max: usize,
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    kind: String,
    id: Option<String>,
    retry_ms: Option<u64>,
    /// The event that is being read, once it is too long.
    long: Option<MessageIdScanner>,
    /// Whether the last byte was a carriage return, whose line feed ends no line of its own.
    was_return: bool,
    is_begun: bool,
    heard: VecDeque<SseRead>,
}

impl SseParser {
    /// Reads events of at most `bytes_max` bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            line: Vec::new(),
            data: None,
            kind: String::new(),
            id: None,
            retry_ms: None,
            long: None,
            was_return: false,
            is_begun: false,
            heard: VecDeque::new(),
        }
    }

    /// The next event that is complete.
    pub(super) fn next(&mut self) -> Option<SseRead> {
        self.heard.pop_front()
    }

    /// Reads on.
    pub(super) fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.was_return) && bytes.first() == Some(&b'\n') {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.extend(piece);
            if let Some(ending) = rest.first() {
                self.was_return = *ending == b'\r';
                self.end_of_line();
            }
            bytes = rest.get(1..).unwrap_or_default();
        }
    }

    fn extend(&mut self, piece: &[u8]) {
        let kept = self.data.as_ref().map_or(0, Vec::len) + self.line.len();
        if let Some(skim) = &mut self.long {
            skim.read(piece);
            // Only whether the line is empty still matters.
            self.line.extend(piece.first());
            self.line.truncate(1);
        } else if kept + piece.len() > self.bytes_max {
            let mut skim = MessageIdScanner::default();
            skim.read(self.data.take().as_deref().unwrap_or_default());
            self.line.extend_from_slice(piece);
            skim.read(value_of(b"data:", &self.line).unwrap_or_default());
            self.line.truncate(1);
            self.long = Some(skim);
        } else {
            self.line.extend_from_slice(piece);
        }
    }

    fn end_of_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if !self.is_begun => rest,
            _ => &line,
        };
        self.is_begun = true;
        if line.is_empty() {
            self.end_of_event();
        } else if self.long.is_some() {
            // The rest of an event that is dropped.
        } else if let Some(value) = value_of(b"data:", line) {
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            }
        } else if line == b"data" {
            self.data.get_or_insert_default();
        } else if let Some(value) = value_of(b"event:", line) {
            self.kind = String::from_utf8_lossy(value).into_owned();
        } else if let Some(value) = value_of(b"id:", line) {
            if !value.contains(&0) {
                self.id = Some(String::from_utf8_lossy(value).into_owned());
            }
        } else if let Some(value) = value_of(b"retry:", line) {
            self.retry_ms = std::str::from_utf8(value)
                .ok()
                .and_then(|text| text.parse().ok());
        }
    }

    fn end_of_event(&mut self) {
        let (data, kind) = (self.data.take(), std::mem::take(&mut self.kind));
        let (id, retry_ms) = (self.id.take(), self.retry_ms.take());
        if let Some(skim) = self.long.take() {
            self.heard.push_back(SseRead::TooLong(skim.id().cloned()));
            return;
        }
        // An event without data is none, but its id and its pause still count.
        if data.is_none() && id.is_none() && retry_ms.is_none() {
            return;
        }
        let data = data.unwrap_or_default();
        self.heard.push_back(SseRead::Event(SseEvent {
            kind: if kind.is_empty() {
                "message".to_owned()
            } else {
                kind
            },
            data: String::from_utf8_lossy(&data).into_owned(),
            id,
            retry_ms,
        }));
    }
}

/// What stands behind a field's name, without one space.
fn value_of<'a>(field: &[u8], line: &'a [u8]) -> Option<&'a [u8]> {
    let value = line.strip_prefix(field)?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str, size: usize, bytes_max: usize) -> Vec<SseRead> {
        let mut events = SseParser::new(bytes_max);
        for piece in text.as_bytes().chunks(size) {
            events.read(piece);
        }
        std::iter::from_fn(|| events.next()).collect()
    }

    fn event(kind: &str, data: &str) -> SseEvent {
        SseEvent {
            kind: kind.to_owned(),
            data: data.to_owned(),
            ..SseEvent::default()
        }
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text = "\u{feff}: hello\n\nevent: endpoint\ndata: /m?s=1\r\n\r\ndata:a\rdata: b\r\r\
            id: 7\nretry: 250\ndata\n\ndata: unfinished";
        let expected = [
            SseRead::Event(event("endpoint", "/m?s=1")),
            SseRead::Event(event("message", "a\nb")),
            SseRead::Event(SseEvent {
                id: Some("7".to_owned()),
                retry_ms: Some(250),
                ..event("message", "")
            }),
        ];
        for size in [1, 2, 5, 1_000] {
            assert_eq!(read(text, size, 1_000), expected, "by {size}");
        }
    }

    #[test]
    fn an_event_that_is_too_long_costs_itself_alone() {
        let long = "x".repeat(200);
        let text = format!("data: {{\"id\":4,\"result\":\"{long}\"}}\nid: 3\n\ndata: after\n\n");
        for size in [1, 7, 1_000] {
            let expected = [
                SseRead::TooLong(Some(json!(4))),
                SseRead::Event(event("message", "after")),
            ];
            assert_eq!(read(&text, size, 100), expected, "by {size}");
        }
    }
}
