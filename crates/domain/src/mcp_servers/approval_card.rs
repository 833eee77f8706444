//! Cards: what a person is shown before a tool server is added, changed or removed.
//! Everything is shown as it will be used, and nothing that is secret. Source: contract 4.5.

use serde::{Deserialize, Serialize};

use super::{ConnectionConfig, McpServer, ProgramFiles, ServerName, Transport};
use crate::{agents::Agent, ids::AgentId};

/// Variables that decide which code runs; their values are shown.
const LOADS_CODE: [&str; 8] = [
    "PATH",
    "NODE_OPTIONS",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "RUBYOPT",
    "BASH_ENV",
    "ENV",
];
/// Families of such variables.
const LOADS_CODE_FAMILIES: [&str; 2] = ["LD_", "DYLD_"];
/// Programs that fetch what they run: the pin holds them, and not what they fetch.
const LAUNCHERS: [&str; 12] = [
    "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv", "pipx", "docker", "podman", "env",
];

/// One variable on a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CardVariable {
    /// Its name.
    pub name: String,
    /// Its value, only when it decides which code runs.
    pub value: Option<String>,
    /// Whether it does.
    pub loads_code: bool,
}

/// What a person is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerApprovalCard {
    /// The agent whose server it is.
    pub agent_id: AgentId,
    /// Its name.
    pub agent_name: String,
    /// The entry's name.
    pub name: ServerName,
    /// How it is spoken with.
    pub transport: Transport,
    /// The program, for stdio.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder it runs in, for stdio.
    pub cwd: Option<String>,
    /// The file the program is now.
    pub resolved_path: Option<String>,
    /// Its SHA-256.
    pub executable_sha256: Option<String>,
    /// The script it is given.
    pub script_path: Option<String>,
    /// Its SHA-256.
    pub script_sha256: Option<String>,
    /// Its variables.
    pub env: Vec<CardVariable>,
    /// The address, for http and sse.
    pub url: Option<String>,
    /// The headers that are sent, without their values.
    pub header_names: Vec<String>,
}

/// Where an entry lives.
#[derive(Clone, Copy, Debug)]
pub struct CardSubject<'a> {
    /// Its agent.
    pub agent: &'a Agent,
    /// The entry's name.
    pub name: &'a ServerName,
    /// What its program is now.
    pub program: Option<&'a ProgramFiles>,
}

impl ServerApprovalCard {
    /// The card of a server with this connection.
    pub fn of(place: CardSubject<'_>, connection: &ConnectionConfig) -> Self {
        let CardSubject {
            agent,
            name,
            program,
        } = place;
        let stdio = connection.stdio();
        let remote = connection.remote();
        let script = program.and_then(|program| program.script.as_ref());
        Self {
            agent_id: agent.id,
            agent_name: legible(&agent.name),
            name: name.clone(),
            transport: connection.transport(),
            command: stdio.map(|stdio| legible(&stdio.command)),
            args: stdio
                .map(|stdio| stdio.args.iter().map(|arg| legible(arg)).collect())
                .unwrap_or_default(),
            cwd: stdio.map(|_| legible(&agent.cwd)),
            resolved_path: program.map(|program| legible(&program.executable_path)),
            executable_sha256: program.map(|program| program.executable_sha256.clone()),
            script_path: script.map(|(path, _)| legible(path)),
            script_sha256: script.map(|(_, sha256)| sha256.clone()),
            env: stdio.map(variables).unwrap_or_default(),
            url: remote.map(|remote| legible(&remote.url)),
            header_names: remote
                .map(|remote| remote.headers.keys().cloned().collect())
                .unwrap_or_default(),
        }
    }
}

/// Why a person is asked, strictest last.
pub fn why(connection: &ConnectionConfig, program: Option<&ProgramFiles>) -> Vec<String> {
    let Some(stdio) = connection.stdio() else {
        return vec![
            "What the agent tells this server leaves the computer, or reaches a service on it."
                .to_owned(),
            "What this server answers is read by the agent.".to_owned(),
        ];
    };
    let mut why = vec!["It runs as you, in the agent's folder.".to_owned()];
    if program.is_none() {
        why.push("The program is not there now; when it appears you are asked again.".to_owned());
    }
    if is_launcher(&stdio.command) {
        why.push(
            "The program fetches what it runs: later changes of that are noticed only by its tools."
                .to_owned(),
        );
    }
    if stdio.env.keys().any(|name| loads_code(name)) {
        why.push("Its variables decide which code runs.".to_owned());
    }
    why
}

/// One sentence for a list of questions, at most 500 characters.
pub fn summary(deed: &str, agent: &Agent, entry: (&ServerName, &ConnectionConfig)) -> String {
    let (name, connection) = entry;
    let what = match (connection.stdio(), connection.remote()) {
        (Some(stdio), _) => {
            let words = std::iter::once(&stdio.command).chain(&stdio.args);
            words
                .map(|word| legible(word))
                .collect::<Vec<_>>()
                .join(" ")
        }
        (None, remote) => remote
            .map(|remote| legible(&remote.url))
            .unwrap_or_default(),
    };
    let whole = format!("{deed} {name} for {}: {what}", legible(&agent.name));
    match whole.char_indices().nth(SUMMARY_CHARS_MAX) {
        None => whole,
        Some(_) => {
            let kept: String = whole.chars().take(SUMMARY_CHARS_MAX - 1).collect();
            format!("{kept}…")
        }
    }
}

/// Characters of a summary. Source: contract 4.5.
const SUMMARY_CHARS_MAX: usize = 500;

/// What an entry is stored with, as the digest of a change to it sees it: the change is about
/// the entry as it was shown.
pub fn current_state(stored: &McpServer) -> serde_json::Value {
    serde_json::json!({"rev": stored.rev, "connection": stored.connection.to_plain_json()})
}

fn variables(stdio: &super::StdioConfig) -> Vec<CardVariable> {
    let variable = |(name, value): (&String, &super::SecretText)| {
        let loads_code = loads_code(name);
        CardVariable {
            name: name.clone(),
            value: value.reveal().filter(|_| loads_code).map(legible),
            loads_code,
        }
    };
    stdio.env.iter().map(variable).collect()
}

fn loads_code(name: &str) -> bool {
    LOADS_CODE.contains(&name)
        || LOADS_CODE_FAMILIES
            .iter()
            .any(|family| name.starts_with(family))
}

fn is_launcher(command: &str) -> bool {
    let name = command.rsplit('/').next().unwrap_or_default();
    LAUNCHERS.contains(&name)
}

/// The text with every character written out that would hide or turn what is read: control
/// characters, and those that change the direction of text or take no room.
pub fn legible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_deceptive(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}
