//! Server-sent events (WHATWG HTML, `text/event-stream`).

use std::fmt::Write;

use axum::{
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use guildhall_hall::streams::{Frame, Stream, StreamEnd};

use super::frame_encoding::encode;

/// How the stream begins: so that proxies and clients see it is open, and come back soon.
const PREAMBLE: &str = ": connected\nretry: 1000\n\n";

/// The answer that brings a stream's frames until it ends.
pub(super) fn answer(stream: Stream) -> Response {
    let preamble = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(
        PREAMBLE.as_bytes(),
    ))]);
    let frames = stream::unfold(stream, |mut stream| async move {
        let frame = match stream.next().await {
            Ok(frame) => frame,
            Err(StreamEnd::Broken) => {
                return Some((Err(broken("the log could not be read")), stream));
            }
            Err(StreamEnd::CredentialLost | StreamEnd::NothingLeft | StreamEnd::ShuttingDown) => {
                return None;
            }
        };
        let text = text(frame)
            .map(Bytes::from)
            .map_err(|error| broken(&error.to_string()));
        Some((text, stream))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let body = Body::from_stream(futures_util::StreamExt::chain(preamble, frames));
    (headers, body).into_response()
}

/// An error that cuts the connection, so that the client comes again.
fn broken(why: &str) -> std::io::Error {
    std::io::Error::other(why.to_owned())
}

fn text(frame: Frame) -> Result<String, serde_json::Error> {
    if let Frame::Heartbeat = frame {
        return Ok(": keepalive\n\n".to_owned());
    }
    let is_position = matches!(frame, Frame::Position(_));
    let frame = encode(frame)?;
    let mut text = String::with_capacity(frame.data.len() + 64);
    // Writing to a String cannot fail.
    if let Some(id) = frame.id {
        let _ = writeln!(text, "id: {id}");
    }
    if !is_position {
        let _ = writeln!(text, "event: {}\ndata: {}", frame.name, frame.data);
    }
    text.push('\n');
    Ok(text)
}
