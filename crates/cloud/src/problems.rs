//! Problems: what the interface for instances answers when it does not do what it was asked.
//! One exhaustive match gives each refusal its status, code and sentence. Source: contract 5.11.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use guildhall_domain::{Fault, errors::ValidationErrors};
use guildhall_listener::Rejection;
use guildhall_wire::cloud::problems::CloudProblem;
use guildhall_world::ids;
use http::{HeaderValue, StatusCode, header};

use crate::stripe::StripeError;

/// Why something was not done.
#[derive(Debug)]
pub(crate) enum Problem {
    /// No key, or one that is none.
    Unauthenticated,
    /// There is no such address.
    NoRoute,
    /// Another method.
    WrongMethod,
    /// The body cannot be read.
    Unreadable(&'static str),
    /// Its fields are wrong.
    Invalid(ValidationErrors),
    /// There is no such offer.
    UnknownOffer,
    /// Top-ups are not offered.
    NoTopUp,
    /// The account never paid anything, so there is nothing to see.
    NoCustomer,
    /// The service has no way to be paid.
    NoPayments,
    /// The payment service did not do it.
    Payment(StripeError),
    /// The listener did not let the request be answered.
    Rejected(Rejection),
    /// Something broke.
    Fault(Fault),
}

impl From<Rejection> for Problem {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<StripeError> for Problem {
    fn from(failed: StripeError) -> Self {
        Self::Payment(failed)
    }
}

const PROBLEM_JSON: &str = "application/problem+json";
/// The title of every problem that keeps everybody from paying.
const UNPAYABLE: &str = "Payments do not work now";

/// Status, code, title and sentence of a problem.
struct ProblemText {
    status: StatusCode,
    code: &'static str,
    title: &'static str,
    detail: String,
}

fn said(status: StatusCode, code: &'static str, title: &'static str, detail: &str) -> ProblemText {
    ProblemText {
        status,
        code,
        title,
        detail: detail.to_owned(),
    }
}

impl Problem {
    fn said(&self) -> ProblemText {
        const NOT_FOUND: &str = "It is not there";
        const MALFORMED: &str = "The request cannot be read";
        match self {
            Self::Unauthenticated => said(
                StatusCode::UNAUTHORIZED,
                "UNAUTHENTICATED",
                "The key does not count",
                "This needs the key of a linked instance. Link the instance anew.",
            ),
            Self::NoRoute => said(
                StatusCode::NOT_FOUND,
                "NOT_FOUND",
                NOT_FOUND,
                "There is nothing at this address.",
            ),
            Self::WrongMethod => said(
                StatusCode::METHOD_NOT_ALLOWED,
                "MALFORMED_REQUEST",
                MALFORMED,
                "This address does not take that method.",
            ),
            Self::Unreadable(detail) => said(
                StatusCode::BAD_REQUEST,
                "MALFORMED_REQUEST",
                MALFORMED,
                detail,
            ),
            Self::Invalid(invalid) => said(
                StatusCode::BAD_REQUEST,
                "MALFORMED_REQUEST",
                MALFORMED,
                &sentence(invalid),
            ),
            Self::UnknownOffer => said(
                StatusCode::NOT_FOUND,
                "NOT_FOUND",
                NOT_FOUND,
                "There is no such offer any more. Look at the offers again.",
            ),
            Self::NoTopUp => said(
                StatusCode::NOT_FOUND,
                "TOPUP_UNAVAILABLE",
                "Top-ups are not offered",
                "This service offers no top-ups.",
            ),
            Self::NoCustomer => said(
                StatusCode::NOT_FOUND,
                "NOT_FOUND",
                NOT_FOUND,
                "This account has not paid anything yet, so there is nothing to manage.",
            ),
            Self::NoPayments => said(
                StatusCode::SERVICE_UNAVAILABLE,
                "PAYMENT_SERVICE_UNAVAILABLE",
                UNPAYABLE,
                "This service takes no payments.",
            ),
            Self::Payment(failed) => failed_said(*failed),
            Self::Rejected(rejection) => rejected_said(*rejection),
            Self::Fault(_) => broken(),
        }
    }

    fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::Payment(StripeError::TooOften { retry_after_s }) => Some(*retry_after_s),
            Self::Rejected(Rejection::Overloaded) => Some(1),
            _ => None,
        }
    }
}

fn broken() -> ProblemText {
    said(
        StatusCode::INTERNAL_SERVER_ERROR,
        "INTERNAL_ERROR",
        "Something broke",
        "Something broke here. Try again in a moment.",
    )
}

/// Which problem a request is that the listener does not let through.
fn rejected_said(rejection: Rejection) -> ProblemText {
    let malformed = |status, detail| {
        said(
            status,
            "MALFORMED_REQUEST",
            "The request cannot be read",
            detail,
        )
    };
    match rejection {
        Rejection::Unreadable => malformed(
            StatusCode::BAD_REQUEST,
            "The request could not be read as HTTP/1.1.",
        ),
        Rejection::TargetTooLong => malformed(StatusCode::URI_TOO_LONG, "The address is too long."),
        Rejection::HeadersTooLarge => malformed(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "The headers are too many or too long.",
        ),
        Rejection::HeadTimeout => malformed(
            StatusCode::REQUEST_TIMEOUT,
            "The head of the request did not arrive in time.",
        ),
        Rejection::BodyTimeout => malformed(
            StatusCode::REQUEST_TIMEOUT,
            "The service is busy, and the request waited longest for its body. Send it again.",
        ),
        Rejection::Overloaded => said(
            StatusCode::SERVICE_UNAVAILABLE,
            "RATE_LIMITED",
            "Too many requests",
            "The service is busy. Try again in a moment.",
        ),
        Rejection::Broken => broken(),
    }
}

