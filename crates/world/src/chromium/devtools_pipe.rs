//! The pipe: JSON messages ended by NUL, questions and their answers.
//!
//! What comes in comes from a hostile place: sizes are bounded, what does not parse is dropped.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use guildhall_domain::limits::{CDP_CALL_MAX_S, CDP_MESSAGE_BYTES_MAX};
use memchr::memchr;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::BrowserError;

/// How long an answer may take.
const CALL_MAX: Duration = Duration::from_secs(CDP_CALL_MAX_S);
/// Messages that wait to be written.
const OUT_MAX: usize = 1_024;
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Characters of the reason of a refusal that are kept.
const REASON_CHARS_MAX: usize = 300;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PipeRead {
    /// One message, without its NUL.
    Message(Vec<u8>),
    /// One that was longer than [`CDP_MESSAGE_BYTES_MAX`] and is not kept.
    TooLong,
}

/// Takes a stream of bytes apart.
pub(super) struct MessageReader<R> {
    from: R,
    buffer: Vec<u8>,
    /// How much of it holds no NUL.
    searched: usize,
    /// Whether what is in it belongs to a message that is too long.
    is_too_long: bool,
    bytes_max: usize,
}

impl<R: AsyncRead + Unpin> MessageReader<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            buffer: Vec::new(),
            searched: 0,
            is_too_long: false,
            bytes_max: CDP_MESSAGE_BYTES_MAX,
        }
    }

    /// The next one; `None` at the end. Cancel-safe: what was read stays in the buffer.
    pub(super) async fn next(&mut self) -> Option<PipeRead> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(place) = memchr(0, unsearched) {
                let rest = self.buffer.split_off(self.searched + place + 1);
                let mut message = std::mem::replace(&mut self.buffer, rest);
                self.searched = 0;
                message.pop();
                let is_too_long = std::mem::take(&mut self.is_too_long);
                return Some(if is_too_long || message.len() > self.bytes_max {
                    PipeRead::TooLong
                } else {
                    PipeRead::Message(message)
                });
            }
            if self.is_too_long || self.buffer.len() > self.bytes_max {
                self.is_too_long = true;
                self.buffer = Vec::new();
            }
            self.searched = self.buffer.len();
            self.buffer.reserve(CHUNK_BYTES);
            // An error is an end as well.
            if !matches!(self.from.read_buf(&mut self.buffer).await, Ok(1..)) {
                return None;
            }
        }
    }
}

/// One message, its parameters unread.
#[derive(Deserialize)]
pub(super) struct DevtoolsMessage<'a> {
    id: Option<u64>,
    /// Which target it is about; none is the browser itself.
    #[serde(rename = "sessionId")]
    pub(super) session: Option<String>,
    pub(super) method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<ProtocolError>,
}

#[derive(Deserialize)]
struct ProtocolError {
    #[serde(default)]
    message: String,
}

impl DevtoolsMessage<'_> {
    /// Reads a message that is one: an event or an answer.
    pub(super) fn parse(bytes: &[u8]) -> Option<DevtoolsMessage<'_>> {
        let message: DevtoolsMessage<'_> = serde_json::from_slice(bytes).ok()?;
        (message.id.is_some() || message.method.is_some()).then_some(message)
    }

    /// Its parameters; null when they nest too deep to be read.
    pub(super) fn params(&self) -> Value {
        let params = self.params.map(|raw| serde_json::from_str(raw.get()));
        params.and_then(Result::ok).unwrap_or_default()
    }
}

type CallResult = Result<Value, BrowserError>;

/// The asking side of the pipe.
#[derive(Debug)]
pub(super) struct DevtoolsClient {
    next_id: AtomicU64,
    /// Who waits for which answer; `None` once nobody answers any more. A std mutex: held for a
    /// look-up and never over an await.
    waiting: Mutex<Option<HashMap<u64, oneshot::Sender<CallResult>>>>,
    out: mpsc::Sender<Vec<u8>>,
}

