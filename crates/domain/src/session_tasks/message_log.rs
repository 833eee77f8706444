//! Operations out of our own record of a session.

use serde_json::Value;

use super::{Change, Fold, Operation, Outcome, Task, tool_operations};
use crate::transcript::{Message, Part, PlanEntry, ToolCall, ToolContent, ToolStatus};

/// The tasks of a session by its messages, oldest first, and whether there were too many to keep
/// all: from its tools' arguments, or, where no tool keeps a list, from its plans.
///
/// Source: contract 3.7, sources 3 and 4.
pub fn of_messages(messages: &[Message]) -> (Vec<Task>, bool) {
    let (mut tools, mut plans) = (Fold::default(), Fold::default());
    let mut has_tools = false;
    for part in messages.iter().flat_map(|message| &message.parts) {
        match part {
            Part::ToolCall(call) => has_tools |= take(&mut tools, call),
            Part::Plan { entries } => plans.begin("", plan(entries)),
            Part::Text { .. } | Part::Thinking { .. } | Part::Attachment { .. } => {}
        }
    }
    let mut fold = if has_tools { tools } else { plans };
    (fold.tasks().to_vec(), fold.has_dropped())
}

/// Whether a tool call keeps a list of tasks.
pub fn keeps_tasks(call: &ToolCall) -> bool {
    operation(call).is_some()
}

fn operation(call: &ToolCall) -> Option<Operation> {
    let names = [call.tool_name.trim(), call.title.trim()];
    names
        .into_iter()
        .find_map(|name| Operation::asked(name, &call.input))
}

/// Takes a tool call when it keeps a list; answers whether it does.
fn take(fold: &mut Fold, call: &ToolCall) -> bool {
    let Some(operation) = operation(call) else {
        return false;
    };
    fold.begin(&call.tool_call_id, operation);
    let outcome = match call.status {
        ToolStatus::Completed => Outcome::Done { made: made(call) },
        ToolStatus::Failed | ToolStatus::Denied | ToolStatus::Cancelled => Outcome::Failed,
        ToolStatus::Pending | ToolStatus::Waiting | ToolStatus::InProgress => Outcome::Awaited,
    };
    fold.end(&call.tool_call_id, outcome);
    true
}

fn made(call: &ToolCall) -> Option<String> {
    tool_operations::made_by(&call.output).or_else(|| {
        call.content.iter().find_map(|content| match content {
            ToolContent::Text { text } => tool_operations::made_by(&Value::String(text.clone())),
            ToolContent::Diff { .. } | ToolContent::Unshown { .. } => None,
        })
    })
}

fn plan(entries: &[PlanEntry]) -> Operation {
    let change = |entry: &PlanEntry| Change {
        subject: Some(entry.content.clone()),
        status: Some(tool_operations::wanted(&entry.status)),
        ..Change::default()
    };
    Operation::Replace(entries.iter().map(change).collect())
}
