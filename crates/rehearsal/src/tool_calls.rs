//! Calls: what a tool call is, before anything happens: its title, kind, places and difference.
//! Pure but for the look at the file that an edit would change; carrying out is `tools`.

use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, Meta, TextContent, ToolCall, ToolCallContent, ToolCallLocation,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    NAME, directives, modes::CallEffect, session_history::RecordedCall, tools::SessionFolder,
};

/// The longest title, in characters.
const TITLE_MAX: usize = 200;

/// A tool with its arguments, as its directive gives them.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ToolInput {
    ReadFile {
        path: String,
    },
    WriteFile {
        path: String,
        content: String,
    },
    EditFile {
        path: String,
        old: String,
        new: String,
    },
    RunCommand {
        command: Vec<String>,
    },
    CallMcp {
        server: String,
        tool: String,
        #[serde(default)]
        arguments: Map<String, Value>,
    },
    AskPerson {
        question: String,
        #[serde(default)]
        options: Vec<String>,
    },
    TodoWrite {
        todos: Vec<TodoItem>,
    },
    TaskCreate(TaskCreateInput),
    TaskUpdate(TaskUpdateInput),
}

/// An entry of a todo list.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the shape is checked, and the list lives in whoever reads the calls"
)]
pub(crate) struct TodoItem {
    content: String,
    status: String,
    active_form: Option<String>,
}

/// What a task is created from.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the shape is checked, and the task lives in whoever reads the calls"
)]
pub(crate) struct TaskCreateInput {
    pub(crate) subject: String,
    description: Option<String>,
    active_form: Option<String>,
    owner: Option<String>,
}

/// What changes in a task.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "the shape is checked, and the task lives in whoever reads the calls"
)]
pub(crate) struct TaskUpdateInput {
    pub(crate) task_id: String,
    status: Option<String>,
    subject: Option<String>,
    add_blocked_by: Option<Vec<String>>,
    add_blocks: Option<Vec<String>>,
    owner: Option<String>,
}

/// A call that is about to be made.
#[derive(Clone, Debug)]
pub(crate) struct PlannedCall {
    /// Its id within the session.
    pub(crate) id: String,
    /// What it does.
    pub(crate) tool: ToolInput,
    /// How it is remembered.
    pub(crate) remembered: RecordedCall,
}

impl PlannedCall {
    /// Reads the call that a directive asks for.
    ///
    /// # Errors
    /// In words, for an unknown tool, a missing or an unknown argument.
    pub(crate) fn read(asked: &directives::CallDirective) -> Result<Self, String> {
        let tagged = json!({ asked.tool.as_str(): asked.arguments });
        let tool: ToolInput = serde_json::from_value(tagged).map_err(|error| error.to_string())?;
        if matches!(&tool, ToolInput::RunCommand { command } if command.is_empty()) {
            return Err("the command has no program".to_owned());
        }
        let remembered = RecordedCall {
            tool: asked.tool.clone(),
            arguments: asked.arguments.clone(),
            title: tool.title(),
        };
        Ok(Self {
            id: String::new(),
            tool,
            remembered,
        })
    }

    /// Its first announcement; `bare` leaves out what it is called with.
    pub(crate) fn tool_call_announcement(&self, workspace: &SessionFolder, bare: bool) -> ToolCall {
        let call = ToolCall::new(self.id.clone(), self.remembered.title.clone())
            .name(self.remembered.tool.clone())
            .kind(self.tool.kind())
            .meta(self.meta());
        if bare {
            return call.raw_input(json!({}));
        }
        call.raw_input(Value::Object(self.remembered.arguments.clone()))
            .locations(self.locations(workspace))
            .content(self.difference(workspace))
    }

