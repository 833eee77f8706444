//! The MCP endpoint: one address, to which agents post messages of the protocol.
//! It stands beside the interface for programs: its tools describe themselves.

use std::sync::Arc;

use axum::{
    Extension,
    body::Body,
    extract::{FromRequestParts, Request},
    http::request::Parts,
    response::Response,
};
use guildhall_domain::{
    Error, Refusal,
    callers::{Agent, Gate},
};
use http_body_util::BodyExt;

use crate::{
    body::{json_bytes, require_few_values},
    errors::{ApiError, ApiResult},
    gates::request_credentials,
    mcp::{CallingAgent, McpEndpoint},
    state::ServerState,
};

/// An agent, by its token or its process tree. Whoever is not known as one is asked for a token,
/// so that a client of the protocol knows what is missing.
///
/// It takes nothing of the agent's changes a minute: the tools' twins do.
pub(crate) struct ByMcpAgent(pub(crate) Agent);

impl FromRequestParts<ServerState> for ByMcpAgent {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, ApiError> {
        let caller = match state.hall.caller(&request_credentials(parts, state)?).await {
            Ok(caller) => caller,
            Err(Error::Refusal(_)) => return Err(Refusal::AgentTokenRequired.into()),
            Err(error) => return Err(error.into()),
        };
        Ok(Self(Agent::admit(caller)?))
    }
}

/// Answers a message of an agent.
pub(crate) async fn answer(
    ByMcpAgent(by): ByMcpAgent,
    Extension(mcp): Extension<Arc<McpEndpoint>>,
    request: Request,
) -> ApiResult<Response> {
    let agent = by.caller().agent().ok_or(Refusal::AgentTokenRequired)?;
    let place = mcp.calls.enter(agent)?;
    let (mut parts, body) = request.into_parts();
    parts.extensions.insert(CallingAgent(agent));
    parts.extensions.insert(by);
    let bytes = json_bytes(Request::from_parts(parts.clone(), body)).await?;
    // The protocol's own reader has no such bound.
    require_few_values(&bytes)?;
    let response = mcp.answer(parts, bytes).await;
    // The place is kept until the last of an answer that comes bit by bit.
    Ok(response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &place;
            frame
        }))
    }))
}
