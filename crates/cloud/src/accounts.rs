//! Accounts on the page: signing in and out, and the one-time link where a password is chosen.

use axum::{
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use guildhall_domain::{
    Fault, Timestamp,
    accounts::{Email, Password},
    field_validation::FieldValidator,
    limits,
};
use guildhall_world::secret_tokens;
use http::{HeaderValue, StatusCode, Uri, header};

use crate::{
    listener::ClientAddress,
    pages::{self, HtmlPage, PageError},
    request_bodies::{FormError, FormFields},
    secret_minting,
    service_state::ServiceState,
    sessions::{self, SameOriginPost, SignedIn, path_with_code, typed_code},
    settings::HttpOrigin,
    store::{Store, accounts},
};

/// How long a one-time link counts.
pub const LINK_AGE_S: i64 = 7 * 24 * 3_600;

/// Why nothing is done with an account.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// What can be no e-mail address.
    #[error("{0} is no e-mail address")]
    NoAddress(String),
    /// Nobody's address.
    #[error("there is no account {0}")]
    NoAccount(String),
}

type AccountResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Makes an account, or finds the one with this address, and a one-time link where its password is
/// chosen; an older link no longer counts.
///
/// # Errors
/// When it is no address, or the store fails.
pub async fn add(
    store: &Store,
    public: &HttpOrigin,
    email: &str,
    now: Timestamp,
) -> AccountResult<String> {
    let address = address(email)?;
    let link = secret_minting::link()?;
    let (digest, expires_at) = (link.digest(), now.plus_seconds(LINK_AGE_S));
    let added = store.write("adding an account", move |tx| {
        let account = accounts::add(tx, address.as_str(), now)?;
        accounts::put_link(tx, account, digest, expires_at)
    });
    added.await?;
    Ok(public.address(&format!("/welcome/{}", link.reveal())))
}

/// The accounts as lines of text: address, what is linked, when it was seen last.
///
/// # Errors
/// When the store fails.
pub async fn list(store: &Store) -> AccountResult<Vec<String>> {
    let listed = store.read("listing accounts", accounts::list).await?;
    let line = |account: accounts::AccountSummary| {
        let linked = match (account.linked, account.has_password) {
            (0, false) => "no password chosen yet".to_owned(),
            (0, true) => "nothing linked".to_owned(),
            (linked, _) => format!("{linked} linked"),
        };
        let seen = account.last_seen_at.map(|at| format!(", last seen {at}"));
        format!("{}: {linked}{}", account.email, seen.unwrap_or_default())
    };
    Ok(listed.into_iter().map(line).collect())
}

/// Removes an account with its sessions; its instances are linked no more. Says what is left at
/// the payment service, which is not told.
///
/// # Errors
/// When there is no such account, or the store fails.
pub async fn remove(store: &Store, email: &str) -> AccountResult<String> {
    let address = address(email)?.as_str().to_owned();
    let named = address.clone();
    let removed = store.write("removing an account", move |tx| {
        accounts::remove(tx, &named)
    });
    let Some(removed) = removed.await? else {
        return Err(AccountError::NoAccount(address).into());
    };
    Ok(match removed.customer {
        None => format!("{address} is removed"),
        Some(customer) => format!(
            "{address} is removed; what it pays goes on until you end it at Stripe, where it is \
             {customer}"
        ),
    })
}

fn address(email: &str) -> Result<Email, AccountError> {
    let mut check = FieldValidator::new();
    let address = Email::read(email, &mut check);
    let no_address = |_| AccountError::NoAddress(email.to_owned());
    check.finish().map(|()| address).map_err(no_address)
}

/// Where everything begins.
#[utoipa::path(get, path = "/", tag = "pages", operation_id = "home",
    responses((status = 303, description = "To `/activate`")))]
pub(crate) async fn home() -> Response {
    pages::redirect("/activate")
}

/// The page to sign in at.
#[utoipa::path(get, path = "/login", tag = "pages", operation_id = "loginPage",
    params(("user_code" = Option<String>, Query, description = "Taken along to `/activate`")),
    responses((status = 200, description = "A page", content_type = "text/html", body = String)))]
pub(crate) async fn login_page(uri: Uri) -> HtmlPage {
    pages::login("", typed_code(&uri).as_deref(), None)
}

/// Signs in.
#[utoipa::path(post, path = "/login", tag = "pages", operation_id = "login",
    request_body(content = crate::openapi::LoginForm,
        content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Signed in; to `/activate`"),
        (status = 401, description = "A page: wrong", content_type = "text/html", body = String),
        (status = 403, description = "A page: sent from another page",
            content_type = "text/html", body = String),
        (status = 429, description = "A page: too often wrong",
            content_type = "text/html", body = String)))]
pub(crate) async fn login(
    State(house): State<ServiceState>,
    _: SameOriginPost,
    ClientAddress(from): ClientAddress,
    form: Result<FormFields, FormError>,
) -> Result<Response, PageError> {
    let form = form?;
    let mut check = FieldValidator::new();
    let email = Email::read(form.get("email").unwrap_or_default(), &mut check);
    let is_address = check.finish().is_ok();
    let code = form
        .get("user_code")
        .and_then(crate::device_grant::parse_user_code);
    let now = house.clock.now();
    // What can be no address is nobody's account, and may be long.
    let attempt = match is_address {
        true => house.passwords.at_account(from, email.as_str(), now)?,
        false => house.passwords.at_address(from, now)?,
    };
    let password = form.get("password").unwrap_or_default();
    let Some(account) = proven(&house, &email, password).await? else {
        attempt.failed()?;
        let why = Some("E-mail address or password is wrong.");
        let page = pages::login(email.as_str(), code.as_deref(), why);
        return Ok(page.with(StatusCode::UNAUTHORIZED).into_response());
    };
    attempt.succeeded();
    let (session, cookie) = sessions::start(&house, secret_minting::cookie()?, now);
    let begun = house.store.write("beginning a session", move |tx| {
        accounts::begin_session(tx, account, session, now)
    });
    begun.await?;
    Ok(redirect_with(
        &path_with_code("/activate", code.as_deref()),
        cookie,
    ))
}

