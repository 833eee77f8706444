//! The page where somebody lets an instance in, or not.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use guildhall_world::tokens;
use http::{StatusCode, Uri};

use crate::{
    bodies::{BadForm, Form},
    device::read_user_code,
    house::House,
    pages::{self, Page, PageError},
    peers::Source,
    sessions::{OwnPage, SignedIn},
    store::{accounts::Digest, devices},
    tries::Place,
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
    State(house): State<House>,
    by: SignedIn,
    Source(from): Source,
    uri: Uri,
) -> Result<Page, PageError> {
    let form = Form::parse(uri.query().unwrap_or_default().as_bytes());
    match form.get("user_code") {
        None => Ok(pages::activate(&by, None)),
        Some(typed) => asked(&house, &by, &places_of(&by, from), typed).await,
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
    State(house): State<House>,
    _: OwnPage,
    by: SignedIn,
    Source(from): Source,
    form: Result<Form, BadForm>,
) -> Result<Response, PageError> {
    let form = form?;
    by.check(&form)?;
    let typed = form.get("user_code").unwrap_or_default();
    let places = places_of(&by, from);
    let is_yes = match form.get("decision") {
        Some("approve") => true,
        Some("deny") => false,
        _ => return Ok(asked(&house, &by, &places, typed).await?.into_response()),
    };
    let now = house.clock.now();
    house.codes.take(&places, now)?;
    let Some((_, digest)) = read(typed) else {
        return Ok(wrong(&by).into_response());
    };
    let account = by.account().id;
    let decided = house.store.write("deciding on an instance", move |tx| {
        devices::decide(tx, digest, account, is_yes, now)
    });
    if decided.await?.is_none() {
        return Ok(wrong(&by).into_response());
    }
    house.codes.was_right(&places, now);
    Ok(pages::decided(&by, is_yes).into_response())
}

/// Who asks with this code, and the choice.
async fn asked(
    house: &House,
    by: &SignedIn,
    places: &[Place],
    typed: &str,
) -> Result<Page, PageError> {
    let now = house.clock.now();
    house.codes.take(places, now)?;
    let Some((code, digest)) = read(typed) else {
        return Ok(wrong(by));
    };
    let found = house.store.read("finding a request", move |tx| {
        devices::open(tx, digest, now)
    });
    let Some(asking) = found.await? else {
        return Ok(wrong(by));
    };
    house.codes.was_right(places, now);
    Ok(pages::asked(by, &code, &asking))
}

fn read(typed: &str) -> Option<(String, Digest)> {
    let code = read_user_code(typed)?;
    let digest = tokens::digest(&code);
    Some((code, digest))
}

fn places_of(by: &SignedIn, from: std::net::IpAddr) -> [Place; 2] {
    [Place::of(from), Place::Account(by.account().id.to_string())]
}

fn wrong(by: &SignedIn) -> Page {
    let why =
        "No instance asks with this code. It may be mistyped, used, or older than 30 minutes.";
    pages::activate(by, Some(why)).with(StatusCode::NOT_FOUND)
}
