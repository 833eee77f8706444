//! Problems: an error as RFC 9457 `application/problem+json`, for callers that prefer it.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Response, header},
};
use guildhall_wire::errors::{ErrorEnvelope, Problem};

use serde_json::{Map, Value};

use crate::{docs::ErrorDoc, errors::ExtendedEnvelope, request_id::RequestId};

/// What an error answer says, carried beside it until it leaves.
#[derive(Clone, Debug)]
pub(crate) struct ErrorContent {
    pub(crate) doc: ErrorDoc,
    pub(crate) envelope: ErrorEnvelope,
    /// Members beside those of every envelope.
    pub(crate) members: Map<String, Value>,
}

/// Whether the caller likes problems better than plain JSON. Source: contract 1.2.
pub(crate) fn is_preferred(headers: &HeaderMap) -> bool {
    let mut accepted = AcceptedForms::default();
    for value in headers.get_all(header::ACCEPT) {
        for item in value.to_str().unwrap_or_default().split(',') {
            accepted.note(item);
        }
    }
    accepted.problem > accepted.json
}

/// How much each form is wanted, 0 to 1. A wildcard names no form, so it outweighs none.
#[derive(Debug, Default)]
struct AcceptedForms {
    problem: f32,
    json: f32,
}

impl AcceptedForms {
    fn note(&mut self, item: &str) {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts
            .find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
            .map_or(1.0, |q| q.parse().unwrap_or(0.0));
        let weight = f32::clamp(weight, 0.0, 1.0);
        match name.as_str() {
            "application/problem+json" => self.problem = weight,
            "application/json" => self.json = weight,
            _ => {}
        }
    }
}

/// Gives an error answer the form of a problem; anything else stays as it is.
pub(crate) fn rewrite(response: &mut Response<Body>, id: &RequestId) {
    let Some(said) = response.extensions_mut().remove::<ErrorContent>() else {
        return;
    };
    let problem = Problem {
        kind: format!("/docs/errors/{}", said.doc.code),
        title: said.doc.title.to_owned(),
        status: said.doc.status,
        detail: said.envelope.error,
        instance: format!("urn:uuid:{}", id.as_str()),
        code: said.envelope.code,
        details: said.envelope.details,
    };
    // A value of plain texts always serializes.
    let problem = ExtendedEnvelope {
        envelope: &problem,
        members: &said.members,
    };
    *response.body_mut() = serde_json::to_vec(&problem).unwrap_or_default().into();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_sent_to_whom_names_it_and_nothing_as_good() {
        for (accept, preferred) in [
            ("", false),
            ("*/*", false),
            ("application/json", false),
            ("application/problem+json", true),
            ("Application/Problem+JSON", true),
            ("application/problem+json, */*;q=0.1", true),
            ("application/problem+json, application/json", false),
            ("application/problem+json, application/json;q=0.9", true),
            ("application/problem+json;q=0.5, application/json", false),
            ("application/problem+json;q=0", false),
            ("application/problem+json;Q=0.5, application/json", false),
            ("application/problem+json;q=x", false),
            ("application/problem+json;q=NaN", false),
            ("application/problem+json;q=9, application/json", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(is_preferred(&headers), preferred, "{accept}");
        }
    }
}
