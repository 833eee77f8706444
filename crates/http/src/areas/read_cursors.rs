//! Read cursors.

use axum::{Json, extract::State};
use guildhall_domain::{callers::Human, ids::RoomId};
use guildhall_hall::Hall;
use guildhall_wire::{
    errors::ErrorEnvelope,
    read_cursors::{MoveReadCursor, ReadCursor},
};

use crate::{
    body::Body,
    errors::ApiResult,
    gates::By,
    path_ids::Path,
    responses::{ReadResponse, read_response},
};

/// How far the caller has read a room.
#[utoipa::path(get, path = "/api/rooms/{id}/read-cursor", tag = "read cursors", operation_id = "getReadCursor",
    params(("id" = String, Path, description = "The room")),
    responses((status = 200, body = ReadCursor),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_A_MEMBER", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path(room): Path<RoomId>,
) -> ApiResult<ReadResponse<ReadCursor>> {
    Ok(read_response(hall.read_cursor(&by, room).await?))
}

/// Moves the caller's read cursor: forward, or back too with `allowBack`.
#[utoipa::path(put, path = "/api/rooms/{id}/read-cursor", tag = "read cursors", operation_id = "moveReadCursor",
    params(("id" = String, Path, description = "The room")),
    request_body = MoveReadCursor,
    responses((status = 200, body = ReadCursor),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_A_MEMBER", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn set(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path(room): Path<RoomId>,
    Body(ask): Body<MoveReadCursor>,
) -> ApiResult<Json<ReadCursor>> {
    let allow_back = ask.allow_back.unwrap_or(false);
    Ok(Json(
        hall.move_read_cursor(&by, room, ask.last_read_seq, allow_back)
            .await?
            .into(),
    ))
}
