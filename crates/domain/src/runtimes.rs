//! Runtimes: the programs agents run on, and what each can do.
//! Pure: programs are found and spoken to by `world::runtime_programs` and `world::acp`.
//! Source: contract 3.3, 3.4.

mod capabilities;
mod consent;
mod permission_modes;
mod profiles;
mod reported_capabilities;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

pub use capabilities::{Capabilities, RuntimeFeatures, SettingsSection, capabilities};
pub use consent::{is_valid, may_use};
pub use profiles::{
    DefinitionProblem, OPENCODE_CONFIG, REHEARSAL, RuntimeDefinition, RuntimeProfile,
    RuntimeProgram, TranscriptFormat, is_kind, profiles,
};
pub use reported_capabilities::{NativeMode, OptionValue, ReportedCapabilities, ReportedOption};

/// Where a turn stops in a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopPoint {
    /// It asks before it acts.
    Ask,
    /// It acts, and asks when it must.
    Act,
    /// It acts unattended.
    Autonomy,
}

/// When a mode asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptPolicy {
    /// Before every act.
    Always,
    /// Before a risky act.
    WhenRisky,
    /// Never.
    Never,
}

/// The furthest effect of a turn in a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

/// Whether a mode is a degree of trust or a way of working.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModePurpose {
    /// A degree of trust.
    Trust,
    /// A way of working, such as planning.
    Working,
}

/// How much a mode lets happen without a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutonomyLevel {
    /// Where a turn stops.
    pub stop: StopPoint,
    /// When it asks.
    pub asks: PromptPolicy,
    /// The furthest effect.
    pub reach: EffectReach,
}

impl AutonomyLevel {
    /// What a mode nobody knows counts as.
    pub const WIDEST: Self = Self {
        stop: StopPoint::Autonomy,
        asks: PromptPolicy::Never,
        reach: EffectReach::Everything,
    };

    /// Whether a person must have said that such a mode may be used. Source: contract 3.6.4.
    pub fn needs_consent(self) -> bool {
        self.stop == StopPoint::Autonomy
            || (self.asks == PromptPolicy::Never && self.reach != EffectReach::Read)
    }

    /// Whether it lets more happen than `other` does, in any respect.
    pub fn is_wider_than(self, other: Self) -> bool {
        self.stop > other.stop || self.asks > other.asks || self.reach > other.reach
    }
}

/// A permission mode of a runtime, with all its nine fields. Source: spec, "Runtime
/// capabilities entry"; contract 3.4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionMode {
    /// 1..64, `[A-Za-z0-9][A-Za-z0-9_.-]*`.
    pub id: String,
    /// What a person reads.
    pub label: String,
    /// More words.
    pub description: String,
    /// What can happen without a question, in one plain sentence.
    pub promise: String,
    /// The agent's own id of it.
    pub native: String,
    /// How much it lets happen.
    pub width: AutonomyLevel,
    /// A degree of trust, or a way of working.
    pub axis: ModePurpose,
}

impl StopPoint {
    /// Every value with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Ask, "ask"),
        (Self::Act, "act"),
        (Self::Autonomy, "autonomy"),
    ];
}

impl PromptPolicy {
    /// Every value with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Always, "always"),
        (Self::WhenRisky, "when-risky"),
        (Self::Never, "never"),
    ];
}

impl EffectReach {
    /// Every value with its word.
    pub const WORDS: [(Self, &str); 4] = [
        (Self::Read, "read"),
        (Self::Edit, "edit"),
        (Self::Workspace, "workspace"),
        (Self::Everything, "everything"),
    ];
}

impl ModePurpose {
    /// Every value with its word.
    pub const WORDS: [(Self, &str); 2] = [(Self::Trust, "trust"), (Self::Working, "working")];
}

/// Whether a runtime is there. Source: contract 3.3.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeStatus {
    /// Its type.
    pub kind: String,
    /// What a person reads.
    pub label: String,
    /// Whether agents can be bound to it.
    pub registered: bool,
    /// Whether its program is there.
    pub installed: bool,
    /// How it is started.
    pub command: String,
    /// Its version; `""` when nothing says.
    pub version: String,
    /// What is wrong, in a sentence; `""` when nothing is known to be.
    pub problem: String,
    /// How a person installs it; `""` when nobody has to.
    pub install_hint: String,
    /// When it was tried out last; `None` before.
    pub checked_at: Option<Timestamp>,
}
