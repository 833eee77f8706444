//! Reactions.

use axum::{Json, extract::State};
use guildhall_domain::{
    callers::AnyCaller,
    ids::{EntryId, RoomId},
    reactions::Emoji,
};
use guildhall_hall::Hall;
use guildhall_wire::{errors::ErrorEnvelope, reactions::Reactions};

use crate::{errors::ApiResult, gates::By, path_ids::Path};

/// Reacts to an entry with an emoji; once is enough.
#[utoipa::path(put, path = "/api/rooms/{id}/entries/{entryId}/reactions/{emoji}", tag = "reactions", operation_id = "addReaction",
    params(
        ("id" = String, Path, description = "The room"),
        ("entryId" = String, Path, description = "The entry"),
        ("emoji" = String, Path, description = "One emoji sequence"),
    ),
    responses((status = 200, body = Reactions),
        (status = 400, description = "INVALID_EMOJI", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, ENTRY_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ROOM_ARCHIVED, NOT_A_MEMBER, TOO_MANY_REACTIONS", body = ErrorEnvelope),
        (status = 429, description = "REACTION_RATE_LIMITED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn add(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, entry, emoji)): Path<(RoomId, EntryId, String)>,
) -> ApiResult<Json<Reactions>> {
    let emoji = Emoji::parse(&emoji)?;
    Ok(Json(hall.react(&by, room, entry, emoji).await?.into()))
}

/// Takes a reaction of the caller back.
#[utoipa::path(delete, path = "/api/rooms/{id}/entries/{entryId}/reactions/{emoji}", tag = "reactions", operation_id = "removeReaction",
    params(
        ("id" = String, Path, description = "The room"),
        ("entryId" = String, Path, description = "The entry"),
        ("emoji" = String, Path, description = "One emoji sequence"),
    ),
    responses((status = 200, body = Reactions),
        (status = 400, description = "INVALID_EMOJI", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, ENTRY_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ROOM_ARCHIVED, NOT_A_MEMBER", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn remove(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, entry, emoji)): Path<(RoomId, EntryId, String)>,
) -> ApiResult<Json<Reactions>> {
    let emoji = Emoji::parse(&emoji)?;
    Ok(Json(hall.unreact(&by, room, entry, emoji).await?.into()))
}
