//! Files: saving those that are there.

use axum::{Json, extract::State, http::StatusCode};
use guildhall_domain::{
    callers::{Gate, Owner},
    limits::FILE_SAVE_BODY_MAX,
};
use guildhall_hall::{
    Hall,
    files::{self, DocumentSaveRequest, SaveOutcome},
};
use guildhall_wire::{
    errors::ErrorEnvelope,
    files::{SaveFile, SavedFile, SetCheckbox},
};

use crate::{
    errors::ApiResult,
    gates::ByFileAccess,
    idempotency::{IdempotentBody, IdempotentRawBody},
};

/// Gives a file that is there other content; none is made.
///
/// With a baseline the save happens only while the file holds that; 409 brings what it holds, as
/// `currentHash` and `currentContent` beside `code`. The content is null where it is no text.
/// Mode, owner, access list, extended attributes and hard links stay.
///
/// Sent again with the same `Idempotency-Key`, a save is answered as then and touches nothing,
/// whatever the file holds by now.
///
/// Refused as everywhere with `FILE_SAVE_FAILED` (500), with `FILE_GATE_FULL`, `FILE_GATE_TIMEOUT`
/// or `SHUTTING_DOWN` (503), and with `STORAGE_FULL` (507).
#[utoipa::path(put, path = "/api/files/content", tag = "files", operation_id = "saveFile",
    request_body = SaveFile,
    responses((status = 200, body = SavedFile),
        (status = 400, description = "VALIDATION_FAILED, NULL_BYTE, INVALID_PATH, NOT_A_FILE", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY: documentSave, or a person's files; OUTSIDE_BOUNDARY, PERMISSION_DENIED, DOCUMENT_NOT_CHAT", body = ErrorEnvelope),
        (status = 404, description = "NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CONFLICT with currentHash and currentContent, DOC_EVENT_ID_CONFLICT, DOCUMENT_FILE_MISMATCH, DOCUMENT_INCARNATION_CHANGED, ROOM_ARCHIVED, NOT_A_MEMBER", body = ErrorEnvelope),
        (status = 412, description = "FILE_IDENTITY_CHANGED", body = ErrorEnvelope),
        (status = 413, description = "PAYLOAD_TOO_LARGE over 32 MiB, FILE_TOO_LARGE", body = ErrorEnvelope),
        (status = 415, description = "BINARY_FILE, NOT_UTF8", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn save(
    State(hall): State<Hall>,
    ByFileAccess(by): ByFileAccess,
    IdempotentRawBody { body, repeat }: IdempotentRawBody<FILE_SAVE_BODY_MAX>,
) -> ApiResult<Json<SavedFile>> {
    // The one gate that hangs on a field comes before anything is said of the others.
    let owner = match body.has_field("documentSave") {
        true => Some(Owner::admit(*by.caller())?),
        false => None,
    };
    let ask = from_wire(body.read()?, owner);
    let once = repeat.answered_by(|saved: &SaveOutcome| (StatusCode::OK, to_wire(saved.clone())));
    Ok(Json(to_wire(hall.save_file(&by, ask, once).await?)))
}

/// Sets one checkbox of a Markdown file; every other byte stays.
#[utoipa::path(post, path = "/api/files/checkbox", tag = "files", operation_id = "setCheckbox",
    request_body = SetCheckbox,
    responses((status = 200, body = SavedFile),
        (status = 400, description = "VALIDATION_FAILED, NULL_BYTE, INVALID_PATH, NOT_A_FILE, NOT_A_CHECKBOX", body = ErrorEnvelope),
        (status = 403, description = "OUTSIDE_BOUNDARY, PERMISSION_DENIED, OWNER_ONLY: a person's files", body = ErrorEnvelope),
        (status = 404, description = "NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CONFLICT with currentHash and currentContent", body = ErrorEnvelope),
        (status = 412, description = "FILE_IDENTITY_CHANGED", body = ErrorEnvelope),
        (status = 413, description = "FILE_TOO_LARGE", body = ErrorEnvelope),
        (status = 415, description = "BINARY_FILE, NOT_UTF8", body = ErrorEnvelope),
        (status = 500, description = "FILE_SAVE_FAILED", body = ErrorEnvelope),
        (status = 503, description = "FILE_GATE_FULL, FILE_GATE_TIMEOUT, SHUTTING_DOWN", body = ErrorEnvelope),
        (status = 507, description = "STORAGE_FULL", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn set_checkbox(
    State(hall): State<Hall>,
    ByFileAccess(by): ByFileAccess,
    IdempotentBody { ask, repeat }: IdempotentBody<SetCheckbox>,
) -> ApiResult<Json<SavedFile>> {
    let once = repeat.answered_by(|saved: &SaveOutcome| (StatusCode::OK, to_wire(saved.clone())));
    let ask = files::SetCheckbox {
        cwd: ask.cwd,
        path: ask.path,
        line: ask.line,
        expected_line: ask.expected_line,
        checked: ask.checked,
    };
    Ok(Json(to_wire(hall.set_checkbox(&by, ask, once).await?)))
}

fn from_wire(ask: SaveFile, owner: Option<Owner>) -> files::SaveFile {
    let baseline = ask.baseline();
    let document = owner.zip(ask.document_save).and_then(|(by, save)| {
        Some(DocumentSaveRequest {
            by,
            document: save.document_id,
            event: save.event_id,
            expected: save.expected_file_hash?,
            claimed: save.incarnation,
        })
    });
    files::SaveFile {
        cwd: ask.cwd,
        path: ask.path,
        content: ask.content,
        baseline,
        identity: ask.expected_identity,
        document,
    }
}

fn to_wire(saved: SaveOutcome) -> SavedFile {
    SavedFile {
        ok: true,
        hash: saved.hash,
        effect: saved.effect,
        identity: saved.identity,
        document_receipt: saved.receipt.map(Into::into),
    }
}
