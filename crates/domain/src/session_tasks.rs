//! A session's tasks: what its agent means to do, folded from what it said and what became of it.
//! Pure: transcripts are found and read by `world::transcripts`, and who may see the tasks is
//! `hall::session_tasks`. Source: contract 3.7.

use std::collections::VecDeque;

use serde_json::Value;

use crate::limits;

mod message_log;
mod task_list;
mod tool_operations;
mod transcript;

pub use message_log::{is_task_call, of_messages};
pub use tool_operations::created_task_id;
pub use transcript::{TranscriptDialect, TranscriptTaskParser};

use task_list::TaskList;

/// Where a task stands. Any may follow any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskStatus {
    /// Nobody works at it.
    #[default]
    Pending,
    /// Somebody works at it.
    InProgress,
    /// It is done.
    Completed,
}

impl TaskStatus {
    /// Every status with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Pending, "pending"),
        (Self::InProgress, "in_progress"),
        (Self::Completed, "completed"),
    ];
}

/// One task. Absent texts are `""`. Source: spec, "Task".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Unlike that of every other task of the session.
    pub id: String,
    /// What is to be done.
    pub subject: String,
    /// More words.
    pub description: String,
    /// What is shown while somebody works at it.
    pub active_form: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// The tasks that must be done before; the mirror of their `blocks`. May form a ring.
    pub blocked_by: Vec<String>,
    /// The tasks that wait for this one; the mirror of their `blocked_by`.
    pub blocks: Vec<String>,
    /// Who works at it.
    pub owner: String,
}

/// What an agent does to its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskOperation {
    /// The whole list anew; an entry that brings no id is called by its place.
    Replace(Vec<TaskChange>),
    /// One task more.
    Create(TaskChange),
    /// Some fields of one task.
    Update {
        /// Which one.
        id: String,
        /// What of it.
        change: TaskChange,
    },
}

/// Fields of a task as an operation carries them; absent says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskChange {
    /// Its own id.
    pub id: Option<String>,
    /// What is to be done.
    pub subject: Option<String>,
    /// More words.
    pub description: Option<String>,
    /// What is shown while somebody works at it.
    pub active_form: Option<String>,
    /// Who works at it.
    pub owner: Option<String>,
    /// Where it shall stand.
    pub status: Option<RequestedStatus>,
    /// The tasks before it.
    pub blocked_by: TaskLinks,
    /// The tasks behind it.
    pub blocks: TaskLinks,
}

/// A status as an operation names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedStatus {
    /// One of ours.
    Is(TaskStatus),
    /// The task leaves the list.
    Gone,
    /// A word we do not know: the status stays.
    Unknown,
}

/// References to other tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskLinks {
    /// These and no others.
    pub set: Option<Vec<String>>,
    /// These as well.
    pub add: Vec<String>,
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationOutcome {
    /// Nothing is known yet, so it counts as done.
    Awaited,
    /// It was done.
    Done {
        /// The id that the new task got, when the answer names one.
        made: Option<String>,
    },
    /// It was not done after all.
    Failed,
}

/// The fold: operations go in, one list comes out.
///
/// Operations are kept until it is known how they ended, so that a failed one can be taken back
/// and the list made anew without it; of [`limits::TASK_OPERATIONS_OPEN_MAX`] that wait, the
/// oldest counts as done.
#[derive(Clone, Debug, Default)]
pub struct TaskListBuilder {
    /// The list after every operation whose end is known, up to the first that is open.
    settled: TaskList,
    /// What came since, in order.
    open: VecDeque<PendingOperation>,
    /// The list after everything, unless `is_behind`.
    now: TaskList,
    /// Whether `now` must be made anew from `settled` and `open`.
    is_behind: bool,
}

#[derive(Clone, Debug)]
struct PendingOperation {
    /// The call it came with; `""` for one that never gets an answer.
    call: String,
    operation: TaskOperation,
    outcome: OperationOutcome,
    /// The id that a new task got for the time being.
    provisional: Option<String>,
}

