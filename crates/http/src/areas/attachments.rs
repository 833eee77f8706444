//! Attachments of rooms: sending files, and serving them so that none of them ever runs.

use std::ops::Range;

use axum::{
    Json,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use guildhall_domain::{
    attachments::{OCTET_STREAM, Picture},
    callers::AnyCaller,
    ids::{AttachmentId, RoomId},
};
use guildhall_hall::{Hall, attachments::Stored};
use guildhall_wire::{
    attachments::{Upload, Uploaded},
    errors::ErrorEnvelope,
};

use crate::{
    catalogue,
    errors::{ApiError, ApiResult},
    form::Form,
    gates::By,
    path::Path,
    preconditions,
    ranges::{self, Part},
    repeats::Key,
};

/// Bytes of a file that are read at once.
const CHUNK_BYTES: u64 = 128 * 1024;

/// Uploads files into a room, all of them or none; a post takes them along by their ids.
#[utoipa::path(post, path = "/api/rooms/{id}/attachments", tag = "attachments", operation_id = "uploadAttachments",
    params(("id" = String, Path, description = "The room")),
    request_body(content = Upload, content_type = "multipart/form-data"),
    responses((status = 201, body = Uploaded),
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
    key: Key,
    form: Form,
) -> ApiResult<(StatusCode, Json<Uploaded>)> {
    let mut upload = hall.begin_upload(&by, room).await?;
    let fingerprint = form.receive(&mut upload).await?;
    let once = key.of(fingerprint)?;
    let once =
        once.answering(|files: &Vec<_>| (StatusCode::CREATED, Uploaded::from(files.clone())));
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
    let size = stored.attachment.size;
    let tag = text(&format!("\"{}\"", stored.attachment.sha256));
    // A range is defined for GET alone, and a client that holds the file is told so instead.
    let is_known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| preconditions::is_known(known, &tag));
    let part = if method == Method::GET && !is_known {
        ranges::part(&headers, &tag, size)
    } else {
        Part::Whole
    };
    let (status, bytes) = match part {
        Part::Whole => (StatusCode::OK, 0..size),
        Part::Some(bytes) => (StatusCode::PARTIAL_CONTENT, bytes),
        Part::Beyond => {
            return Err(ApiError::new(catalogue::RANGE_NOT_SATISFIABLE)
                .with_header(header::CONTENT_RANGE, text(&format!("bytes */{size}"))));
        }
    };
    Ok(served(status, &stored, bytes, tag))
}

/// The answer with these bytes: under the type they were found to have, and never a declared
/// one, so that no file becomes a page of this origin.
fn served(status: StatusCode, stored: &Stored, bytes: Range<u64>, tag: HeaderValue) -> Response {
    let (kind, place) = match stored.picture {
        Some(picture) => (Picture::media_type(picture), "inline"),
        None => (OCTET_STREAM, "attachment"),
    };
    let name = &stored.attachment.name;
    let length = bytes.end - bytes.start;
    let range = format!(
        "bytes {}-{}/{}",
        bytes.start,
        bytes.end.saturating_sub(1),
        stored.attachment.size
    );
    let mut response = (status, Body::from_stream(chunks(stored, bytes))).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_LENGTH, length.into());
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    // A kept name needs no escaping.
    headers.insert(
        header::CONTENT_DISPOSITION,
        text(&format!("{place}; filename=\"{name}\"")),
    );
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("sandbox"),
    );
    headers.insert(header::ETAG, tag);
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, max-age=0, must-revalidate"),
    );
    if status == StatusCode::PARTIAL_CONTENT {
        headers.insert(header::CONTENT_RANGE, text(&range));
    }
    response
}

fn chunks(
    stored: &Stored,
    bytes: Range<u64>,
) -> impl stream::Stream<Item = std::io::Result<Bytes>> + use<> {
    stream::unfold((stored.clone(), bytes), |(stored, left)| async move {
        if left.is_empty() {
            return None;
        }
        let length = CHUNK_BYTES.min(left.end - left.start);
        // A chunk fits into memory, so its length fits into a usize.
        let read = stored.read(left.start, usize::try_from(length).unwrap_or(usize::MAX));
        let chunk = read.await.map(Bytes::from).map_err(|error| {
            tracing::error!(?error, "an attachment could not be read on");
            std::io::Error::other("the file could not be read on")
        });
        // Behind an error nothing more is asked for.
        Some((chunk, (stored, left.start + length..left.end)))
    })
}

/// A header of text that was made of harmless characters.
fn text(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}
