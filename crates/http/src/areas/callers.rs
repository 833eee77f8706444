//! Who the server takes the caller for.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use guildhall_domain::{
    Error, Refusal,
    callers::{Caller, Identity},
};
use guildhall_hall::Hall;
use guildhall_wire::callers::{Caller as WireCaller, Whoami};

use crate::{
    errors::{ApiError, ApiResult},
    gates::{is_here, request_credentials},
    state::ServerState as DoorState,
};

/// Whoever it is: a caller, or nobody.
pub struct OptionalCaller {
    caller: Option<Caller>,
    is_here: bool,
}

impl FromRequestParts<DoorState> for OptionalCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &DoorState) -> Result<Self, ApiError> {
        let caller = match state.hall.caller(&request_credentials(parts, state)?).await {
            Ok(caller) => Some(caller),
            Err(Error::Refusal(
                Refusal::NotTheOwner
                | Refusal::CallerInDoubt
                | Refusal::AuthRequired
                | Refusal::AgentIdentityUnverified
                | Refusal::SetupRequired,
            )) => None,
            Err(error) => return Err(error.into()),
        };
        let is_here = is_here(parts);
        Ok(Self { caller, is_here })
    }
}

/// Who the server takes the caller for; `caller` is null for nobody.
#[utoipa::path(get, path = "/api/auth/whoami", tag = "callers", operation_id = "whoami",
    responses((status = 200, body = Whoami)),
    extensions(("x-gate" = json!("open"))))]
pub async fn whoami(State(hall): State<Hall>, anybody: OptionalCaller) -> ApiResult<Json<Whoami>> {
    let OptionalCaller { caller, is_here } = anybody;
    let is_owner = caller.is_some_and(|caller| caller.identity == Identity::Owner);
    let caller = match caller {
        Some(caller) => {
            let name = hall.name_of(&caller).await?;
            Some(WireCaller::new(&caller, name))
        }
        None => None,
    };
    Ok(Json(Whoami {
        mode: hall.mode().as_str().to_owned(),
        caller,
        owner_here: is_owner && is_here,
        registration_open: hall.setup_required().await?,
    }))
}
