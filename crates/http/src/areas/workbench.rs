//! The workbench: addresses that show a folder or a dev server for a while, and the previews that
//! are open. What a served folder answers is [`super::served_folders`], what a preview does
//! [`crate::previews`].

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{
        HeaderMap, StatusCode,
        header::{HOST, ORIGIN},
        request::Parts,
    },
};
use guildhall_domain::callers::{Human, Owner};
use guildhall_hall::{
    Hall,
    workbench::{PageOrigin, previews::PreviewStatus},
};
use guildhall_wire::{
    errors::ErrorEnvelope,
    workbench::{
        ListeningPort, ListeningPorts, OpenPreview, PortStatus, Previews, ProbePort, SignAddress,
        SignResult,
    },
};

use crate::{
    body::Body,
    errors::{ApiError, ApiResult, internal},
    gates::By,
    origin::name_of,
    path_ids::Path,
    previews,
    responses::{ReadResponse, UntrackedResponse},
    state,
};

/// Where the caller reaches this server, as the request says.
pub struct FromPage(PageOrigin);

impl<S: Send + Sync> FromRequestParts<S> for FromPage {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        Ok(Self(PageOrigin {
            host: host.ok_or_else(internal)?.to_owned(),
            is_secure: is_secure(&parts.headers),
        }))
    }
}

/// Whether the page is on https: its origin, which the guards found to be this server's own, says
/// so, and no header of a proxy is believed.
fn is_secure(headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).map(|origin| origin.as_bytes());
    let scheme = origin.and_then(|origin| origin.get(..8));
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https://"))
}

/// Makes an address that shows a folder, or a dev server of this computer, for half an hour. Who
/// has it needs no sign-in, and reaches nothing else with it.
#[utoipa::path(post, path = "/api/workbench/sign", tag = "workbench", operation_id = "signAddress",
    request_body = SignAddress,
    responses((status = 200, body = SignResult),
        (status = 400, description = "VALIDATION_FAILED, NULL_BYTE, INVALID_PATH, PORT_NOT_ALLOWED, NOT_A_DIRECTORY", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY, OWNER_ONLY, OUTSIDE_BOUNDARY, PERMISSION_DENIED", body = ErrorEnvelope),
        (status = 404, description = "NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn sign(
    State(state): State<state::ServerState>,
    By(by): By<Human>,
    FromPage(from): FromPage,
    Body(ask): Body<SignAddress>,
) -> ApiResult<Json<SignResult>> {
    Ok(Json(match ask {
        SignAddress::Serve { cwd, path } => {
            let signed = state.hall.sign_folder(&by, cwd, path).await?;
            let scheme = if from.is_secure { "https" } else { "http" };
            let (host, token, file) = (from.host, signed.token, signed.file);
            let url = format!("{scheme}://{host}/api/workbench/serve/{token}/{file}");
            SignResult::at(url, signed.expires_at)
        }
        SignAddress::Proxy { port } => {
            let name = name_of(&from.host).ok_or_else(internal)?.to_owned();
            let (signed, opened) = state.hall.sign_preview(&by, port, from).await?;
            if let Some(opened) = opened {
                previews::serve(&state.hall, state.guards.clone(), opened);
            }
            match signed {
                Ok(signed) => {
                    let (port, token) = (signed.listen_port, signed.token);
                    let url = format!("http://{name}:{port}/?{}={token}", previews::PARAMETER);
                    SignResult::at(url, signed.expires_at)
                }
                Err(why) => SignResult::unavailable(why),
            }
        }
    }))
}

/// Lets no address made so far count any more, and closes every preview.
#[utoipa::path(post, path = "/api/workbench/revoke", tag = "workbench", operation_id = "revokeAddresses",
    responses((status = 204),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn revoke(State(hall): State<Hall>, By(by): By<Owner>) -> ApiResult<StatusCode> {
    hall.revoke_addresses(&by).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Says whether somebody listens on a port of this computer.
#[utoipa::path(post, path = "/api/workbench/probe", tag = "workbench", operation_id = "probePort",
    request_body = ProbePort,
    responses((status = 200, body = PortStatus),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY, OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn probe(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Body(ask): Body<ProbePort>,
) -> ApiResult<Json<PortStatus>> {
    let listening = hall.probe_port(&by, ask.port).await?;
    Ok(Json(PortStatus { listening }))
}

/// Lists the ports that programs of the server's own user listen on.
#[utoipa::path(get, path = "/api/workbench/ports", tag = "workbench", operation_id = "listPorts",
    responses((status = 200, body = ListeningPorts),
        (status = 403, description = "HUMANS_ONLY, OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn ports(
    State(hall): State<Hall>,
    By(by): By<Human>,
) -> ApiResult<UntrackedResponse<ListeningPorts>> {
    let ports = hall.listening_ports(&by).await?.into_iter();
    let ports = ports.map(|one| ListeningPort {
        port: one.port,
        process: one.process,
    });
    Ok(UntrackedResponse(ListeningPorts {
        ports: ports.collect(),
    }))
}

/// Lists the previews of dev servers that are open.
#[utoipa::path(get, path = "/api/workbench/previews", tag = "workbench", operation_id = "listPreviews",
    responses((status = 200, body = Previews),
        (status = 403, description = "HUMANS_ONLY, OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn previews(
    State(hall): State<Hall>,
    By(by): By<Human>,
) -> ApiResult<ReadResponse<Previews>> {
    let seen = hall.previews(&by).await?;
    Ok(ReadResponse(seen.map(|open| Previews {
        previews: open.iter().map(preview).collect(),
    })))
}

fn preview(standing: &PreviewStatus) -> OpenPreview {
    OpenPreview {
        port: standing.port,
        listen_port: standing.listen_port,
        opened_at: standing.opened_at,
        last_request_at: standing.last_request_at,
        open_sockets: standing.open_sockets,
    }
}

/// Closes the preview of a dev server, with every connection through it.
#[utoipa::path(delete, path = "/api/workbench/previews/{port}", tag = "workbench", operation_id = "closePreview",
    params(("port" = String, Path, description = "The dev server's port")),
    responses((status = 204),
        (status = 403, description = "HUMANS_ONLY, OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "PREVIEW_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn close(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Path(port): Path<String>,
) -> ApiResult<StatusCode> {
    // What is no port is a preview that is not there, as that of port 0.
    let port = port.parse().unwrap_or(0);
    hall.close_preview(&by, port).await?;
    Ok(StatusCode::NO_CONTENT)
}
