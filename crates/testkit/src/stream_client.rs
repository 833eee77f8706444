//! Frames: what a stream brings, as server-sent events or over a WebSocket.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::BodyExt;
use hyper::{HeaderMap, body::Incoming};
use serde_json::Value;
use tokio::{net::TcpStream, task::JoinSet};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderName},
};

use crate::{
    callers::{TestCaller, TestConnection, TestRequest},
    soon,
};

/// One frame of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamFrame {
    /// Its name; `position` for a frame that only moves the place.
    pub event: String,
    /// The reader's new place.
    pub id: Option<u64>,
    /// What it says; null when it says nothing.
    pub data: Value,
}

impl StreamFrame {
    /// The event's own data, inside the frame's.
    pub fn inner(&self) -> &Value {
        &self.data["data"]
    }
}

/// An open stream of server-sent events.
pub struct SseClient {
    /// The headers of the answer.
    pub headers: HeaderMap,
    /// The first block: a comment and how soon to come back.
    pub preamble: String,
    /// Heartbeats that were passed over.
    pub heartbeats: u32,
    body: Incoming,
    /// Bytes of blocks that have not ended; a chunk may end inside a character.
    buffer: Vec<u8>,
    _driver: JoinSet<()>,
}

impl SseClient {
    pub(crate) async fn open(ask: TestRequest) -> Self {
        let TestConnection {
            response,
            driver,
            asked,
        } = ask.open().await;
        let (head, body) = response.into_parts();
        let mut stream = Self {
            headers: head.headers,
            preamble: String::new(),
            heartbeats: 0,
            body,
            buffer: Vec::new(),
            _driver: driver,
        };
        if head.status != 200 {
            soon("the whole refusal", async { while stream.read().await {} }).await;
            panic!(
                "{asked}: {} {}",
                head.status,
                String::from_utf8_lossy(&stream.buffer)
            );
        }
        stream.preamble = stream.block().await.expect("the beginning of a stream");
        stream
    }

    /// The next frame; heartbeats are passed over.
    ///
    /// # Panics
    /// When the stream ends, or nothing comes in time.
    #[track_caller]
    #[expect(
        clippy::should_implement_trait,
        reason = "frames are awaited and not iterated over"
    )]
    pub fn next(&mut self) -> impl Future<Output = StreamFrame> {
        let place = std::panic::Location::caller();
        async move {
            soon(&format!("a frame, asked for at {place}"), self.frame())
                .await
                .unwrap_or_else(|| panic!("a frame and not the end, at {place}"))
        }
    }

    /// The next frame, which must have this name.
    pub async fn expect(&mut self, event: &str) -> StreamFrame {
        let frame = self.next().await;
        assert_eq!(frame.event, event, "{frame:?}");
        frame
    }

    /// Every frame up to and with the event at `seq`.
    pub async fn until(&mut self, seq: u64) -> Vec<StreamFrame> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await;
            let is_last = frame.id.is_some_and(|id| id >= seq);
            frames.push(frame);
            if is_last {
                return frames;
            }
        }
    }

    /// The lines of every event up to and with the place `seq`, as they came. Frames that only
    /// move the place come when they come and are left out.
    pub async fn lines_until(&mut self, seq: u64) -> String {
        let mut lines = String::new();
        loop {
            let block = soon("a block of a stream", self.block()).await;
            let block = block.expect("a block and not the end");
            if block.starts_with(':') {
                continue;
            }
            let frame = parse(&block);
            if frame.event != "position" {
                lines.push_str(&block);
                lines.push_str("\n\n");
            }
            if frame.id.is_some_and(|id| id >= seq) {
                return lines;
            }
        }
    }

    /// Demands that the stream ends without another frame.
    pub async fn end(&mut self) {
        let frame = soon("the end of a stream", self.frame()).await;
        assert_eq!(frame, None, "the end, not a frame");
    }

    async fn frame(&mut self) -> Option<StreamFrame> {
        loop {
            let block = self.block().await?;
            if !block.starts_with(':') {
                return Some(parse(&block));
            }
            assert_eq!(block, ": keepalive");
            self.heartbeats += 1;
        }
    }

    /// The next block of lines, without the empty line that ends it.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let rest = self.buffer.split_off(end + 2);
                let block = std::mem::replace(&mut self.buffer, rest);
                return Some(
                    String::from_utf8(block)
                        .expect("UTF-8")
                        .trim_end()
                        .to_owned(),
                );
            }
            if !soon("bytes of a stream", self.read()).await {
                return None;
            }
        }
    }

    async fn read(&mut self) -> bool {
        let Some(Ok(frame)) = self.body.frame().await else {
            return false;
        };
        if let Ok(data) = frame.into_data() {
            self.take(&data);
        }
        true
    }

    fn take(&mut self, data: &Bytes) {
        self.buffer.extend_from_slice(data);
    }
}

