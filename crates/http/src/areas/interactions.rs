//! What agents ask people, and the decisions on it.
//! Source: spec, "POST /api/sessions/{id}/approve"; contract 3.8.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};
use guildhall_domain::{
    callers::{AnyCaller, Decider},
    ids::ApprovalId,
};
use guildhall_hall::{
    Hall,
    interactions::{BatchOutcome, CommittedDecision},
};
use guildhall_wire::{
    errors::ErrorEnvelope,
    interactions::{
        ApproveToolCall, BatchResult, BatchResults, DecideBatch, DecisionResponse, DenyToolCall,
        Interactions, PendingInteractions, SubmitAnswers,
    },
};

use crate::{
    errors::{ApiResult, code_of},
    gates::By,
    idempotency::IdempotentBody,
    openapi::parameters::PageLimit,
    page_cursor,
    path_ids::SessionPath,
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, page_response},
};

/// Lists what waits for a person, oldest first; an agent gets an empty list.
#[utoipa::path(get, path = "/api/sessions/pending-interactions", tag = "interactions", operation_id = "listPendingInteractions",
    responses((status = 200, body = PendingInteractions)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn pending(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
) -> ApiResult<ReadResponse<PendingInteractions>> {
    let seen = hall.pending_interactions(&by).await?;
    Ok(ReadResponse(seen.map(|listed| PendingInteractions {
        interactions: listed.into_iter().map(Into::into).collect(),
    })))
}

/// Which interactions of a session are asked for.
pub struct ListInteractions {
    before: Option<ApprovalId>,
    limit: u32,
}

/// What a cursor of a session's interactions is bound to.
const LIST: &str = "interactions";

impl FromQuery for ListInteractions {
    fn read(params: &mut Params) -> Self {
        Self {
            before: params.after(LIST).map(ApprovalId::from_bytes),
            limit: params.limit(),
        }
    }
}

/// What a session asked and what became of it, the newest, oldest first; the next page holds the
/// ones before them. An agent gets an empty list.
///
/// What was decided is kept for a while; a session of the agents' own command lines has none.
#[utoipa::path(get, path = "/api/sessions/{id}/interactions", tag = "interactions", operation_id = "listInteractions",
    params(
        ("id" = String, Path, description = "The session"),
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before, which leads to older ones"),
    ),
    responses((status = 200, body = Interactions),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 404, description = "SESSION_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    uri: Uri,
    SessionPath(session): SessionPath,
    Query(ask): Query<ListInteractions>,
) -> ApiResult<Response> {
    let seen = hall.interactions(&by, session, ask.before, ask.limit).await;
    let seen = hall.or_empty(&by, session, seen).await?;
    let oldest = seen.value.interactions.first();
    let oldest = oldest.filter(|_| seen.value.has_more);
    let next_cursor = oldest.map(|oldest| page_cursor::write(oldest.id.as_bytes(), LIST));
    Ok(page_response(
        &uri,
        next_cursor,
        seen,
        |page, next_cursor| Interactions {
            interactions: page.interactions.into_iter().map(Into::into).collect(),
            next_cursor,
        },
    ))
}

/// Approves a pending tool call, this once unless `alwaysAllow` says otherwise.
///
/// Refused as everywhere with `VALIDATION_FAILED` (400), and with `AGENT_CANNOT_DECIDE` or
/// `INTERACTIVE_ONLY` (403).
#[utoipa::path(post, path = "/api/sessions/{id}/approve", tag = "interactions", operation_id = "approve",
    params(("id" = String, Path, description = "The session, a UUID")),
    request_body = ApproveToolCall,
    responses((status = 200, body = DecisionResponse),
        (status = 404, description = "NO_PENDING_APPROVAL", body = ErrorEnvelope),
        (status = 409, description = "INTERACTION_ALREADY_RESOLVED, INTERACTION_CHANGED, OPTION_NOT_OFFERED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("decider"))))]
pub async fn approve(
    State(hall): State<Hall>,
    By(by): By<Decider>,
    SessionPath(session): SessionPath,
    IdempotentBody { ask, repeat }: IdempotentBody<ApproveToolCall>,
) -> ApiResult<Json<DecisionResponse>> {
    let once = repeat.answered_by(done);
    hall.approve(&by, session, ask.into(), once).await?;
    Ok(Json(DecisionResponse { ok: true }))
}

/// Denies a pending tool call.
#[utoipa::path(post, path = "/api/sessions/{id}/deny", tag = "interactions", operation_id = "deny",
    params(("id" = String, Path, description = "The session, a UUID")),
    request_body = DenyToolCall,
    responses((status = 200, body = DecisionResponse),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "AGENT_CANNOT_DECIDE, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "NO_PENDING_APPROVAL", body = ErrorEnvelope),
        (status = 409, description = "INTERACTION_ALREADY_RESOLVED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("decider"))))]
pub async fn deny(
    State(hall): State<Hall>,
    By(by): By<Decider>,
    SessionPath(session): SessionPath,
    IdempotentBody { ask, repeat }: IdempotentBody<DenyToolCall>,
) -> ApiResult<Json<DecisionResponse>> {
    let once = repeat.answered_by(done);
    hall.deny(&by, session, ask.into(), once).await?;
    Ok(Json(DecisionResponse { ok: true }))
}

/// Approves several pending tool calls, this once; each is decided for itself.
#[utoipa::path(post, path = "/api/sessions/{id}/batch-approve", tag = "interactions", operation_id = "batchApprove",
    params(("id" = String, Path, description = "The session, a UUID")),
    request_body = DecideBatch,
    responses((status = 200, description = "What became of each, in the order of the request", body = BatchResults),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "AGENT_CANNOT_DECIDE, INTERACTIVE_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("decider"))))]
pub async fn batch_approve(
    State(hall): State<Hall>,
    By(by): By<Decider>,
    SessionPath(session): SessionPath,
    IdempotentBody { ask, repeat }: IdempotentBody<DecideBatch>,
) -> ApiResult<Json<BatchResults>> {
    let once = repeat.answered_by(|batched: &Vec<BatchOutcome>| (StatusCode::OK, results(batched)));
    let batched = hall.batch_approve(&by, session, ask.into(), once).await?;
    Ok(Json(results(&batched)))
}

/// Denies several pending tool calls; each is decided for itself.
#[utoipa::path(post, path = "/api/sessions/{id}/batch-deny", tag = "interactions", operation_id = "batchDeny",
    params(("id" = String, Path, description = "The session, a UUID")),
    request_body = DecideBatch,
    responses((status = 200, description = "What became of each, in the order of the request", body = BatchResults),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "AGENT_CANNOT_DECIDE, INTERACTIVE_ONLY", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("decider"))))]
pub async fn batch_deny(
    State(hall): State<Hall>,
    By(by): By<Decider>,
    SessionPath(session): SessionPath,
    IdempotentBody { ask, repeat }: IdempotentBody<DecideBatch>,
) -> ApiResult<Json<BatchResults>> {
    let once = repeat.answered_by(|batched: &Vec<BatchOutcome>| (StatusCode::OK, results(batched)));
    let batched = hall.batch_deny(&by, session, ask.into(), once).await?;
    Ok(Json(results(&batched)))
}

/// Answers a pending question, or declines to; answers that do not fit leave it pending.
#[utoipa::path(post, path = "/api/sessions/{id}/submit-answers", tag = "interactions", operation_id = "submitAnswers",
    params(("id" = String, Path, description = "The session, a UUID")),
    request_body = SubmitAnswers,
    responses((status = 200, body = DecisionResponse),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "AGENT_CANNOT_DECIDE, INTERACTIVE_ONLY", body = ErrorEnvelope),
        (status = 404, description = "NO_PENDING_QUESTION", body = ErrorEnvelope),
        (status = 409, description = "INTERACTION_ALREADY_RESOLVED, INTERACTION_CHANGED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("decider"))))]
pub async fn submit_answers(
    State(hall): State<Hall>,
    By(by): By<Decider>,
    SessionPath(session): SessionPath,
    IdempotentBody { ask, repeat }: IdempotentBody<SubmitAnswers>,
) -> ApiResult<Json<DecisionResponse>> {
    let once = repeat.answered_by(done);
    hall.submit_answers(&by, session, ask.into(), once).await?;
    Ok(Json(DecisionResponse { ok: true }))
}

fn done(_settled: &CommittedDecision) -> (StatusCode, DecisionResponse) {
    (StatusCode::OK, DecisionResponse { ok: true })
}

fn results(batched: &[BatchOutcome]) -> BatchResults {
    let result = |one: &BatchOutcome| BatchResult {
        tool_call_id: one.tool_call_id.clone(),
        ok: one.outcome.is_ok(),
        code: one
            .outcome
            .as_ref()
            .err()
            .map_or(String::new(), |refusal| code_of(refusal).to_owned()),
    };
    BatchResults {
        results: batched.iter().map(result).collect(),
    }
}
