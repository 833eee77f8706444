//! Turns of rooms' agents: the ledger, running a turn, and stopping all.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};
use guildhall_domain::{
    callers::{AnyCaller, Human},
    ids::{AuthorId, EntryId, RoomId, TurnId},
    turns::{self, TurnCursor, TurnState, TurnsQuery},
};
use guildhall_hall::Hall;
use guildhall_wire::{
    errors::ErrorEnvelope,
    turns::{HaltTurns, HaltedTurns, RunTurn, Turn, Turns},
};

use crate::{
    errors::ApiResult,
    gates::By,
    idempotency::{IdempotentBody, IdempotentRequest},
    openapi::parameters::{PageLimit, TurnStateWord},
    page_cursor,
    path_ids::Path,
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, page_response, read_response},
};

/// Which turns of a room are asked for.
pub struct ListTurns {
    ask: TurnsQuery,
    filters: Filters,
}

/// What a cursor of the ledger is bound to.
type Filters = (&'static str, Option<String>, Option<String>, Option<String>);

impl FromQuery for ListTurns {
    fn read(params: &mut Params) -> Self {
        let (entry, agent) = (params.text("entryId"), params.text("agentAuthorId"));
        let state = params.word("state", &TurnState::WORDS);
        let filters = ("turns", entry.clone(), agent.clone(), params.text("state"));
        let ask = TurnsQuery {
            entry: entry.map(|id| EntryId::named(&id)),
            agent: agent.map(|id| AuthorId::named(&id)),
            state,
            below: params.after(&filters).map(TurnCursor::from_bytes),
            limit: params.limit(),
        };
        Self { ask, filters }
    }
}

/// A run of the room's ledger, newest first: every agent considered for a post, and which rule
/// decided what became of it.
///
/// Agents that a post did not mean are shown for the newest 200 posts, by the members of now.
#[utoipa::path(get, path = "/api/rooms/{id}/turns", tag = "turns", operation_id = "listTurns",
    params(
        ("id" = String, Path, description = "The room"),
        ("entryId" = Option<String>, Query, description = "Only those that answer this post"),
        ("agentAuthorId" = Option<String>, Query, description = "Only this agent's"),
        ("state" = inline(Option<TurnStateWord>), Query, description = "Only in this state"),
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
    ),
    responses((status = 200, body = Turns),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(room): Path<RoomId>,
    uri: Uri,
    Query(ListTurns { ask, filters }): Query<ListTurns>,
) -> ApiResult<Response> {
    let seen = hall.turns(&by, room, ask).await?;
    let next = seen.value.next;
    let next_cursor = next.map(|place| page_cursor::write(&place.to_bytes(), &filters));
    Ok(page_response(&uri, next_cursor, seen, Turns::of))
}

/// One turn.
#[utoipa::path(get, path = "/api/rooms/{id}/turns/{turnId}", tag = "turns", operation_id = "getTurn",
    params(("id" = String, Path, description = "The room"), ("turnId" = String, Path, description = "The turn")),
    responses((status = 200, body = Turn),
        (status = 404, description = "ROOM_NOT_FOUND, TURN_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, turn)): Path<(RoomId, TurnId)>,
) -> ApiResult<ReadResponse<Turn>> {
    Ok(read_response(hall.turn(&by, room, turn).await?))
}

/// Has a refused or held turn run now; depth, repetition and a busy agent do not hinder it, the
/// hourly budgets do.
#[utoipa::path(post, path = "/api/rooms/{id}/turns/{turnId}/run", tag = "turns", operation_id = "runTurn",
    params(("id" = String, Path, description = "The room"), ("turnId" = String, Path, description = "The turn")),
    responses((status = 202, body = Turn),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, TURN_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "TURN_NOT_RUNNABLE, ROOM_ARCHIVED", body = ErrorEnvelope),
        (status = 429, description = "TURN_BUDGET_REACHED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn run(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path((room, turn)): Path<(RoomId, TurnId)>,
    IdempotentBody { repeat, .. }: IdempotentBody<RunTurn>,
) -> ApiResult<(StatusCode, Json<Turn>)> {
    let once = repeat.answered_by(|turn: &turns::Turn| accepted(turn.clone()));
    let (status, turn) = accepted(hall.run_turn(&by, room, turn, once).await?);
    Ok((status, Json(turn)))
}

fn accepted(turn: turns::Turn) -> (StatusCode, Turn) {
    (StatusCode::ACCEPTED, turn.into())
}

/// Stops every turn of the room that runs, waits or has yet to start; what they write later is
/// not taken.
#[utoipa::path(post, path = "/api/rooms/{id}/halt", tag = "turns", operation_id = "haltRoom",
    params(("id" = String, Path, description = "The room")),
    responses((status = 200, body = HaltedTurns),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn halt_room(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path(room): Path<RoomId>,
    IdempotentBody { repeat, .. }: IdempotentBody<HaltTurns>,
) -> ApiResult<Json<HaltedTurns>> {
    halt(&hall, &by, room, None, repeat).await
}

/// Stops every turn of one agent in the room.
#[utoipa::path(post, path = "/api/rooms/{id}/halt/{authorId}", tag = "turns", operation_id = "haltAgent",
    params(("id" = String, Path, description = "The room"), ("authorId" = String, Path, description = "The agent's author")),
    responses((status = 200, body = HaltedTurns),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, MEMBER_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn halt_agent(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path((room, agent)): Path<(RoomId, AuthorId)>,
    IdempotentBody { repeat, .. }: IdempotentBody<HaltTurns>,
) -> ApiResult<Json<HaltedTurns>> {
    halt(&hall, &by, room, Some(agent), repeat).await
}

async fn halt(
    hall: &Hall,
    by: &Human,
    room: RoomId,
    agent: Option<AuthorId>,
    repeat: IdempotentRequest,
) -> ApiResult<Json<HaltedTurns>> {
    let once =
        repeat.answered_by(|stopped: &u64| (StatusCode::OK, HaltedTurns { stopped: *stopped }));
    let stopped = hall.halt(by, room, agent, once).await?;
    Ok(Json(HaltedTurns { stopped }))
}
