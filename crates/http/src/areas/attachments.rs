//! Attachments of rooms: sending files, and serving them so that none of them ever runs.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use guildhall_domain::{
    attachments::{ImageFormat, OCTET_STREAM},
    callers::AnyCaller,
    ids::{AttachmentId, RoomId},
};
use guildhall_hall::{Hall, attachments::StoredAttachment};
use guildhall_wire::{
    attachments::{UploadAttachments, UploadedAttachments},
    errors::ErrorEnvelope,
};

use crate::{
    byte_ranges::{self, ByteSource},
    errors::ApiResult,
    gates::By,
    idempotency::IdempotencyKey,
    multipart::MultipartFiles,
    path_ids::Path,
};

/// Uploads files into a room, all of them or none; a post takes them along by their ids.
#[utoipa::path(post, path = "/api/rooms/{id}/attachments", tag = "attachments", operation_id = "uploadAttachments",
    params(("id" = String, Path, description = "The room")),
    request_body(content = UploadAttachments, content_type = "multipart/form-data"),
    responses((status = 201, body = UploadedAttachments),
        (status = 400, description = "ATTACHMENT_MISSING, TOO_MANY_ATTACHMENTS, VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "ROOM_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ROOM_ARCHIVED, NOT_A_MEMBER", body = ErrorEnvelope),
        (status = 413, description = "PAYLOAD_TOO_LARGE", body = ErrorEnvelope),
        (status = 415, description = "UNSUPPORTED_MEDIA_TYPE", body = ErrorEnvelope),
        (status = 507, description = "STORAGE_FULL", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn upload(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(room): Path<RoomId>,
    key: IdempotencyKey,
    form: MultipartFiles,
) -> ApiResult<(StatusCode, Json<UploadedAttachments>)> {
    let mut upload = hall.begin_upload(&by, room).await?;
    let fingerprint = form.receive(&mut upload).await?;
    let once = key.with_body(fingerprint)?;
    let once = once.answered_by(|files: &Vec<_>| {
        (
            StatusCode::CREATED,
            UploadedAttachments::from(files.clone()),
        )
    });
    let uploaded = upload.finish(once).await?.into();
    Ok((StatusCode::CREATED, Json(uploaded)))
}

/// The bytes of a file: pictures to be shown, everything else to be saved.
#[utoipa::path(get, path = "/api/rooms/{id}/attachments/{attachmentId}", tag = "attachments", operation_id = "getAttachment",
    params(
        ("id" = String, Path, description = "The room"),
        ("attachmentId" = String, Path, description = "The file"),
        ("Range" = Option<String>, Header, description = "One range of bytes"),
        ("If-Range" = Option<String>, Header, description = "The entity tag the range belongs to"),
        ("If-None-Match" = Option<String>, Header, description = "Entity tags the client holds"),
    ),
    responses((status = 200, description = "The file", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 206, description = "A part of the file", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 304, description = "The client has it"),
        (status = 404, description = "ATTACHMENT_NOT_FOUND", body = ErrorEnvelope),
        (status = 416, description = "RANGE_NOT_SATISFIABLE", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path((room, id)): Path<(RoomId, AttachmentId)>,
    method: Method,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let stored = hall.attachment(&by, room, id).await?;
    let tag = stored.attachment.sha256.to_string();
    let source = ByteSource {
        size: stored.attachment.size,
        tag: &tag,
        ahead: Vec::new(),
    };
    let reader = stored.clone();
    let response = byte_ranges::answer(&method, &headers, source, move |part| {
        let reader = reader.clone();
        async move { reader.read(part).await }
    })?;
    Ok(found(response, &stored))
}

/// The answer under the type the file was found to have, and never a declared one, so that none
/// becomes a page of this origin.
fn found(mut response: Response, stored: &StoredAttachment) -> Response {
    let (kind, place) = match stored.picture {
        Some(picture) => (ImageFormat::media_type(picture), "inline"),
        None => (OCTET_STREAM, "attachment"),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, "sandbox"),
        (header::CACHE_CONTROL, "private, max-age=0, must-revalidate"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // A kept name needs no escaping.
    let name = format!("{place}; filename=\"{}\"", stored.attachment.name);
    let name = HeaderValue::try_from(name).unwrap_or(HeaderValue::from_static(""));
    headers.insert(header::CONTENT_DISPOSITION, name);
    response
}
