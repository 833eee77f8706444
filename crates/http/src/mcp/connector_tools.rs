//! The tools for connectors: they have no twin among the routes, because no agent reaches those,
//! and their rules are the same. Source: contract 5.8.

use std::time::Instant;

use axum::response::IntoResponse;
use guildhall_domain::{
    Error, Refusal,
    callers::{Agent, Gate},
    connectors::{event_payloads::ExecutionSurface, executions::OperationCall},
};
use guildhall_hall::{
    Hall,
    approvals::{ClientPresence, PresentedApproval},
    connectors::{AccessRequest, ExecutionRequest},
};
use guildhall_wire::{
    approvals::Approval,
    connectors::{
        executions::ConnectorExecution,
        tools::{self as wire, ConnectorTool as Kind, ConnectorToolCall},
    },
};
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde::Serialize;
use serde_json::json;

use super::{tool_routes, tool_schemas};
use crate::{
    areas::connector_reviews::{connections, operations_of},
    errors::{ApiError, internal},
    rate_limit::RateLimit,
};

/// What an agent is told of them.
pub(super) fn all() -> impl Iterator<Item = Tool> {
    Kind::NAMES.into_iter().map(|(kind, _)| tool(kind))
}

/// What an agent is told of one.
pub(super) fn tool(kind: Kind) -> Tool {
    let wire::ToolDescription {
        title,
        about,
        input,
    } = wire::describe(kind);
    let mut tool = Tool::new(kind.name(), about, input);
    tool.title = Some(title.to_owned());
    tool.output_schema = Some(tool_schemas::answers(shapes(kind)).into());
    let is_execution = matches!(kind, Kind::Execute(_));
    let hints = ToolAnnotations::new()
        .read_only(kind.is_read_only())
        .destructive(kind.is_destructive())
        .idempotent(!is_execution || kind.is_read_only())
        .open_world(is_execution);
    tool.annotations = Some(hints);
    tool
}

/// The shapes of what a tool answers, as the interface document names them.
const fn shapes(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Connections => &["AccessibleConnections"],
        Kind::Operations => &["AccessibleOperations"],
        Kind::Execute(_) if kind.is_destructive() => &["ConnectorExecution", "ApprovalRequired"],
        Kind::Execute(_) => &["ConnectorExecution"],
        Kind::RequestAccess => &["Approval"],
    }
}

/// Answers a call; `wait` is how many seconds it may be held for a person.
pub(super) async fn call(
    (hall, rate_limit): (&Hall, &RateLimit),
    by: &Agent,
    (kind, arguments): (Kind, &JsonObject),
    (wait, listening): (u32, ClientPresence),
) -> CallToolResult {
    let answered = match limited(rate_limit, by, kind) {
        Ok(()) => answer(hall, by, (kind, arguments), (wait, listening)).await,
        Err(refusal) => Err(refusal.into()),
    };
    match answered {
        Ok(result) => result,
        Err(error) => {
            // An approval that is asked for is a result like any other.
            let response = ApiError::from(error).into_response();
            let result = tool_routes::result(response).await;
            result.unwrap_or_else(|error| tool_routes::broken(&error))
        }
    }
}

fn limited(rate_limit: &RateLimit, by: &Agent, kind: Kind) -> Result<(), Refusal> {
    match by.caller().agent() {
        Some(agent) if kind.is_counted() => rate_limit.take(agent, Instant::now()),
        Some(_) | None => Ok(()),
    }
}

async fn answer(
    hall: &Hall,
    by: &Agent,
    (kind, arguments): (Kind, &JsonObject),
    (wait, listening): (u32, ClientPresence),
) -> Result<CallToolResult, Error> {
    match wire::call(kind, arguments).map_err(Refusal::Validation)? {
        ConnectorToolCall::Connections => {
            Ok(to_result(&connections(hall.connectors_of_agent(by).await?)))
        }
        ConnectorToolCall::Operations(connection) => {
            let found = hall.connector_operations_of_agent(by, connection);
            Ok(to_result(&operations_of(found.await?)))
        }
        ConnectorToolCall::Execute {
            connection,
            revision,
            arguments,
            approval_token,
        } => {
            let agent_id = by.caller().agent().ok_or(Refusal::AgentTokenRequired)?;
            let execute = ExecutionRequest {
                ask: OperationCall {
                    agent_id,
                    connection_id: connection,
                    revision_id: revision,
                    arguments,
                },
                surface: ExecutionSurface::Agent,
                class: match kind {
                    Kind::Execute(class) => Some(class),
                    Kind::Connections | Kind::Operations | Kind::RequestAccess => None,
                },
            };
            let presented = PresentedApproval {
                token: approval_token,
                wait: Some(wait),
                listening,
            };
            let executed = hall.execute_connector_as(by, execute, presented).await?;
            Ok(to_result(&ConnectorExecution::from(executed)))
        }
        ConnectorToolCall::RequestAccess {
            toolkit,
            wants_to_write,
            purpose,
        } => {
            let wish = AccessRequest {
                toolkit,
                wants_to_write,
                purpose,
            };
            let asked = hall.request_connector_access(by, wish).await?;
            Ok(to_result(&Approval::from(asked)))
        }
    }
}

fn to_result(body: &impl Serialize) -> CallToolResult {
    match serde_json::to_value(body) {
        Ok(body) => tool_routes::result_of(body, false),
        Err(_) => tool_routes::result_of(json!(internal().envelope()), true),
    }
}
