//! Looking on: the state of the local browser and the pictures of one tab, over a WebSocket.
//! Every refusal comes before the upgrade. Source: contract 7.6.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{
        FromRequestParts, State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket},
    },
    http::{Request, request::Parts},
    response::Response,
};
use guildhall_domain::{Refusal, browser as rules, limits};
use guildhall_hall::{
    Hall,
    browser::{Viewer, ViewerFrame, ViewerInput, ViewerUpdate},
};
use guildhall_wire::{
    browser::{BrowserState, StreamClientMessage, StreamServerMessage},
    request_fields::{self, Json},
};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

use crate::{
    errors::{ApiError, ApiResult, code_of},
    gates::ByOwnerHere,
    listener::STREAM_STALL_S,
};

/// What is spoken.
const PROTOCOL: &str = "guildhall-browser.v1";
const PING: Duration = Duration::from_secs(limits::BROWSER_STREAM_PING_S);
const STALL: Duration = Duration::from_secs(STREAM_STALL_S);

/// The server goes away.
const GOING_AWAY: u16 = 1001;
/// A message that is none of ours.
const POLICY: u16 = 1008;
/// A message that is too long.
const TOO_BIG: u16 = 1009;
/// The viewer takes no bytes, or answers no ping.
const STALLED: u16 = 4408;

/// A handshake, whose refusal is ours.
pub struct BrowserHandshake(WebSocketUpgrade);

impl<S: Send + Sync> FromRequestParts<S> for BrowserHandshake {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        // The connection's upgrade is an extension and can be taken once, so the parts move.
        let (mut own, ()) = Request::new(()).into_parts();
        std::mem::swap(&mut own, parts);
        let upgrade = WebSocketUpgrade::from_request_parts(&mut own, state).await;
        let upgrade = upgrade.map_err(|_| {
            let problem = "this is no WebSocket handshake of version 13";
            Refusal::field("upgrade", problem)
        })?;
        Ok(Self(upgrade))
    }
}

/// `GET /api/local-browser/stream`.
pub async fn open(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    BrowserHandshake(upgrade): BrowserHandshake,
) -> ApiResult<Response> {
    let viewer = hall.watch_browser(&by).await?;
    let stopping = hall.tasks().stopping();
    let max = limits::BROWSER_STREAM_MESSAGE_BYTES_MAX;
    Ok(upgrade
        .protocols([PROTOCOL])
        .max_message_size(max)
        .max_frame_size(max)
        .on_upgrade(move |socket| serve(socket, viewer, stopping)))
}

/// Speaks with a viewer until one side ends.
async fn serve(mut socket: WebSocket, viewer: Viewer, stopping: watch::Receiver<bool>) {
    if let Some(code) = run(&mut socket, viewer, stopping).await {
        let close = Message::Close(Some(CloseFrame {
            code,
            reason: "".into(),
        }));
        let goodbye = async {
            // A viewer that is gone needs no goodbye.
            let _ = socket.send(close).await;
            while let Some(Ok(_)) = socket.recv().await {}
        };
        // One that does not answer in time is let go.
        let _ = timeout(Duration::from_secs(1), goodbye).await;
    }
}

