//! Runtimes: which there are, and trying one out.

use axum::{Json, extract::State};
use guildhall_domain::callers::{AnyCaller, Owner};
use guildhall_hall::Hall;
use guildhall_wire::{
    errors::ErrorEnvelope,
    runtimes::{Runtime, Runtimes},
};

use crate::{
    answers::{Read, read},
    errors::ApiResult,
    gates::By,
    path::Path,
};

/// Every runtime there can be, unregistered ones too.
#[utoipa::path(get, path = "/api/runtimes", tag = "runtimes", operation_id = "listRuntimes",
    responses((status = 200, body = Runtimes)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(State(hall): State<Hall>, By(by): By<AnyCaller>) -> ApiResult<Read<Runtimes>> {
    Ok(read(hall.runtime_list(&by).await?))
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
) -> ApiResult<Json<Runtime>> {
    Ok(Json(hall.check_runtime(&by, &kind).await?.into()))
}
