//! Judging a gated request by what is known of it: whether it runs, waits, or asks a person.

use super::{Approval, ApprovalRequiredReason, ApprovalState, Denial};
use crate::{Timestamp, ids::ApprovalId, limits};

/// What the token of a request names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresentedToken {
    /// No token was shown.
    None,
    /// The token of no approval of this requester.
    Unknown,
    /// The token of this approval, which is the requester's own.
    Of(Box<Approval>),
}

/// What is known of a gated request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatingFacts {
    /// 64 hex digits over what is asked.
    pub digest: String,
    /// What its token names.
    pub presented: PresentedToken,
    /// The requester's newest approval for exactly this that is pending or granted, expired or
    /// not.
    pub open: Option<Approval>,
    /// The requester's newest approval for exactly this that was denied.
    pub denied: Option<Approval>,
    /// How many approvals of the requester a person has yet to decide.
    pub pending: u32,
}

/// What becomes of a gated request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatingDecision {
    /// It runs, and uses up this approval.
    Run(ApprovalId),
    /// A person said no.
    Denied(Denial),
    /// It waits for a person's word on this approval, and is answered with the reason if that
    /// does not come.
    Wait(Box<Approval>, ApprovalRequiredReason),
    /// It is answered at once.
    Answer(Box<Approval>, ApprovalRequiredReason),
    /// A person is asked.
    Ask(ApprovalRequiredReason),
    /// A person is asked too much already.
    TooMany,
}

/// Judges a gated request at `now`.
///
/// Source: contract 4.5, "Answer to a gated request".
pub fn decide(known: GatingFacts, now: Timestamp) -> GatingDecision {
    let GatingFacts {
        digest,
        presented,
        open,
        denied,
        pending,
    } = known;
    let mut misfit = None;
    match presented {
        PresentedToken::None => {}
        PresentedToken::Unknown => misfit = Some(ApprovalRequiredReason::UnknownToken),
        PresentedToken::Of(approval) if approval.digest != digest => {
            misfit = Some(ApprovalRequiredReason::WrongAction);
        }
        PresentedToken::Of(approval) => match approval.state_at(now) {
            ApprovalState::Granted => return GatingDecision::Run(approval.id),
            ApprovalState::Pending => {
                return GatingDecision::Wait(approval, ApprovalRequiredReason::AwaitingDecision);
            }
            ApprovalState::Denied => return GatingDecision::Denied(Denial::of(*approval)),
            ApprovalState::Expired | ApprovalState::Withdrawn => {
                misfit = Some(ApprovalRequiredReason::Expired);
            }
            ApprovalState::Consumed => misfit = Some(ApprovalRequiredReason::AlreadyUsed),
        },
    }
    if let Some(open) = open {
        match open.state_at(now) {
            ApprovalState::Pending => {
                let reason = misfit.unwrap_or(ApprovalRequiredReason::AwaitingDecision);
                return GatingDecision::Wait(Box::new(open), reason);
            }
            ApprovalState::Granted => {
                let reason = misfit.unwrap_or(ApprovalRequiredReason::GrantedUnused);
                return GatingDecision::Answer(Box::new(open), reason);
            }
            ApprovalState::Denied
            | ApprovalState::Expired
            | ApprovalState::Withdrawn
            | ApprovalState::Consumed => {}
        }
    }
    let since = now.plus_seconds(-limits::APPROVAL_DENIAL_MEMORY_S);
    if let Some(denied) = denied.filter(|denied| denied.decided_at.is_some_and(|at| at > since)) {
        return GatingDecision::Denied(Denial::of(denied));
    }
    if pending >= limits::APPROVALS_PENDING_PER_REQUESTER_MAX {
        return GatingDecision::TooMany;
    }
    GatingDecision::Ask(misfit.unwrap_or(ApprovalRequiredReason::NoApproval))
}
