//! Running operations of connectors, and what was run.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
};
use guildhall_domain::{
    callers::Owner,
    connectors::{
        event_payloads::ExecutionSurface, results::ExecutionResult, usage::ConnectorUsageQuery,
    },
    ids::{AgentId, ConnectorConnectionId},
};
use guildhall_hall::{Hall, connectors::ExecutionRequest};
use guildhall_wire::{
    approvals::ApprovalRequired,
    connectors::executions::{ConnectorExecution, ConnectorUsage, ExecuteOperation},
    errors::ErrorEnvelope,
};

use crate::{
    approval_headers::ApprovalHeaders,
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    openapi::parameters::PageLimit,
    page_cursor::write_place,
    query::{FromQuery, Params, Query},
    responses::page_response,
};

/// Runs one exact operation, as the command line does.
///
/// What the service says, also a no, is the result. A destructive operation that a program asks
/// for is answered 202 until a person has approved exactly this.
#[utoipa::path(post, path = "/api/connectors/cli/executions", tag = "connectors", operation_id = "executeConnectorFromCli",
    request_body = ExecuteOperation,
    responses((status = 200, body = ConnectorExecution),
        (status = 404, description = "AGENT_NOT_FOUND, CONNECTOR_TARGET_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CONNECTOR_REVISION_MISMATCH, CONNECTOR_NOT_EXECUTABLE, CONNECTOR_AUTHORITY_CHANGED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner")), ("x-beside" = json!([
        "202 when a person must approve it first",
        "400 VALIDATION_FAILED",
        "403 OWNER_ONLY, CONNECTOR_GRANT_REQUIRED, APPROVAL_DENIED",
        "422 CONNECTOR_ARGUMENTS_INVALID",
        "429 TOO_MANY_APPROVALS",
    ]))))]
pub async fn from_cli(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    approving: ApprovalHeaders,
    sent: IdempotentBody<ExecuteOperation>,
) -> ApiResult<Response> {
    execute(&hall, &by, ExecutionSurface::Cli, approving, sent).await
}

/// Runs one exact operation.
///
/// The same as from the command line, for programs.
#[utoipa::path(post, path = "/api/connectors/executions", tag = "connectors", operation_id = "executeConnector",
    request_body = ExecuteOperation,
    responses((status = 200, body = ConnectorExecution),
        (status = 202, description = "A person must approve it first", body = ApprovalRequired),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, CONNECTOR_GRANT_REQUIRED, APPROVAL_DENIED", body = ErrorEnvelope),
        (status = 404, description = "AGENT_NOT_FOUND, CONNECTOR_TARGET_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CONNECTOR_REVISION_MISMATCH, CONNECTOR_NOT_EXECUTABLE, CONNECTOR_AUTHORITY_CHANGED", body = ErrorEnvelope),
        (status = 422, description = "CONNECTOR_ARGUMENTS_INVALID", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_APPROVALS", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn from_rest(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    approving: ApprovalHeaders,
    sent: IdempotentBody<ExecuteOperation>,
) -> ApiResult<Response> {
    execute(&hall, &by, ExecutionSurface::Rest, approving, sent).await
}

async fn execute(
    hall: &Hall,
    by: &Owner,
    surface: ExecutionSurface,
    approving: ApprovalHeaders,
    IdempotentBody { ask, repeat }: IdempotentBody<ExecuteOperation>,
) -> ApiResult<Response> {
    let (presented, applied) = approving.into_parts();
    let once = repeat.answered_sealed(|executed: &ExecutionResult| {
        (StatusCode::OK, ConnectorExecution::from(executed.clone()))
    });
    let execute = ExecutionRequest {
        ask: ask.into(),
        surface,
        class: None,
    };
    let executed = hall.execute_connector(by, execute, presented, once).await?;
    Ok((applied, Json(ConnectorExecution::from(executed))).into_response())
}

/// Which attempts are asked for.
pub struct ListAttempts {
    ask: ConnectorUsageQuery,
    filters: Filters,
}

/// What a cursor of attempts is bound to.
type Filters = (&'static str, Option<AgentId>, Option<ConnectorConnectionId>);

impl FromQuery for ListAttempts {
    fn read(params: &mut Params) -> Self {
        let agent = params.text("agentId").map(|id| AgentId::named(&id));
        let connection = params.text("connectionId");
        let connection = connection.map(|id| ConnectorConnectionId::named(&id));
        let filters = ("connector usage", agent, connection);
        let ask = ConnectorUsageQuery {
            agent,
            connection,
            requester: None,
            before: params.place_after(filters),
            limit: params.limit(),
        };
        Self { ask, filters }
    }
}

/// What was attempted with connectors, newest first, without arguments and results. A program
/// reads what it asked for itself.
#[utoipa::path(get, path = "/api/connectors/usage", tag = "connectors", operation_id = "getConnectorUsage",
    params(
        ("agentId" = Option<String>, Query, description = "Only for this agent"),
        ("connectionId" = Option<String>, Query, description = "Only with this account"),
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
    ),
    responses((status = 200, body = ConnectorUsage),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn usage(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    uri: Uri,
    Query(query): Query<ListAttempts>,
) -> ApiResult<Response> {
    let seen = hall.connector_usage(&by, query.ask).await?;
    let next = seen.value.next;
    let next = next.map(|last| write_place(last, query.filters));
    Ok(page_response(&uri, next, seen, |page, next_cursor| {
        ConnectorUsage {
            attempts: page.attempts.into_iter().map(Into::into).collect(),
            next_cursor,
        }
    }))
}
