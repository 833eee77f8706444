//! Facts: how each agent differs from the others, measured with the pinned versions.

use serde_json::json;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallTreatment {
    /// A person is asked.
    Asks,
    /// It runs without a question.
    Runs,
    /// The agent refuses it by itself, or its sandbox does.
    Refused,
}

use CallTreatment::{Asks, Refused, Runs};

/// What is particular to one agent.
#[derive(Clone, Copy)]
pub(super) struct AgentDifferences {
    /// Rows that are about another agent, or about what this one has no way to do.
    pub(super) not_its_rows: &'static [u32],
    /// For each mode that is a degree of trust: what becomes of an edit and of a shell call.
    pub(super) modes: &'static [(&'static str, CallTreatment, CallTreatment)],
    /// A mode that needs a word, beyond those it reports at once, and the variable that brings it.
    pub(super) wide_mode: Option<(&'static str, Option<(&'static str, &'static str)>)>,
    /// Variables its own shell adds; a name that ends in `*` is a family.
    pub(super) own_variables: &'static [&'static str],
    /// The directive that writes a file in the working folder.
    pub(super) edit: fn(folder: &str, name: &str) -> String,
    /// Directives that leave the task `Read the notes` done and `Count the words` open.
    pub(super) tasks: &'static [&'static str],
    /// What it calls a tool of a tool server.
    pub(super) tool: fn(server: &str, tool: &str) -> String,
    /// Its own command line below its folder, and what stands before the prompt.
    pub(super) terminal: (&'static str, &'static [&'static str]),
}

pub(super) fn of(agent: &str) -> AgentDifferences {
    match agent {
        "claude-code" => CLAUDE_CODE,
        "codex" => CODEX,
        "opencode" => OPENCODE,
        other => panic!("nobody knows {other}"),
    }
}

const CLAUDE_CODE: AgentDifferences = AgentDifferences {
    not_its_rows: &[],
    modes: &[
        ("default", Asks, Asks),
        ("acceptEdits", Runs, Asks),
        // A model decides about the command, and the one of the tests gives no answer it can read.
        ("auto", Runs, Refused),
        ("dontAsk", Refused, Refused),
        ("bypassPermissions", Runs, Runs),
    ],
    // As root it is offered in a declared sandbox alone.
    wide_mode: Some(("bypassPermissions", Some(("IS_SANDBOX", "1")))),
    own_variables: &[
        "CLAUDECODE",
        "CLAUDE_*",
        "AI_AGENT",
        "GIT_EDITOR",
        "COREPACK_ENABLE_AUTO_PIN",
        "NoDefaultCurrentDirectoryInExePath",
    ],
    edit: |folder, name| {
        let input = json!({"file_path": format!("{folder}/{name}"), "content": "written\n"});
        format!("#call Write {input}")
    },
    tasks: &[
        r#"#call TaskCreate {"subject":"Read the notes","description":"All of them","activeForm":"Reading the notes"}"#,
        r#"#call TaskCreate {"subject":"Count the words","description":"One by one"}"#,
        r#"#call TaskUpdate {"taskId":"1","status":"completed","addBlocks":["2"]}"#,
    ],
    tool: |server, tool| format!("mcp__{server}__{tool}"),
    terminal: (
        "node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude",
        &["-p"],
    ),
};

const CODEX: AgentDifferences = AgentDifferences {
    // Its model is not offered tools that our own server lists only later, also not after the
    // session was taken up again.
    not_its_rows: &[15, 20],
    modes: &[
        // The sandbox keeps a plain command from writing; only one that wants out is asked about.
        ("read-only", Refused, Asks),
        ("workspace-write", Runs, Asks),
        // A model instead of a person decides about what wants out; the one of the tests allows it.
        ("agent", Runs, Runs),
        // What wants out of a sandbox that there is not is refused.
        ("agent-full-access", Runs, Refused),
    ],
    wide_mode: Some(("agent-full-access", None)),
    own_variables: &[
        "CODEX_*",
        "NO_COLOR",
        "TERM",
        "COLORTERM",
        "PAGER",
        "GIT_PAGER",
        "GH_PAGER",
        "LC_*",
        "npm_*",
    ],
    // It has no tool for edits with a model it does not know: it writes by a command.
    edit: |folder, name| {
        let input = json!({"cmd": format!("touch {folder}/{name}")});
        format!("#call exec_command {input}")
    },
    tasks: &[],
    tool: |server, tool| format!("mcp__{server}__{tool}"),
    terminal: (
        "node_modules/.bin/codex",
        &["exec", "--skip-git-repo-check"],
    ),
};

const OPENCODE: AgentDifferences = AgentDifferences {
    not_its_rows: &[15],
    modes: &[("build", Asks, Asks)],
    wide_mode: None,
    own_variables: &["OPENCODE*", "AGENT", "npm_*"],
    edit: |folder, name| {
        let input = json!({"filePath": format!("{folder}/{name}"), "content": "written\n"});
        format!("#call write {input}")
    },
    tasks: &[
        r#"#call todowrite {"todos":[{"content":"Read the notes","status":"completed","priority":"high","id":"1"},{"content":"Count the words","status":"pending","priority":"low","id":"2"}]}"#,
    ],
    tool: |server, tool| format!("{server}_{tool}"),
    terminal: ("node_modules/opencode-linux-x64/bin/opencode", &["run"]),
};
