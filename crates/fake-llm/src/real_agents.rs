//! Real agents: where the pinned ones are, and how each is set up to ask the model server.
//! An agent gets a throw-away HOME and folder, and an environment built from nothing.
//! Source: contract "Testing with coding agents" 4 and 5.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::MODEL;

/// The key that every agent is given.
const KEY: &str = "fake";

/// Tools of opencode that look, and need no question; all others ask.
const OPENCODE_LOOKS: [&str; 6] = ["read", "grep", "glob", "list", "todowrite", "todoread"];
/// Tools of opencode that act, by name: a rule for all is not enough where a project says otherwise.
const OPENCODE_ACTS: [&str; 7] = [
    "bash",
    "edit",
    "webfetch",
    "websearch",
    "task",
    "external_directory",
    "skill",
];

/// An agent as it is pinned.
#[derive(Clone, Debug)]
pub struct RealAgent {
    /// `claude-code`, `codex` or `opencode`.
    pub name: String,
    /// The pinned version.
    pub version: String,
    /// Where its program would be; it is missing until the agents are installed.
    pub program: PathBuf,
    /// What the program is started with.
    pub arguments: Vec<String>,
    /// Rows of the suite that it cannot do.
    pub expected_failures: Vec<u32>,
}

/// Every pinned agent, installed or not.
///
/// # Errors
/// When the pins cannot be read.
pub fn pinned() -> io::Result<Vec<RealAgent>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/agents/pins.toml");
    let table: toml::Table = fs::read_to_string(file)?
        .parse()
        .map_err(io::Error::other)?;
    let below = agents_folder();
    Ok(table
        .iter()
        .map(|(name, pin)| of_pin(name, pin, &below))
        .collect())
}

/// The agents to drive: all of them where they must be, else those that are installed, with a
/// line for each that is not.
///
/// # Errors
/// When the pins cannot be read, and when `CI` is `true` and an agent is missing.
#[allow(clippy::print_stderr, reason = "a test that did not run must be seen")]
pub fn installed() -> io::Result<Vec<RealAgent>> {
    let must = std::env::var_os("CI").is_some_and(|value| value == "true");
    let mut there = Vec::new();
    for agent in pinned()? {
        if agent.program.is_file() {
            there.push(agent);
        } else if must {
            return Err(io::Error::other(format!("{} is not installed", agent.name)));
        } else {
            eprintln!(
                "not run: {} is not installed (`cargo xtask agents install`)",
                agent.name
            );
        }
    }
    Ok(there)
}

/// Where the agents are installed: beside what cargo builds, this program among it.
fn agents_folder() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.ancestors().map(|folder| folder.join("agents"));
    let found = beside.into_iter().find(|folder| folder.is_dir());
    found.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/agents"))
}

