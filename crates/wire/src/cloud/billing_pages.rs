//! Offers and billing pages, as people see them. Source: contract 5.11.

use guildhall_domain::cloud::{billing::Billing, offers as rules};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::offers::{Denomination, Interval, Offer};
use crate::request_fields::{Ask, Fields};

/// What the cloud service sells, in its order.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct CloudOffers {
    /// Whether there is anything to be had: a service that is set up and linked, and sells.
    pub available: bool,
    /// The offers.
    pub offers: Vec<Offer>,
    /// What their amounts are in.
    #[schema(required = true)]
    pub denomination: Option<Denomination>,
}

impl From<Option<rules::Offers>> for CloudOffers {
    fn from(offers: Option<rules::Offers>) -> Self {
        // What a service without offers counts in tells nobody anything.
        let Some(offers) = offers.filter(|told| !told.offers.is_empty()) else {
            return Self::default();
        };
        let denomination = offers.denomination.map(|told| Denomination {
            currency: told.currency,
            micro_per_credit: told.micro_per_credit.to_string(),
        });
        Self {
            available: true,
            offers: offers.offers.into_iter().map(offer).collect(),
            denomination,
        }
    }
}

fn offer(offer: rules::Offer) -> Offer {
    Offer {
        sku_id: offer.sku_id,
        plan_id: offer.plan_id,
        display_name: offer.display_name,
        interval: match offer.interval {
            rules::Interval::Day => Interval::Day,
            rules::Interval::Week => Interval::Week,
            rules::Interval::Month => Interval::Month,
            rules::Interval::Year => Interval::Year,
            rules::Interval::Once => Interval::Once,
        },
        amount_micro: offer.amount.to_string(),
        limits: offer.limits,
    }
}

/// Which offer a checkout is for; the other pages take nothing.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenBilling {
    /// Of `checkout`: the offer's id, as the offers name it, 1 to 200 characters.
    #[schema(required = false, example = "price_team_month")]
    pub sku_id: String,
}

impl Ask for OpenBilling {
    fn read(fields: &mut Fields) -> Self {
        Self {
            sku_id: fields.text("skuId"),
        }
    }
}

/// The body of a page that takes no fields: whatever an object holds is ignored.
#[derive(Clone, Copy, Debug)]
pub struct NoFields;

impl Ask for NoFields {
    fn read(_fields: &mut Fields) -> Self {
        Self
    }
}

/// What came of asking for a billing page: an address, or why there is none, by one sentence or by
/// the service's own problem.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum BillingAnswer {
    /// Where it is.
    Address {
        /// True.
        #[schema(example = true)]
        ok: bool,
        /// To be opened in a browser. No payment is made here.
        #[schema(example = "https://billing.example/session/1")]
        url: String,
    },
    /// Why not, in a sentence of this server.
    Message {
        /// False.
        #[schema(example = false)]
        ok: bool,
        /// The sentence.
        message: &'static str,
    },
    /// Why not, in the service's own words.
    Problem {
        /// False.
        #[schema(example = false)]
        ok: bool,
        /// The problem as it came (RFC 9457): `type`, `title`, `status`, `detail`, `instance`
        /// and `code`, and where they say something `retryAfterMs`, `requiredPlanId`,
        /// `requiredPlanDisplayName`, `actionUrl` and `actionLabel`.
        #[schema(value_type = Object)]
        problem: Map<String, Value>,
    },
}

impl From<Billing<Map<String, Value>>> for BillingAnswer {
    fn from(billing: Billing<Map<String, Value>>) -> Self {
        match billing {
            Billing::Url(url) => Self::Address {
                ok: true,
                url: url.into(),
            },
            Billing::Message(message) => Self::Message { ok: false, message },
            Billing::Problem(problem) => Self::Problem { ok: false, problem },
        }
    }
}
