//! The canvas of a session: its documents and who edits them. It has neither members nor an
//! archive, and no threads. What is answered is that of `canvas`. Source: contract 2.5.

use axum::{Json, extract::State, http::StatusCode};
use guildhall_domain::{
    callers::{AnyCaller, Owner},
    canvas::CanvasScope,
    ids::DocumentId,
};
use guildhall_hall::Hall;
use guildhall_wire::{
    canvas::{
        CanvasDocument, CanvasDocuments, DocumentEditor, EditDocument, OpenDocument,
        ReloadDocument, ReloadedDocument, UpdateDocument,
    },
    errors::ErrorEnvelope,
};

use super::canvas::{edited, listed, one, opened, reloaded, revised};
use crate::{
    body::Body,
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    path_ids::{Path, SessionPath},
    preconditions::IfMatch,
    responses::{ReadResponse, RevisedResponse},
};

/// Lists a session's documents in their order, the front one first.
///
/// People see every session's, an agent those of its own.
#[utoipa::path(get, path = "/api/sessions/{id}/canvas", tag = "canvas", operation_id = "listSessionCanvas",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, body = CanvasDocuments),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    SessionPath(session): SessionPath,
) -> ApiResult<ReadResponse<CanvasDocuments>> {
    listed(&hall, &by, CanvasScope::Session(session)).await
}

/// Opens a document in front of the others; what was opened before is opened again.
///
/// A file must lie beneath an allowed folder, an agent's in its working directory.
/// A session keeps 12 documents that are not pinned; the last ones make place.
#[utoipa::path(post, path = "/api/sessions/{id}/canvas", tag = "canvas", operation_id = "openSessionDocument",
    params(("id" = String, Path, description = "The session")),
    request_body = OpenDocument,
    responses((status = 201, body = CanvasDocument),
        (status = 200, description = "Opened again: other content, same id and pin", body = CanvasDocument),
        (status = 400, description = "VALIDATION_FAILED, INVALID_PATH, NOT_A_FILE", body = ErrorEnvelope),
        (status = 403, description = "OUTSIDE_BOUNDARY, PERMISSION_DENIED, OWNER_ONLY: a person's files", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND, NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "TURN_WAS_STOPPED, CANVAS_BEING_EDITED, LIMIT_REACHED", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_CANVAS_OPS_THIS_TURN", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn open(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    SessionPath(session): SessionPath,
    sent: IdempotentBody<OpenDocument>,
) -> ApiResult<RevisedResponse<CanvasDocument>> {
    opened(&hall, &by, CanvasScope::Session(session), sent).await
}

/// One document of a session.
#[utoipa::path(get, path = "/api/sessions/{id}/canvas/{documentId}", tag = "canvas", operation_id = "getSessionDocument",
    params(("id" = String, Path, description = "The session"), ("documentId" = String, Path, description = "The document")),
    responses((status = 200, body = CanvasDocument),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    SessionPath(session): SessionPath,
    Path((_named, document)): Path<(String, DocumentId)>,
) -> ApiResult<RevisedResponse<CanvasDocument>> {
    one(&hall, &by, CanvasScope::Session(session), document).await
}

/// Replaces what a document shows, pins it, moves it to the front: all that is asked, or nothing.
#[utoipa::path(patch, path = "/api/sessions/{id}/canvas/{documentId}", tag = "canvas", operation_id = "changeSessionDocument",
    params(("id" = String, Path, description = "The session"), ("documentId" = String, Path, description = "The document")),
    request_body = UpdateDocument,
    responses((status = 200, body = CanvasDocument),
        (status = 400, description = "VALIDATION_FAILED, INVALID_PATH, NOT_A_FILE", body = ErrorEnvelope),
        (status = 403, description = "OUTSIDE_BOUNDARY, PERMISSION_DENIED, OWNER_ONLY: a person's files", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND, NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CANVAS_BEING_EDITED, TURN_WAS_STOPPED", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_CANVAS_OPS_THIS_TURN", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn change(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    SessionPath(session): SessionPath,
    Path((_named, document)): Path<(String, DocumentId)>,
    IfMatch(precondition): IfMatch,
    Body(ask): Body<UpdateDocument>,
) -> ApiResult<RevisedResponse<CanvasDocument>> {
    let scope = CanvasScope::Session(session);
    let patch = ask.into();
    let changed = hall.change_document(&by, scope, document, precondition, patch);
    Ok(revised(changed.await?).into())
}

/// Closes a document.
#[utoipa::path(delete, path = "/api/sessions/{id}/canvas/{documentId}", tag = "canvas", operation_id = "closeSessionDocument",
    params(("id" = String, Path, description = "The session"), ("documentId" = String, Path, description = "The document")),
    responses((status = 204),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CANVAS_BEING_EDITED, TURN_WAS_STOPPED", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_CANVAS_OPS_THIS_TURN", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn close(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    SessionPath(session): SessionPath,
    Path((_named, document)): Path<(String, DocumentId)>,
    IfMatch(precondition): IfMatch,
) -> ApiResult<StatusCode> {
    let scope = CanvasScope::Session(session);
    hall.close_document(&by, scope, document, precondition)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Begins, prolongs or ends editing; while it lasts, 45 seconds unless prolonged, nobody else
/// changes the document.
#[utoipa::path(post, path = "/api/sessions/{id}/canvas/{documentId}/editing", tag = "canvas", operation_id = "editSessionDocument",
    params(("id" = String, Path, description = "The session"), ("documentId" = String, Path, description = "The document")),
    request_body = EditDocument,
    responses((status = 200, body = DocumentEditor),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "CANVAS_BEING_EDITED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn edit(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    SessionPath(session): SessionPath,
    Path((_named, document)): Path<(String, DocumentId)>,
    sent: IdempotentBody<EditDocument>,
) -> ApiResult<Json<DocumentEditor>> {
    edited(&hall, &by, CanvasScope::Session(session), document, sent).await
}

/// Reads a document's file anew and binds the document to it, after another file took its place.
///
/// The binding, `incarnation`, stays while the file is the same, or one that saves here made of it.
#[utoipa::path(post, path = "/api/sessions/{id}/canvas/{documentId}/reload", tag = "canvas", operation_id = "reloadSessionDocument",
    params(("id" = String, Path, description = "The session"), ("documentId" = String, Path, description = "The document")),
    responses((status = 200, body = ReloadedDocument),
        (status = 400, description = "VALIDATION_FAILED, INVALID_PATH, NOT_A_FILE", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, DOCUMENT_NOT_CHAT, OUTSIDE_BOUNDARY, PERMISSION_DENIED", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND, NOT_FOUND", body = ErrorEnvelope),
        (status = 413, description = "FILE_TOO_LARGE", body = ErrorEnvelope),
        (status = 415, description = "BINARY_FILE, NOT_UTF8", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn reload(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    SessionPath(session): SessionPath,
    Path((_named, document)): Path<(String, DocumentId)>,
    sent: IdempotentBody<ReloadDocument>,
) -> ApiResult<Json<ReloadedDocument>> {
    reloaded(&hall, &by, CanvasScope::Session(session), document, sent).await
}
