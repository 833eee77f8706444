//! Accounts of people.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
};
use guildhall_domain::{accounts, callers::Owner, ids::AccountId};
use guildhall_hall::Hall;
use guildhall_wire::{
    accounts::{Account, Accounts, AddAccount, Invitation, RegisterOwner},
    errors::ErrorEnvelope,
};

use crate::{
    body::Body,
    cookies::SignInCookie,
    errors::ApiResult,
    gates::{AttemptAddress, By},
    idempotency::IdempotentBody,
    openapi::parameters::PageLimit,
    page_cursor,
    path_ids::Path,
    query::{FromQuery, Params, Query},
    responses::page_response,
};

/// Ties cursors to this list.
const LIST: &str = "accounts";

/// Makes the first account, which is the owner's, and signs it in.
#[utoipa::path(post, path = "/api/auth/register", tag = "accounts", operation_id = "register",
    request_body = RegisterOwner,
    responses((status = 201, body = Account),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "REGISTRATION_CLOSED, SETUP_CODE_WRONG", body = ErrorEnvelope),
        (status = 409, description = "AUTH_MODE_LOCAL", body = ErrorEnvelope),
        (status = 429, description = "RATE_LIMITED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("open"))))]
pub async fn register(
    State(hall): State<Hall>,
    cookie: SignInCookie,
    AttemptAddress(from): AttemptAddress,
    Body(ask): Body<RegisterOwner>,
) -> ApiResult<Response> {
    let signed_in = hall.register(from, ask.into()).await?;
    let cookie = cookie.keep(&signed_in.cookie.reveal())?;
    let account = Json(Account::from(signed_in.account));
    Ok((StatusCode::CREATED, cookie, account).into_response())
}

/// Which page of a list.
pub struct ListAccounts {
    after: Option<AccountId>,
    limit: u32,
}

impl FromQuery for ListAccounts {
    fn read(params: &mut Params) -> Self {
        Self {
            after: params.after(LIST).map(AccountId::from_bytes),
            limit: params.limit(),
        }
    }
}

/// Lists the accounts in the order they were made.
#[utoipa::path(get, path = "/api/auth/accounts", tag = "accounts", operation_id = "listAccounts",
    params(
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
    ),
    responses((status = 200, body = Accounts),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 409, description = "AUTH_MODE_LOCAL", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    uri: Uri,
    Query(ask): Query<ListAccounts>,
) -> ApiResult<Response> {
    let seen = hall.accounts(&by, ask.after, ask.limit).await?;
    let last = seen.value.accounts.last().filter(|_| seen.value.has_more);
    let next_cursor = last.map(|account| page_cursor::write(account.id.as_bytes(), LIST));
    Ok(page_response(
        &uri,
        next_cursor,
        seen,
        |page, next_cursor| Accounts {
            accounts: page.accounts.into_iter().map(Into::into).collect(),
            next_cursor,
        },
    ))
}

/// Makes an account for another person; its first password is shown in this answer alone.
///
/// Until the person has replaced that password, the account opens nothing but that.
#[utoipa::path(post, path = "/api/auth/accounts", tag = "accounts", operation_id = "addAccount",
    request_body = AddAccount,
    responses((status = 201, body = Invitation),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 409, description = "AUTH_MODE_LOCAL, EMAIL_TAKEN, LIMIT_REACHED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn add(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    IdempotentBody { ask, repeat }: IdempotentBody<AddAccount>,
) -> ApiResult<(StatusCode, Json<Invitation>)> {
    let once = repeat.answered_once(|made: &accounts::Account| made.id.to_string());
    let (account, password) = hall
        .add_account(&by, &ask.email, &ask.display_name, once)
        .await?;
    let invitation = Invitation {
        account: account.into(),
        invite_password: password.reveal(),
    };
    Ok((StatusCode::CREATED, Json(invitation)))
}

/// Removes another person's account: its author is retired, its sign-ins, keys and memberships
/// end.
#[utoipa::path(delete, path = "/api/auth/accounts/{id}", tag = "accounts", operation_id = "removeAccount",
    params(("id" = String, Path, description = "The account")),
    responses((status = 204),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "ACCOUNT_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "AUTH_MODE_LOCAL, OWNER_ACCOUNT", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn remove(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(account): Path<AccountId>,
) -> ApiResult<StatusCode> {
    hall.remove_account(&by, account).await?;
    Ok(StatusCode::NO_CONTENT)
}
