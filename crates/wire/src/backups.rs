//! Backups on the wire.

use guildhall_domain::{
    Timestamp, backups,
    ids::{BackupId, LogId},
};
use serde::Serialize;
use utoipa::ToSchema;

/// A backup of everything the server keeps.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// Its id.
    #[schema(value_type = String)]
    pub id: BackupId,
    /// When it was begun; it holds what was committed until then.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Why it was made: `scheduled`, `manual` or `beforeMigration`.
    #[schema(example = "scheduled")]
    pub reason: &'static str,
    /// Bytes of its compressed file.
    pub bytes: u64,
    /// The SHA-256 of its compressed file.
    pub sha256: String,
    /// Attachments it names; their files are kept once beside all backups.
    pub attachments: u64,
    /// The event log it continues.
    #[schema(required = true, value_type = Option<String>)]
    pub log_id: Option<LogId>,
    /// The schema's version.
    pub schema_version: u32,
    /// Seq of its newest event.
    pub event_seq: u64,
    /// Entries of all rooms.
    pub entries: u64,
}

impl From<backups::Backup> for Backup {
    fn from(backup: backups::Backup) -> Self {
        Self {
            id: backup.id,
            created_at: backup.created_at,
            reason: backup.reason.as_str(),
            bytes: backup.bytes,
            sha256: backup.sha256,
            attachments: backup.attachments,
            log_id: backup.holds.log_id,
            schema_version: backup.holds.schema_version,
            event_seq: backup.holds.event_seq,
            entries: backup.holds.entries,
        }
    }
}

/// What the making of a backup came to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BackupOutcome {
    /// When it was begun.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Why there is none; null when it was made.
    #[schema(required = true)]
    pub problem: Option<String>,
}

/// A second folder to which every backup is copied.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecondBackupFolder {
    /// Its path, from the setting `storage.backupFolder`.
    pub folder: String,
    /// Whether backups are being copied there, or are about to be.
    pub is_copying: bool,
    /// When copying last came to an end; null before the first time since the start.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub at: Option<Timestamp>,
    /// Why the backups were not all there then; null when they were.
    #[schema(required = true)]
    pub problem: Option<String>,
}

/// The backups there are.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backups {
    /// The newest first.
    pub backups: Vec<Backup>,
    /// Bytes of their compressed files together.
    pub bytes_total: u64,
    /// Bytes they may take together.
    pub bytes_max: u64,
    /// What the last one since the start came to; null before the first.
    #[schema(required = true)]
    pub last: Option<BackupOutcome>,
    /// The second folder; null when none is set.
    #[schema(required = true)]
    pub second_folder: Option<SecondBackupFolder>,
}

/// What verifying a backup found.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedBackup {
    /// Whether the backup can be restored with all it names.
    pub is_whole: bool,
    /// What is wrong with its copy of the data; null when that is whole.
    #[schema(required = true)]
    pub problem: Option<String>,
    /// Attachments it names, each of which was looked for and read.
    pub attachments_checked: u64,
    /// Those of them whose files are missing or hold other bytes.
    pub attachments_damaged: u64,
    /// Those of them whose files are missing.
    pub attachments_missing: u64,
    /// The backup.
    pub backup: Backup,
}

impl From<backups::VerifiedBackup> for VerifiedBackup {
    fn from(verified: backups::VerifiedBackup) -> Self {
        Self {
            is_whole: verified.is_whole(),
            problem: verified.problem,
            attachments_checked: verified.attachments_checked,
            attachments_damaged: verified.attachments_damaged,
            attachments_missing: verified.attachments_missing,
            backup: verified.backup.into(),
        }
    }
}