    /// What a permission request shows of it; `bare` shows its id alone.
    pub(crate) fn permission_update(
        &self,
        workspace: &SessionFolder,
        bare: bool,
    ) -> ToolCallUpdate {
        if bare {
            return ToolCallUpdate::new(self.id.clone(), ToolCallUpdateFields::new());
        }
        let fields = ToolCallUpdateFields::new()
            .title(self.remembered.title.clone())
            .name(self.remembered.tool.clone())
            .kind(self.tool.kind())
            .raw_input(Value::Object(self.remembered.arguments.clone()))
            .locations(self.locations(workspace))
            .content(self.difference(workspace));
        ToolCallUpdate::new(self.id.clone(), fields).meta(self.meta())
    }

    fn meta(&self) -> Meta {
        let mut meta = Map::new();
        meta.insert(NAME.to_owned(), json!({"toolName": self.remembered.tool}));
        meta
    }

    fn locations(&self, workspace: &SessionFolder) -> Vec<ToolCallLocation> {
        let path = self
            .tool
            .path()
            .and_then(|path| workspace.locate(path).ok());
        path.map(ToolCallLocation::new).into_iter().collect()
    }

    /// What an edit would change; nothing for anything else.
    fn difference(&self, workspace: &SessionFolder) -> Vec<ToolCallContent> {
        let (path, changed) = match &self.tool {
            ToolInput::WriteFile { path, content } => (path, Ok(content.clone())),
            ToolInput::EditFile { path, old, new } => (path, workspace.edited(path, old, new)),
            _ => return Vec::new(),
        };
        let (Ok(place), Ok(changed)) = (workspace.locate(path), changed) else {
            return Vec::new();
        };
        let before = workspace.read(path).ok();
        vec![ToolCallContent::Diff(
            Diff::new(place, changed).old_text(before),
        )]
    }
}

impl ToolInput {
    /// How far it reaches, as far as it tells by itself: what a tool server's tool does, the
    /// server says.
    pub(crate) fn effect(&self) -> CallEffect {
        match self {
            Self::WriteFile { .. } | Self::EditFile { .. } => CallEffect::Edits,
            Self::RunCommand { .. } | Self::CallMcp { .. } => CallEffect::Runs,
            Self::ReadFile { .. }
            | Self::AskPerson { .. }
            | Self::TodoWrite { .. }
            | Self::TaskCreate(_)
            | Self::TaskUpdate(_) => CallEffect::Looks,
        }
    }

    fn path(&self) -> Option<&str> {
        match self {
            Self::ReadFile { path }
            | Self::WriteFile { path, .. }
            | Self::EditFile { path, .. } => Some(path),
            _ => None,
        }
    }

    fn kind(&self) -> ToolKind {
        match self {
            Self::ReadFile { .. } => ToolKind::Read,
            Self::WriteFile { .. } | Self::EditFile { .. } => ToolKind::Edit,
            Self::RunCommand { .. } => ToolKind::Execute,
            Self::TodoWrite { .. } | Self::TaskCreate(_) | Self::TaskUpdate(_) => ToolKind::Think,
            Self::AskPerson { .. } | Self::CallMcp { .. } => ToolKind::Other,
        }
    }

    /// One line that says what it does.
    fn title(&self) -> String {
        let title = match self {
            Self::ReadFile { path } => format!("Read {path}"),
            Self::WriteFile { path, .. } => format!("Write {path}"),
            Self::EditFile { path, .. } => format!("Edit {path}"),
            Self::RunCommand { command } => format!("Run {}", command.join(" ")),
            Self::CallMcp { server, tool, .. } => format!("Call {tool} of {server}"),
            Self::AskPerson { question, .. } => format!("Ask: {question}"),
            Self::TodoWrite { .. } => "Update the todo list".to_owned(),
            Self::TaskCreate(task) => format!("Create task: {}", task.subject),
            Self::TaskUpdate(change) => format!("Update task {}", change.task_id),
        };
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        title.chars().map(plain).take(TITLE_MAX).collect()
    }
}

/// Text as the content of a call.
pub(crate) fn text_content(text: &str) -> ToolCallContent {
    ToolCallContent::from(ContentBlock::Text(TextContent::new(text)))
}
