//! Auth flows of the connectors.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header::LOCATION},
};
use guildhall_domain::{
    callers::{Owner, OwnerInteractive},
    ids::{AuthFlowId, ConnectorConnectionId},
};
use guildhall_hall::{
    Hall,
    connectors::{FlowView, StartedFlow},
};
use guildhall_wire::{
    connectors::auth_flows::{AuthFlow, AuthFlows, ConnectService, EnterApiKey, ReconnectService},
    errors::ErrorEnvelope,
};

use crate::{
    body::Body,
    errors::{ApiResult, internal},
    gates::By,
    idempotency::REPLAYED,
    path_ids::Path,
};

/// Begins to sign in with a service. The answer does not wait for the service: ask for the flow
/// to learn what to do. The same wish under the same key is begun once.
#[utoipa::path(post, path = "/api/connectors/connections", tag = "connectors", operation_id = "connectConnector",
    request_body = ConnectService,
    responses((status = 201, body = AuthFlow),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "PROVIDER_NOT_FOUND, TOOLKIT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "IDEMPOTENCY_CONFLICT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive")), ("x-beside" = json!([
        "403 OWNER_ONLY, INTERACTIVE_ONLY",
        "422 AUTHENTICATION_UNAVAILABLE",
        "429 TOO_MANY_FLOWS",
    ]))))]
pub async fn connect(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Body(ask): Body<ConnectService>,
) -> ApiResult<(StatusCode, HeaderMap, Json<AuthFlow>)> {
    started_response(hall.connect(&by, ask.into()).await?)
}

/// Begins to sign in anew with a connection, which is paused until that is done.
#[utoipa::path(post, path = "/api/connectors/connections/{id}/reconnect", tag = "connectors", operation_id = "reconnectConnector",
    params(("id" = String, Path, description = "The connection")),
    request_body = ReconnectService,
    responses((status = 201, body = AuthFlow),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "CONNECTION_NOT_FOUND, PROVIDER_NOT_FOUND, TOOLKIT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "IDEMPOTENCY_CONFLICT, CONNECTION_DISCONNECTED", body = ErrorEnvelope),
        (status = 422, description = "AUTHENTICATION_UNAVAILABLE", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_FLOWS", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn reconnect(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<ConnectorConnectionId>,
    Body(ask): Body<ReconnectService>,
) -> ApiResult<(StatusCode, HeaderMap, Json<AuthFlow>)> {
    started_response(hall.reconnect(&by, id, ask.idempotency_key).await?)
}

/// How far a sign-in is, and what to do now.
#[utoipa::path(get, path = "/api/connectors/authentication-flows/{flowId}", tag = "connectors", operation_id = "getConnectorFlow",
    params(("flowId" = String, Path, description = "The flow")),
    responses((status = 200, body = AuthFlow),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "FLOW_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(id): Path<AuthFlowId>,
) -> ApiResult<Json<AuthFlow>> {
    let seen = hall.connector_flow(&by, id).await?;
    Ok(Json(to_wire(seen.value)))
}

/// Lists the sign-ins that were begun in the last half hour, so that one that runs is found again:
/// those that are open, and what came of the others.
#[utoipa::path(get, path = "/api/connectors/authentication-flows", tag = "connectors", operation_id = "listConnectorFlows",
    responses((status = 200, body = AuthFlows),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn list(State(hall): State<Hall>, By(by): By<Owner>) -> ApiResult<Json<AuthFlows>> {
    let seen = hall.connector_flows(&by).await?;
    Ok(Json(AuthFlows {
        flows: seen.value.into_iter().map(to_wire).collect(),
    }))
}

/// Takes the key that a service is shown. Where the service says whose account that is, it is
/// asked once.
#[utoipa::path(post, path = "/api/connectors/authentication-flows/{flowId}/credential", tag = "connectors", operation_id = "enterConnectorKey",
    params(("flowId" = String, Path, description = "The flow")),
    request_body = EnterApiKey,
    responses((status = 200, body = AuthFlow),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "FLOW_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "FLOW_NOT_WAITING", body = ErrorEnvelope),
        (status = 422, description = "AUTHENTICATION_UNAVAILABLE", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn enter_key(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<AuthFlowId>,
    Body(ask): Body<EnterApiKey>,
) -> ApiResult<Json<AuthFlow>> {
    let seen = hall.enter_connector_key(&by, id, ask.secret).await?;
    Ok(Json(to_wire(seen)))
}

/// Cancels a sign-in; one that is over stays as it is.
#[utoipa::path(delete, path = "/api/connectors/authentication-flows/{flowId}", tag = "connectors", operation_id = "cancelConnectorFlow",
    params(("flowId" = String, Path, description = "The flow")),
    responses((status = 200, body = AuthFlow),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "FLOW_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn cancel(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<AuthFlowId>,
) -> ApiResult<Json<AuthFlow>> {
    let seen = hall.cancel_connector_flow(&by, id).await?;
    Ok(Json(to_wire(seen)))
}

fn started_response(begun: StartedFlow) -> ApiResult<(StatusCode, HeaderMap, Json<AuthFlow>)> {
    let mut headers = HeaderMap::new();
    let place = format!(
        "/api/connectors/authentication-flows/{}",
        begun.seen.flow.id
    );
    let place = HeaderValue::try_from(place).map_err(|_| internal())?;
    headers.insert(LOCATION, place);
    if begun.is_replay {
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok((StatusCode::CREATED, headers, Json(to_wire(begun.seen))))
}

fn to_wire(seen: FlowView) -> AuthFlow {
    AuthFlow::new(seen.flow, seen.shown)
}
