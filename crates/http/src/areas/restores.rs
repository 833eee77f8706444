//! Restores: going back to a backup, and what is to be decided behind it.

use axum::{Json, extract::State};
use guildhall_domain::{
    callers::{Owner, OwnerInteractive},
    ids::BackupId,
    restores::RevivedKind,
};
use guildhall_hall::{Hall, RestoreRecord};
use guildhall_wire::{
    errors::ErrorEnvelope,
    restores::{DecideRevived, LastRestore, Restore, RestoreStarted},
};

use crate::{body::Body, errors::ApiResult, gates::By, path_ids::Path};

/// Restarts the server from a backup, once that was verified. The data of now is set aside and
/// never deleted, agents stop, and readers of the event log begin anew.
#[utoipa::path(post, path = "/api/backups/{id}/restore", tag = "operating", operation_id = "restoreBackup",
    params(("id" = String, Path, description = "The backup")),
    responses((status = 200, body = RestoreStarted),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "BACKUP_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "BACKUP_DAMAGED", body = ErrorEnvelope),
        (status = 507, description = "STORAGE_FULL", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn start(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(backup): Path<BackupId>,
) -> ApiResult<Json<RestoreStarted>> {
    let backup = hall.request_restore(&by, backup).await?;
    Ok(Json(RestoreStarted {
        backup: backup.into(),
        started_at: hall.started_at(),
    }))
}

/// What the last restore came to, and which credentials it made count again that nobody decided
/// about yet.
#[utoipa::path(get, path = "/api/restore", tag = "operating", operation_id = "getLastRestore",
    responses((status = 200, body = LastRestore),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn last(State(hall): State<Hall>, By(by): By<Owner>) -> ApiResult<Json<LastRestore>> {
    let restore = hall.last_restore(&by).await?.map(restore);
    Ok(Json(LastRestore { restore }))
}

/// Ends a credential again that a restore made count, or lets it count on; answers what is left to
/// decide.
#[utoipa::path(post, path = "/api/restore/revived/{id}", tag = "operating", operation_id = "decideRevivedCredential",
    params(("id" = String, Path, description = "The credential, as the last restore lists it")),
    request_body = DecideRevived,
    responses((status = 200, body = Restore),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "REVIVED_CREDENTIAL_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "LATER_PASSWORD_MISSING", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn decide(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    Path(id): Path<String>,
    Body(ask): Body<DecideRevived>,
) -> ApiResult<Json<Restore>> {
    let record = hall.decide_revived(&by, &id, ask.decision).await?;
    Ok(Json(restore(record)))
}

fn restore(record: RestoreRecord) -> Restore {
    let (revived, unknown) = (record.revived, record.revived_unknown.into_iter());
    Restore {
        at: record.at,
        backup: record.backup.into(),
        problem: record.problem,
        set_aside: record.set_aside.map(|folder| folder.display().to_string()),
        attachments_missing: record.attachments_missing,
        revived: revived.map(|all| all.into_iter().map(Into::into).collect()),
        revived_unknown: unknown.map(RevivedKind::word).collect(),
    }
}
