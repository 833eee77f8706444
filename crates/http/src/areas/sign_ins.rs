//! Signing in and out, and changing the password.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use guildhall_domain::{
    accounts::Password,
    callers::{Arrived, SignedIn},
};
use guildhall_hall::Hall;
use guildhall_wire::{
    accounts::Account,
    errors::ErrorEnvelope,
    sign_ins::{ChangePassword, Login},
};

use crate::{
    body::Body,
    cookies::SignInCookie,
    errors::ApiResult,
    gates::{AttemptAddress, By},
};

/// Signs a person in; the cookie is the credential from then on.
#[utoipa::path(post, path = "/api/auth/login", tag = "sign-ins", operation_id = "login",
    request_body = Login,
    responses((status = 200, body = Account),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 401, description = "INVALID_CREDENTIALS", body = ErrorEnvelope),
        (status = 409, description = "AUTH_MODE_LOCAL", body = ErrorEnvelope),
        (status = 429, description = "RATE_LIMITED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("open"))))]
pub async fn login(
    State(hall): State<Hall>,
    cookie: SignInCookie,
    AttemptAddress(from): AttemptAddress,
    Body(ask): Body<Login>,
) -> ApiResult<Response> {
    let password = Password::new(ask.password);
    let signed_in = hall.sign_in(from, &ask.email, password).await?;
    let cookie = cookie.keep(&signed_in.cookie.reveal())?;
    Ok((cookie, Json(Account::from(signed_in.account))).into_response())
}

/// Ends the sign-in of the cookie shown, with its streams.
#[utoipa::path(post, path = "/api/auth/logout", tag = "sign-ins", operation_id = "logout",
    responses((status = 204),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 409, description = "AUTH_MODE_LOCAL", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn logout(
    State(hall): State<Hall>,
    By(by): By<Arrived>,
    cookie: SignInCookie,
) -> ApiResult<Response> {
    hall.sign_out(&by).await?;
    Ok((StatusCode::NO_CONTENT, cookie.forget()?).into_response())
}

/// Changes the caller's password; all other sign-ins and all keys of the account end.
#[utoipa::path(post, path = "/api/auth/password", tag = "sign-ins", operation_id = "changePassword",
    request_body = ChangePassword,
    responses((status = 204),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 401, description = "INVALID_CREDENTIALS", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 409, description = "AUTH_MODE_LOCAL", body = ErrorEnvelope),
        (status = 429, description = "RATE_LIMITED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human by cookie"))))]
pub async fn password(
    State(hall): State<Hall>,
    By(by): By<SignedIn>,
    AttemptAddress(from): AttemptAddress,
    Body(ask): Body<ChangePassword>,
) -> ApiResult<StatusCode> {
    let (current, next) = (Password::new(ask.current), Password::new(ask.next));
    hall.change_password(&by, from, current, next).await?;
    Ok(StatusCode::NO_CONTENT)
}
