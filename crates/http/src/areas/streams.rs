//! Streams: the same frames as server-sent events and over a WebSocket.
//! Every refusal comes before the stream begins, a WebSocket's before its upgrade.

mod frame_encoding;
mod sse;
mod websocket;

use axum::{
    extract::{FromRequestParts, State, WebSocketUpgrade},
    http::{HeaderMap, HeaderName, HeaderValue, Request, header, request::Parts},
    response::{IntoResponse, Response},
};
use guildhall_domain::{
    Refusal,
    callers::{AnyCaller, Gate, OwnerHere},
    events::EventScope,
    ids::RoomId,
    limits,
};
use guildhall_hall::{
    Hall,
    streams::{Cursor, Stream, StreamRequest, Subject},
};
use guildhall_wire::{errors::ErrorEnvelope, events::EventFrame};

use crate::{
    errors::{ApiError, ApiResult},
    gates::{By, is_here},
    path_ids::{Path, SessionPath},
    query::{FromQuery, Params, Query},
};

/// The header a browser resumes with.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Where a stream goes on from.
pub struct ResumeQuery {
    after: Option<u64>,
    log: Option<String>,
}

impl FromQuery for ResumeQuery {
    fn read(params: &mut Params) -> Self {
        Self {
            after: params.number("after"),
            log: params.text("log"),
        }
    }
}

/// What a stream of the whole installation is about.
pub struct StreamQuery {
    subject: Subject,
    position: ResumeQuery,
}

impl FromQuery for StreamQuery {
    fn read(params: &mut Params) -> Self {
        let position = ResumeQuery::read(params);
        Self {
            subject: subject(params),
            position,
        }
    }
}

/// The scopes named, each once; whether the caller may see them is asked later, in this order.
fn subject(params: &mut Params) -> Subject {
    let mut texts = params.texts("scope");
    texts.retain(|text| !text.is_empty());
    if texts.len() > limits::STREAM_SCOPES_MAX {
        params.fail::<()>("scope", &format!("at most {}", limits::STREAM_SCOPES_MAX));
    }
    let mut is_everything = texts.is_empty();
    let mut scopes = Vec::new();
    for text in &texts {
        match EventScope::parse(text) {
            Some(scope) if !scopes.contains(&scope) => scopes.push(scope),
            Some(_) => {}
            None if text == "*" => is_everything = true,
            None => {
                params.fail::<()>(
                    "scope",
                    "must be hall, room:<id>, agent:<id>, session:<id> or *",
                );
            }
        }
    }
    if is_everything {
        Subject::Everything
    } else {
        Subject::Scopes(scopes)
    }
}

/// How the client wants its frames.
pub struct StreamTransport {
    parts: Parts,
}

impl<S: Sync> FromRequestParts<S> for StreamTransport {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        // The connection's upgrade is an extension and can be taken once, so the parts move.
        let (mut own, ()) = Request::new(()).into_parts();
        std::mem::swap(&mut own, parts);
        Ok(Self { parts: own })
    }
}

impl StreamTransport {
    fn is_websocket(&self) -> bool {
        let headers = &self.parts.headers;
        headers
            .get(header::UPGRADE)
            .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
    }

    /// The gate of the local browser, for who passes it.
    fn here(&self, by: &AnyCaller) -> Option<OwnerHere> {
        OwnerHere::admit(*by.caller(), is_here(&self.parts)).ok()
    }

    /// Where the client left off: `Last-EventFrame-ID` wins over `after`.
    fn cursor(&self, position: &ResumeQuery) -> Cursor {
        match (last_event_id(&self.parts.headers), position.after) {
            (Some(cursor), _) => cursor,
            (None, Some(seq)) => Cursor::At(seq),
            (None, None) => Cursor::None,
        }
    }

    async fn answer(
        mut self,
        stream: impl Future<Output = ApiResult<Stream>>,
    ) -> ApiResult<Response> {
        if !self.is_websocket() {
            return Ok(sse::answer(stream.await?));
        }
        let upgrade = WebSocketUpgrade::from_request_parts(&mut self.parts, &()).await;
        let upgrade = upgrade.map_err(|_| {
            let problem = "this is no WebSocket handshake of version 13";
            Refusal::field("upgrade", problem)
        })?;
        let stream = stream.await?;
        Ok(upgrade
            .on_upgrade(|socket| websocket::serve(socket, stream))
            .into_response())
    }
}

