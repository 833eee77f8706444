//! Export of a room.

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use guildhall_domain::{callers::Human, ids::RoomId, rooms::RoomKind};
use guildhall_hall::{Hall, export::Export};
use guildhall_wire::{errors::ErrorEnvelope, export};

use crate::{errors::ApiResult, gates::By, path_ids::Path};

/// A whole room as lines of JSON: the room, its entries by seq, its documents, a summary with the
/// digest of all earlier bytes.
#[utoipa::path(get, path = "/api/rooms/{id}/export", tag = "rooms", operation_id = "exportRoom",
    params(("id" = String, Path, description = "The room")),
    responses((status = 200, description = "One JSON object a line", body = String, content_type = "application/x-ndjson"),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope),
        (status = 503, description = "OVERLOADED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn room(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path(room): Path<RoomId>,
) -> ApiResult<Response> {
    let export = hall.export(&by, room, export::write).await?;
    let disposition = format!("attachment; filename=\"{}\"", file_name(&export));
    let chunks = stream::unfold(export, |mut export| async move {
        let chunk = export.next().await?.map(Bytes::from).map_err(|error| {
            tracing::warn!(?error, "an export ended early");
            std::io::Error::other("the export ended early")
        });
        Some((chunk, export))
    });
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/x-ndjson"),
        ),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::try_from(disposition).unwrap_or(HeaderValue::from_static("attachment")),
        ),
    ];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

/// Such as `guildhall-team-2026-11-21.jsonl`.
fn file_name(export: &Export) -> String {
    let room = match export.room.kind {
        RoomKind::Channel => export.room.slug.as_str(),
        RoomKind::Dm => "direct-message",
    };
    let when = export.exported_at.to_string();
    let day = when.split('T').next().unwrap_or_default();
    format!("guildhall-{room}-{day}.jsonl")
}