/// Answers the code to close with; `None` when the viewer is gone.
async fn run(
    socket: &mut WebSocket,
    viewer: Viewer,
    mut stopping: watch::Receiver<bool>,
) -> Option<u16> {
    let Viewer {
        typist,
        mut said,
        mut states,
    } = viewer;
    let mut pings = interval_at(Instant::now() + PING, PING);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_unanswered = false;
    // The first frame is the state, whether or not it changes.
    states.mark_changed();
    loop {
        let message = tokio::select! {
            () = stopped(&mut stopping) => return Some(GOING_AWAY),
            changed = states.changed() => {
                if changed.is_err() {
                    return Some(GOING_AWAY);
                }
                let state = Arc::clone(&states.borrow_and_update());
                state_message(&state)
            }
            said = said.recv() => match said {
                Some(said) => message_of(said),
                None => return Some(GOING_AWAY),
            },
            heard = socket.recv() => match heard {
                Some(Ok(Message::Pong(_))) => {
                    is_unanswered = false;
                    continue;
                }
                Some(Ok(Message::Ping(_))) => continue,
                Some(Ok(Message::Text(text))) => match handle_message(&typist, text.as_str()).await {
                    true => continue,
                    false => return Some(POLICY),
                },
                Some(Ok(Message::Binary(_))) => return Some(POLICY),
                Some(Ok(Message::Close(_))) | None => return None,
                // It ends the connection itself; the code is for who still reads.
                Some(Err(error)) => return is_too_long(error).then_some(TOO_BIG),
            },
            _ = pings.tick() => {
                if std::mem::replace(&mut is_unanswered, true) {
                    return Some(STALLED);
                }
                Some(Message::Ping(Vec::new().into()))
            }
        };
        let Some(message) = message else { continue };
        match timeout(STALL, socket.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return None,
            Err(_) => return Some(STALLED),
        }
    }
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that the supervisor is gone, which is a stop as well.
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// Whether a message was longer than any may be, by the type of the library beneath axum: it has
/// to be of the version that axum has.
fn is_too_long(error: axum::Error) -> bool {
    let error = error.into_inner().downcast::<tungstenite::Error>();
    error.is_ok_and(|error| matches!(*error, tungstenite::Error::Capacity(_)))
}

/// Does what a viewer says; false for nonsense.
async fn handle_message(typist: &ViewerInput, text: &str) -> bool {
    let Ok(json) = serde_json::from_str::<Json>(text) else {
        return false;
    };
    match request_fields::read::<StreamClientMessage>(json) {
        Ok(StreamClientMessage::View {
            tab,
            max_width,
            max_height,
        }) => {
            let view = tab.map(|tab| (tab, max_width, max_height));
            typist.view(view).await;
        }
        Ok(StreamClientMessage::Ack { sequence }) => typist.seen(sequence).await,
        Ok(StreamClientMessage::Input { id, view, steps }) => typist.input(id, view, steps).await,
        Ok(StreamClientMessage::Nonsense) | Err(_) => return false,
    }
    true
}

fn state_message(state: &rules::BrowserState) -> Option<Message> {
    text_message(&StreamServerMessage::State(&BrowserState::from(state)))
}

/// What is sent; `None` for what cannot be written, which plain values always can.
fn message_of(said: ViewerUpdate) -> Option<Message> {
    match said {
        ViewerUpdate::View {
            view,
            tab,
            connection,
        } => text_message(&StreamServerMessage::View {
            view_id: view,
            tab_id: tab.to_string(),
            connection_id: connection.to_string(),
        }),
        ViewerUpdate::Picture(picture) => Some(Message::Binary(encode(&picture).into())),
        ViewerUpdate::Typed { id, refused } => text_message(&StreamServerMessage::InputResult {
            id,
            ok: refused.is_none(),
            code: refused.as_ref().map(code_of),
        }),
        ViewerUpdate::AgentCursor { tab, x, y, action } => {
            text_message(&StreamServerMessage::AgentCursor {
                tab_id: tab.to_string(),
                x,
                y,
                action,
            })
        }
    }
}

fn text_message(hears: &StreamServerMessage<'_>) -> Option<Message> {
    let text = serde_json::to_string(hears).ok()?;
    Some(Message::Text(text.into()))
}

/// A header of 24 bytes, big-endian, and the picture.
fn encode(picture: &ViewerFrame) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(24 + picture.jpeg.len());
    // Version 1, format JPEG, and what is reserved.
    bytes.extend_from_slice(&[1, 1, 0, 0]);
    bytes.extend_from_slice(&picture.view.to_be_bytes());
    bytes.extend_from_slice(&picture.sequence.to_be_bytes());
    bytes.extend_from_slice(&picture.width.to_be_bytes());
    bytes.extend_from_slice(&picture.height.to_be_bytes());
    bytes.extend_from_slice(&picture.at.as_millis().unsigned_abs().to_be_bytes());
    bytes.extend_from_slice(&picture.jpeg);
    bytes
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use guildhall_domain::Timestamp;

    use super::*;

    #[test]
    fn a_picture_has_a_header_of_24_bytes() {
        let picture = ViewerFrame {
            view: 2,
            sequence: 3,
            width: 1_280,
            height: 800,
            at: Timestamp::from_millis(0x0102_0304),
            jpeg: Bytes::from_static(b"jpeg"),
        };
        let mut expected = vec![1, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 5, 0, 3, 32];
        expected.extend([0, 0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(expected.len(), 24);
        expected.extend(b"jpeg");
        assert_eq!(encode(&picture), expected);
    }
}
