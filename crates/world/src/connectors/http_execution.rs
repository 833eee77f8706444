//! Requests to HTTP services: writing them, following a read within its origin, and reading what
//! comes back.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use guildhall_domain::{
    connectors::{
        http_requests::{self, HttpRequest, encoded},
        operations::{HttpBinding, HttpMethod},
        send_result::SendResult,
        toolkits::{KeyLocation, ToolkitAuth},
    },
    limits::connectors::{
        CONNECTOR_ANSWER_BYTES_MAX, CONNECTOR_REASON_CHARS_MAX, CONNECTOR_REDIRECTS_MAX,
    },
};
use http::{
    HeaderName, HeaderValue, Request, Response, StatusCode, Uri,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, LOCATION, RETRY_AFTER, USER_AGENT,
    },
};
use hyper::body::Incoming;
use jiff::{Timestamp, fmt::rfc2822};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::{AGENT, AccountCredentials, OutgoingOperation, ServiceClients, hidden};
use crate::http_client::{HttpClient, HttpClientError, RequestError, plain, read, within};

/// The header by which a service knows a repeat.
const KEY_HEADER: &str = "idempotency-key";
/// Members of an answer that say why not, in the order they are looked for.
const REASONS: [&str; 6] = [
    "detail",
    "message",
    "error_description",
    "error",
    "title",
    "reason",
];

impl ServiceClients {
    pub(super) async fn request(
        &self,
        binding: &HttpBinding,
        sending: &OutgoingOperation<'_>,
    ) -> SendResult {
        let unsendable = |message: &str| SendResult::NotSent {
            message: message.to_owned(),
        };
        let base = sending.toolkit.base_url.as_deref().unwrap_or_default();
        let written = match http_requests::build(binding, base, sending.arguments) {
            Ok(written) => written,
            Err(why) => return SendResult::NotSent { message: why },
        };
        let way = Url::parse(base).ok().and_then(|url| self.way(&url));
        let Some(way) = way else {
            return unsendable("the address of the service is none that may be asked");
        };
        let key = sending.key.filter(|_| binding.takes_key);
        let auth = (&sending.toolkit.auth, sending.credentials);
        let Some(request) = assemble(written, auth, key) else {
            return unsendable("the arguments make no request that can be sent");
        };
        let until = Instant::now() + sending.within;
        let redirects = match binding.method {
            HttpMethod::Get | HttpMethod::Head => CONNECTOR_REDIRECTS_MAX,
            HttpMethod::Post | HttpMethod::Put | HttpMethod::Patch | HttpMethod::Delete => 0,
        };
        match send_request(way, request, redirects, until).await {
            Ok(answer) => said(answer, until, sending.credentials).await,
            Err(undone) => undone.into(),
        }
    }
}

impl From<RequestError> for SendResult {
    fn from(undone: RequestError) -> Self {
        let message = match undone.error {
            Some(error) => error.to_string(),
            None => "the service did not answer in time".to_owned(),
        };
        match undone.may_be_sent {
            true => Self::Lost { message },
            false => Self::NotSent { message },
        }
    }
}

/// The request with what signs it; `None` where its parts make none.
fn assemble(
    written: HttpRequest,
    (auth, credentials): (&ToolkitAuth, &AccountCredentials),
    key: Option<&str>,
) -> Option<Request<Bytes>> {
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("application/json, */*;q=0.5"),
    );
    for (name, value) in &written.headers {
        headers.insert(name.parse::<HeaderName>().ok()?, value.parse().ok()?);
    }
    if let Some(key) = key {
        headers.insert(HeaderName::from_static(KEY_HEADER), key.parse().ok()?);
    }
    let mut url = written.url;
    match signed(auth, credentials) {
        None => {}
        Some(AccountCredential::Header(name, value)) => {
            let mut value: HeaderValue = value.parse().ok()?;
            value.set_sensitive(true);
            headers.insert(name.parse::<HeaderName>().ok()?, value);
        }
        Some(AccountCredential::Query(name, value)) => {
            let joint = if url.contains('?') { '&' } else { '?' };
            url = format!("{url}{joint}{}={}", encoded(&name), encoded(&value));
        }
    }
    let method = match written.method {
        HttpMethod::Get => http::Method::GET,
        HttpMethod::Head => http::Method::HEAD,
        HttpMethod::Post => http::Method::POST,
        HttpMethod::Put => http::Method::PUT,
        HttpMethod::Patch => http::Method::PATCH,
        HttpMethod::Delete => http::Method::DELETE,
    };
    let mut request = Request::new(Bytes::from(written.body));
    *request.method_mut() = method;
    *request.uri_mut() = url.parse::<Uri>().ok()?;
    *request.headers_mut() = headers;
    Some(request)
}

