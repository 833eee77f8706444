//! Profiles: how each runtime is started and what is known of it beforehand.
//! The built-in ones are a table; the configuration changes them and adds others.
//! Source: contract 3.3.1.

use crate::usage::UsageScope;

/// The scripted runtime in our own binary.
pub const REHEARSAL: &str = "rehearsal";

/// The variable that carries opencode's configuration.
const OPENCODE_CONFIG_VARIABLE: &str = "OPENCODE_CONFIG_CONTENT";

/// The configuration that makes opencode ask: without it, it asks for nothing.
pub const OPENCODE_CONFIG: &str = concat!(
    r#"{"permission":{"*":"ask","#,
    r#""bash":"ask","edit":"ask","webfetch":"ask","websearch":"ask","task":"ask","#,
    r#""external_directory":"ask","skill":"ask","#,
    r#""read":"allow","grep":"allow","glob":"allow","list":"allow","#,
    r#""todowrite":"allow","todoread":"allow"}}"#,
);

/// The program behind a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuntimeProgram {
    /// Our own binary.
    Own,
    /// A command: an absolute path, or a name that is looked up on `PATH`.
    Command(String),
}

/// What a runtime writes on disk of its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptFormat {
    /// Nothing we read.
    None,
    /// Claude Code's JSON lines.
    ClaudeJsonl,
    /// Codex's rollout files.
    CodexRollout,
}

impl TranscriptFormat {
    /// Every kind with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::None, "none"),
        (Self::ClaudeJsonl, "claude-jsonl"),
        (Self::CodexRollout, "codex-rollout"),
    ];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClaudeJsonl => "claude-jsonl",
            Self::CodexRollout => "codex-rollout",
        }
    }
}

/// A runtime: how it is started and what is known of it beforehand.
#[derive(Clone, PartialEq, Eq)]
pub struct RuntimeProfile {
    /// Its type, `[a-z][a-z0-9-]{0,31}`.
    pub kind: String,
    /// What a person reads.
    pub label: String,
    /// What is started.
    pub program: RuntimeProgram,
    /// With these arguments.
    pub args: Vec<String>,
    /// Variables it is started with; values may be secret.
    pub env: Vec<(String, String)>,
    /// Variables of the server's own environment that are handed on when they are set.
    pub provider_variables: Vec<String>,
    /// How a person installs it; `""` when nobody has to.
    pub install_hint: String,
    /// What it writes on disk of its sessions.
    pub transcript: TranscriptFormat,
    /// The mode we set unless another is asked for; `""` leaves the agent as it starts.
    pub default_mode: String,
    /// What the figures at the end of a turn cover.
    pub usage_scope: UsageScope,
    /// Whether its sessions share the clients of their tool servers, so that each speaks with
    /// what the last one was handed.
    pub shares_servers: bool,
    /// Its section of the settings.
    pub config_section: String,
    /// Whether the configuration names it.
    pub is_configured: bool,
    /// Whether it stands in the shipped table.
    pub is_built_in: bool,
}

impl std::fmt::Debug for RuntimeProfile {
    /// The values of its variables stay out of every log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Profile")
            .field("kind", &self.kind)
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

impl RuntimeProfile {
    /// The command line as a person would write it, without our own binary's path.
    pub fn command_line(&self) -> String {
        let program = match &self.program {
            RuntimeProgram::Own => "guildhall",
            RuntimeProgram::Command(command) => command,
        };
        let words = std::iter::once(program).chain(self.args.iter().map(String::as_str));
        words.collect::<Vec<_>>().join(" ")
    }

    /// What a person is told when its program is not there.
    pub fn missing(&self) -> String {
        let command = match &self.program {
            RuntimeProgram::Own => "guildhall",
            RuntimeProgram::Command(command) => command,
        };
        match self.install_hint.as_str() {
            "" => format!("The command {command} is not found here."),
            hint => format!("The command {command} is not found here; install it with: {hint}"),
        }
    }
}

/// What the configuration says of one runtime; absent members leave the built-in one as it is.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RuntimeDefinition {
    /// Its type.
    pub kind: String,
    /// An absolute path, or a name that is looked up on `PATH`.
    pub command: Option<String>,
    /// Its arguments, all of them.
    pub args: Option<Vec<String>>,
    /// Variables beside the profile's own; values may be secret.
    pub env: Vec<(String, String)>,
    /// The mode we set unless another is asked for.
    pub default_mode: Option<String>,
}

impl std::fmt::Debug for RuntimeDefinition {
    /// The values of its variables stay out of every log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Definition")
            .field("kind", &self.kind)
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

/// What is wrong with a definition; `key` is the member's dotted name behind `runtimes.`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionProblem {
    /// Where.
    pub key: String,
    /// What, to stand behind the key in a sentence.
    pub problem: &'static str,
}

