//! Rows of approvals with their events: each step is one change in a transaction of the
//! caller's.

use guildhall_domain::{
    Fault, Result, Timestamp,
    approvals::{
        self as rules, Approval, ApprovalKind, ApprovalState, ApprovalTrigger, Capability,
    },
    events::Event,
    ids::{AgentId, ApprovalId, AuthorId},
    limits,
};
use guildhall_store::{
    Tx,
    approvals::{self, ApprovalTransition, NewApproval},
    authors,
};
use serde_json::Value;

use crate::{Hall, mcp_servers};

/// What the server asks about something that was allowed and looks different now.
pub(crate) struct RepinRequest {
    /// The agent whose it is.
    pub(crate) agent_id: AgentId,
    /// 64 hex digits over what is asked.
    pub(crate) digest: String,
    /// One line of what changed.
    pub(crate) summary: String,
    /// Old and new, side by side; no secret.
    pub(crate) card: Value,
    /// The rules that led to the question, strictest last.
    pub(crate) why: Vec<String>,
}

/// Asks the owner whether something that was allowed may go on as it looks now.
///
/// # Errors
/// Faults.
///
/// Source: contract 4.5, kind `repin`.
pub(crate) fn ask_repin(
    tx: &mut Tx<'_>,
    repin: RepinRequest,
    now: Timestamp,
) -> Result<ApprovalId> {
    let new = NewApproval {
        id: Hall::new_id(ApprovalId::from_bytes),
        kind: ApprovalKind::Repin,
        capability: Capability::McpRepin,
        requested_by: authors::system(tx)?,
        requester: None,
        agent_id: Some(repin.agent_id),
        session_id: None,
        digest: repin.digest,
        summary: rules::summary(&repin.summary),
        card: repin.card,
        why: repin.why,
        requested_at: now,
        expires_at: now.plus_seconds(limits::APPROVAL_TTL_S),
    };
    open(tx, &new, None, now).map(|approval| approval.id)
}

/// Writes a new row with its event.
pub(super) fn open(
    tx: &mut Tx<'_>,
    new: &NewApproval,
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<Approval> {
    approvals::insert(tx, new)?;
    let approval = super::existing(tx, new.id)?;
    let event = Event::ApprovalRequested {
        approval: Box::new(approval.clone()),
    };
    tx.append(now, by, &event)?;
    Ok(approval)
}

/// Withdraws a row that is pending; one whose deadline has passed is left to the chore.
///
/// # Errors
/// Faults.
pub(crate) fn withdraw(
    tx: &mut Tx<'_>,
    id: ApprovalId,
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    let found = approvals::by_id(tx, id)?.map(|found| found.approval);
    let pending = found.filter(|found| found.must_be_pending(now).is_ok());
    match pending {
        Some(approval) => apply(tx, &approval, ApprovalTrigger::Withdraw, by, "", now),
        None => Ok(()),
    }
}

/// Withdraws everything that is asked about an agent, or by it, because it is gone.
///
/// # Errors
/// Faults.
///
/// Source: contract 4.5, "agent deleted".
pub(crate) fn withdraw_about(
    tx: &mut Tx<'_>,
    agent: AgentId,
    author: AuthorId,
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    for approval in approvals::pending_about(tx, agent, author)? {
        if approval.must_be_pending(now).is_ok() {
            apply(tx, &approval, ApprovalTrigger::Withdraw, by, "", now)?;
        }
    }
    Ok(())
}

/// Moves a row on, compared and set, and tells what became of it. Whether it may is for the
/// caller to have looked at. What a decision on a `repin` does is done here, in the same
/// transaction, by the area that asked.
///
/// # Errors
/// A fault when the row takes no such step.
pub(super) fn apply(
    tx: &mut Tx<'_>,
    approval: &Approval,
    trigger: ApprovalTrigger,
    by: Option<AuthorId>,
    deny_reason: &str,
    now: Timestamp,
) -> Result<()> {
    let broken = || Fault::broken("moving an approval on", "its row takes no such step");
    let to = approval
        .state
        .on(trigger, approval.kind)
        .ok_or_else(broken)?;
    let use_until = now.plus_seconds(limits::APPROVAL_USE_AFTER_GRANT_MIN_S);
    let step = ApprovalTransition {
        from: approval.state,
        to,
        at: now,
        by,
        expires_at: (to == ApprovalState::Granted).then(|| approval.expires_at.max(use_until)),
        deny_reason,
    };
    if !approvals::advance(tx, approval.id, &step)? {
        return Err(broken().into());
    }
    if approval.kind == ApprovalKind::Repin {
        match trigger {
            ApprovalTrigger::Grant => {
                mcp_servers::apply_repin_decision(tx, approval, true, by, now)?;
            }
            ApprovalTrigger::Deny => {
                mcp_servers::apply_repin_decision(tx, approval, false, by, now)?;
            }
            ApprovalTrigger::Spend | ApprovalTrigger::Expire | ApprovalTrigger::Withdraw => {}
        }
    }
    let after = super::existing(tx, approval.id)?;
    for event in events_of(&after, trigger, now) {
        tx.append(now, by, &event)?;
    }
    Ok(())
}

/// What is told of a step that led to `after`. A yes that is used as it is given is both.
fn events_of(after: &Approval, trigger: ApprovalTrigger, at: Timestamp) -> Vec<Event> {
    let (approval_id, agent) = (after.id, after.notified_agent());
    let consumed = Event::ApprovalConsumed {
        approval_id,
        at,
        agent,
    };
    match trigger {
        ApprovalTrigger::Grant | ApprovalTrigger::Deny => {
            let decided = after
                .decided_by
                .clone()
                .map(|decided_by| Event::ApprovalDecided {
                    approval_id,
                    state: after.state,
                    decided_by,
                    decided_at: after.decided_at.unwrap_or(at),
                    deny_reason: after.deny_reason.clone(),
                    agent,
                });
            let is_used = after.state == ApprovalState::Consumed;
            decided
                .into_iter()
                .chain(is_used.then_some(consumed))
                .collect()
        }
        ApprovalTrigger::Spend => vec![consumed],
        ApprovalTrigger::Expire => vec![Event::ApprovalExpired {
            approval_id,
            at,
            agent,
        }],
        ApprovalTrigger::Withdraw => vec![Event::ApprovalWithdrawn {
            approval_id,
            at,
            agent,
        }],
    }
}
