//! Members of rooms.

use axum::{Json, extract::State, http::StatusCode};
use guildhall_domain::{
    callers::{AnyCaller, Human},
    ids::{AgentId, AuthorId, RoomId},
};
use guildhall_hall::{
    Hall,
    members::{AddedMember, AuthorOrAgent},
};
use guildhall_wire::{
    errors::ErrorEnvelope,
    members::{AddMember, Member, Members, UpdateMember},
};

use crate::{
    body::Body, errors::ApiResult, gates::By, idempotency::IdempotentBody, path_ids::Path,
    responses::ReadResponse,
};

/// Lists a room's members by joining.
#[utoipa::path(get, path = "/api/rooms/{id}/members", tag = "members", operation_id = "listMembers",
    params(("id" = String, Path, description = "The room")),
    responses((status = 200, body = Members), (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(room): Path<RoomId>,
) -> ApiResult<ReadResponse<Members>> {
    let seen = hall.members(&by, room).await?;
    Ok(ReadResponse(seen.map(|members| Members {
        members: members.into_iter().map(Into::into).collect(),
    })))
}

/// Makes an author or agent a member; who is one already stays as it is.
#[utoipa::path(post, path = "/api/rooms/{id}/members", tag = "members", operation_id = "addMember",
    params(("id" = String, Path, description = "The room")),
    request_body = AddMember,
    responses((status = 201, body = Member),
        (status = 200, description = "A member already", body = Member),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, AUTHOR_NOT_FOUND, AGENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "AUTHOR_RETIRED, OWNER_MUST_BE_PRESENT, LIMIT_REACHED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn add(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path(room): Path<RoomId>,
    IdempotentBody { ask, repeat }: IdempotentBody<AddMember>,
) -> ApiResult<(StatusCode, Json<Member>)> {
    let named = match (&ask.author_id, &ask.agent_id) {
        (Some(author), _) => AuthorOrAgent::Author(AuthorId::named(author)),
        (None, agent) => AuthorOrAgent::Agent(AgentId::named(agent.as_deref().unwrap_or_default())),
    };
    let once = repeat.answered_by(|joined: &AddedMember| answer(joined.clone()));
    let joined = hall
        .add_member(&by, room, named, ask.response_mode.map(Into::into), once)
        .await?;
    let (status, member) = answer(joined);
    Ok((status, Json(member)))
}

fn answer(joined: AddedMember) -> (StatusCode, Member) {
    let status = if joined.is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    (status, joined.member.into())
}

/// Sets when a member answers.
#[utoipa::path(patch, path = "/api/rooms/{id}/members/{authorId}", tag = "members", operation_id = "changeMember",
    params(("id" = String, Path, description = "The room"), ("authorId" = String, Path, description = "The member")),
    request_body = UpdateMember,
    responses((status = 200, body = Member),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, MEMBER_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn change(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path((room, author)): Path<(RoomId, AuthorId)>,
    Body(ask): Body<UpdateMember>,
) -> ApiResult<Json<Member>> {
    Ok(Json(
        hall.change_member(&by, room, author, ask.response_mode.into())
            .await?
            .into(),
    ))
}

/// Ends a membership.
#[utoipa::path(delete, path = "/api/rooms/{id}/members/{authorId}", tag = "members", operation_id = "removeMember",
    params(("id" = String, Path, description = "The room"), ("authorId" = String, Path, description = "The member")),
    responses((status = 204),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, MEMBER_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "SYSTEM_ROOM, OWNER_MUST_BE_PRESENT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn remove(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path((room, author)): Path<(RoomId, AuthorId)>,
) -> ApiResult<StatusCode> {
    hall.remove_member(&by, room, author).await?;
    Ok(StatusCode::NO_CONTENT)
}