/// Which problem a failure of the payment service is. Source: contract 5.11, the last line.
fn failed_said(failed: StripeError) -> ProblemText {
    match failed {
        StripeError::Refused(StatusCode::BAD_REQUEST) => said(
            StatusCode::BAD_REQUEST,
            "MALFORMED_REQUEST",
            "The request cannot be read",
            "The payment service did not understand what it was asked.",
        ),
        StripeError::Refused(_) => said(
            StatusCode::CONFLICT,
            "CONFLICT",
            "It cannot be done now",
            "The payment service does not do this as things stand.",
        ),
        StripeError::TooOften { .. } => said(
            StatusCode::TOO_MANY_REQUESTS,
            "RATE_LIMITED",
            "Too many requests",
            "The payment service is asked too often. Try again in a moment.",
        ),
        StripeError::KeyRefused => said(
            StatusCode::SERVICE_UNAVAILABLE,
            "PAYMENT_SERVICE_UNAVAILABLE",
            UNPAYABLE,
            "This service has no access to its payment service. Tell whoever runs it.",
        ),
        StripeError::Broken | StripeError::Unanswered => said(
            StatusCode::SERVICE_UNAVAILABLE,
            "PAYMENT_SERVICE_UNAVAILABLE",
            UNPAYABLE,
            "The payment service does not answer. Try again in a moment.",
        ),
    }
}

/// Everything that is wrong with a body, in one sentence a field.
fn sentence(invalid: &ValidationErrors) -> String {
    let fields = invalid.field_errors.iter();
    let fields = fields.flat_map(|(field, problems)| {
        let told = move |problem| format!("{field} {problem}.");
        problems.iter().map(told)
    });
    let form = invalid
        .form_errors
        .iter()
        .map(|problem| format!("{problem}."));
    form.chain(fields).collect::<Vec<_>>().join(" ")
}

impl Problem {
    /// Status and body of the answer.
    fn body(&self) -> (StatusCode, CloudProblem) {
        let ProblemText {
            status,
            code,
            title,
            detail,
        } = self.said();
        let instance = format!("urn:uuid:{}", ids::new());
        if let Self::Fault(fault) = self {
            log(fault, &instance);
        }
        let retry_after_s = self.retry_after_s();
        let problem = CloudProblem {
            kind: "about:blank".to_owned(),
            title: title.to_owned(),
            status: status.as_u16(),
            detail,
            instance,
            code: code.to_owned(),
            retry_after_ms: retry_after_s.map(|seconds| seconds.saturating_mul(1_000)),
            ..CloudProblem::default()
        };
        (status, problem)
    }

    /// The whole answer as bytes, for a request that could not be read; the connection ends.
    pub(crate) fn to_raw_response(&self) -> Vec<u8> {
        let (status, problem) = self.body();
        // A value of plain texts always serializes.
        let body = serde_json::to_string(&problem).unwrap_or_default();
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {PROBLEM_JSON}\r\ncontent-length: {length}\r\n\
             connection: close\r\ncache-control: no-store\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, problem) = self.body();
        let mut response = (status, Json(problem)).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static(PROBLEM_JSON);
        headers.insert(header::CONTENT_TYPE, kind);
        if let Some(seconds) = self.retry_after_s() {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"guildhall-cloud\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

/// Logs what broke, once, at the door.
pub(crate) fn log(fault: &Fault, instance: &str) {
    tracing::error!(during = fault.during, error = %fault.source, instance, "a request failed");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_of_the_payment_service_has_its_problem() {
        let refused = |status| Problem::Payment(StripeError::Refused(status));
        for (problem, status, code) in [
            (refused(StatusCode::BAD_REQUEST), 400, "MALFORMED_REQUEST"),
            (refused(StatusCode::PAYMENT_REQUIRED), 409, "CONFLICT"),
            (
                StripeError::KeyRefused.into(),
                503,
                "PAYMENT_SERVICE_UNAVAILABLE",
            ),
            (
                StripeError::TooOften { retry_after_s: 7 }.into(),
                429,
                "RATE_LIMITED",
            ),
            (
                StripeError::Broken.into(),
                503,
                "PAYMENT_SERVICE_UNAVAILABLE",
            ),
            (
                StripeError::Unanswered.into(),
                503,
                "PAYMENT_SERVICE_UNAVAILABLE",
            ),
        ] {
            let said = problem.said();
            assert_eq!((said.status.as_u16(), said.code), (status, code));
        }
    }

    #[test]
    fn everything_that_is_wrong_is_one_text() {
        let mut invalid = ValidationErrors::form("the body must be a JSON object");
        invalid.field("name", "is required");
        assert_eq!(
            sentence(&invalid),
            "the body must be a JSON object. name is required."
        );
    }
}