impl TaskListBuilder {
    /// Takes an operation that came with the call `call`.
    pub fn begin(&mut self, call: &str, operation: TaskOperation) {
        let outcome = match call {
            "" => OperationOutcome::Done { made: None },
            _ => OperationOutcome::Awaited,
        };
        if outcome == OperationOutcome::Awaited && self.open.iter().any(|step| step.call == call) {
            return;
        }
        let provisional = if self.is_behind {
            None
        } else {
            self.now.apply(&operation, None)
        };
        self.open.push_back(PendingOperation {
            call: call.to_owned(),
            operation,
            outcome,
            provisional,
        });
        self.settle();
    }

    /// Takes how the operation of `call` ended; one that is not awaited is nobody's.
    pub fn end(&mut self, call: &str, outcome: OperationOutcome) {
        let awaited = |step: &&mut PendingOperation| {
            step.call == call && step.outcome == OperationOutcome::Awaited
        };
        let Some(step) = self.open.iter_mut().find(awaited) else {
            return;
        };
        match &outcome {
            OperationOutcome::Awaited => return,
            OperationOutcome::Failed => self.is_behind = true,
            OperationOutcome::Done { made } => {
                self.is_behind |= made.is_some() && *made != step.provisional;
            }
        }
        step.outcome = outcome;
        self.settle();
    }

    /// Whether the end of some operation is unknown.
    pub fn awaits(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether the end of the operation of `call` is unknown.
    pub fn awaits_call(&self, call: &str) -> bool {
        self.open
            .iter()
            .any(|step| step.call == call && step.outcome == OperationOutcome::Awaited)
    }

    /// The tasks after everything so far.
    pub fn tasks(&mut self) -> &[Task] {
        if self.is_behind {
            self.now = self.settled.clone();
            for step in &mut self.open {
                step.provisional = step.apply_to(&mut self.now);
            }
            self.is_behind = false;
        }
        self.now.tasks()
    }

    /// Whether tasks were dropped because there were more than [`limits::TASKS_MAX`].
    pub fn has_dropped(&self) -> bool {
        self.now.has_dropped()
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let open = self.open.iter().map(|step| step.operation.bytes());
        self.settled.bytes() + self.now.bytes() + open.sum::<usize>()
    }

    /// Moves what can no longer be taken back out of `open`.
    fn settle(&mut self) {
        loop {
            let is_over = self.open.len() > limits::TASK_OPERATIONS_OPEN_MAX;
            let is_due =
                |step: &mut PendingOperation| is_over || step.outcome != OperationOutcome::Awaited;
            let Some(step) = self.open.pop_front_if(is_due) else {
                return;
            };
            step.apply_to(&mut self.settled);
        }
    }
}

impl PendingOperation {
    fn apply_to(&self, list: &mut TaskList) -> Option<String> {
        match &self.outcome {
            OperationOutcome::Awaited => list.apply(&self.operation, None),
            OperationOutcome::Done { made } => list.apply(&self.operation, made.as_deref()),
            OperationOutcome::Failed => None,
        }
    }
}

impl TaskOperation {
    /// The operation that a tool's arguments ask for; `None` when the tool keeps no list, or its
    /// arguments hold none.
    ///
    /// Source: contract 3.7, the tables of sources and operations.
    pub fn asked(tool: &str, input: &Value) -> Option<Self> {
        tool_operations::operation(tool, input)
    }

    fn bytes(&self) -> usize {
        let of = |change: &TaskChange| {
            let texts = [
                &change.subject,
                &change.description,
                &change.active_form,
                &change.owner,
            ];
            let texts = texts.into_iter().flatten().map(String::len);
            size_of::<TaskChange>() + texts.sum::<usize>()
        };
        match self {
            Self::Replace(entries) => entries.iter().map(of).sum(),
            Self::Create(change) | Self::Update { change, .. } => of(change),
        }
    }
}
