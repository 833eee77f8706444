//! Executions and their attempts on the wire. Source: spec, "Connector execution result";
//! contract 5.6.

use guildhall_domain::{
    Timestamp,
    connectors::{event_payloads, executions as rules, results, usage},
    ids::{AgentId, ConnectorConnectionId, LogicalOperationId, OperationRevisionId},
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::reviews::OperationClassification;
use crate::{
    approvals::wire_enums,
    request_fields::{Fields, FromFields},
};

wire_enums! {
    /// Where an execution was asked for.
    ExecutionSurface = event_payloads::ExecutionSurface {
        /// By the command line's route.
        Cli,
        /// By the route for programs.
        Rest,
        /// By an agent's tool.
        Agent,
    }
    /// What came of an attempt.
    ExecutionStatus = event_payloads::ExecutionStatus {
        /// The service said yes.
        Success,
        /// It said no, or nothing was sent.
        Error,
        /// It was sent and no answer came.
        OutcomeUnknown,
        /// The caller left before anything was sent.
        Cancelled,
        /// The instance cannot run it.
        Unsupported,
    }
}

/// Runs one operation.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecuteOperation {
    /// For which agent.
    #[schema(min_length = 1)]
    pub agent_id: String,
    /// With which account.
    #[schema(min_length = 1)]
    pub connection_id: String,
    /// Which operation.
    #[schema(min_length = 1)]
    pub operation_revision_id: String,
    /// With what: at most 256 KiB, 200 keys and 32 levels. Nothing is filled in or converted.
    #[schema(value_type = Object)]
    pub arguments: Map<String, Value>,
}

impl FromFields for ExecuteOperation {
    fn read(fields: &mut Fields) -> Self {
        let mut id = |name: &str| {
            let id = fields.text(name);
            if id.is_empty() {
                fields.fail_field(name, "must not be empty");
            }
            id
        };
        let ask = Self {
            agent_id: id("agentId"),
            connection_id: id("connectionId"),
            operation_revision_id: id("operationRevisionId"),
            arguments: fields.any_object("arguments"),
        };
        fields.fail_others();
        ask
    }
}

impl From<ExecuteOperation> for rules::OperationCall {
    fn from(ask: ExecuteOperation) -> Self {
        Self {
            agent_id: AgentId::named(&ask.agent_id),
            connection_id: ConnectorConnectionId::named(&ask.connection_id),
            revision_id: OperationRevisionId::named(&ask.operation_revision_id),
            arguments: ask.arguments,
        }
    }
}

/// Why data is left out.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DataOmitted {
    /// It has more than 1 MiB.
    TooLarge,
}

/// What an execution came to. `data` is null unless it is a success.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(
    tag = "status",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ExecutionResult {
    /// The service said yes.
    Success {
        /// What it said.
        #[schema(required = true, value_type = Option<Object>)]
        data: Option<Value>,
        /// Why it is left out; absent when it is not.
        #[schema(required = false, nullable = false)]
        #[serde(rename = "dataOmitted", skip_serializing_if = "Option::is_none")]
        // The document does not follow `rename_all_fields`.
        data_omitted: Option<DataOmitted>,
    },
    /// The service said no, or nothing was sent, or a read was not answered.
    Error {
        /// Null.
        #[schema(required = true, value_type = Option<Object>)]
        data: Option<Value>,
        /// `PROVIDER_HTTP_` and a status, `PROVIDER_TOOL_ERROR` or `PROVIDER_UNREACHABLE`.
        code: String,
        /// A sentence for people, at most 1000 characters.
        message: String,
    },
    /// It was sent and no answer came: it may have happened, and is not sent again.
    OutcomeUnknown {
        /// Null.
        #[schema(required = true, value_type = Option<Object>)]
        data: Option<Value>,
        /// `PROVIDER_OUTCOME_UNKNOWN`.
        code: String,
        /// A sentence for people.
        message: String,
    },
    /// The caller left before anything was sent.
    Cancelled {
        /// Null.
        #[schema(required = true, value_type = Option<Object>)]
        data: Option<Value>,
        /// `CANCELLED_BEFORE_DISPATCH`.
        code: String,
        /// A sentence for people.
        message: String,
    },
    /// The instance cannot run it.
    Unsupported {
        /// Null.
        #[schema(required = true, value_type = Option<Object>)]
        data: Option<Value>,
        /// Why.
        reason: String,
    },
}

