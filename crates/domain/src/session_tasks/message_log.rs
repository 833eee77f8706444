//! Operations out of our own record of a session.

use serde_json::Value;

use super::{OperationOutcome, Task, TaskChange, TaskListBuilder, TaskOperation, tool_operations};
use crate::transcript::{Message, MessagePart, PlanEntry, ToolCall, ToolContent, ToolStatus};

/// The tasks of a session by its messages, oldest first, and whether there were too many to keep
/// all: from its tools' arguments, or, where no tool keeps a list, from its plans.
///
/// Source: contract 3.7, sources 3 and 4.
pub fn of_messages(messages: &[Message]) -> (Vec<Task>, bool) {
    let (mut tools, mut plans) = (TaskListBuilder::default(), TaskListBuilder::default());
    let mut has_tools = false;
    for part in messages.iter().flat_map(|message| &message.parts) {
        match part {
            MessagePart::ToolCall(call) => has_tools |= take(&mut tools, call),
            MessagePart::Plan { entries } => plans.begin("", plan(entries)),
            MessagePart::Text { .. }
            | MessagePart::Thinking { .. }
            | MessagePart::Attachment { .. } => {}
        }
    }
    let mut fold = if has_tools { tools } else { plans };
    (fold.tasks().to_vec(), fold.has_dropped())
}

/// Whether a tool call keeps a list of tasks.
pub fn is_task_call(call: &ToolCall) -> bool {
    operation(call).is_some()
}

fn operation(call: &ToolCall) -> Option<TaskOperation> {
    let names = [call.tool_name.trim(), call.title.trim()];
    names
        .into_iter()
        .find_map(|name| TaskOperation::asked(name, &call.input))
}

/// Takes a tool call when it keeps a list; answers whether it does.
fn take(fold: &mut TaskListBuilder, call: &ToolCall) -> bool {
    let Some(operation) = operation(call) else {
        return false;
    };
    fold.begin(&call.tool_call_id, operation);
    let outcome = match call.status {
        ToolStatus::Completed => OperationOutcome::Done { made: made(call) },
        ToolStatus::Failed | ToolStatus::Denied | ToolStatus::Cancelled => OperationOutcome::Failed,
        ToolStatus::Pending | ToolStatus::Waiting | ToolStatus::InProgress => {
            OperationOutcome::Awaited
        }
    };
    fold.end(&call.tool_call_id, outcome);
    true
}

fn made(call: &ToolCall) -> Option<String> {
    tool_operations::created_task_id(&call.output).or_else(|| {
        call.content.iter().find_map(|content| match content {
            ToolContent::Text { text } => {
                tool_operations::created_task_id(&Value::String(text.clone()))
            }
            ToolContent::Diff { .. } | ToolContent::Unshown { .. } => None,
        })
    })
}

fn plan(entries: &[PlanEntry]) -> TaskOperation {
    let change = |entry: &PlanEntry| TaskChange {
        subject: Some(entry.content.clone()),
        status: Some(tool_operations::wanted(&entry.status)),
        ..TaskChange::default()
    };
    TaskOperation::Replace(entries.iter().map(change).collect())
}
