//! Signing in with tool servers: the routes of programs. What a person opens in a browser is
//! [`super::oauth_pages`].

use axum::{
    Json,
    extract::State,
    http::{
        HeaderMap, StatusCode,
        header::{HOST, ORIGIN},
    },
};
use guildhall_domain::{callers::OwnerInteractive, ids::AgentId, mcp_signins::sign_in_url};
use guildhall_hall::{Hall, mcp_signins::StartedSignin};
use guildhall_wire::{
    errors::ErrorEnvelope,
    mcp_signins::{
        McpSignin, SavedMcpClient, SetMcpClient, SignedOutOfMcp, StartMcpSignin, StartedMcpSignin,
    },
};

use crate::{
    body::Body,
    errors::ApiResult,
    gates::{By, ByForAgent},
    idempotency::IdempotentBody,
    path_ids::Path,
    responses::ReadResponse,
};

/// Starts a sign-in with a tool server. Nothing leaves this computer before the owner has opened
/// the link and followed it; a sign-in that counts already is checked and stays.
#[utoipa::path(post, path = "/api/agents/{agentId}/mcp-servers/{name}/signin", tag = "mcp servers", operation_id = "startMcpSignin",
    params(("agentId" = String, Path, description = "The agent"), ("name" = String, Path, description = "The server")),
    request_body = StartMcpSignin,
    responses((status = 200, body = StartedMcpSignin),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "AGENT_SELF_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND, SESSION_NOT_FOUND", body = ErrorEnvelope),
        (status = 422, description = "NOT_OAUTH_SERVER, SIGNIN_INSECURE_ADDRESS", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn start(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
    Path((_agent, name)): Path<(String, String)>,
    headers: HeaderMap,
    IdempotentBody { ask, repeat }: IdempotentBody<StartMcpSignin>,
) -> ApiResult<Json<StartedMcpSignin>> {
    let own = own_base(&headers);
    let shown = own.clone();
    let once = repeat.answered_sealed(move |started: &StartedSignin| {
        (StatusCode::OK, to_wire(started.clone(), shown.as_deref()))
    });
    let started = hall
        .start_mcp_signin(&by, &name, ask.session_id, once)
        .await?;
    Ok(Json(to_wire(started, own.as_deref())))
}

/// How a sign-in with a tool server stands. For the name, `~` stands for whichever server the
/// sign-in is for.
#[utoipa::path(get, path = "/api/agents/{agentId}/mcp-servers/{name}/signin/{flowId}", tag = "mcp servers", operation_id = "getMcpSignin",
    params(("agentId" = String, Path, description = "The agent"), ("name" = String, Path, description = "The server"),
        ("flowId" = String, Path, description = "The sign-in")),
    responses((status = 200, body = McpSignin),
        (status = 403, description = "AGENT_SELF_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND, SIGNIN_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
    Path((_agent, name, flow)): Path<(String, String, String)>,
) -> ApiResult<ReadResponse<McpSignin>> {
    let seen = hall.mcp_signin(&by, &name, &flow).await?;
    Ok(ReadResponse(seen.map(Into::into)))
}

/// Signs out of a tool server: its tokens are forgotten here, then given back there.
#[utoipa::path(delete, path = "/api/agents/{agentId}/mcp-servers/{name}/signin", tag = "mcp servers", operation_id = "signOutOfMcpServer",
    params(("agentId" = String, Path, description = "The agent"), ("name" = String, Path, description = "The server")),
    responses((status = 200, body = SignedOutOfMcp),
        (status = 403, description = "AGENT_SELF_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn sign_out(
    State(hall): State<Hall>,
    ByForAgent(by): ByForAgent,
    Path((_agent, name)): Path<(String, String)>,
) -> ApiResult<Json<SignedOutOfMcp>> {
    let signed_out = hall.sign_out_of_mcp(&by, &name).await?;
    Ok(Json(SignedOutOfMcp { signed_out }))
}

/// Saves the client that the owner registered at a tool server's sign-in page; the stored sign-in
/// and open ones are dropped.
#[utoipa::path(put, path = "/api/agents/{agentId}/mcp-servers/{name}/client", tag = "mcp servers", operation_id = "setMcpClient",
    params(("agentId" = String, Path, description = "The agent"), ("name" = String, Path, description = "The server")),
    request_body = SetMcpClient,
    responses((status = 200, body = SavedMcpClient),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND", body = ErrorEnvelope),
        (status = 422, description = "NOT_OAUTH_SERVER, SIGNIN_INSECURE_ADDRESS", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn set_client(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path((agent, name)): Path<(AgentId, String)>,
    Body(ask): Body<SetMcpClient>,
) -> ApiResult<Json<SavedMcpClient>> {
    hall.set_mcp_client(&by, (agent, &name), ask.into()).await?;
    Ok(Json(SavedMcpClient { saved: true }))
}

/// Forgets the client of a tool server, with its sign-in.
#[utoipa::path(delete, path = "/api/agents/{agentId}/mcp-servers/{name}/client", tag = "mcp servers", operation_id = "removeMcpClient",
    params(("agentId" = String, Path, description = "The agent"), ("name" = String, Path, description = "The server")),
    responses((status = 204),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, SERVER_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn remove_client(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path((agent, name)): Path<(AgentId, String)>,
) -> ApiResult<StatusCode> {
    hall.remove_mcp_client(&by, (agent, &name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Where the caller reaches this server: the link it is shown leads to the same place, so that
/// its browser knows who it is there. `None` without a `Host`, as for a tool's call.
fn own_base(headers: &HeaderMap) -> Option<String> {
    let host = headers.get(HOST)?.to_str().ok()?;
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    let is_secure = origin.is_some_and(|origin| {
        let scheme = origin.get(.."https://".len());
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
    });
    let scheme = if is_secure { "https" } else { "http" };
    Some(format!("{scheme}://{host}"))
}

fn to_wire(started: StartedSignin, own: Option<&str>) -> StartedMcpSignin {
    let base = own.unwrap_or(&started.base);
    let link = |ticket: &String| sign_in_url(base, ticket);
    let already_connected = started.flow_id.is_none();
    let message = if already_connected {
        "The server takes the stored sign-in; there is nothing to do."
    } else {
        "Ask the owner to open the link in a browser and to sign in there. Then ask how the \
         sign-in stands."
    };
    StartedMcpSignin {
        flow_id: started.flow_id,
        sign_in_url: started.ticket.as_ref().map(link),
        already_connected,
        disclosure: started.disclosure,
        message: message.to_owned(),
        expires_at: started.expires_at,
    }
}
