//! Ranges: which part of some bytes a client wants, and the answer that brings it.
//! Source: RFC 9110 §13.1.5 and §14.2.

use std::ops::Range;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use guildhall_domain::Result;

use crate::{
    error_catalogue,
    errors::{ApiError, ApiResult},
    preconditions,
};

/// Bytes of a file that are read at once.
pub const CHUNK_BYTES: u64 = 128 * 1024;

/// Bytes that can be answered whole or in part.
pub struct ByteSource<'a> {
    /// How many they are.
    pub size: u64,
    /// Their strong entity tag, without its quotes.
    pub tag: &'a str,
    /// The first of them, when they were read already.
    pub ahead: Vec<u8>,
}

/// The answer that brings of `source` what is asked for, with the headers that say which part it
/// is; `read` gives exactly the bytes it is asked for. A client that holds them gets the head
/// alone, which the guards make a 304.
///
/// # Errors
/// `RANGE_NOT_SATISFIABLE` with the size in `Content-Range`.
pub fn answer<R>(
    method: &Method,
    headers: &HeaderMap,
    source: ByteSource<'_>,
    read: impl Fn(Range<u64>) -> R + Send + 'static,
) -> ApiResult<Response>
where
    R: Future<Output = Result<Vec<u8>>> + Send + 'static,
{
    let ByteSource { size, tag, ahead } = source;
    let tag = text(&format!("\"{tag}\""));
    let is_known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| preconditions::is_known(known, &tag));
    // A range is defined for GET alone, and a client that holds the file is told so instead.
    let is_sent = method == Method::GET && !is_known;
    let part = match is_sent {
        true => part(headers, &tag, size),
        false => RequestedPart::Whole,
    };
    let (status, bytes) = match part {
        RequestedPart::Whole => (StatusCode::OK, 0..size),
        RequestedPart::Some(bytes) => (StatusCode::PARTIAL_CONTENT, bytes),
        RequestedPart::Beyond => {
            return Err(ApiError::new(error_catalogue::RANGE_NOT_SATISFIABLE)
                .with_header(header::CONTENT_RANGE, text(&format!("bytes */{size}"))));
        }
    };
    let (length, range) = (bytes.end - bytes.start, content_range(&bytes, size));
    let body = match is_sent {
        true => content(ahead, bytes, read),
        false => Body::empty(),
    };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, length.into());
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::ETAG, tag);
    if status == StatusCode::PARTIAL_CONTENT {
        headers.insert(header::CONTENT_RANGE, range);
    }
    Ok(response)
}

/// What of the bytes is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RequestedPart {
    /// All of them.
    Whole,
    /// These, of which there is at least one.
    Some(Range<u64>),
    /// A part that lies beyond them.
    Beyond,
}

/// Which part of `size` bytes with this strong entity tag is asked for. Several parts, another
/// unit, a range that cannot be read, and one of an older state all mean the whole.
fn part(headers: &HeaderMap, tag: &HeaderValue, size: u64) -> RequestedPart {
    let mut ranges = texts(headers, &header::RANGE);
    let (Some(range), None) = (ranges.next(), ranges.next()) else {
        return RequestedPart::Whole;
    };
    if texts(headers, &header::IF_RANGE).any(|known| known != tag) {
        return RequestedPart::Whole;
    }
    let Some((first, last)) = range
        .trim()
        .strip_prefix("bytes=")
        .and_then(|range| range.split_once('-'))
        .map(|(first, last)| (first.trim(), last.trim()))
    else {
        return RequestedPart::Whole;
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if last < first => RequestedPart::Whole,
        (Some(first), Some(last)) => within(first, last.saturating_add(1), size),
        (Some(first), None) if last.is_empty() => within(first, size, size),
        (None, Some(0)) if first.is_empty() => RequestedPart::Beyond,
        (None, Some(count)) if first.is_empty() => within(size.saturating_sub(count), size, size),
        _ => RequestedPart::Whole,
    }
}

/// What `Content-Range` says of these bytes of `size`.
fn content_range(bytes: &Range<u64>, size: u64) -> HeaderValue {
    let last = bytes.end.saturating_sub(1);
    text(&format!("bytes {}-{last}/{size}", bytes.start))
}

