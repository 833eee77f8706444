//! The lines of the transcripts that agents keep on disk.
//!
//! Of a hundred megabytes a few lines are about tasks, so a line is first searched for the words
//! that it would have to hold, and only then read as JSON.

use std::borrow::Cow;

use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{OperationOutcome, Task, TaskListBuilder, TaskOperation, tool_operations};

/// Whose transcript it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TranscriptDialect {
    /// Claude Code's JSONL.
    Claude,
    /// A Codex rollout.
    Codex,
}

/// One transcript, taken in line by line.
#[derive(Clone, Debug)]
pub struct TranscriptTaskParser {
    dialect: TranscriptDialect,
    fold: TaskListBuilder,
    calls: Vec<Finder<'static>>,
    /// The member of an answer that names the call.
    answers: Finder<'static>,
    /// Lines that could not be read.
    skipped: u64,
    has_operations: bool,
}

impl TranscriptTaskParser {
    /// An empty transcript.
    pub fn new(dialect: TranscriptDialect) -> Self {
        let (calls, answers): (&[&str], &str) = match dialect {
            TranscriptDialect::Claude => (&["\"TodoWrite\"", "\"Task"], "\"tool_use_id\""),
            TranscriptDialect::Codex => (&["\"update_plan\""], "\"call_id\""),
        };
        Self {
            dialect,
            fold: TaskListBuilder::default(),
            calls: calls.iter().map(Finder::new).collect(),
            answers: Finder::new(answers),
            skipped: 0,
            has_operations: false,
        }
    }

    /// Takes one line, without its end.
    pub fn take(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        if line[0] != b'{' {
            self.skip();
            return;
        }
        let is_call = self.calls.iter().any(|word| word.find(line).is_some());
        if !is_call && !self.is_awaited(line) {
            return;
        }
        let read = match self.dialect {
            TranscriptDialect::Claude => self.take_claude(line),
            TranscriptDialect::Codex => self.take_codex(line),
        };
        if read.is_err() {
            self.skip();
        }
    }

    /// Counts a line that cannot be read.
    pub fn skip(&mut self) {
        self.skipped += 1;
    }

    /// How many lines could not be read.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Whether it has said anything about tasks.
    pub fn has_operations(&self) -> bool {
        self.has_operations
    }

    /// The tasks after everything so far.
    pub fn tasks(&mut self) -> &[Task] {
        self.fold.tasks()
    }

    /// Whether tasks were dropped because there were too many.
    pub fn has_dropped(&self) -> bool {
        self.fold.has_dropped()
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.fold.bytes()
    }

    /// Whether a line names a call whose end is unknown.
    fn is_awaited(&self, line: &[u8]) -> bool {
        if !self.fold.awaits() {
            return false;
        }
        let length = self.answers.needle().len();
        self.answers.find_iter(line).any(|at| {
            let rest = line[at + length..].trim_ascii_start();
            let value = rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
            let text = value.and_then(|value| value.strip_prefix(b"\""));
            let id = text.and_then(|text| text.split(|byte| *byte == b'"').next());
            id.and_then(|id| std::str::from_utf8(id).ok())
                .is_some_and(|id| self.fold.awaits_call(id))
        })
    }

    fn begin(&mut self, call: &str, tool: &str, input: &Value) {
        if let Some(operation) = TaskOperation::asked(tool, input) {
            self.has_operations = true;
            self.fold.begin(call, operation);
        }
    }

