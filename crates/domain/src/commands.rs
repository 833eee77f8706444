//! Slash commands: what a command file says, and which command wins.
//! Pure: folders are scanned by `world::command_files`, listings are kept by `hall::commands`.
//! Source: contract 3.9.

use std::collections::{BTreeMap, btree_map::Entry};

use serde_json::{Map, Value};

use crate::limits;

/// A command, as the interface shows it. Source: spec, "Slash command".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlashCommand {
    /// Folders it lies in, joined by `:`; `""` for none.
    pub namespace: String,
    /// Its name.
    pub command: String,
    /// What is typed: `/namespace:command`, or `/command`.
    pub full_command: String,
    /// What it does; `""` when nobody says.
    pub description: String,
    /// What may follow it.
    pub argument_hint: String,
    /// Tools it may use without being asked.
    pub allowed_tools: Vec<String>,
    /// Relative to the working folder, or `~/…`; `""` for one that an agent reports.
    pub file_path: String,
}

/// A command as a running agent reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCommand {
    /// Its name, without the slash; may hold a namespace before a `:`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What may follow it.
    pub hint: String,
}

/// Something that is wrong with a command file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandWarning {
    /// The file or folder, written as in [`SlashCommand::file_path`].
    pub file_path: String,
    /// What is wrong, in a sentence.
    pub message: String,
}

/// Everything that can be typed in one folder, ordered by what is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandListing {
    /// The commands.
    pub commands: Vec<SlashCommand>,
    /// What is wrong with their files.
    pub warnings: Vec<CommandWarning>,
}

impl SlashCommand {
    /// A command without anything said about it yet.
    pub fn named(namespace: &str, command: &str) -> Self {
        let full_command = match namespace {
            "" => format!("/{command}"),
            _ => format!("/{namespace}:{command}"),
        };
        Self {
            namespace: namespace.to_owned(),
            command: command.to_owned(),
            full_command,
            ..Self::default()
        }
    }

    /// Takes what another source says where this one says nothing.
    fn enrich(&mut self, other: &Self) {
        for (own, new) in [
            (&mut self.description, &other.description),
            (&mut self.argument_hint, &other.argument_hint),
        ] {
            if own.is_empty() {
                new.clone_into(own);
            }
        }
    }
}

impl From<&AgentCommand> for SlashCommand {
    fn from(reported: &AgentCommand) -> Self {
        let name = reported.name.trim().trim_start_matches('/');
        let (namespace, command) = name.rsplit_once(':').unwrap_or(("", name));
        let mut command = Self::named(namespace, command);
        command.description.push_str(reported.description.trim());
        command.argument_hint.push_str(reported.hint.trim());
        command
    }
}

/// Joins the commands of several sources: of those that are typed alike the first stays.
pub fn merged(commands: impl IntoIterator<Item = SlashCommand>) -> Vec<SlashCommand> {
    let mut by_name = BTreeMap::new();
    for command in commands {
        by_name
            .entry(command.full_command.clone())
            .or_insert(command);
    }
    // Texts compare by bytes, which for UTF-8 is the order of code points.
    by_name.into_values().collect()
}

/// Adds what agents report: a new command, or words for one that has none.
pub fn with_reported(
    commands: &[SlashCommand],
    reported: impl IntoIterator<Item = SlashCommand>,
) -> Vec<SlashCommand> {
    let named = |command: &SlashCommand| (command.full_command.clone(), command.clone());
    let mut by_name: BTreeMap<String, SlashCommand> = commands.iter().map(named).collect();
    for command in reported {
        if command.command.is_empty() {
            continue;
        }
        match by_name.entry(command.full_command.clone()) {
            Entry::Occupied(mut known) => known.get_mut().enrich(&command),
            Entry::Vacant(free) => {
                free.insert(command);
            }
        }
    }
    by_name.into_values().collect()
}

/// A command file, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandFile<'a> {
    /// The text between the first two lines of `---`; `None` when it does not begin with one.
    pub front: Option<&'a str>,
    /// What follows.
    pub body: &'a str,
}

impl<'a> CommandFile<'a> {
    /// Takes a file's text apart. Lines end with LF or CR LF.
    pub fn parse(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let whole = Self {
            front: None,
            body: text,
        };
        let mut lines = text.split_inclusive('\n');
        let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
            return whole;
        };
        let mut end = first.len();
        for line in lines {
            let next = end + line.len();
            if line.trim_end() == "---" {
                return Self {
                    front: Some(&text[first.len()..end]),
                    body: &text[next..],
                };
            }
            end = next;
        }
        whole
    }

    /// The front matter as it goes to a reader of YAML: without the argument hint, whose
    /// `[brackets]` are no list.
    pub fn yaml(&self) -> String {
        let lines = self.front.unwrap_or_default().split_inclusive('\n');
        lines.filter(|line| raw_hint(line).is_none()).collect()
    }

    /// Fills in what the file says of `command`; `yaml` is its front matter as read, or `None`
    /// when that is no YAML. `None` when the command is not for people.
    pub fn describe(&self, mut command: SlashCommand, yaml: Option<Value>) -> Option<SlashCommand> {
        let front = match yaml {
            Some(Value::Object(members)) => members,
            Some(_) => Map::new(),
            None => self.plain(),
        };
        let is_for_people = front.get("user-invocable").map(text_of);
        if is_for_people.is_some_and(|word| word.eq_ignore_ascii_case("false")) {
            return None;
        }
        let hint = self
            .front
            .and_then(|front| front.lines().find_map(raw_hint));
        command.argument_hint = hint.map(unquoted).unwrap_or_default().to_owned();
        command.allowed_tools = front.get("allowed-tools").map(tools).unwrap_or_default();
        let described = front.get("description").map(text_of);
        command.description = match described.filter(|text| !text.is_empty()) {
            Some(text) => text,
            None => self.first_words(),
        };
        Some(command)
    }

    /// The front matter as plain `key: value` lines.
    fn plain(&self) -> Map<String, Value> {
        let lines = self.front.unwrap_or_default().lines();
        let pairs = lines.filter_map(|line| line.split_once(':'));
        pairs
            .map(|(key, value)| (key.trim().to_owned(), unquoted(value.trim()).into()))
            .collect()
    }

    /// The first line of the body that is not empty.
    fn first_words(&self) -> String {
        let mut lines = self.body.lines().map(str::trim);
        let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
        line.chars()
            .take(limits::COMMAND_FIRST_WORDS_CHARS)
            .collect()
    }
}

/// The text of an `argument-hint` line.
fn raw_hint(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("argument-hint")?.trim_start();
    Some(rest.strip_prefix(':')?.trim())
}

fn unquoted(text: &str) -> &str {
    let within = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.trim().to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A list of tools, or a text of them with commas between; a comma within parentheses belongs to
/// its tool.
fn tools(value: &Value) -> Vec<String> {
    let tools: Vec<String> = match value {
        Value::Array(items) => items.iter().map(text_of).collect(),
        other => {
            let mut depth = 0_usize;
            let is_between = |c: char| {
                match c {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                c == ',' && depth == 0
            };
            let text = text_of(other);
            text.split(is_between)
                .map(|tool| tool.trim().to_owned())
                .collect()
        }
    };
    tools.into_iter().filter(|tool| !tool.is_empty()).collect()
}
