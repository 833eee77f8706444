//! What an operation costs if it was wrong, and whether it may be tried again.
//! Source: contract 5.1, the table of provider types.

use serde::{Deserialize, Serialize};

use crate::approvals::RiskTier;

/// What an operation does to the service, mildest first: an owner may raise it and never lower it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Classification {
    /// It reads only.
    Read,
    /// It changes something that can be changed back.
    Write,
    /// It destroys, or nobody says what it does.
    Destructive,
}

impl Classification {
    /// Every classification with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Read, "read"),
        (Self::Write, "write"),
        (Self::Destructive, "destructive"),
    ];

    /// What a card of it costs. Source: contract 5.8.
    pub const fn tier(self) -> RiskTier {
        match self {
            Self::Read => RiskTier::Observe,
            Self::Write => RiskTier::Act,
            Self::Destructive => RiskTier::Destructive,
        }
    }
}

/// Whether an operation may be sent a second time when its first attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryPolicy {
    /// Never, unless it reads only.
    Never,
    /// The service takes a key by which it knows a repeat.
    ProviderIdempotencyKey,
}

impl RetryPolicy {
    /// Every policy with its word.
    pub const WORDS: [(Self, &str); 2] = [
        (Self::Never, "never"),
        (Self::ProviderIdempotencyKey, "provider_idempotency_key"),
    ];
}
