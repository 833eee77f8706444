//! Request ids: the name under which an answer and its log line find each other.
//! Making a new one needs clock and randomness, so the maker is an argument.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header that carries the id, both ways.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Characters of a caller's own id.
pub const REQUEST_ID_CHARS_MAX: usize = 64;

/// Makes a new id: a UUIDv7 in its written form.
pub type MakeId = fn() -> String;

/// The id of one request, in the request's extensions and on its answer.
#[derive(Clone, Debug)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// The caller's own id when it sent exactly one that fits `[A-Za-z0-9._-]{1,64}`,
    /// else a new one.
    ///
    /// Source: contract 1.1, "Headers on every response".
    pub fn of(headers: &HeaderMap, make: MakeId) -> Self {
        let mut sent = headers.get_all(&REQUEST_ID).iter();
        match (sent.next(), sent.next()) {
            (Some(own), None) if fits(own.as_bytes()) => Self(own.clone()),
            _ => Self::new(make),
        }
    }

    /// A new id, for answers to requests that cannot be read.
    pub fn new(make: MakeId) -> Self {
        // A maker that breaks its promise costs the id, never the answer.
        let id = HeaderValue::try_from(make()).ok();
        Self(id.unwrap_or_else(|| HeaderValue::from_static("unknown")))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    /// The id as it goes into a header.
    pub fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

fn fits(id: &[u8]) -> bool {
    (1..=REQUEST_ID_CHARS_MAX).contains(&id.len())
        && id
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_for(sent: &[&[u8]]) -> String {
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(REQUEST_ID, HeaderValue::from_bytes(value).unwrap());
        }
        RequestId::of(&headers, || "fresh".to_owned())
            .as_str()
            .to_owned()
    }

    #[test]
    fn a_callers_own_id_is_kept() {
        assert_eq!(id_for(&[b"Build-7.4_x"]), "Build-7.4_x");
        assert_eq!(id_for(&[&[b'a'; 64]]), "a".repeat(64));
    }

    #[test]
    fn an_id_that_does_not_fit_is_replaced() {
        let too_long = "a".repeat(65);
        for sent in ["", "with space", "<script>", "\u{e9}", too_long.as_str()] {
            assert_eq!(id_for(&[sent.as_bytes()]), "fresh", "{sent:?}");
        }
        assert_eq!(id_for(&[]), "fresh");
        assert_eq!(id_for(&[b"one", b"two"]), "fresh");
    }
}
