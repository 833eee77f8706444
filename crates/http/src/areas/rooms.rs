//! Rooms: the listing, making and changing them.

use axum::{extract::State, http::StatusCode};
use guildhall_domain::{
    callers::{AnyCaller, Owner},
    ids::RoomId,
    revisions::Revised,
    rooms::RoomKind,
};
use guildhall_hall::{
    Hall,
    rooms::{CreatedRoom, RoomsQuery},
};
use guildhall_wire::{
    errors::ErrorEnvelope,
    rooms::{CreateRoom, RoomDetail, Rooms, UpdateRoom},
};

use crate::{
    body::Body,
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    openapi::parameters::RoomKindWord,
    path_ids::Path,
    preconditions::IfMatch,
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, RevisedResponse},
};

/// Which rooms are listed.
pub struct ListRooms(RoomsQuery);

impl FromQuery for ListRooms {
    /// `includeArchived=null` reads as absent: the specification lets it be null.
    fn read(params: &mut Params) -> Self {
        let words = [
            (true, "true"),
            (true, "1"),
            (false, "false"),
            (false, "0"),
            (false, "null"),
        ];
        Self(RoomsQuery {
            kind: params.word("kind", &RoomKind::WORDS),
            include_archived: params.word("includeArchived", &words).unwrap_or(false),
        })
    }
}

/// Lists the rooms visible to the caller, newest activity first.
///
/// A person sees every room, an agent the rooms it belongs to.
#[utoipa::path(get, path = "/api/rooms", tag = "rooms", operation_id = "listRooms",
    params(
        ("kind" = inline(Option<RoomKindWord>), Query, description = "Only rooms of this kind"),
        ("includeArchived" = Option<bool>, Query, description = "`true`, `false`, `1`, `0` or `null`; false"),
    ),
    responses((status = 200, body = Rooms),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 401, description = "AGENT_IDENTITY_UNVERIFIED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Query(ListRooms(ask)): Query<ListRooms>,
) -> ApiResult<ReadResponse<Rooms>> {
    let seen = hall.rooms(&by, ask).await?;
    Ok(ReadResponse(seen.map(|rooms| Rooms {
        rooms: rooms.into_iter().map(Into::into).collect(),
        warnings: Vec::new(),
    })))
}

/// Makes a channel or a direct message; one with exactly these members is found again.
#[utoipa::path(post, path = "/api/rooms", tag = "rooms", operation_id = "makeRoom",
    request_body = CreateRoom,
    responses((status = 201, body = RoomDetail),
        (status = 200, description = "The direct message existed", body = RoomDetail),
        (status = 400, description = "VALIDATION_FAILED, INVALID_SLUG", body = ErrorEnvelope),
        (status = 404, description = "AUTHOR_NOT_FOUND, AGENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "SLUG_TAKEN, OWNER_MUST_BE_PRESENT, AUTHOR_RETIRED, LIMIT_REACHED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn make(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    IdempotentBody { ask, repeat }: IdempotentBody<CreateRoom>,
) -> ApiResult<RevisedResponse<RoomDetail>> {
    let once = repeat
        .answered_by(|made: &CreatedRoom| (status(made), RoomDetail::from(made.room.clone())));
    let made = hall.make_room(&by, ask.into(), once).await?;
    let status = status(&made);
    Ok(RevisedResponse::changed(made.room.rev, made.room).with_status(status))
}

fn status(made: &CreatedRoom) -> StatusCode {
    if made.is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    }
}

/// One room with its members.
#[utoipa::path(get, path = "/api/rooms/{id}", tag = "rooms", operation_id = "getRoom",
    params(("id" = String, Path, description = "The room")),
    responses((status = 200, body = RoomDetail), (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(room): Path<RoomId>,
) -> ApiResult<RevisedResponse<RoomDetail>> {
    let seen = hall.room(&by, room).await?;
    Ok(seen
        .map(|value| Revised {
            rev: value.rev,
            value,
        })
        .into())
}

/// Changes a room's title, topic, archive state, fallback seat or limits.
#[utoipa::path(patch, path = "/api/rooms/{id}", tag = "rooms", operation_id = "changeRoom",
    params(("id" = String, Path, description = "The room")),
    request_body = UpdateRoom,
    responses((status = 200, body = RoomDetail),
        (status = 400, description = "VALIDATION_FAILED, INVALID_SLUG", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, MEMBER_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "SYSTEM_ROOM, SLUG_TAKEN, NOT_A_BRIDGED_ROOM", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn change(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(room): Path<RoomId>,
    IfMatch(precondition): IfMatch,
    Body(ask): Body<UpdateRoom>,
) -> ApiResult<RevisedResponse<RoomDetail>> {
    let room = hall
        .change_room(&by, room, precondition, ask.into())
        .await?;
    Ok(RevisedResponse::changed(room.rev, room))
}
