//! Configuration: flags over environment over the file `guildhall.toml` over defaults.

mod config_file;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use clap::{ArgMatches, Args, ValueEnum, parser::ValueSource};
use guildhall_domain::{
    callers::AuthMode,
    port_ranges::ReservedPorts,
    runtimes::RuntimeProfile,
    settings::{self, SettingSource, SettingValue},
};
use guildhall_hall::{AgentFolders, ConfiguredSettings, streams::StreamLimits};
use guildhall_http::listener::Limits;
use guildhall_world::{confined_fs::ConfinedFs, data_dir, os_users};
use serde::Deserialize;

use self::config_file::ConfigFile;
use crate::runtime_config;

/// What `guildhall serve` takes on its command line and from the environment.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on; only this computer with --auth local, port 0 picks a free one
    /// [default: 127.0.0.1:4747]
    #[arg(long, env = "GUILDHALL_BIND", value_name = "ADDRESS")]
    bind: Option<SocketAddr>,
    /// Ports that no agent reaches, beside 4740-4799; the same for every guildhall on a computer
    /// [default: 61000-64999]
    #[arg(long, env = "GUILDHALL_RESERVED_PORTS", value_name = "FIRST-LAST")]
    reserved_ports: Option<ReservedPorts>,
    /// Folder that holds everything this server keeps
    #[arg(long, env = "GUILDHALL_DATA_DIR", value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// How people are told apart: by the user of this computer, or by signing in
    /// [default: local; login where the system cannot tell whose a connection is]
    #[arg(long, env = "GUILDHALL_AUTH", value_enum)]
    auth: Option<AuthArg>,
    /// Whether the kernel is asked which user a connection belongs to [default: auto]
    #[arg(long, env = "GUILDHALL_PEER_CHECK", value_enum)]
    peer_check: Option<PeerCheckMode>,
    /// Further host names this server answers to
    #[arg(
        long = "allowed-host",
        env = "GUILDHALL_ALLOWED_HOSTS",
        value_name = "NAME",
        value_delimiter = ','
    )]
    allowed_hosts: Option<Vec<String>>,
    /// Further origins whose pages may call this server
    #[arg(
        long = "allowed-origin",
        env = "GUILDHALL_ALLOWED_ORIGINS",
        value_name = "ORIGIN",
        value_delimiter = ','
    )]
    allowed_origins: Option<Vec<String>>,
    /// Proxies before this server, by address or network, that say where a request comes from
    #[arg(
        long = "trusted-proxy",
        env = "GUILDHALL_TRUSTED_PROXIES",
        value_name = "NETWORK",
        value_delimiter = ','
    )]
    trusted_proxies: Option<Vec<String>>,
    /// Folders agents may work beneath [default: home, the temporary folder, the present one]
    #[arg(
        long = "root",
        env = "GUILDHALL_FILES_ROOTS",
        value_name = "FOLDER",
        value_delimiter = ','
    )]
    roots: Option<Vec<String>>,
    /// Ports on which previews of dev servers are shown [default: 4748-4779]
    #[arg(long, env = "GUILDHALL_PREVIEW_PORTS", value_name = "FIRST-LAST")]
    preview_ports: Option<String>,
    /// The cloud service this instance can be linked to [default: none]
    #[arg(long, env = "GUILDHALL_CLOUD_URL", value_name = "ADDRESS")]
    cloud_url: Option<String>,
    /// The program of the local browser, absolute [default: the first Chromium that is found]
    #[arg(long, env = "GUILDHALL_BROWSER", value_name = "FILE")]
    browser: Option<PathBuf>,
    /// The arguments that stand on the command line, by name; the others come from the environment.
    #[arg(skip)]
    flags: Vec<String>,
}

impl ServeArgs {
    /// The same, knowing which of its values stand on the command line.
    pub(crate) fn read_from(mut self, matches: &ArgMatches) -> Self {
        let is_flag = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        self.flags = matches
            .ids()
            .map(clap::Id::as_str)
            .filter(is_flag)
            .map(str::to_owned)
            .collect();
        self
    }

