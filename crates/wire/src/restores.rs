//! Restores on the wire.

use guildhall_domain::{
    Timestamp,
    restores::{RevivedCredential as DomainCredential, RevivedDecision},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    backups::Backup,
    request_fields::{Fields, FromFields},
};

/// The server restarts from a backup.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreStarted {
    /// The backup; it was verified.
    pub backup: Backup,
    /// When the server that restarts was started; the next one says another moment in
    /// `GET /api/health`.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
}

/// What the last restore came to, if there was one.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LastRestore {
    /// Null before the first restore.
    #[schema(required = true)]
    pub restore: Option<Restore>,
}

/// What a restore came to.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Restore {
    /// When it came to its end.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The backup.
    pub backup: Backup,
    /// Why nothing was restored; null when it was.
    #[schema(required = true)]
    pub problem: Option<String>,
    /// Where the data of before is now; null when there was none.
    #[schema(required = true)]
    pub set_aside: Option<String>,
    /// Attachments that the backup names and that were not to be had whole.
    pub attachments_missing: u64,
    /// Credentials that count again, although they were ended after the backup, and are not
    /// decided yet; null when the data of before could not say.
    #[schema(required = true)]
    pub revived: Option<Vec<RevivedCredential>>,
    /// Kinds of credentials of which the data of before could not say which count again.
    #[schema(example = json!([]))]
    pub revived_unknown: Vec<&'static str>,
}

/// A credential that counts again, although it was ended after the backup was made.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RevivedCredential {
    /// What it is: `agentToken`, `apiKey`, `signIn`, `password` (the one of before a change),
    /// `account` or `trustedBrowsers`.
    #[schema(example = "agentToken")]
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// Its label or the account's address; for trusted browsers, how many they are.
    pub label: String,
    /// Whom it stands for; empty where the label says that.
    pub holder: String,
}

impl From<DomainCredential> for RevivedCredential {
    fn from(credential: DomainCredential) -> Self {
        Self {
            kind: credential.kind.word(),
            id: credential.id,
            label: credential.label,
            holder: credential.holder,
        }
    }
}

/// Decides about a revived credential.
#[derive(Clone, Debug, ToSchema)]
pub struct DecideRevived {
    /// `revoke` or `keep`. To revoke a password brings back the later one.
    #[schema(value_type = String, example = "revoke")]
    pub decision: RevivedDecision,
}

impl FromFields for DecideRevived {
    fn read(fields: &mut Fields) -> Self {
        Self {
            decision: fields.choice("decision", &RevivedDecision::WORDS, RevivedDecision::Keep),
        }
    }
}
