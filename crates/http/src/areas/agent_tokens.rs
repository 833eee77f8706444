//! Agent tokens.

use axum::{Json, extract::State, http::StatusCode};
use guildhall_domain::{
    agent_tokens::AgentToken,
    callers::Owner,
    ids::{AgentId, AgentTokenId},
};
use guildhall_hall::Hall;
use guildhall_wire::{
    agent_tokens::{AgentTokens, MintToken, MintedToken},
    errors::ErrorEnvelope,
};

use crate::{
    errors::ApiResult, gates::By, idempotency::IdempotentBody, path_ids::Path,
    responses::ReadResponse,
};

/// Lists an agent's tokens, never their texts.
#[utoipa::path(get, path = "/api/agents/{id}/tokens", tag = "tokens", operation_id = "listTokens",
    params(("id" = String, Path, description = "The agent")),
    responses((status = 200, body = AgentTokens),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(agent): Path<AgentId>,
) -> ApiResult<ReadResponse<AgentTokens>> {
    let seen = hall.tokens(&by, agent).await?;
    Ok(ReadResponse(seen.map(|tokens| AgentTokens {
        tokens: tokens.into_iter().map(Into::into).collect(),
    })))
}

/// Mints a token that names an agent; its text is shown in this answer alone.
#[utoipa::path(post, path = "/api/agents/{id}/tokens", tag = "tokens", operation_id = "mintToken",
    params(("id" = String, Path, description = "The agent")),
    request_body = MintToken,
    responses((status = 201, body = MintedToken),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn mint(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(agent): Path<AgentId>,
    IdempotentBody { ask, repeat }: IdempotentBody<MintToken>,
) -> ApiResult<(StatusCode, Json<MintedToken>)> {
    let once = repeat.answered_once(|token: &AgentToken| token.id.to_string());
    let (token, secret) = hall.mint_token(&by, agent, ask.label, once).await?;
    Ok((
        StatusCode::CREATED,
        Json(MintedToken::new(token, secret.reveal())),
    ))
}

/// Revokes a token: the next request with it is refused, its streams end.
#[utoipa::path(delete, path = "/api/agents/{id}/tokens/{tokenId}", tag = "tokens", operation_id = "revokeToken",
    params(("id" = String, Path, description = "The agent"), ("tokenId" = String, Path, description = "The token")),
    responses((status = 204),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, TOKEN_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn revoke(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path((agent, token)): Path<(AgentId, AgentTokenId)>,
) -> ApiResult<StatusCode> {
    hall.revoke_token(&by, agent, token).await?;
    Ok(StatusCode::NO_CONTENT)
}
