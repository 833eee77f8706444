//! The same frames over a WebSocket (RFC 6455).

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use guildhall_hall::streams::{Frame, STREAM_HEARTBEAT_S, Stream, StreamEnd};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout};

use super::frame_encoding::encode;
use crate::listener::STREAM_STALL_S;

/// Seconds without a pong after which the client counts as gone.
const PONG_S: u64 = 3 * STREAM_HEARTBEAT_S;

/// The server goes away.
const GOING_AWAY: u16 = 1001;
/// Clients have nothing to say on this socket.
const UNSUPPORTED: u16 = 1003;
/// The server could not go on.
const INTERNAL: u16 = 1011;
/// The credential no longer counts.
const CREDENTIAL_LOST: u16 = 4401;
/// The client takes no bytes, or answers no ping.
const STALLED: u16 = 4408;
/// Nothing asked for can come any more.
const NORMAL: u16 = 1000;

/// Sends a stream's frames until one side ends.
pub(super) async fn serve(mut socket: WebSocket, mut stream: Stream) {
    // Since when a ping is without its pong.
    let mut unanswered: Option<Instant> = None;
    let code = loop {
        tokio::select! {
            frame = stream.next() => match frame {
                Ok(frame) => {
                    let is_heartbeat = matches!(frame, Frame::Heartbeat);
                    if let Err(code) = send(&mut socket, frame, is_heartbeat).await {
                        break code;
                    }
                    if is_heartbeat {
                        let since = *unanswered.get_or_insert_with(Instant::now);
                        if since.elapsed() >= Duration::from_secs(PONG_S) {
                            break STALLED;
                        }
                    }
                }
                Err(end) => break code_of(end),
            },
            message = socket.recv() => match message {
                Some(Ok(Message::Pong(_))) => unanswered = None,
                Some(Ok(Message::Ping(_))) => {}
                Some(Ok(Message::Text(_) | Message::Binary(_))) => break UNSUPPORTED,
                Some(Ok(Message::Close(_))) => return farewell(&mut socket, None).await,
                Some(Err(_)) | None => return,
            },
        }
    };
    farewell(&mut socket, Some(code)).await;
}

/// Ends the connection in good order: sends our close, if it is ours to send, and reads until
/// the other side has closed too, so that no close is lost to a reset.
async fn farewell(socket: &mut WebSocket, code: Option<u16>) {
    let goodbye = async {
        if let Some(code) = code {
            let close = Message::Close(Some(CloseFrame {
                code,
                reason: "".into(),
            }));
            // A client that is gone needs no goodbye.
            let _ = socket.send(close).await;
        }
        while let Some(Ok(_)) = socket.recv().await {}
    };
    // A client that does not answer in time is let go.
    let _ = timeout(Duration::from_secs(1), goodbye).await;
}

fn code_of(end: StreamEnd) -> u16 {
    match end {
        StreamEnd::CredentialLost => CREDENTIAL_LOST,
        StreamEnd::NothingLeft => NORMAL,
        StreamEnd::ShuttingDown => GOING_AWAY,
        StreamEnd::Broken => INTERNAL,
    }
}

/// Sends one frame, and a ping with a heartbeat; the error is the code to close with.
async fn send(socket: &mut WebSocket, frame: Frame, is_heartbeat: bool) -> Result<(), u16> {
    let text = text(frame).map_err(|_| INTERNAL)?;
    let patience = Duration::from_secs(STREAM_STALL_S);
    let sent = timeout(patience, async {
        socket.send(Message::Text(text.into())).await?;
        if is_heartbeat {
            socket.send(Message::Ping(Vec::new().into())).await?;
        }
        Ok::<_, axum::Error>(())
    });
    match sent.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(NORMAL),
        Err(_) => Err(STALLED),
    }
}

#[derive(Serialize)]
struct Envelope<'a> {
    event: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
}

fn text(frame: Frame) -> Result<String, serde_json::Error> {
    let frame = encode(frame)?;
    let data = match frame.data.as_str() {
        "" => None,
        text => Some(serde_json::from_str(text)?),
    };
    let id = frame.id.map(|seq| seq.to_string());
    serde_json::to_string(&Envelope {
        event: &frame.name,
        id,
        data,
    })
}
