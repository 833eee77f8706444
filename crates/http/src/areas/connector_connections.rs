//! Connections of the connectors.

use axum::{Json, extract::State, http::StatusCode};
use guildhall_domain::{
    callers::{Owner, OwnerInteractive},
    ids::ConnectorConnectionId,
};
use guildhall_hall::{Hall, connectors::ConnectionView};
use guildhall_wire::{
    connectors::connections::{Connection, Connections, UpdateConnection},
    errors::ErrorEnvelope,
};

use crate::{body::Body, errors::ApiResult, gates::By, path_ids::Path, responses::ReadResponse};

/// Lists the connections, the oldest first.
#[utoipa::path(get, path = "/api/connectors/connections", tag = "connectors", operation_id = "listConnectorConnections",
    responses((status = 200, body = Connections),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<Owner>,
) -> ApiResult<ReadResponse<Connections>> {
    let seen = hall.connections(&by).await?;
    Ok(ReadResponse(seen.map(|all| Connections {
        connections: all.into_iter().map(to_wire).collect(),
    })))
}

/// One connection.
#[utoipa::path(get, path = "/api/connectors/connections/{id}", tag = "connectors", operation_id = "getConnectorConnection",
    params(("id" = String, Path, description = "The connection")),
    responses((status = 200, body = Connection),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "CONNECTION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(id): Path<ConnectorConnectionId>,
) -> ApiResult<ReadResponse<Connection>> {
    Ok(ReadResponse(hall.connection(&by, id).await?.map(to_wire)))
}

/// Gives a connection another name, or switches it on or off.
#[utoipa::path(patch, path = "/api/connectors/connections/{id}", tag = "connectors", operation_id = "changeConnectorConnection",
    params(("id" = String, Path, description = "The connection")),
    request_body = UpdateConnection,
    responses((status = 200, body = Connection),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "CONNECTION_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CONNECTION_DISCONNECTED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn change(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<ConnectorConnectionId>,
    Body(ask): Body<UpdateConnection>,
) -> ApiResult<Json<Connection>> {
    let seen = hall.change_connection(&by, id, ask.into()).await?;
    Ok(Json(to_wire(seen)))
}

/// Holds a connection: nothing runs with it until it is resumed.
#[utoipa::path(post, path = "/api/connectors/connections/{id}/pause", tag = "connectors", operation_id = "pauseConnectorConnection",
    params(("id" = String, Path, description = "The connection")),
    responses((status = 200, body = Connection),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "CONNECTION_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CONNECTION_DISCONNECTED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn pause(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<ConnectorConnectionId>,
) -> ApiResult<Json<Connection>> {
    Ok(Json(to_wire(hall.pause_connection(&by, id, true).await?)))
}

/// Goes on with a connection that was paused.
#[utoipa::path(post, path = "/api/connectors/connections/{id}/resume", tag = "connectors", operation_id = "resumeConnectorConnection",
    params(("id" = String, Path, description = "The connection")),
    responses((status = 200, body = Connection),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "CONNECTION_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CONNECTION_DISCONNECTED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn resume(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<ConnectorConnectionId>,
) -> ApiResult<Json<Connection>> {
    Ok(Json(to_wire(hall.pause_connection(&by, id, false).await?)))
}

/// Gives a connection up: its credentials are erased here, then given back to the service, whose
/// no is told in `externalCleanup` alone.
#[utoipa::path(delete, path = "/api/connectors/connections/{id}", tag = "connectors", operation_id = "disconnectConnector",
    params(("id" = String, Path, description = "The connection")),
    responses((status = 200, body = Connection),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "CONNECTION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn disconnect(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<ConnectorConnectionId>,
) -> ApiResult<Json<Connection>> {
    Ok(Json(to_wire(hall.disconnect(&by, id).await?)))
}

/// Drops what is left of a disconnected connection.
#[utoipa::path(post, path = "/api/connectors/connections/{id}/remove", tag = "connectors", operation_id = "removeConnectorConnection",
    params(("id" = String, Path, description = "The connection")),
    responses((status = 204),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "CONNECTION_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CONNECTION_NOT_DISCONNECTED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn remove(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<ConnectorConnectionId>,
) -> ApiResult<StatusCode> {
    hall.remove_connection(&by, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn to_wire(seen: ConnectionView) -> Connection {
    Connection::new(seen.connection, seen.readiness, seen.grant_count)
}
