//! Operations out of what tools were asked, and ids out of what they answered.

use serde_json::{Map, Value};

use super::{RequestedStatus, TaskChange, TaskLinks, TaskOperation, TaskStatus};
use crate::limits;

pub(super) fn operation(tool: &str, input: &Value) -> Option<TaskOperation> {
    // Some agents hand arguments on as the text they came in.
    let parsed: Option<Value> = input
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    let input = parsed.as_ref().unwrap_or(input);
    match tool {
        "TodoWrite" | "todowrite" | "todo_write" | "write_todos" | "update_plan" => {
            entries(input).map(TaskOperation::Replace)
        }
        "TaskCreate" | "task_create" => input.as_object().map(|input| {
            TaskOperation::Create(TaskChange {
                id: None,
                ..change(input)
            })
        }),
        "TaskUpdate" | "task_update" => {
            let input = input.as_object()?;
            let id = name(input.get("taskId").or_else(|| input.get("task_id"))?)?;
            let change = change(input);
            Some(TaskOperation::Update { id, change })
        }
        _ => None,
    }
}

/// The entries of a whole list, wherever the tool keeps them.
fn entries(input: &Value) -> Option<Vec<TaskChange>> {
    let list = match input {
        Value::Array(_) => input,
        Value::Object(members) => ["todos", "plan", "entries"]
            .iter()
            .find_map(|name| members.get(*name))?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    let parsed: Option<Value> = list
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    let entries = parsed.as_ref().unwrap_or(list).as_array()?;
    // Twice as many as may be kept leave room for entries that are no longer of the list.
    let entries = entries.iter().take(limits::TASKS_MAX * 2);
    Some(entries.filter_map(Value::as_object).map(entry).collect())
}

/// An entry of a whole list. Its subject is the first of content, step, description and subject
/// that says something.
fn entry(entry: &Map<String, Value>) -> TaskChange {
    let says = |name: &str| {
        entry
            .get(name)
            .and_then(Value::as_str)
            .is_some_and(|text| !text.is_empty())
    };
    let from = ["content", "step", "description", "subject"]
        .into_iter()
        .find(|name| says(name));
    let mut change = change(entry);
    change.id = entry.get("id").and_then(name);
    change.subject = from.and_then(|from| text(entry.get(from)));
    if from == Some("description") {
        change.description = None;
    }
    change
}

fn change(input: &Map<String, Value>) -> TaskChange {
    let either = |a: &str, b: &str| input.get(a).or_else(|| input.get(b));
    TaskChange {
        id: None,
        subject: text(input.get("subject")),
        description: text(input.get("description")),
        active_form: text(either("activeForm", "active_form")),
        owner: text(input.get("owner")),
        status: input.get("status").and_then(Value::as_str).map(wanted),
        blocked_by: TaskLinks {
            set: either("blockedBy", "blocked_by").and_then(ids),
            add: either("addBlockedBy", "add_blocked_by")
                .and_then(ids)
                .unwrap_or_default(),
        },
        blocks: TaskLinks {
            set: input.get("blocks").and_then(ids),
            add: either("addBlocks", "add_blocks")
                .and_then(ids)
                .unwrap_or_default(),
        },
    }
}

/// What the word of a status means.
pub(super) fn wanted(word: &str) -> RequestedStatus {
    let known = TaskStatus::WORDS.iter().find(|(_, known)| *known == word);
    match (known, word) {
        (Some((status, _)), _) => RequestedStatus::Is(*status),
        (None, "deleted" | "cancelled") => RequestedStatus::Gone,
        (None, _) => RequestedStatus::Unknown,
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    let text = value?.as_str()?;
    let end = text.floor_char_boundary(limits::TASK_TEXT_BYTES_MAX);
    Some(text[..end].to_owned())
}

/// An id: a text or a number that says something.
fn name(value: &Value) -> Option<String> {
    let name = match value {
        Value::String(text) => text.trim().trim_start_matches('#').to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let is_fit = !name.is_empty() && name.len() <= limits::TASK_ID_BYTES_MAX;
    is_fit.then_some(name)
}

fn ids(value: &Value) -> Option<Vec<String>> {
    let ids = value.as_array()?.iter().take(limits::TASKS_MAX);
    Some(ids.filter_map(name).collect())
}

/// The id of the task that a tool says it made: `task.id`, else `Task #…` in its words.
pub fn created_task_id(answer: &Value) -> Option<String> {
    let told = answer.get("task").and_then(|task| task.get("id"));
    told.and_then(name).or_else(|| made_in(answer))
}

fn made_in(answer: &Value) -> Option<String> {
    match answer {
        Value::String(text) => {
            let (_, rest) = text.split_once("Task #")?;
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            name(&Value::String(rest[..end].to_owned()))
        }
        Value::Array(items) => items.iter().find_map(made_in),
        Value::Object(members) => members.values().find_map(made_in),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
