//! The pages of a sign-in with a tool server or a connector: what a person opens, follows, and
//! comes back to.
//! They load nothing, are kept nowhere, and tell no other site where they are.
//! Source: contract 4.8.

use axum::{
    Json,
    body::Body,
    extract::{FromRequestParts, Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode,
        header::{
            ACCEPT, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE,
            HOST, LOCATION, REFERRER_POLICY, SET_COOKIE,
        },
        request::Parts,
    },
    middleware::Next,
    response::IntoResponse,
};
use guildhall_domain::{
    Error, Refusal,
    callers::OwnerInteractive,
    errors::ResourceKind,
    mcp_signins::{AuthorizationResponse, SigninFailure},
};
use guildhall_hall::{
    Hall,
    connectors::{self, ConnectorSigninPage},
    mcp_signins::{RedirectOutcome, SigninOutcome, SigninPage},
    oauth_callback::OauthRedirect,
};
use serde_json::{Value, json};

use crate::{
    docs::html::escape,
    error_catalogue,
    errors::{ApiError, ApiResult, internal},
    gates::By,
    path_ids::Path,
    problem_json::ErrorContent,
    query::{FromQuery, Params, Query},
};

/// What the pages may load: nothing. Their one style stands in them and is named by its hash.
const CONTENT_POLICY: &str = "default-src 'none'; \
     style-src 'sha256-8ySJTJSfcxJm+kkRzSEcmeLGE417Ppt0bsASkgXDdTE='; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Light or dark as the person's system is, and links that a thumb can hit.
const STYLE: &str = ":root{color-scheme:light dark;background:Canvas;color:CanvasText}\
    body{max-width:36rem;margin:0 auto;padding:10vh 1rem;font:1rem/1.5 system-ui,sans-serif}\
    main{overflow-wrap:anywhere}\
    h1{font-size:1.5rem;line-height:1.2}\
    a{display:inline-block;padding:.6rem 1.2rem;border:1px solid;border-radius:.5rem;color:inherit;\
    font-weight:600}";
/// The cookie by which the browser that went away is known when it comes back.
const COOKIE_NAME: &str = "gh_flow";

/// A person who follows a link, as far as browsers say so; nothing that fetches ahead or asks
/// for the head alone.
pub struct Navigation;

impl<S: Send + Sync> FromRequestParts<S> for Navigation {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let is_navigation = parts.method == Method::GET && is_navigation(&parts.headers);
        match is_navigation {
            true => Ok(Self),
            false => Err(Refusal::NavigationOnly.into()),
        }
    }
}

fn is_navigation(headers: &HeaderMap) -> bool {
    let says_only = |name: &'static str, expected: &[u8]| {
        let mut values = headers.get_all(HeaderName::from_static(name)).iter();
        values.all(|value| value.as_bytes().eq_ignore_ascii_case(expected))
    };
    let is_ahead = ["sec-purpose", "purpose"].into_iter().any(|name| {
        let mut values = headers.get_all(HeaderName::from_static(name)).iter();
        values.any(|value| {
            value
                .as_bytes()
                .to_ascii_lowercase()
                .windows(8)
                .any(|w| w == b"prefetch")
        })
    });
    says_only("sec-fetch-mode", b"navigate")
        && says_only("sec-fetch-dest", b"document")
        && !is_ahead
}

/// Says a refusal on a page to a person who follows a link; a program is told as everywhere.
pub async fn refusals_as_pages(request: Request, next: Next) -> Response<Body> {
    let mut accepted = request.headers().get_all(ACCEPT).iter();
    let is_browser = accepted.any(|accept| {
        let accept = accept.to_str().unwrap_or_default();
        accept.to_ascii_lowercase().contains("text/html")
    });
    let mut response = next.run(request).await;
    if is_browser && let Some(said) = response.extensions_mut().remove::<ErrorContent>() {
        *response.body_mut() = refused_page(&said).into();
        response.headers_mut().remove(CONTENT_LENGTH);
        as_page(&mut response);
    }
    response
}

/// `GET /api/oauth/start/{ticket}`: says what will happen, and does nothing.
pub async fn start(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    _: Navigation,
    Path(ticket): Path<String>,
    headers: HeaderMap,
) -> ApiResult<Response<Body>> {
    let page = match hall.mcp_signin_page(&by, &ticket).await {
        Ok(page) => start_page(&page, &ticket, &headers),
        Err(error) if is_missing(&error) => {
            let page = hall.connector_sign_in_page(&by, &ticket).await?;
            connector_page(&page, &ticket, &headers)
        }
        Err(error) => return Err(error.into()),
    };
    Ok(html(StatusCode::OK, &page))
}

