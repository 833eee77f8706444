//! Where an approval stands, and the way it goes through its states.

use serde::{Deserialize, Serialize};

use super::ApprovalKind;
use crate::Timestamp;

/// Where an approval stands; one vocabulary for all kinds. Source: contract 4.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// A person must decide.
    Pending,
    /// Allowed, and not used yet.
    Granted,
    /// Refused.
    Denied,
    /// Nobody decided in time, or it was not used in time.
    Expired,
    /// It no longer matters.
    Withdrawn,
    /// Allowed and used.
    Consumed,
}

/// What happens to an approval of a deed; what happens to sessions' asks is `interactions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalTrigger {
    /// The owner says yes.
    Grant,
    /// The owner says no.
    Deny,
    /// The requester takes it back, its agent is gone, or what it is about changed.
    Withdraw,
    /// Its deadline has passed.
    Expire,
    /// The same request commits.
    Spend,
}

impl ApprovalTrigger {
    /// Every trigger.
    pub const ALL: [Self; 5] = [
        Self::Grant,
        Self::Deny,
        Self::Withdraw,
        Self::Expire,
        Self::Spend,
    ];
}

impl ApprovalState {
    /// Every state with its word.
    pub const WORDS: [(Self, &str); 6] = [
        (Self::Pending, "pending"),
        (Self::Granted, "granted"),
        (Self::Denied, "denied"),
        (Self::Expired, "expired"),
        (Self::Withdrawn, "withdrawn"),
        (Self::Consumed, "consumed"),
    ];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Granted => "granted",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Consumed => "consumed",
        }
    }

    /// The state that counts at `now` of a row with this deadline.
    #[must_use]
    pub fn at(self, expires_at: Timestamp, now: Timestamp) -> Self {
        match self {
            Self::Pending | Self::Granted if now >= expires_at => Self::Expired,
            Self::Pending
            | Self::Granted
            | Self::Denied
            | Self::Expired
            | Self::Withdrawn
            | Self::Consumed => self,
        }
    }

    /// Whether anything can still become of it.
    pub fn is_over(self) -> bool {
        match self {
            Self::Pending | Self::Granted => false,
            Self::Denied | Self::Expired | Self::Withdrawn | Self::Consumed => true,
        }
    }

    /// The state that follows; `None` where `trigger` changes nothing. A yes to a `repin` or
    /// an `access` is used as it is given: nobody repeats a request for it.
    ///
    /// Source: contract 4.5, the table of transitions.
    pub fn on(self, trigger: ApprovalTrigger, kind: ApprovalKind) -> Option<Self> {
        use ApprovalTrigger::{Deny, Expire, Grant, Spend, Withdraw};
        match (self, trigger) {
            (Self::Pending, Grant) if kind.is_used_as_given() => Some(Self::Consumed),
            (Self::Pending, Grant) => Some(Self::Granted),
            (Self::Pending, Deny) => Some(Self::Denied),
            (Self::Pending, Withdraw) => Some(Self::Withdrawn),
            (Self::Pending | Self::Granted, Expire) => Some(Self::Expired),
            (Self::Granted, Spend) => Some(Self::Consumed),
            (Self::Pending, Spend)
            | (Self::Granted, Grant | Deny | Withdraw)
            | (Self::Denied | Self::Expired | Self::Withdrawn | Self::Consumed, _) => None,
        }
    }
}