/// Whether `text` can be a runtime's type: `[a-z][a-z0-9-]{0,31}`.
pub fn is_kind(text: &str) -> bool {
    let rest = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    text.len() <= 32
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(rest)
}

/// Every runtime there can be: the built-in ones in the order of their table, as `definitions`
/// change them, then the others by type.
///
/// # Errors
/// The first thing wrong with a definition.
pub fn profiles(
    definitions: &[RuntimeDefinition],
) -> Result<Vec<RuntimeProfile>, DefinitionProblem> {
    let mut profiles: Vec<RuntimeProfile> = BUILT_IN.iter().map(ProfileRow::profile).collect();
    let mut definitions: Vec<&RuntimeDefinition> = definitions.iter().collect();
    definitions.sort_by(|one, other| one.kind.cmp(&other.kind));
    for definition in definitions {
        definition.check()?;
        match profiles
            .iter_mut()
            .find(|known| known.kind == definition.kind)
        {
            Some(known) => definition.change(known)?,
            None => profiles.push(definition.profile()?),
        }
    }
    Ok(profiles)
}

impl RuntimeDefinition {
    fn problem(&self, member: &str, problem: &'static str) -> DefinitionProblem {
        DefinitionProblem {
            key: format!("{}{member}", self.kind),
            problem,
        }
    }

    fn check(&self) -> Result<(), DefinitionProblem> {
        if !is_kind(&self.kind) {
            let grammar =
                "is no type of a runtime: a letter a-z, then at most 31 of a-z, 0-9 and -";
            return Err(self.problem("", grammar));
        }
        if self
            .command
            .as_deref()
            .is_some_and(|command| !is_command(command))
        {
            let shape = "must be an absolute path or the name of a command";
            return Err(self.problem(".command", shape));
        }
        if self.args.iter().flatten().any(|arg| arg.contains('\0')) {
            return Err(self.problem(".args", "must not hold the character U+0000"));
        }
        for (name, value) in &self.env {
            if !is_variable(name) || value.contains('\0') {
                return Err(self.problem(&format!(".env.{name}"), "is no environment variable"));
            }
            if name.starts_with("GUILDHALL_") {
                return Err(self.problem(&format!(".env.{name}"), "is set by guildhall itself"));
            }
        }
        let mode = self.default_mode.as_deref();
        if mode.is_some_and(|mode| !super::permission_modes::is_id(mode)) {
            return Err(self.problem(".default_mode", "is no id of a mode"));
        }
        Ok(())
    }

    fn change(&self, known: &mut RuntimeProfile) -> Result<(), DefinitionProblem> {
        known.is_configured = true;
        if let Some(command) = &self.command {
            known.program = RuntimeProgram::Command(command.clone());
        }
        if let Some(args) = &self.args {
            known.args.clone_from(args);
        }
        for (name, value) in &self.env {
            // Whoever takes these words away makes an agent that asks into one that does not.
            if name == OPENCODE_CONFIG_VARIABLE && known.env.iter().any(|(own, _)| own == name) {
                let problem = "is set by guildhall itself, so that the agent asks";
                return Err(self.problem(&format!(".env.{name}"), problem));
            }
            known.env.push((name.clone(), value.clone()));
        }
        if let Some(mode) = &self.default_mode {
            known.default_mode.clone_from(mode);
        }
        Ok(())
    }

    fn profile(&self) -> Result<RuntimeProfile, DefinitionProblem> {
        let command = self.command.clone();
        Ok(RuntimeProfile {
            kind: self.kind.clone(),
            label: self.kind.clone(),
            program: RuntimeProgram::Command(
                command.ok_or_else(|| self.problem(".command", "is missing"))?,
            ),
            args: self.args.clone().unwrap_or_default(),
            env: self.env.clone(),
            provider_variables: Vec::new(),
            install_hint: String::new(),
            transcript: TranscriptFormat::None,
            default_mode: self.default_mode.clone().unwrap_or_default(),
            // What the schema of the protocol says, of an agent nobody has measured.
            usage_scope: UsageScope::Session,
            shares_servers: false,
            config_section: self.kind.clone(),
            is_configured: true,
            is_built_in: false,
        })
    }
}

/// An absolute path, or a name without a folder.
fn is_command(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0') && (text.starts_with('/') || !text.contains('/'))
}

fn is_variable(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(fits)
}

/// A row of the shipped table.
struct ProfileRow {
    kind: &'static str,
    label: &'static str,
    /// `""` is our own binary.
    command: &'static str,
    args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    provider_variables: &'static [&'static str],
    install_hint: &'static str,
    transcript: TranscriptFormat,
    default_mode: &'static str,
    shares_servers: bool,
    config_section: &'static str,
}

