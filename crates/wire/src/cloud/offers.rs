//! What can be bought. Money is a text of integer micro units. Source: contract 5.11.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Everything that can be bought, in the service's order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Offers {
    /// The offers.
    pub offers: Vec<Offer>,
    /// What their amounts are in; null when there are none.
    #[schema(required = true)]
    pub denomination: Option<Denomination>,
}

/// One thing that can be bought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// Names it when it is bought.
    #[schema(example = "price_1")]
    pub sku_id: String,
    /// The plan it brings.
    #[schema(example = "team")]
    pub plan_id: String,
    /// What people call it.
    pub display_name: String,
    /// How often it is paid.
    pub interval: BillingInterval,
    /// What it costs each time, in millionths of the currency.
    #[schema(example = "12000000")]
    pub amount_micro: String,
    /// What the plan bounds, by name.
    pub limits: BTreeMap<String, i64>,
}

/// How often something is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    /// Once and no more.
    Once,
}

/// What amounts are in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Denomination {
    /// ISO 4217, in capitals.
    #[schema(example = "EUR")]
    pub currency: String,
    /// What one credit is worth, in millionths of the currency.
    #[schema(example = "1000000")]
    pub micro_per_credit: String,
}