    fn take_claude(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let line: ClaudeLine<'_> = serde_json::from_slice(line)?;
        if line.is_sidechain == Some(true) {
            return Ok(());
        }
        let (is_assistant, is_user) = (line.kind == "assistant", line.kind == "user");
        let (true, Some(message)) = (is_assistant || is_user, line.message) else {
            return Ok(());
        };
        let message: ClaudeMessage<'_> = serde_json::from_str(message.get())?;
        let content = message.content.map_or("", RawValue::get);
        if !content.starts_with('[') {
            return Ok(());
        }
        let blocks: Vec<&RawValue> = serde_json::from_str(content)?;
        let is_alone = blocks.len() == 1;
        for block in blocks {
            // A block of another shape is none of ours.
            let Ok(block) = serde_json::from_str::<ClaudeBlock<'_>>(block.get()) else {
                continue;
            };
            if is_assistant && block.kind == "tool_use" {
                if let (Some(id), Some(name), Some(input)) = (block.id, block.name, block.input)
                    && is_of_tasks(&name)
                {
                    self.begin(&id, &name, &serde_json::from_str(input.get())?);
                }
            } else if is_user
                && block.kind == "tool_result"
                && let Some(call) = &block.tool_use_id
                && self.fold.awaits_call(call)
            {
                let told = line.result.filter(|_| is_alone);
                let outcome = claude_outcome(&block, told)?;
                self.fold.end(call, outcome);
            }
        }
        Ok(())
    }

    fn take_codex(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let line: CodexLine<'_> = serde_json::from_slice(line)?;
        let (true, Some(payload)) = (line.kind == "response_item", line.payload) else {
            return Ok(());
        };
        let item: CodexItem<'_> = serde_json::from_str(payload.get())?;
        let Some(call) = item.call_id else {
            return Ok(());
        };
        match (&*item.kind, item.name.as_deref()) {
            ("function_call", Some("update_plan")) => {
                let arguments: Value = match item.arguments {
                    Some(arguments) => serde_json::from_str(arguments.get())?,
                    None => Value::Null,
                };
                self.begin(&call, "update_plan", &arguments);
            }
            ("function_call_output", _) if self.fold.awaits_call(&call) => {
                let output: Value = match item.output {
                    Some(output) => serde_json::from_str(output.get())?,
                    None => Value::Null,
                };
                self.fold.end(&call, codex_outcome(&output));
            }
            _ => {}
        }
        Ok(())
    }
}

fn is_of_tasks(tool: &str) -> bool {
    matches!(tool, "TodoWrite" | "TaskCreate" | "TaskUpdate")
}

#[derive(Deserialize)]
struct ClaudeLine<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(rename = "isSidechain")]
    is_sidechain: Option<bool>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow, rename = "toolUseResult")]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ClaudeMessage<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ClaudeBlock<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Option<Cow<'a, str>>,
    is_error: Option<bool>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CodexLine<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CodexItem<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    call_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
}

/// How a call ended, by its result block and what Claude Code notes beside it, which belongs to
/// a line's only block alone.
fn claude_outcome(
    block: &ClaudeBlock<'_>,
    told: Option<&RawValue>,
) -> serde_json::Result<OperationOutcome> {
    let value = |raw: Option<&RawValue>| match raw {
        Some(raw) => serde_json::from_str(raw.get()),
        None => Ok(Value::Null),
    };
    let told: Value = value(told)?;
    if block.is_error == Some(true) || told.get("success") == Some(&Value::Bool(false)) {
        return Ok(OperationOutcome::Failed);
    }
    let made = match tool_operations::created_task_id(&told) {
        Some(made) => Some(made),
        None => tool_operations::created_task_id(&value(block.content)?),
    };
    Ok(OperationOutcome::Done { made })
}

/// How a plan was taken: Codex marks what it does not take by `success`, or only by its words.
fn codex_outcome(output: &Value) -> OperationOutcome {
    let words = match output {
        Value::String(text) => text.as_str(),
        Value::Object(members) => members
            .get("content")
            .and_then(Value::as_str)
            .unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => "",
    };
    let is_marked = output.get("success") == Some(&Value::Bool(false));
    let is_told = ["failed to ", "error", "unsupported "]
        .iter()
        .any(|word| starts_with(words, word))
        || words.contains("is not allowed");
    if is_marked || is_told {
        OperationOutcome::Failed
    } else {
        OperationOutcome::Done { made: None }
    }
}

fn starts_with(text: &str, word: &str) -> bool {
    text.get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word))
}
