//! Permits: the proof that a gated deed may happen, and how a request comes by one.

use std::time::Duration;

use guildhall_domain::{
    Refusal, Result, Timestamp,
    approvals::{
        self as rules, Approval, ApprovalKind, ApprovalRequest, ApprovalRequiredReason,
        ApprovalRequirement, ApprovalState, ApprovalToken, ApprovalTrigger, Denial, GatingDecision,
        GatingFacts, PresentedToken, Requester,
    },
    callers::Caller,
    ids::ApprovalId,
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
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::approval_rows;
use crate::{Hall, callers};

/// What a gated request brings along; without `Debug`, because a token is never logged.
#[derive(Clone, Default)]
pub struct PresentedApproval {
    /// The token of an approval, from the header or the argument.
    pub token: Option<String>,
    /// Seconds the request may be held, at most [`limits::APPROVAL_HOLD_MAX_S`]; `None` for
    /// [`limits::APPROVAL_HOLD_DEFAULT_S`].
    pub wait: Option<u32>,
    /// Whether somebody still waits for the answer.
    pub listening: ClientPresence,
}

/// Whether somebody still waits for an answer; always, unless it is told otherwise.
#[derive(Clone, Debug, Default)]
pub struct ClientPresence(Option<watch::Receiver<()>>);

impl ClientPresence {
    /// As long as the sender of `line` lives.
    pub fn on(line: watch::Receiver<()>) -> Self {
        Self(Some(line))
    }

    /// Whether nobody does any more.
    pub(crate) fn has_ended(&self) -> bool {
        let line = self.0.as_ref();
        line.is_some_and(|line| line.has_changed().is_err())
    }

    /// Waits until nobody does.
    pub(crate) async fn ended(&mut self) {
        match &mut self.0 {
            // Nothing is ever sent, so that this ends with the sender.
            Some(line) => while line.changed().await.is_ok() {},
            None => std::future::pending().await,
        }
    }
}

/// Proof that a gated deed may happen. Only [`Hall::permit`] makes one.
#[derive(Debug)]
pub enum Permit {
    /// It needs no card: who asked for it decided it by asking.
    Asked,
    /// A person approved the request.
    Approved(GrantedApproval),
}

/// A granted approval on its way to be used.
#[derive(Debug)]
pub struct GrantedApproval {
    id: ApprovalId,
    /// Whose credential must still count when it is used: a request is held for minutes.
    by: Caller,
}

impl Hall {
    /// Lets a gated deed of `by` through when a person approved exactly this, for which it is held
    /// as long as it says; at once where it needs no card of `by`.
    ///
    /// Whatever can be refused without asking a person must be refused before, and again when
    /// the permit is spent.
    ///
    /// # Errors
    /// `ApprovalRequired`, `ApprovalDenied`, `TooManyApprovals`; `ApprovalExpired` and
    /// `ApprovalNotPending` when its approval ended while it was held; `AuthRequired` and
    /// `AgentIdentityUnverified` when its credential did.
    ///
    /// Source: contract 4.5, "Answer to a gated request".
    pub async fn permit(
        &self,
        by: &Caller,
        wanted: ApprovalRequest,
        presented: PresentedApproval,
    ) -> Result<Permit> {
        if !wanted.capability.needs_card(by) {
            return Ok(Permit::Asked);
        }
        let (by, now) = (*by, self.now());
        let digests = self.inner.digests.clone();
        let token = presented.token;
        let judged = self
            .store()
            .write(move |tx| judge(tx, &digests, &by, wanted, token.as_deref(), now))
            .await?;
        let hold_s = presented.wait.unwrap_or(limits::APPROVAL_HOLD_DEFAULT_S);
        match judged {
            GatingOutcome::Run(id) => Ok(Permit::Approved(GrantedApproval { id, by })),
            GatingOutcome::Denied(denial) => Err(Refusal::ApprovalDenied(denial).into()),
            GatingOutcome::TooMany(seconds) => Err(Refusal::TooManyApprovals(seconds).into()),
            GatingOutcome::Answer(required) => Err(Refusal::ApprovalRequired(required).into()),
            GatingOutcome::Wait(required) => {
                let hold = hold_s.min(limits::APPROVAL_HOLD_MAX_S);
                self.hold(by, *required, hold, presented.listening).await
            }
        }
    }

    /// Holds a request whose approval is pending until a person decided, its time is over,
    /// nobody waits for the answer any more, or the server stops.
    async fn hold(
        &self,
        by: Caller,
        mut required: ApprovalRequirement,
        seconds: u32,
        mut listening: ClientPresence,
    ) -> Result<Permit> {
        let place = self.inner.holds.enter(Requester::of(&by));
        if seconds == 0 || place.is_none() {
            return Err(Refusal::ApprovalRequired(Box::new(required)).into());
        }
        if !required.reason.is_of_token() {
            required.reason = ApprovalRequiredReason::AwaitingDecision;
        }
        let id = required.approval.id;
        let end = Instant::now() + Duration::from_secs(seconds.into());
        let mut bell = self.inner.holds.subscribe();
        let mut stopping = self.tasks().stopping();
        loop {
            // It listens before it looks, so that no decision falls between.
            bell.mark_unchanged();
            let found = self.store().read(move |db| super::existing(db, id)).await?;
            let approval = found.value.shown(self.now());
            match approval.state {
                ApprovalState::Pending => {}
                ApprovalState::Granted => return Ok(Permit::Approved(GrantedApproval { id, by })),
                ApprovalState::Denied => {
                    return Err(Refusal::ApprovalDenied(Denial::of(approval)).into());
                }
                ApprovalState::Expired => return Err(Refusal::ApprovalExpired.into()),
                state @ (ApprovalState::Withdrawn | ApprovalState::Consumed) => {
                    return Err(Refusal::ApprovalNotPending(state).into());
                }
            }
            tokio::select! {
                rung = bell.changed() => if rung.is_err() { break },
                () = sleep_until(end) => break,
                () = listening.ended() => break,
                _ = stopping.wait_for(|stop| *stop) => break,
            }
        }
        Err(Refusal::ApprovalRequired(Box::new(required)).into())
    }
}

impl Permit {
    /// Uses it up, in the transaction of the deed: of any number of requests with one approval
    /// one alone gets through.
    ///
    /// # Errors
    /// `ApprovalExpired`, `ApprovalNotPending` when it counts no more;
    /// `AgentIdentityUnverified`, `AuthRequired` when the requester's credential does not.
    pub fn spend(self, tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
        match self {
            Self::Asked => Ok(()),
            Self::Approved(GrantedApproval { id, by }) => {
                callers::require_live_credential(tx, &by, now)?;
                let approval = super::existing(tx, id)?;
                approval.may_be_used(now)?;
                let trigger = ApprovalTrigger::Spend;
                approval_rows::apply(tx, &approval, trigger, Some(by.author), "", now)
            }
        }
    }
}

/// What became of a gated request, with what its requester is told.
enum GatingOutcome {
    Run(ApprovalId),
    Denied(Denial),
    TooMany(u64),
    Answer(Box<ApprovalRequirement>),
    Wait(Box<ApprovalRequirement>),
}

/// Judges a gated request, and asks a person where that is what becomes of it.
fn judge(
    tx: &mut Tx<'_>,
    digests: &ApprovalDigests,
    by: &Caller,
    wanted: ApprovalRequest,
    token: Option<&str>,
    now: Timestamp,
) -> Result<GatingOutcome> {
    callers::require_live_credential(tx, by, now)?;
    let requester = Requester::of(by);
    let digest = digests.of(&ApprovalAction {
        capability: wanted.capability.as_str(),
        agent: wanted.agent_id,
        input: &wanted.input,
        pin: &wanted.pin,
    })?;
    let (pending, first_expiry) = approvals::pending_of(tx, requester, now)?;
    let known = GatingFacts {
        presented: presentation(tx, requester, token)?,
        open: approvals::open_for(tx, requester, &digest)?,
        denied: approvals::denied_for(tx, requester, &digest)?,
        digest,
        pending,
    };
    let digest = known.digest.clone();
    let answer =
        |approval: Approval, reason: ApprovalRequiredReason| -> Result<Box<ApprovalRequirement>> {
            Ok(Box::new(ApprovalRequirement {
                token: digests.approval_token(approval.id)?,
                approval,
                reason,
            }))
        };
    Ok(match rules::decide(known, now) {
        GatingDecision::Run(id) => GatingOutcome::Run(id),
        GatingDecision::Denied(denial) => GatingOutcome::Denied(denial),
        GatingDecision::Wait(approval, reason) => GatingOutcome::Wait(answer(*approval, reason)?),
        GatingDecision::Answer(approval, reason) => {
            GatingOutcome::Answer(answer(*approval, reason)?)
        }
        GatingDecision::TooMany => {
            let left_ms = first_expiry.map_or(0, |end| end.as_millis() - now.as_millis());
            GatingOutcome::TooMany(left_ms.unsigned_abs().div_ceil(1_000).max(1))
        }
        GatingDecision::Ask(reason) => {
            let id = Hall::new_id(ApprovalId::from_bytes);
            let token = digests.approval_token(id)?;
            let new = new_approval(id, (requester, &token), by, wanted, digest, now);
            let approval = approval_rows::open(tx, &new, Some(by.author), now)?;
            GatingOutcome::Wait(answer(approval, reason)?)
        }
    })
}

fn presentation(tx: &Tx<'_>, requester: Requester, token: Option<&str>) -> Result<PresentedToken> {
    let Some(token) = token else {
        return Ok(PresentedToken::None);
    };
    // Looked up by its digest, so that time tells nothing of the token.
    let found = approvals::of_token(tx, requester, &secret_tokens::digest(token))?;
    Ok(found.map_or(PresentedToken::Unknown, |found| {
        PresentedToken::Of(Box::new(found))
    }))
}

fn new_approval(
    id: ApprovalId,
    (requester, token): (Requester, &ApprovalToken),
    by: &Caller,
    wanted: ApprovalRequest,
    digest: String,
    now: Timestamp,
) -> NewApproval {
    NewApproval {
        id,
        kind: ApprovalKind::Capability,
        capability: wanted.capability,
        requested_by: by.author,
        requester: Some((requester, secret_tokens::digest(token.reveal()))),
        agent_id: wanted.agent_id,
        session_id: wanted.session_id,
        digest,
        summary: rules::summary(&wanted.summary),
        card: wanted.card,
        why: wanted.why,
        requested_at: now,
        expires_at: now.plus_seconds(limits::APPROVAL_TTL_S),
    }
}
