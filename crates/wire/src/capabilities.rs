//! What runtimes can do, on the wire. Source: spec, "Runtime capabilities entry"; contract 3.4.

use std::collections::BTreeMap;

use guildhall_domain::runtimes;
use serde::Serialize;
use utoipa::ToSchema;

/// Where a turn stops in a mode.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopPoint {
    /// It asks before it acts.
    Ask,
    /// It acts, and asks when it must.
    Act,
    /// It acts unattended.
    Autonomy,
}

impl From<runtimes::StopPoint> for StopPoint {
    fn from(stop: runtimes::StopPoint) -> Self {
        match stop {
            runtimes::StopPoint::Ask => Self::Ask,
            runtimes::StopPoint::Act => Self::Act,
            runtimes::StopPoint::Autonomy => Self::Autonomy,
        }
    }
}

/// When a mode asks.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptPolicy {
    /// Before every act.
    Always,
    /// Before a risky act.
    WhenRisky,
    /// Never.
    Never,
}

impl From<runtimes::PromptPolicy> for PromptPolicy {
    fn from(asks: runtimes::PromptPolicy) -> Self {
        match asks {
            runtimes::PromptPolicy::Always => Self::Always,
            runtimes::PromptPolicy::WhenRisky => Self::WhenRisky,
            runtimes::PromptPolicy::Never => Self::Never,
        }
    }
}

/// The furthest effect of a turn in a mode, once its asks are answered in the ordinary way.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EffectReach {
    /// It reads.
    Read,
    /// It changes files.
    Edit,
    /// It does anything within its folder.
    Workspace,
    /// It does anything.
    Everything,
}

impl From<runtimes::EffectReach> for EffectReach {
    fn from(reach: runtimes::EffectReach) -> Self {
        match reach {
            runtimes::EffectReach::Read => Self::Read,
            runtimes::EffectReach::Edit => Self::Edit,
            runtimes::EffectReach::Workspace => Self::Workspace,
            runtimes::EffectReach::Everything => Self::Everything,
        }
    }
}

/// Whether a mode is a degree of trust or a way of working.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModePurpose {
    /// A degree of trust.
    Trust,
    /// A way of working, such as planning.
    Working,
}

impl From<runtimes::ModePurpose> for ModePurpose {
    fn from(axis: runtimes::ModePurpose) -> Self {
        match axis {
            runtimes::ModePurpose::Trust => Self::Trust,
            runtimes::ModePurpose::Working => Self::Working,
        }
    }
}

/// A permission mode.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PermissionMode {
    /// 1..64, `[A-Za-z0-9][A-Za-z0-9_.-]*`.
    #[schema(example = "default")]
    pub id: String,
    /// What a person reads.
    pub label: String,
    /// More words.
    pub description: String,
    /// What can happen without a question, in one plain sentence.
    pub promise: String,
    /// The agent's own id of it; `""` where the agent is left as it starts.
    pub native: String,
    /// Where a turn stops.
    pub stop: StopPoint,
    /// When it asks.
    pub asks: PromptPolicy,
    /// The furthest effect of a turn.
    pub reach: EffectReach,
    /// A degree of trust, or a way of working.
    pub axis: ModePurpose,
}

impl From<runtimes::PermissionMode> for PermissionMode {
    fn from(mode: runtimes::PermissionMode) -> Self {
        Self {
            id: mode.id,
            label: mode.label,
            description: mode.description,
            promise: mode.promise,
            native: mode.native,
            stop: mode.width.stop.into(),
            asks: mode.width.asks.into(),
            reach: mode.width.reach.into(),
            axis: mode.axis.into(),
        }
    }
}

/// The permission modes of a runtime.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PermissionModes {
    /// Whether it has any: true.
    #[schema(example = true)]
    pub supported: bool,
    /// The id of the one that counts unless another is asked for; it is one of `values`.
    #[schema(example = "default")]
    pub default: String,
    /// The default first.
    pub values: Vec<PermissionMode>,
}

/// A part of a runtime's settings.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct SettingsSection {
    /// What it is about; a word nobody knows is passed over.
    pub kind: SectionKind,
}

/// What a part of a runtime's settings is about.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SectionKind {
    /// How it is started.
    Command,
    /// With which account it works.
    Account,
    /// Which address its model answers at.
    Endpoint,
    /// What it used.
    Usage,
}

