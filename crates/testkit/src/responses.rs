//! Answers: what came back, and what a test demands of it.

use bytes::Bytes;
use hyper::HeaderMap;
use serde_json::Value;

/// A whole answer.
#[derive(Clone, Debug)]
pub struct TestResponse {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, when it is JSON; else null.
    pub body: Value,
    /// The body as it came.
    pub bytes: Bytes,
    /// What was asked, for messages.
    pub asked: String,
}

impl TestResponse {
    pub(crate) fn new(asked: String, status: u16, headers: HeaderMap, bytes: Bytes) -> Self {
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Self {
            status,
            headers,
            body,
            bytes,
            asked,
        }
    }

    /// One header as text; `""` when it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("a header of text"))
    }

    /// Demands this status; answers the body.
    #[track_caller]
    pub fn ok(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}: {}", self.asked, self.text());
        self.body
    }

    /// Demands a refusal: this status and code, in the envelope of every refusal; answers its
    /// details.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Value {
        self.is_an_envelope();
        let found = (self.status, self.body["code"].as_str().unwrap_or_default());
        assert_eq!(found, (status, code), "{}: {}", self.asked, self.text());
        self.body["details"].clone()
    }

    /// Demands the shape every refusal has.
    ///
    /// Source: contract 1.2.
    #[track_caller]
    pub fn is_an_envelope(&self) {
        let context = format!("{}: {} {}", self.asked, self.status, self.text());
        assert!(self.status >= 400, "{context}");
        assert_eq!(self.header("content-type"), "application/json", "{context}");
        assert!(!self.header("x-request-id").is_empty(), "{context}");
        assert_eq!(
            self.header("x-content-type-options"),
            "nosniff",
            "{context}"
        );
        let envelope = self.body.as_object().unwrap_or_else(|| panic!("{context}"));
        let mut members: Vec<&str> = envelope.keys().map(String::as_str).collect();
        members.sort_unstable();
        assert_eq!(members, ["code", "details", "error"], "{context}");
        let sentence = envelope["error"].as_str().unwrap_or_default();
        assert!(sentence.ends_with('.') && sentence.len() > 10, "{context}");
        let code = envelope["code"].as_str().unwrap_or_default();
        let is_upper_snake = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        assert!(
            !code.is_empty() && code.chars().all(is_upper_snake),
            "{context}"
        );
    }

    /// The body as text, for messages.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
