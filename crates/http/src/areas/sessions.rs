//! Sessions.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};
use guildhall_domain::{
    Timestamp,
    callers::{AnyCaller, Human},
    ids::{AgentId, RoomId, SessionId},
    sessions::SessionState,
};
use guildhall_hall::{
    Hall,
    sessions::{CreatedSession, SessionFilter, SessionSource, SessionsCursor},
};
use guildhall_wire::{
    errors::ErrorEnvelope,
    sessions::{
        CancelTurn, CancelledTurn, OpenSession, RoomSessions, Session, Sessions, UpdateSession,
    },
};
use sha2::{Digest, Sha256};

use crate::{
    body::Body,
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    openapi::parameters::{PageLimit, SessionStateWord, SourceWord},
    page_cursor,
    path_ids::{Path, SessionPath},
    preconditions::IfMatch,
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, RevisedResponse, page_response, read_response},
};

/// Which sessions are asked for.
pub struct ListSessions {
    filter: SessionFilter,
    source: SessionSource,
    place: Option<SessionsCursor>,
    limit: u32,
}

impl FromQuery for ListSessions {
    fn read(params: &mut Params) -> Self {
        let agent = params.text("agentId").map(|id| AgentId::named(&id));
        let filter = SessionFilter {
            state: params.word("state", &SessionState::WORDS),
            agent,
            cwd: params.text("cwd"),
        };
        let source = params
            .word("source", &SessionSource::WORDS)
            .unwrap_or_default();
        let place = params.text("cursor").and_then(|cursor| {
            let place = read_place(&cursor, &list_of(&filter, source));
            place.or_else(|| params.fail("cursor", "does not belong to this list"))
        });
        Self {
            place,
            limit: params.limit(),
            filter,
            source,
        }
    }
}

/// What a cursor of sessions is bound to.
fn list_of(filter: &SessionFilter, source: SessionSource) -> String {
    let SessionFilter { state, agent, cwd } = filter;
    format!("sessions {source:?} {state:?} {agent:?} {cwd:?}")
}

/// A place is a moment and an id, and so is its cursor.
fn write_place((at, id): SessionsCursor, list: &str) -> String {
    let at = page_cursor::write_place(at.as_millis().unsigned_abs(), list);
    format!("{at}.{}", page_cursor::write(id.as_bytes(), list))
}

fn read_place(cursor: &str, list: &str) -> Option<SessionsCursor> {
    let (at, id) = cursor.split_once('.')?;
    let at = i64::try_from(page_cursor::read_place(at, list)?).ok()?;
    let id = SessionId::from_bytes(page_cursor::read(id, list)?);
    Some((Timestamp::from_millis(at), id))
}