impl From<runtimes::SettingsSection> for SectionKind {
    fn from(section: runtimes::SettingsSection) -> Self {
        match section {
            runtimes::SettingsSection::Command => Self::Command,
            runtimes::SettingsSection::Account => Self::Account,
            runtimes::SettingsSection::Endpoint => Self::Endpoint,
            runtimes::SettingsSection::Usage => Self::Usage,
        }
    }
}

/// The settings of a runtime.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeSettings {
    /// Its section's name.
    #[schema(example = "rehearsal")]
    pub config_section: String,
    /// Whether one can choose how hard it thinks.
    pub supports_effort: bool,
    /// What the section holds.
    pub sections: Vec<SettingsSection>,
}

/// What else is known of a runtime.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeFeatures {
    /// Whether it is a script and no model.
    #[schema(example = true)]
    pub scripted: bool,
    /// The version it named last; `""` when it named none.
    pub agent_version: String,
    /// What it writes on disk of its sessions: `none`, `claude-jsonl` or `codex-rollout`.
    #[schema(example = "none")]
    pub transcript: &'static str,
    /// Whether it hears why a call was denied: false, the protocol carries no reason.
    pub deny_reason: bool,
    /// Whether it takes words while a turn runs: false.
    pub steer: bool,
    /// Whether it said itself what it can do.
    pub probed: bool,
}

impl From<runtimes::RuntimeFeatures> for RuntimeFeatures {
    fn from(features: runtimes::RuntimeFeatures) -> Self {
        Self {
            scripted: features.scripted,
            agent_version: features.agent_version,
            transcript: features.transcript.as_str(),
            deny_reason: features.deny_reason,
            steer: features.steer,
            probed: features.probed,
        }
    }
}

/// What a runtime can do.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeCapabilities {
    /// The runtime's type.
    #[serde(rename = "type")]
    #[schema(example = "rehearsal")]
    pub kind: String,
    /// Whether a person is asked about its tool calls.
    pub supports_tool_approval: bool,
    /// Whether it tells what its turns cost.
    pub supports_cost_tracking: bool,
    /// Whether it goes on with a session of before.
    pub supports_resume: bool,
    /// Whether its sessions can use tool servers.
    pub supports_mcp: bool,
    /// Whether they use the tool servers that are managed here.
    pub supports_managed_mcp_servers: bool,
    /// Whether it asks questions with answers to choose from.
    pub supports_question_prompt: bool,
    /// Whether it takes plugins.
    pub supports_plugins: bool,
    /// Its permission modes.
    pub permission_modes: PermissionModes,
    /// Its settings.
    pub settings: RuntimeSettings,
    /// What else is known.
    pub features: RuntimeFeatures,
}

impl From<runtimes::Capabilities> for RuntimeCapabilities {
    fn from(entry: runtimes::Capabilities) -> Self {
        let section = |section| SettingsSection {
            kind: SectionKind::from(section),
        };
        Self {
            kind: entry.kind,
            supports_tool_approval: entry.supports_tool_approval,
            supports_cost_tracking: entry.supports_cost_tracking,
            supports_resume: entry.supports_resume,
            supports_mcp: entry.supports_mcp,
            supports_managed_mcp_servers: entry.supports_managed_mcp_servers,
            supports_question_prompt: entry.supports_question_prompt,
            supports_plugins: entry.supports_plugins,
            permission_modes: PermissionModes {
                supported: true,
                default: entry.default_mode,
                values: entry.modes.into_iter().map(Into::into).collect(),
            },
            settings: RuntimeSettings {
                config_section: entry.config_section,
                supports_effort: entry.supports_effort,
                sections: entry.sections.into_iter().map(section).collect(),
            },
            features: entry.features.into(),
        }
    }
}

/// What every registered runtime can do.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllCapabilities {
    /// By the runtime's type.
    pub capabilities: BTreeMap<String, RuntimeCapabilities>,
    /// The runtime of agents that name none.
    #[schema(example = "rehearsal")]
    pub default_runtime: String,
}

impl AllCapabilities {
    /// The answer with these entries.
    pub fn new(entries: Vec<runtimes::Capabilities>, default_runtime: String) -> Self {
        let entry = |entry: runtimes::Capabilities| (entry.kind.clone(), entry.into());
        Self {
            capabilities: entries.into_iter().map(entry).collect(),
            default_runtime,
        }
    }
}
