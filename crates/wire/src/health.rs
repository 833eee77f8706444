//! Health and readiness on the wire. Source: contract 1.12.

use guildhall_domain::{Timestamp, ids::LogId};
use serde::Serialize;
use utoipa::ToSchema;

/// The listener runs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Liveness {
    /// `ok`.
    #[schema(example = "ok")]
    pub status: &'static str,
}

/// Whether the server can work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Readiness {
    /// It can.
    Ready,
    /// It stops.
    Draining,
    /// Something hinders it.
    Degraded,
}

/// What readiness depends on; `ok` or a sentence.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReadinessChecks {
    /// The database.
    pub store: String,
    /// The disk.
    pub disk: String,
    /// The long-lived tasks.
    pub tasks: String,
    /// What agents are kept from. It does not change `status`.
    pub enclosure: EnclosureChecks,
}

/// What keeps the processes of agents from the owner's listeners and files; for each mechanism `ok`
/// or what follows from its lack, in a sentence.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EnclosureChecks {
    /// The server's ports.
    pub ports: String,
    /// The server's files.
    pub files: String,
    /// Processes outside.
    pub scopes: String,
    /// System calls that get around the rest.
    pub calls: String,
}

/// Readiness with its checks.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReadinessReport {
    /// Whether the server can work.
    pub status: Readiness,
    /// Only for the owner; `ok` or `not ok` for everybody else.
    pub checks: ReadinessChecks,
}

/// Whether the kernel is asked which OS user a connection belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PeerCheck {
    /// It is asked.
    On,
    /// The owner switched it off.
    Off,
    /// This system cannot tell.
    Unavailable,
}

/// What this server is.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// `guildhall`.
    #[schema(example = "guildhall")]
    pub name: &'static str,
    /// Its version.
    pub version: String,
    /// How callers are told apart; `local` or `login`.
    #[schema(example = "local")]
    pub mode: String,
    /// Whether a first account must be made; never in mode `local`.
    pub setup_required: bool,
    /// The event log's id.
    #[schema(value_type = String)]
    pub log_id: LogId,
    /// When it started.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// Whether the kernel is asked about connections.
    pub peer_check: PeerCheck,
}
