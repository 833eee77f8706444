//! Tool servers of agents.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use guildhall_domain::{
    mcp_servers::{self as rules, McpServerPatch},
    revisions::Precondition,
};
use guildhall_hall::{Hall, mcp_servers::RevisedServers};
use guildhall_wire::{
    approvals::ApprovalRequired,
    errors::ErrorEnvelope,
    mcp_servers::{
        AddMcpServer, DiscoveredMcpServer, DiscoveredMcpServers, EmptyMcpServerRequest,
        ImportMcpServer, McpServer, TestedMcpServer, UpdateMcpServer,
    },
};

use crate::{
    approval_headers::ApprovalHeaders,
    body::Body,
    errors::ApiResult,
    gates::ByForAgent,
    idempotency::{IdempotentBody, IdempotentRequest},
    path_ids::Path,
    preconditions::IfMatch,
    responses::{ReadResponse, RevisedResponse},
};

/// Lists an agent's tool servers in the order they were added.
#[utoipa::path(get, path = "/api/agents/{agentId}/mcp-servers", tag = "mcp servers", operation_id = "listMcpServers",
    params(("agentId" = String, Path, description = "The agent")),
    responses((status = 200, body = Vec<McpServer>),
        (status = 403, description = "AGENT_SELF_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
) -> ApiResult<ReadResponse<Vec<McpServer>>> {
    Ok(ReadResponse(hall.mcp_servers(&by).await?.map(listed)))
}

/// Adds a tool server to an agent, switched on; answers all its servers, the new one last.
///
/// Whoever asks, the owner too, is answered 202 until a person has approved exactly this command or
/// address at its card, and sends the request again then; nothing is started or reached before.
///
/// When the new server's connection has `authKind` `oauth2`, start its sign-in at once.
#[utoipa::path(post, path = "/api/agents/{agentId}/mcp-servers", tag = "mcp servers", operation_id = "addMcpServer",
    params(("agentId" = String, Path, description = "The agent")),
    request_body = AddMcpServer,
    responses((status = 200, body = Vec<McpServer>),
        (status = 202, description = "A person must approve it first", body = ApprovalRequired),
        (status = 400, description = "VALIDATION_FAILED, AGENT_ID_MISMATCH, RESERVED_NAME", body = ErrorEnvelope),
        (status = 403, description = "AGENT_SELF_ONLY, APPROVAL_DENIED", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "DUPLICATE_NAME, TOO_MANY_SERVERS", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_APPROVALS", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn add(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
    approving: ApprovalHeaders,
    IdempotentBody { ask, repeat }: IdempotentBody<AddMcpServer>,
) -> ApiResult<Response> {
    let (presented, applied) = approving.into_parts();
    let once = answering(repeat);
    let entries = hall
        .add_mcp_server(&by, ask.into(), presented, once)
        .await?;
    Ok((applied, changed(entries)).into_response())
}

/// One tool server.
#[utoipa::path(get, path = "/api/agents/{agentId}/mcp-servers/{name}", tag = "mcp servers", operation_id = "getMcpServer",
    params(("agentId" = String, Path, description = "The agent"), ("name" = String, Path, description = "The server")),
    responses((status = 200, body = McpServer),
        (status = 403, description = "AGENT_SELF_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
    Path((_agent, name)): Path<(String, String)>,
) -> ApiResult<RevisedResponse<McpServer>> {
    Ok(hall.mcp_server(&by, &name).await?.into())
}

/// Changes a tool server; answers all servers of the agent.
///
/// Whoever asks, another connection needs a person's word at its card, and so does switching on
/// what a person switched off.
#[utoipa::path(patch, path = "/api/agents/{agentId}/mcp-servers/{name}", tag = "mcp servers", operation_id = "changeMcpServer",
    params(("agentId" = String, Path, description = "The agent"), ("name" = String, Path, description = "The server")),
    request_body = UpdateMcpServer,
    responses((status = 200, body = Vec<McpServer>),
        (status = 202, description = "A person must approve it first", body = ApprovalRequired),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "AGENT_SELF_ONLY, APPROVAL_DENIED", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_APPROVALS", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn change(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
    Path((_agent, name)): Path<(String, String)>,
    IfMatch(precondition): IfMatch,
    approving: ApprovalHeaders,
    Body(ask): Body<UpdateMcpServer>,
) -> ApiResult<Response> {
    let (presented, applied) = approving.into_parts();
    let once = guildhall_hall::idempotency::IdempotentWrite::without_key();
    let change = (McpServerPatch::from(ask), precondition);
    let entries = hall
        .change_mcp_server(&by, &name, change, presented, once)
        .await?;
    Ok((applied, changed(entries)).into_response())
}

/// Removes a tool server with its secrets; answers the servers that are left. An agent needs a
/// person's word for it.
#[utoipa::path(delete, path = "/api/agents/{agentId}/mcp-servers/{name}", tag = "mcp servers", operation_id = "removeMcpServer",
    params(("agentId" = String, Path, description = "The agent"), ("name" = String, Path, description = "The server")),
    responses((status = 200, body = Vec<McpServer>),
        (status = 202, description = "A person must approve it first", body = ApprovalRequired),
        (status = 403, description = "AGENT_SELF_ONLY, APPROVAL_DENIED", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_APPROVALS", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn remove(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
    Path((_agent, name)): Path<(String, String)>,
    IfMatch(precondition): IfMatch,
    approving: ApprovalHeaders,
) -> ApiResult<Response> {
    let (presented, applied) = approving.into_parts();
    let left = hall
        .remove_mcp_server(&by, &name, precondition, presented)
        .await?;
    Ok((applied, Json(listed(left))).into_response())
}

/// Switches a tool server on; answers all servers of the agent. One that a person switched off
/// needs a person's word at its card, whoever asks.
#[utoipa::path(post, path = "/api/agents/{agentId}/mcp-servers/{name}/enable", tag = "mcp servers", operation_id = "enableMcpServer",
    params(("agentId" = String, Path, description = "The agent"), ("name" = String, Path, description = "The server")),
    responses((status = 200, body = Vec<McpServer>),
        (status = 202, description = "A person must approve it first", body = ApprovalRequired),
        (status = 403, description = "AGENT_SELF_ONLY, APPROVAL_DENIED", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_APPROVALS", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn enable(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
    Path((_agent, name)): Path<(String, String)>,
    approving: ApprovalHeaders,
    IdempotentBody { repeat, .. }: IdempotentBody<EmptyMcpServerRequest>,
) -> ApiResult<Response> {
    let (presented, applied) = approving.into_parts();
    let change = (McpServerPatch::enabled(true), Precondition::None);
    let entries = hall
        .change_mcp_server(&by, &name, change, presented, answering(repeat))
        .await?;
    Ok((applied, changed(entries)).into_response())
}

/// Switches a tool server off; answers all servers of the agent.
#[utoipa::path(post, path = "/api/agents/{agentId}/mcp-servers/{name}/disable", tag = "mcp servers", operation_id = "disableMcpServer",
    params(("agentId" = String, Path, description = "The agent"), ("name" = String, Path, description = "The server")),
    responses((status = 200, body = Vec<McpServer>),
        (status = 403, description = "AGENT_SELF_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn disable(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
    Path((_agent, name)): Path<(String, String)>,
    approving: ApprovalHeaders,
    IdempotentBody { repeat, .. }: IdempotentBody<EmptyMcpServerRequest>,
) -> ApiResult<RevisedResponse<Vec<McpServer>>> {
    let (presented, _) = approving.into_parts();
    let change = (McpServerPatch::enabled(false), Precondition::None);
    let entries = hall
        .change_mcp_server(&by, &name, change, presented, answering(repeat))
        .await?;
    Ok(changed(entries))
}

/// Reaches a tool server and lists its tools. A test that fails says why, with status 200.
///
/// A server that is switched off, or is not what was approved, is not reached at all.
#[utoipa::path(post, path = "/api/agents/{agentId}/mcp-servers/{name}/test", tag = "mcp servers", operation_id = "testMcpServer",
    params(("agentId" = String, Path, description = "The agent"), ("name" = String, Path, description = "The server")),
    responses((status = 200, body = TestedMcpServer),
        (status = 403, description = "AGENT_SELF_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn test(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
    Path((_agent, name)): Path<(String, String)>,
    IdempotentBody { repeat, .. }: IdempotentBody<EmptyMcpServerRequest>,
) -> ApiResult<Json<TestedMcpServer>> {
    let once = repeat.answered_by(|tested: &rules::ServerTestResult| {
        (StatusCode::OK, TestedMcpServer::from(tested.clone()))
    });
    Ok(Json(hall.test_mcp_server(&by, &name, once).await?.into()))
}

/// Lists the tool servers that the `.mcp.json` of the agent's folder names.
#[utoipa::path(get, path = "/api/agents/{agentId}/mcp-discovered", tag = "mcp servers", operation_id = "listDiscoveredMcpServers",
    params(("agentId" = String, Path, description = "The agent")),
    responses((status = 200, body = DiscoveredMcpServers),
        (status = 403, description = "AGENT_SELF_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn discovered(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
) -> ApiResult<ReadResponse<DiscoveredMcpServers>> {
    let seen = hall.mcp_discovered(&by).await?;
    Ok(ReadResponse(seen.map(|offered| {
        DiscoveredMcpServers {
            servers: offered
                .servers
                .into_iter()
                .map(|server| DiscoveredMcpServer {
                    name: server.name.as_str().to_owned(),
                    connection: server.connection.into(),
                    already_added: server.already_added,
                })
                .collect(),
            warnings: offered.warnings,
        }
    })))
}

/// Adds a tool server that the `.mcp.json` of the agent's folder names; answers all servers of
/// the agent, the new one last. It needs a person's word at its card, whoever asks.
#[utoipa::path(post, path = "/api/agents/{agentId}/mcp-import", tag = "mcp servers", operation_id = "importMcpServer",
    params(("agentId" = String, Path, description = "The agent")),
    request_body = ImportMcpServer,
    responses((status = 200, body = Vec<McpServer>),
        (status = 202, description = "A person must approve it first", body = ApprovalRequired),
        (status = 400, description = "VALIDATION_FAILED, RESERVED_NAME", body = ErrorEnvelope),
        (status = 403, description = "AGENT_SELF_ONLY, APPROVAL_DENIED", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "DUPLICATE_NAME, TOO_MANY_SERVERS", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_APPROVALS", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn import(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
    approving: ApprovalHeaders,
    IdempotentBody { ask, repeat }: IdempotentBody<ImportMcpServer>,
) -> ApiResult<Response> {
    let (presented, applied) = approving.into_parts();
    let once = answering(repeat);
    let entries = hall
        .import_mcp_server(&by, &ask.name, presented, once)
        .await?;
    Ok((applied, changed(entries)).into_response())
}

fn answering(
    repeat: IdempotentRequest,
) -> guildhall_hall::idempotency::IdempotentWrite<RevisedServers> {
    repeat
        .answered_sealed(|entries: &RevisedServers| (StatusCode::OK, listed(entries.value.clone())))
}

fn changed(entries: RevisedServers) -> RevisedResponse<Vec<McpServer>> {
    RevisedResponse::changed(entries.rev, listed(entries.value))
}

fn listed(servers: Vec<rules::McpServer>) -> Vec<McpServer> {
    servers.into_iter().map(Into::into).collect()
}
