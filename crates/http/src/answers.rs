//! Answers: JSON bodies, with the event they were read at and the next page's address.

use axum::{
    http::{HeaderName, HeaderValue, Uri, header},
    response::{IntoResponse, Response},
};
use guildhall_hall::Seen;
use serde::Serialize;

use crate::errors::internal;

/// The newest event at the moment of reading, so that a stream can go on from there.
pub const EVENT_SEQ: HeaderName = HeaderName::from_static("x-event-seq");

/// A state that was read, with the event it was read at. Source: contract 1.10.
pub struct Read<T>(pub Seen<T>);

impl<T: Serialize> IntoResponse for Read<T> {
    fn into_response(self) -> Response {
        // Written in one growing piece: a listing can be large, and axum's own writer copies it.
        let Ok(text) = serde_json::to_vec(&self.0.value) else {
            return internal().into_response();
        };
        let kind = HeaderValue::from_static("application/json");
        let mut response = ([(header::CONTENT_TYPE, kind)], text).into_response();
        response.headers_mut().insert(EVENT_SEQ, self.0.seq.into());
        response
    }
}

/// A page of a list, with the address of the next one if there is one.
pub fn page<T, W: Serialize>(
    uri: &Uri,
    next_cursor: Option<String>,
    seen: Seen<T>,
    form: impl FnOnce(T) -> W,
) -> Response {
    let link = next_cursor.and_then(|cursor| next_page(uri, &cursor));
    let mut response = Read(seen.map(form)).into_response();
    response.headers_mut().extend(link);
    response
}

/// Reads a state and gives it its form on the wire.
pub fn read<T, W: From<T>>(seen: Seen<T>) -> Read<W> {
    Read(seen.map(Into::into))
}

/// The header that names the next page: `Link: <…>; rel="next"` (RFC 8288).
fn next_page(uri: &Uri, cursor: &str) -> Option<(HeaderName, HeaderValue)> {
    let kept = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("cursor="));
    let query: Vec<&str> = kept.collect();
    let separator = if query.is_empty() { "" } else { "&" };
    let target = format!(
        "{}?{}{separator}cursor={cursor}",
        uri.path(),
        query.join("&")
    );
    let value = HeaderValue::try_from(format!("<{target}>; rel=\"next\"")).ok()?;
    Some((header::LINK, value))
}
