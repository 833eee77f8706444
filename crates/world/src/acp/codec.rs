//! The lines between us and an agent, with a bound for everything it can do: the length of a
//! line, lines that are not the protocol, lines on the way, and answers it does not take.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use agent_client_protocol::{
    JsonRpcNotification, RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcParams, TransportFrame,
};
use futures_util::{Sink, Stream, task::AtomicWaker};
use guildhall_domain::limits::{ACP_GARBAGE_LINES_MAX, ACP_LINE_MAX};
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::from_acp;

/// Lines handed over before the marker behind them must be reached.
const LINES_ON_THE_WAY_MAX: usize = 32;
/// Bytes handed over before that.
const BYTES_ON_THE_WAY_MAX: usize = 256 * 1_024;
/// Questions of an agent that may be open, and answers that wait to be taken by it.
const OWED_MAX: usize = 1_024;
/// Bytes of a method or an id; answers repeat them.
const NAME_BYTES_MAX: usize = 1_024;
/// Bytes read at once.
const CHUNK_BYTES: usize = 64 * 1_024;

/// Says that everything before it was dispatched: the crate's own queue has no bound, so the
/// reader puts this line behind each few and waits until it was reached.
#[derive(Clone, Debug, Serialize, Deserialize, JsonRpcNotification)]
#[notification(method = "_guildhall/marker")]
pub(super) struct DispatchMarker {}

const MARKER_LINE: &str = r#"{"jsonrpc":"2.0","method":"_guildhall/marker","params":{}}"#;
/// No agent may write a marker, or anything else of ours.
const OUR_METHODS: &str = "_guildhall/";

/// How an agent broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtocolViolation {
    /// A line above [`ACP_LINE_MAX`].
    LineTooLong,
    /// [`ACP_GARBAGE_LINES_MAX`] lines in a row that are not the protocol.
    Garbage,
}

impl std::fmt::Display for ProtocolViolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LineTooLong => write!(f, "a line longer than {ACP_LINE_MAX} bytes"),
            Self::Garbage => write!(f, "{ACP_GARBAGE_LINES_MAX} lines that are not the protocol"),
        }
    }
}

/// What reader, writer and dispatch share.
#[derive(Debug, Default)]
pub(super) struct FlowControl {
    /// A marker is on the way.
    is_marked: AtomicBool,
    /// Requests of the agent without an answer on its standard input.
    owed: AtomicUsize,
    reader: AtomicWaker,
    fault: OnceLock<ProtocolViolation>,
}

impl FlowControl {
    /// The marker was reached: the reader may go on.
    pub(super) fn reached(&self) {
        self.is_marked.store(false, Ordering::Release);
        self.reader.wake();
    }

    pub(super) fn fault(&self) -> Option<ProtocolViolation> {
        self.fault.get().copied()
    }

    fn answered(&self) {
        // Never below none, whatever the crate writes.
        let _ = self
            .owed
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |owed| {
                owed.checked_sub(1)
            });
        self.reader.wake();
    }

    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        // The waker is left before the look, so that no change falls between the two.
        self.reader.register(cx.waker());
        let is_full =
            self.is_marked.load(Ordering::Acquire) || self.owed.load(Ordering::Acquire) >= OWED_MAX;
        if is_full {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    fn broken(&self, fault: ProtocolViolation) -> io::Error {
        // The first one counts.
        let _ = self.fault.set(fault);
        io::Error::new(io::ErrorKind::InvalidData, fault.to_string())
    }
}

/// What an agent writes, line by line.
pub(super) struct LineStream<R> {
    source: R,
    flow: Arc<FlowControl>,
    chunk: Box<[u8]>,
    /// What of `chunk` was read and not looked at yet.
    fresh: std::ops::Range<usize>,
    line: Vec<u8>,
    /// Garbage in a row.
    garbage: usize,
    /// Handed over since the last marker.
    lines: usize,
    bytes: usize,
}

impl<R> LineStream<R> {
    pub(super) fn new(source: R, flow: Arc<FlowControl>) -> Self {
        Self {
            source,
            flow,
            chunk: vec![0; CHUNK_BYTES].into(),
            fresh: 0..0,
            line: Vec::new(),
            garbage: 0,
            lines: 0,
            bytes: 0,
        }
    }

    /// A whole line out of what was read; `None` when more must be read.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, ProtocolViolation> {
        let fresh = self.chunk.get(self.fresh.clone()).unwrap_or_default();
        let end = fresh.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(fresh.len());
        if self.line.len() + taken > ACP_LINE_MAX {
            return Err(ProtocolViolation::LineTooLong);
        }
        self.line
            .extend_from_slice(fresh.get(..taken).unwrap_or_default());
        self.fresh.start += taken + usize::from(end.is_some());
        Ok(end.map(|_| std::mem::take(&mut self.line)))
    }

    /// The line as text when it is the protocol.
    fn accept(&mut self, line: Vec<u8>) -> Result<Option<String>, ProtocolViolation> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let text = String::from_utf8(line).ok();
        let kind = text.as_deref().and_then(kind);
        let (Some(text), Some(kind)) = (text, kind) else {
            self.garbage += 1;
            return if self.garbage >= ACP_GARBAGE_LINES_MAX {
                Err(ProtocolViolation::Garbage)
            } else {
                Ok(None)
            };
        };
        self.garbage = 0;
        if kind == LineKind::Request {
            self.flow.owed.fetch_add(1, Ordering::AcqRel);
        }
        self.lines += 1;
        self.bytes += text.len();
        Ok(Some(text))
    }

    /// The marker, when enough is on the way.
    fn marker(&mut self) -> Option<String> {
        if self.lines < LINES_ON_THE_WAY_MAX && self.bytes < BYTES_ON_THE_WAY_MAX {
            return None;
        }
        (self.lines, self.bytes) = (0, 0);
        self.flow.is_marked.store(true, Ordering::Release);
        Some(MARKER_LINE.to_owned())
    }
}

