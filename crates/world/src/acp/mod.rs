//! Speaking with a coding agent over the Agent Client Protocol, version 1 (JSON-RPC over stdio).
//! Starts the process under its keeper, bounds what it may send, and turns what it says into the
//! words of `domain`. What is done about what it says is `hall::session_registry`.
//!
//! The protocol itself is crate `agent-client-protocol`; nothing outside this module names it.

mod agent_connection;
mod codec;
mod elicitation_forms;
mod errors;
mod from_acp;
mod process;
mod reply;
mod session_registry;

use std::{fmt, path::PathBuf};

use guildhall_domain::{
    ids::AgentId,
    interactions::InteractionRequest,
    sessions::TurnOutcome,
    transcript::{PlanEntry, ToolCallPatch},
    usage::{Cost, TokenCounts},
};

pub use guildhall_domain::commands::AgentCommand;

/// The questions of a form by its JSON Schema, which tool servers write alike.
pub(crate) use self::elicitation_forms::questions_of as questions;
use self::errors::BEFORE_LAST_WORDS;
pub use self::{
    agent_connection::AgentConnection,
    errors::{AgentCallError, AgentExit, ExitCause, in_short},
    process::{AgentDriver, launch},
    reply::ResponseSlot,
};
use crate::{enclosure::Enclosure, process_guard::GuardCommand, process_tree::ProcessTrees};

/// How many things an agent said may wait for whoever listens; then it waits itself.
pub const SAID_MAX: usize = 16;

/// How to start one agent process.
#[derive(Clone)]
pub struct AgentLaunch {
    /// The program, a path or a name looked for in `PATH` of `env`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder it starts in; absolute.
    pub cwd: PathBuf,
    /// Its complete environment, see [`crate::process_environment`].
    pub env: Vec<(String, String)>,
    /// The program it is kept by.
    pub keeper: GuardCommand,
    /// What it is kept from.
    pub enclosure: Enclosure,
    /// The agent everything below the keeper counts as; `None` for a check of a runtime, whose
    /// processes then count as nobody.
    pub agent: Option<AgentId>,
    /// Where the keeper is entered before the agent takes its first step.
    pub trees: ProcessTrees,
}

impl fmt::Debug for AgentLaunch {
    /// Without the values of the environment and without arguments: both may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("program", &self.program)
            .field("cwd", &self.cwd)
            .field("env", &names(&self.env))
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

fn names(pairs: &[(String, String)]) -> Vec<&str> {
    pairs.iter().map(|(name, _)| name.as_str()).collect()
}

/// What an agent said of itself when it was greeted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCapabilities {
    /// The program's name; `""` when it told none.
    pub name: String,
    /// Its version; `""` when it told none.
    pub version: String,
    /// Whether it can load an old session, replaying its history.
    pub load_session: bool,
    /// Whether it can take up an old session without a replay.
    pub resume_session: bool,
    /// Whether it can close a session.
    pub close_session: bool,
    /// Whether a prompt may carry embedded context.
    pub embedded_context: bool,
    /// Whether a prompt may carry images.
    pub image: bool,
    /// Whether it connects to MCP servers over HTTP.
    pub mcp_http: bool,
    /// Whether it connects to MCP servers over server-sent events.
    pub mcp_sse: bool,
}

/// Which session to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// A new one.
    New,
    /// An old one by the agent's id, without its history: taken up where the agent offers that,
    /// else loaded with the replay dropped.
    Resume(String),
    /// An old one by the agent's id; its history is replayed as updates.
    Load(String),
}

/// A tool server a session connects to.
#[derive(Clone, PartialEq, Eq)]
pub enum SessionMcpServer {
    /// A program that speaks over its standard streams.
    Stdio {
        /// Its name for the agent.
        name: String,
        /// The program; absolute.
        command: PathBuf,
        /// Its arguments.
        args: Vec<String>,
        /// Variables beside the agent's own.
        env: Vec<(String, String)>,
    },
    /// An address.
    Http {
        /// Its name for the agent.
        name: String,
        /// Where it is.
        url: String,
        /// Headers to send along.
        headers: Vec<(String, String)>,
    },
}

impl fmt::Debug for SessionMcpServer {
    /// Without values, arguments and the address: each may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio {
                name, command, env, ..
            } => f
                .debug_struct("Stdio")
                .field("name", name)
                .field("command", command)
                .field("env", &names(env))
                .finish_non_exhaustive(),
            Self::Http { name, headers, .. } => f
                .debug_struct("Http")
                .field("name", name)
                .field("headers", &names(headers))
                .finish_non_exhaustive(),
        }
    }
}

/// A request for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSessionRequest {
    /// Its folder; absolute.
    pub cwd: PathBuf,
    /// Which one.
    pub how: OpenMode,
    /// The tool servers it connects to.
    pub mcp_servers: Vec<SessionMcpServer>,
}

/// A session the agent opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedSession {
    /// The agent's id of it.
    pub session: String,
    /// The modes it offers; empty when it has none, or has them as a config option.
    pub modes: Vec<NativeMode>,
    /// The mode in force, by modes or by the config option of category `mode`.
    pub current_mode: Option<String>,
    /// What can be set.
    pub options: Vec<ConfigOption>,
}