    /// The settings that flags and environment name.
    fn settings(&self) -> ConfiguredSettings {
        let source = |argument: &str| match self.flags.iter().any(|flag| flag == argument) {
            true => SettingSource::Flag,
            false => SettingSource::Env,
        };
        let texts = |setting, argument: &str, texts: &Option<Vec<String>>| {
            let texts = texts.clone()?;
            Some((setting, source(argument), SettingValue::Texts(texts)))
        };
        [
            texts(
                &settings::ALLOWED_HOSTS,
                "allowed_hosts",
                &self.allowed_hosts,
            ),
            texts(
                &settings::ALLOWED_ORIGINS,
                "allowed_origins",
                &self.allowed_origins,
            ),
            texts(
                &settings::TRUSTED_PROXIES,
                "trusted_proxies",
                &self.trusted_proxies,
            ),
            texts(&settings::FILES_ROOTS, "roots", &self.roots),
            self.preview_ports.clone().map(|ports| {
                let source = source("preview_ports");
                (&settings::PREVIEW_PORTS, source, SettingValue::Text(ports))
            }),
            self.cloud_url.clone().map(|url| {
                let source = source("cloud_url");
                (&settings::CLOUD_URL, source, SettingValue::Text(url))
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// How people are told apart. Source: contract 1.13, "Auth mode".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AuthArg {
    /// Whoever runs as your user on this computer is the owner.
    Local,
    /// People have accounts; the first one is the owner's.
    Login,
}

impl From<AuthArg> for AuthMode {
    fn from(auth: AuthArg) -> Self {
        match auth {
            AuthArg::Local => Self::Local,
            AuthArg::Login => Self::Login,
        }
    }
}

/// When the kernel is asked about connections. Source: contract 1.4, `auth.peerCheck`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PeerCheckMode {
    /// Where the kernel can tell.
    Auto,
    /// Always; without it the server does not start.
    Required,
    /// Never.
    Off,
}

/// Everything a server is started with; without `Debug`, because it holds a secret.
pub(crate) struct Config {
    /// Where it listens.
    pub(crate) bind: SocketAddr,
    /// The ports that no agent reaches.
    pub(crate) reserved: ReservedPorts,
    /// How people are told apart.
    pub(crate) mode: AuthMode,
    /// Its data folder.
    pub(crate) data_dir: PathBuf,
    /// When the kernel is asked about connections.
    pub(crate) peer_check: PeerCheckMode,
    /// The settings that file, environment and flags name.
    pub(crate) configured: ConfiguredSettings,
    /// The folders agents may work beneath, unless a setting names others.
    pub(crate) roots: Vec<PathBuf>,
    /// The runtimes there can be.
    pub(crate) runtimes: Vec<RuntimeProfile>,
    /// Where agents keep what is theirs.
    pub(crate) places: AgentFolders,
    /// What opens `/metrics` beside the owner.
    pub(crate) metrics_token: Option<String>,
    /// The bounds of the door.
    pub(crate) limits: Limits,
    /// How many streams may be open.
    pub(crate) streams: StreamLimits,
    /// The program of the local browser, when one is named.
    pub(crate) browser: Option<PathBuf>,
}

/// The address when none is given. Source: contract 1.13.
const BIND_DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4747);

/// Why the configuration cannot be used, in one sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("no data folder: set --data-dir, GUILDHALL_DATA_DIR or HOME")]
    NoDataDir,
    #[error("the configuration file {} cannot be read: {source}", .path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the configuration file {}, line {line}: {what}", .path.display())]
    Toml {
        path: PathBuf,
        line: usize,
        what: String,
    },
    #[error("the setting {key} {problem}")]
    Setting { key: String, problem: String },
    #[error(
        "the address {0} is reachable from other computers, which needs sign-in accounts; \
         start with --auth login, or listen on this computer alone (127.0.0.1 or [::1])"
    )]
    NotLoopback(SocketAddr),
}

/// The data folder that flags, environment or platform name.
pub(crate) fn data_dir_of(given: Option<PathBuf>) -> Result<PathBuf, ConfigError> {
    given
        .or_else(|| data_dir::default_path(folder("XDG_DATA_HOME"), home()))
        .ok_or(ConfigError::NoDataDir)
}

