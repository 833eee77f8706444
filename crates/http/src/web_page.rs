//! The web page: files embedded in the binary, under a strict Content-Security-Policy.
//! Knows nothing of what the page shows; the page is a client of the interface like any other.

use axum::{
    Router,
    body::Body,
    extract::Path,
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri,
        header::{
            ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
        },
    },
    response::IntoResponse,
    routing::get,
};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::guards::GuardRefusal;

/// What the page may load: itself, and in frames what a person clicked on the canvas; sounds,
/// films and papers that lie in a document itself are `data:` and `blob:`. Source: design, proof N9.
pub const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; media-src 'self' data: blob:; connect-src 'self'; \
    frame-src http: https: blob:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'";

const INDEX: &str = "index.html";
/// The index names its assets by their hashes, so it is asked for anew each time.
const REVALIDATE: &str = "no-cache";
/// An asset's name changes with its content.
const FOREVER: &str = "public, max-age=31536000, immutable";
/// First segments of paths that are never the page.
const NOT_THE_PAGE: [&str; 7] = [
    "api", "assets", "docs", "healthz", "mcp", "metrics", "readyz",
];

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct EmbeddedAssets;

/// `GET /` and `GET /assets/{path}`.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", get(index))
        .route("/assets/{*path}", get(asset))
}

/// The answer to a path that no route has: the page when a person opens an address of it
/// such as `/rooms/{id}`, else 404 `NOT_FOUND`.
///
/// Source: contract 1.12, "other non-API paths".
pub async fn fallback(method: Method, uri: Uri, headers: HeaderMap) -> Response<Body> {
    let reads = method == Method::GET || method == Method::HEAD;
    if reads && is_page_path(uri.path()) && is_navigation(&headers) {
        return index(headers).await;
    }
    GuardRefusal::NoRoute.into_response()
}

/// Whether the path is an address of the page, `/` included.
pub fn is_page_path(path: &str) -> bool {
    path.strip_prefix('/').is_some_and(|rest| {
        let first = rest.split('/').next().unwrap_or_default();
        !NOT_THE_PAGE.contains(&first)
    })
}

/// Whether a person opens an address, as opposed to a program that asks for data.
fn is_navigation(headers: &HeaderMap) -> bool {
    let mode = HeaderName::from_static("sec-fetch-mode");
    headers.get(mode).is_some_and(|mode| mode == "navigate")
        || headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|accept| accept.to_str().ok())
            .any(|accept| accept.contains("text/html"))
}

async fn index(headers: HeaderMap) -> Response<Body> {
    match EmbeddedAssets::get(INDEX) {
        Some(file) => answer(file, REVALIDATE, &headers),
        None => GuardRefusal::NoRoute.into_response(),
    }
}

async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response<Body> {
    // A debug build reads the folder, where `..` would lead to files that are no assets.
    let leads_out = path.split(['/', '\\']).any(|segment| segment == "..");
    match EmbeddedAssets::get(&format!("assets/{path}")) {
        Some(file) if !leads_out => answer(file, FOREVER, &headers),
        _ => GuardRefusal::NoRoute.into_response(),
    }
}

fn answer(file: EmbeddedFile, caching: &'static str, asked: &HeaderMap) -> Response<Body> {
    let etag = etag(&file.metadata.sha256_hash());
    let is_known = asked
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|tags| tags.to_str().ok())
        .flat_map(|tags| tags.split(','))
        .any(|tag| tag.trim().trim_start_matches("W/") == etag || tag.trim() == "*");
    let content_type = content_type(file.metadata.mimetype());
    let mut response = if is_known {
        let mut unchanged = Response::new(Body::empty());
        *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
        unchanged
    } else {
        Response::new(Body::from(file.data))
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::try_from(etag) {
        headers.insert(ETAG, tag);
    }
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    isolate(headers, CONTENT_POLICY);
    response
}

/// Headers by which a page of ours loads nothing foreign and is loaded by nothing foreign.
pub(crate) fn isolate(headers: &mut HeaderMap, policy: &'static str) {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, policy),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// `"<32 hex of SHA-256>"`. Source: contract 1.9.
fn etag(hash: &[u8; 32]) -> String {
    let hex: String = hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("\"{hex}\"")
}

/// The media type the name stands for; text is UTF-8.
fn content_type(media_type: &str) -> HeaderValue {
    let charset = if media_type.starts_with("text/") {
        "; charset=utf-8"
    } else {
        ""
    };
    HeaderValue::try_from(format!("{media_type}{charset}"))
        .unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

#[cfg(test)]
#[path = "web_page_tests.rs"]
mod tests;
