//! API keys.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};
use guildhall_domain::{api_keys::ApiKey, callers::Human, ids::ApiKeyId};
use guildhall_hall::Hall;
use guildhall_wire::{
    api_keys::{ApiKeys, CreateApiKey, NewApiKey},
    errors::ErrorEnvelope,
};

use crate::{
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    openapi::parameters::PageLimit,
    page_cursor,
    path_ids::Path,
    query::{FromQuery, Params, Query},
    responses::page_response,
};

/// Ties cursors to this list.
const LIST: &str = "keys";

/// Which page of a list.
pub struct ListApiKeys {
    after: Option<ApiKeyId>,
    limit: u32,
}

impl FromQuery for ListApiKeys {
    fn read(params: &mut Params) -> Self {
        Self {
            after: params.after(LIST).map(ApiKeyId::from_bytes),
            limit: params.limit(),
        }
    }
}

/// Lists the caller's API keys, never their texts; the owner sees everybody's.
#[utoipa::path(get, path = "/api/auth/keys", tag = "keys", operation_id = "listKeys",
    params(
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
    ),
    responses((status = 200, body = ApiKeys),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<Human>,
    uri: Uri,
    Query(ask): Query<ListApiKeys>,
) -> ApiResult<Response> {
    let seen = hall.keys(&by, ask.after, ask.limit).await?;
    let last = seen.value.keys.last().filter(|_| seen.value.has_more);
    let next_cursor = last.map(|key| page_cursor::write(key.id.as_bytes(), LIST));
    Ok(page_response(
        &uri,
        next_cursor,
        seen,
        |page, next_cursor| ApiKeys {
            keys: page.keys.into_iter().map(Into::into).collect(),
            next_cursor,
        },
    ))
}

/// Makes an API key that names the caller; its text is shown in this answer alone.
#[utoipa::path(post, path = "/api/auth/keys", tag = "keys", operation_id = "makeKey",
    request_body = CreateApiKey,
    responses((status = 201, body = NewApiKey),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 409, description = "TOO_MANY_KEYS", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn make(
    State(hall): State<Hall>,
    By(by): By<Human>,
    IdempotentBody { ask, repeat }: IdempotentBody<CreateApiKey>,
) -> ApiResult<(StatusCode, Json<NewApiKey>)> {
    let once = repeat.answered_once(|key: &ApiKey| key.id.to_string());
    let (key, secret) = hall.make_key(&by, &ask.label, once).await?;
    Ok((
        StatusCode::CREATED,
        Json(NewApiKey::new(key, secret.reveal())),
    ))
}

/// Ends an API key of the caller, or for the owner anybody's; its streams end.
#[utoipa::path(delete, path = "/api/auth/keys/{id}", tag = "keys", operation_id = "revokeKey",
    params(("id" = String, Path, description = "The key")),
    responses((status = 204),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 404, description = "KEY_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn revoke(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path(key): Path<ApiKeyId>,
) -> ApiResult<StatusCode> {
    hall.revoke_key(&by, key).await?;
    Ok(StatusCode::NO_CONTENT)
}
