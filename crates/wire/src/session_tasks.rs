//! A session's tasks on the wire. Source: spec, "Task"; contract 3.7.

use guildhall_domain::session_tasks as domain;
use serde::Serialize;
use utoipa::ToSchema;

/// Where a task stands.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nobody works at it.
    Pending,
    /// Somebody works at it.
    InProgress,
    /// It is done.
    Completed,
}

impl From<domain::TaskStatus> for TaskStatus {
    fn from(status: domain::TaskStatus) -> Self {
        match status {
            domain::TaskStatus::Pending => Self::Pending,
            domain::TaskStatus::InProgress => Self::InProgress,
            domain::TaskStatus::Completed => Self::Completed,
        }
    }
}

/// One task of a session; absent texts are empty.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Unlike that of every other task of the session.
    #[schema(example = "2")]
    pub id: String,
    /// What is to be done.
    #[schema(example = "Count the words")]
    pub subject: String,
    /// More words.
    pub description: String,
    /// What is shown while somebody works at it.
    #[schema(example = "Counting the words")]
    pub active_form: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// Ids of the tasks that must be done before.
    pub blocked_by: Vec<String>,
    /// Ids of the tasks that wait for this one.
    pub blocks: Vec<String>,
    /// Who works at it.
    pub owner: String,
}

impl From<domain::Task> for Task {
    fn from(task: domain::Task) -> Self {
        Self {
            id: task.id,
            subject: task.subject,
            description: task.description,
            active_form: task.active_form,
            status: task.status.into(),
            blocked_by: task.blocked_by,
            blocks: task.blocks,
            owner: task.owner,
        }
    }
}

/// The tasks of a session.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Tasks {
    /// In the agent's own order.
    pub tasks: Vec<Task>,
}

impl From<Vec<domain::Task>> for Tasks {
    fn from(tasks: Vec<domain::Task>) -> Self {
        Self {
            tasks: tasks.into_iter().map(Into::into).collect(),
        }
    }
}
