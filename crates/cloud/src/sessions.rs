//! Sessions: who is signed in in a browser, and the gates of what a browser sends.

use axum::{
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use guildhall_domain::Timestamp;
use guildhall_world::secret_tokens::{self, SecretToken};
use http::{HeaderMap, HeaderValue, Uri, header, request::Parts};

use crate::{
    device_grant::parse_user_code,
    pages::{self, PageError},
    request_bodies::FormFields,
    service_state::ServiceState,
    store::accounts::{self, Account, NewSessionRow, SecretDigest},
};

/// How long a session lasts.
pub const SESSION_AGE_S: i64 = 7 * 24 * 3_600;
/// The cookie's name on https; browsers show it to this very host alone.
const SECURE_NAME: &str = "__Host-guildhall_cloud";
/// The cookie's name on plain http.
const PLAIN_NAME: &str = "guildhall_cloud";

/// Somebody who is signed in. Only this gate makes one.
#[derive(Debug)]
pub(crate) struct SignedIn {
    account: Account,
    cookie: String,
}

impl SignedIn {
    /// Who it is.
    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// What each form of this session carries: another page cannot know it.
    pub(crate) fn form_token(&self) -> String {
        let digest = secret_tokens::digest(&format!("form:{}", self.cookie));
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Holds back a form that does not carry it. Digests are compared, so that the time it takes
    /// tells nothing.
    pub(crate) fn check(&self, form: &FormFields) -> Result<(), PageError> {
        let sent = form.get("token").unwrap_or_default();
        match secret_tokens::digest(sent) == secret_tokens::digest(&self.form_token()) {
            true => Ok(()),
            false => Err(PageError::Foreign),
        }
    }

    /// The digest the session stands under.
    pub(crate) fn digest(&self) -> SecretDigest {
        secret_tokens::digest(&self.cookie)
    }
}

/// Nobody is signed in, or something broke.
#[derive(Debug)]
pub(crate) enum LoginRequired {
    /// The way to sign in, with the code that was in the address.
    Ask(Option<String>),
    /// Something broke.
    Error(PageError),
}

impl IntoResponse for LoginRequired {
    fn into_response(self) -> Response {
        match self {
            Self::Ask(code) => pages::redirect(&path_with_code("/login", code.as_deref())),
            Self::Error(error) => error.into_response(),
        }
    }
}

impl FromRequestParts<ServiceState> for SignedIn {
    type Rejection = LoginRequired;

    async fn from_request_parts(
        parts: &mut Parts,
        house: &ServiceState,
    ) -> Result<Self, LoginRequired> {
        let code = typed_code(&parts.uri);
        let Some(cookie) = shown(&parts.headers, house.public.is_https()) else {
            return Err(LoginRequired::Ask(code));
        };
        let (digest, now) = (secret_tokens::digest(&cookie), house.clock.now());
        let found = house.store.read("finding a session", move |tx| {
            accounts::by_session(tx, digest, now)
        });
        match found.await {
            Ok(Some(account)) => Ok(Self { account, cookie }),
            Ok(None) => Err(LoginRequired::Ask(code)),
            Err(fault) => Err(LoginRequired::Error(fault.into())),
        }
    }
}

/// A post that a page of ours sent, as far as the browser says where it comes from.
#[derive(Debug)]
pub(crate) struct SameOriginPost;

impl FromRequestParts<ServiceState> for SameOriginPost {
    type Rejection = PageError;

    async fn from_request_parts(
        parts: &mut Parts,
        house: &ServiceState,
    ) -> Result<Self, PageError> {
        match is_own(&parts.headers, &house.public.address("")) {
            true => Ok(Self),
            false => Err(PageError::Foreign),
        }
    }
}

/// Whether a request comes from `public` or from the very host it is sent to; a program that is
/// no browser says neither, and has no cookie of anybody else.
fn is_own(headers: &HeaderMap, public: &str) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let site = text(header::HeaderName::from_static("sec-fetch-site"));
    if !matches!(site, None | Some("same-origin" | "none")) {
        return false;
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next().map(HeaderValue::to_str), origins.next()) {
        (None, _) => true,
        (Some(Ok(origin)), None) => {
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            origin == public || (authority.is_some() && authority == text(header::HOST))
        }
        _ => false,
    }
}

/// A session that begins now: what is stored, and what the browser keeps.
pub(crate) fn start(
    house: &ServiceState,
    cookie: SecretToken,
    now: Timestamp,
) -> (NewSessionRow, HeaderValue) {
    let session = NewSessionRow {
        digest: cookie.digest(),
        expires_at: now.plus_seconds(SESSION_AGE_S),
    };
    let set = set_cookie(house, &cookie.reveal(), SESSION_AGE_S);
    (session, set)
}

/// What makes a browser forget its session.
pub(crate) fn end(house: &ServiceState) -> HeaderValue {
    set_cookie(house, "", 0)
}

fn set_cookie(house: &ServiceState, value: &str, age_s: i64) -> HeaderValue {
    let (name, secure) = match house.public.is_https() {
        true => (SECURE_NAME, "; Secure"),
        false => (PLAIN_NAME, ""),
    };
    let cookie = format!("{name}={value}; Path=/; Max-Age={age_s}; HttpOnly; SameSite=Lax{secure}");
    // Of letters and marks that headers hold.
    HeaderValue::try_from(cookie).unwrap_or_else(|_| HeaderValue::from_static(""))
}

fn shown(headers: &HeaderMap, is_https: bool) -> Option<String> {
    let name = if is_https { SECURE_NAME } else { PLAIN_NAME };
    let lines = headers.get_all(header::COOKIE).iter();
    let mut values = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(known, _)| *known == name);
    match (values.next(), values.next()) {
        (Some((_, value)), None) if !value.is_empty() => Some(value.to_owned()),
        _ => None,
    }
}

/// The user code in an address, if what stands there can be one.
pub(crate) fn typed_code(uri: &Uri) -> Option<String> {
    let form = FormFields::parse(uri.query().unwrap_or_default().as_bytes());
    parse_user_code(form.get("user_code")?)
}

/// The address of a page, with a user code that is taken along.
pub(crate) fn path_with_code(path: &str, code: Option<&str>) -> String {
    match code {
        None => path.to_owned(),
        Some(code) => format!("{path}?user_code={code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: &str = "https://cloud.example";

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name: http::HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_page_of_another_origin_is_not_ours() {
        let host = ("host", "localhost:4780");
        for (sent, expected) in [
            (vec![], true),
            (vec![("origin", PUBLIC)], true),
            (vec![host, ("origin", "http://localhost:4780")], true),
            (
                vec![("origin", PUBLIC), ("sec-fetch-site", "same-origin")],
                true,
            ),
            (vec![host, ("origin", "http://localhost:4781")], false),
            (vec![host, ("origin", "null")], false),
            (vec![("origin", "https://evil.example")], false),
            (vec![("origin", PUBLIC), ("origin", PUBLIC)], false),
            (vec![("sec-fetch-site", "cross-site")], false),
            (vec![("sec-fetch-site", "same-site")], false),
        ] {
            assert_eq!(is_own(&headers(&sent), PUBLIC), expected, "{sent:?}");
        }
    }

    #[test]
    fn a_cookie_that_is_sent_twice_is_none() {
        let one = headers(&[("cookie", "a=b; guildhall_cloud=x")]);
        assert_eq!(shown(&one, false).as_deref(), Some("x"));
        assert_eq!(shown(&one, true), None, "https has its own name");
        let two = headers(&[("cookie", "guildhall_cloud=x; guildhall_cloud=y")]);
        assert_eq!(shown(&two, false), None);
    }
}
