//! Keys: whether a request carries the key of the test, so that a real key that leaks is noticed.

use axum::http::{HeaderMap, Uri, header};

/// The key a request carries, by any of the wires' ways.
pub(crate) fn of_request<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = header(header::AUTHORIZATION.as_str())
        .map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
    let query = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .find_map(|pair| pair.strip_prefix("key="));
    header("x-api-key")
        .or(bearer)
        .or(header("x-goog-api-key"))
        .or(query)
}
