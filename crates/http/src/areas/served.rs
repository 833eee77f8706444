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
    workbench::served::{Served, ServedFile},
};

use crate::{
    errors::{ApiResult, internal},
    ranges::{self, CHUNK_BYTES, Source},
};

const SERVICE_WORKER: HeaderName = HeaderName::from_static("service-worker");

/// `GET /api/workbench/serve/{token}/{splat}`: a file of the folder, its page for the folder
/// itself, or where the folder is.
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
        Served::File(file) => answer(file, &method, &headers),
        Served::Folder => moved(&uri),
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
    let source = Source {
        size: bytes.size,
        tag: &bytes.state,
        ahead,
    };
    let reader = bytes.clone();
    let mut response = ranges::answer(method, headers, source, move |part| {
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
