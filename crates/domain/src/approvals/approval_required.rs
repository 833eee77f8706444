//! What a gated request is answered while no person has allowed it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Approval, ApprovalKind, ApprovalState};
use crate::{
    Refusal, Timestamp,
    callers::Caller,
    connectors::ConnectorRefusal,
    ids::{AgentId, ApprovalId},
};

/// The token with which a request shows that it was allowed. Its `Debug` shows nothing: it is
/// never logged. Source: contract 4.5.
#[derive(Clone, PartialEq, Eq)]
pub struct ApprovalToken(String);

impl ApprovalToken {
    /// Wraps a token's text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for the one answer that shows it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApprovalToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApprovalToken")
    }
}

/// Why a gated request does not run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalRequiredReason {
    /// It was not asked for before.
    NoApproval,
    /// A person has yet to decide.
    AwaitingDecision,
    /// It was allowed, and the token is missing.
    GrantedUnused,
    /// The token is of another request.
    WrongAction,
    /// The token's time is over.
    Expired,
    /// The token was used.
    AlreadyUsed,
    /// The token is none of this requester.
    UnknownToken,
}

impl ApprovalRequiredReason {
    /// Every reason with its word.
    pub const WORDS: [(Self, &str); 7] = [
        (Self::NoApproval, "no_approval"),
        (Self::AwaitingDecision, "awaiting_decision"),
        (Self::GrantedUnused, "granted_unused"),
        (Self::WrongAction, "wrong_action"),
        (Self::Expired, "expired"),
        (Self::AlreadyUsed, "already_used"),
        (Self::UnknownToken, "unknown_token"),
    ];

    /// What it means, in one sentence that says what to do next.
    pub const fn message(self) -> &'static str {
        match self {
            Self::NoApproval => "A person must approve this first; they are asked now.",
            Self::AwaitingDecision => "A person must approve this first, and has not decided yet.",
            Self::GrantedUnused => {
                "A person approved this; send the same request again with its token."
            }
            Self::WrongAction => {
                "The token was approved for something else; a person must approve this, too."
            }
            Self::Expired => "The token no longer counts; a person must approve this anew.",
            Self::AlreadyUsed => "The token was used already; a person must approve this anew.",
            Self::UnknownToken => "The token is not known; a person must approve this first.",
        }
    }

    /// Whether it says that a token was shown that did not fit; such a reason is kept while the
    /// request is held.
    pub const fn is_of_token(self) -> bool {
        match self {
            Self::NoApproval | Self::AwaitingDecision | Self::GrantedUnused => false,
            Self::WrongAction | Self::Expired | Self::AlreadyUsed | Self::UnknownToken => true,
        }
    }
}

/// A gated request's answer until a person has allowed it: 202 with the token of its approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRequirement {
    /// What the person decides on.
    pub approval: Approval,
    /// With which the same request is sent again.
    pub token: ApprovalToken,
    /// Why it does not run now.
    pub reason: ApprovalRequiredReason,
}

impl Approval {
    /// The state that counts at `now`: past its deadline a row is expired before anybody writes
    /// it down. Source: contract 4.5.
    pub fn state_at(&self, now: Timestamp) -> ApprovalState {
        self.state.at(self.expires_at, now)
    }

    /// As the interface shows it at `now`.
    #[must_use]
    pub fn shown(self, now: Timestamp) -> Self {
        Self {
            state: self.state_at(now),
            ..self
        }
    }

    /// The agent that hears of it beside the owner: the one that asks, or about whose server the
    /// house asks; not one about which somebody else asks.
    pub fn notified_agent(&self) -> Option<AgentId> {
        match self.kind {
            ApprovalKind::Repin => self.agent_id,
            ApprovalKind::Capability
            | ApprovalKind::Access
            | ApprovalKind::ToolCall
            | ApprovalKind::Question => self.requested_by.agent_ref,
        }
    }

    /// The route on which a session's ask is decided; `None` for the other kinds.
    pub fn session_route(&self) -> Option<String> {
        let deed = match self.kind {
            ApprovalKind::ToolCall => "approve",
            ApprovalKind::Question => "submit-answers",
            ApprovalKind::Capability | ApprovalKind::Repin | ApprovalKind::Access => return None,
        };
        let session = self.session_id?;
        Some(format!("/api/sessions/{session}/{deed}"))
    }

    /// Lets a decision or a withdrawal at `now` through.
    ///
    /// # Errors
    /// [`Refusal::UseSessionRoute`], [`Refusal::ApprovalExpired`],
    /// [`Refusal::ApprovalNotPending`].
    ///
    /// Source: contract 4.5, "Check on grant and deny".
    pub fn must_be_pending(&self, now: Timestamp) -> Result<(), Refusal> {
        if let Some(route) = self.session_route() {
            return Err(Refusal::UseSessionRoute(route));
        }
        match self.state_at(now) {
            ApprovalState::Pending => Ok(()),
            ApprovalState::Expired => Err(Refusal::ApprovalExpired),
            state => Err(Refusal::ApprovalNotPending(state)),
        }
    }

    /// Lets a yes at `now` through to what was shown under `digest`.
    ///
    /// # Errors
    /// Those of [`Approval::must_be_pending`]; [`ConnectorRefusal::UseReview`] of an `access`, which is
    /// granted by what is granted; [`Refusal::ApprovalChanged`].
    pub fn may_be_granted(&self, digest: &str, now: Timestamp) -> Result<(), Refusal> {
        self.must_be_pending(now)?;
        if self.kind == ApprovalKind::Access {
            return Err(ConnectorRefusal::UseReview.into());
        }
        if self.digest == digest {
            Ok(())
        } else {
            Err(Refusal::ApprovalChanged)
        }
    }

    /// Lets a yes be used at `now`.
    ///
    /// # Errors
    /// [`Refusal::ApprovalExpired`], [`Refusal::ApprovalNotPending`] for one that was used,
    /// withdrawn or denied.
    pub fn may_be_used(&self, now: Timestamp) -> Result<(), Refusal> {
        match self.state_at(now) {
            ApprovalState::Granted => Ok(()),
            ApprovalState::Expired => Err(Refusal::ApprovalExpired),
            state => Err(Refusal::ApprovalNotPending(state)),
        }
    }
}

/// Lets a caller through that shows no token of an approval: who asks does not decide.
///
/// # Errors
/// [`Refusal::AgentCannotDecide`] first, then [`Refusal::RequesterCannotDecide`].
///
/// Source: contract 4.5, "Check on grant and deny", row 2.
pub fn refuse_other_requester(caller: &Caller, shows_token: bool) -> Result<(), Refusal> {
    if !caller.is_human() {
        return Err(Refusal::AgentCannotDecide);
    }
    if shows_token {
        return Err(Refusal::RequesterCannotDecide);
    }
    Ok(())
}

/// A person's no, as the requester is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Which one.
    pub approval_id: ApprovalId,
    /// Why a person said no, or `""`.
    pub reason: String,
}

impl Denial {
    /// The no to `approval`.
    pub fn of(approval: Approval) -> Self {
        Self {
            approval_id: approval.id,
            reason: approval.deny_reason.unwrap_or_default(),
        }
    }
}