impl From<results::ExecutionOutcome> for ExecutionResult {
    fn from(outcome: results::ExecutionOutcome) -> Self {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let (code, message) = (text(outcome.code()), text(outcome.message()));
        let data = None;
        match outcome {
            results::ExecutionOutcome::Success { data } => Self::Success {
                data_omitted: data.is_none().then_some(DataOmitted::TooLarge),
                data,
            },
            results::ExecutionOutcome::Error { .. } => Self::Error {
                data,
                code,
                message,
            },
            results::ExecutionOutcome::Unknown { .. } => Self::OutcomeUnknown {
                data,
                code,
                message,
            },
            results::ExecutionOutcome::Cancelled => Self::Cancelled {
                data,
                code,
                message,
            },
            results::ExecutionOutcome::Unsupported { reason } => Self::Unsupported { data, reason },
        }
    }
}

/// What an execution came to, after how many attempts.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorExecution {
    /// The execution.
    #[schema(value_type = String)]
    pub logical_operation_id: LogicalOperationId,
    /// 1 or 2.
    #[schema(minimum = 1, maximum = 2)]
    pub attempt_count: u8,
    /// What it came to.
    pub result: ExecutionResult,
}

impl From<results::ExecutionResult> for ConnectorExecution {
    fn from(executed: results::ExecutionResult) -> Self {
        Self {
            logical_operation_id: executed.id,
            attempt_count: executed.attempt_count,
            result: executed.outcome.into(),
        }
    }
}

/// An attempt, without arguments and results.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorAttempt {
    /// Its execution.
    #[schema(value_type = String)]
    pub logical_operation_id: LogicalOperationId,
    /// 1 or 2.
    pub attempt: u8,
    /// For which agent.
    #[schema(value_type = String)]
    pub agent_id: AgentId,
    /// With which account.
    #[schema(value_type = String)]
    pub connection_id: ConnectorConnectionId,
    /// Which operation.
    #[schema(value_type = String)]
    pub operation_revision_id: OperationRevisionId,
    /// The operation's name inside its toolkit.
    #[schema(example = "add_note")]
    pub operation_slug: String,
    /// What people call the operation.
    #[schema(example = "Add a note")]
    pub title: String,
    /// Where it was asked for.
    pub surface: ExecutionSurface,
    /// What the operation does.
    pub classification: OperationClassification,
    /// What came of it; null while it is under way.
    #[schema(required = true)]
    pub status: Option<ExecutionStatus>,
    /// The word of what went wrong.
    #[schema(required = true)]
    pub code: Option<String>,
    /// When it was noted, before anything was sent.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// When it ended.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
}

impl From<usage::ExecutionAttempt> for ConnectorAttempt {
    fn from(attempt: usage::ExecutionAttempt) -> Self {
        Self {
            logical_operation_id: attempt.logical_operation_id,
            attempt: attempt.attempt,
            agent_id: attempt.agent_id,
            connection_id: attempt.connection_id,
            operation_revision_id: attempt.revision_id,
            operation_slug: attempt.operation_slug,
            title: attempt.title,
            surface: attempt.surface.into(),
            classification: attempt.classification.into(),
            status: attempt.status.map(Into::into),
            code: attempt.code,
            started_at: attempt.started_at,
            ended_at: attempt.ended_at,
        }
    }
}

/// A page of attempts.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorUsage {
    /// Newest first.
    pub attempts: Vec<ConnectorAttempt>,
    /// Where the next page begins.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_result_has_data_and_it_is_null_unless_success() {
        use results::ExecutionOutcome;
        let message = || "why".to_owned();
        let written =
            |outcome: ExecutionOutcome| serde_json::to_value(ExecutionResult::from(outcome));
        let code = |code: &str, status: &str, message: &str| json!({"status": status, "data": null, "code": code, "message": message});
        for (outcome, expected) in [
            (
                ExecutionOutcome::Success {
                    data: Some(json!([1])),
                },
                json!({"status": "success", "data": [1]}),
            ),
            (
                ExecutionOutcome::Success {
                    data: Some(Value::Null),
                },
                json!({"status": "success", "data": null}),
            ),
            (
                ExecutionOutcome::Success { data: None },
                json!({"status": "success", "data": null, "dataOmitted": "too_large"}),
            ),
            (
                ExecutionOutcome::Error {
                    code: "PROVIDER_HTTP_404".to_owned(),
                    message: message(),
                },
                code("PROVIDER_HTTP_404", "error", "why"),
            ),
            (
                ExecutionOutcome::Unknown { message: message() },
                code("PROVIDER_OUTCOME_UNKNOWN", "outcome_unknown", "why"),
            ),
            (
                ExecutionOutcome::Cancelled,
                code(
                    "CANCELLED_BEFORE_DISPATCH",
                    "cancelled",
                    "The caller left before anything was sent.",
                ),
            ),
            (
                ExecutionOutcome::Unsupported { reason: message() },
                json!({"status": "unsupported", "data": null, "reason": "why"}),
            ),
        ] {
            assert_eq!(written(outcome).unwrap(), expected);
        }
    }
}
