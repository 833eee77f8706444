//! Configuration: flags over environment over the file `guildhall.toml` over defaults.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use guildhall_domain::callers::AuthMode;
use guildhall_hall::streams::StreamLimits;
use guildhall_http::{listener::Limits, origin::Allowed};
use guildhall_world::{data_dir, folders::Folders};
use serde::Deserialize;

/// What `guildhall serve` takes on its command line and from the environment.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on; only this computer with --auth local, port 0 picks a free one
    /// [default: 127.0.0.1:4747]
    #[arg(long, env = "GUILDHALL_BIND", value_name = "ADDRESS")]
    bind: Option<SocketAddr>,
    /// Folder that holds everything this server keeps
    #[arg(long, env = "GUILDHALL_DATA_DIR", value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// How people are told apart: by the user of this computer, or by signing in
    /// [default: local]
    #[arg(long, env = "GUILDHALL_AUTH", value_enum)]
    auth: Option<Auth>,
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
    /// Folders agents may work beneath [default: home, the temporary folder, the present one]
    #[arg(
        long = "root",
        env = "GUILDHALL_FILES_ROOTS",
        value_name = "FOLDER",
        value_delimiter = ','
    )]
    roots: Option<Vec<PathBuf>>,
}

/// How people are told apart. Source: contract 1.13, "Auth mode".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Auth {
    /// Whoever runs as your user on this computer is the owner.
    Local,
    /// People have accounts; the first one is the owner's.
    Login,
}

