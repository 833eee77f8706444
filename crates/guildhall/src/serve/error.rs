//! Why a server does not start or come to a good end, in one sentence each, and its exit code.

use std::{net::SocketAddr, path::PathBuf};

use guildhall_domain::{Fault, errors::FaultKind};
use guildhall_world::data_dir::DataDirError;

use crate::config::ConfigError;

/// Why the server did not start or run to a good end.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServeError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}")]
    InUse(String),
    #[error(transparent)]
    DataDir(DataDirError),
    #[error("the address {bind} cannot be used: {source}")]
    Bind {
        bind: SocketAddr,
        source: std::io::Error,
    },
    #[error(
        "the address {bind} cannot be used: {source}; an agent of a guildhall cannot listen on its \
         reserved ports, so choose others with --bind and --reserved-ports"
    )]
    Enclosed {
        bind: SocketAddr,
        source: std::io::Error,
    },
    #[error("this system cannot tell whose a connection is, and auth.peerCheck is required")]
    NoPeerCheck,
    #[error("the server cannot start: {fault}: {}", fault.source)]
    Fault { fault: Fault },
    #[error(
        "the server cannot start: its data is damaged ({}); `guildhall restore` lists the backups, \
         `guildhall restore latest` goes back to the newest and sets aside what is there",
        fault.source
    )]
    Damaged { fault: Fault },
    #[error(
        "the server cannot start: a restore did not come to its end; run `guildhall restore` again"
    )]
    Restoring,
    #[error(
        "the server cannot start: a restore began and could not come to its end ({fault}: {}); mend \
         that and start again, or take another backup: `guildhall restore` lists them",
        fault.source
    )]
    RestoreIncomplete { fault: Fault },
    #[error(
        "the server cannot start: a restore was asked for, and {} cannot be read ({source}); \
         `guildhall restore` lists the backups, `guildhall restore latest` goes back to the \
         newest{}",
        file.display(),
        match has_data {
            true => "; to start with the data as it is, remove that file",
            false => "",
        }
    )]
    RestoreRequest {
        file: PathBuf,
        source: std::io::Error,
        /// Whether data is there that a start without the restore would serve.
        has_data: bool,
    },
    #[error(
        "the server ended to restart from a backup and could not start again ({0}); start it, and \
         the restore goes on"
    )]
    Restart(std::io::Error),
    #[error("the server cannot start: {0}")]
    Io(#[from] std::io::Error),
}

impl ServeError {
    /// Exit code. Source: design of the command line: 2 wrong usage, 3 another server has the
    /// data folder, 4 the server failed.
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::NoPeerCheck => 2,
            Self::InUse(_) => 3,
            Self::DataDir(_)
            | Self::Bind { .. }
            | Self::Enclosed { .. }
            | Self::Fault { .. }
            | Self::Damaged { .. }
            | Self::Restoring
            | Self::RestoreIncomplete { .. }
            | Self::RestoreRequest { .. }
            | Self::Restart(_)
            | Self::Io(_) => 4,
        }
    }
}

impl From<Fault> for ServeError {
    fn from(fault: Fault) -> Self {
        match fault.kind {
            FaultKind::StoreDamaged => Self::Damaged { fault },
            _ => Self::Fault { fault },
        }
    }
}
