//! The authorization server: metadata (RFC 8414), the device grant (RFC 8628) and giving a key
//! back (RFC 7009). Bodies are forms, and errors are those of RFC 6749 §5.2.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use guildhall_domain::Fault;
use guildhall_world::{ids, secret_tokens};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    device_grant::{self, DEVICE_CODE_TTL_S, DEVICE_INTERVAL_S, PollResult},
    listener::ClientAddress,
    problems,
    request_bodies::{FormError, FormFields},
    secret_minting,
    service_state::ServiceState,
    store::{device_requests, instances},
};

/// The one client there is; it is public and has no secret.
pub const CLIENT_ID: &str = "guildhall-instance";
/// The one thing a key is for.
pub const SCOPE: &str = "instance";
/// The grant of RFC 8628.
pub const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Characters of the name a device gives itself.
const NAME_CHARS_MAX: usize = 200;

/// An error of RFC 6749 §5.2 or RFC 8628 §3.5.
#[derive(Debug)]
pub(crate) enum OauthError {
    InvalidRequest,
    InvalidClient,
    InvalidScope,
    InvalidGrant,
    UnsupportedGrantType,
    AuthorizationPending,
    SlowDown,
    AccessDenied,
    ExpiredToken,
    TooMany,
    Fault(Fault),
}

impl From<Fault> for OauthError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<FormError> for OauthError {
    fn from(_: FormError) -> Self {
        Self::InvalidRequest
    }
}

/// An error as it is sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct OauthProblem {
    /// The error's word, such as `authorization_pending`.
    #[schema(example = "authorization_pending")]
    error: &'static str,
}

impl IntoResponse for OauthError {
    fn into_response(self) -> Response {
        let (status, error) = match &self {
            Self::InvalidRequest => (StatusCode::BAD_REQUEST, "invalid_request"),
            Self::InvalidClient => (StatusCode::UNAUTHORIZED, "invalid_client"),
            Self::InvalidScope => (StatusCode::BAD_REQUEST, "invalid_scope"),
            Self::InvalidGrant => (StatusCode::BAD_REQUEST, "invalid_grant"),
            Self::UnsupportedGrantType => (StatusCode::BAD_REQUEST, "unsupported_grant_type"),
            Self::AuthorizationPending => (StatusCode::BAD_REQUEST, "authorization_pending"),
            Self::SlowDown => (StatusCode::BAD_REQUEST, "slow_down"),
            Self::AccessDenied => (StatusCode::BAD_REQUEST, "access_denied"),
            Self::ExpiredToken => (StatusCode::BAD_REQUEST, "expired_token"),
            Self::TooMany => (StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable"),
            Self::Fault(fault) => {
                problems::log(fault, &format!("urn:uuid:{}", ids::new()));
                (StatusCode::INTERNAL_SERVER_ERROR, "server_error")
            }
        };
        let mut response = (status, Json(OauthProblem { error })).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
        }
        response
    }
}

/// What the authorization server says of itself. Source: RFC 8414.
#[derive(Debug, Serialize, ToSchema)]
pub struct ServerMetadataResponse {
    /// Who it is.
    issuer: String,
    /// Where a device begins.
    device_authorization_endpoint: String,
    /// Where it asks for its key.
    token_endpoint: String,
    /// Where a key is given back.
    revocation_endpoint: String,
    /// The device grant alone.
    grant_types_supported: [&'static str; 1],
    /// None: there is no authorization endpoint.
    response_types_supported: [&'static str; 0],
    /// `instance` alone.
    scopes_supported: [&'static str; 1],
    /// The client is public.
    token_endpoint_auth_methods_supported: [&'static str; 1],
    /// The key alone counts.
    revocation_endpoint_auth_methods_supported: [&'static str; 1],
    /// This document's interface for programs.
    service_documentation: String,
}

/// What the authorization server says of itself (RFC 8414).
#[utoipa::path(get, path = "/.well-known/oauth-authorization-server", tag = "linking",
    operation_id = "metadata",
    responses((status = 200, description = "The metadata", body = ServerMetadataResponse)))]
pub(crate) async fn metadata(State(house): State<ServiceState>) -> Json<ServerMetadataResponse> {
    Json(ServerMetadataResponse {
        issuer: house.public.address(""),
        device_authorization_endpoint: house.public.address("/oauth/device"),
        token_endpoint: house.public.address("/oauth/token"),
        revocation_endpoint: house.public.address("/oauth/revoke"),
        grant_types_supported: [DEVICE_GRANT],
        response_types_supported: [],
        scopes_supported: [SCOPE],
        token_endpoint_auth_methods_supported: ["none"],
        revocation_endpoint_auth_methods_supported: ["none"],
        service_documentation: house.public.address("/openapi.json"),
    })
}

/// Codes for one device. Source: RFC 8628 §3.2.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeviceAuthorizationResponse {
    /// What the device asks for its key with.
    device_code: String,
    /// What a person types.
    #[schema(example = "BCDF-GHJK")]
    user_code: String,
    /// Where.
    verification_uri: String,
    /// Where nothing has to be typed.
    verification_uri_complete: String,
    /// Seconds the codes count.
    expires_in: i64,
    /// Seconds between two requests for the key.
    interval: i64,
}

/// Begins to link an instance: codes for the instance and for a person (RFC 8628).
#[utoipa::path(post, path = "/oauth/device", tag = "linking", operation_id = "device",
    request_body(content = crate::openapi::DeviceForm,
        content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "The codes", body = DeviceAuthorizationResponse),
        (status = 400, description = "`invalid_request`, `invalid_scope`", body = OauthProblem),
        (status = 401, description = "`invalid_client`", body = OauthProblem),
        (status = 503, description = "Too many devices ask", body = OauthProblem)))]