impl ProfileRow {
    fn profile(&self) -> RuntimeProfile {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        RuntimeProfile {
            kind: self.kind.to_owned(),
            label: self.label.to_owned(),
            program: match self.command {
                "" => RuntimeProgram::Own,
                command => RuntimeProgram::Command(command.to_owned()),
            },
            args: texts(self.args),
            env: self
                .env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            provider_variables: texts(self.provider_variables),
            install_hint: self.install_hint.to_owned(),
            transcript: self.transcript,
            default_mode: self.default_mode.to_owned(),
            // The schema words the figures as a session's total; these adapters send the turn's.
            usage_scope: UsageScope::Turn,
            shares_servers: self.shares_servers,
            config_section: self.config_section.to_owned(),
            is_configured: false,
            is_built_in: true,
        }
    }
}

/// The shipped table. Source: contract 3.3.1.
const BUILT_IN: &[ProfileRow] = &[
    ProfileRow {
        kind: "claude-code",
        label: "Claude Code",
        command: "claude-agent-acp",
        args: &[],
        env: &[],
        provider_variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            "ANTHROPIC_SMALL_FAST_MODEL",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CONFIG_DIR",
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
        ],
        install_hint: "npm install -g @agentclientprotocol/claude-agent-acp",
        transcript: TranscriptFormat::ClaudeJsonl,
        default_mode: "default",
        shares_servers: false,
        config_section: "claudeCode",
    },
    ProfileRow {
        kind: "codex",
        label: "Codex",
        command: "codex-acp",
        args: &[],
        env: &[],
        provider_variables: &[
            "CODEX_API_KEY",
            "CODEX_HOME",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
        ],
        install_hint: "npm install -g @agentclientprotocol/codex-acp",
        transcript: TranscriptFormat::CodexRollout,
        default_mode: "read-only",
        shares_servers: false,
        config_section: "codex",
    },
    ProfileRow {
        kind: "gemini",
        label: "Gemini CLI",
        command: "gemini",
        args: &["--acp"],
        env: &[],
        provider_variables: &[
            "GEMINI_API_KEY",
            "GEMINI_CLI_HOME",
            "GEMINI_MODEL",
            "GEMINI_TELEMETRY_ENABLED",
            "GOOGLE_API_KEY",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_GENAI_USE_VERTEXAI",
            "NO_BROWSER",
        ],
        install_hint: "npm install -g @google/gemini-cli",
        transcript: TranscriptFormat::None,
        default_mode: "default",
        shares_servers: false,
        config_section: "gemini",
    },
    ProfileRow {
        kind: "opencode",
        label: "opencode",
        command: "opencode",
        args: &["acp"],
        env: &[(OPENCODE_CONFIG_VARIABLE, OPENCODE_CONFIG)],
        provider_variables: &[
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "OPENAI_API_KEY",
            "OPENCODE_API_KEY",
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "OPENROUTER_API_KEY",
        ],
        install_hint: "npm install -g opencode-ai",
        transcript: TranscriptFormat::None,
        default_mode: "build",
        // It keeps one client a folder and name.
        shares_servers: true,
        config_section: "opencode",
    },
    ProfileRow {
        kind: "qwen",
        label: "Qwen Code",
        command: "qwen",
        args: &["--acp"],
        env: &[],
        provider_variables: &[
            "DASHSCOPE_API_KEY",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "OPENAI_MODEL",
            "QWEN_TELEMETRY_ENABLED",
        ],
        install_hint: "npm install -g @qwen-code/qwen-code",
        transcript: TranscriptFormat::None,
        default_mode: "default",
        shares_servers: false,
        config_section: "qwen",
    },
    ProfileRow {
        kind: "vibe",
        label: "Mistral Vibe",
        command: "vibe-acp",
        args: &[],
        env: &[],
        provider_variables: &["MISTRAL_API_KEY", "VIBE_HOME"],
        install_hint: "pip install mistral-vibe",
        transcript: TranscriptFormat::None,
        default_mode: "ask",
        shares_servers: false,
        config_section: "vibe",
    },
    ProfileRow {
        kind: REHEARSAL,
        label: "Rehearsal (scripted)",
        command: "",
        args: &["rehearsal-agent"],
        env: &[],
        provider_variables: &[],
        install_hint: "",
        transcript: TranscriptFormat::None,
        default_mode: "default",
        shares_servers: false,
        config_section: "rehearsal",
    },
];

#[cfg(test)]
#[path = "profiles_tests.rs"]
mod tests;
