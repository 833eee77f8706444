//! Which prices of the payment service are offers. Pure: they are listed by `stripe`.

use std::collections::BTreeMap;

use guildhall_wire::cloud::offers::{BillingInterval, Denomination, Offer, Offers};
use serde::Deserialize;

use crate::currency_amounts;

/// Marks a product that is offered, with the value `1`.
const OFFERED: &str = "guildhall";
/// Names the plan a product brings; without it the product's id does.
const PLAN: &str = "planId";
/// Begins the name of a bound, such as `limit.agents`.
const LIMIT: &str = "limit.";
/// What one credit is worth, in millionths of the currency.
const MICRO_PER_CREDIT: &str = "microPerCredit";
/// What one credit is worth where no product says so: one unit of the currency.
const USUAL_MICRO_PER_CREDIT: u128 = 1_000_000;

/// A price as the payment service tells it, as far as it matters here.
#[derive(Clone, Debug, Deserialize)]
pub struct StripePrice {
    /// Its id.
    pub id: String,
    currency: String,
    /// Absent where the amount is chosen on the page, or has fractions of the smallest unit.
    unit_amount: Option<i64>,
    recurring: Option<RecurringPrice>,
    product: StripeProduct,
}

#[derive(Clone, Debug, Deserialize)]
struct RecurringPrice {
    interval: String,
    interval_count: u64,
    /// `licensed`, or `metered` where the amount is that of one unit used.
    #[serde(default)]
    usage_type: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct StripeProduct {
    id: String,
    name: String,
    active: bool,
    metadata: BTreeMap<String, String>,
}

/// The offers among these prices, in their order.
///
/// All are in the currency of the first: an amount says nothing without its currency, and there is
/// one for all.
pub fn offers_of(prices: &[StripePrice]) -> Offers {
    let offered = |price: &&StripePrice| price.offer().is_some();
    let Some(first) = prices.iter().find(offered) else {
        return Offers::default();
    };
    let priced: Vec<&StripePrice> = prices
        .iter()
        .filter(|price| price.currency.eq_ignore_ascii_case(&first.currency))
        .filter(offered)
        .collect();
    let credit = priced.iter().find_map(|price| price.product.credit());
    Offers {
        offers: priced.iter().filter_map(|price| price.offer()).collect(),
        denomination: Some(Denomination {
            currency: first.currency.to_ascii_uppercase(),
            micro_per_credit: credit.unwrap_or(USUAL_MICRO_PER_CREDIT).to_string(),
        }),
    }
}

impl StripePrice {
    fn offer(&self) -> Option<Offer> {
        let product = &self.product;
        let is_offered = product.active && product.is(OFFERED, "1");
        let amount =
            currency_amounts::to_micro(self.unit_amount.filter(|_| is_offered)?, &self.currency)?;
        let plan = product.metadata.get(PLAN).filter(|plan| !plan.is_empty());
        Some(Offer {
            sku_id: self.id.clone(),
            plan_id: plan.unwrap_or(&product.id).clone(),
            display_name: product.name.clone(),
            interval: self.interval()?,
            amount_micro: amount.to_string(),
            limits: product.limits(),
        })
    }

    /// `None` for every second month and the like, for which there is no word, and for what is
    /// paid by use: its amount is nobody's bill.
    fn interval(&self) -> Option<BillingInterval> {
        let Some(recurring) = &self.recurring else {
            return Some(BillingInterval::Once);
        };
        if recurring.usage_type.as_deref() == Some("metered") {
            return None;
        }
        match (recurring.interval.as_str(), recurring.interval_count) {
            ("day", 1) => Some(BillingInterval::Day),
            ("week", 1) => Some(BillingInterval::Week),
            ("month", 1) => Some(BillingInterval::Month),
            ("year", 1) => Some(BillingInterval::Year),
            _ => None,
        }
    }
}

impl StripeProduct {
    fn is(&self, name: &str, value: &str) -> bool {
        self.metadata.get(name).is_some_and(|said| said == value)
    }

    fn limits(&self) -> BTreeMap<String, i64> {
        let limit = |(name, value): (&String, &String)| {
            let name = name.strip_prefix(LIMIT).filter(|name| !name.is_empty())?;
            Some((name.to_owned(), value.trim().parse().ok()?))
        };
        self.metadata.iter().filter_map(limit).collect()
    }

    fn credit(&self) -> Option<u128> {
        let said = self.metadata.get(MICRO_PER_CREDIT)?.trim().parse().ok();
        said.filter(|micro| *micro > 0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn price(id: &str, changed: &Value) -> StripePrice {
        let mut price = json!({
            "id": id, "object": "price", "currency": "eur", "unit_amount": 1200,
            "recurring": {"interval": "month", "interval_count": 1, "usage_type": "licensed"},
            "product": {"id": "prod_1", "object": "product", "name": "Team", "active": true,
                "metadata": {"guildhall": "1", "planId": "team", "limit.agents": "5"}},
        });
        for (name, value) in changed.as_object().unwrap() {
            price[name] = value.clone();
        }
        serde_json::from_value(price).unwrap()
    }

    fn product(metadata: &Value) -> Value {
        json!({"product": {"id": "prod_2", "name": "Other", "active": true, "metadata": metadata}})
    }

    #[test]
    fn a_price_of_an_offered_product_is_an_offer() {
        let offers = offers_of(&[price("price_1", &json!({}))]);
        let expected = json!({
            "offers": [{"skuId": "price_1", "planId": "team", "displayName": "Team",
                "interval": "month", "amountMicro": "12000000", "limits": {"agents": 5}}],
            "denomination": {"currency": "EUR", "microPerCredit": "1000000"},
        });
        assert_eq!(serde_json::to_value(offers).unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_said_is_no_offer() {
        let gone = json!({"product": {"id": "p", "name": "n", "active": false,
            "metadata": {"guildhall": "1"}}});
        for changed in [
            json!({"unit_amount": null}),
            json!({"unit_amount": -1}),
            json!({"recurring": {"interval": "month", "interval_count": 3}}),
            json!({"recurring": {"interval": "fortnight", "interval_count": 1}}),
            json!({"recurring": {"interval": "month", "interval_count": 1,
                "usage_type": "metered"}}),
            product(&json!({})),
            product(&json!({"guildhall": "0"})),
            gone,
        ] {
            let offers = offers_of(&[price("price_1", &changed)]);
            assert_eq!(offers, Offers::default(), "{changed}");
        }
    }

    #[test]
    fn offers_keep_their_order_and_have_one_currency() {
        let other = product(&json!({"guildhall": "1", "microPerCredit": "10000",
            "limit.agents": "many", "limit.": "1", "limit.seats": "-1"}));
        let offers = offers_of(&[
            price("price_0", &json!({"unit_amount": null})),
            price("price_3", &json!({"currency": "EUR", "recurring": null})),
            price("price_2", &json!({"currency": "usd"})),
            price("price_1", &other),
        ]);
        let ids: Vec<&str> = offers
            .offers
            .iter()
            .map(|offer| offer.sku_id.as_str())
            .collect();
        assert_eq!(ids, ["price_3", "price_1"]);
        assert_eq!(offers.offers[0].interval, BillingInterval::Once);
        assert_eq!(offers.offers[1].plan_id, "prod_2");
        assert_eq!(
            offers.offers[1].limits,
            BTreeMap::from([("seats".to_owned(), -1)])
        );
        let credit = offers.denomination.unwrap().micro_per_credit;
        assert_eq!(credit, "10000");
    }
}
