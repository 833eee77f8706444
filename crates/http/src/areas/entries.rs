//! Entries of rooms.

use axum::{Json, extract::State, http::StatusCode};
use guildhall_domain::{
    callers::{AnyCaller, Human},
    entries::{self, EntriesQuery, PostDraft, PostText},
    ids::{AttachmentId, EntryId, RoomId},
};
use guildhall_hall::Hall;
use guildhall_wire::{
    entries::{Entries, Entry, PostEntry, PostedEntry},
    errors::ErrorEnvelope,
};

use crate::{
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    openapi::parameters::PageLimit,
    path_ids::Path,
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, read_response},
};

/// Which run of entries is asked for.
pub struct ListEntries(EntriesQuery);

impl FromQuery for ListEntries {
    fn read(params: &mut Params) -> Self {
        Self(EntriesQuery {
            before: params.number("before"),
            after: params.number("after"),
            limit: params.limit(),
        })
    }
}

/// Writes a post; names behind `@` are resolved now and for good, and each agent of the room is
/// considered for a turn.
#[utoipa::path(post, path = "/api/rooms/{id}/entries", tag = "entries", operation_id = "postEntry",
    params(("id" = String, Path, description = "The room")),
    request_body = PostEntry,
    responses((status = 201, body = PostedEntry),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, ENTRY_NOT_FOUND, ATTACHMENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ROOM_ARCHIVED, NOT_A_MEMBER, NESTED_THREAD, ATTACHMENT_ALREADY_POSTED, TURN_WAS_STOPPED", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_POSTS_THIS_TURN", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn post(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(room): Path<RoomId>,
    IdempotentBody { ask, repeat }: IdempotentBody<PostEntry>,
) -> ApiResult<(StatusCode, Json<PostedEntry>)> {
    let files = ask.attachment_ids.unwrap_or_default();
    let posting = PostDraft {
        text: PostText::parse(ask.text, &files)?,
        thread_root: ask.thread_root_entry_id.map(|root| EntryId::named(&root)),
        files: files.iter().map(|id| AttachmentId::named(id)).collect(),
    };
    let once = repeat.answered_by(|outcome: &entries::PostedEntry| posted(outcome.clone()));
    let (status, answer) = posted(hall.post(&by, room, posting, once).await?);
    Ok((status, Json(answer)))
}

fn posted(outcome: entries::PostedEntry) -> (StatusCode, PostedEntry) {
    (StatusCode::CREATED, outcome.into())
}

/// Reads a run of a room's entries, oldest first; without a position the newest.
#[utoipa::path(get, path = "/api/rooms/{id}/entries", tag = "entries", operation_id = "listEntries",
    params(
        ("id" = String, Path, description = "The room"),
        ("before" = Option<u64>, Query, description = "Only entries below this seq, the newest of them"),
        ("after" = Option<u64>, Query, description = "Only entries above this seq, the oldest of them"),
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
    ),
    responses((status = 200, body = Entries),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(room): Path<RoomId>,
    Query(ListEntries(ask)): Query<ListEntries>,
) -> ApiResult<ReadResponse<Entries>> {
    Ok(read_response(hall.entries(&by, room, ask).await?))
}

/// One entry of a room.
#[utoipa::path(get, path = "/api/rooms/{id}/entries/{entryId}", tag = "entries", operation_id = "getEntry",
    params(("id" = String, Path, description = "The room"), ("entryId" = String, Path, description = "The entry")),
    responses((status = 200, body = Entry), (status = 404, description = "ROOM_NOT_FOUND, ENTRY_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, entry)): Path<(RoomId, EntryId)>,
) -> ApiResult<ReadResponse<Entry>> {
    Ok(read_response(hall.entry(&by, room, entry).await?))
}

/// Takes an entry's text out for good: one's own, the owner everybody's.
///
/// Its place, its author, whom it named, its thread and its reactions stay.
#[utoipa::path(delete, path = "/api/rooms/{id}/entries/{entryId}", tag = "entries", operation_id = "redactEntry",
    params(("id" = String, Path, description = "The room"), ("entryId" = String, Path, description = "The entry")),
    responses((status = 200, body = Entry),
        (status = 403, description = "HUMANS_ONLY, OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, ENTRY_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn redact(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path((room, entry)): Path<(RoomId, EntryId)>,
) -> ApiResult<Json<Entry>> {
    Ok(Json(hall.redact(&by, room, entry).await?.into()))
}
