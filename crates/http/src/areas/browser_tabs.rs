//! The tabs of the local browser. Source: contract 7.4.

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use guildhall_domain::{
    browser::{BrowserAddress, Viewport},
    ids::TabId,
};
use guildhall_hall::{
    Hall,
    browser::{Destination, HistoryNavigation},
};
use guildhall_wire::{
    browser::{
        AnswerAuth, AnswerDialog, BrowserState, EmptyBrowserRequest, NavigateTab, NewTab,
        ResizeTab, SelectedText, TabAction, TabInput,
    },
    errors::ErrorEnvelope,
};

use crate::{body::Body, errors::ApiResult, gates::ByOwnerHere, path_ids::Path};

/// Opens a tab at the end, and shows it.
#[utoipa::path(post, path = "/api/local-browser/tabs", tag = "browser", operation_id = "openTab",
    request_body = NewTab,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED, URL_NOT_ALLOWED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED, TAB_LIMIT", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope),
        (status = 504, description = "BROWSER_TIMEOUT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn open(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Body(ask): Body<NewTab>,
) -> ApiResult<Json<BrowserState>> {
    let url = ask.url.as_deref().map(BrowserAddress::typed).transpose()?;
    let state = hall.open_tab(&by, url).await?;
    Ok(Json(BrowserState::from(&*state)))
}

/// Shows a tab.
#[utoipa::path(post, path = "/api/local-browser/tabs/{id}/select", tag = "browser", operation_id = "selectTab",
    params(("id" = String, Path, description = "The tab")),
    request_body = EmptyBrowserRequest,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "TAB_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope),
        (status = 504, description = "BROWSER_TIMEOUT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn select(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Path(tab): Path<TabId>,
    Body(EmptyBrowserRequest {}): Body<EmptyBrowserRequest>,
) -> ApiResult<Json<BrowserState>> {
    let state = hall.select_tab(&by, tab).await?;
    Ok(Json(BrowserState::from(&*state)))
}

/// Closes a tab; an embedded browser has a blank one instead of its last.
#[utoipa::path(delete, path = "/api/local-browser/tabs/{id}", tag = "browser", operation_id = "closeTab",
    params(("id" = String, Path, description = "The tab")),
    responses((status = 200, body = BrowserState),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "TAB_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope),
        (status = 504, description = "BROWSER_TIMEOUT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn close(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Path(tab): Path<TabId>,
) -> ApiResult<Json<BrowserState>> {
    let state = hall.close_tab(&by, tab).await?;
    Ok(Json(BrowserState::from(&*state)))
}

/// Sends a tab to an address or along its history; answers when the load has begun.
#[utoipa::path(post, path = "/api/local-browser/tabs/{id}/navigate", tag = "browser", operation_id = "navigateTab",
    params(("id" = String, Path, description = "The tab")),
    request_body = NavigateTab,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED, URL_NOT_ALLOWED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "TAB_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope),
        (status = 504, description = "BROWSER_TIMEOUT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn navigate(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Path(tab): Path<TabId>,
    Body(ask): Body<NavigateTab>,
) -> ApiResult<Json<BrowserState>> {
    let to = match (ask.url, ask.action) {
        (Some(url), _) => Destination::To(BrowserAddress::typed(&url)?),
        (None, Some(TabAction::Back)) => Destination::Along(HistoryNavigation::Back),
        (None, Some(TabAction::Forward)) => Destination::Along(HistoryNavigation::Forward),
        (None, Some(TabAction::Reload)) => Destination::Along(HistoryNavigation::Reload),
        (None, Some(TabAction::Stop) | None) => Destination::Along(HistoryNavigation::Stop),
    };
    let state = hall.navigate_tab(&by, tab, to).await?;
    Ok(Json(BrowserState::from(&*state)))
}

/// Does steps of mouse and keyboard in a tab of an embedded browser, in order.
#[utoipa::path(post, path = "/api/local-browser/tabs/{id}/input", tag = "browser", operation_id = "typeInTab",
    params(("id" = String, Path, description = "The tab")),
    request_body = TabInput,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "TAB_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED, STALE, WRONG_MODE", body = ErrorEnvelope),
        (status = 429, description = "INPUT_QUEUE_FULL", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope),
        (status = 504, description = "BROWSER_TIMEOUT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn input(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Path(tab): Path<TabId>,
    Body(ask): Body<TabInput>,
) -> ApiResult<Json<BrowserState>> {
    let connection = ask.connection();
    let state = hall.type_in_tab(&by, tab, connection, ask.steps).await?;
    Ok(Json(BrowserState::from(&*state)))
}

