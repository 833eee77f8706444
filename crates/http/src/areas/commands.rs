//! Slash commands.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use guildhall_domain::callers::AnyCaller;
use guildhall_hall::{Hall, commands::CommandsQuery};
use guildhall_wire::{commands::Commands, errors::ErrorEnvelope};

use crate::{
    errors::ApiResult,
    gates::By,
    openapi::parameters::RefreshWord,
    query::{FromQuery, Params, Query},
    responses::ReadResponse,
};

/// What `refresh` can be, unlike other flags. Source: spec, "GET /api/commands"; contract 3.9.
pub(crate) const REFRESH: [(bool, &str); 2] = [(true, "true"), (false, "false")];

/// Which commands are asked for.
pub struct ListCommands(CommandsQuery);

impl FromQuery for ListCommands {
    fn read(params: &mut Params) -> Self {
        let refresh = params.word("refresh", &REFRESH);
        Self(CommandsQuery {
            cwd: params.text("cwd"),
            runtime: params.text("runtime"),
            refresh: refresh.unwrap_or(false),
        })
    }
}

/// Lists what can be typed after a slash in a folder.
///
/// Commands come from the folder's `.claude/commands`, `.agents/skills` and `.claude/skills`,
/// from the same folders of Claude Code in the user's home, and from agents at work in the
/// folder; of those that are typed alike the first counts.
///
/// Refused as everywhere with `OWNER_ONLY`, `OUTSIDE_BOUNDARY` or `PERMISSION_DENIED` (403), and
/// with `NOT_FOUND` (404) where there is no such folder.
#[utoipa::path(get, path = "/api/commands", tag = "commands", operation_id = "listCommands",
    params(
        ("refresh" = inline(Option<RefreshWord>), Query, description = "`true` looks at the files now; else a listing may be kept for 5 minutes, unless a file changes"),
        ("cwd" = Option<String>, Query, description = "The folder, absolute or beginning with `~`; without it the user's own commands alone"),
        ("runtime" = Option<String>, Query, description = "Of what agents report, only what those of this runtime do"),
    ),
    responses((status = 200, body = Commands<'static>),
        (status = 400, description = "VALIDATION_FAILED, NOT_A_DIRECTORY, INVALID_PATH", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Query(ListCommands(ask)): Query<ListCommands>,
) -> ApiResult<Response> {
    let seen = hall.commands(&by, ask).await?;
    let (listing, last_scanned) = (seen.value.listing.clone(), seen.value.last_scanned);
    Ok(ReadResponse(seen.map(|_| Commands::new(&listing, last_scanned))).into_response())
}
