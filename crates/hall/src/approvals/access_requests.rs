//! Access: an agent's wish to use a service, as a question that is settled elsewhere: by granting
//! something there, or here by a no. Source: contract 5.8, kind `access`.

use guildhall_domain::{
    Fault, Refusal, Result, Timestamp,
    approvals::{
        self as rules, Approval, ApprovalKind, ApprovalTrigger, Capability, Denial, Requester,
    },
    callers::Caller,
    ids::{AgentId, ApprovalId, SessionId},
    limits,
};
use guildhall_store::{
    Tx,
    approvals::{self, NewApproval},
};
use guildhall_world::{
    digests::{ApprovalAction, ApprovalDigests},
    secret_tokens,
};
use serde_json::{Value, json};

use super::approval_rows;
use crate::Hall;

/// What an agent wants to use.
pub(crate) struct AccessApprovalRequest<'a> {
    /// The agent.
    pub(crate) agent_id: AgentId,
    /// The session that asks, where it is known.
    pub(crate) session_id: Option<SessionId>,
    /// The service: there is one question of an agent about each.
    pub(crate) toolkit: &'a str,
    /// One line for people.
    pub(crate) summary: String,
    /// What a person is shown.
    pub(crate) card: Value,
}

/// Asks the owner, unless that question is open already; answers the question.
///
/// # Errors
/// `ApprovalDenied` when a person said no not long ago, `TooManyApprovals`.
pub(crate) fn request_access(
    tx: &mut Tx<'_>,
    digests: &ApprovalDigests,
    by: &Caller,
    access: AccessApprovalRequest<'_>,
    now: Timestamp,
) -> Result<Approval> {
    let requester = Requester::of(by);
    let digest = digest(digests, access.agent_id, access.toolkit)?;
    let open = approvals::open_for(tx, requester, &digest)?;
    if let Some(open) = open.filter(|open| open.must_be_pending(now).is_ok()) {
        return Ok(open);
    }
    let since = now.plus_seconds(-limits::APPROVAL_DENIAL_MEMORY_S);
    let denied = approvals::denied_for(tx, requester, &digest)?;
    if let Some(denied) = denied.filter(|denied| denied.decided_at.is_some_and(|at| at > since)) {
        return Err(Refusal::ApprovalDenied(Denial::of(denied)).into());
    }
    let (pending, first_end) = approvals::pending_of(tx, requester, now)?;
    if pending >= limits::APPROVALS_PENDING_PER_REQUESTER_MAX {
        let left_ms = first_end.map_or(0, |end| end.as_millis() - now.as_millis());
        let seconds = left_ms.unsigned_abs().div_ceil(1_000).max(1);
        return Err(Refusal::TooManyApprovals(seconds).into());
    }
    let id = Hall::new_id(ApprovalId::from_bytes);
    let token = digests.approval_token(id)?;
    let new = NewApproval {
        id,
        kind: ApprovalKind::Access,
        capability: Capability::ConnectorsAccess,
        requested_by: by.author,
        requester: Some((requester, secret_tokens::digest(token.reveal()))),
        agent_id: Some(access.agent_id),
        session_id: access.session_id,
        digest,
        summary: rules::summary(&access.summary),
        card: access.card,
        why: vec!["Agents use only what the owner granted them.".to_owned()],
        requested_at: now,
        expires_at: now.plus_seconds(limits::APPROVAL_TTL_S),
    };
    approval_rows::open(tx, &new, Some(by.author), now)
}

/// Settles what these agents asked about a service, because something of it was granted to them.
///
/// # Errors
/// Faults.
pub(crate) fn resolve_access(
    tx: &mut Tx<'_>,
    digests: &ApprovalDigests,
    (agents, toolkit): (&[AgentId], &str),
    by: &Caller,
    now: Timestamp,
) -> Result<()> {
    for asked in approvals::pending_of_kind(tx, ApprovalKind::Access)? {
        let agent = asked.agent_id.filter(|agent| agents.contains(agent));
        let Some(agent) = agent.filter(|_| asked.must_be_pending(now).is_ok()) else {
            continue;
        };
        if asked.digest == digest(digests, agent, toolkit)? {
            approval_rows::apply(tx, &asked, ApprovalTrigger::Grant, Some(by.author), "", now)?;
        }
    }
    Ok(())
}

/// What is the same of all wishes of one agent for one service.
fn digest(digests: &ApprovalDigests, agent: AgentId, toolkit: &str) -> Result<String, Fault> {
    digests.of(&ApprovalAction {
        capability: Capability::ConnectorsAccess.as_str(),
        agent: Some(agent),
        input: &json!({ "toolkit": toolkit }),
        pin: &Value::Null,
    })
}