/// Gives the pages of an embedded browser another size.
#[utoipa::path(post, path = "/api/local-browser/tabs/{id}/viewport", tag = "browser", operation_id = "resizeTab",
    params(("id" = String, Path, description = "The tab")),
    request_body = ResizeTab,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "TAB_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED, WRONG_MODE", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope),
        (status = 504, description = "BROWSER_TIMEOUT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn resize(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Path(tab): Path<TabId>,
    Body(ask): Body<ResizeTab>,
) -> ApiResult<Json<BrowserState>> {
    let viewport = Viewport::checked(ask.width, ask.height, ask.scale)?;
    let state = hall.resize_tab(&by, tab, viewport).await?;
    Ok(Json(BrowserState::from(&*state)))
}

/// Answers the dialog that a tab shows.
#[utoipa::path(post, path = "/api/local-browser/tabs/{id}/dialog", tag = "browser", operation_id = "answerDialog",
    params(("id" = String, Path, description = "The tab")),
    request_body = AnswerDialog,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "TAB_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED, NO_DIALOG", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope),
        (status = 504, description = "BROWSER_TIMEOUT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn dialog(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Path(tab): Path<TabId>,
    Body(ask): Body<AnswerDialog>,
) -> ApiResult<Json<BrowserState>> {
    let text = ask.text.as_deref();
    let state = hall.answer_dialog(&by, tab, ask.accept, text).await?;
    Ok(Json(BrowserState::from(&*state)))
}

/// Answers a tab's request for a name and a password, or cancels it. Neither is kept.
#[utoipa::path(post, path = "/api/local-browser/tabs/{id}/auth", tag = "browser", operation_id = "answerAuth",
    params(("id" = String, Path, description = "The tab")),
    request_body = AnswerAuth,
    responses((status = 200, body = BrowserState),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "TAB_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED, NO_AUTH_REQUEST", body = ErrorEnvelope),
        (status = 503, description = "BROWSER_DISABLED", body = ErrorEnvelope),
        (status = 504, description = "BROWSER_TIMEOUT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn auth(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Path(tab): Path<TabId>,
    Body(ask): Body<AnswerAuth>,
) -> ApiResult<Json<BrowserState>> {
    let state = hall.answer_auth(&by, tab, ask.credentials()).await?;
    Ok(Json(BrowserState::from(&*state)))
}

/// Reads the text that is selected in a tab, for copying.
#[utoipa::path(get, path = "/api/local-browser/tabs/{id}/selection", tag = "browser", operation_id = "getSelection",
    params(("id" = String, Path, description = "The tab")),
    responses((status = 200, body = SelectedText),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "TAB_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED", body = ErrorEnvelope),
        (status = 504, description = "BROWSER_TIMEOUT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn selection(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Path(tab): Path<TabId>,
) -> ApiResult<Json<SelectedText>> {
    let text = hall.tab_selection(&by, tab).await?;
    Ok(Json(SelectedText { text }))
}

/// Takes a picture of a tab.
#[utoipa::path(get, path = "/api/local-browser/tabs/{id}/screenshot", tag = "browser", operation_id = "getScreenshot",
    params(("id" = String, Path, description = "The tab")),
    responses((status = 200, description = "The picture", body = Vec<u8>, content_type = "image/jpeg"),
        (status = 403, description = "OWNER_HERE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "TAB_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "NOT_CONNECTED", body = ErrorEnvelope),
        (status = 504, description = "BROWSER_TIMEOUT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner here"))))]
pub async fn screenshot(
    State(hall): State<Hall>,
    ByOwnerHere(by): ByOwnerHere,
    Path(tab): Path<TabId>,
) -> ApiResult<Response> {
    let jpeg = hall.tab_screenshot(&by, tab).await?;
    let headers = [
        (header::CONTENT_TYPE, "image/jpeg"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, jpeg).into_response())
}
