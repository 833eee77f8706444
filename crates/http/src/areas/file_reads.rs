//! Files as they are read: their text, their bytes, and the tree they lie in.

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, Method, header},
    response::{IntoResponse, Response},
};
use guildhall_domain::{file_reads::RawMediaType, limits};
use guildhall_hall::{Hall, TreeQuery, file_reads::FileText};
use guildhall_wire::{
    errors::ErrorEnvelope,
    file_reads::{FileContent, FileTree},
};

use crate::{
    byte_ranges::{self, ByteSource},
    errors::ApiResult,
    gates::ByFileAccess,
    openapi::parameters::TreeDepth,
    query::{FromQuery, Params, Query},
    responses::{ChunkedJson, UntrackedResponse},
};

/// Which file is asked for.
pub struct ReadFile {
    cwd: String,
    path: String,
}

impl FromQuery for ReadFile {
    fn read(params: &mut Params) -> Self {
        Self {
            cwd: params.folder("cwd"),
            path: params.path("path"),
        }
    }
}

/// Which tree is asked for.
pub struct ReadTree {
    cwd: String,
    ask: TreeQuery,
}

impl FromQuery for ReadTree {
    fn read(params: &mut Params) -> Self {
        let depth = params
            .number("depth")
            .unwrap_or(*limits::TREE_DEPTH.start());
        if !limits::TREE_DEPTH.contains(&depth) {
            params.fail::<()>("depth", "must be 1 to 5");
        }
        Self {
            cwd: params.folder("cwd"),
            ask: TreeQuery {
                path: params.maybe_path("path"),
                depth,
                is_hidden_shown: params.flag("showHidden").unwrap_or(false),
            },
        }
    }
}

/// The text of a file, with what a save needs to know of it.
///
/// Bytes are never changed: a byte order mark, CR LF and a missing last line ending come as they
/// are.
#[utoipa::path(get, path = "/api/files/content", tag = "files", operation_id = "getFileContent",
    params(
        ("cwd" = String, Query, description = "The working folder, absolute or beginning with `~`; nothing outside of it is read"),
        ("path" = String, Query, description = "The file, relative to the working folder or absolute in it"),
    ),
    responses((status = 200, body = FileContent),
        (status = 400, description = "VALIDATION_FAILED, NULL_BYTE, INVALID_PATH, NOT_A_DIRECTORY, NOT_A_FILE", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, OUTSIDE_BOUNDARY, PERMISSION_DENIED", body = ErrorEnvelope),
        (status = 404, description = "NOT_FOUND", body = ErrorEnvelope),
        (status = 413, description = "FILE_TOO_LARGE", body = ErrorEnvelope),
        (status = 415, description = "BINARY_FILE, NOT_UTF8", body = ErrorEnvelope),
        (status = 500, description = "FILE_IO_FAILED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn content(
    State(hall): State<Hall>,
    ByFileAccess(by): ByFileAccess,
    Query(ReadFile { cwd, path }): Query<ReadFile>,
) -> ApiResult<Response> {
    let FileText { content, place } = hall.file_content(&by, cwd, path).await?;
    Ok(ChunkedJson(FileContent::from(content), place).into_response())
}

/// The bytes of a picture, PDF, sound, film or 3D model, as the end of its name tells.
#[utoipa::path(get, path = "/api/files/raw", tag = "files", operation_id = "getFileBytes",
    params(
        ("cwd" = String, Query, description = "The working folder, absolute or beginning with `~`; nothing outside of it is read"),
        ("path" = String, Query, description = "The file, relative to the working folder or absolute in it"),
        ("Range" = Option<String>, Header, description = "One range of bytes"),
        ("If-Range" = Option<String>, Header, description = "The entity tag the range belongs to"),
        ("If-None-Match" = Option<String>, Header, description = "Entity tags the client holds"),
    ),
    responses((status = 200, description = "The file", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 206, description = "A part of the file", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 304, description = "The client has it"),
        (status = 400, description = "VALIDATION_FAILED, NULL_BYTE, INVALID_PATH, NOT_A_DIRECTORY, NOT_A_FILE", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, OUTSIDE_BOUNDARY, PERMISSION_DENIED", body = ErrorEnvelope),
        (status = 404, description = "NOT_FOUND", body = ErrorEnvelope),
        (status = 415, description = "UNSUPPORTED_TYPE", body = ErrorEnvelope),
        (status = 416, description = "RANGE_NOT_SATISFIABLE", body = ErrorEnvelope),
        (status = 500, description = "FILE_IO_FAILED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn raw(
    State(hall): State<Hall>,
    ByFileAccess(by): ByFileAccess,
    Query(ReadFile { cwd, path }): Query<ReadFile>,
    method: Method,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let file = hall.raw_file(&by, cwd, path).await?;
    let source = ByteSource {
        size: file.bytes.size,
        tag: &file.bytes.state,
        ahead: Vec::new(),
    };
    let reader = file.bytes.clone();
    let response = byte_ranges::answer(&method, &headers, source, move |part| {
        let reader = reader.clone();
        async move { reader.read(part).await }
    })?;
    Ok(shown(response, file.kind))
}

/// Lists what lies in a folder and below it, without what the project's `.gitignore` files leave
/// out.
#[utoipa::path(get, path = "/api/files/tree", tag = "files", operation_id = "getFileTree",
    params(
        ("cwd" = String, Query, description = "The working folder, absolute or beginning with `~`; nothing outside of it is listed"),
        ("path" = Option<String>, Query, description = "Where to begin, relative to the working folder or absolute in it; without it the working folder"),
        ("depth" = inline(Option<TreeDepth>), Query, description = "Levels, 1 to 5; 1"),
        ("showHidden" = Option<bool>, Query, description = "Whether names that begin with `.` are listed, and those the project ignores"),
    ),
    responses((status = 200, body = FileTree),
        (status = 400, description = "VALIDATION_FAILED, NULL_BYTE, INVALID_PATH, NOT_A_DIRECTORY", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, OUTSIDE_BOUNDARY, PERMISSION_DENIED", body = ErrorEnvelope),
        (status = 404, description = "NOT_FOUND", body = ErrorEnvelope),
        (status = 500, description = "FILE_IO_FAILED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn tree(
    State(hall): State<Hall>,
    ByFileAccess(by): ByFileAccess,
    Query(ReadTree { cwd, ask }): Query<ReadTree>,
) -> ApiResult<Response> {
    let tree = hall.file_tree(&by, cwd, ask).await?;
    Ok(UntrackedResponse(FileTree::from(tree)).into_response())
}

/// The answer under the type of the file's name and no other, so that none becomes a page of this
/// origin.
fn shown(mut response: Response, kind: RawMediaType) -> Response {
    /// What keeps a picture's programs from running, and lets it be drawn.
    const SVG_POLICY: HeaderValue =
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind.media_type()),
        (header::CONTENT_DISPOSITION, "inline"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if kind.is_svg() {
        headers.insert(header::CONTENT_SECURITY_POLICY, SVG_POLICY);
    }
    response
}
