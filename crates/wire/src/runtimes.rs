//! Runtimes on the wire. Source: contract 3.3.1.

use guildhall_domain::{Timestamp, runtimes};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// A runtime there can be, and whether it is there.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Runtime {
    /// Its type, `[a-z][a-z0-9-]{0,31}`.
    #[serde(rename = "type")]
    #[schema(example = "rehearsal")]
    pub kind: String,
    /// What a person reads; `rehearsal` says that it is scripted.
    #[schema(example = "Rehearsal (scripted)")]
    pub label: String,
    /// Whether agents can be bound to it: our own, configured, or installed.
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
    /// When it was tried out last; null before.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub checked_at: Option<Timestamp>,
}

impl From<runtimes::RuntimeStatus> for Runtime {
    fn from(status: runtimes::RuntimeStatus) -> Self {
        Self {
            kind: status.kind,
            label: status.label,
            registered: status.registered,
            installed: status.installed,
            command: status.command,
            version: status.version,
            problem: status.problem,
            install_hint: status.install_hint,
            checked_at: status.checked_at,
        }
    }
}

/// Tries a runtime out; it takes nothing.
#[derive(Clone, Copy, Debug)]
pub struct CheckRuntime;

impl FromFields for CheckRuntime {
    fn read(_fields: &mut Fields) -> Self {
        Self
    }
}

/// Every runtime there can be.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Runtimes {
    /// The built-in ones first, unregistered ones too.
    pub runtimes: Vec<Runtime>,
}

impl From<Vec<runtimes::RuntimeStatus>> for Runtimes {
    fn from(all: Vec<runtimes::RuntimeStatus>) -> Self {
        Self {
            runtimes: all.into_iter().map(Into::into).collect(),
        }
    }
}
