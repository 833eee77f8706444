//! The transport over a program's standard streams: one message a line.

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};

use rmcp::{
    RoleClient,
    model::{
        ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
        ServerNotification,
    },
    transport::Transport,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{Mutex as WaitingMutex, watch},
    time::{Instant, timeout_at},
};

use super::{
    McpError,
    connect::MESSAGE_BYTES_MAX,
    line_reader::{LineRead, LineReader},
    raw_message_tap::RawMessageTap,
};

/// Lines in a row that are no messages: programs print the odd word, others never speak MCP.
const NONSENSE_MAX: usize = 100;

/// The program's standard input; empty once nothing shall be written any more.
pub(super) type SharedStdin<W> = Arc<WaitingMutex<Option<W>>>;

/// Why the transport ended by itself.
pub(super) type TransportFault = Arc<Mutex<Option<McpError>>>;

pub(super) struct StdioTransport<R, W> {
    lines: LineReader<R>,
    input: SharedStdin<W>,
    ear: Arc<RawMessageTap>,
    /// Turns true when the program shall end: what waits to be written is given up then.
    stop: watch::Receiver<bool>,
    nonsense: usize,
    fault: TransportFault,
    probe: InitializeProbe,
    /// How long that question may stay without an answer.
    patience: Duration,
}

/// The question whether the server wants to be greeted.
#[derive(Default)]
struct InitializeProbe {
    /// Since when it may count as not understood.
    waiting: Option<(RequestId, Instant)>,
    given_up: Option<RequestId>,
}

impl<R: AsyncRead + Unpin + Send, W> StdioTransport<R, W> {
    pub(super) fn new(
        output: R,
        input: SharedStdin<W>,
        ear: Arc<RawMessageTap>,
        stop: watch::Receiver<bool>,
        fault: TransportFault,
        patience: Duration,
    ) -> Self {
        Self {
            lines: LineReader::new(output, MESSAGE_BYTES_MAX),
            input,
            ear,
            stop,
            nonsense: 0,
            fault,
            probe: InitializeProbe::default(),
            patience,
        }
    }

    /// The message of a line, where the crate shall know of it.
    fn read(&mut self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        let text = std::str::from_utf8(line).ok().map(str::trim);
        let message = text.and_then(|text| {
            self.ear.observe(text);
            serde_json::from_str(text).ok()
        });
        let Some(message) = message else {
            self.nonsense += 1;
            return None;
        };
        self.nonsense = 0;
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            // Heard already, in its order.
            ServerJsonRpcMessage::Notification(notification) => {
                return (!is_heard(&notification.notification)).then_some(message);
            }
            ServerJsonRpcMessage::Request(_) => None,
        };
        if answered.is_some() && answered == self.probe.given_up.as_ref() {
            let is_direct = matches!(message, ServerJsonRpcMessage::Response(_));
            self.ear.is_late_direct.store(is_direct, Ordering::Release);
            return None;
        }
        if answered.is_some() && answered == self.probe.waiting.as_ref().map(|(id, _)| id) {
            self.probe.waiting = None;
        }
        Some(message)
    }
}

/// Whether a notification is of no use to the crate.
fn is_heard(notification: &ServerNotification) -> bool {
    matches!(
        notification,
        ServerNotification::ProgressNotification(_)
            | ServerNotification::LoggingMessageNotification(_)
    )
}

impl<R, W> Transport<RoleClient> for StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = McpError;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.ear.track_request(&item);
        if let ClientJsonRpcMessage::Request(request) = &item
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
        {
            let until = Instant::now().checked_add(self.patience);
            self.probe.waiting = until.map(|until| (request.id.clone(), until));
        }
        let line = serde_json::to_vec(&item).map(|mut line| {
            line.push(b'\n');
            line
        });
        let (input, mut stop) = (Arc::clone(&self.input), self.stop.clone());
        async move {
            let line = line.map_err(|error| McpError::protocol(error.to_string()))?;
            tokio::select! {
                // An error means that whoever could stop it is gone.
                _ = stop.wait_for(|stop| *stop) => Err(McpError::ended()),
                written = write(&input, &line) => written,
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let line = match &self.probe.waiting {
                None => self.lines.next().await,
                Some((_, until)) => match timeout_at(*until, self.lines.next()).await {
                    Ok(line) => line,
                    Err(_) => {
                        let (id, _) = self.probe.waiting.take()?;
                        self.probe.given_up = Some(id.clone());
                        return Some(not_understood(id));
                    }
                },
            };
            let message = match line? {
                LineRead::Whole(line) if line.trim_ascii().is_empty() => None,
                LineRead::Whole(line) => self.read(&line),
                LineRead::TooLong(id) => self.ear.too_long(id.as_ref()),
            };
            if message.is_some() {
                return message;
            }
            if self.nonsense > NONSENSE_MAX {
                let why = McpError::protocol("it writes what is no message");
                *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.ear.is_over();
        // Whoever still writes holds it, and is given up when the program shall end.
        if let Ok(mut input) = self.input.try_lock() {
            input.take();
        }
        Ok(())
    }
}

/// What a server that knows no other beginning than the greeting would say.
pub(super) fn not_understood(id: RequestId) -> ServerJsonRpcMessage {
    let why = "the server said nothing";
    ServerJsonRpcMessage::error(
        ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None),
        Some(id),
    )
}

async fn write<W: AsyncWrite + Unpin>(input: &SharedStdin<W>, line: &[u8]) -> Result<(), McpError> {
    let mut input = input.lock().await;
    let input = input.as_mut().ok_or_else(McpError::ended)?;
    let written = async {
        input.write_all(line).await?;
        input.flush().await
    };
    written.await.map_err(|_| McpError::ended())
}
