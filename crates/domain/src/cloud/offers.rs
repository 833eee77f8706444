//! Offers: what the cloud service sells, as it says it. Source: contract 5.11.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How often an offer is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BillingInterval {
    /// Each day.
    Day,
    /// Each week.
    Week,
    /// Each month.
    Month,
    /// Each year.
    Year,
    /// Once.
    Once,
}

/// Money: whole micro units of a currency, written as a decimal text so that no reader rounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroAmount(u64);

impl MicroAmount {
    /// That many micro units.
    pub const fn new(units: u64) -> Self {
        Self(units)
    }

    /// How many micro units.
    pub const fn units(self) -> u64 {
        self.0
    }

    /// Reads digits alone; `None` for any other text and beyond 2^64.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_digits.then(|| text.parse().ok().map(Self)).flatten()
    }
}

impl std::fmt::Display for MicroAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// One offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its id, with which a checkout is asked for.
    pub sku_id: String,
    /// The plan it is of.
    pub plan_id: String,
    /// Its name.
    pub display_name: String,
    /// How often it is paid for.
    pub interval: BillingInterval,
    /// What it costs.
    pub amount: MicroAmount,
    /// What it allows, by name.
    pub limits: BTreeMap<String, i64>,
}

/// What money and credits are counted in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denomination {
    /// ISO 4217, in small letters or great.
    pub currency: String,
    /// Micro units of one credit.
    pub micro_per_credit: MicroAmount,
}

/// What the service sells, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// The offers.
    pub offers: Vec<Offer>,
    /// What they are counted in.
    pub denomination: Option<Denomination>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_digits_alone() {
        for (text, want) in [
            ("0", Some(0)),
            ("12000000", Some(12_000_000)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("", None),
            ("٣", None),
        ] {
            assert_eq!(
                MicroAmount::parse(text).map(MicroAmount::units),
                want,
                "{text}"
            );
        }
        assert_eq!(MicroAmount::new(7).to_string(), "7");
    }
}
