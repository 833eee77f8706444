//! Usage on the wire. Source: contract 3.10.

use guildhall_domain::{Timestamp, usage};
use serde::Serialize;
use utoipa::ToSchema;

/// An amount of money.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Cost {
    /// Units of the currency.
    #[schema(example = 0.25)]
    pub amount: f64,
    /// ISO 4217, upper case.
    #[schema(example = "USD")]
    pub currency: String,
}

impl From<usage::Cost> for Cost {
    fn from(cost: usage::Cost) -> Self {
        Self {
            amount: cost.amount(),
            currency: cost.currency,
        }
    }
}

/// What one or several turns used, as their agents told it; nothing is estimated.
#[derive(Clone, Debug, Serialize, ToSchema)]
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
    /// What it cost; null when nothing was told, or in several currencies.
    #[schema(required = true)]
    pub cost: Option<Cost>,
    /// False when at least one turn reported nothing.
    pub complete: bool,
}

impl From<usage::Usage> for Usage {
    fn from(usage: usage::Usage) -> Self {
        Self {
            turns: usage.turns,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_read_tokens: usage.cached_read_tokens,
            cached_write_tokens: usage.cached_write_tokens,
            thought_tokens: usage.thought_tokens,
            total_tokens: usage.total_tokens,
            context_used: usage.context_used,
            context_size: usage.context_size,
            cost: usage.cost.map(Into::into),
            complete: usage.complete,
        }
    }
}

/// What one day, session, agent, runtime, model or room used.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// The day in UTC, the id, the type or the name; `""` for turns that have none.
    #[schema(example = "2026-11-21")]
    pub key: String,
    /// What it cost, each currency by itself.
    pub costs: Vec<Cost>,
    /// The sums.
    #[serde(flatten)]
    pub usage: Usage,
}

impl From<usage::UsageRow> for UsageRow {
    fn from(row: usage::UsageRow) -> Self {
        Self {
            costs: row.sum.costs().into_iter().map(Into::into).collect(),
            usage: row.sum.usage().into(),
            key: row.key,
        }
    }
}

/// What was used in a stretch of time.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct UsageReport {
    /// The first moment in it.
    #[schema(value_type = String, format = DateTime)]
    pub from: Timestamp,
    /// The first moment behind it.
    #[schema(value_type = String, format = DateTime)]
    pub to: Timestamp,
    /// One row for each key, in the order of the keys.
    pub rows: Vec<UsageRow>,
}

impl From<usage::UsageReport> for UsageReport {
    fn from(report: usage::UsageReport) -> Self {
        Self {
            from: report.span.from,
            to: report.span.to,
            rows: report.rows.into_iter().map(Into::into).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::usage::{Cost, TokenCounts, TurnUsage, UsageRow, UsageTotal};

    #[test]
    fn a_row_has_its_key_its_costs_and_every_sum() {
        let tokens = TokenCounts {
            input: 10,
            output: 5,
            total: 15,
            ..TokenCounts::default()
        };
        let turn = |nanos, currency: &str| {
            let currency = currency.to_owned();
            let figures = TurnUsage {
                tokens: Some(tokens),
                cost: Some(Cost { nanos, currency }),
            };
            figures.usage()
        };
        let sum: UsageTotal = [&turn(250_000_000, "USD"), &turn(1, "EUR")]
            .into_iter()
            .collect();
        let key = "2026-11-21".to_owned();
        let row = super::UsageRow::from(UsageRow { key, sum });
        let expected = serde_json::json!({
            "key": "2026-11-21", "turns": 2, "inputTokens": 20, "outputTokens": 10,
            "cachedReadTokens": 0, "cachedWriteTokens": 0, "thoughtTokens": 0, "totalTokens": 30,
            "contextUsed": 0, "contextSize": 0, "cost": null, "complete": true,
            "costs": [{"amount": 1e-9, "currency": "EUR"}, {"amount": 0.25, "currency": "USD"}],
        });
        assert_eq!(serde_json::to_value(row).unwrap(), expected);
    }
}
