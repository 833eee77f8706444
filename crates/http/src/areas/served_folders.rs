//! Served folders: the files of one folder, to whoever has its address. No page of it is of this
//! server's origin: the guards put the sandbox on every answer. Source: contract 6.8.

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use guildhall_domain::{Refusal, workbench::media_type};
use guildhall_hall::{
    Hall,
    workbench::served_folders::{ServedFile, ServedResource},
};
use guildhall_wire::errors::ErrorEnvelope;

use crate::{
    byte_ranges::{self, ByteSource, CHUNK_BYTES},
    errors::{ApiResult, internal},
};

const SERVICE_WORKER: HeaderName = HeaderName::from_static("service-worker");

/// A file of a folder that was signed for, for whoever has its address.
///
/// A folder is asked for with a slash at its end and answers its `index.html`. No answer lists what
/// lies in a folder. Pages run in a sandbox, in an origin of their own, without cookies.
#[utoipa::path(get, path = "/api/workbench/serve/{token}/{splat}", tag = "workbench", operation_id = "getServedFile",
    params(
        ("token" = String, Path, description = "The token of the address that was signed"),
        ("splat" = String, Path, description = "The file, relative to the folder; it may hold slashes"),
        ("Range" = Option<String>, Header, description = "One range of bytes"),
        ("If-Range" = Option<String>, Header, description = "The entity tag the range belongs to"),
        ("If-None-Match" = Option<String>, Header, description = "Entity tags the client holds"),
    ),
    responses((status = 200, description = "The file", body = Vec<u8>, content_type = "application/octet-stream", headers(
            ("Content-Type" = String, description = "The type that the end of its name tells"),
            ("Content-Length" = u64, description = "Bytes of the file"),
            ("Accept-Ranges" = String, description = "`bytes`"),
            ("ETag" = String, description = "Strong; it changes with the file"),
            ("Cache-Control" = String, description = "`private, no-cache`"),
            ("Content-Security-Policy" = String, description = "The sandbox, and who may frame it"),
            ("Access-Control-Allow-Origin" = String, description = "`*`: the page's own origin is opaque"))),
        (status = 206, description = "A part of the file", body = Vec<u8>, content_type = "application/octet-stream", headers(
            ("Content-Range" = String, description = "Which part, and of how many bytes"),
            ("ETag" = String, description = "Strong; it changes with the file"))),
        (status = 304, description = "The client has it", headers(
            ("ETag" = String, description = "Strong; it changes with the file"))),
        (status = 308, description = "A folder that was asked for without the slash", headers(
            ("Location" = String, description = "The same with the slash"))),
        (status = 400, description = "NULL_BYTE, INVALID_PATH", body = ErrorEnvelope),
        (status = 401, description = "TOKEN_EXPIRED", body = ErrorEnvelope),
        (status = 403, description = "BAD_TOKEN, WRONG_SCOPE, OUTSIDE_BOUNDARY, PERMISSION_DENIED, SERVICE_WORKER_REFUSED", body = ErrorEnvelope),
        (status = 404, description = "NOT_FOUND", body = ErrorEnvelope),
        (status = 416, description = "RANGE_NOT_SATISFIABLE", body = ErrorEnvelope, headers(
            ("Content-Range" = String, description = "Of how many bytes the file is")))),
    extensions(("x-gate" = json!("url-token"))))]
pub async fn get(
    State(hall): State<Hall>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> ApiResult<Response> {
    if headers.contains_key(SERVICE_WORKER) {
        return Err(Refusal::ServiceWorkerRefused.into());
    }
    // The path as it was sent: what stands behind the token is decoded once, name by name.
    let rest = uri.path().strip_prefix("/api/workbench/serve/");
    let rest = rest.ok_or_else(internal)?;
    // Without a slash the folder itself is asked for like a file.
    let (token, asked) = rest.split_once('/').unwrap_or((rest, "."));
    let is_plain = method == Method::GET
        && !headers.contains_key(header::RANGE)
        && !headers.contains_key(header::IF_NONE_MATCH);
    // Its first bytes are read together with finding it.
    let ahead = if is_plain { CHUNK_BYTES } else { 0 };
    match hall.served(token, asked, ahead).await? {
        ServedResource::File(file) => answer(file, &method, &headers),
        ServedResource::Folder => moved(&uri),
    }
}

/// The same folder with the slash by which relative links of its page lead into it.
fn moved(uri: &Uri) -> ApiResult<Response> {
    let query = uri.query().map(|query| format!("?{query}"));
    let place = format!("{}/{}", uri.path(), query.unwrap_or_default());
    let place = HeaderValue::try_from(place).map_err(|_| internal())?;
    Ok((StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, place)]).into_response())
}

fn answer(file: ServedFile, method: &Method, headers: &HeaderMap) -> ApiResult<Response> {
    let ServedFile { bytes, path, ahead } = file;
    let source = ByteSource {
        size: bytes.size,
        tag: &bytes.state,
        ahead,
    };
    let reader = bytes.clone();
    let mut response = byte_ranges::answer(method, headers, source, move |part| {
        let reader = reader.clone();
        async move { reader.read(part).await }
    })?;
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static(media_type(&path));
    headers.insert(header::CONTENT_TYPE, kind);
    let revalidated = HeaderValue::from_static("private, no-cache");
    headers.insert(header::CACHE_CONTROL, revalidated);
    Ok(response)
}