impl Config {
    /// Joins flags, environment, file and defaults; `is_peer_known` says whether this system can
    /// tell whose a connection is.
    pub(crate) fn load(args: &ServeArgs, is_peer_known: bool) -> Result<Self, ConfigError> {
        let data_dir = data_dir_of(args.data_dir.clone())?;
        let file = ConfigFile::read(&data_dir.join(data_dir::CONFIGURATION))?;
        Self::join(args, file, data_dir, is_peer_known)
    }

    fn join(
        args: &ServeArgs,
        mut file: ConfigFile,
        data_dir: PathBuf,
        is_peer_known: bool,
    ) -> Result<Self, ConfigError> {
        let bind = args.bind.or(file.server.bind).unwrap_or(BIND_DEFAULT);
        let mode = match args.auth.or(file.auth.mode) {
            Some(auth) => auth.into(),
            None if is_peer_known => AuthMode::Local,
            // Else every program of this computer would be the owner, and so every agent.
            None => AuthMode::Login,
        };
        if mode == AuthMode::Local && !bind.ip().is_loopback() {
            return Err(ConfigError::NotLoopback(bind));
        }
        let door = Limits::DEFAULT;
        let streams = StreamLimits::default();
        let runtimes = runtime_config::parse_profiles(&mut file.runtimes)?;
        let mut configured = file.settings()?;
        for (setting, source, value) in args.settings() {
            setting
                .check(&value)
                .map_err(|problem| ConfigError::Setting {
                    key: setting.key.to_owned(),
                    problem,
                })?;
            configured.retain(|(filed, ..)| filed.key != setting.key);
            configured.push((setting, source, value));
        }
        let reserved = match &file.server.reserved_ports {
            Some(text) => text.parse().map_err(|problem| ConfigError::Setting {
                key: "server.reservedPorts".to_owned(),
                problem,
            })?,
            None => ReservedPorts::default(),
        };
        Ok(Self {
            bind,
            reserved: args.reserved_ports.unwrap_or(reserved),
            mode,
            data_dir,
            peer_check: args
                .peer_check
                .or(file.auth.peer_check)
                .unwrap_or(PeerCheckMode::Auto),
            configured,
            roots: ConfinedFs::default_roots(home(), std::env::current_dir().ok()),
            places: places(&runtimes),
            runtimes,
            browser: args.browser.clone().or(file.browser.executable),
            metrics_token: std::env::var("GUILDHALL_METRICS_TOKEN")
                .ok()
                .or(file.metrics.token),
            limits: Limits {
                connections_max: file.limits.connections_max.unwrap_or(door.connections_max),
                requests_in_flight_max: file
                    .limits
                    .requests_in_flight_max
                    .unwrap_or(door.requests_in_flight_max),
                ..door
            },
            streams: StreamLimits {
                all: file.limits.streams_max.unwrap_or(streams.all),
                per_human: file
                    .limits
                    .streams_per_human_max
                    .unwrap_or(streams.per_human),
                per_agent: file
                    .limits
                    .streams_per_agent_max
                    .unwrap_or(streams.per_agent),
            },
        })
    }
}

/// Where agents keep what is theirs: where the configuration sends them, else where the
/// server's own environment does, since they get that too.
fn places(runtimes: &[RuntimeProfile]) -> AgentFolders {
    let of = |kind: &str, variable: &str| {
        let profile = runtimes.iter().find(|profile| profile.kind == kind);
        let set = profile.and_then(|profile| {
            let mut set = profile.env.iter().rev();
            set.find(|(name, _)| name == variable)
        });
        set.map(|(_, value)| PathBuf::from(value))
            .or_else(|| folder(variable))
    };
    AgentFolders::new(
        home(),
        of("claude-code", "CLAUDE_CONFIG_DIR"),
        of("codex", "CODEX_HOME"),
    )
}

/// Home, also where the environment does not say it. Source: contract 6.1.
fn home() -> Option<PathBuf> {
    folder("HOME").or_else(os_users::own_home)
}

fn folder(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
