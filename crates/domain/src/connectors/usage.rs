//! Usage: what was attempted with connectors, without arguments and results.
//! Source: contract 5.6, the last line.

use super::{
    classification::Classification,
    event_payloads::{ExecutionStatus, ExecutionSurface},
};
use crate::{
    Timestamp,
    approvals::Requester,
    ids::{AgentId, ConnectorConnectionId, LogicalOperationId, OperationRevisionId},
};

/// An attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionAttempt {
    /// Its place among all attempts.
    pub number: u64,
    /// Its execution.
    pub logical_operation_id: LogicalOperationId,
    /// 1 or 2.
    pub attempt: u8,
    /// For which agent.
    pub agent_id: AgentId,
    /// With which account.
    pub connection_id: ConnectorConnectionId,
    /// Which operation.
    pub revision_id: OperationRevisionId,
    /// Its name inside its toolkit.
    pub operation_slug: String,
    /// What people call it.
    pub title: String,
    /// Where it was asked for.
    pub surface: ExecutionSurface,
    /// What the operation does.
    pub classification: Classification,
    /// What came of it; `None` while it is under way.
    pub status: Option<ExecutionStatus>,
    /// The word of what went wrong.
    pub code: Option<String>,
    /// When it was noted, before anything was sent.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// Which attempts a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectorUsageQuery {
    /// For this agent alone.
    pub agent: Option<AgentId>,
    /// With this account alone.
    pub connection: Option<ConnectorConnectionId>,
    /// Asked for by this one alone.
    pub requester: Option<Requester>,
    /// Those before this place.
    pub before: Option<u64>,
    /// How many.
    pub limit: u32,
}
