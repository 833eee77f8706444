//! Trusted browsers: making the address that `guildhall open` shows, opening it, forgetting all.

use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderValue, StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
};
use guildhall_domain::{Error, Refusal, callers::OwnerInteractive};
use guildhall_hall::{Hall, callers};
use guildhall_wire::{errors::ErrorEnvelope, trusted_browsers::TrustLink};

use crate::{
    cookies,
    errors::{ApiError, ApiResult},
    gates::By,
    listener::ConnectionPeer,
    path_ids::Path,
    state::ServerState,
};

/// Makes an address that the owner's browser opens once, within five minutes: its connections are
/// the owner's from then on, also where nobody can tell whose they are.
#[utoipa::path(post, path = "/api/auth/open", tag = "callers", operation_id = "makeOpenLink",
    responses((status = 201, body = TrustLink),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn make(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
) -> ApiResult<(StatusCode, Json<TrustLink>)> {
    let link = hall.make_open_link(&by).await?;
    let link = TrustLink {
        path: format!("/api/auth/open/{}", link.token.reveal()),
        expires_at: link.expires_at.to_string(),
    };
    Ok((StatusCode::CREATED, Json(link)))
}

/// Forgets every browser that opened such an address.
#[utoipa::path(delete, path = "/api/auth/open", tag = "callers",
    operation_id = "forgetTrustedBrowsers",
    responses((status = 204),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn forget(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
) -> ApiResult<StatusCode> {
    hall.forget_trusted_browsers(&by).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a person reads who opens an address again, or too late.
const USED: &str = "This address was opened already, or is older than five minutes. Run \
                    `guildhall open` again.";

/// `GET /api/auth/open/{token}`: sets the cookie of a trusted browser and leads to the page.
/// It is the token that counts, once; but not for an agent, nor for who may be one that runs.
pub async fn open(
    State(state): State<ServerState>,
    Extension(peer): Extension<ConnectionPeer>,
    Path(token): Path<String>,
) -> ApiResult<Response> {
    let peer = callers::PeerIdentity::of(peer.word);
    let cookie = match state.hall.use_open_link(&token, peer).await {
        Err(Error::Refusal(refusal @ Refusal::TokenExpired)) => {
            return Err(ApiError::from(refusal).with_sentence(USED));
        }
        cookie => cookie?,
    };
    let cookie = cookies::set_trusted_browser(state.about.port, &cookie.reveal())?;
    let to_the_page = [(LOCATION, HeaderValue::from_static("/"))];
    Ok((StatusCode::SEE_OTHER, cookie, to_the_page).into_response())
}