/// A body of these bytes: those that were read already, then a chunk at a time.
fn content<R>(
    ahead: Vec<u8>,
    bytes: Range<u64>,
    read: impl Fn(Range<u64>) -> R + Send + 'static,
) -> Body
where
    R: Future<Output = Result<Vec<u8>>> + Send + 'static,
{
    let first = match bytes.start {
        0 if ahead.len() as u64 <= bytes.end => Bytes::from(ahead),
        _ => Bytes::new(),
    };
    if first.len() as u64 == bytes.end - bytes.start {
        return first.into();
    }
    let left = bytes.start + first.len() as u64..bytes.end;
    let chunks = stream::unfold((read, first, left), |(read, first, left)| async move {
        if !first.is_empty() {
            return Some((Ok(first), (read, Bytes::new(), left)));
        }
        if left.is_empty() {
            return None;
        }
        let end = left.end.min(left.start + CHUNK_BYTES);
        let chunk = read(left.start..end).await.map(Bytes::from);
        let chunk = chunk.map_err(|error| {
            tracing::error!(?error, "a file could not be read on");
            std::io::Error::other("the file could not be read on")
        });
        // Behind an error nothing more is asked for.
        Some((chunk, (read, first, end..left.end)))
    });
    Body::from_stream(chunks)
}

/// A header of text that was made of harmless characters.
fn text(text: &str) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

fn within(first: u64, end: u64, size: u64) -> RequestedPart {
    if first < size {
        RequestedPart::Some(first..end.min(size))
    } else {
        RequestedPart::Beyond
    }
}

/// A whole number; one that is too large for us lies beyond every file.
fn number(text: &str) -> Option<u64> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_decimal.then(|| text.parse().unwrap_or(u64::MAX))
}

fn texts<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(name)
        .into_iter()
        .map(|value| value.to_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: HeaderValue = HeaderValue::from_static("\"abc\"");

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_part_of_ten_bytes_is_read_as_the_standard_says() {
        for (range, part) in [
            ("bytes=0-3", RequestedPart::Some(0..4)),
            ("bytes=9-9", RequestedPart::Some(9..10)),
            ("bytes=4-", RequestedPart::Some(4..10)),
            ("bytes=4-99", RequestedPart::Some(4..10)),
            ("bytes=-3", RequestedPart::Some(7..10)),
            ("bytes=-99", RequestedPart::Some(0..10)),
            (
                "bytes=0-99999999999999999999999",
                RequestedPart::Some(0..10),
            ),
            ("bytes=10-", RequestedPart::Beyond),
            ("bytes=-0", RequestedPart::Beyond),
            ("bytes=99999999999999999999999-", RequestedPart::Beyond),
            ("bytes=3-1", RequestedPart::Whole),
            ("bytes=0-1,4-5", RequestedPart::Whole),
            ("bytes=-", RequestedPart::Whole),
            ("bytes=a-b", RequestedPart::Whole),
            ("bytes=+1-2", RequestedPart::Whole),
            ("lines=0-3", RequestedPart::Whole),
            ("", RequestedPart::Whole),
        ] {
            assert_eq!(
                super::part(&headers(&[("range", range)]), &TAG, 10),
                part,
                "{range}"
            );
        }
        assert_eq!(
            part(&headers(&[("range", "bytes=0-")]), &TAG, 0),
            RequestedPart::Beyond
        );
        assert_eq!(part(&headers(&[]), &TAG, 10), RequestedPart::Whole);
    }

    #[test]
    fn a_part_of_an_older_state_is_the_whole() {
        for (known, expected) in [
            ("\"abc\"", RequestedPart::Some(0..4)),
            ("\"old\"", RequestedPart::Whole),
            ("W/\"abc\"", RequestedPart::Whole),
            ("Sat, 21 Nov 2026 03:37:32 GMT", RequestedPart::Whole),
        ] {
            let headers = headers(&[("range", "bytes=0-3"), ("if-range", known)]);
            assert_eq!(part(&headers, &TAG, 10), expected, "{known}");
        }
    }
}