pub(crate) async fn device_authorization(
    State(house): State<ServiceState>,
    ClientAddress(from): ClientAddress,
    form: Result<FormFields, FormError>,
) -> Result<Json<DeviceAuthorizationResponse>, OauthError> {
    let form = of_client(form)?;
    if form.get("scope").is_some_and(|scope| scope != SCOPE) {
        return Err(OauthError::InvalidScope);
    }
    let name = form.get("name").unwrap_or_default();
    let name: String = name
        .chars()
        .filter(|c| !c.is_control())
        .take(NAME_CHARS_MAX)
        .collect();
    let (device_code, user_code) = (secret_minting::device_code()?, secret_minting::user_code()?);
    let now = house.clock.now();
    let device = device_requests::NewDeviceRequest {
        device_digest: device_code.digest(),
        user_digest: secret_tokens::digest(&user_code),
        name,
        asked_from: from,
        created_at: now,
        expires_at: now.plus_seconds(DEVICE_CODE_TTL_S),
    };
    let during = "noting a device";
    let noted = house
        .store
        .write(during, move |tx| device_requests::add(tx, &device));
    if !noted.await? {
        return Err(OauthError::TooMany);
    }
    let user_code = device_grant::format_user_code(&user_code);
    let verification_uri = house.public.address("/activate");
    Ok(Json(DeviceAuthorizationResponse {
        device_code: device_code.reveal(),
        verification_uri_complete: format!("{verification_uri}?user_code={user_code}"),
        user_code,
        verification_uri,
        expires_in: DEVICE_CODE_TTL_S,
        interval: DEVICE_INTERVAL_S,
    }))
}

/// The key of an instance, shown this once.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenResponse {
    /// The key; it does not expire.
    access_token: String,
    /// `Bearer`.
    token_type: &'static str,
    /// `instance`.
    scope: &'static str,
}

/// Asks for the key; it is issued once (RFC 8628).
#[utoipa::path(post, path = "/oauth/token", tag = "linking", operation_id = "token",
    request_body(content = crate::openapi::TokenForm,
        content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "The key", body = TokenResponse),
        (status = 400, description = "`authorization_pending`, `slow_down`, `access_denied`, \
            `expired_token`, `invalid_grant`, `invalid_request`, `unsupported_grant_type`",
            body = OauthProblem),
        (status = 401, description = "`invalid_client`", body = OauthProblem)))]
pub(crate) async fn token(
    State(house): State<ServiceState>,
    form: Result<FormFields, FormError>,
) -> Result<Json<TokenResponse>, OauthError> {
    let form = of_client(form)?;
    match form.get("grant_type") {
        Some(DEVICE_GRANT) => {}
        Some(_) => return Err(OauthError::UnsupportedGrantType),
        None => return Err(OauthError::InvalidRequest),
    }
    let code = form.get("device_code").ok_or(OauthError::InvalidRequest)?;
    let (code, key) = (secret_tokens::digest(code), secret_minting::key()?);
    let (digest, now) = (key.digest(), house.clock.now());
    let polled = house.store.write("issuing a key", move |tx| {
        device_requests::poll(tx, code, digest, now)
    });
    match polled.await? {
        PollResult::Issue(_) => Ok(Json(TokenResponse {
            access_token: key.reveal(),
            token_type: "Bearer",
            scope: SCOPE,
        })),
        PollResult::AuthorizationPending => Err(OauthError::AuthorizationPending),
        PollResult::SlowDown => Err(OauthError::SlowDown),
        PollResult::AccessDenied => Err(OauthError::AccessDenied),
        PollResult::ExpiredToken => Err(OauthError::ExpiredToken),
        PollResult::InvalidGrant => Err(OauthError::InvalidGrant),
    }
}

/// Gives a key back; a key that is none is none afterwards as well (RFC 7009).
#[utoipa::path(post, path = "/oauth/revoke", tag = "linking", operation_id = "revoke",
    request_body(content = crate::openapi::RevokeForm,
        content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "The key does not count"),
        (status = 400, description = "`invalid_request`: no key was sent", body = OauthProblem)))]
pub(crate) async fn revoke(
    State(house): State<ServiceState>,
    form: Result<FormFields, FormError>,
) -> Result<StatusCode, OauthError> {
    let form = form?;
    let key = form.get("token").ok_or(OauthError::InvalidRequest)?;
    let key = secret_tokens::digest(key);
    let revoked = house
        .store
        .write("revoking a key", move |tx| instances::revoke(tx, key));
    revoked.await?;
    Ok(StatusCode::OK)
}

/// A form of the one client, with no field twice.
fn of_client(form: Result<FormFields, FormError>) -> Result<FormFields, OauthError> {
    let form = form?;
    if form.repeats() {
        return Err(OauthError::InvalidRequest);
    }
    match form.get("client_id") {
        Some(CLIENT_ID) => Ok(form),
        Some(_) => Err(OauthError::InvalidClient),
        None => Err(OauthError::InvalidRequest),
    }
}
