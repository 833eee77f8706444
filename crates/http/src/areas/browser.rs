//! The local browser as a whole. Its tabs are [`super::browser_tabs`], its pictures
//! [`super::browser_stream`]. Source: contract 7.4.

use std::time::Duration;

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use guildhall_domain::{browser::BrowserAddress, limits};
use guildhall_hall::{Hall, browser};
use guildhall_wire::{
    browser::{
        BrowserState, EmptyBrowserRequest, OpenBrowser, PauseBrowser, PrepareBrowser, ShareBrowser,
    },
    errors::ErrorEnvelope,
};

use crate::{
    approval_headers::{PreferenceApplied, prefer_wait},
    body::Body,
    errors::{ApiError, ApiResult},
    gates::ByOwnerHere,
};

/// How long the client waits until the browser is open (RFC 7240).
pub struct PreferWait {
    wait: Option<Duration>,
    applied: PreferenceApplied,
}

impl<S: Sync> FromRequestParts<S> for PreferWait {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let max = u32::try_from(limits::BROWSER_OPEN_WAIT_S_MAX).unwrap_or(u32::MAX);
        let (wait, applied) = prefer_wait(&parts.headers, max);
        let wait = wait.map(|seconds| Duration::from_secs(seconds.into()));
        Ok(Self { wait, applied })
    }
}

/// Says what the local browser is now. Starts nothing.
#[utoipa::path(get, path = "/api/local-browser", tag = "browser", operation_id = "getBrowser",
    responses((status = 200, body = BrowserState),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn get(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
) -> ApiResult<Json<BrowserState>> {
    Ok(Json(BrowserState::from(&*hall.browser(&by))))
}

/// Opens the local browser, or joins an open that is on its way; answers at once, and goes on.
#[utoipa::path(post, path = "/api/local-browser/open", tag = "browser", operation_id = "openBrowser",
    params(("Prefer" = Option<String>, Header, description = "`wait=N`: hold the answer until it is open, failed, or N seconds are over, at most 60")),
    request_body = OpenBrowser,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED, URL_NOT_ALLOWED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 409, description = "BUSY, PROFILE_IN_USE", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here")), ("x-beside" = json!(["404 SESSION_NOT_FOUND"]))))]
pub async fn open(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    PreferWait { wait, applied }: PreferWait,
    Body(ask): Body<OpenBrowser>,
) -> ApiResult<Response> {
    let ask = browser::OpenBrowser {
        mode: ask.mode,
        session: ask.session_id,
        url: ask.url.as_deref().map(BrowserAddress::typed).transpose()?,
    };
    let state = hall.open_browser(&by, ask, wait).await?;
    Ok((applied, Json(BrowserState::from(&*state))).into_response())
}

/// Looks for the browser's program, or fetches it where that is possible.
#[utoipa::path(post, path = "/api/local-browser/prepare", tag = "browser", operation_id = "prepareBrowser",
    request_body = PrepareBrowser,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 409, description = "BUSY", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn prepare(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Body(ask): Body<PrepareBrowser>,
) -> ApiResult<Json<BrowserState>> {
    let state = hall.prepare_browser(&by, ask.download).await?;
    Ok(Json(BrowserState::from(&*state)))
}

/// Closes the local browser, or gives up opening or fetching it.
#[utoipa::path(post, path = "/api/local-browser/close", tag = "browser", operation_id = "closeBrowser",
    request_body = EmptyBrowserRequest,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn close(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Body(EmptyBrowserRequest {}): Body<EmptyBrowserRequest>,
) -> ApiResult<Json<BrowserState>> {
    let state = hall.close_browser(&by).await?;
    Ok(Json(BrowserState::from(&*state)))
}

/// Shares a tab with a session, whose agent can then use it; null ends that.
#[utoipa::path(post, path = "/api/local-browser/share", tag = "browser", operation_id = "shareBrowser",
    request_body = ShareBrowser,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND, TAB_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn share(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Body(ask): Body<ShareBrowser>,
) -> ApiResult<Json<BrowserState>> {
    let state = hall.share_browser(&by, ask.session_id, ask.tab_id).await?;
    Ok(Json(BrowserState::from(&*state)))
}

/// Refuses agents' tools for the browser, or lets them on.
#[utoipa::path(post, path = "/api/local-browser/pause", tag = "browser", operation_id = "pauseBrowser",
    request_body = PauseBrowser,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn pause(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Body(ask): Body<PauseBrowser>,
) -> ApiResult<Json<BrowserState>> {
    let state = hall.pause_browser(&by, ask.paused).await?;
    Ok(Json(BrowserState::from(&*state)))
}
