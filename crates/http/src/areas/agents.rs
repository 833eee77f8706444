//! The registry of agents.

use axum::{extract::State, http::StatusCode};
use guildhall_domain::{
    agents,
    callers::{AnyCaller, Owner},
    ids::AgentId,
};
use guildhall_hall::Hall;
use guildhall_wire::{
    agents::{Agent, Agents, RegisterAgent, UpdateAgent},
    errors::ErrorEnvelope,
};

use crate::{
    body::Body,
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    path_ids::Path,
    preconditions::IfMatch,
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, RevisedResponse},
};

/// Whether retired agents are listed.
pub struct ListAgents {
    include_retired: bool,
}

impl FromQuery for ListAgents {
    fn read(params: &mut Params) -> Self {
        Self {
            include_retired: params.flag("includeRetired").unwrap_or(false),
        }
    }
}

/// Lists the agents; an agent sees its own row.
#[utoipa::path(get, path = "/api/agents", tag = "agents", operation_id = "listAgents",
    params(("includeRetired" = Option<bool>, Query, description = "Retired agents too; false")),
    responses((status = 200, body = Agents), (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Query(query): Query<ListAgents>,
) -> ApiResult<ReadResponse<Agents>> {
    let seen = hall.agents(&by, query.include_retired).await?;
    Ok(ReadResponse(seen.map(|registered| Agents {
        agents: registered.agents.into_iter().map(Into::into).collect(),
        warnings: registered.warnings,
    })))
}

/// Registers an agent in a folder; its author gets a handle and a seat in `team`.
#[utoipa::path(post, path = "/api/agents", tag = "agents", operation_id = "registerAgent",
    request_body = RegisterAgent,
    responses((status = 201, body = Agent),
        (status = 400, description = "VALIDATION_FAILED, UNKNOWN_RUNTIME, UNSUPPORTED_PERMISSION_MODE, INVALID_PATH, NOT_A_DIRECTORY", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, OUTSIDE_BOUNDARY, PERMISSION_DENIED, INTERACTIVE_ONLY, AGENT_CANNOT_DECIDE", body = ErrorEnvelope),
        (status = 404, description = "NOT_FOUND: no such folder", body = ErrorEnvelope),
        (status = 409, description = "AGENT_EXISTS", body = ErrorEnvelope),
        (status = 428, description = "AUTONOMY_NOT_ACKNOWLEDGED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn register(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    IdempotentBody { ask, repeat }: IdempotentBody<RegisterAgent>,
) -> ApiResult<RevisedResponse<Agent>> {
    let once = repeat
        .answered_by(|agent: &agents::Agent| (StatusCode::CREATED, Agent::from(agent.clone())));
    let agent = hall.register_agent(&by, ask.into(), once).await?;
    Ok(RevisedResponse::changed(1, agent).with_status(StatusCode::CREATED))
}

/// One agent.
#[utoipa::path(get, path = "/api/agents/{id}", tag = "agents", operation_id = "getAgent",
    params(("id" = String, Path, description = "The agent")),
    responses((status = 200, body = Agent), (status = 404, description = "AGENT_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(agent): Path<AgentId>,
) -> ApiResult<RevisedResponse<Agent>> {
    Ok(hall.agent_of_registry(&by, agent).await?.into())
}

/// Changes an agent.
#[utoipa::path(patch, path = "/api/agents/{id}", tag = "agents", operation_id = "changeAgent",
    params(("id" = String, Path, description = "The agent")),
    request_body = UpdateAgent,
    responses((status = 200, body = Agent),
        (status = 400, description = "VALIDATION_FAILED, UNKNOWN_RUNTIME, UNSUPPORTED_PERMISSION_MODE", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY, AGENT_CANNOT_DECIDE", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "AGENT_RETIRED", body = ErrorEnvelope),
        (status = 428, description = "AUTONOMY_NOT_ACKNOWLEDGED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn change(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(agent): Path<AgentId>,
    IfMatch(precondition): IfMatch,
    Body(ask): Body<UpdateAgent>,
) -> ApiResult<RevisedResponse<Agent>> {
    let agent = hall
        .change_agent(&by, agent, precondition, ask.into())
        .await?;
    Ok(agent.into())
}

/// Takes an agent off the registry; its tokens and memberships end.
#[utoipa::path(delete, path = "/api/agents/{id}", tag = "agents", operation_id = "retireAgent",
    params(("id" = String, Path, description = "The agent")),
    responses((status = 200, body = Agent),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn retire(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(agent): Path<AgentId>,
    IfMatch(precondition): IfMatch,
) -> ApiResult<RevisedResponse<Agent>> {
    Ok(hall.retire_agent(&by, agent, precondition).await?.into())
}
