//! Answers: JSON bodies, with the event they were read at, their entity tag and the next page's
//! address.

use std::convert::Infallible;

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use guildhall_domain::revisions::Revised;
use guildhall_hall::ReadSnapshot;
use serde::Serialize;

use crate::{
    errors::internal,
    preconditions::{body_tag, rev_tag},
};

/// The newest event at the moment of reading, so that a stream can go on from there.
pub const EVENT_SEQ: HeaderName = HeaderName::from_static("x-event-seq");

/// A list or derived view that was read, with the event it was read at; its tag is made of its
/// bytes, and a caller that has them is answered 304. Source: contract 1.9 and 1.10.
pub struct ReadResponse<T>(pub ReadSnapshot<T>);

impl<T: Serialize> IntoResponse for ReadResponse<T> {
    fn into_response(self) -> Response {
        let mut response = tagged_by_body(&self.0.value);
        if response.status().is_success() {
            response.headers_mut().insert(EVENT_SEQ, self.0.seq.into());
        }
        response
    }
}

/// A view of what no event tells of, such as a folder on the disk; with a tag like a list.
pub struct UntrackedResponse<T>(pub T);

impl<T: Serialize> IntoResponse for UntrackedResponse<T> {
    fn into_response(self) -> Response {
        tagged_by_body(&self.0)
    }
}

/// An object that may be large, handed on a piece at a time as the client takes them; what stands
/// beside it is kept until the last one.
pub struct ChunkedJson<T, P>(pub T, pub P);

impl<T: Serialize, P: Send + 'static> IntoResponse for ChunkedJson<T, P> {
    fn into_response(self) -> Response {
        /// Bytes that are handed on at once, so that the rest waits here and is counted.
        const PIECE_BYTES: usize = 64 * 1_024;
        let Self(object, place) = self;
        let Ok(text) = serde_json::to_vec(&object) else {
            return internal().into_response();
        };
        let length = text.len();
        let pieces = stream::unfold((Bytes::from(text), place), |(mut left, place)| async move {
            let piece = left.split_to(left.len().min(PIECE_BYTES));
            (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), (left, place)))
        });
        let mut response = json(StatusCode::OK, Body::from_stream(pieces));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_LENGTH, length.into());
        response
    }
}

fn tagged_by_body(body: &impl Serialize) -> Response {
    // Written in one growing piece: a listing can be large, and axum's own writer copies it.
    let Ok(text) = serde_json::to_vec(body) else {
        return internal().into_response();
    };
    let tag = HeaderValue::try_from(body_tag(&text));
    let mut response = json(StatusCode::OK, text);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, PRIVATE);
    if let Ok(tag) = tag {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// A page of a list, with the address of the next one if there is one.
pub fn page_response<T, W: Serialize>(
    uri: &Uri,
    next_cursor: Option<String>,
    seen: ReadSnapshot<T>,
    form: impl FnOnce(T, Option<String>) -> W,
) -> Response {
    let link = next_cursor
        .as_ref()
        .and_then(|cursor| next_page(uri, cursor));
    let page = seen.map(|page| form(page, next_cursor));
    let mut response = ReadResponse(page).into_response();
    response.headers_mut().extend(link);
    response
}

/// Reads a state and gives it its form on the wire.
pub fn read_response<T, W: From<T>>(seen: ReadSnapshot<T>) -> ReadResponse<W> {
    ReadResponse(seen.map(Into::into))
}

/// An object that changes, with its revision as its tag. Fields outside the revision are live,
/// so it is never answered 304. Source: contract 1.9.
pub struct RevisedResponse<W> {
    status: StatusCode,
    rev: u64,
    seq: Option<u64>,
    body: W,
}

impl<W> RevisedResponse<W> {
    /// An object after a change.
    pub fn changed(rev: u64, body: impl Into<W>) -> Self {
        Self {
            status: StatusCode::OK,
            rev,
            seq: None,
            body: body.into(),
        }
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }
}

impl<T, W: From<T>> From<Revised<T>> for RevisedResponse<W> {
    fn from(revised: Revised<T>) -> Self {
        Self::changed(revised.rev, revised.value)
    }
}

impl<T, W: From<T>> From<ReadSnapshot<Revised<T>>> for RevisedResponse<W> {
    fn from(seen: ReadSnapshot<Revised<T>>) -> Self {
        Self {
            seq: Some(seen.seq),
            ..seen.value.into()
        }
    }
}

impl<W: Serialize> IntoResponse for RevisedResponse<W> {
    fn into_response(self) -> Response {
        let Ok(text) = serde_json::to_vec(&self.body) else {
            return internal().into_response();
        };
        let mut response = json(self.status, text);
        let headers = response.headers_mut();
        if let Some(seq) = self.seq {
            headers.insert(EVENT_SEQ, seq.into());
        }
        if let Ok(tag) = HeaderValue::try_from(rev_tag(self.rev)) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");

fn json(status: StatusCode, text: impl Into<Body>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    let body: Body = text.into();
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn what_stands_beside_a_large_answer_is_kept_until_its_last_piece() {
        let place = Arc::new(());
        let text = "\u{1}".repeat(100_000);
        let response = ChunkedJson(&text, Arc::clone(&place)).into_response();
        assert_eq!(response.headers()["content-length"], "600002");
        assert_eq!(response.headers()["content-type"], "application/json");
        let (mut body, mut taken) = (response.into_body(), Vec::new());
        while let Some(piece) = body.frame().await {
            let piece = piece.unwrap().into_data().unwrap();
            assert!(piece.len() < 100_000);
            taken.extend_from_slice(&piece);
            assert_eq!(Arc::strong_count(&place), 2);
        }
        drop(body);
        assert_eq!(Arc::strong_count(&place), 1);
        assert_eq!(serde_json::from_slice::<String>(&taken).unwrap(), text);
    }
}
