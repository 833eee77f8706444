//! Where agents keep what is theirs in the home of the user they run as.

use std::path::PathBuf;

/// The folders of agents' own files; `None` where there is no home.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentFolders {
    /// The home of the server's user, absolute.
    pub home: Option<PathBuf>,
    /// What Claude Code keeps.
    pub claude_dir: Option<PathBuf>,
    /// What Codex keeps.
    pub codex_dir: Option<PathBuf>,
}

impl AgentFolders {
    /// The places beneath `home`, unless `claude_dir` or `codex_dir` name others.
    ///
    /// Source: contract 3.7, `CLAUDE_CONFIG_DIR` and `CODEX_HOME`.
    pub fn new(
        home: Option<PathBuf>,
        claude_dir: Option<PathBuf>,
        codex_dir: Option<PathBuf>,
    ) -> Self {
        let home = home.filter(|home| home.is_absolute());
        let beneath = |name: &str| home.as_ref().map(|home| home.join(name));
        let named = |folder: Option<PathBuf>| folder.filter(|folder| folder.is_absolute());
        Self {
            claude_dir: named(claude_dir).or_else(|| beneath(".claude")),
            codex_dir: named(codex_dir).or_else(|| beneath(".codex")),
            home,
        }
    }
}
