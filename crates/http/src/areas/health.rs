//! Health, readiness and metrics.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use guildhall_domain::{Error, callers::Owner, errors::FaultKind};
use guildhall_hall::callers::bearer_token;
use guildhall_wire::{
    errors::ErrorEnvelope,
    health::{EnclosureChecks, Health, Liveness, Readiness, ReadinessChecks, ReadinessReport},
};
use sha2::{Digest, Sha256};

use crate::{
    errors::{ApiError, ApiResult},
    gates::{By, SERVICE_AGENT},
    metrics::{CONTENT_TYPE, SampledCounts},
    state::ServerState as DoorState,
};

/// What is true now is kept by nobody on the way.
const UNSTORED: [(header::HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

/// Says that the listener runs.
#[utoipa::path(get, path = "/healthz", tag = "operating", operation_id = "alive",
    responses((status = 200, body = Liveness)),
    extensions(("x-gate" = json!("open"))))]
pub async fn alive() -> impl IntoResponse {
    (UNSTORED, Json(Liveness { status: "ok" }))
}

/// Says whether the server can work; what hinders it is told to the owner alone.
#[utoipa::path(get, path = "/readyz", tag = "operating", operation_id = "ready",
    responses((status = 200, body = ReadinessReport), (status = 503, description = "Not ready", body = ReadinessReport)),
    extensions(("x-gate" = json!("open"))))]
pub async fn ready(
    State(state): State<DoorState>,
    owner: Result<By<Owner>, ApiError>,
) -> impl IntoResponse {
    let hall = &state.hall;
    let store = hall.store_answers().await.map_err(|error| match error {
        Error::Fault(fault) if fault.kind == FaultKind::StoreDamaged => format!(
            "the data is damaged ({}): reading goes on where it can, no change is accepted",
            fault.source
        ),
        error => format!("the store does not answer: {error:?}"),
    });
    let disk = hall
        .disk_has_room()
        .map_err(|fault| format!("{fault}: {}", fault.source));
    let failed: Vec<&str> = hall
        .tasks()
        .list()
        .into_iter()
        .filter_map(|(name, task)| task.last_error.map(|_| name))
        .collect();
    let tasks = if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("ended: {}", failed.join(", ")))
    };
    let status = match (
        *hall.tasks().stopping().borrow(),
        store.is_ok() && disk.is_ok() && tasks.is_ok(),
    ) {
        (true, _) => Readiness::Draining,
        (false, true) => Readiness::Ready,
        (false, false) => Readiness::Degraded,
    };
    let enclosure = hall.enclosure_checks().await;
    let told = |check: Result<(), String>| match check {
        Ok(()) => "ok".to_owned(),
        Err(why) if owner.is_ok() => why,
        Err(_) => "not ok".to_owned(),
    };
    let checks = ReadinessChecks {
        store: told(store),
        disk: told(disk),
        tasks: told(tasks),
        enclosure: EnclosureChecks {
            ports: told(enclosure.ports),
            files: told(enclosure.files),
            scopes: told(enclosure.scopes),
            calls: told(enclosure.calls),
        },
    };
    let code = match status {
        Readiness::Ready => StatusCode::OK,
        Readiness::Draining | Readiness::Degraded => StatusCode::SERVICE_UNAVAILABLE,
    };
    (code, UNSTORED, Json(ReadinessReport { status, checks }))
}

/// Says what this server is.
#[utoipa::path(get, path = "/api/health", tag = "operating", operation_id = "health",
    responses((status = 200, body = Health)),
    extensions(("x-gate" = json!("open"))))]
pub async fn health(State(state): State<DoorState>) -> ApiResult<Json<Health>> {
    Ok(Json(Health {
        name: "guildhall",
        version: state.about.version.clone(),
        mode: state.hall.mode().as_str().to_owned(),
        setup_required: state.hall.setup_required().await?,
        log_id: state.hall.log_id(),
        started_at: state.hall.started_at(),
        peer_check: state.about.peer_check,
    }))
}

/// The owner, or whoever holds the configured metrics token.
pub struct MetricsReader;

impl FromRequestParts<DoorState> for MetricsReader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &DoorState) -> Result<Self, ApiError> {
        let shown = parts
            .headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        if let (Some(shown), Some(token)) =
            (shown.and_then(bearer_token), &state.about.metrics_token)
            && same(shown, token)
            && !parts.headers.contains_key(SERVICE_AGENT)
        {
            return Ok(Self);
        }
        By::<Owner>::from_request_parts(parts, state)
            .await
            .map(|_| Self)
    }
}

/// Whether two secrets are equal; digests are compared, so that time tells nothing of them.
fn same(shown: &str, token: &str) -> bool {
    Sha256::digest(shown) == Sha256::digest(token)
}

/// Counts and durations in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operating", operation_id = "metrics",
    responses((status = 200, body = String, content_type = "text/plain"),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn metrics(State(state): State<DoorState>, _by: MetricsReader) -> Response {
    let written = state.hall.written();
    let counts = SampledCounts {
        streams_open: state.hall.streams_open() as u64,
        events: written.events,
        commits: written.commits,
    };
    let text = state.metrics.render(counts);
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response()
}
