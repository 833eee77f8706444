//! Usage: what agents' turns used.

use axum::extract::State;
use guildhall_domain::{Timestamp, callers::Human, usage::GroupBy};
use guildhall_hall::Hall;
use guildhall_wire::{errors::ErrorEnvelope, usage::UsageReport};

use crate::{
    errors::ApiResult,
    gates::By,
    openapi::parameters::GroupByWord,
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, read_response},
};

/// Which turns are summed up, and under what.
pub struct UsageQuery {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    by: GroupBy,
}

impl FromQuery for UsageQuery {
    fn read(params: &mut Params) -> Self {
        Self {
            from: params.moment("from"),
            to: params.moment("to"),
            by: params
                .word("groupBy", &GroupBy::WORDS)
                .unwrap_or(GroupBy::Day),
        }
    }
}

/// What agents' turns used, as they told it; currencies are never added together.
#[utoipa::path(get, path = "/api/usage", tag = "usage", operation_id = "getUsage",
    params(
        ("from" = Option<String>, Query, description = "RFC 3339; 30 days before the end"),
        ("to" = Option<String>, Query, description = "RFC 3339, not included; now"),
        ("groupBy" = inline(Option<GroupByWord>), Query, description = "Under what turns are summed up; `day`"),
    ),
    responses((status = 200, body = UsageReport),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "HUMANS_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("human"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<Human>,
    Query(ask): Query<UsageQuery>,
) -> ApiResult<ReadResponse<UsageReport>> {
    Ok(read_response(
        hall.usage(&by, ask.from, ask.to, ask.by).await?,
    ))
}
