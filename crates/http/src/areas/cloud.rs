//! The link to a cloud service, its offers and billing pages: optional, and never needed by
//! anything else. Source: contract 5.9 to 5.11.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use guildhall_domain::{
    callers::{Human, OwnerInteractive},
    cloud::{CloudRefusal, billing::BillingPage},
    field_validation::FieldValidator,
    limits::cloud::SKU_ID_CHARS,
};
use guildhall_hall::Hall;
use guildhall_wire::{
    cloud::{
        billing_pages::{BillingPageResponse, CloudOffers, NoFields, OpenBilling},
        link::{CloudCheck, CloudCode, CloudLink, CloudStatus, UnlinkResult},
    },
    errors::ErrorEnvelope,
};

use crate::{
    body::{BODY_BYTES_MAX, RawBody},
    errors::{ApiError, ApiResult},
    gates::By,
    path_ids::Path,
};

/// Says whether a cloud service is set up, and whether this instance is linked to it.
#[utoipa::path(get, path = "/api/cloud/status", tag = "cloud", operation_id = "getCloudStatus",
    responses((status = 200, body = CloudStatus),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn status(State(hall): State<Hall>, By(by): By<Human>) -> ApiResult<Json<CloudStatus>> {
    let short = hall.cloud_status(&by).await?;
    Ok(Json(CloudStatus {
        configured: short.is_configured,
        linked: short.is_linked,
        account_label: short.account_label,
        last_heartbeat_at: short.last_heartbeat_at,
    }))
}

/// The link as it stands. Codes are shown to the interactive owner alone.
#[utoipa::path(get, path = "/api/cloud/link/status", tag = "cloud", operation_id = "getCloudLink",
    responses((status = 200, body = CloudLink),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn link(State(hall): State<Hall>, By(by): By<Human>) -> ApiResult<Json<CloudLink>> {
    let seen = hall.cloud_link(&by).await?;
    Ok(Json(CloudLink::new(seen.link, seen.has_codes)))
}

/// Asks the service for a code that a person types in a browser; one that waits is stopped and
/// settled first.
#[utoipa::path(post, path = "/api/cloud/link/start", tag = "cloud", operation_id = "startCloudLink",
    responses((status = 200, body = CloudCode),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 502, description = "CLOUD_UNREACHABLE, CLOUD_ANSWER_INVALID", body = ErrorEnvelope),
        (status = 503, description = "CLOUD_NOT_CONFIGURED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn start(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
) -> ApiResult<Json<CloudCode>> {
    Ok(Json(hall.start_cloud_link(&by).await?.into()))
}

/// Stops a link flow in progress, or dismisses the note that a finished one left. Waits for a
/// request that is on its way, for at most 30 seconds: a key that it brings is kept.
#[utoipa::path(post, path = "/api/cloud/link/cancel", tag = "cloud", operation_id = "cancelCloudLink",
    responses((status = 200, body = CloudLink),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn cancel(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
) -> ApiResult<Json<CloudLink>> {
    let seen = hall.cancel_cloud_link(&by).await?;
    Ok(Json(CloudLink::new(seen.link, seen.has_codes)))
}

/// Asks the service whether it takes the key, at most once in 15 seconds, and waits 10 for it.
#[utoipa::path(post, path = "/api/cloud/link/check", tag = "cloud", operation_id = "checkCloudLink",
    responses((status = 200, body = CloudCheck),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn check(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
) -> ApiResult<Json<CloudCheck>> {
    let short = hall.check_cloud_link(&by).await?;
    Ok(Json(CloudCheck {
        linked: short.is_linked,
        account_label: short.account_label,
        last_heartbeat_at: short.last_heartbeat_at,
    }))
}

/// Forgets the key; it is given back to the service after.
#[utoipa::path(post, path = "/api/cloud/unlink", tag = "cloud", operation_id = "unlinkCloud",
    responses((status = 200, body = UnlinkResult),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn unlink(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
) -> ApiResult<Json<UnlinkResult>> {
    hall.unlink_cloud(&by).await?;
    Ok(Json(UnlinkResult { ok: true }))
}

/// What the service sells. Where none is set up or linked nothing is asked, and nothing offered.
#[utoipa::path(get, path = "/api/cloud/offers", tag = "cloud", operation_id = "listCloudOffers",
    responses((status = 200, body = CloudOffers),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope),
        (status = 502, description = "CLOUD_UNREACHABLE, CLOUD_ANSWER_INVALID", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn offers(State(hall): State<Hall>, By(by): By<Human>) -> ApiResult<Json<CloudOffers>> {
    Ok(Json(hall.cloud_offers(&by).await?.into()))
}

/// A billing page by its word.
pub struct BillingPagePath(BillingPage);

impl<S: Send + Sync> FromRequestParts<S> for BillingPagePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(word) = Path::<String>::from_request_parts(parts, state).await?;
        let page = BillingPage::parse(&word).ok_or(CloudRefusal::PageNotFound);
        Ok(Self(page.map_err(guildhall_domain::Refusal::from)?))
    }
}

/// Asks the service for the address of a billing page, to be opened in a browser. What it refuses
/// is answered with 200 and `ok: false`: by its own problem, or by one sentence.
#[utoipa::path(post, path = "/api/cloud/billing/{page}", tag = "cloud", operation_id = "openBilling",
    params(("page" = String, Path, description = "`portal`, `checkout` or `topup`")),
    request_body = OpenBilling,
    responses((status = 200, body = BillingPageResponse),
        (status = 400, description = "VALIDATION_FAILED, INVALID_JSON", body = ErrorEnvelope),
        (status = 403, description = "OWNER_ONLY, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "BILLING_PAGE_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner interactive"))))]
pub async fn open(
    State(hall): State<Hall>,
    By(by): By<OwnerInteractive>,
    BillingPagePath(page): BillingPagePath,
    body: RawBody<BODY_BYTES_MAX>,
) -> ApiResult<Json<BillingPageResponse>> {
    let sku_id = match page {
        BillingPage::Checkout => Some(sku(body.read()?)?),
        BillingPage::Portal | BillingPage::Topup => {
            let NoFields = body.read()?;
            None
        }
    };
    Ok(Json(hall.open_billing(&by, page, sku_id).await?.into()))
}

fn sku(ask: OpenBilling) -> Result<String, ApiError> {
    let mut check = FieldValidator::new();
    let (min, max) = SKU_ID_CHARS.into_inner();
    check.chars("skuId", &ask.sku_id, min, max);
    check.one_line("skuId", &ask.sku_id);
    check.finish()?;
    Ok(ask.sku_id)
}
