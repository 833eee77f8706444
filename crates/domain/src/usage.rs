//! Usage: what turns used, as agents report it; nothing is ever estimated.
//! Pure: rows are `store::usage`. Source: contract 3.10.

use serde::{Deserialize, Serialize};

use crate::{Refusal, Timestamp, limits};

/// An amount of money, kept in billionths so that sums are exact, and shown in units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "DisplayedCost", into = "DisplayedCost")]
pub struct Cost {
    /// Billionths of a unit.
    pub nanos: i64,
    /// ISO 4217, upper case.
    pub currency: String,
}

/// A cost as it is shown.
#[derive(Serialize, Deserialize)]
struct DisplayedCost {
    amount: f64,
    currency: String,
}

const NANOS: f64 = 1e9;

impl Cost {
    /// The cost of `amount` units, to the nearest billionth.
    pub fn new(amount: f64, currency: String) -> Self {
        Self::from(DisplayedCost { amount, currency })
    }

    /// Units of the currency.
    pub fn amount(&self) -> f64 {
        self.nanos as f64 / NANOS
    }
}

impl From<DisplayedCost> for Cost {
    fn from(DisplayedCost { amount, currency }: DisplayedCost) -> Self {
        Self {
            nanos: (amount * NANOS).round() as i64,
            currency,
        }
    }
}

impl From<Cost> for DisplayedCost {
    fn from(cost: Cost) -> Self {
        Self {
            amount: cost.amount(),
            currency: cost.currency,
        }
    }
}

/// What one or several turns used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
pub struct TokenCounts {
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

impl Default for Usage {
    /// No turn at all: nothing is missing.
    fn default() -> Self {
        Self {
            turns: 0,
            input_tokens: 0,
            output_tokens: 0,
            cached_read_tokens: 0,
            cached_write_tokens: 0,
            thought_tokens: 0,
            total_tokens: 0,
            context_used: 0,
            context_size: 0,
            cost: None,
            complete: true,
        }
    }
}

/// What one turn used; `None` is what the agent did not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    /// Its tokens.
    pub tokens: Option<TokenCounts>,
    /// What it cost.
    pub cost: Option<Cost>,
}

impl TurnUsage {
    /// Whether the agent told anything.
    pub fn is_reported(&self) -> bool {
        self.tokens.is_some() || self.cost.is_some()
    }

    /// The same as the usage of one turn.
    pub fn usage(&self) -> Usage {
        let tokens = self.tokens.unwrap_or_default();
        Usage {
            turns: 1,
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cached_read_tokens: tokens.cached_read,
            cached_write_tokens: tokens.cached_write,
            thought_tokens: tokens.thought,
            total_tokens: tokens.sum(),
            cost: self.cost.clone(),
            complete: self.is_reported(),
            ..Usage::default()
        }
    }
}

impl TokenCounts {
    /// All tokens: the total the agent told, else the sum of the parts.
    pub fn sum(&self) -> u64 {
        if self.total > 0 {
            return self.total;
        }
        [
            self.output,
            self.cached_read,
            self.cached_write,
            self.thought,
        ]
        .into_iter()
        .fold(self.input, u64::saturating_add)
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cached_read: self.cached_read.saturating_sub(before.cached_read),
            cached_write: self.cached_write.saturating_sub(before.cached_write),
            thought: self.thought.saturating_sub(before.thought),
            total: self.sum().saturating_sub(before.sum()),
        }
    }
}

/// Turns the figures of a session, as its agent counts them, into figures of single turns.
///
/// It is kept with its session, so that a restart counts nothing twice. Source: contract 3.10.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageMeter {
    /// The session's tokens, where the agent counts those; as told last.
    tokens: Option<TokenCounts>,
    /// The session's cost as told last.
    cost: Option<Cost>,
}

impl UsageMeter {
    /// What the turn that ends now used: `tokens` as its end tells them, `cost` as it was told
    /// for the session last, both `None` when nothing was told during this turn.
    ///
    /// A total below the one before is a fresh start, and so is another currency.
    pub fn turn(
        &mut self,
        scope: UsageScope,
        tokens: Option<TokenCounts>,
        cost: Option<Cost>,
    ) -> TurnUsage {
        let tokens = tokens.map(|told| match scope {
            UsageScope::Turn => told,
            UsageScope::Session => {
                let before = self.tokens.replace(told);
                let goes_on = before.filter(|before| before.sum() <= told.sum());
                goes_on.map_or(told, |before| told.since(&before))
            }
        });
        let cost = cost.map(|told| {
            let before = self.cost.replace(told.clone());
            let goes_on = before
                .filter(|before| before.currency == told.currency && before.nanos <= told.nanos);
            Cost {
                nanos: goes_on.map_or(told.nanos, |before| told.nanos.saturating_sub(before.nanos)),
                currency: told.currency,
            }
        });
        TurnUsage { tokens, cost }
    }
}

