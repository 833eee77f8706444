//! What runtimes can do.

use axum::extract::State;
use guildhall_domain::callers::AnyCaller;
use guildhall_hall::Hall;
use guildhall_wire::capabilities::AllCapabilities;

use crate::{errors::ApiResult, gates::By, responses::ReadResponse};

/// What every registered runtime can do, and which one agents get that name none.
///
/// It says what the shipped table says, narrowed and completed by what the runtime itself said
/// at its last successful start.
#[utoipa::path(get, path = "/api/capabilities", tag = "runtimes", operation_id = "getCapabilities",
    responses((status = 200, body = AllCapabilities)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
) -> ApiResult<ReadResponse<AllCapabilities>> {
    let seen = hall.capabilities(&by).await?;
    Ok(ReadResponse(seen.map(|offer| {
        AllCapabilities::new(offer.entries, offer.default_kind)
    })))
}