/// What shows an account.
pub(super) enum AccountCredential {
    /// A header and its value.
    Header(String, String),
    /// A member of the query and its value.
    Query(String, String),
}

/// What shows the account to a service that is signed in with this way.
pub(super) fn signed(
    auth: &ToolkitAuth,
    credentials: &AccountCredentials,
) -> Option<AccountCredential> {
    match (auth, credentials) {
        (ToolkitAuth::ApiKey { r#in, name, prefix }, AccountCredentials::Key(key)) => {
            let value = format!("{prefix}{key}");
            Some(match r#in {
                KeyLocation::Header => AccountCredential::Header(name.clone(), value),
                KeyLocation::Query => AccountCredential::Query(name.clone(), value),
            })
        }
        (ToolkitAuth::Oauth2(_), AccountCredentials::Token(token)) => Some(
            AccountCredential::Header(AUTHORIZATION.to_string(), format!("Bearer {token}")),
        ),
        (ToolkitAuth::None | ToolkitAuth::ApiKey { .. } | ToolkitAuth::Oauth2(_), _) => None,
    }
}

/// Sends a request and follows where it is sent on to, within its origin.
pub(super) async fn send_request(
    way: &HttpClient,
    request: Request<Bytes>,
    redirects: usize,
    until: Instant,
) -> Result<Response<Incoming>, RequestError> {
    let (mut head, body) = request.into_parts();
    for left in (0..=redirects).rev() {
        let one = Request::from_parts(head.clone(), body.clone());
        let answer = way.traced(one, until).await?;
        let place = answer.headers().get(LOCATION).filter(|_| {
            matches!(
                answer.status(),
                StatusCode::MOVED_PERMANENTLY
                    | StatusCode::FOUND
                    | StatusCode::SEE_OTHER
                    | StatusCode::TEMPORARY_REDIRECT
                    | StatusCode::PERMANENT_REDIRECT
            )
        });
        let place = place.and_then(|place| place.to_str().ok());
        match place.and_then(|place| within(&head.uri, place)) {
            Some(uri) if left > 0 => head.uri = uri,
            // The last one is answered as it is, and so is one that leads elsewhere.
            _ => return Ok(answer),
        }
    }
    Err(RequestError::sent(HttpClientError::Circles))
}

/// What a service said.
async fn said(
    answer: Response<Incoming>,
    until: Instant,
    credentials: &AccountCredentials,
) -> SendResult {
    let (head, body) = answer.into_parts();
    let body = timeout_at(until, read(body, CONNECTOR_ANSWER_BYTES_MAX)).await;
    let media_type = head.headers.get(CONTENT_TYPE);
    let media_type = media_type
        .and_then(|it| it.to_str().ok())
        .unwrap_or_default();
    if head.status.is_success() {
        return match body {
            Ok(Ok(bytes)) => SendResult::Done {
                data: Some(data(media_type, hidden(bytes, credentials))),
            },
            Ok(Err(HttpClientError::TooLarge)) => SendResult::Done { data: None },
            Ok(Err(error)) => SendResult::Lost {
                message: format!("the answer broke off: {error}"),
            },
            Err(_) => SendResult::Lost {
                message: "the answer did not come in time".to_owned(),
            },
        };
    }
    let text = body.ok().and_then(Result::ok).unwrap_or_default();
    SendResult::Refused {
        status: Some(head.status.as_u16()),
        message: reason(head.status, &data(media_type, hidden(text, credentials))),
        retry_after_s: retry_after_s(&head.headers),
    }
}

