//! What is told of connectors: the payloads of their events. None holds a secret, an argument or
//! a result. Source: contract 5.7.

use serde::{Deserialize, Serialize};

use super::{
    auth_flows::{FlowState, FlowStepKind},
    connections::{AccountStatus, ConnectionLifecycle, Readiness},
    providers::ProviderChange,
};
use crate::ids::{
    AgentId, AuthFlowId, ConnectorConnectionId, LogicalOperationId, OperationRevisionId, ProviderId,
};

/// A provider instance changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderChanged {
    /// The instance.
    pub provider_instance_id: ProviderId,
    /// Its generation now.
    pub generation: u64,
    /// What happened.
    pub change: ProviderChange,
}

/// A flow moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowChanged {
    /// The flow.
    pub flow_id: AuthFlowId,
    /// Where it is.
    pub state: FlowState,
    /// What the person has to do.
    pub step: FlowStepKind,
    /// What came of it.
    pub connection_id: Option<ConnectorConnectionId>,
    /// Why it ended without a connection.
    pub reason: Option<String>,
}

/// A connection changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionChanged {
    /// The connection.
    pub connection_id: ConnectorConnectionId,
    /// Where it is in its life.
    pub lifecycle: ConnectionLifecycle,
    /// What the service last said of the account.
    pub account_status: AccountStatus,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Whether it can be used.
    pub readiness: Readiness,
    /// The agents that hold a grant there. The frame's scopes say so, and the data does not.
    #[serde(skip)]
    pub agents: Vec<AgentId>,
}

/// The grants of a connection changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantsChanged {
    /// The connection.
    pub connection_id: ConnectorConnectionId,
    /// The agents that hold a grant there now.
    pub agent_ids: Vec<AgentId>,
    /// How many revisions are granted.
    pub revision_count: u32,
    /// Those that held one before, who hear of it too.
    #[serde(skip)]
    pub agents_before: Vec<AgentId>,
}

/// Where an execution was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionSurface {
    /// By the command line's route.
    Cli,
    /// By the route for programs.
    Rest,
    /// By an agent's tool.
    Agent,
}

impl ExecutionSurface {
    /// Every surface with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Cli, "cli"),
        (Self::Rest, "rest"),
        (Self::Agent, "agent"),
    ];
}

/// What came of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
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

impl ExecutionStatus {
    /// Every status with its word.
    pub const WORDS: [(Self, &str); 5] = [
        (Self::Success, "success"),
        (Self::Error, "error"),
        (Self::OutcomeUnknown, "outcome_unknown"),
        (Self::Cancelled, "cancelled"),
        (Self::Unsupported, "unsupported"),
    ];
}

/// An attempt is about to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionStarted {
    /// The execution.
    pub logical_operation_id: LogicalOperationId,
    /// For which agent.
    pub agent_id: AgentId,
    /// With which account.
    pub connection_id: ConnectorConnectionId,
    /// Which operation.
    pub operation_revision_id: OperationRevisionId,
    /// Where it was asked for.
    pub surface: ExecutionSurface,
    /// 1 or 2.
    pub attempt: u8,
}

/// An execution is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionFinished {
    /// The execution.
    pub logical_operation_id: LogicalOperationId,
    /// For which agent.
    pub agent_id: AgentId,
    /// With which account.
    pub connection_id: ConnectorConnectionId,
    /// Which operation.
    pub operation_revision_id: OperationRevisionId,
    /// Where it was asked for.
    pub surface: ExecutionSurface,
    /// The last attempt.
    pub attempt: u8,
    /// What came of it.
    pub status: ExecutionStatus,
    /// The word of what went wrong.
    pub code: Option<String>,
    /// How many attempts there were.
    pub attempt_count: u8,
}
