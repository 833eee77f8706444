//! Threads.

use axum::{extract::State, http::Uri, response::Response};
use guildhall_domain::{
    callers::{AnyCaller, Human},
    ids::{EntryId, RoomId},
    threads::ThreadQuery,
};
use guildhall_hall::Hall;
use guildhall_wire::{
    errors::ErrorEnvelope,
    threads::{Thread, Threads},
};

use crate::{
    errors::ApiResult,
    gates::By,
    openapi::parameters::PageLimit,
    page_cursor,
    path_ids::Path,
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, page_response, read_response},
};

/// Which replies of a thread are asked for.
pub struct GetThread(ThreadQuery);

impl FromQuery for GetThread {
    fn read(params: &mut Params) -> Self {
        Self(ThreadQuery {
            after: params.number("after").unwrap_or(0),
            limit: params.limit(),
        })
    }
}

/// From where on the caller's threads are asked for.
pub struct ListThreads {
    below: Option<u64>,
    limit: u32,
}

/// What a cursor of the caller's threads is bound to.
const LIST: &str = "threads";

impl FromQuery for ListThreads {
    fn read(params: &mut Params) -> Self {
        Self {
            below: params.place_after(LIST),
            limit: params.limit(),
        }
    }
}

/// An entry with a run of the replies to it, oldest first.
#[utoipa::path(get, path = "/api/rooms/{id}/threads/{rootEntryId}", tag = "threads", operation_id = "getThread",
    params(
        ("id" = String, Path, description = "The room"),
        ("rootEntryId" = String, Path, description = "The entry that is answered"),
        ("after" = Option<u64>, Query, description = "Only replies above this seq; 0"),
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
    ),
    responses((status = 200, body = Thread),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, ENTRY_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, root)): Path<(RoomId, EntryId)>,
    Query(GetThread(ask)): Query<GetThread>,
) -> ApiResult<ReadResponse<Thread>> {
    Ok(read_response(hall.thread(&by, room, root, ask).await?))
}

/// The threads the caller wrote in, newest activity first.
#[utoipa::path(get, path = "/api/rooms/threads", tag = "threads", operation_id = "listThreads",
    params(
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
    ),
    responses((status = 200, body = Threads),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<Human>,
    uri: Uri,
    Query(ask): Query<ListThreads>,
) -> ApiResult<Response> {
    let seen = hall.threads(&by, ask.below, ask.limit).await?;
    let last = seen.value.threads.last().filter(|_| seen.value.has_more);
    let next_cursor = last.map(|thread| page_cursor::write_place(thread.place, LIST));
    Ok(page_response(
        &uri,
        next_cursor,
        seen,
        |page, next_cursor| Threads {
            threads: page.threads.into_iter().map(Into::into).collect(),
            next_cursor,
        },
    ))
}
