//! The file `guildhall.toml`: what it may hold, and which of that are settings.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use guildhall_domain::settings::{self, SettingSource, SettingValue};
use guildhall_hall::ConfiguredSettings;
use serde::Deserialize;

use super::{AuthArg, ConfigError, PeerCheckMode};

/// The file `guildhall.toml` in the data folder. An unknown key stops the start.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ConfigFile {
    pub(super) server: ServerTable,
    pub(super) auth: AuthTable,
    pub(super) browser: BrowserTable,
    pub(super) metrics: MetricsTable,
    pub(super) limits: LimitsTable,
    agents: toml::Table,
    cloud: toml::Table,
    files: toml::Table,
    rooms: toml::Table,
    pub(super) runtimes: toml::Table,
    storage: toml::Table,
    workbench: toml::Table,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub(super) struct ServerTable {
    pub(super) bind: Option<SocketAddr>,
    pub(super) reserved_ports: Option<String>,
    allowed_hosts: Option<toml::Value>,
    allowed_origins: Option<toml::Value>,
    public_url: Option<toml::Value>,
    trusted_proxies: Option<toml::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub(super) struct AuthTable {
    pub(super) mode: Option<AuthArg>,
    pub(super) peer_check: Option<PeerCheckMode>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub(super) struct BrowserTable {
    agent_origins: Option<toml::Value>,
    enabled: Option<toml::Value>,
    pub(super) executable: Option<PathBuf>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub(super) struct MetricsTable {
    pub(super) token: Option<String>,
}

impl std::fmt::Debug for MetricsTable {
    /// The token stays out of every log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsTable")
            .field("token", &self.token.is_some())
            .finish()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub(super) struct LimitsTable {
    pub(super) connections_max: Option<usize>,
    pub(super) requests_in_flight_max: Option<usize>,
    pub(super) streams_max: Option<usize>,
    pub(super) streams_per_human_max: Option<usize>,
    pub(super) streams_per_agent_max: Option<usize>,
}

impl ConfigFile {
    pub(super) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(source) => {
                return Err(ConfigError::File {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        // The parser's own display quotes the line, which may hold a secret.
        toml::from_str(&text).map_err(|error: toml::de::Error| {
            let before = error.span().map_or(0, |span| span.start);
            ConfigError::Toml {
                path: path.to_owned(),
                line: text
                    .get(..before)
                    .unwrap_or_default()
                    .lines()
                    .count()
                    .max(1),
                what: error.message().to_owned(),
            }
        })
    }

    /// The settings that the file names.
    pub(super) fn settings(&self) -> Result<ConfiguredSettings, ConfigError> {
        let tables = [
            ("agents", self.agents.clone()),
            ("browser", self.browser.settings()),
            ("cloud", self.cloud.clone()),
            ("files", self.files.clone()),
            ("rooms", self.rooms.clone()),
            ("runtimes", self.runtimes.clone()),
            ("server", self.server.settings()),
            ("storage", self.storage.clone()),
            ("workbench", self.workbench.clone()),
        ];
        let mut configured = ConfiguredSettings::new();
        for (table, values) in tables {
            for (name, value) in values {
                let key = format!("{table}.{name}");
                let fail = |problem: String| ConfigError::Setting {
                    key: key.clone(),
                    problem,
                };
                let setting = settings::find(&key).ok_or_else(|| fail("is unknown".to_owned()))?;
                let value =
                    value_of(value).ok_or_else(|| fail("has no fitting form".to_owned()))?;
                setting.check(&value).map_err(fail)?;
                configured.push((setting, SettingSource::File, value));
            }
        }
        Ok(configured)
    }
}

impl BrowserTable {
    /// What of it is a setting.
    fn settings(&self) -> toml::Table {
        named([
            ("agentOrigins", &self.agent_origins),
            ("enabled", &self.enabled),
        ])
    }
}

impl ServerTable {
    /// What of it is a setting.
    fn settings(&self) -> toml::Table {
        named([
            ("allowedHosts", &self.allowed_hosts),
            ("allowedOrigins", &self.allowed_origins),
            ("publicUrl", &self.public_url),
            ("trustedProxies", &self.trusted_proxies),
        ])
    }
}

/// Those that are there.
fn named<const N: usize>(values: [(&str, &Option<toml::Value>); N]) -> toml::Table {
    let there = values
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
    there.collect()
}

fn value_of(value: toml::Value) -> Option<SettingValue> {
    match value {
        toml::Value::Boolean(flag) => Some(SettingValue::Flag(flag)),
        toml::Value::Integer(number) => number.try_into().ok().map(SettingValue::Number),
        toml::Value::String(text) => Some(SettingValue::Text(text)),
        toml::Value::Array(items) => items
            .into_iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .map(SettingValue::Texts),
        toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}
