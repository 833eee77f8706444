//! Settings on the wire. Source: contract 1.12b.

use guildhall_domain::settings::{self, SettingValue, SettingsPatch};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// Who said what a setting is.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SettingSource {
    /// Nobody.
    Default,
    /// The configuration file.
    File,
    /// The environment.
    Env,
    /// The command line.
    Flag,
    /// A person, here.
    Stored,
}

impl From<settings::SettingSource> for SettingSource {
    fn from(source: settings::SettingSource) -> Self {
        match source {
            settings::SettingSource::Default => Self::Default,
            settings::SettingSource::File => Self::File,
            settings::SettingSource::Env => Self::Env,
            settings::SettingSource::Flag => Self::Flag,
            settings::SettingSource::Stored => Self::Stored,
        }
    }
}

/// One setting.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    /// Its name, dotted.
    #[schema(example = "rooms.maxAgentDepth")]
    pub key: String,
    /// What it is now: a boolean, a number, a text or a list of texts.
    #[schema(value_type = serde_json::Value, example = json!(30))]
    pub value: SettingValue,
    /// What it is unless it is set.
    #[schema(value_type = serde_json::Value, example = json!(30))]
    pub default: SettingValue,
    /// Who said so.
    pub source: SettingSource,
    /// Whether a change counts only from the next start on.
    pub restart_needed: bool,
    /// One sentence for a person.
    pub description: &'static str,
}

impl From<settings::EffectiveSetting> for Setting {
    fn from(current: settings::EffectiveSetting) -> Self {
        Self {
            key: current.setting.key.to_owned(),
            value: current.value,
            default: current.setting.default(),
            source: current.source.into(),
            restart_needed: current.setting.restart_needed,
            description: current.setting.description,
        }
    }
}

/// All settings.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Settings {
    /// By key.
    pub settings: Vec<Setting>,
}

impl From<Vec<settings::EffectiveSetting>> for Settings {
    fn from(all: Vec<settings::EffectiveSetting>) -> Self {
        Self {
            settings: all.into_iter().map(Into::into).collect(),
        }
    }
}

/// Changes settings: each key with its new value, or null to drop the stored one.
#[derive(Clone, Debug, ToSchema)]
#[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>,
    example = json!({"rooms.maxAgentDepth": 5}))]
pub struct UpdateSettings(pub SettingsPatch);

impl FromFields for UpdateSettings {
    fn read(fields: &mut Fields) -> Self {
        Self(fields.drain(|fields, key, json| {
            let value = match json {
                serde_json::Value::Null => None,
                json => Some(value(json).unwrap_or_else(|| {
                    fields.fail_field(
                        key,
                        "must be a boolean, a whole number, text or a list of texts",
                    );
                    SettingValue::Flag(false)
                })),
            };
            (key.to_owned(), value)
        }))
    }
}

fn value(json: serde_json::Value) -> Option<SettingValue> {
    match json {
        serde_json::Value::Bool(flag) => Some(SettingValue::Flag(flag)),
        serde_json::Value::Number(number) => number.as_u64().map(SettingValue::Number),
        serde_json::Value::String(text) => Some(SettingValue::Text(text)),
        serde_json::Value::Array(items) => items
            .into_iter()
            .map(|item| match item {
                serde_json::Value::String(text) => Some(text),
                _ => None,
            })
            .collect::<Option<_>>()
            .map(SettingValue::Texts),
        serde_json::Value::Null | serde_json::Value::Object(_) => None,
    }
}