impl<R: AsyncRead + Unpin> Stream for LineStream<R> {
    type Item = io::Result<String>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(marker) = this.marker() {
                return Poll::Ready(Some(Ok(marker)));
            }
            ready!(this.flow.poll_room(cx));
            let line = match this.next_line() {
                Ok(line) => line,
                Err(fault) => return Poll::Ready(Some(Err(this.flow.broken(fault)))),
            };
            if let Some(line) = line {
                match this.accept(line) {
                    Ok(Some(text)) => return Poll::Ready(Some(Ok(text))),
                    Ok(None) => continue,
                    Err(fault) => return Poll::Ready(Some(Err(this.flow.broken(fault)))),
                }
            }
            let mut room = ReadBuf::new(&mut this.chunk);
            ready!(Pin::new(&mut this.source).poll_read(cx, &mut room))?;
            this.fresh = 0..room.filled().len();
            if this.fresh.is_empty() {
                // An unfinished last line is no message.
                return Poll::Ready(None);
            }
        }
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Request,
    Notification,
    Response,
}

/// What `line` is, by the crate's own parser: what that one does not take is answered with all of
/// the line, in a queue without a bound. `None` for what is not the protocol, for names that are
/// too long to be repeated in answers, and for updates of calls that nobody can name.
fn kind(line: &str) -> Option<LineKind> {
    let TransportFrame::Single(message) = TransportFrame::parse_json(line) else {
        return None;
    };
    let (kind, method, id) = match &message {
        RawJsonRpcMessage::Request(request) => {
            (LineKind::Request, Some(&request.method), Some(&request.id))
        }
        RawJsonRpcMessage::Notification(notification) => {
            let call = notification.params.as_ref().and_then(updated_call);
            if call.is_some_and(|id| !from_acp::is_call_id(id)) {
                return None;
            }
            (LineKind::Notification, Some(&notification.method), None)
        }
        RawJsonRpcMessage::Response(response) => (LineKind::Response, None, Some(response.id())),
    };
    let is_short = |name: &str| name.len() <= NAME_BYTES_MAX;
    let is_fit = match id {
        Some(RawJsonRpcId::Str(id)) => is_short(id),
        Some(RawJsonRpcId::Null | RawJsonRpcId::Number(_)) | None => true,
    };
    let is_theirs = |method: &Arc<str>| is_short(method) && !method.starts_with(OUR_METHODS);
    (is_fit && method.is_none_or(is_theirs)).then_some(kind)
}

/// The id of the call that an update tells of.
fn updated_call(params: &RawJsonRpcParams) -> Option<&str> {
    match params {
        RawJsonRpcParams::Object(params) => params.get("update")?.get("toolCallId")?.as_str(),
        RawJsonRpcParams::Array(_) => None,
    }
}

/// As much of a line of ours as says whether it is an answer.
#[derive(Deserialize)]
struct OutgoingLine {
    #[serde(default, deserialize_with = "is_there")]
    method: bool,
}

fn is_there<'de, D: Deserializer<'de>>(source: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(source).map(|_| true)
}

fn is_answer(line: &str) -> bool {
    serde_json::from_str::<OutgoingLine>(line).is_ok_and(|line| !line.method)
}

/// What we write, line by line.
pub(super) struct LineSink<W> {
    target: W,
    flow: Arc<FlowControl>,
    bytes: Vec<u8>,
    written: usize,
}

impl<W> LineSink<W> {
    pub(super) fn new(target: W, flow: Arc<FlowControl>) -> Self {
        Self {
            target,
            flow,
            bytes: Vec::new(),
            written: 0,
        }
    }
}

impl<W: AsyncWrite + Unpin> Sink<String> for LineSink<W> {
    type Error = io::Error;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }

    fn start_send(self: Pin<&mut Self>, line: String) -> io::Result<()> {
        let this = self.get_mut();
        if is_answer(&line) {
            this.flow.answered();
        }
        this.bytes = line.into_bytes();
        this.bytes.push(b'\n');
        this.written = 0;
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while let Some(rest) = this
            .bytes
            .get(this.written..)
            .filter(|rest| !rest.is_empty())
        {
            let count = ready!(Pin::new(&mut this.target).poll_write(cx, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            this.written += count;
        }
        this.bytes = Vec::new();
        this.written = 0;
        Pin::new(&mut this.target).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        Pin::new(&mut self.get_mut().target).poll_shutdown(cx)
    }
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
