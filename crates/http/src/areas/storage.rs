//! What takes the disk.

use axum::{Json, extract::State};
use guildhall_domain::callers::Owner;
use guildhall_hall::Hall;
use guildhall_wire::{
    errors::ErrorEnvelope,
    storage::{Storage, StorageArea},
};

use super::backups::second_folder;
use crate::{errors::ApiResult, gates::By};

/// What takes the disk in the data folder, what bounds each part, and how much room there is.
#[utoipa::path(get, path = "/api/storage", tag = "operating", operation_id = "getStorage",
    responses((status = 200, body = Storage),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn get(State(hall): State<Hall>, By(by): By<Owner>) -> ApiResult<Json<Storage>> {
    let (storage, second) = (
        hall.storage(&by).await?,
        hall.second_backup_folder(&by).await?,
    );
    let areas = storage.areas.into_iter().map(|area| StorageArea {
        name: area.name,
        bytes: area.bytes,
        bytes_max: area.bytes_max,
        bounded_by: area.bounded_by,
    });
    Ok(Json(Storage {
        disk_bytes: storage.disk.total,
        free_bytes: storage.disk.free,
        free_bytes_min: storage.free_min,
        is_reserve_released: storage.is_reserve_released,
        areas: areas.collect(),
        is_partial: storage.is_partial,
        attachments_checked_at: storage.attachments_checked_at,
        attachments_damaged: storage.attachments_damaged,
        second_backup_folder: second.map(second_folder),
    }))
}
