//! Approvals: a deed waits for a person's yes, which is used once, in the transaction of the
//! deed. Here are the list of all kinds, and what is decided on the kinds
//! that no session asks.

mod access_requests;
mod approval_rows;
mod deadlines;
mod held_requests;
mod permits;
#[cfg(test)]
pub(crate) mod permits_tests;

use guildhall_domain::{
    Refusal, Result,
    approvals::{Approval, ApprovalTrigger, ApprovalVisibility, ApprovalsQuery, Requester},
    callers::{AnyCaller, Caller, Gate, OwnerDecider},
    errors::ResourceKind,
    field_validation::FieldValidator,
    ids::ApprovalId,
    limits,
};
use guildhall_store::{ReadSnapshot, ReadTx, Tx, approvals};

pub use guildhall_domain::approvals::ApprovalRequest;
pub use permits::{ClientPresence, GrantedApproval, Permit, PresentedApproval};
pub(crate) use {
    access_requests::{AccessApprovalRequest, request_access, resolve_access},
    approval_rows::{RepinRequest, ask_repin, withdraw, withdraw_about},
    deadlines::start,
    held_requests::HeldRequests,
};

use crate::{Hall, callers, idempotency::IdempotentWrite};

/// A page of approvals.
#[derive(Clone, Debug)]
pub struct ApprovalsPage {
    /// Oldest first.
    pub approvals: Vec<Approval>,
    /// Behind which one the next page begins; `None` when there is none.
    pub next: Option<ApprovalId>,
}

impl Hall {
    /// What waits for a person, or stands in another state, of all kinds, oldest first; to an
    /// agent or a program its own.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    ///
    /// Source: contract 4.5, "Routes".
    pub async fn approvals(
        &self,
        by: &AnyCaller,
        ask: ApprovalsQuery,
    ) -> Result<ReadSnapshot<ApprovalsPage>> {
        let (sight, now) = (ApprovalVisibility::of(by.caller()), self.now());
        let limit = ask.limit as usize;
        let found = self
            .store()
            .read(move |db| approvals::list(db, sight, &ask, now))
            .await?;
        Ok(found.map(|mut approvals| {
            let has_more = approvals.len() > limit;
            approvals.truncate(limit);
            let last = approvals.last().map(|last| last.id);
            ApprovalsPage {
                next: last.filter(|_| has_more),
                approvals: approvals.into_iter().map(|one| one.shown(now)).collect(),
            }
        }))
    }

    /// One approval of any kind.
    ///
    /// # Errors
    /// `NotFound`, also for one that the caller may not see.
    pub async fn approval(&self, by: &AnyCaller, id: ApprovalId) -> Result<ReadSnapshot<Approval>> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .read(move |db| Ok(visible(db, &by, id)?.approval.shown(now)))
            .await
    }

    /// Says yes to what was shown under `digest`, 64 hex digits.
    ///
    /// # Errors
    /// `Validation`, `NotFound`, `UseSessionRoute`, `ApprovalExpired`, `ApprovalNotPending`,
    /// `ApprovalChanged`.
    ///
    /// Source: contract 4.5, "Check on grant and deny".
    pub async fn grant_approval(
        &self,
        by: &OwnerDecider,
        id: ApprovalId,
        digest: String,
        once: IdempotentWrite<Approval>,
    ) -> Result<Approval> {
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_digest {
            return Err(Refusal::field("digest", "must be 64 hex digits").into());
        }
        let now = self.now();
        self.decide(by, once, move |tx, by| {
            let approval = existing(tx, id)?;
            approval.may_be_granted(&digest, now)?;
            approval_rows::apply(
                tx,
                &approval,
                ApprovalTrigger::Grant,
                Some(by.author),
                "",
                now,
            )?;
            existing(tx, id)
        })
        .await
    }

    /// Says no; `reason` is told to the requester.
    ///
    /// # Errors
    /// `Validation`, `NotFound`, `UseSessionRoute`, `ApprovalExpired`, `ApprovalNotPending`.
    ///
    /// Source: contract 4.5, "Check on grant and deny".
    pub async fn deny_approval(
        &self,
        by: &OwnerDecider,
        id: ApprovalId,
        reason: String,
        once: IdempotentWrite<Approval>,
    ) -> Result<Approval> {
        let reason = reason.trim().to_owned();
        let mut check = FieldValidator::new();
        check.chars("reason", &reason, 0, limits::DENY_REASON_CHARS_MAX);
        check.finish()?;
        let now = self.now();
        self.decide(by, once, move |tx, by| {
            let approval = existing(tx, id)?;
            approval.must_be_pending(now)?;
            let trigger = ApprovalTrigger::Deny;
            approval_rows::apply(tx, &approval, trigger, Some(by.author), &reason, now)?;
            existing(tx, id)
        })
        .await
    }

    /// Takes back what the caller asked for.
    ///
    /// # Errors
    /// `NotFound`, also for what somebody else asked for; `UseSessionRoute`, `ApprovalExpired`,
    /// `ApprovalNotPending`.
    ///
    /// Source: contract 4.5, "Routes".
    pub async fn withdraw_approval(
        &self,
        by: &AnyCaller,
        id: ApprovalId,
        once: IdempotentWrite<Approval>,
    ) -> Result<Approval> {
        let (by, now) = (*by.caller(), self.now());
        let withdrawn = self
            .store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    callers::require_live_credential(tx, &by, now)?;
                    let found = visible(tx, &by, id)?;
                    let is_own = found.requester == Some(Requester::of(&by));
                    if !is_own && found.approval.session_route().is_none() {
                        return Err(Refusal::NotFound(ResourceKind::Approval).into());
                    }
                    found.approval.must_be_pending(now)?;
                    let trigger = ApprovalTrigger::Withdraw;
                    approval_rows::apply(tx, &found.approval, trigger, Some(by.author), "", now)?;
                    existing(tx, id)
                })
            })
            .await?;
        self.inner.holds.wake_all();
        Ok(withdrawn)
    }

    /// Commits one decision, then wakes the requests that are held for it.
    async fn decide(
        &self,
        by: &OwnerDecider,
        once: IdempotentWrite<Approval>,
        decide: impl FnOnce(&mut Tx<'_>, &Caller) -> Result<Approval> + Send + 'static,
    ) -> Result<Approval> {
        let (by, now) = (*by.caller(), self.now());
        let decided = self
            .store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    callers::require_live_credential(tx, &by, now)?;
                    decide(tx, &by)
                })
            })
            .await?;
        self.inner.holds.wake_all();
        Ok(decided)
    }
}

/// The approval with this id, as far as the caller may see it.
fn visible(db: &ReadTx<'_>, by: &Caller, id: ApprovalId) -> Result<approvals::ApprovalRow> {
    let sight = ApprovalVisibility::of(by);
    let found = approvals::by_id(db, id)?
        .filter(|found| sight.shows(found.requester, found.approval.agent_id));
    found.ok_or_else(|| Refusal::NotFound(ResourceKind::Approval).into())
}

fn existing(db: &ReadTx<'_>, id: ApprovalId) -> Result<Approval> {
    let found = approvals::by_id(db, id)?.map(|found| found.approval);
    found.ok_or_else(|| Refusal::NotFound(ResourceKind::Approval).into())
}
