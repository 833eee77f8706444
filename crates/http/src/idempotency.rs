//! Repeats: reading `Idempotency-IdempotencyKey` and the body it stands for.
//! What was answered is kept by `hall::idempotency`, in the transaction of the change.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use guildhall_domain::{
    Fault, Refusal, Result,
    errors::ValidationErrors,
    idempotency::{IdempotencyClaim, RecordedBody, RecordedResponse},
    ids::AuthorId,
};
use guildhall_hall::idempotency::IdempotentWrite;
use guildhall_wire::request_fields::FromFields;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{
    body::{self, RawBody},
    errors::{ApiError, internal},
    state::ServerState,
};

/// The header that makes a post safe to send again.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header of an answer that was given before.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Characters of a key.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;

/// Who is asking, as the gate found out; in the request's extensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskingAuthor(pub(crate) AuthorId);

/// The posts with a key that are being answered now.
#[derive(Debug, Default)]
pub struct RunningKeys {
    /// A std mutex: held for one look-up, never over an await.
    claims: Mutex<HashSet<[u8; 32]>>,
}

impl RunningKeys {
    /// Marks a claim as being answered until the mark is dropped.
    fn enter(self: &Arc<Self>, id: [u8; 32]) -> Result<RunningKeyGuard, Refusal> {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        if !claims.insert(id) {
            return Err(Refusal::IdempotencyInProgress);
        }
        Ok(RunningKeyGuard {
            running: Arc::clone(self),
            id,
        })
    }
}

/// A post with a key that is being answered.
#[derive(Debug)]
struct RunningKeyGuard {
    running: Arc<RunningKeys>,
    id: [u8; 32],
}

impl Drop for RunningKeyGuard {
    fn drop(&mut self) {
        let mut claims = self
            .running
            .claims
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        claims.remove(&self.id);
    }
}

/// A post's key, if it has one; it comes behind the gate, and before the body is read.
#[derive(Debug)]
pub struct IdempotencyKey {
    running: Arc<RunningKeys>,
    id: Option<[u8; 32]>,
}

impl FromRequestParts<ServerState> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, ApiError> {
        let key = key(&parts.headers)?;
        let caller = parts.extensions.get::<AskingAuthor>();
        let id = caller.zip(key).map(|(AskingAuthor(author), key)| {
            let mut digest = Sha256::new();
            digest.update(author.as_bytes());
            for part in [parts.method.as_str(), parts.uri.path(), key] {
                digest.update((part.len() as u64).to_be_bytes());
                digest.update(part);
            }
            digest.finalize().into()
        });
        Ok(Self {
            running: Arc::clone(&state.running),
            id,
        })
    }
}

impl IdempotencyKey {
    /// The post under this key, whose body has this SHA-256.
    ///
    /// # Errors
    /// [`Refusal::IdempotencyInProgress`] while a post with this key is being answered.
    pub fn with_body(self, fingerprint: [u8; 32]) -> Result<IdempotentRequest, Refusal> {
        let Some(id) = self.id else {
            return Ok(IdempotentRequest(None));
        };
        let mark = self.running.enter(id)?;
        Ok(IdempotentRequest(Some((
            IdempotencyClaim { id, fingerprint },
            mark,
        ))))
    }
}

/// A post that may come again.
#[derive(Debug)]
pub struct IdempotentRequest(Option<(IdempotencyClaim, RunningKeyGuard)>);

impl IdempotentRequest {
    /// The change that is answered as `answer` says; the same answer meets a repeat.
    pub fn answered_by<T, W: Serialize>(
        self,
        answer: impl FnOnce(&T) -> (StatusCode, W) + Send + 'static,
    ) -> IdempotentWrite<T> {
        self.keeping(move |outcome| {
            let (status, body) = answer(outcome);
            let json = serde_json::to_vec(&body)
                .map_err(|error| Fault::broken("keeping an answer", error))?;
            Ok(RecordedResponse {
                status: status.as_u16(),
                body: RecordedBody::Json(json),
            })
        })
    }

    /// The same for an answer that may hold secrets: it is kept encrypted.
    pub fn answered_sealed<T, W: Serialize>(
        self,
        answer: impl FnOnce(&T) -> (StatusCode, W) + Send + 'static,
    ) -> IdempotentWrite<T> {
        self.keeping(move |outcome| {
            let (status, body) = answer(outcome);
            let json = serde_json::to_vec(&body)
                .map_err(|error| Fault::broken("keeping an answer", error))?;
            Ok(RecordedResponse {
                status: status.as_u16(),
                body: RecordedBody::Private(json),
            })
        })
    }