/// The account with this address, if the password is its own.
async fn proven(
    house: &ServiceState,
    email: &Email,
    password: &str,
) -> Result<Option<crate::ids::AccountId>, Fault> {
    if password.chars().count() > *limits::PASSWORD_CHARS.end() {
        return Ok(None);
    }
    let address = email.as_str().to_owned();
    let found = house.store.read("finding an account", move |tx| {
        accounts::by_email(tx, &address)
    });
    let found = found.await?;
    // An unknown address takes as long as a known one.
    let stored = found.as_ref().and_then(|account| account.password.clone());
    let is_right = house
        .verify(Password::new(password.to_owned()), stored)
        .await?;
    Ok(found.filter(|_| is_right).map(|account| account.id))
}

/// Signs out.
#[utoipa::path(post, path = "/logout", tag = "pages", operation_id = "logout",
    request_body(content = crate::openapi::LogoutForm,
        content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Signed out; to `/login`"),
        (status = 403, description = "A page: sent from another page",
            content_type = "text/html", body = String)))]
pub(crate) async fn logout(
    State(house): State<ServiceState>,
    _: SameOriginPost,
    by: SignedIn,
    form: Result<FormFields, FormError>,
) -> Result<Response, PageError> {
    by.check(&form?)?;
    let digest = by.digest();
    let ended = house.store.write("ending a session", move |tx| {
        accounts::end_session(tx, digest)
    });
    ended.await?;
    Ok(redirect_with("/login", sessions::end(&house)))
}

/// The page where a password is chosen. Looking at it uses nothing up: mail programs follow links.
#[utoipa::path(get, path = "/welcome/{link}", tag = "pages", operation_id = "welcomePage",
    params(("link" = String, Path, description = "The secret of the one-time link")),
    responses((status = 200, description = "A page", content_type = "text/html", body = String),
        (status = 404, description = "A page: the link does not count",
            content_type = "text/html", body = String)))]
pub(crate) async fn welcome_page(
    State(house): State<ServiceState>,
    Path(link): Path<String>,
) -> Result<HtmlPage, PageError> {
    let (digest, now) = (secret_tokens::digest(&link), house.clock.now());
    let found = house.store.read("following a link", move |tx| {
        accounts::by_link(tx, digest, now)
    });
    let account = found.await?.ok_or(PageError::NoLink)?;
    Ok(pages::welcome(&account.email, &link, None))
}

/// Chooses the password, which uses the link up, ends the account's sessions and signs in.
#[utoipa::path(post, path = "/welcome/{link}", tag = "pages", operation_id = "welcome",
    params(("link" = String, Path, description = "The secret of the one-time link")),
    request_body(content = crate::openapi::WelcomeForm,
        content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Signed in; to `/activate`"),
        (status = 400, description = "A page: no such password can be chosen",
            content_type = "text/html", body = String),
        (status = 403, description = "A page: sent from another page",
            content_type = "text/html", body = String),
        (status = 404, description = "A page: the link does not count",
            content_type = "text/html", body = String)))]
pub(crate) async fn welcome(
    State(house): State<ServiceState>,
    _: SameOriginPost,
    Path(link): Path<String>,
    form: Result<FormFields, FormError>,
) -> Result<Response, PageError> {
    let form = form?;
    let (digest, now) = (secret_tokens::digest(&link), house.clock.now());
    let found = house.store.read("following a link", move |tx| {
        accounts::by_link(tx, digest, now)
    });
    // Before the hash, so that nobody without a link has passwords hashed.
    let account = found.await?.ok_or(PageError::NoLink)?;
    let password = match chosen(&form) {
        Ok(password) => house.hash(password).await?,
        Err(why) => {
            let page = pages::welcome(&account.email, &link, Some(why));
            return Ok(page.with(StatusCode::BAD_REQUEST).into_response());
        }
    };
    let (session, cookie) = sessions::start(&house, secret_minting::cookie()?, now);
    let followed = house.store.write("choosing a password", move |tx| {
        accounts::follow_link(tx, digest, &password, session, now)
    });
    followed.await?.ok_or(PageError::NoLink)?;
    Ok(redirect_with("/activate", cookie))
}

/// The password somebody chose, or what is wrong with it.
fn chosen(form: &FormFields) -> Result<Password, &'static str> {
    let text = form.get("password").unwrap_or_default();
    if text != form.get("again").unwrap_or_default() {
        return Err("The two passwords differ.");
    }
    let (password, mut check) = (Password::new(text.to_owned()), FieldValidator::new());
    password.check_new("password", &mut check);
    match check.finish() {
        Ok(()) => Ok(password),
        Err(_) => Err("A password has 12 to 256 characters."),
    }
}

fn redirect_with(place: &str, cookie: HeaderValue) -> Response {
    let mut response = pages::redirect(place);
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response
}
