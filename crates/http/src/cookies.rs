//! Cookies: the one cookie a sign-in has, on plain http and behind a proxy that speaks https.

use axum::{
    extract::FromRequestParts,
    http::{
        HeaderMap, HeaderName, HeaderValue,
        header::{COOKIE, HOST, ORIGIN, SET_COOKIE},
        request::Parts,
    },
};
use guildhall_domain::limits;
use guildhall_listener::Forwarded;

use crate::{
    errors::{ApiError, internal},
    origin::{is_loopback_name, name_of},
    state::ServerState,
};

/// The cookie's name on https; browsers take it from such a page alone and show it to this host
/// alone.
const SECURE_NAME: &str = "__Host-guildhall";

/// How many cookies of one name are looked at: more than browsers keep of one path.
const SAME_NAME_MAX: usize = 64;

/// The cookie's name on plain http: browsers show a cookie to every port of its host, so that
/// two servers on one computer would take each other's.
fn plain_name(port: u16) -> String {
    format!("guildhall_{port}")
}

/// What cookies of a sign-in hold, of a server that listens on `port`: those of one name, and those
/// of the other, which count where none of the first is a sign-in's. A page on another port of the
/// host can add one of our name, so there may be several of each.
///
/// Those of https come first, because only a page on https can have set them; but on this
/// computer's own names the plain ones do: there a page of any port can set the others, and so make
/// somebody act as somebody else.
pub fn sign_in_cookies(headers: &HeaderMap, port: u16) -> [Vec<String>; 2] {
    let plain_name = plain_name(port);
    let names = match is_own_name(headers) {
        true => [plain_name.as_str(), SECURE_NAME],
        false => [SECURE_NAME, plain_name.as_str()],
    };
    names.map(|name| named(headers, name))
}

/// What cookies of a trusted browser hold, of a server that listens on `port`.
pub fn trusted_browser_cookies(headers: &HeaderMap, port: u16) -> Vec<String> {
    named(headers, &trusted_name(port))
}

/// The cookie of a trusted browser, as an answer sets it.
///
/// # Errors
/// Our own fault when the value is no cookie's.
pub fn set_trusted_browser(
    port: u16,
    value: &str,
) -> Result<[(HeaderName, HeaderValue); 1], ApiError> {
    header(
        &trusted_name(port),
        value,
        limits::TRUSTED_BROWSER_AGE_S,
        false,
    )
}

/// The name of that cookie; only connections of this computer are ever in doubt.
fn trusted_name(port: u16) -> String {
    format!("guildhall_trusted_{port}")
}

/// The different values of this name, at most [`SAME_NAME_MAX`], as they are shown.
fn named(headers: &HeaderMap, name: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for (_, value) in pairs(headers).filter(|(known, value)| *known == name && !value.is_empty()) {
        if values.len() < SAME_NAME_MAX && !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }
    values
}

/// Whether the request names this computer by a name of every computer's own.
fn is_own_name(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.and_then(name_of).is_some_and(is_loopback_name)
}

fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(COOKIE).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

/// The cookie as the answer to one request sets it.
///
/// The request's `Origin`, which was found to be this server's own, says whether the page is on
/// https; so does a trusted proxy.
pub struct SignInCookie {
    name: String,
    is_secure: bool,
}

impl FromRequestParts<ServerState> for SignInCookie {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, ApiError> {
        let forwarded = parts.extensions.get::<Forwarded>();
        let is_secure = parts.headers.get(ORIGIN).is_some_and(is_https)
            || forwarded.is_some_and(|forwarded| forwarded.is_https);
        let name = if is_secure {
            SECURE_NAME.to_owned()
        } else {
            plain_name(state.about.port)
        };
        Ok(Self { name, is_secure })
    }
}

fn is_https(origin: &HeaderValue) -> bool {
    let scheme = origin.as_bytes().get(.."https://".len());
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https://"))
}

impl SignInCookie {
    /// The header that keeps `value`, for as long as a sign-in may live.
    ///
    /// # Errors
    /// Our own fault when the value is no cookie's.
    pub fn keep(&self, value: &str) -> Result<[(HeaderName, HeaderValue); 1], ApiError> {
        header(&self.name, value, limits::SESSION_AGE_S, self.is_secure)
    }

    /// The header that forgets what was kept.
    ///
    /// # Errors
    /// As [`Self::keep`].
    pub fn forget(&self) -> Result<[(HeaderName, HeaderValue); 1], ApiError> {
        header(&self.name, "", 0, self.is_secure)
    }
}

fn header(
    name: &str,
    value: &str,
    max_age_s: i64,
    is_secure: bool,
) -> Result<[(HeaderName, HeaderValue); 1], ApiError> {
    let secure = if is_secure { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{secure}");
    let mut header = HeaderValue::try_from(text).map_err(|_| internal())?;
    header.set_sensitive(true);
    Ok([(SET_COOKIE, header)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_of_this_port_is_read_and_the_one_of_https_comes_first() {
        for (lines, expected) in [
            (&[][..], [&[][..], &[]]),
            (&["guildhall_4747=a"], [&[], &["a"]]),
            (&["x=1; guildhall_4747=a; y=2"], [&[], &["a"]]),
            (&["x=1", "guildhall_4747=a"], [&[], &["a"]]),
            (&["guildhall_4748=a"], [&[], &[]]),
            (&["guildhall_47471=a; xguildhall_4747=b"], [&[], &[]]),
            (&["guildhall_4747=a; __Host-guildhall=b"], [&["b"], &["a"]]),
            (&["__Host-guildhall=b"], [&["b"], &[]]),
            (&["guildhall_4747=a; guildhall_4747=a"], [&[], &["a"]]),
            (
                &["guildhall_4747=a", "guildhall_4747=b"],
                [&[], &["a", "b"]],
            ),
            (&["guildhall_4747=; guildhall_4747=b"], [&[], &["b"]]),
            (&["guildhall_4747="], [&[], &[]]),
            (&["guildhall_4747"], [&[], &[]]),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, HeaderValue::from_static(line));
            }
            headers.insert(HOST, HeaderValue::from_static("hall.example"));
            assert!(sign_in_cookies(&headers, 4747) == expected, "{lines:?}");
        }
        let many: Vec<String> = (0..100).map(|n| format!("guildhall_4747={n}")).collect();
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, many.join("; ").parse().unwrap());
        assert_eq!(sign_in_cookies(&headers, 4747)[1].len(), SAME_NAME_MAX);
    }

    #[test]
    fn on_this_computer_no_page_of_another_port_puts_its_cookie_before_the_own_one() {
        for host in [
            "localhost:4747",
            "127.0.0.1:4747",
            "[::1]:4747",
            "LOCALHOST",
        ] {
            for (line, expected) in [
                ("__Host-guildhall=b; guildhall_4747=a", [&["a"][..], &["b"]]),
                // Behind a proxy of this computer that speaks https.
                ("__Host-guildhall=b", [&[], &["b"]]),
            ] {
                let mut headers = HeaderMap::new();
                headers.insert(COOKIE, HeaderValue::from_static(line));
                headers.insert(HOST, HeaderValue::from_static(host));
                assert_eq!(sign_in_cookies(&headers, 4747), expected, "{host} {line}");
            }
        }
    }

    #[test]
    fn the_origin_says_which_cookie_is_set() {
        for (origin, expected) in [
            ("https://hall.example", true),
            ("HTTPS://hall.example:8443", true),
            ("http://localhost:4747", false),
            ("httpsx", false),
            ("", false),
        ] {
            assert_eq!(
                is_https(&HeaderValue::from_static(origin)),
                expected,
                "{origin}"
            );
        }
    }
}
