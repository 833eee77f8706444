//! What takes the disk, on the wire.

use guildhall_domain::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::backups::SecondBackupFolder;

/// What takes the disk that holds the data folder, and how much room there is.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Bytes of the disk.
    pub disk_bytes: u64,
    /// Bytes of it that the server may still write.
    pub free_bytes: u64,
    /// Free bytes below which nothing is added any more.
    pub free_bytes_min: u64,
    /// Whether the disk was full, so that the reserve was given back; nothing is added then until
    /// there is room for it again.
    pub is_reserve_released: bool,
    /// What takes it in the data folder.
    pub areas: Vec<StorageArea>,
    /// Whether there are more files than are counted, so that less is shown than is taken.
    pub is_partial: bool,
    /// When all attachments were last checked; null before the first time.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub attachments_checked_at: Option<Timestamp>,
    /// Digests of attachments found damaged then that could not be restored, at most a hundred.
    pub attachments_damaged: Vec<String>,
    /// The second folder of backups; null when none is set.
    #[schema(required = true)]
    pub second_backup_folder: Option<SecondBackupFolder>,
}

/// One part of the data folder.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageArea {
    /// Its name: `store`, `eventLog` (a part of the store), `writeAheadLog`, `attachments`,
    /// `uploads`, `backups`, `setAside`, `browserProfile`, `reserve` or `other`.
    #[schema(example = "attachments")]
    pub name: &'static str,
    /// Bytes it takes.
    pub bytes: u64,
    /// Bytes it may take; null where nothing sets that.
    #[schema(required = true)]
    pub bytes_max: Option<u64>,
    /// What bounds it, or removes what is old, as a sentence.
    pub bounded_by: &'static str,
}
