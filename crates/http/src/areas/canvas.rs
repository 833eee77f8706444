//! The canvas of a room: its documents, who edits them, their threads.
//! What a canvas answers, whoever's it is, stands below; that of a session is `session_canvas`.

use axum::{Json, extract::State, http::StatusCode};
use guildhall_domain::{
    callers::{AnyCaller, Owner},
    canvas::{self, CanvasScope, EditLock},
    ids::{DocumentId, RoomId},
    revisions::Revised,
};
use guildhall_hall::{
    Hall,
    canvas::{DocumentReload, OpenedDocument, StartedThread},
};
use guildhall_wire::{
    canvas::{
        BeginThread, CanvasDocument, CanvasDocuments, DocumentEditor, DocumentThread, EditDocument,
        OpenDocument, ReloadDocument, ReloadedDocument, UpdateDocument,
    },
    errors::ErrorEnvelope,
};

use crate::{
    body::Body,
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    path_ids::Path,
    preconditions::IfMatch,
    responses::{ReadResponse, RevisedResponse},
};

/// Lists a room's documents in their order, the front one first.
#[utoipa::path(get, path = "/api/rooms/{id}/canvas", tag = "canvas", operation_id = "listCanvas",
    params(("id" = String, Path, description = "The room")),
    responses((status = 200, body = CanvasDocuments), (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(room): Path<RoomId>,
) -> ApiResult<ReadResponse<CanvasDocuments>> {
    listed(&hall, &by, CanvasScope::Room(room)).await
}

/// Opens a document in front of the others; what was opened before is opened again.
///
/// A file must lie beneath an allowed folder, an agent's in its working directory.
/// A room keeps 12 documents that are not pinned; the last ones make place.
#[utoipa::path(post, path = "/api/rooms/{id}/canvas", tag = "canvas", operation_id = "openDocument",
    params(("id" = String, Path, description = "The room")),
    request_body = OpenDocument,
    responses((status = 201, body = CanvasDocument),
        (status = 200, description = "Opened again: other content, same id and pin", body = CanvasDocument),
        (status = 400, description = "VALIDATION_FAILED, INVALID_PATH, NOT_A_FILE", body = ErrorEnvelope),
        (status = 403, description = "OUTSIDE_BOUNDARY, PERMISSION_DENIED, OWNER_ONLY: a person's files", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ROOM_ARCHIVED, NOT_A_MEMBER, TURN_WAS_STOPPED, CANVAS_BEING_EDITED, LIMIT_REACHED", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_CANVAS_OPS_THIS_TURN", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn open(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(room): Path<RoomId>,
    sent: IdempotentBody<OpenDocument>,
) -> ApiResult<RevisedResponse<CanvasDocument>> {
    opened(&hall, &by, CanvasScope::Room(room), sent).await
}

/// One document of a room.
#[utoipa::path(get, path = "/api/rooms/{id}/canvas/{documentId}", tag = "canvas", operation_id = "getDocument",
    params(("id" = String, Path, description = "The room"), ("documentId" = String, Path, description = "The document")),
    responses((status = 200, body = CanvasDocument), (status = 404, description = "ROOM_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, document)): Path<(RoomId, DocumentId)>,
) -> ApiResult<RevisedResponse<CanvasDocument>> {
    one(&hall, &by, CanvasScope::Room(room), document).await
}

/// Replaces what a document shows, pins it, moves it to the front: all that is asked, or nothing.
#[utoipa::path(patch, path = "/api/rooms/{id}/canvas/{documentId}", tag = "canvas", operation_id = "changeDocument",
    params(("id" = String, Path, description = "The room"), ("documentId" = String, Path, description = "The document")),
    request_body = UpdateDocument,
    responses((status = 200, body = CanvasDocument),
        (status = 400, description = "VALIDATION_FAILED, INVALID_PATH, NOT_A_FILE", body = ErrorEnvelope),
        (status = 403, description = "OUTSIDE_BOUNDARY, PERMISSION_DENIED, OWNER_ONLY: a person's files", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND, NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ROOM_ARCHIVED, NOT_A_MEMBER, CANVAS_BEING_EDITED, TURN_WAS_STOPPED", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_CANVAS_OPS_THIS_TURN", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn change(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, document)): Path<(RoomId, DocumentId)>,
    IfMatch(precondition): IfMatch,
    Body(ask): Body<UpdateDocument>,
) -> ApiResult<RevisedResponse<CanvasDocument>> {
    let scope = CanvasScope::Room(room);
    let patch = ask.into();
    let changed = hall.change_document(&by, scope, document, precondition, patch);
    Ok(revised(changed.await?).into())
}

/// Closes a document.
#[utoipa::path(delete, path = "/api/rooms/{id}/canvas/{documentId}", tag = "canvas", operation_id = "closeDocument",
    params(("id" = String, Path, description = "The room"), ("documentId" = String, Path, description = "The document")),
    responses((status = 204),
        (status = 404, description = "ROOM_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ROOM_ARCHIVED, NOT_A_MEMBER, CANVAS_BEING_EDITED, TURN_WAS_STOPPED", body = ErrorEnvelope),
        (status = 429, description = "TOO_MANY_CANVAS_OPS_THIS_TURN", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn close(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, document)): Path<(RoomId, DocumentId)>,
    IfMatch(precondition): IfMatch,
) -> ApiResult<StatusCode> {
    let scope = CanvasScope::Room(room);
    hall.close_document(&by, scope, document, precondition)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Begins, prolongs or ends editing; while it lasts, 45 seconds unless prolonged, nobody else
/// changes the document.
#[utoipa::path(post, path = "/api/rooms/{id}/canvas/{documentId}/editing", tag = "canvas", operation_id = "editDocument",
    params(("id" = String, Path, description = "The room"), ("documentId" = String, Path, description = "The document")),
    request_body = EditDocument,
    responses((status = 200, body = DocumentEditor),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ROOM_ARCHIVED, NOT_A_MEMBER, CANVAS_BEING_EDITED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn edit(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, document)): Path<(RoomId, DocumentId)>,
    sent: IdempotentBody<EditDocument>,
) -> ApiResult<Json<DocumentEditor>> {
    edited(&hall, &by, CanvasScope::Room(room), document, sent).await
}

/// Begins the thread of a document with a post that names it, or finds it; starts no turn.
#[utoipa::path(post, path = "/api/rooms/{id}/canvas/{documentId}/thread", tag = "canvas", operation_id = "threadDocument",
    params(("id" = String, Path, description = "The room"), ("documentId" = String, Path, description = "The document")),
    responses((status = 201, body = DocumentThread),
        (status = 200, description = "It had begun already", body = DocumentThread),
        (status = 404, description = "ROOM_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ROOM_ARCHIVED, NOT_A_MEMBER", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn thread(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, document)): Path<(RoomId, DocumentId)>,
    IdempotentBody { repeat, .. }: IdempotentBody<BeginThread>,
) -> ApiResult<RevisedResponse<DocumentThread>> {
    let once = repeat.answered_by(shown);
    let threaded = hall
        .start_document_thread(&by, room, document, once)
        .await?;
    let (status, thread) = shown(&threaded);
    Ok(RevisedResponse::changed(threaded.rev, thread).with_status(status))
}

/// Reads a document's file anew and binds the document to it, after another file took its place.
///
/// The binding, `incarnation`, stays while the file is the same, or one that saves here made of it.
#[utoipa::path(post, path = "/api/rooms/{id}/canvas/{documentId}/reload", tag = "canvas", operation_id = "reloadDocument",
    params(("id" = String, Path, description = "The room"), ("documentId" = String, Path, description = "The document")),
    responses((status = 200, body = ReloadedDocument),
        (status = 400, description = "INVALID_PATH, NOT_A_FILE", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, DOCUMENT_NOT_CHAT, OUTSIDE_BOUNDARY, PERMISSION_DENIED", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND, NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ROOM_ARCHIVED, NOT_A_MEMBER", body = ErrorEnvelope),
        (status = 413, description = "FILE_TOO_LARGE", body = ErrorEnvelope),
        (status = 415, description = "BINARY_FILE, NOT_UTF8", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn reload(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path((room, document)): Path<(RoomId, DocumentId)>,
    sent: IdempotentBody<ReloadDocument>,
) -> ApiResult<Json<ReloadedDocument>> {
    reloaded(&hall, &by, CanvasScope::Room(room), document, sent).await
}

/// The documents of a canvas in their order.
pub(super) async fn listed(
    hall: &Hall,
    by: &AnyCaller,
    scope: CanvasScope,
) -> ApiResult<ReadResponse<CanvasDocuments>> {
    let seen = hall.documents(by, scope).await?;
    Ok(ReadResponse(seen.map(|documents| CanvasDocuments {
        documents: documents.into_iter().map(Into::into).collect(),
    })))
}

/// A document that was opened, or opened again.
pub(super) async fn opened(
    hall: &Hall,
    by: &AnyCaller,
    scope: CanvasScope,
    IdempotentBody { ask, repeat }: IdempotentBody<OpenDocument>,
) -> ApiResult<RevisedResponse<CanvasDocument>> {
    let once = repeat.answered_by(|opened: &OpenedDocument| {
        let document = CanvasDocument::from(opened.document.clone());
        (made(opened.is_new), document)
    });
    let opened = hall.open_document(by, scope, ask.into(), once).await?;
    Ok(RevisedResponse::from(revised(opened.document)).with_status(made(opened.is_new)))
}

/// One document.
pub(super) async fn one(
    hall: &Hall,
    by: &AnyCaller,
    scope: CanvasScope,
    document: DocumentId,
) -> ApiResult<RevisedResponse<CanvasDocument>> {
    let seen = hall.document(by, scope, document).await?;
    Ok(seen.map(revised).into())
}

/// The lock that holds after somebody began, prolonged or ended editing.
pub(super) async fn edited(
    hall: &Hall,
    by: &AnyCaller,
    scope: CanvasScope,
    document: DocumentId,
    IdempotentBody { ask, repeat }: IdempotentBody<EditDocument>,
) -> ApiResult<Json<DocumentEditor>> {
    let once =
        repeat.answered_by(|lock: &Option<EditLock>| (StatusCode::OK, DocumentEditor::from(*lock)));
    let lock = hall.edit_document(by, scope, document, ask.editing, once);
    Ok(Json(lock.await?.into()))
}

/// A document with its file as it is now.
pub(super) async fn reloaded(
    hall: &Hall,
    by: &Owner,
    scope: CanvasScope,
    document: DocumentId,
    IdempotentBody { repeat, .. }: IdempotentBody<ReloadDocument>,
) -> ApiResult<Json<ReloadedDocument>> {
    let answer = |reloaded: &DocumentReload| ReloadedDocument {
        document: reloaded.document.clone().into(),
        content: reloaded.content.clone(),
        hash: reloaded.hash,
        identity: reloaded.identity.clone(),
        incarnation: reloaded.incarnation.clone().into(),
    };
    let once = repeat.answered_by(move |reloaded| (StatusCode::OK, answer(reloaded)));
    let reloaded = hall.reload_document(by, scope, document, once).await?;
    Ok(Json(answer(&reloaded)))
}

fn shown(threaded: &StartedThread) -> (StatusCode, DocumentThread) {
    let thread = DocumentThread {
        thread_root_entry_id: threaded.root,
        created: threaded.is_new,
    };
    (made(threaded.is_new), thread)
}

pub(super) fn revised(document: canvas::CanvasDocument) -> Revised<canvas::CanvasDocument> {
    Revised {
        rev: document.rev,
        value: document,
    }
}

fn made(is_new: bool) -> StatusCode {
    if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    }
}
