//! Settings.

use axum::extract::State;
use guildhall_domain::callers::Owner;
use guildhall_hall::Hall;
use guildhall_wire::{
    errors::ErrorEnvelope,
    settings::{Settings, UpdateSettings},
};

use crate::{
    body::Body, errors::ApiResult, gates::By, preconditions::IfMatch, responses::RevisedResponse,
};

/// Every setting with its value and who said so.
#[utoipa::path(get, path = "/api/settings", tag = "settings", operation_id = "getSettings",
    responses((status = 200, body = Settings),
        (status = 403, description = "OWNER_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<Owner>,
) -> ApiResult<RevisedResponse<Settings>> {
    Ok(hall.settings(&by).await?.into())
}

/// Changes settings, all or none; null drops a stored value.
#[utoipa::path(patch, path = "/api/settings", tag = "settings", operation_id = "changeSettings",
    request_body = UpdateSettings,
    responses((status = 200, body = Settings),
        (status = 400, description = "UNKNOWN_SETTING, VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY, AGENT_CANNOT_DECIDE", body = ErrorEnvelope),
        (status = 409, description = "SETTING_FIXED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner"))))]
pub async fn change(
    State(hall): State<Hall>,
    By(by): By<Owner>,
    IfMatch(precondition): IfMatch,
    Body(UpdateSettings(patch)): Body<UpdateSettings>,
) -> ApiResult<RevisedResponse<Settings>> {
    let settings = hall.change_settings(&by, precondition, patch).await?;
    Ok(settings.into())
}