/// What several turns used together, each currency by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageTotal {
    usage: Usage,
    costs: Vec<Cost>,
}

impl UsageTotal {
    /// Adds what further turns used.
    pub fn add(&mut self, more: &Usage) {
        let sum = &mut self.usage;
        for (all, more) in [
            (&mut sum.turns, more.turns),
            (&mut sum.input_tokens, more.input_tokens),
            (&mut sum.output_tokens, more.output_tokens),
            (&mut sum.cached_read_tokens, more.cached_read_tokens),
            (&mut sum.cached_write_tokens, more.cached_write_tokens),
            (&mut sum.thought_tokens, more.thought_tokens),
            (&mut sum.total_tokens, more.total_tokens),
        ] {
            *all = all.saturating_add(more);
        }
        sum.complete &= more.complete;
        let Some(cost) = &more.cost else {
            return;
        };
        let known = |known: &&mut Cost| known.currency == cost.currency;
        match self.costs.iter_mut().find(known) {
            Some(known) => known.nanos = known.nanos.saturating_add(cost.nanos),
            None => self.costs.push(cost.clone()),
        }
    }

    /// The costs by currency.
    pub fn costs(&self) -> Vec<Cost> {
        let mut costs = self.costs.clone();
        costs.sort_by(|one, other| one.currency.cmp(&other.currency));
        costs
    }

    /// The sum; its cost is `None` when nothing was told, or in several currencies.
    pub fn usage(&self) -> Usage {
        let cost = match self.costs.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        };
        Usage {
            cost,
            ..self.usage.clone()
        }
    }
}

impl<'a> FromIterator<&'a Usage> for UsageTotal {
    fn from_iter<I: IntoIterator<Item = &'a Usage>>(all: I) -> Self {
        let mut sum = Self::default();
        all.into_iter().for_each(|usage| sum.add(usage));
        sum
    }
}

/// What the rows of a listing stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// A day in UTC.
    Day,
    /// A session.
    Session,
    /// An agent.
    Agent,
    /// A runtime.
    Runtime,
    /// A model.
    Model,
    /// A room.
    Room,
}

impl GroupBy {
    /// Every grouping with its word.
    pub const WORDS: [(Self, &str); 6] = [
        (Self::Day, "day"),
        (Self::Session, "session"),
        (Self::Agent, "agent"),
        (Self::Runtime, "runtime"),
        (Self::Model, "model"),
        (Self::Room, "room"),
    ];
}

/// A stretch of time, its end not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The first moment in it.
    pub from: Timestamp,
    /// The first moment behind it.
    pub to: Timestamp,
}

impl TimeRange {
    /// The stretch a caller asks for: up to and with `now` unless it names an end, and
    /// [`limits::USAGE_SPAN_S`] long unless it names a beginning.
    ///
    /// # Errors
    /// [`Refusal::Validation`] when it does not begin before it ends.
    ///
    /// Source: contract 3.10.
    pub fn new(
        from: Option<Timestamp>,
        to: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let to = to.unwrap_or(Timestamp::from_millis(now.as_millis().saturating_add(1)));
        let from = from.unwrap_or(to.plus_seconds(-limits::USAGE_SPAN_S));
        if from >= to {
            return Err(Refusal::field("from", "must be earlier than to"));
        }
        Ok(Self { from, to })
    }
}

/// What was used in a stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageReport {
    /// The stretch.
    pub span: TimeRange,
    /// One row for each key, in the order of the keys.
    pub rows: Vec<UsageRow>,
}

/// What one day, session, agent, runtime, model or room used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageRow {
    /// The day as `2026-11-21`, or the id, type or name; `""` for turns that have none.
    pub key: String,
    /// What it used.
    pub sum: UsageTotal,
}

/// Joins sums under the same key, in the order of the keys.
pub fn rows(parts: impl IntoIterator<Item = (String, Usage)>) -> Vec<UsageRow> {
    let mut rows: std::collections::BTreeMap<String, UsageTotal> = Default::default();
    for (key, usage) in parts {
        rows.entry(key).or_default().add(&usage);
    }
    let row = |(key, sum)| UsageRow { key, sum };
    rows.into_iter().map(row).collect()
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
