//! What a runtime said of itself at its last successful start, as the store keeps it.

use serde::{Deserialize, Serialize};

/// The facts of the last successful initialize and session answer of a runtime.
///
/// Stored as JSON, so it changes only by adding. Source: contract 3.4.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReportedCapabilities {
    /// The agent's own version; `""` when it names none.
    pub agent_version: String,
    /// Whether it loads a session of before.
    pub load_session: bool,
    /// Whether it resumes a session of before.
    pub resume: bool,
    /// The modes it lists, as modes or as the options of category `mode`; empty when it has none.
    pub modes: Vec<NativeMode>,
    /// The mode it starts in, by its own id.
    pub current_mode: Option<String>,
    /// Its other options.
    pub options: Vec<ReportedOption>,
}

/// A mode in the agent's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NativeMode {
    /// The agent's id of it.
    pub id: String,
    /// Its name; may be `""`.
    pub name: String,
    /// More words; may be `""`.
    pub description: String,
}

/// An option an agent offers for its sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportedOption {
    /// The agent's id of it.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is about: `mode`, `model`, `thought_level` or another word; `""` when not told.
    pub category: String,
    /// Its value now.
    pub current: String,
    /// The values it takes.
    pub values: Vec<OptionValue>,
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OptionValue {
    /// What is sent.
    pub value: String,
    /// What a person reads.
    pub name: String,
}

/// The category of options that choose a mode.
const MODE: &str = "mode";
/// The category of options that choose a model.
const MODEL: &str = "model";
/// The categories of options that choose how hard an agent thinks.
const EFFORT: [&str; 2] = ["thought_level", "thinking"];

impl ReportedCapabilities {
    /// The modes the agent lists: its modes, else the values of its option of category `mode`.
    pub fn native_modes(&self) -> Vec<NativeMode> {
        if !self.modes.is_empty() {
            return self.modes.clone();
        }
        let option = self.option_of(&[MODE]);
        let values = option.map(|option| option.values.as_slice());
        let mode = |value: &OptionValue| NativeMode {
            id: value.value.clone(),
            name: value.name.clone(),
            description: String::new(),
        };
        values.unwrap_or_default().iter().map(mode).collect()
    }

    /// The models it offers; `None` when it lets none be chosen.
    pub fn models(&self) -> Option<Vec<&str>> {
        self.values_of(&[MODEL])
    }

    /// The degrees of effort it offers; `None` when it lets none be chosen.
    pub fn efforts(&self) -> Option<Vec<&str>> {
        self.values_of(&EFFORT)
    }

    fn values_of(&self, categories: &[&str]) -> Option<Vec<&str>> {
        let option = self.option_of(categories)?;
        Some(
            option
                .values
                .iter()
                .map(|value| value.value.as_str())
                .collect(),
        )
    }

    /// Whether it lets choose how hard it thinks.
    pub fn offers_effort(&self) -> bool {
        self.option_of(&EFFORT).is_some()
    }

    fn option_of(&self, categories: &[&str]) -> Option<&ReportedOption> {
        self.options
            .iter()
            .find(|option| categories.contains(&option.category.as_str()))
    }
}