/// A body as a value: JSON as it is, text as text, anything else as base64 with its media type.
fn data(media_type: &str, bytes: Vec<u8>) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    let plain = media_type.split(';').next().unwrap_or_default();
    let plain = plain.trim().to_ascii_lowercase();
    let is_json = plain == "application/json" || plain.ends_with("+json");
    if is_json && let Ok(value) = serde_json::from_slice(&bytes) {
        return value;
    }
    let is_text = plain.is_empty()
        || plain.starts_with("text/")
        || plain.ends_with("json")
        || plain.ends_with("xml");
    match String::from_utf8(bytes) {
        Ok(text) if is_text => Value::String(text),
        Ok(text) => json!({"mediaType": plain, "base64": STANDARD.encode(text)}),
        Err(error) => json!({"mediaType": plain, "base64": STANDARD.encode(error.as_bytes())}),
    }
}

/// Why not, for people: what the service says, else what its status means.
fn reason(status: StatusCode, said: &Value) -> String {
    let text = match said {
        Value::String(text) => Some(text.as_str()),
        Value::Object(members) => REASONS.iter().find_map(|name| {
            let found = members.get(*name)?;
            found.as_str().or_else(|| found.get("message")?.as_str())
        }),
        _ => None,
    };
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    let text = text.or(status.canonical_reason()).unwrap_or("it said no");
    plain_reason(text)
}

/// Text of a service as a person may be shown it.
pub(super) fn plain_reason(text: &str) -> String {
    plain(text, CONNECTOR_REASON_CHARS_MAX)
}

/// Seconds a service asks to wait; a time of day is held against its own clock.
fn retry_after_s(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let at =
        |text: &str| -> Option<Timestamp> { rfc2822::parse(text).ok().map(|at| at.timestamp()) };
    let now = at(headers.get(DATE)?.to_str().ok()?)?;
    let wait = at(text)?.as_second().saturating_sub(now.as_second());
    u64::try_from(wait).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_says_why_not_in_its_own_words() {
        let cases = [
            (
                json!({"message": "No such pet", "title": "x"}),
                "No such pet",
            ),
            (json!({"error": {"message": "Bad\ncard"}}), "Bad card"),
            (json!({"error": "invalid_grant"}), "invalid_grant"),
            (json!("plain"), "plain"),
            (json!({"code": 7}), "Not Found"),
            (json!(null), "Not Found"),
            (json!({"detail": "  "}), "Not Found"),
        ];
        for (said, expected) in cases {
            assert_eq!(reason(StatusCode::NOT_FOUND, &said), expected, "{said}");
        }
        let long = reason(StatusCode::NOT_FOUND, &json!("a".repeat(5_000)));
        assert_eq!(long.len(), CONNECTOR_REASON_CHARS_MAX);
    }

    #[test]
    fn what_comes_back_is_json_text_or_base64() {
        let cases: [(&str, &[u8], Value); 7] = [
            (
                "application/json; charset=utf-8",
                b"{\"a\":1}",
                json!({"a": 1}),
            ),
            ("application/problem+json", b"[1]", json!([1])),
            ("application/json", b"no json", json!("no json")),
            ("text/csv", b"a,b", json!("a,b")),
            ("", b"x", json!("x")),
            (
                "image/png",
                b"\x89P",
                json!({"mediaType": "image/png", "base64": "iVA="}),
            ),
            ("application/json", b"", json!(null)),
        ];
        for (media_type, bytes, expected) in cases {
            assert_eq!(data(media_type, bytes.to_vec()), expected, "{media_type}");
        }
    }

    #[test]
    fn a_wait_is_told_in_seconds_or_by_the_services_own_clock() {
        let cases = [
            (Some("7"), None, Some(7)),
            (
                Some("Sun, 06 Nov 1994 08:49:37 GMT"),
                Some("Sun, 06 Nov 1994 08:49:30 GMT"),
                Some(7),
            ),
            (Some("Sun, 06 Nov 1994 08:49:37 GMT"), None, None),
            (Some("soon"), None, None),
            (None, None, None),
        ];
        for (wait, date, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in [(RETRY_AFTER, wait), (DATE, date)] {
                if let Some(value) = value {
                    headers.insert(name, value.parse().unwrap());
                }
            }
            assert_eq!(retry_after_s(&headers), expected, "{wait:?} {date:?}");
        }
    }
}
