//! Reviews of connections, and what is granted by them.

use axum::{Json, extract::State, http::StatusCode};
use guildhall_domain::{
    callers::{Owner, OwnerInteractive},
    connectors::{
        operation_revisions::OperationRevision,
        reviews::{ConnectionAccess, GrantSelection},
    },
    ids::{AgentId, ConnectorConnectionId, ReviewId},
};
use guildhall_hall::{
    Hall,
    connectors::{ConnectionGrants, ConnectionReview, SessionConnectionState},
};
use guildhall_wire::{
    connectors::connections::Connection,
    connectors::reviews::{
        AccessibleConnection, AccessibleConnections, AccessibleOperations, ApplyReview,
        ConnectorGrant, ConnectorGrants, ConnectorReview, GrantableAgent, OpenReview,
        SessionConnection, SessionConnectionSetting, SessionConnections, SetSessionConnection,
    },
    errors::ErrorEnvelope,
};

use crate::{
    body::Body,
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    path_ids::{Path, SessionPath},
    query::{FromQuery, Params, Query},
    responses::ReadResponse,
};

/// Lists what a connection can do now, for the owner to grant from. It can be applied for ten
/// minutes.
#[utoipa::path(post, path = "/api/connectors/connections/{id}/reviews", tag = "connectors", operation_id = "openConnectorReview",
    params(("id" = String, Path, description = "The connection")),
    responses((status = 201, body = ConnectorReview),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "CONNECTION_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CONNECTION_DISCONNECTED, CATALOG_INCOMPLETE", body = ErrorEnvelope),
        (status = 422, description = "OPERATIONS_UNSUPPORTED, TOOLKIT_UNREACHABLE", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn open(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<ConnectorConnectionId>,
    IdempotentBody { repeat, .. }: IdempotentBody<OpenReview>,
) -> ApiResult<(StatusCode, Json<ConnectorReview>)> {
    let once = repeat
        .answered_by(|reviewed: &ConnectionReview| (StatusCode::CREATED, review(reviewed.clone())));
    let reviewed = hall.review_connection(&by, id, once).await?;
    Ok((StatusCode::CREATED, Json(review(reviewed))))
}

/// Puts what is granted in the place of all that was granted with the connection of a review.
///
/// Agents that asked for access to the service and are granted something of it have their answer.
#[utoipa::path(post, path = "/api/connectors/reviews/{id}/apply", tag = "connectors", operation_id = "applyConnectorReview",
    params(("id" = String, Path, description = "The review")),
    request_body = ApplyReview,
    responses((status = 200, body = ConnectorGrants),
        (status = 400, description = "VALIDATION_FAILED, INVALID_SELECTION", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "REVIEW_NOT_FOUND, CONNECTION_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CONNECTION_DISCONNECTED, REVIEW_STALE", body = ErrorEnvelope),
        (status = 410, description = "REVIEW_EXPIRED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn apply(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<ReviewId>,
    IdempotentBody { ask, repeat }: IdempotentBody<ApplyReview>,
) -> ApiResult<Json<ConnectorGrants>> {
    let once =
        repeat.answered_by(|granted: &ConnectionGrants| (StatusCode::OK, grants(granted.clone())));
    let granted = hall
        .apply_review(&by, id, GrantSelection::from(ask), once)
        .await?;
    Ok(Json(grants(granted)))
}

/// What is granted with a connection.
#[utoipa::path(get, path = "/api/connectors/connections/{id}/grants", tag = "connectors", operation_id = "getConnectorGrants",
    params(("id" = String, Path, description = "The connection")),
    responses((status = 200, body = ConnectorGrants),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "CONNECTION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn granted(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(id): Path<ConnectorConnectionId>,
) -> ApiResult<ReadResponse<ConnectorGrants>> {
    Ok(ReadResponse(
        hall.connector_grants(&by, id).await?.map(grants),
    ))
}

/// The connections that a session's agent can reach, also those that the session turned off.
#[utoipa::path(get, path = "/api/sessions/{id}/connections", tag = "connectors", operation_id = "listSessionConnections",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, body = SessionConnections),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn of_session(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    SessionPath(session_id): SessionPath,
) -> ApiResult<ReadResponse<SessionConnections>> {
    let seen = hall.session_connections(&by, session_id).await?;
    Ok(ReadResponse(seen.map(|all| SessionConnections {
        connections: all.into_iter().map(reachable).collect(),
    })))
}

fn reachable(one: SessionConnectionState) -> SessionConnection {
    SessionConnection {
        connection_id: one.connection.connection_id,
        toolkit: one.connection.toolkit,
        label: one.connection.label,
        on: one.on,
    }
}

/// Says whether a session's agent may use a connection in it. It only narrows what is granted.
#[utoipa::path(put, path = "/api/sessions/{id}/connections/{connectionId}", tag = "connectors", operation_id = "switchSessionConnection",
    params(("id" = String, Path, description = "The session"),
        ("connectionId" = String, Path, description = "The connection")),
    request_body = SetSessionConnection,
    responses((status = 200, body = SessionConnectionSetting),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND, CONNECTION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn switch(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    SessionPath(session_id): SessionPath,
    Path((_named, connection_id)): Path<(String, ConnectorConnectionId)>,
    Body(SetSessionConnection { on }): Body<SetSessionConnection>,
) -> ApiResult<Json<SessionConnectionSetting>> {
    hall.set_session_connection(&by, session_id, connection_id, on)
        .await?;
    Ok(Json(SessionConnectionSetting {
        session_id,
        connection_id,
        on,
    }))
}

/// Whose access is asked for.
pub struct AgentQuery(AgentId);

impl FromQuery for AgentQuery {
    fn read(params: &mut Params) -> Self {
        let agent = params.text("agentId");
        if agent.is_none() {
            params.fail::<()>("agentId", "must be there");
        }
        Self(AgentId::named(&agent.unwrap_or_default()))
    }
}

/// The connections with which an agent may run something.
#[utoipa::path(get, path = "/api/connectors/accessible", tag = "connectors", operation_id = "listAccessibleConnections",
    params(("agentId" = String, Query, description = "The agent")),
    responses((status = 200, body = AccessibleConnections),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn accessible(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Query(AgentQuery(agent)): Query<AgentQuery>,
) -> ApiResult<ReadResponse<AccessibleConnections>> {
    let seen = hall.connector_accessible(&by, agent).await?;
    Ok(ReadResponse(seen.map(connections)))
}

/// What an agent may run with a connection, as the service lists it now.
#[utoipa::path(get, path = "/api/connectors/accessible/{id}/operations", tag = "connectors", operation_id = "listAccessibleOperations",
    params(("id" = String, Path, description = "The connection"),
        ("agentId" = String, Query, description = "The agent")),
    responses((status = 200, body = AccessibleOperations),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn operations(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(id): Path<ConnectorConnectionId>,
    Query(AgentQuery(agent)): Query<AgentQuery>,
) -> ApiResult<ReadResponse<AccessibleOperations>> {
    let seen = hall.connector_accessible_operations(&by, agent, id);
    Ok(ReadResponse(seen.await?.map(operations_of)))
}

pub(crate) fn connections(all: Vec<ConnectionAccess>) -> AccessibleConnections {
    let one = |one: ConnectionAccess| AccessibleConnection {
        connection_id: one.connection_id,
        toolkit: one.toolkit,
        label: one.label,
        operation_count: one.operation_count,
    };
    AccessibleConnections {
        connections: all.into_iter().map(one).collect(),
    }
}

pub(crate) fn operations_of(all: Vec<OperationRevision>) -> AccessibleOperations {
    AccessibleOperations {
        operations: all.into_iter().map(Into::into).collect(),
    }
}

fn grants(granted: ConnectionGrants) -> ConnectorGrants {
    let one = |(agent_id, operation_revision_ids)| ConnectorGrant {
        agent_id,
        operation_revision_ids,
    };
    ConnectorGrants {
        grants: granted.grants.into_iter().map(one).collect(),
        every_agent: granted.every_agent,
    }
}

fn review(reviewed: ConnectionReview) -> ConnectorReview {
    let grant_count = reviewed.granted.count();
    let granted = grants(reviewed.granted);
    ConnectorReview {
        review_id: reviewed.id,
        connection: Connection::new(reviewed.connection, reviewed.readiness, grant_count),
        operations: reviewed.operations.into_iter().map(Into::into).collect(),
        agents: reviewed
            .agents
            .into_iter()
            .map(|agent| GrantableAgent {
                id: agent.id,
                name: agent.name,
            })
            .collect(),
        current_grants: granted.grants,
        every_agent: granted.every_agent,
        expires_at: reviewed.expires_at,
    }
}
