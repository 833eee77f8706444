//! Pages: plain HTML without scripts, readable in the dark and on a phone.
//! Everything that comes from elsewhere is escaped where it is written, by the template.

pub(crate) mod stylesheet;

use axum::response::{IntoResponse, Response};
use guildhall_domain::{Fault, Timestamp, attempt_limiter::TooManyAttempts};
use guildhall_world::ids;
use http::{HeaderValue, StatusCode, header};
use maud::{DOCTYPE, Markup, html};

use crate::{
    device_grant::format_user_code, problems, request_bodies::FormError, sessions::SignedIn,
    store::device_requests::OpenDeviceRequest,
};

/// What a page may do: show itself, take our style, and send its forms to us.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; \
    frame-ancestors 'none'; base-uri 'none'";

/// A page.
#[derive(Debug)]
pub(crate) struct HtmlPage {
    status: StatusCode,
    markup: Markup,
}

impl HtmlPage {
    /// The same page with another status.
    #[must_use]
    pub(crate) fn with(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }
}

impl IntoResponse for HtmlPage {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            // With none at all browsers send `Origin: null` with a page's own forms.
            (header::REFERRER_POLICY, "same-origin"),
            (header::X_FRAME_OPTIONS, "DENY"),
        ];
        (self.status, headers, self.markup.into_string()).into_response()
    }
}

/// Why a page is not shown.
#[derive(Debug)]
pub(crate) enum PageError {
    /// The form was not sent by a page of ours.
    Foreign,
    /// The form cannot be read.
    Unreadable(&'static str),
    /// The one-time link does not count.
    NoLink,
    /// Too many wrong guesses.
    TooManyAttempts(TooManyAttempts),
    /// Something broke.
    Fault(Fault),
}

impl From<Fault> for PageError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<TooManyAttempts> for PageError {
    fn from(too_many: TooManyAttempts) -> Self {
        Self::TooManyAttempts(too_many)
    }
}

impl From<FormError> for PageError {
    fn from(FormError(why): FormError) -> Self {
        Self::Unreadable(why)
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, title, says) = match &self {
            Self::Foreign => (
                StatusCode::FORBIDDEN,
                "This was not sent from here",
                "The form came from another page or from one that is too old. Open the page anew."
                    .to_owned(),
            ),
            Self::Unreadable(why) => (
                StatusCode::BAD_REQUEST,
                "This cannot be read",
                (*why).to_owned(),
            ),
            Self::NoLink => (
                StatusCode::NOT_FOUND,
                "This link does not count",
                "It was used, or it is too old. Ask whoever runs this service for another."
                    .to_owned(),
            ),
            Self::TooManyAttempts(too_many) => (
                StatusCode::TOO_MANY_REQUESTS,
                "Too many wrong guesses",
                format!("Try again in {}.", minutes(too_many.retry_after_s)),
            ),
            Self::Fault(fault) => {
                problems::log(fault, &format!("urn:uuid:{}", ids::new()));
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "Something broke",
                    "Something broke here. Try again in a moment.".to_owned(),
                )
            }
        };
        let mut response = page(title, &html! { p { (says) } })
            .with(status)
            .into_response();
        if let Self::TooManyAttempts(too_many) = self {
            let headers = response.headers_mut();
            headers.insert(
                header::RETRY_AFTER,
                HeaderValue::from(too_many.retry_after_s),
            );
        }
        response
    }
}