/// Opens a session with an agent, or with the agent of a folder.
#[utoipa::path(post, path = "/api/sessions", tag = "sessions", operation_id = "openSession",
    request_body = OpenSession,
    responses((status = 201, body = Session),
        (status = 200, description = "This id was opened with the same body before", body = Session),
        (status = 400, description = "VALIDATION_FAILED, UNKNOWN_RUNTIME, UNSUPPORTED_PERMISSION_MODE, INVALID_PATH, NOT_A_DIRECTORY", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY, OWNER_ONLY, OUTSIDE_BOUNDARY, PERMISSION_DENIED, INTERACTIVE_ONLY, AGENT_CANNOT_DECIDE", body = ErrorEnvelope),
        (status = 404, description = "NOT_FOUND: no such folder; AGENT_NOT_FOUND, SESSION_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "SESSION_EXISTS, AGENT_RETIRED, RUNTIME_CANNOT_RESUME", body = ErrorEnvelope),
        (status = 428, description = "AUTONOMY_NOT_ACKNOWLEDGED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn open(
    State(hall): State<Hall>,
    By(by): By<Human>,
    IdempotentBody { ask, repeat }: IdempotentBody<OpenSession>,
) -> ApiResult<RevisedResponse<Session>> {
    let body = serde_json::to_vec(&ask).unwrap_or_default();
    let once = repeat.answered_by(|opened: &CreatedSession| {
        let session = opened.session.value.clone();
        (status_of(opened), Session::from(session))
    });
    let fingerprint = Sha256::digest(&body).into();
    let opened = hall
        .open_session(&by, ask.into(), fingerprint, once)
        .await?;
    let status = status_of(&opened);
    Ok(RevisedResponse::from(opened.session).with_status(status))
}

fn status_of(opened: &CreatedSession) -> StatusCode {
    if opened.was_there {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    }
}

/// Lists the sessions, the newest change first; an agent sees its own.
#[utoipa::path(get, path = "/api/sessions", tag = "sessions", operation_id = "listSessions",
    params(
        ("state" = inline(Option<SessionStateWord>), Query, description = "Only in this state"),
        ("agentId" = Option<String>, Query, description = "Of this agent"),
        ("cwd" = Option<String>, Query, description = "In this folder"),
        ("source" = inline(Option<SourceWord>), Query, description = "`terminal` for those of the agents' own command lines; `guildhall`"),
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
    ),
    responses((status = 200, body = Sessions),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    uri: Uri,
    Query(ask): Query<ListSessions>,
) -> ApiResult<Response> {
    let list = list_of(&ask.filter, ask.source);
    let seen = hall
        .sessions(&by, ask.filter, ask.source, ask.place, ask.limit)
        .await?;
    let last = seen.value.sessions.last().filter(|_| seen.value.has_more);
    let next_cursor = last.map(|last| write_place((last.updated_at, last.id), &list));
    Ok(page_response(
        &uri,
        next_cursor,
        seen,
        |page, next_cursor| Sessions {
            sessions: page.sessions.into_iter().map(Into::into).collect(),
            next_cursor,
            warnings: page.warnings,
        },
    ))
}

/// One session.
#[utoipa::path(get, path = "/api/sessions/{id}", tag = "sessions", operation_id = "getSession",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, body = Session),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    SessionPath(session): SessionPath,
) -> ApiResult<RevisedResponse<Session>> {
    Ok(hall.session(&by, session).await?.into())
}

/// Changes a session; a new mode counts at once.
#[utoipa::path(patch, path = "/api/sessions/{id}", tag = "sessions", operation_id = "changeSession",
    params(("id" = String, Path, description = "The session")),
    request_body = UpdateSession,
    responses((status = 200, body = Session),
        (status = 400, description = "VALIDATION_FAILED, UNKNOWN_RUNTIME, UNSUPPORTED_PERMISSION_MODE", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY, INTERACTIVE_ONLY, AGENT_CANNOT_DECIDE", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "SESSION_CLOSED, SESSION_READ_ONLY", body = ErrorEnvelope),
        (status = 428, description = "AUTONOMY_NOT_ACKNOWLEDGED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn change(
    State(hall): State<Hall>,
    By(by): By<Human>,
    SessionPath(session): SessionPath,
    IfMatch(precondition): IfMatch,
    Body(ask): Body<UpdateSession>,
) -> ApiResult<RevisedResponse<Session>> {
    let changed = hall
        .change_session(&by, session, precondition, ask.into())
        .await?;
    Ok(changed.into())
}

/// Closes a session: its turn is stopped, its queue and asks go.
#[utoipa::path(delete, path = "/api/sessions/{id}", tag = "sessions", operation_id = "closeSession",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, body = Session),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "SESSION_READ_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn close(
    State(hall): State<Hall>,
    By(by): By<Human>,
    SessionPath(session): SessionPath,
    IfMatch(precondition): IfMatch,
) -> ApiResult<RevisedResponse<Session>> {
    let closed = hall.close_session(&by, session, precondition).await?;
    Ok(closed.into())
}

/// The sessions in which the turns of a room run, one for each agent that had one.
#[utoipa::path(get, path = "/api/rooms/{id}/sessions", tag = "sessions", operation_id = "listRoomSessions",
    params(("id" = String, Path, description = "The room")),
    responses((status = 200, body = RoomSessions),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn of_room(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path(room): Path<RoomId>,
) -> ApiResult<ReadResponse<RoomSessions>> {
    Ok(read_response(hall.room_sessions(&by, room).await?))
}

/// Stops the turn of a session.
#[utoipa::path(post, path = "/api/sessions/{id}/cancel", tag = "sessions", operation_id = "cancelTurn",
    params(("id" = String, Path, description = "The session")),
    request_body = CancelTurn,
    responses((status = 200, body = CancelledTurn),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn cancel(
    State(hall): State<Hall>,
    By(by): By<Human>,
    SessionPath(session): SessionPath,
    IdempotentBody { ask, repeat }: IdempotentBody<CancelTurn>,
) -> ApiResult<Json<CancelledTurn>> {
    let keep_queue = ask.keep_queue.unwrap_or(false);
    let once = repeat.answered_by(|outcome: &(bool, u32)| (StatusCode::OK, cancelled(*outcome)));
    let outcome = hall.cancel_turn(&by, session, keep_queue, once).await?;
    Ok(Json(cancelled(outcome)))
}

fn cancelled((ok, cancelled_queued): (bool, u32)) -> CancelledTurn {
    CancelledTurn {
        ok,
        cancelled_queued,
    }
}