impl From<Auth> for AuthMode {
    fn from(auth: Auth) -> Self {
        match auth {
            Auth::Local => Self::Local,
            Auth::Login => Self::Login,
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

/// The file `guildhall.toml` in the data folder. An unknown key stops the start.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    server: ServerTable,
    auth: AuthTable,
    files: FilesTable,
    metrics: MetricsTable,
    limits: LimitsTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
struct ServerTable {
    bind: Option<SocketAddr>,
    allowed_hosts: Option<Vec<String>>,
    allowed_origins: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
struct AuthTable {
    mode: Option<Auth>,
    peer_check: Option<PeerCheckMode>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
struct FilesTable {
    roots: Option<Vec<PathBuf>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
struct MetricsTable {
    token: Option<String>,
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
struct LimitsTable {
    connections_max: Option<usize>,
    requests_in_flight_max: Option<usize>,
    streams_max: Option<usize>,
    streams_per_human_max: Option<usize>,
    streams_per_agent_max: Option<usize>,
}

/// Everything a server is started with; without `Debug`, because it holds a secret.
pub(crate) struct Config {
    /// Where it listens.
    pub(crate) bind: SocketAddr,
    /// How people are told apart.
    pub(crate) mode: AuthMode,
    /// Its data folder.
    pub(crate) data_dir: PathBuf,
    /// When the kernel is asked about connections.
    pub(crate) peer_check: PeerCheckMode,
    /// Which hosts and origins it answers.
    pub(crate) allowed: Allowed,
    /// The folders agents may work beneath.
    pub(crate) roots: Vec<PathBuf>,
    /// What opens `/metrics` beside the owner.
    pub(crate) metrics_token: Option<String>,
    /// The bounds of the door.
    pub(crate) limits: Limits,
    /// How many streams may be open.
    pub(crate) streams: StreamLimits,
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
    /// Joins flags, environment, file and defaults.
    pub(crate) fn load(args: ServeArgs) -> Result<Self, ConfigError> {
        let data_dir = data_dir_of(args.data_dir.clone())?;
        let file = File::read(&data_dir.join(data_dir::CONFIGURATION))?;
        Self::join(args, file, data_dir)
    }

    fn join(args: ServeArgs, file: File, data_dir: PathBuf) -> Result<Self, ConfigError> {
        let bind = args.bind.or(file.server.bind).unwrap_or(BIND_DEFAULT);
        let mode = args.auth.or(file.auth.mode).unwrap_or(Auth::Local).into();
        if mode == AuthMode::Local && !bind.ip().is_loopback() {
            return Err(ConfigError::NotLoopback(bind));
        }
        let roots = args.roots.or(file.files.roots);
        let door = Limits::DEFAULT;
        let streams = StreamLimits::default();
        let mut hosts = args
            .allowed_hosts
            .or(file.server.allowed_hosts)
            .unwrap_or_default();
        // Where it listens, it answers.
        hosts.push(match bind {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        });
        Ok(Self {
            bind,
            mode,
            data_dir,
            peer_check: args
                .peer_check
                .or(file.auth.peer_check)
                .unwrap_or(PeerCheckMode::Auto),
            allowed: Allowed {
                hosts,
                origins: args
                    .allowed_origins
                    .or(file.server.allowed_origins)
                    .unwrap_or_default(),
            },
            roots: roots
                .unwrap_or_else(|| Folders::default_roots(home(), std::env::current_dir().ok())),
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

impl File {
    fn read(path: &Path) -> Result<Self, ConfigError> {
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
}

fn home() -> Option<PathBuf> {
    folder("HOME")
}

fn folder(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(args: ServeArgs, file: &str) -> Result<Config, ConfigError> {
        Config::join(args, toml::from_str(file).unwrap(), PathBuf::from("/data"))
    }

    #[test]
    fn flags_come_before_the_file_and_the_file_before_defaults() {
        let plain = join(ServeArgs::default(), "").unwrap();
        assert_eq!(plain.bind.to_string(), "127.0.0.1:4747");
        let filed = "[server]\nbind = \"127.0.0.1:1\"\nallowedHosts = [\"dev.test\"]\n[limits]\nstreamsMax = 7";
        let from_file = join(ServeArgs::default(), filed).unwrap();
        assert_eq!(from_file.bind.port(), 1);
        assert_eq!(from_file.allowed.hosts, ["dev.test", "127.0.0.1"]);
        assert_eq!(from_file.streams.all, 7);
        let args = ServeArgs {
            bind: Some(([127, 0, 0, 1], 2).into()),
            ..ServeArgs::default()
        };
        assert_eq!(join(args, filed).unwrap().bind.port(), 2);
    }

    #[test]
    fn no_other_computer_is_let_in_without_accounts() {
        for address in ["0.0.0.0:4747", "192.168.0.2:1", "[::]:4747"] {
            let args = ServeArgs {
                bind: Some(address.parse().unwrap()),
                ..ServeArgs::default()
            };
            assert!(
                matches!(join(args, ""), Err(ConfigError::NotLoopback(_))),
                "{address}"
            );
        }
        for address in ["127.0.0.2:4747", "[::1]:4747"] {
            let args = ServeArgs {
                bind: Some(address.parse().unwrap()),
                ..ServeArgs::default()
            };
            assert!(join(args, "").is_ok(), "{address}");
        }
    }

    #[test]
    fn with_accounts_any_address_may_be_listened_on_and_answers_to_its_own_name() {
        let filed = "[auth]\nmode = \"login\"\n[server]\nbind = \"192.168.0.2:1\"\nallowedHosts = [\"hall.test\"]";
        let config = join(ServeArgs::default(), filed).unwrap();
        assert_eq!(config.mode, AuthMode::Login);
        assert_eq!(config.allowed.hosts, ["hall.test", "192.168.0.2"]);
        let args = ServeArgs {
            auth: Some(Auth::Local),
            ..ServeArgs::default()
        };
        let refused = join(args, filed);
        assert!(matches!(refused, Err(ConfigError::NotLoopback(_))));
        let plain = join(ServeArgs::default(), "").unwrap();
        assert_eq!(plain.mode, AuthMode::Local);
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = toml::from_str::<File>("[server]\nbindd = 1").unwrap_err();
        assert!(error.to_string().contains("bindd"));
    }
}
