//! Preconditions and validators: `If-Match` on changes, `ETag` and `If-None-Match` on answers.
//! Source: RFC 9110 §8.8.3 and §13.1, contract 1.9.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, header, request::Parts},
};
use guildhall_domain::{Refusal, errors::ValidationErrors, revisions::Precondition};
use sha2::{Digest, Sha256};

use crate::errors::ApiError;

/// What `If-Match` asks for.
pub struct IfMatch(pub Precondition);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Ok(Self(precondition(&parts.headers)?))
    }
}

fn precondition(headers: &HeaderMap) -> Result<Precondition, Refusal> {
    let unreadable = || {
        Refusal::Validation(ValidationErrors::form(
            "If-Match must be * or a list of entity tags in quotes",
        ))
    };
    let mut tags = Vec::new();
    let mut exists = false;
    for value in headers.get_all(header::IF_MATCH) {
        let text = value.to_str().map_err(|_| unreadable())?;
        for item in text.split(',').map(str::trim) {
            match item {
                "*" => exists = true,
                _ => tags.push(strong(item).ok_or_else(unreadable)?),
            }
        }
    }
    match (exists, tags.is_empty()) {
        (false, true) => Ok(Precondition::None),
        (true, true) => Ok(Precondition::Exists),
        (false, false) => Ok(Precondition::OneOf(tags.into_iter().flatten().collect())),
        (true, false) => Err(unreadable()),
    }
}

/// The revision a tag names: `Some(None)` for a tag that is well formed and never matches, such
/// as a weak one; `None` for what is no tag.
fn strong(item: &str) -> Option<Option<u64>> {
    if let Some(weak) = item.strip_prefix("W/") {
        return quoted(weak).map(|_| None);
    }
    let tag = quoted(item)?;
    let rev: Option<u64> = tag.parse().ok();
    Some(rev.filter(|rev| rev.to_string() == tag))
}

fn quoted(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains('"')).then_some(inner)
}

/// The entity tag of an object at revision `rev`.
pub(crate) fn rev_tag(rev: u64) -> String {
    format!("\"{rev}\"")
}

/// The entity tag of an answer made of these bytes.
pub(crate) fn body_tag(body: &[u8]) -> String {
    let digest: [u8; 32] = Sha256::digest(body).into();
    let mut tag = String::with_capacity(34);
    tag.push('"');
    for byte in &digest[..16] {
        tag.push_str(&format!("{byte:02x}"));
    }
    tag.push('"');
    tag
}

/// Whether `If-None-Match` names the tag of an answer; the comparison is weak.
pub(crate) fn is_known(if_none_match: &HeaderValue, tag: &HeaderValue) -> bool {
    let (Ok(known), Ok(tag)) = (if_none_match.to_str(), tag.to_str()) else {
        return false;
    };
    known
        .split(',')
        .map(str::trim)
        .any(|item| item == "*" || item.strip_prefix("W/").unwrap_or(item) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_match_is_a_star_or_strong_tags() {
        let one_of = |revs: &[u64]| Some(Precondition::OneOf(revs.to_vec()));
        for (values, expected) in [
            (&[][..], Some(Precondition::None)),
            (&["*"], Some(Precondition::Exists)),
            (&["\"3\""], one_of(&[3])),
            (&["\"3\", \"4\"", "\"5\""], one_of(&[3, 4, 5])),
            (&["W/\"3\""], one_of(&[])),
            (&["\"03\""], one_of(&[])),
            (&["\"x\""], one_of(&[])),
            (&["3"], None),
            (&["\"3"], None),
            (&["*, \"3\""], None),
            (&[""], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::IF_MATCH, value.parse().unwrap());
            }
            assert_eq!(precondition(&headers).ok(), expected, "{values:?}");
        }
    }

    #[test]
    fn a_known_tag_is_found_in_a_list_weak_or_not() {
        let tag = HeaderValue::from_static("\"ab\"");
        for (value, known) in [
            ("\"ab\"", true),
            ("W/\"ab\"", true),
            ("\"x\", \"ab\"", true),
            ("*", true),
            ("\"abc\"", false),
            ("ab", false),
        ] {
            assert_eq!(is_known(&value.parse().unwrap(), &tag), known, "{value}");
        }
    }
}