fn parse(block: &str) -> StreamFrame {
    let mut frame = StreamFrame {
        event: "position".to_owned(),
        id: None,
        data: Value::Null,
    };
    for line in block.lines() {
        match line.split_once(": ") {
            Some(("id", id)) => frame.id = Some(id.parse().expect("a place")),
            Some(("event", event)) => event.clone_into(&mut frame.event),
            Some(("data", data)) => frame.data = serde_json::from_str(data).expect("JSON"),
            _ => panic!("no line of a frame: {line:?}"),
        }
    }
    frame
}

/// An open WebSocket.
pub struct WebSocketClient {
    /// Heartbeats that were passed over.
    pub heartbeats: u32,
    inner: WebSocketStream<TcpStream>,
}

impl WebSocketClient {
    pub(crate) async fn open(by: &TestCaller, path: &str) -> Self {
        let address = format!("ws://{}{path}", by.host());
        let mut request = address.into_client_request().unwrap();
        for (name, value) in &by.headers() {
            let name = HeaderName::try_from(name.as_str()).unwrap();
            request.headers_mut().append(name, value.parse().unwrap());
        }
        let (inner, _) = soon("a handshake", client_async(request, by.connect().await))
            .await
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        Self {
            heartbeats: 0,
            inner,
        }
    }

    /// The next frame; heartbeats are passed over.
    ///
    /// # Panics
    /// When the socket closes, or nothing comes in time.
    pub async fn next(&mut self) -> StreamFrame {
        soon("a frame", self.frame()).await
    }

    async fn frame(&mut self) -> StreamFrame {
        loop {
            let frame = match self.message().await {
                Message::Text(text) => parse_message(text.as_str()),
                Message::Ping(_) => continue,
                other => panic!("a frame, not {other:?}"),
            };
            if frame.event != "heartbeat" {
                return frame;
            }
            self.heartbeats += 1;
        }
    }

    /// Says something, which clients have no business doing.
    pub async fn say(&mut self, words: &str) {
        let said = soon("room for words", self.inner.send(Message::text(words)));
        said.await.unwrap();
    }

    /// The code the server closes with; frames before it are passed over.
    pub async fn closed(&mut self) -> u16 {
        soon("a close", async {
            loop {
                match self.message().await {
                    Message::Close(Some(close)) => return close.code.into(),
                    Message::Close(None) => panic!("a close without a code"),
                    _ => {}
                }
            }
        })
        .await
    }

    async fn message(&mut self) -> Message {
        self.inner
            .next()
            .await
            .expect("a message and not the end")
            .expect("a readable message")
    }
}

fn parse_message(text: &str) -> StreamFrame {
    let message: Value = serde_json::from_str(text).expect("JSON");
    let id = message.get("id").map(|id| {
        let id = id.as_str().expect("a place is text");
        id.parse().expect("a place")
    });
    StreamFrame {
        event: message["event"].as_str().expect("a name").to_owned(),
        id,
        data: message.get("data").cloned().unwrap_or_default(),
    }
}
