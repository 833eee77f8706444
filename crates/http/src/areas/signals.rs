//! Signals: typing and viewing.

use axum::{extract::State, http::StatusCode};
use guildhall_domain::{callers::AnyCaller, ids::RoomId};
use guildhall_hall::Hall;
use guildhall_wire::{errors::ErrorEnvelope, signals::SendSignal};

use crate::{body::Body, errors::ApiResult, gates::By, path_ids::Path};

/// Tells the room's listeners that the caller types or looks on; nothing is stored.
#[utoipa::path(post, path = "/api/rooms/{id}/signals", tag = "signals", operation_id = "sendSignal",
    params(("id" = String, Path, description = "The room")),
    request_body = SendSignal,
    responses((status = 204),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_A_MEMBER", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn send(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(room): Path<RoomId>,
    Body(ask): Body<SendSignal>,
) -> ApiResult<StatusCode> {
    hall.signal(&by, room, ask.kind.into(), ask.on, ask.document_id)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
