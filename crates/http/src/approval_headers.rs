//! Approving: what a gated request brings along, and its answer until a person allowed it.
//! Source: contract 4.5; RFC 7240.

use axum::{
    Json,
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, IntoResponseParts, Response, ResponseParts},
};
use guildhall_domain::{approvals::ApprovalRequirement, limits};
use guildhall_hall::approvals::{ClientPresence, PresentedApproval};
use guildhall_wire::approvals::ApprovalRequired;

use crate::errors::ApiError;

/// The header that carries the token of an approval.
pub const SERVICE_APPROVAL: HeaderName = HeaderName::from_static("x-service-approval");
/// What the client would like, such as how long it waits.
const PREFER: HeaderName = HeaderName::from_static("prefer");
/// Which of it was done.
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// What a gated request brings along; it comes behind the gate.
pub struct ApprovalHeaders {
    presented: PresentedApproval,
    applied: PreferenceApplied,
}

/// How long the client said it waits, to be told that it was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreferenceApplied(Option<u32>);

impl ApprovalHeaders {
    /// For the hall, which judges the request; and for the answer.
    pub fn into_parts(self) -> (PresentedApproval, PreferenceApplied) {
        (self.presented, self.applied)
    }
}

impl<S: Sync> FromRequestParts<S> for ApprovalHeaders {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let wait = wait(&parts.headers).map(|wait| wait.min(limits::APPROVAL_HOLD_MAX_S));
        let listening: Option<&ClientPresence> = parts.extensions.get();
        Ok(Self {
            presented: PresentedApproval {
                token: token(&parts.headers),
                wait,
                listening: listening.cloned().unwrap_or_default(),
            },
            applied: PreferenceApplied(wait),
        })
    }
}

impl IntoResponseParts for PreferenceApplied {
    type Error = std::convert::Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Self::Error> {
        if let Some(wait) = self.0
            && let Ok(value) = HeaderValue::try_from(format!("wait={wait}"))
        {
            parts.headers_mut().insert(PREFERENCE_APPLIED, value);
        }
        Ok(parts)
    }
}

/// How long the client waits at most, when it says so; and for the answer.
pub(crate) fn prefer_wait(headers: &HeaderMap, max: u32) -> (Option<u32>, PreferenceApplied) {
    let wait = wait(headers).map(|wait| wait.min(max));
    (wait, PreferenceApplied(wait))
}

/// The token that is shown; one that is sent twice or is no text is a token that nobody has.
fn token(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(&SERVICE_APPROVAL).iter();
    match (values.next(), values.next()) {
        (None, _) => None,
        (Some(value), None) => Some(value.to_str().unwrap_or_default().trim().to_owned()),
        (Some(_), Some(_)) => Some(String::new()),
    }
}

/// The seconds of the first preference `wait`; preferences that cannot be read are none, as
/// RFC 7240 asks.
fn wait(headers: &HeaderMap) -> Option<u32> {
    let values = headers.get_all(&PREFER).iter();
    let mut preferences = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','));
    preferences.find_map(|preference| {
        let (name, value) = preference.split(';').next()?.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("wait") {
            return None;
        }
        let digits = value.trim().trim_matches('"');
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        // What is too large for the type is more than the longest wait as well.
        is_number.then(|| digits.parse().unwrap_or(u32::MAX))
    })
}

/// The answer of a request that a person must allow first: 202, and where the approval is.
pub(crate) fn approval_required(required: ApprovalRequirement) -> Response {
    let location = format!("/api/approvals/{}", required.approval.id);
    let body = Json(ApprovalRequired::from(required));
    let mut response = (StatusCode::ACCEPTED, body).into_response();
    let headers = response.headers_mut();
    if let Ok(location) = HeaderValue::try_from(location) {
        headers.insert(header::LOCATION, location);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn the_wait_is_the_first_one_that_can_be_read() {
        for (values, expected) in [
            (&[][..], None),
            (&["wait=0"], Some(0)),
            (&["wait=10"], Some(10)),
            (&["respond-async, Wait = \"20\"; x=y"], Some(20)),
            (&["return=minimal", "wait=30"], Some(30)),
            (&["wait=40, wait=50"], Some(40)),
            (&["wait=99999999999999999999"], Some(u32::MAX)),
            (&["wait"], None),
            (&["wait=-1"], None),
            (&["wait=1.5"], None),
            (&["wait=x, wait=7"], Some(7)),
            (&["await=3"], None),
        ] {
            assert_eq!(wait(&headers(&PREFER, values)), expected, "{values:?}");
        }
    }

    #[test]
    fn a_token_sent_twice_is_nobodys() {
        for (values, expected) in [
            (&[][..], None),
            (&["gap_x"], Some("gap_x")),
            (&[" gap_x "], Some("gap_x")),
            (&[""], Some("")),
            (&["gap_x", "gap_x"], Some("")),
            (&["gap_ü"], Some("")),
        ] {
            let found = token(&headers(&SERVICE_APPROVAL, values));
            assert_eq!(found.as_deref(), expected, "{values:?}");
        }
    }
}
