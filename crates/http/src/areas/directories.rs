//! Directories: looking into folders, and making one.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use guildhall_hall::{Hall, directories::ListFilter};
use guildhall_wire::{
    directories::{CreateDirectory, Directory, DirectoryPath},
    errors::ErrorEnvelope,
};

use crate::{
    errors::ApiResult,
    gates::ByFileAccess,
    idempotency::IdempotentBody,
    query::{FromQuery, Params, Query},
    responses::UntrackedResponse,
};

/// Which folder is asked for.
pub struct ListDirectory {
    path: Option<String>,
    listed: ListFilter,
}

impl FromQuery for ListDirectory {
    fn read(params: &mut Params) -> Self {
        Self {
            path: params.maybe_folder("path"),
            listed: ListFilter {
                is_hidden: params.flag("showHidden").unwrap_or(false),
                is_directories_only: params.flag("directoriesOnly").unwrap_or(false),
            },
        }
    }
}

/// Lists the folders and files of a folder.
///
/// People look into home alone, and an agent into its own folder alone; what is not there is not
/// told from what may not be seen. A link counts as what it leads to while that stays inside, else
/// it is left out, as are devices, sockets, and the folder this server keeps its data in.
#[utoipa::path(get, path = "/api/directory", tag = "directories", operation_id = "listDirectory",
    params(
        ("path" = Option<String>, Query, description = "The folder, absolute or beginning with `~`; without it home, for an agent its own folder"),
        ("showHidden" = Option<bool>, Query, description = "Whether names that begin with `.` are listed"),
        ("directoriesOnly" = Option<bool>, Query, description = "Whether files are left out"),
    ),
    responses((status = 200, body = Directory<'static>),
        (status = 400, description = "VALIDATION_FAILED, NULL_BYTE, INVALID_PATH, NOT_A_DIRECTORY", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, OUTSIDE_BOUNDARY, PERMISSION_DENIED", body = ErrorEnvelope),
        (status = 404, description = "NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    ByFileAccess(by): ByFileAccess,
    Query(ask): Query<ListDirectory>,
) -> ApiResult<Response> {
    let directory = hall.directory(&by, ask.path, ask.listed).await?;
    Ok(UntrackedResponse(Directory::from(&directory)).into_response())
}

/// Says where new work begins: the folder of the setting `files.defaultDirectory` while it lies in
/// home, else home; for an agent its own folder.
#[utoipa::path(get, path = "/api/directory/default", tag = "directories", operation_id = "getDefaultDirectory",
    responses((status = 200, body = DirectoryPath),
        (status = 403, description = "OWNER_ONLY, OUTSIDE_BOUNDARY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn default(
    State(hall): State<Hall>,
    ByFileAccess(by): ByFileAccess,
) -> ApiResult<Response> {
    let path = hall.default_directory(&by).await?;
    Ok(UntrackedResponse(DirectoryPath { path }).into_response())
}

/// Makes a folder in one that `GET /api/directory` lists; an agent's own folder must lie in home
/// for it.
#[utoipa::path(post, path = "/api/directory", tag = "directories", operation_id = "makeDirectory",
    request_body = CreateDirectory,
    responses((status = 201, body = DirectoryPath),
        (status = 400, description = "VALIDATION_FAILED, NULL_BYTE, INVALID_PATH, NOT_A_DIRECTORY", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, OUTSIDE_BOUNDARY, PERMISSION_DENIED", body = ErrorEnvelope),
        (status = 404, description = "NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "ALREADY_EXISTS", body = ErrorEnvelope),
        (status = 507, description = "STORAGE_FULL", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn make(
    State(hall): State<Hall>,
    ByFileAccess(by): ByFileAccess,
    IdempotentBody { ask, repeat }: IdempotentBody<CreateDirectory>,
) -> ApiResult<(StatusCode, Json<DirectoryPath>)> {
    let answer = |path: &String| DirectoryPath { path: path.clone() };
    let once = repeat.answered_by(move |path: &String| (StatusCode::CREATED, answer(path)));
    let CreateDirectory {
        parent_path,
        folder_name,
    } = ask;
    let path = hall
        .make_directory(&by, parent_path, &folder_name, once)
        .await?;
    Ok((StatusCode::CREATED, Json(DirectoryPath { path })))
}
