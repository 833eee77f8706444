//! Runtimes: which there are, and trying one out.

use axum::{Json, extract::State, http::StatusCode};
use guildhall_domain::{
    callers::{AnyCaller, Owner},
    runtimes::RuntimeStatus,
};
use guildhall_hall::Hall;
use guildhall_wire::{
    errors::ErrorEnvelope,
    runtimes::{CheckRuntime, Runtime, Runtimes},
};

use crate::{
    errors::ApiResult,
    gates::By,
    idempotency::IdempotentBody,
    path_ids::Path,
    responses::{ReadResponse, read_response},
};

/// Every runtime there can be, unregistered ones too.
#[utoipa::path(get, path = "/api/runtimes", tag = "runtimes", operation_id = "listRuntimes",
    responses((status = 200, body = Runtimes)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
) -> ApiResult<ReadResponse<Runtimes>> {
    Ok(read_response(hall.runtime_list(&by).await?))
}

/// Tries a runtime out: starts it, and opens a session in an empty folder.
///
/// What goes wrong stands in `problem`. What it says of itself is kept and shows in the
/// capabilities.
#[utoipa::path(post, path = "/api/runtimes/{type}/check", tag = "runtimes", operation_id = "checkRuntime",
    params(("type" = String, Path, description = "The runtime's type")),
    responses((status = 200, body = Runtime),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "UNKNOWN_RUNTIME", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn check(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    Path(kind): Path<String>,
    IdempotentBody { repeat, .. }: IdempotentBody<CheckRuntime>,
) -> ApiResult<Json<Runtime>> {
    let once = repeat
        .answered_by(|status: &RuntimeStatus| (StatusCode::OK, Runtime::from(status.clone())));
    Ok(Json(hall.check_runtime(&by, &kind, once).await?.into()))
}