/// `GET /api/oauth/go/{ticket}`: asks where to sign in, and sends the person there.
pub async fn go(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    _: Navigation,
    Path(ticket): Path<String>,
) -> ApiResult<Response<Body>> {
    match hall.start_mcp_redirect(&by, &ticket).await {
        Ok(RedirectOutcome::To(leaving)) => sent(&leaving),
        Ok(RedirectOutcome::Failed(why)) => Ok(html(StatusCode::BAD_GATEWAY, &failed_page(why))),
        Err(error) if is_missing(&error) => {
            sent(&hall.start_connector_redirect(&by, &ticket).await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether a link is none of a sign-in with a tool server: it may be one with a connector.
fn is_missing(error: &Error) -> bool {
    matches!(
        error,
        Error::Refusal(Refusal::NotFound(ResourceKind::Signin))
    )
}

/// Sends a person away, by whose browser the answer will be known.
fn sent(leaving: &OauthRedirect) -> ApiResult<Response<Body>> {
    let OauthRedirect {
        location,
        cookie,
        seconds,
    } = leaving;
    let cookie = format!(
        "{COOKIE_NAME}={cookie}; Path=/api/oauth; Max-Age={seconds}; HttpOnly; SameSite=Lax"
    );
    let mut cookie = HeaderValue::try_from(cookie).map_err(|_| internal())?;
    cookie.set_sensitive(true);
    let location = HeaderValue::try_from(location.as_str()).map_err(|_| internal())?;
    let mut response = html(StatusCode::SEE_OTHER, "");
    response.headers_mut().insert(LOCATION, location);
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

impl FromQuery for CallbackQuery {
    fn read(params: &mut Params) -> Self {
        let mut text = |name| params.text(name);
        Self(AuthorizationResponse {
            state: text("state"),
            code: text("code"),
            iss: text("iss"),
            error: text("error"),
        })
    }
}

/// What the authorization server answered.
pub struct CallbackQuery(AuthorizationResponse);

/// `GET /api/oauth/callback`: takes the answer of the authorization server. Anybody may come
/// here: the state and the cookie of the browser that went away decide.
pub async fn callback(
    State(hall): State<Hall>,
    _: Navigation,
    headers: HeaderMap,
    Query(CallbackQuery(answer)): Query<CallbackQuery>,
) -> ApiResult<Response<Body>> {
    let cookie = flow_cookie(&headers);
    let finished = hall
        .finish_mcp_signin(answer.clone(), cookie.clone())
        .await?;
    let (status, page) = match finished {
        SigninOutcome::Connected(server) => (StatusCode::OK, connected_page(&server)),
        SigninOutcome::Failed(why) => (StatusCode::BAD_REQUEST, failed_page(why)),
        SigninOutcome::Unknown => match hall.finish_connector_sign_in(answer, cookie).await? {
            connectors::SigninOutcome::Connected(service) => {
                (StatusCode::OK, service_connected_page(&service))
            }
            connectors::SigninOutcome::Failed(why) => {
                (StatusCode::BAD_REQUEST, service_failed_page(&why))
            }
            connectors::SigninOutcome::Unknown => (StatusCode::BAD_REQUEST, unknown_page()),
        },
    };
    let mut response = html(status, &page);
    if status == StatusCode::OK {
        let gone = format!("{COOKIE_NAME}=; Path=/api/oauth; Max-Age=0; HttpOnly; SameSite=Lax");
        let gone = HeaderValue::try_from(gone).map_err(|_| internal())?;
        response.headers_mut().insert(SET_COOKIE, gone);
    }
    Ok(response)
}

/// `GET /api/oauth/client`: what authorization servers read that take the address of a client's
/// metadata for its id; 404 unless browsers reach this server over https.
pub async fn client(State(hall): State<Hall>) -> ApiResult<Json<Value>> {
    let base = hall.oauth_client_base().await?;
    let base = base.ok_or(Refusal::NotFound(ResourceKind::Signin))?;
    Ok(Json(json!({
        "client_id": format!("{base}/api/oauth/client"),
        "client_name": "guildhall",
        "client_uri": base,
        "redirect_uris": [format!("{base}/api/oauth/callback")],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    })))
}

/// The one value of the cookie; two of them are none.
fn flow_cookie(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all(COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(name, _)| *name == COOKIE_NAME);
    match (values.next(), values.next()) {
        (Some((_, value)), None) if !value.is_empty() => Some(value.to_owned()),
        _ => None,
    }
}

fn start_page(page: &SigninPage, ticket: &str, headers: &HeaderMap) -> String {
    let (link, words) = onward(&page.base, ticket, headers);
    let SigninPage {
        server,
        agent,
        address,
        disclosure,
        ..
    } = page;
    document(
        "Sign in with a tool server",
        &format!(
            "<p>The agent <b>{}</b> uses the tool server <b>{}</b> at <code>{}</code>, which asks for a sign-in.</p>\n\
             <p>{}</p>\n\
             <p>So far nothing was sent. When you continue, guildhall asks the tool server where to sign in and sends you there.</p>\n\
             <p><a href=\"{}\" rel=\"noreferrer\">{words}</a></p>",
            escape(agent),
            escape(server),
            escape(address),
            escape(disclosure),
            escape(&link),
        ),
    )
}

fn connector_page(page: &ConnectorSigninPage, ticket: &str, headers: &HeaderMap) -> String {
    let (link, words) = onward(&page.base, ticket, headers);
    let ConnectorSigninPage {
        service,
        address,
        disclosure,
        ..
    } = page;
    document(
        "Connect a service",
        &format!(
            "<p>You are connecting the service <b>{}</b>. You sign in at <code>{}</code>.</p>\n\
             <p>{}</p>\n\
             <p><a href=\"{}\" rel=\"noreferrer\">{words}</a></p>",
            escape(service),
            escape(address),
            escape(disclosure),
            escape(&link),
        ),
    )
}

/// Where a person goes on, and with which words: the answer comes back to one address alone, and
/// the cookie must be set there.
fn onward(base: &str, ticket: &str, headers: &HeaderMap) -> (String, &'static str) {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let authority = base.split_once("://").map(|(_, rest)| rest);
    let is_there = host.zip(authority).is_some_and(|(host, authority)| {
        let authority = authority.split('/').next().unwrap_or_default();
        host.eq_ignore_ascii_case(authority)
    });
    match is_there {
        true => (format!("/api/oauth/go/{ticket}"), "Continue"),
        false => (
            format!("{base}/api/oauth/start/{ticket}"),
            "Go on at the address of this server",
        ),
    }
}

fn service_connected_page(service: &str) -> String {
    let text = format!(
        "<p>The service <b>{}</b> is connected. Agents use nothing of it before you grant it.</p>\n\
         <p>You can close this page.</p>",
        escape(service)
    );
    document("Connected", &text)
}

fn service_failed_page(why: &str) -> String {
    document(
        "The sign-in did not work",
        &format!("<p>{}</p>", escape(why)),
    )
}

fn connected_page(server: &str) -> String {
    let text = format!(
        "<p>The tool server <b>{}</b> takes the sign-in. Its tools are there from the agent's next turn on.</p>\n\
         <p>You can close this page.</p>",
        escape(server)
    );
    document("Signed in", &text)
}

fn failed_page(why: SigninFailure) -> String {
    let text = format!(
        "<p>{}</p>\n<p><code>{}</code></p>",
        escape(why.sentence()),
        why.code()
    );
    document("The sign-in did not work", &text)
}

fn refused_page(said: &ErrorContent) -> String {
    // Browsers show no credential but a cookie, so advice on others would lead astray.
    let (sentence, advice) = match said.doc.code {
        code if code == error_catalogue::CALLER_IN_DOUBT.code => (
            "guildhall cannot tell whether this browser is yours or an agent's.",
            "Run <code>guildhall open</code> in a terminal of your own and open the link it shows \
             in this browser. Then open this page again."
                .to_owned(),
        ),
        code if code == error_catalogue::TOKEN_EXPIRED.code => (
            "This link was opened already, or is older than five minutes.",
            "Run <code>guildhall open</code> again in a terminal of your own: each link counts \
             once.</p>\n<p><a href=\"/\">Go to guildhall</a>"
                .to_owned(),
        ),
        _ if said.doc.status == 401 => (
            "This page is for the owner, signed in.",
            "<a href=\"/\">Sign in to guildhall</a> in this browser, then open the link again."
                .to_owned(),
        ),
        _ => (
            said.envelope.error.as_str(),
            escape(said.doc.advice).into_owned(),
        ),
    };
    let text = format!(
        "<p>{}</p>\n<p>{advice}</p>\n<p><code>{}</code></p>",
        escape(sentence),
        said.doc.code
    );
    document(said.doc.title, &text)
}

fn unknown_page() -> String {
    document(
        "The sign-in did not work",
        "<p>This answers no sign-in that this browser started, or one that is over. Start it again.</p>",
    )
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n\
         <main>\n<h1>{title}</h1>\n{body}\n</main>\n</html>\n"
    )
}

fn html(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = (status, text.to_owned()).into_response();
    as_page(&mut response);
    response
}

fn as_page(response: &mut Response<Body>) {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use sha2::{Digest, Sha256};

    use super::{CONTENT_POLICY, STYLE};

    #[test]
    fn the_policy_names_the_style_that_stands_in_the_pages() {
        let hash = STANDARD.encode(Sha256::digest(STYLE));
        assert!(CONTENT_POLICY.contains(&format!("style-src 'sha256-{hash}';")));
    }
}