fn last_event_id(headers: &HeaderMap) -> Option<Cursor> {
    let text = headers
        .get(LAST_EVENT_ID)
        .map(HeaderValue::to_str)?
        .unwrap_or("?");
    if text.is_empty() {
        return None;
    }
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(seq) if is_decimal => Some(Cursor::At(seq)),
        _ => Some(Cursor::Unreadable),
    }
}

/// Streams what happens in the whole installation, as far as the caller may see it.
///
/// Server-sent events, or a WebSocket with `Upgrade: websocket`.
#[utoipa::path(get, path = "/api/events", tag = "streams", operation_id = "streamEvents",
    params(
        ("scope" = Option<Vec<String>>, Query, description = "`hall`, `room:<id>`, `agent:<id>`, `session:<id>`, at most 64; `*` and none: everything"),
        ("after" = Option<u64>, Query, description = "Go on behind this event"),
        ("log" = Option<String>, Query, description = "The log the position belongs to"),
        ("Last-Event-ID" = Option<String>, Header, description = "Go on behind this event; wins over `after`"),
    ),
    responses((status = 200, description = "Frames", body = EventFrame<'static>, content_type = "text/event-stream"),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, AGENT_NOT_FOUND, SESSION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn everything(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Query(watch): Query<StreamQuery>,
    wanted: StreamTransport,
) -> ApiResult<Response> {
    let cursor = wanted.cursor(&watch.position);
    let ask = StreamRequest {
        subject: watch.subject,
        cursor,
        log: watch.position.log,
        here: wanted.here(&by),
    };
    wanted
        .answer(async { Ok(hall.stream(&by, ask).await?) })
        .await
}

/// Streams what happens in one room; it begins with the room's snapshot.
///
/// Server-sent events, or a WebSocket with `Upgrade: websocket`.
#[utoipa::path(get, path = "/api/rooms/{id}/events", tag = "streams", operation_id = "streamRoomEvents",
    params(
        ("id" = String, Path, description = "The room"),
        ("after" = Option<u64>, Query, description = "Go on behind this event"),
        ("log" = Option<String>, Query, description = "The log the position belongs to"),
        ("Last-Event-ID" = Option<String>, Header, description = "Go on behind this event; wins over `after`"),
    ),
    responses((status = 200, description = "Frames", body = EventFrame<'static>, content_type = "text/event-stream"),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn of_room(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(room): Path<RoomId>,
    Query(position): Query<ResumeQuery>,
    wanted: StreamTransport,
) -> ApiResult<Response> {
    let cursor = wanted.cursor(&position);
    let ask = StreamRequest {
        subject: Subject::Room(room),
        cursor,
        log: position.log,
        here: None,
    };
    wanted
        .answer(async { Ok(hall.stream(&by, ask).await?) })
        .await
}

/// Streams what happens in one session; it begins with the session's snapshot.
///
/// Server-sent events, or a WebSocket with `Upgrade: websocket`.
#[utoipa::path(get, path = "/api/sessions/{id}/events", tag = "streams", operation_id = "streamSessionEvents",
    params(
        ("id" = String, Path, description = "The session"),
        ("after" = Option<u64>, Query, description = "Go on behind this event"),
        ("log" = Option<String>, Query, description = "The log the position belongs to"),
        ("Last-Event-ID" = Option<String>, Header, description = "Go on behind this event; wins over `after`"),
    ),
    responses((status = 200, description = "Frames", body = EventFrame<'static>, content_type = "text/event-stream"),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn of_session(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    SessionPath(session): SessionPath,
    Query(position): Query<ResumeQuery>,
    wanted: StreamTransport,
) -> ApiResult<Response> {
    let cursor = wanted.cursor(&position);
    let ask = StreamRequest {
        subject: Subject::Session(session),
        cursor,
        log: position.log,
        here: None,
    };
    wanted
        .answer(async { Ok(hall.stream(&by, ask).await?) })
        .await
}
