//! Instances: the gate of those that hold a key, and their sign of life.

use axum::{
    Json,
    extract::{FromRequestParts, State},
};
use guildhall_domain::{Refusal, field_validation::FieldValidator};
use guildhall_wire::cloud::{
    heartbeats::{Heartbeat, HeartbeatRequest},
    problems::CloudProblem,
};
use guildhall_world::secret_tokens;
use http::{header, request::Parts};

use crate::{
    problems::Problem,
    request_bodies::JsonBody,
    secret_minting::KEY_PREFIX,
    service_state::ServiceState,
    store::instances::{self, Instance},
};

/// Characters of each thing an instance says of itself.
const SAID_CHARS_MAX: usize = 200;

/// A caller that showed the key of a linked instance. Only this gate makes one.
#[derive(Debug)]
pub(crate) struct LinkedInstance(Instance);

impl LinkedInstance {
    /// Who it is.
    pub(crate) fn instance(&self) -> &Instance {
        &self.0
    }
}

impl FromRequestParts<ServiceState> for LinkedInstance {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, house: &ServiceState) -> Result<Self, Problem> {
        let mut shown = parts.headers.get_all(header::AUTHORIZATION).iter();
        let (Some(shown), None) = (shown.next(), shown.next()) else {
            return Err(Problem::Unauthenticated);
        };
        let (scheme, key) = shown
            .to_str()
            .ok()
            .and_then(|shown| shown.split_once(' '))
            .ok_or(Problem::Unauthenticated)?;
        if !scheme.eq_ignore_ascii_case("bearer") || !key.starts_with(KEY_PREFIX) {
            return Err(Problem::Unauthenticated);
        }
        let key = secret_tokens::digest(key.trim());
        let found = house
            .store
            .read("finding an instance", move |tx| instances::by_key(tx, key));
        found.await?.map(Self).ok_or(Problem::Unauthenticated)
    }
}

/// Says that the instance lives, and hears which account it is linked to.
#[utoipa::path(post, path = "/v1/instances/heartbeat", tag = "instances",
    operation_id = "heartbeat", request_body = HeartbeatRequest,
    responses((status = 200, description = "What is known of it", body = Heartbeat),
        (status = 400, description = "MALFORMED_REQUEST", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 401, description = "UNAUTHENTICATED: it is not linked any more",
            body = CloudProblem, content_type = "application/problem+json")),
    security(("key" = [])))]
pub(crate) async fn heartbeat(
    State(house): State<ServiceState>,
    by: LinkedInstance,
    JsonBody(ask): JsonBody<HeartbeatRequest>,
) -> Result<Json<Heartbeat>, Problem> {
    check(&ask)?;
    let (id, now) = (by.instance().id, house.clock.now());
    let seen = house.store.write("noting an instance", move |tx| {
        instances::seen(tx, id, &ask, now)
    });
    if !seen.await? {
        return Err(Problem::Unauthenticated);
    }
    Ok(Json(Heartbeat {
        instance_id: id.to_string(),
        last_seen_at: now,
        account_label: by.instance().account_label.clone(),
    }))
}

fn check(ask: &HeartbeatRequest) -> Result<(), Problem> {
    let mut check = FieldValidator::new();
    let said = [
        ("name", &ask.name),
        ("platform", &ask.platform),
        ("version", &ask.version),
    ];
    for (field, text) in said {
        check.chars(field, text, 0, SAID_CHARS_MAX);
    }
    match check.finish() {
        Err(Refusal::Validation(invalid)) => Err(Problem::Invalid(invalid)),
        _ => Ok(()),
    }
}
