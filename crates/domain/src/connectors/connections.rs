//! Connections: external accounts that are signed in, and whether they can be used.
//! Source: contract 5.4, the fields of a connection.

use serde::{Deserialize, Serialize};

use super::toolkits::Slug;
use crate::{
    Moment,
    ids::{ConnectorConnectionId, ProviderId},
};

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// It can be used, unless something else stands against it.
    Connected,
    /// A person holds it.
    Paused,
    /// Its secrets are erased; what remains is a stone with its name.
    Disconnected,
}

impl Lifecycle {
    /// Every place with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Connected, "connected"),
        (Self::Paused, "paused"),
        (Self::Disconnected, "disconnected"),
    ];
}

/// What the service last said of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountStatus {
    /// It takes the credentials.
    Active,
    /// They ran out and could not be renewed.
    Expired,
    /// It no longer takes them.
    Revoked,
}

impl AccountStatus {
    /// Every status with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Active, "active"),
        (Self::Expired, "expired"),
        (Self::Revoked, "revoked"),
    ];
}

/// What became of the credentials at the service after they were erased here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cleanup {
    /// There is nothing to give back.
    NotRequired,
    /// They are being given back.
    Pending,
    /// The service took them back.
    Complete,
    /// It could not be reached, or said no.
    Failed,
}

impl Cleanup {
    /// Every outcome with its word.
    pub const WORDS: [(Self, &str); 4] = [
        (Self::NotRequired, "not_required"),
        (Self::Pending, "pending"),
        (Self::Complete, "complete"),
        (Self::Failed, "failed"),
    ];
}

/// Whether a connection can be used, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadinessState {
    /// Now.
    Ready,
    /// When somebody resumes it.
    Paused,
    /// When a person has signed in again.
    NeedsYou,
    /// When its provider instance is back.
    Unavailable,
    /// Never again.
    Gone,
}

impl ReadinessState {
    /// Every state with its word.
    pub const WORDS: [(Self, &str); 5] = [
        (Self::Ready, "ready"),
        (Self::Paused, "paused"),
        (Self::NeedsYou, "needs_you"),
        (Self::Unavailable, "unavailable"),
        (Self::Gone, "gone"),
    ];
}

/// Whether a connection can be used, why not, and the one thing that mends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    /// In one word.
    pub state: ReadinessState,
    /// Why not; `None` when it is ready.
    pub reason: Option<String>,
    /// What to do about it; `None` where nothing helps or nothing is needed.
    pub fix: Option<String>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its id.
    pub id: ConnectorConnectionId,
    /// The instance it goes through.
    pub provider_id: ProviderId,
    /// The service.
    pub toolkit: Slug,
    /// What people call it.
    pub label: String,
    /// What the service calls the account, where it says so.
    pub account_label: Option<String>,
    /// Where it is in its life.
    pub lifecycle: Lifecycle,
    /// What the service last said of the account.
    pub account_status: AccountStatus,
    /// Whether it is switched on.
    pub enabled: bool,
    /// What became of its credentials at the service.
    pub external_cleanup: Cleanup,
    /// How many grants rest on it.
    pub grant_count: u32,
    /// When it was made.
    pub created_at: Moment,
    /// When it was changed last.
    pub updated_at: Moment,
}