/// A mode as the agent names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeMode {
    /// Its id.
    pub id: String,
    /// What a person reads.
    pub name: String,
    /// More words, or `""`.
    pub description: String,
}

/// Something of a session that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigOption {
    /// Its id.
    pub id: String,
    /// What a person reads.
    pub name: String,
    /// `mode`, `model`, `thought_level`, the agent's own word, or `""`.
    pub category: String,
    /// What it is set to; `true` or `false` for a switch.
    pub current: String,
    /// What it may be set to.
    pub values: Vec<ConfigValue>,
}

/// One value of a [`ConfigOption`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue {
    /// What is set.
    pub value: String,
    /// What a person reads.
    pub name: String,
    /// More words, or `""`.
    pub description: String,
}

/// Which config option is meant. Source: contract 3.6.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionCategory {
    /// The permission mode, where it is a config option: category `mode`.
    Mode,
    /// Category `model`.
    Model,
    /// Category `thought_level` or `thinking`.
    Effort,
}

impl OptionCategory {
    /// Whether an option of `category` is meant.
    pub fn names(self, category: &str) -> bool {
        match self {
            Self::Mode => category == "mode",
            Self::Model => category == "model",
            Self::Effort => category == "thought_level" || category == "thinking",
        }
    }
}

/// The mode in force, where it is one of the options.
fn mode_of(options: &[ConfigOption]) -> Option<String> {
    let mode = options
        .iter()
        .find(|option| OptionCategory::Mode.names(&option.category));
    mode.map(|option| option.current.clone())
}

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptPart {
    /// What frames the message: where it comes from and who is there.
    Context(String),
    /// The message.
    Text(String),
}

/// How a prompt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptResult {
    /// Why.
    pub stop: TurnOutcome,
    /// What it used, as the agent reported; what the figures cover is the profile's to say.
    pub tokens: Option<TokenCounts>,
}

/// Something the agent said unasked.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a handful wait in a channel, and most are updates"
)]
pub enum AgentMessage {
    /// What happens in a session.
    Update {
        /// The agent's id of the session.
        session: String,
        /// What happens.
        update: AgentUpdate,
    },
    /// A question to a person.
    Ask {
        /// The agent's id of the session.
        session: String,
        /// What is asked.
        asked: InteractionRequest,
        /// What is told of the call it is about.
        call: Option<ToolCallPatch>,
        /// Where the answer goes; dropped, it answers "cancelled".
        reply: ResponseSlot,
    },
}

/// What happens in a session.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "each is taken apart as soon as it is heard"
)]
pub enum AgentUpdate {
    /// More words.
    Text(String),
    /// More thoughts.
    Thinking(String),
    /// Something of a tool call.
    ToolCall(ToolCallPatch),
    /// The plan, as a whole.
    Plan(Vec<PlanEntry>),
    /// The slash commands the agent knows, as a whole.
    Commands(Vec<AgentCommand>),
    /// The agent switched its mode.
    Mode(String),
    /// What can be set, as a whole.
    Options(Vec<ConfigOption>),
    /// The agent named the session; `""` takes the name away.
    Title(String),
    /// How full its context is, in tokens.
    Context {
        /// Tokens in it.
        used: u64,
        /// Tokens it holds.
        size: u64,
    },
    /// What the session cost so far.
    Cost(Cost),
    /// Something a person should know.
    Notice(String),
}

impl AgentUpdate {
    /// The mode that is in force from now on, where it says so.
    pub fn mode(&self) -> Option<String> {
        match self {
            Self::Mode(native) => Some(native.clone()),
            Self::Options(options) => mode_of(options),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), "hush".to_owned())]
    }

    #[test]
    fn what_is_printed_of_a_launch_holds_no_secret() {
        let launch = AgentLaunch {
            program: "agent".into(),
            args: vec!["--key=hush".to_owned()],
            cwd: "/work".into(),
            env: secret("API_KEY"),
            keeper: GuardCommand::own(),
            enclosure: Enclosure::disabled(),
            agent: None,
            trees: ProcessTrees::default(),
        };
        let stdio = SessionMcpServer::Stdio {
            name: "files".to_owned(),
            command: "server".into(),
            args: vec!["hush".to_owned()],
            env: secret("TOKEN"),
        };
        let http = SessionMcpServer::Http {
            name: "web".to_owned(),
            url: "https://example.org/?key=hush".to_owned(),
            headers: secret("Authorization"),
        };
        let printed = format!("{launch:?} {stdio:?} {http:?}");
        assert!(!printed.contains("hush"), "{printed}");
        assert!(printed.contains("API_KEY") && printed.contains("Authorization"));
    }

    #[test]
    fn last_words_are_no_part_of_the_short_reason() {
        let why = format!("it ended with exit code 3{BEFORE_LAST_WORDS}token hush");
        assert_eq!(in_short(&why), "it ended with exit code 3");
        assert_eq!(in_short("it: ended"), "it: ended");
    }
}
