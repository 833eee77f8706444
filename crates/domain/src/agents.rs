//! Agents: the registry of coding agents, each bound to one folder and one runtime.
//! Pure: rows are `store::agents`, folders are `world::confined_fs`, deeds are `hall::agents`.

use serde::{Deserialize, Serialize};

use crate::{
    Refusal, Timestamp,
    authors::{Handle, empty_as_none},
    field_validation::FieldValidator,
    ids::{AgentId, AuthorId},
    limits,
};

/// When an agent answers in a room. Source: contract 2.2, 2.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseMode {
    /// Every post.
    Always,
    /// When named, and for a while after.
    Engaged,
    /// In a direct message, or when named.
    DirectOnly,
    /// When named.
    MentionOnly,
    /// Never.
    Silent,
}

impl ResponseMode {
    /// Every mode with its word.
    pub const WORDS: [(Self, &str); 5] = [
        (Self::Always, "always"),
        (Self::Engaged, "engaged"),
        (Self::DirectOnly, "direct-only"),
        (Self::MentionOnly, "mention-only"),
        (Self::Silent, "silent"),
    ];
}

/// Whether an agent can work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentState {
    /// Its runtime is there.
    Ready,
    /// Its runtime is not installed here, or not registered any more.
    RuntimeMissing,
    /// It was taken off the registry.
    Retired,
}

/// A registered agent, as the interface shows it. Source: contract 3.2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// The author it writes as.
    pub author_id: AuthorId,
    /// The author's handle, changed only there.
    #[serde(with = "empty_as_none")]
    pub handle: Option<Handle>,
    /// 1..64 characters.
    pub name: String,
    /// At most 500 characters.
    pub description: String,
    /// The runtime's type.
    pub runtime: String,
    /// Its working directory, absolute.
    pub cwd: String,
    /// What it does in a channel that says nothing else.
    pub response_mode: ResponseMode,
    /// For new sessions.
    pub permission_mode: String,
    /// For new sessions; `""` is the runtime's own.
    pub model: String,
    /// For new sessions; `""` is the runtime's own.
    pub effort: String,
    /// Whether its processes are kept from the owner's listeners and files.
    #[serde(default = "enclosed")]
    pub enclosed: bool,
    /// Ready, without a runtime, or retired.
    pub state: AgentState,
    /// Whether a process of it runs now.
    pub live_process: bool,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When a field last changed.
    pub updated_at: Timestamp,
}

/// For events that were written before this field existed.
fn enclosed() -> bool {
    true
}

/// A registration, as asked for.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// 1..64 characters after trimming.
    pub name: String,
    /// The runtime's type; the default runtime when absent.
    pub runtime: Option<String>,
    /// Absolute path of an existing folder.
    pub cwd: String,
    /// At most 500 characters.
    pub description: String,
    /// What it does in channels; `engaged` when absent.
    pub response_mode: Option<ResponseMode>,
    /// For new sessions; the runtime's default when absent.
    pub permission_mode: Option<String>,
    /// For new sessions.
    pub model: String,
    /// For new sessions.
    pub effort: String,
    /// Whether it becomes a member of `team`.
    pub join_team: bool,
    /// Whether the person acknowledged a mode that acts unattended.
    pub acknowledged_autonomy: bool,
}

impl NewAgent {
    /// An agent of which nothing but the name is asked for.
    pub fn named(name: String) -> Self {
        Self {
            name,
            runtime: None,
            cwd: String::new(),
            description: String::new(),
            response_mode: None,
            permission_mode: None,
            model: String::new(),
            effort: String::new(),
            join_team: true,
            acknowledged_autonomy: false,
        }
    }

    /// Checks the shape of every field.
    ///
    /// # Errors
    /// [`Refusal::Validation`] with all fields that are wrong.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        check_name(&mut check, &self.name);
        check.chars("cwd", &self.cwd, 1, limits::CWD_CHARS_MAX);
        if !self.cwd.is_empty() && !self.cwd.starts_with('/') {
            check.fail("cwd", "must be an absolute path");
        }
        check.chars(
            "description",
            &self.description,
            0,
            limits::AGENT_DESCRIPTION_CHARS_MAX,
        );
        check_options(&mut check, Some(&self.model), Some(&self.effort));
        check.finish()
    }
}

/// The changes an owner may make to an agent; absent leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct AgentPatch {
    /// 1..64 characters after trimming.
    pub name: Option<String>,
    /// At most 500 characters.
    pub description: Option<String>,
    /// What it does in channels.
    pub response_mode: Option<ResponseMode>,
    /// For new sessions.
    pub permission_mode: Option<String>,
    /// For new sessions.
    pub model: Option<String>,
    /// For new sessions.
    pub effort: Option<String>,
    /// Whether its processes are enclosed, from their next start on.
    pub enclosed: Option<bool>,
    /// Whether the person acknowledged a mode that acts unattended.
    pub acknowledged_autonomy: bool,
}

impl AgentPatch {
    /// Checks the shape of every given field.
    ///
    /// # Errors
    /// [`Refusal::Validation`] with all fields that are wrong.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        if let Some(name) = &self.name {
            check_name(&mut check, name);
        }
        if let Some(text) = &self.description {
            check.chars("description", text, 0, limits::AGENT_DESCRIPTION_CHARS_MAX);
        }
        check_options(&mut check, self.model.as_deref(), self.effort.as_deref());
        check.finish()
    }

    /// The agent after the change; whether it may have the new mode is asked before.
    ///
    /// # Errors
    /// [`Refusal::AgentRetired`].
    pub fn apply(&self, agent: &Agent) -> Result<Agent, Refusal> {
        if agent.state == AgentState::Retired {
            return Err(Refusal::AgentRetired);
        }
        let take = |new: &Option<String>, old: &String| new.clone().unwrap_or_else(|| old.clone());
        Ok(Agent {
            name: take(&self.name, &agent.name).trim().to_owned(),
            description: take(&self.description, &agent.description),
            response_mode: self.response_mode.unwrap_or(agent.response_mode),
            permission_mode: take(&self.permission_mode, &agent.permission_mode),
            model: take(&self.model, &agent.model),
            effort: take(&self.effort, &agent.effort),
            enclosed: self.enclosed.unwrap_or(agent.enclosed),
            ..agent.clone()
        })
    }
}

fn check_name(check: &mut FieldValidator, name: &str) {
    let range = limits::AGENT_NAME_CHARS;
    check.chars("name", name.trim(), *range.start(), *range.end());
    check.one_line("name", name);
}

fn check_options(check: &mut FieldValidator, model: Option<&str>, effort: Option<&str>) {
    for (field, text) in [("model", model), ("effort", effort)] {
        if let Some(text) = text {
            check.chars(field, text, 0, limits::AGENT_OPTION_CHARS_MAX);
            check.one_line(field, text);
        }
    }
}