fn of_pin(name: &str, pin: &toml::Value, below: &Path) -> RealAgent {
    let text = |key: &str| {
        pin.get(key)
            .and_then(toml::Value::as_str)
            .unwrap_or_default()
    };
    let list = |key: &str| {
        pin.get(key)
            .and_then(toml::Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let row = |row: &toml::Value| row.as_integer().and_then(|row| u32::try_from(row).ok());
    RealAgent {
        name: name.to_owned(),
        version: text("version").to_owned(),
        program: below.join(name).join(text("program")),
        arguments: list("arguments")
            .iter()
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect(),
        expected_failures: list("expected_failures").iter().filter_map(row).collect(),
    }
}

impl RealAgent {
    /// Writes the files it needs below `home` and `cwd`, and answers the variables that make it
    /// ask the model server at `llm` (`http://127.0.0.1:PORT`).
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn set_up(&self, home: &Path, cwd: &Path, llm: &str) -> io::Result<Vec<(String, String)>> {
        let own = home.join(&self.name).to_string_lossy().into_owned();
        fs::create_dir_all(&own)?;
        let variables = match self.name.as_str() {
            "claude-code" => vec![
                ("CLAUDE_CONFIG_DIR", own),
                ("ANTHROPIC_BASE_URL", llm.to_owned()),
                ("ANTHROPIC_AUTH_TOKEN", KEY.to_owned()),
                ("ANTHROPIC_MODEL", MODEL.to_owned()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                ("DISABLE_AUTOUPDATER", "1".to_owned()),
                ("DISABLE_TELEMETRY", "1".to_owned()),
            ],
            "codex" => {
                fs::write(Path::new(&own).join("config.toml"), codex_config(llm))?;
                vec![("CODEX_HOME", own), ("FAKE_KEY", KEY.to_owned())]
            }
            "opencode" => {
                fs::write(cwd.join("opencode.json"), opencode_config(llm).to_string())?;
                vec![
                    ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
                    ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
                    (
                        "OPENCODE_CONFIG_CONTENT",
                        opencode_permissions().to_string(),
                    ),
                ]
            }
            other => {
                return Err(io::Error::other(format!(
                    "nobody knows how to set up {other}"
                )));
            }
        };
        let named = |(name, value): (&str, String)| (name.to_owned(), value);
        Ok(variables.into_iter().map(named).collect())
    }

    /// Its command, with an environment built from nothing.
    ///
    /// # Errors
    /// When a file that it needs cannot be written.
    pub fn command(&self, home: &Path, cwd: &Path, llm: &str) -> io::Result<Command> {
        let variables = self.set_up(home, cwd, llm)?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(cwd)
            .env_clear()
            .env("HOME", home)
            .env("TMPDIR", home)
            .env("LANG", "C.UTF-8")
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(variables);
        Ok(command)
    }

    /// The mode in which it asks before it acts.
    pub fn asking_mode(&self) -> &'static str {
        match self.name.as_str() {
            "codex" => "read-only",
            "opencode" => "build",
            _ => "default",
        }
    }

    /// The directive for a call of its shell that it asks about in [`Self::asking_mode`].
    pub fn shell(&self, line: &str) -> String {
        let (tool, arguments) = match self.name.as_str() {
            "codex" => (
                "exec_command",
                // Without the escalation it runs in the sandbox and asks nobody.
                json!({"cmd": line, "sandbox_permissions": "require_escalated", "justification": "the test says so"}),
            ),
            "opencode" => ("bash", json!({"command": line, "description": "a test"})),
            _ => ("Bash", json!({"command": line, "description": "a test"})),
        };
        format!("#call {tool} {arguments}")
    }
}

fn codex_config(llm: &str) -> String {
    format!(
        "model = \"{MODEL}\"\n\
         model_provider = \"fake\"\n\
         approval_policy = \"on-request\"\n\
         sandbox_mode = \"workspace-write\"\n\
         [analytics]\n\
         enabled = false\n\
         [model_providers.fake]\n\
         name = \"fake\"\n\
         base_url = \"{llm}/v1\"\n\
         env_key = \"FAKE_KEY\"\n\
         wire_api = \"responses\"\n\
         requires_openai_auth = false\n"
    )
}

fn opencode_config(llm: &str) -> Value {
    let model =
        json!({"name": MODEL, "tool_call": true, "limit": {"context": 100_000, "output": 4_096}});
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": format!("{llm}/v1"), "apiKey": KEY},
        "models": {MODEL: model},
    });
    json!({
        "provider": {"fake": provider},
        "model": format!("fake/{MODEL}"),
        "small_model": format!("fake/{MODEL}"),
        "autoupdate": false,
        "share": "disabled",
    })
}

/// What makes opencode ask; it asks for nothing it was not told to.
fn opencode_permissions() -> Value {
    let acts = OPENCODE_ACTS.iter().map(|tool| (*tool, "ask"));
    let looks = OPENCODE_LOOKS.iter().map(|tool| (*tool, "allow"));
    let rules = std::iter::once(("*", "ask")).chain(acts).chain(looks);
    let rules = rules.map(|(tool, rule)| (tool.to_owned(), json!(rule)));
    json!({"permission": Value::Object(rules.collect())})
}
