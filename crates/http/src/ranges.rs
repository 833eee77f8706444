//! Ranges: which part of some bytes a client wants. Source: RFC 9110 §13.1.5 and §14.2.

use std::ops::Range;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// What of the bytes is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    Whole,
    /// These, of which there is at least one.
    Some(Range<u64>),
    /// A part that lies beyond them.
    Beyond,
}

/// Which part of `size` bytes with this strong entity tag is asked for. Several parts, another
/// unit, a range that cannot be read, and one of an older state all mean the whole.
pub fn part(headers: &HeaderMap, tag: &HeaderValue, size: u64) -> Part {
    let mut ranges = texts(headers, &header::RANGE);
    let (Some(range), None) = (ranges.next(), ranges.next()) else {
        return Part::Whole;
    };
    if texts(headers, &header::IF_RANGE).any(|known| known != tag) {
        return Part::Whole;
    }
    let Some((first, last)) = range
        .trim()
        .strip_prefix("bytes=")
        .and_then(|range| range.split_once('-'))
        .map(|(first, last)| (first.trim(), last.trim()))
    else {
        return Part::Whole;
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if last < first => Part::Whole,
        (Some(first), Some(last)) => within(first, last.saturating_add(1), size),
        (Some(first), None) if last.is_empty() => within(first, size, size),
        (None, Some(0)) if first.is_empty() => Part::Beyond,
        (None, Some(count)) if first.is_empty() => within(size.saturating_sub(count), size, size),
        _ => Part::Whole,
    }
}

fn within(first: u64, end: u64, size: u64) -> Part {
    if first < size {
        Part::Some(first..end.min(size))
    } else {
        Part::Beyond
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
            ("bytes=0-3", Part::Some(0..4)),
            ("bytes=9-9", Part::Some(9..10)),
            ("bytes=4-", Part::Some(4..10)),
            ("bytes=4-99", Part::Some(4..10)),
            ("bytes=-3", Part::Some(7..10)),
            ("bytes=-99", Part::Some(0..10)),
            ("bytes=0-99999999999999999999999", Part::Some(0..10)),
            ("bytes=10-", Part::Beyond),
            ("bytes=-0", Part::Beyond),
            ("bytes=99999999999999999999999-", Part::Beyond),
            ("bytes=3-1", Part::Whole),
            ("bytes=0-1,4-5", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("lines=0-3", Part::Whole),
            ("", Part::Whole),
        ] {
            assert_eq!(
                super::part(&headers(&[("range", range)]), &TAG, 10),
                part,
                "{range}"
            );
        }
        assert_eq!(
            part(&headers(&[("range", "bytes=0-")]), &TAG, 0),
            Part::Beyond
        );
        assert_eq!(part(&headers(&[]), &TAG, 10), Part::Whole);
    }

    #[test]
    fn a_part_of_an_older_state_is_the_whole() {
        for (known, expected) in [
            ("\"abc\"", Part::Some(0..4)),
            ("\"old\"", Part::Whole),
            ("W/\"abc\"", Part::Whole),
            ("Sat, 21 Nov 2026 03:37:32 GMT", Part::Whole),
        ] {
            let headers = headers(&[("range", "bytes=0-3"), ("if-range", known)]);
            assert_eq!(part(&headers, &TAG, 10), expected, "{known}");
        }
    }
}