impl DevtoolsClient {
    /// A wire, and what is to be written for it by [`write_all`].
    pub(super) fn new() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (out, written) = mpsc::channel(OUT_MAX);
        let wire = Self {
            next_id: AtomicU64::new(1),
            waiting: Mutex::new(Some(HashMap::new())),
            out,
        };
        (wire, written)
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`BrowserError::Timeout`] after [`CALL_MAX`], [`BrowserError::Refused`] with Chromium's
    /// reason, [`BrowserError::Gone`].
    pub(super) async fn call(&self, session: &str, method: &str, params: Value) -> CallResult {
        timeout(CALL_MAX, self.call_with_timeout(session, method, params))
            .await
            .unwrap_or(Err(BrowserError::Timeout))
    }

    /// The same without a limit: for a browser that is still coming up, since whoever starts it has
    /// a limit for all of that.
    ///
    /// # Errors
    /// [`BrowserError::Refused`] with Chromium's reason, [`BrowserError::Gone`].
    pub(super) async fn call_with_timeout(
        &self,
        session: &str,
        method: &str,
        params: Value,
    ) -> CallResult {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (tell, told) = oneshot::channel();
        match self.waiting().as_mut() {
            Some(waiting) => waiting.insert(id, tell),
            None => return Err(BrowserError::Gone),
        };
        let _waits = PendingCall { wire: self, id };
        self.send(id, session, method, params).await?;
        told.await.unwrap_or(Err(BrowserError::Gone))
    }

    /// Says something whose answer nobody needs.
    pub(super) async fn notify(&self, session: &str, method: &str, params: Value) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        // Whoever is gone needs to be told nothing.
        let _ = self.send(id, session, method, params).await;
    }

    async fn send(
        &self,
        id: u64,
        session: &str,
        method: &str,
        params: Value,
    ) -> Result<(), BrowserError> {
        let mut message = json!({ "id": id, "method": method, "params": params });
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let sent = self.out.send(bytes).await;
        sent.map_err(|_| BrowserError::Gone)
    }

    /// Hands an answer to who waits for it; false when the message is none.
    pub(super) fn resolve(&self, message: &DevtoolsMessage<'_>) -> bool {
        let Some(id) = message.id else {
            return false;
        };
        let waiting = self.waiting().as_mut().and_then(|all| all.remove(&id));
        if let Some(waiting) = waiting {
            let answer = match (&message.error, message.result) {
                (Some(refused), _) => {
                    let reason = refused.message.chars().take(REASON_CHARS_MAX).collect();
                    Err(BrowserError::Refused(reason))
                }
                (None, Some(raw)) => serde_json::from_str(raw.get())
                    .map_err(|_| BrowserError::Refused("an answer that cannot be read".to_owned())),
                (None, None) => Ok(Value::Null),
            };
            // Who gave up meanwhile needs no answer.
            let _ = waiting.send(answer);
        }
        true
    }

    /// Tells everybody who waits that nobody answers any more.
    pub(super) fn close(&self) {
        *self.waiting() = None;
    }

    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<CallResult>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody's place among those who wait, also when it gives up.
struct PendingCall<'a> {
    wire: &'a DevtoolsClient,
    id: u64,
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = self.wire.waiting().as_mut() {
            waiting.remove(&self.id);
        }
    }
}

/// Writes what is said until nobody reads it.
pub(super) async fn write_all(
    mut to: impl AsyncWrite + Unpin,
    mut written: mpsc::Receiver<Vec<u8>>,
) {
    while let Some(message) = written.recv().await {
        if to.write_all(&message).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn heard(bytes: &[u8], bytes_max: usize) -> Vec<PipeRead> {
        let mut messages = MessageReader::new(bytes);
        messages.bytes_max = bytes_max;
        let mut heard = Vec::new();
        while let Some(message) = messages.next().await {
            heard.push(message);
        }
        heard
    }

    #[tokio::test]
    async fn messages_end_with_a_nul() {
        let message = |text: &str| PipeRead::Message(text.into());
        assert_eq!(heard(b"", 9).await, []);
        assert_eq!(heard(b"unfinished", 99).await, []);
        assert_eq!(
            heard(b"a\0\0bc\0d", 9).await,
            [message("a"), message(""), message("bc")]
        );
    }

    #[tokio::test]
    async fn a_long_message_is_passed_over_and_the_next_one_read() {
        let long = "x".repeat(10);
        let text = format!("{long}\0ok\0");
        let heard_ = heard(text.as_bytes(), 9).await;
        assert_eq!(heard_, [PipeRead::TooLong, PipeRead::Message(b"ok".into())]);
        let longer = [vec![b'y'; 3 * CHUNK_BYTES], b"\0ok\0".to_vec()].concat();
        let heard_ = heard(&longer, CHUNK_BYTES).await;
        assert_eq!(heard_, [PipeRead::TooLong, PipeRead::Message(b"ok".into())]);
    }

    #[test]
    fn a_message_is_an_event_or_an_answer() {
        for (text, is_one) in [
            ("{\"id\":1,\"result\":{}}", true),
            ("{\"method\":\"A.b\",\"params\":{},\"new\":1}", true),
            ("{\"id\":-1}", false),
            ("{}", false),
            ("[]", false),
            ("{\"method\":", false),
            ("", false),
        ] {
            assert_eq!(
                DevtoolsMessage::parse(text.as_bytes()).is_some(),
                is_one,
                "{text}"
            );
        }
        let deep = format!(
            "{{\"method\":\"a\",\"params\":{}1{}}}",
            "[".repeat(200),
            "]".repeat(200)
        );
        let message = DevtoolsMessage::parse(deep.as_bytes());
        assert!(message.is_none_or(|message| message.params().is_null()));
    }
}
