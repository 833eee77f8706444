//! Bodies: forms and JSON, read within their bounds and their time.

use std::time::Duration;

use axum::{
    body::to_bytes,
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use guildhall_wire::request_fields::{self, FromFields, Json};
use http::{HeaderMap, header};
use tokio::time::timeout;
use url::form_urlencoded;

use crate::{pages::PageError, problems::Problem};

/// Bytes of a body.
pub const BODY_BYTES_MAX: usize = 64 * 1_024;
/// How long a body may take.
pub const BODY_WAIT: Duration = Duration::from_secs(15);

/// A JSON body of the shape `A`; the last argument of a handler. An empty one is `{}`.
pub(crate) struct JsonBody<A>(pub(crate) A);

impl<A: FromFields, S: Sync> FromRequest<S> for JsonBody<A> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let is_json = is_kind(request.headers(), "application/json");
        let bytes = read(request).await.map_err(Problem::Unreadable)?;
        let json = match (bytes.is_empty(), is_json) {
            (true, _) => Json::empty(),
            (false, false) => return Err(Problem::Unreadable("The body is not JSON.")),
            (false, true) => serde_json::from_slice(&bytes)
                .map_err(|_| Problem::Unreadable("The body is not JSON."))?,
        };
        request_fields::read(json)
            .map(Self)
            .map_err(Problem::Invalid)
    }
}

/// The fields of a form; the last argument of a handler.
#[derive(Debug, Default)]
pub(crate) struct FormFields(Vec<(String, String)>);

/// A form that cannot be read, and why.
#[derive(Debug)]
pub(crate) struct FormError(pub(crate) &'static str);

impl IntoResponse for FormError {
    fn into_response(self) -> Response {
        PageError::from(self).into_response()
    }
}

impl<S: Sync> FromRequest<S> for FormFields {
    type Rejection = FormError;

    async fn from_request(request: Request, _: &S) -> Result<Self, FormError> {
        if !is_kind(request.headers(), "application/x-www-form-urlencoded") {
            return Err(FormError("The body is not a form."));
        }
        Ok(Self::parse(&read(request).await.map_err(FormError)?))
    }
}

impl FormFields {
    /// The fields of a body or query.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).into_owned().collect())
    }

    /// The field `name`; `None` where it is absent, empty or sent twice.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        match (values.next(), values.next()) {
            (Some((_, value)), None) if !value.is_empty() => Some(value),
            _ => None,
        }
    }

    /// Whether a field is sent twice, which OAuth forbids (RFC 6749 §3.2).
    pub(crate) fn repeats(&self) -> bool {
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.windows(2).any(|two| two[0] == two[1])
    }
}

async fn read(request: Request) -> Result<Bytes, &'static str> {
    match timeout(BODY_WAIT, to_bytes(request.into_body(), BODY_BYTES_MAX)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err("The body is too large or broke off."),
        Err(_) => Err("The body did not come in time."),
    }
}

fn is_kind(headers: &HeaderMap, kind: &str) -> bool {
    let sent = headers.get(header::CONTENT_TYPE);
    let sent = sent
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = sent.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_empty_or_sent_twice_is_none() {
        let form = FormFields::parse(b"a=1&b=&c=1&c=2&d=x+y%21");
        let fields = ["a", "b", "c", "d", "e"].map(|name| form.get(name));
        assert_eq!(fields, [Some("1"), None, None, Some("x y!"), None]);
        assert!(form.repeats() && !FormFields::parse(b"a=1&b=1").repeats());
    }
}