fn minutes(seconds: u64) -> String {
    match seconds.div_ceil(60) {
        0 | 1 => "a minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}

/// Sends a browser to another page of ours.
pub(crate) fn redirect(place: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}

/// The page to sign in at.
pub(crate) fn login(email: &str, code: Option<&str>, why: Option<&str>) -> HtmlPage {
    let body = html! {
        (problem(why))
        form method="post" action="/login" {
            @if let Some(code) = code {
                input type="hidden" name="user_code" value=(code);
            }
            label for="email" { "E-mail address" }
            input #email type="email" name="email" value=(email) required autofocus
                autocomplete="username";
            label for="password" { "Password" }
            input #password type="password" name="password" required
                autocomplete="current-password";
            button type="submit" { "Sign in" }
        }
        p .quiet {
            "Accounts are made by whoever runs this service, who also helps with a lost password."
        }
    };
    page("Sign in", &body)
}

/// The page where a password is chosen.
pub(crate) fn welcome(email: &str, link: &str, why: Option<&str>) -> HtmlPage {
    let action = format!("/welcome/{link}");
    let body = html! {
        (problem(why))
        p { "Choose a password for " strong { (email) } "." }
        form method="post" action=(action) {
            // For programs that keep passwords.
            input type="hidden" name="email" value=(email) autocomplete="username";
            label for="password" { "Password, at least 12 characters" }
            input #password type="password" name="password" required minlength="12"
                maxlength="256" autofocus autocomplete="new-password";
            label for="again" { "The same again" }
            input #again type="password" name="again" required autocomplete="new-password";
            button type="submit" { "Keep this password" }
        }
    };
    page("Welcome", &body)
}

/// The page to type a code at.
pub(crate) fn activate(by: &SignedIn, why: Option<&str>) -> HtmlPage {
    let body = html! {
        (problem(why))
        p { "Type the code that your guildhall shows." }
        form method="get" action="/activate" {
            label for="code" { "Code" }
            input #code .code name="user_code" required autofocus maxlength="20"
                placeholder="XXXX-XXXX" autocomplete="off" autocapitalize="characters"
                spellcheck="false";
            button type="submit" { "Next" }
        }
    };
    signed_in("Link a guildhall", by, &body)
}

/// Who asks with a code, and the choice.
pub(crate) fn decision_page(
    by: &SignedIn,
    code: &str,
    asking: &OpenDeviceRequest,
    now: Timestamp,
) -> HtmlPage {
    let name = match asking.name.trim() {
        "" => "A guildhall without a name",
        name => name,
    };
    let body = html! {
        p {
            "It asks to be linked to " strong { (by.account().email) }
            ": it may then see offers and open payment pages of this account."
        }
        dl {
            dt { "Instance" } dd { bdi { (name) } }
            dt { "Code" } dd .code { (format_user_code(code)) }
            dt { "Asked at" } dd { (when(asking.created_at, now)) }
            dt { "Asked from" } dd { (asking.asked_from) }
        }
        p { "Say yes only if your own guildhall shows this code right now." }
        form method="post" action="/activate" {
            input type="hidden" name="token" value=(by.form_token());
            input type="hidden" name="user_code" value=(code);
            div .choice {
                button type="submit" name="decision" value="approve" { "Link it" }
                button .no type="submit" name="decision" value="deny" { "Do not" }
            }
        }
    };
    signed_in("Link this guildhall?", by, &body)
}

/// A moment as people read it, and how long ago it was: there are no scripts that know their zone.
fn when(at: Timestamp, now: Timestamp) -> Markup {
    let exact = at.to_string();
    let (day, time) = exact.split_once('T').unwrap_or_default();
    let time = time.get(..5).unwrap_or_default();
    let ago = match at.seconds_until(now) / 60 {
        0 => "just now".to_owned(),
        1 => "a minute ago".to_owned(),
        minutes => format!("{minutes} minutes ago"),
    };
    html! { time datetime=(exact) { (ago) ", " (day) " " (time) " UTC" } }
}

/// What became of a decision.
pub(crate) fn decision_result_page(by: &SignedIn, is_yes: bool) -> HtmlPage {
    let (title, says) = match is_yes {
        true => (
            "It is linked",
            "Your guildhall knows in a few seconds. You can close this page.",
        ),
        false => (
            "It is not linked",
            "It was told so, and learns nothing of your account. You can close this page.",
        ),
    };
    signed_in(title, by, &html! { p { (says) } })
}

/// Where the payment service's pages lead back to.
pub(crate) fn billing_ended(title: &str, says: &str) -> HtmlPage {
    page(
        title,
        &html! { p { (says) } p { "You can close this page." } },
    )
}

fn problem(why: Option<&str>) -> Markup {
    html! {
        @if let Some(why) = why {
            p .problem role="alert" { (why) }
        }
    }
}

fn signed_in(title: &str, by: &SignedIn, body: &Markup) -> HtmlPage {
    let whole = html! {
        (body)
        form .out method="post" action="/logout" {
            input type="hidden" name="token" value=(by.form_token());
            span .quiet { "Signed in as " (by.account().email) }
            button .quiet type="submit" { "Sign out" }
        }
    };
    page(title, &whole)
}

fn page(title: &str, body: &Markup) -> HtmlPage {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · guildhall cloud" }
                link rel="stylesheet" href="/style.css";
            }
            body {
                main {
                    p .mark { "guildhall cloud" }
                    h1 { (title) }
                    (body)
                }
            }
        }
    };
    HtmlPage {
        status: StatusCode::OK,
        markup,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever an instance calls itself, it opens no element and ends no attribute.
        #[test]
        fn what_comes_from_elsewhere_is_escaped(text in "[<>\"'&a-z ]{1,40}") {
            let page = |text: &str| login(text, None, Some(text)).markup.into_string();
            let marks = |html: &str| html.matches(['<', '>', '"']).count();
            prop_assert_eq!(marks(&page(&text)), marks(&page("plain")));
        }
    }

    #[test]
    fn a_moment_is_told_as_people_read_it() {
        let at = Timestamp::from_millis(1_795_232_252_114);
        let told = |seconds| when(at, at.plus_seconds(seconds)).into_string();
        let exact = "<time datetime=\"2026-11-21T03:37:32.114Z\">";
        let shown = "2026-11-21 03:37 UTC</time>";
        assert_eq!(told(0), format!("{exact}just now, {shown}"));
        assert_eq!(told(119), format!("{exact}a minute ago, {shown}"));
        assert_eq!(told(600), format!("{exact}10 minutes ago, {shown}"));
    }

    #[test]
    fn a_wait_is_told_in_minutes() {
        let told = [1, 60, 61, 900].map(minutes);
        assert_eq!(told, ["a minute", "a minute", "2 minutes", "15 minutes"]);
    }
}
