//! Approvals: what people must allow, and what became of it.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};
use guildhall_domain::{
    approvals::{self as rules, ApprovalKind, ApprovalState, ApprovalsQuery},
    callers::AnyCaller,
    ids::{AgentId, ApprovalId, SessionId},
};
use guildhall_hall::Hall;
use guildhall_wire::{
    approvals::{
        Approval, Approvals, DecidedApproval, DenyApproval, GrantApproval, WithdrawApproval,
    },
    errors::ErrorEnvelope,
};

use crate::{
    errors::ApiResult,
    gates::{By, ByOwnerDecider},
    idempotency::IdempotentBody,
    openapi::parameters::{ApprovalKindWord, ApprovalStateWord, PageLimit},
    page_cursor,
    path_ids::Path,
    query::{FromQuery, Params, Query},
    responses::{ReadResponse, page_response, read_response},
};

/// Which approvals are asked for.
pub struct ListApprovals {
    ask: ApprovalsQuery,
    filters: Filters,
}

/// What a cursor of approvals is bound to.
type Filters = (
    &'static str,
    ApprovalState,
    Option<ApprovalKind>,
    Option<AgentId>,
    Option<SessionId>,
);

impl FromQuery for ListApprovals {
    fn read(params: &mut Params) -> Self {
        let state = params.word("state", &ApprovalState::WORDS);
        let state = state.unwrap_or(ApprovalState::Pending);
        let kind = params.word("kind", &ApprovalKind::WORDS);
        let agent = params.text("agentId").map(|id| AgentId::named(&id));
        let session = params.text("sessionId").map(|id| SessionId::named(&id));
        let filters = ("approvals", state, kind, agent, session);
        let ask = ApprovalsQuery {
            state,
            kind,
            agent,
            session,
            after: params.after(filters).map(ApprovalId::from_bytes),
            limit: params.limit(),
        };
        Self { ask, filters }
    }
}

/// Lists approvals of all kinds, oldest first: the owner's are all, an agent's and a program's
/// are those it asked for.
///
/// What sessions ask is here too, and decided on its session's routes. An approval past its time
/// is `expired`.
#[utoipa::path(get, path = "/api/approvals", tag = "approvals", operation_id = "listApprovals",
    params(
        ("state" = inline(Option<ApprovalStateWord>), Query, description = "Only in this state; pending"),
        ("kind" = inline(Option<ApprovalKindWord>), Query, description = "Only of this kind"),
        ("agentId" = Option<String>, Query, description = "Only about this agent"),
        ("sessionId" = Option<String>, Query, description = "Only asked by this session"),
        ("limit" = inline(Option<PageLimit>), Query, description = "1 to 200; 50"),
        ("cursor" = Option<String>, Query, description = "Where the page begins")),
    responses((status = 200, body = Approvals),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn list(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    uri: Uri,
    Query(query): Query<ListApprovals>,
) -> ApiResult<Response> {
    let seen = hall.approvals(&by, query.ask).await?;
    let next = seen.value.next;
    let next = next.map(|last| page_cursor::write(last.as_bytes(), query.filters));
    Ok(page_response(&uri, next, seen, |page, next_cursor| {
        Approvals {
            approvals: page.approvals.into_iter().map(Into::into).collect(),
            next_cursor,
        }
    }))
}

/// One approval of any kind.
#[utoipa::path(get, path = "/api/approvals/{id}", tag = "approvals", operation_id = "getApproval",
    params(("id" = String, Path, description = "The approval")),
    responses((status = 200, body = Approval),
        (status = 404, description = "APPROVAL_NOT_FOUND", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn get(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(approval): Path<ApprovalId>,
) -> ApiResult<ReadResponse<Approval>> {
    Ok(read_response(hall.approval(&by, approval).await?))
}

/// Allows what was shown, once; its requester then sends the same request again.
///
/// The requester of a `repin` is the server, which goes on at once.
#[utoipa::path(post, path = "/api/approvals/{id}/grant", tag = "approvals", operation_id = "grantApproval",
    params(("id" = String, Path, description = "The approval")),
    request_body = GrantApproval,
    responses((status = 200, body = DecidedApproval),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "AGENT_CANNOT_DECIDE, REQUESTER_CANNOT_DECIDE, INTERACTIVE_ONLY, OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "APPROVAL_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "USE_SESSION_ROUTE, APPROVAL_NOT_PENDING, APPROVAL_CHANGED", body = ErrorEnvelope),
        (status = 410, description = "APPROVAL_EXPIRED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner decider"))))]
pub async fn grant(
    State(hall): State<Hall>,
    ByOwnerDecider(by): ByOwnerDecider,
    Path(approval): Path<ApprovalId>,
    IdempotentBody { ask, repeat }: IdempotentBody<GrantApproval>,
) -> ApiResult<Json<DecidedApproval>> {
    let once = repeat.answered_by(decided);
    let approval = hall.grant_approval(&by, approval, ask.digest, once).await?;
    Ok(Json(approval.into()))
}

/// Refuses it; its requester is told why, and does not ask for the same again for 10 minutes.
#[utoipa::path(post, path = "/api/approvals/{id}/deny", tag = "approvals", operation_id = "denyApproval",
    params(("id" = String, Path, description = "The approval")),
    request_body = DenyApproval,
    responses((status = 200, body = DecidedApproval),
        (status = 400, description = "VALIDATION_FAILED", body = ErrorEnvelope),
        (status = 403, description = "AGENT_CANNOT_DECIDE, REQUESTER_CANNOT_DECIDE, INTERACTIVE_ONLY, OWNER_ONLY", body = ErrorEnvelope),
        (status = 404, description = "APPROVAL_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "USE_SESSION_ROUTE, APPROVAL_NOT_PENDING", body = ErrorEnvelope),
        (status = 410, description = "APPROVAL_EXPIRED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("owner decider"))))]
pub async fn deny(
    State(hall): State<Hall>,
    ByOwnerDecider(by): ByOwnerDecider,
    Path(approval): Path<ApprovalId>,
    IdempotentBody { ask, repeat }: IdempotentBody<DenyApproval>,
) -> ApiResult<Json<DecidedApproval>> {
    let once = repeat.answered_by(decided);
    let reason = ask.reason.unwrap_or_default();
    let approval = hall.deny_approval(&by, approval, reason, once).await?;
    Ok(Json(approval.into()))
}

/// Takes back what the caller asked for.
#[utoipa::path(post, path = "/api/approvals/{id}/withdraw", tag = "approvals", operation_id = "withdrawApproval",
    params(("id" = String, Path, description = "The approval")),
    responses((status = 200, body = DecidedApproval),
        (status = 404, description = "APPROVAL_NOT_FOUND", body = ErrorEnvelope),
        (status = 409, description = "USE_SESSION_ROUTE, APPROVAL_NOT_PENDING", body = ErrorEnvelope),
        (status = 410, description = "APPROVAL_EXPIRED", body = ErrorEnvelope)),
    extensions(("x-gate" = json!("caller"))))]
pub async fn withdraw(
    State(hall): State<Hall>,
    By(by): By<AnyCaller>,
    Path(approval): Path<ApprovalId>,
    IdempotentBody { repeat, .. }: IdempotentBody<WithdrawApproval>,
) -> ApiResult<Json<DecidedApproval>> {
    let once = repeat.answered_by(decided);
    let approval = hall.withdraw_approval(&by, approval, once).await?;
    Ok(Json(approval.into()))
}

fn decided(approval: &rules::Approval) -> (StatusCode, DecidedApproval) {
    (StatusCode::OK, approval.clone().into())
}
