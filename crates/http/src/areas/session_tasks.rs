//! A session's tasks.

use axum::extract::State;
use guildhall_domain::{callers::AnyCaller, ids::SessionId};
use guildhall_hall::Hall;
use guildhall_wire::{errors::ErrorEnvelope, session_tasks::Tasks};

use crate::{
    errors::ApiResult,
    gates::By,
    path_ids::Path,
    responses::{ReadResponse, read_response},
};

/// Lists what the agent of a session means to do, as its transcript tells.
///
/// Sessions that an agent's own command line made are found by their id as well.
/// An agent sees the tasks of its own sessions.
///
/// Refused as everywhere with `VALIDATION_FAILED` (400), for an id that is no UUID.
#[utoipa::path(get, path = "/api/sessions/{id}/tasks", tag = "sessions",
    operation_id = "listSessionTasks",
    params(("id" = String, Path, description = "The session's UUID, of any version")),
    responses((status = 200, body = Tasks),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(id): Path<String>,
) -> ApiResult<ReadResponse<Tasks>> {
    let id = SessionId::parse_id(&id)?;
    Ok(read_response(hall.session_tasks(&by, id).await?))
}
