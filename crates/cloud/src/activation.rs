//! The page where somebody lets an instance in, or not.

use std::net::IpAddr;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use guildhall_domain::{
    Timestamp,
    attempt_limiter::{Attempt, TooManyAttempts},
};
use guildhall_world::secret_tokens;
use http::{StatusCode, Uri};

use crate::{
    device_grant::parse_user_code,
    listener::ClientAddress,
    pages::{self, HtmlPage, PageError},
    request_bodies::{FormError, FormFields},
    service_state::ServiceState,
    sessions::{SameOriginPost, SignedIn},
    store::{accounts::SecretDigest, device_requests},
};

/// The page to type a code at; with a code, who asks, and the choice.
///
/// A wrong code counts, here as well: else the page would be a way to guess.
#[utoipa::path(get, path = "/activate", tag = "pages", operation_id = "activatePage",
    params(("user_code" = Option<String>, Query, description = "The code")),
    responses((status = 200, description = "A page", content_type = "text/html", body = String),
        (status = 303, description = "Nobody is signed in; to `/login`"),
        (status = 404, description = "A page: no such code", content_type = "text/html",
            body = String),
        (status = 429, description = "A page: too many wrong codes", content_type = "text/html",
            body = String)))]
pub(crate) async fn page(
    State(house): State<ServiceState>,
    by: SignedIn,
    ClientAddress(from): ClientAddress,
    uri: Uri,
) -> Result<HtmlPage, PageError> {
    let form = FormFields::parse(uri.query().unwrap_or_default().as_bytes());
    match form.get("user_code") {
        None => Ok(pages::activate(&by, None)),
        Some(typed) => asked(&house, &by, from, typed).await,
    }
}

/// Lets an instance in, or not.
#[utoipa::path(post, path = "/activate", tag = "pages", operation_id = "activate",
    request_body(content = crate::openapi::ActivateForm,
        content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "A page", content_type = "text/html", body = String),
        (status = 303, description = "Nobody is signed in; to `/login`"),
        (status = 403, description = "A page: sent from another page",
            content_type = "text/html", body = String),
        (status = 404, description = "A page: no such code", content_type = "text/html",
            body = String),
        (status = 429, description = "A page: too many wrong codes", content_type = "text/html",
            body = String)))]
pub(crate) async fn decide(
    State(house): State<ServiceState>,
    _: SameOriginPost,
    by: SignedIn,
    ClientAddress(from): ClientAddress,
    form: Result<FormFields, FormError>,
) -> Result<Response, PageError> {
    let form = form?;
    by.check(&form)?;
    let typed = form.get("user_code").unwrap_or_default();
    let is_yes = match form.get("decision") {
        Some("approve") => true,
        Some("deny") => false,
        _ => return Ok(asked(&house, &by, from, typed).await?.into_response()),
    };
    let now = house.clock.now();
    let attempt = attempt(&house, &by, from, now)?;
    let Some((_, digest)) = read(typed) else {
        return Ok(wrong(&by).into_response());
    };
    let account = by.account().id;
    let decided = house.store.write("deciding on an instance", move |tx| {
        device_requests::decide(tx, digest, account, is_yes, now)
    });
    if decided.await?.is_none() {
        return Ok(wrong(&by).into_response());
    }
    attempt.succeeded();
    Ok(pages::decision_result_page(&by, is_yes).into_response())
}

/// Who asks with this code, and the choice.
async fn asked(
    house: &ServiceState,
    by: &SignedIn,
    from: IpAddr,
    typed: &str,
) -> Result<HtmlPage, PageError> {
    let now = house.clock.now();
    let attempt = attempt(house, by, from, now)?;
    let Some((code, digest)) = read(typed) else {
        return Ok(wrong(by));
    };
    let found = house.store.read("finding a request", move |tx| {
        device_requests::open(tx, digest, now)
    });
    let Some(asking) = found.await? else {
        return Ok(wrong(by));
    };
    attempt.succeeded();
    Ok(pages::decision_page(by, &code, &asking, now))
}

fn read(typed: &str) -> Option<(String, SecretDigest)> {
    let code = parse_user_code(typed)?;
    let digest = secret_tokens::digest(&code);
    Some((code, digest))
}

fn attempt(
    house: &ServiceState,
    by: &SignedIn,
    from: IpAddr,
    now: Timestamp,
) -> Result<Attempt, TooManyAttempts> {
    house
        .codes
        .by_account(from, &by.account().id.to_string(), now)
}

fn wrong(by: &SignedIn) -> HtmlPage {
    let why =
        "No instance asks with this code. It may be mistyped, used, or older than 30 minutes.";
    pages::activate(by, Some(why)).with(StatusCode::NOT_FOUND)
}