    /// The change whose answer shows a secret of what `id` names; a repeat is told so.
    pub fn answered_once<T>(
        self,
        id: impl FnOnce(&T) -> String + Send + 'static,
    ) -> IdempotentWrite<T> {
        self.keeping(move |outcome| {
            Ok(RecordedResponse {
                status: StatusCode::CREATED.as_u16(),
                body: RecordedBody::Secret(id(outcome)),
            })
        })
    }

    fn keeping<T>(
        self,
        answer: impl FnOnce(&T) -> Result<RecordedResponse> + Send + 'static,
    ) -> IdempotentWrite<T> {
        match self.0 {
            None => IdempotentWrite::without_key(),
            Some((claim, mark)) => IdempotentWrite::with_key(claim, move |outcome| {
                // The mark lives as long as the change may still happen.
                let _mark = mark;
                answer(outcome)
            }),
        }
    }
}

/// A post's body of the shape `A`, with its key; the last argument of a handler.
pub struct IdempotentBody<A> {
    /// What is asked.
    pub ask: A,
    /// Under which key.
    pub repeat: IdempotentRequest,
}

impl<A: FromFields> FromRequest<ServerState> for IdempotentBody<A> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &ServerState) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let key = IdempotencyKey::from_request_parts(&mut parts, state).await?;
        let bytes = body::json_bytes(Request::from_parts(parts, body)).await?;
        let ask = body::parse(&bytes)?;
        let fingerprint = Sha256::digest(&bytes).into();
        Ok(Self {
            ask,
            repeat: key.with_body(fingerprint)?,
        })
    }
}

/// The same, of at most `MAX` bytes, for a handler that reads the body's fields itself.
pub struct IdempotentRawBody<const MAX: usize> {
    /// The body.
    pub body: RawBody<MAX>,
    /// Under which key.
    pub repeat: IdempotentRequest,
}

impl<const MAX: usize> FromRequest<ServerState> for IdempotentRawBody<MAX> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &ServerState) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let key = IdempotencyKey::from_request_parts(&mut parts, state).await?;
        let has_key = key.id.is_some();
        let request = Request::from_parts(parts, body);
        // Without a key nobody asks for the fingerprint of a body that may be large.
        let look = move |bytes: &[u8]| has_key.then(|| Sha256::digest(bytes).into());
        let (body, fingerprint) = RawBody::reading(request, look).await?;
        Ok(Self {
            body,
            repeat: key.with_body(fingerprint.unwrap_or_default())?,
        })
    }
}

/// The one key of a request: 1..255 visible ASCII characters.
fn key(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let mut values = headers.get_all(&IDEMPOTENCY_KEY).iter();
    let (first, second) = (values.next(), values.next());
    let Some(value) = first else { return Ok(None) };
    let is_visible = |byte: &u8| byte.is_ascii_graphic();
    match value.to_str() {
        Ok(text)
            if second.is_none()
                && (1..=IDEMPOTENCY_KEY_CHARS_MAX).contains(&text.len())
                && text.as_bytes().iter().all(is_visible) =>
        {
            Ok(Some(text))
        }
        _ => Err(Refusal::Validation(ValidationErrors::form(
            "Idempotency-Key must be one value of 1 to 255 visible ASCII characters",
        ))),
    }
}

/// The answer of then.
pub(crate) fn replay(answered: RecordedResponse) -> Response {
    // What is kept encrypted comes here opened, as plain JSON.
    let RecordedBody::Json(body) = answered.body else {
        return internal().into_response();
    };
    let status = StatusCode::from_u16(answered.status).unwrap_or(StatusCode::OK);
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_value_of_visible_ascii() {
        let headers = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(IDEMPOTENCY_KEY, value.parse().unwrap());
            }
            headers
        };
        let longest = "k".repeat(255);
        for (values, expected) in [
            (&[][..], Some(None)),
            (&["a-1"], Some(Some("a-1"))),
            (&[longest.as_str()], Some(Some(longest.as_str()))),
            (&["k".repeat(256).as_str()], None),
            (&[""], None),
            (&["a b"], None),
            (&["é"], None),
            (&["a", "a"], None),
        ] {
            assert_eq!(key(&headers(values)).ok(), expected, "{values:?}");
        }
    }

    #[test]
    fn a_claim_is_answered_by_one_request_at_a_time() {
        let running = Arc::new(RunningKeys::default());
        let mark = running.enter([1; 32]).unwrap();
        assert_eq!(
            running.enter([1; 32]).err(),
            Some(Refusal::IdempotencyInProgress)
        );
        assert!(running.enter([2; 32]).is_ok());
        drop(mark);
        assert!(running.enter([1; 32]).is_ok());
    }
}
