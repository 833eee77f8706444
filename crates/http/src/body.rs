//! Bodies: reading a JSON body within its limits, and saying everything that is wrong with it.

use std::time::Duration;

use axum::{
    extract::{FromRequest, Request},
    http::{HeaderMap, HeaderValue, header},
};
use guildhall_domain::{Refusal, limits::JSON_VALUES_MAX};
use guildhall_wire::request_fields::{self, FromFields, Json};
use http_body_util::BodyExt;
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use crate::{
    error_catalogue,
    errors::{ApiError, internal},
};

/// Bytes of a body, unless a route says otherwise.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Seconds a body may rest.
pub const BODY_IDLE_S: u64 = 15;
/// Seconds a body may take altogether.
pub const BODY_TOTAL_S: u64 = 120;

/// A body of the shape `A`; the last argument of a handler. An absent or empty body is `{}`.
pub struct Body<A>(pub A);

impl<A: FromFields, S: Sync> FromRequest<S> for Body<A> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        parse(&json_bytes(request).await?).map(Self)
    }
}

/// A JSON body of at most `MAX` bytes and `VALUES` values whose fields are read by the handler: for
/// a route that asks for more of its caller when a field is there, or takes more than others.
pub struct RawBody<const MAX: usize, const VALUES: usize = JSON_VALUES_MAX>(Json);

impl<const MAX: usize, const VALUES: usize, S: Sync> FromRequest<S> for RawBody<MAX, VALUES> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        Self::reading(request, |_| ()).await.map(|(body, ())| body)
    }
}

impl<const MAX: usize, const VALUES: usize> RawBody<MAX, VALUES> {
    /// Reads a body, with what `look` makes of its bytes.
    pub(crate) async fn reading<T: Send + 'static>(
        request: Request,
        look: impl FnOnce(&[u8]) -> T + Send + 'static,
    ) -> Result<(Self, T), ApiError> {
        let bytes = json_bytes_of(request, MAX).await?;
        let is_short = bytes.len() <= BODY_BYTES_MAX;
        let read = move || json_of(&bytes, VALUES).map(|json| (Self(json), look(&bytes)));
        if is_short {
            return read();
        }
        // Others wait for this thread meanwhile.
        let read = tokio::task::spawn_blocking(read).await;
        read.map_err(|_| internal())?
    }

    /// Whether the body is an object with this field, whatever it holds.
    pub fn has_field(&self, field: &str) -> bool {
        self.0.0.get(field).is_some()
    }

    /// What the body asks.
    ///
    /// # Errors
    /// Everything that is wrong with its fields.
    pub fn read<A: FromFields>(self) -> Result<A, ApiError> {
        request_fields::read(self.0).map_err(|invalid| Refusal::Validation(invalid).into())
    }
}

/// The bytes of a JSON body, within its limits.
pub(crate) async fn json_bytes(request: Request) -> Result<Vec<u8>, ApiError> {
    json_bytes_of(request, BODY_BYTES_MAX).await
}

async fn json_bytes_of(request: Request, max: usize) -> Result<Vec<u8>, ApiError> {
    if !is_json(request.headers()) && announces_body(request.headers()) {
        return Err(ApiError::new(error_catalogue::UNSUPPORTED_MEDIA_TYPE));
    }
    read(request, max).await
}

/// What a body asks; an empty one is `{}`.
pub(crate) fn parse<A: FromFields>(bytes: &[u8]) -> Result<A, ApiError> {
    request_fields::read(json(bytes)?).map_err(|invalid| Refusal::Validation(invalid).into())
}

/// Holds back JSON of more values than a body may have, for what is read by another reader.
///
/// # Errors
/// `INVALID_JSON`.
pub(crate) fn require_few_values(bytes: &[u8]) -> Result<(), ApiError> {
    // Each value takes a byte at least.
    let is_surely_few = bytes.len() <= JSON_VALUES_MAX;
    if is_surely_few {
        return Ok(());
    }
    json(bytes).map(|_| ())
}

fn json(bytes: &[u8]) -> Result<Json, ApiError> {
    json_of(bytes, JSON_VALUES_MAX)
}

fn json_of(bytes: &[u8], values: usize) -> Result<Json, ApiError> {
    if bytes.is_empty() {
        return Ok(Json::empty());
    }
    Json::of(bytes, values).map_err(|_| ApiError::new(error_catalogue::INVALID_JSON))
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(text)) = headers.get(header::CONTENT_TYPE).map(HeaderValue::to_str) else {
        return false;
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// Whether a body follows that is not empty, as far as its head tells.
fn announces_body(headers: &HeaderMap) -> bool {
    headers.contains_key(header::TRANSFER_ENCODING)
        || headers
            .get(header::CONTENT_LENGTH)
            .is_some_and(|length| length != "0")
}

async fn read(request: Request, max: usize) -> Result<Vec<u8>, ApiError> {
    let declared = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|bytes| bytes > max) {
        return Err(too_large(max));
    }
    let mut body = request.into_body();
    let mut bytes = Vec::with_capacity(declared.unwrap_or(0));
    let end = Instant::now() + Duration::from_secs(BODY_TOTAL_S);
    loop {
        let rest = Instant::now() + Duration::from_secs(BODY_IDLE_S);
        let frame = timeout_at(end.min(rest), body.frame())
            .await
            .map_err(|_| too_slow())?;
        let Some(frame) = frame else { return Ok(bytes) };
        let frame = frame.map_err(|_| ApiError::new(error_catalogue::BAD_REQUEST))?;
        if let Some(data) = frame.data_ref() {
            if bytes.len() + data.len() > max {
                return Err(too_large(max));
            }
            bytes.extend_from_slice(data);
        }
    }
}

fn too_large(max: usize) -> ApiError {
    ApiError::new(error_catalogue::PAYLOAD_TOO_LARGE)
        .with_details(json!({ "limitBytes": max }))
        .with_header(header::CONNECTION, HeaderValue::from_static("close"))
}

fn too_slow() -> ApiError {
    ApiError::new(error_catalogue::REQUEST_TIMEOUT)
        .with_header(header::CONNECTION, HeaderValue::from_static("close"))
}
