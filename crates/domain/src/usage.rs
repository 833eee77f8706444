//! Usage: what turns used, as agents report it; nothing is ever estimated.
//! Pure: rows are `store::usage`. Source: contract 3.10.

use serde::{Deserialize, Serialize};

/// An amount of money, kept in billionths so that sums are exact, and shown in units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Amount", into = "Amount")]
pub struct Cost {
    /// Billionths of a unit.
    pub nanos: i64,
    /// ISO 4217, upper case.
    pub currency: String,
}

/// A cost as it is shown.
#[derive(Serialize, Deserialize)]
struct Amount {
    amount: f64,
    currency: String,
}

const NANOS: f64 = 1e9;

impl Cost {
    /// The cost of `amount` units, to the nearest billionth.
    pub fn new(amount: f64, currency: String) -> Self {
        Self::from(Amount { amount, currency })
    }

    /// Units of the currency.
    pub fn amount(&self) -> f64 {
        self.nanos as f64 / NANOS
    }
}

impl From<Amount> for Cost {
    fn from(Amount { amount, currency }: Amount) -> Self {
        Self {
            nanos: (amount * NANOS).round() as i64,
            currency,
        }
    }
}

impl From<Cost> for Amount {
    fn from(cost: Cost) -> Self {
        Self {
            amount: cost.amount(),
            currency: cost.currency,
        }
    }
}

/// What one or several turns used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// How many turns.
    pub turns: u64,
    /// Tokens read in.
    pub input_tokens: u64,
    /// Tokens written out.
    pub output_tokens: u64,
    /// Tokens read from a cache.
    pub cached_read_tokens: u64,
    /// Tokens written into a cache.
    pub cached_write_tokens: u64,
    /// Tokens of thought.
    pub thought_tokens: u64,
    /// All of them.
    pub total_tokens: u64,
    /// Tokens in the context now: the last value, never summed.
    pub context_used: u64,
    /// Tokens the context holds: the last value, never summed.
    pub context_size: u64,
    /// What it cost; `None` when nothing was told, or in several currencies.
    pub cost: Option<Cost>,
    /// False when at least one turn reported nothing.
    pub complete: bool,
}

/// Tokens as an agent reports them at the end of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// Tokens read in.
    pub input: u64,
    /// Tokens written out.
    pub output: u64,
    /// Tokens read from a cache.
    pub cached_read: u64,
    /// Tokens written into a cache.
    pub cached_write: u64,
    /// Tokens of thought.
    pub thought: u64,
    /// All of them.
    pub total: u64,
}

/// What the figures at the end of a turn cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageScope {
    /// That turn.
    Turn,
    /// The session so far.
    Session,
}
