//! Backups.

use axum::{
    Json,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use guildhall_domain::{
    callers::{Owner, OwnerInteractive},
    ids::BackupId,
};
use guildhall_hall::{Hall, backups};
use guildhall_wire::{
    backups::{Backup, BackupOutcome, Backups, SecondBackupFolder, VerifiedBackup},
    errors::ErrorEnvelope,
};

use crate::{errors::ApiResult, gates::By, path_ids::Path};

/// Bytes of a backup that are sent at once.
const CHUNK_BYTES: usize = 128 * 1024;

/// Lists the backups there are, the newest first, and what became of the last one.
#[utoipa::path(get, path = "/api/backups", tag = "operating", operation_id = "listBackups",
    responses((status = 200, body = Backups),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn list(State(hall): State<Hall>, By(by): By<Owner>) -> ApiResult<Json<Backups>> {
    let list = hall.backups(&by).await?;
    let last = list.last.map(|last| BackupOutcome {
        at: last.at,
        problem: last.problem,
    });
    Ok(Json(Backups {
        bytes_total: list.backups.iter().map(|backup| backup.bytes).sum(),
        bytes_max: list.bytes_max,
        last,
        second_folder: list.second_folder.map(second_folder),
        backups: list.backups.into_iter().map(Into::into).collect(),
    }))
}

/// The second folder on the wire.
pub(crate) fn second_folder(second: backups::SecondBackupFolder) -> SecondBackupFolder {
    SecondBackupFolder {
        folder: second.folder,
        is_copying: second.is_copying,
        at: second.at,
        problem: second.problem,
    }
}

/// Makes a backup now, and answers when it is made and checked. It is made to its end also when
/// the caller goes away. It is copied to the second folder afterwards, which nobody waits for.
#[utoipa::path(post, path = "/api/backups", tag = "operating", operation_id = "makeBackup",
    responses((status = 201, body = Backup),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 503, description = "STORE_DAMAGED", body = ErrorEnvelope),
        (status = 507, description = "STORAGE_FULL", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn make(
    State(hall): State<Hall>,
    By(by): By<Owner>,
) -> ApiResult<(StatusCode, Json<Backup>)> {
    let backup = hall.back_up(&by).await?;
    Ok((StatusCode::CREATED, Json(backup.into())))
}

/// Unpacks a backup and checks it from end to end, with the attachments it names.
#[utoipa::path(post, path = "/api/backups/{id}/verify", tag = "operating", operation_id = "verifyBackup",
    params(("id" = String, Path, description = "The backup")),
    responses((status = 200, body = VerifiedBackup),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "BACKUP_NOT_FOUND", body = ErrorEnvelope),
        (status = 507, description = "STORAGE_FULL", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn verify(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(backup): Path<BackupId>,
) -> ApiResult<Json<VerifiedBackup>> {
    let verified = hall.verify_backup(&by, backup).await?;
    Ok(Json(verified.into()))
}

/// A backup's copy of the data, compressed with Zstandard; the files of attachments are not in
/// it. Whoever has it reads every room.
#[utoipa::path(get, path = "/api/backups/{id}/file", tag = "operating", operation_id = "downloadBackup",
    params(("id" = String, Path, description = "The backup")),
    responses((status = 200, description = "An SQLite database, compressed", body = String, content_type = "application/zstd"),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "BACKUP_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn file(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(backup): Path<BackupId>,
) -> ApiResult<Response> {
    let opened = hall.backup_file(&by, backup).await?;
    let backup = &opened.backup;
    let when = backup.created_at.to_string();
    let day = when.split('T').next().unwrap_or_default();
    let name = format!(
        "attachment; filename=\"guildhall-{day}-{}.sqlite.zst\"",
        backup.id
    );
    let text = |text: &str| HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""));
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/zstd"),
        ),
        (header::CONTENT_LENGTH, HeaderValue::from(backup.bytes)),
        (header::CONTENT_DISPOSITION, text(&name)),
        (header::ETAG, text(&format!("\"{}\"", backup.sha256))),
    ];
    let chunks = stream::unfold(opened, |mut opened| async move {
        match opened.next(CHUNK_BYTES).await {
            Ok(part) if part.is_empty() => None,
            Ok(part) => Some((Ok(Bytes::from(part)), opened)),
            Err(error) => {
                tracing::warn!(?error, "the download of a backup ended early");
                let early = std::io::Error::other("the download ended early");
                Some((Err(early), opened))
            }
        }
    });
    Ok((headers, Body::from_stream(chunks)).into_response())
}
