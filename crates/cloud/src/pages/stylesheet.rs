//! The one style of all pages.

use axum::response::{IntoResponse, Response};
use http::header;

const STYLE: &str = include_str!("style.css");

/// The style of the pages.
#[utoipa::path(get, path = "/style.css", tag = "pages", operation_id = "style",
    responses((status = 200, description = "The style", content_type = "text/css",
        body = String)))]
pub(crate) async fn style() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/css; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=3600"),
    ];
    (headers, STYLE).into_response()
}
