//! The canvas of a room: its documents, who edits them, their threads.

use axum::{Json, extract::State, http::StatusCode};
use guildhall_domain::{
    callers::AnyCaller,
    canvas::{self, CanvasScope, EditLock},
    ids::{DocumentId, RoomId},
    revisions::Revised,
};
use guildhall_hall::{
    Hall,
    canvas::{Opened, Threaded},
};
use guildhall_wire::{
    canvas::{
        BeginThread, CanvasDocument, CanvasDocuments, ChangeDocument, DocumentThread, EditDocument,
        Editing, OpenDocument,
    },
    errors::ErrorEnvelope,
};

use crate::{
    answers::{Read, Tagged},
    body::Body,
    errors::ApiResult,
    gates::By,
    path::Path,
    preconditions::IfMatch,
    repeats::Sent,
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
) -> ApiResult<Read<CanvasDocuments>> {
    let seen = hall.documents(&by, CanvasScope::Room(room)).await?;
    Ok(Read(seen.map(|documents| CanvasDocuments {
        documents: documents.into_iter().map(Into::into).collect(),
    })))
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
    Sent { ask, repeat }: Sent<OpenDocument>,
) -> ApiResult<Tagged<CanvasDocument>> {
    let scope = CanvasScope::Room(room);
    let once = repeat.answering(|opened: &Opened| {
        let document = CanvasDocument::from(opened.document.clone());
        (made(opened.is_new), document)
    });
    let opened = hall.open_document(&by, scope, ask.into(), once).await?;
    Ok(Tagged::from(revised(opened.document)).with_status(made(opened.is_new)))
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
) -> ApiResult<Tagged<CanvasDocument>> {
    let scope = CanvasScope::Room(room);
    let seen = hall.document(&by, scope, document).await?;
    Ok(seen.map(revised).into())
}

/// Replaces what a document shows, pins it, moves it to the front: all that is asked, or nothing.
#[utoipa::path(patch, path = "/api/rooms/{id}/canvas/{documentId}", tag = "canvas", operation_id = "changeDocument",
    params(("id" = String, Path, description = "The room"), ("documentId" = String, Path, description = "The document")),
    request_body = ChangeDocument,
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
    Body(ask): Body<ChangeDocument>,
) -> ApiResult<Tagged<CanvasDocument>> {
    let scope = CanvasScope::Room(room);
    let document = hall
        .change_document(&by, scope, document, precondition, ask.into())
        .await?;
    Ok(revised(document).into())
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
    responses((status = 200, body = Editing),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND, CANVAS_DOCUMENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ROOM_ARCHIVED, NOT_A_MEMBER, CANVAS_BEING_EDITED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn edit(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, document)): Path<(RoomId, DocumentId)>,
    Sent { ask, repeat }: Sent<EditDocument>,
) -> ApiResult<Json<Editing>> {
    let scope = CanvasScope::Room(room);
    let once = repeat.answering(|lock: &Option<EditLock>| (StatusCode::OK, Editing::from(*lock)));
    let lock = hall
        .edit_document(&by, scope, document, ask.editing, once)
        .await?;
    Ok(Json(lock.into()))
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
    Sent { repeat, .. }: Sent<BeginThread>,
) -> ApiResult<Tagged<DocumentThread>> {
    let once = repeat.answering(shown);
    let threaded = hall.thread_document(&by, room, document, once).await?;
    let (status, thread) = shown(&threaded);
    Ok(Tagged::changed(threaded.rev, thread).with_status(status))
}

fn shown(threaded: &Threaded) -> (StatusCode, DocumentThread) {
    let thread = DocumentThread {
        thread_root_entry_id: threaded.root,
        created: threaded.is_new,
    };
    (made(threaded.is_new), thread)
}

fn revised(document: canvas::CanvasDocument) -> Revised<canvas::CanvasDocument> {
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
