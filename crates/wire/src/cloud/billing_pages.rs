//! Offers and billing pages, as people see them. Source: contract 5.11.

use guildhall_domain::cloud::{billing::BillingPageOutcome, offers as rules};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::offers::{BillingInterval, Denomination, Offer};
use crate::request_fields::{Fields, FromFields};

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
            rules::BillingInterval::Day => BillingInterval::Day,
            rules::BillingInterval::Week => BillingInterval::Week,
            rules::BillingInterval::Month => BillingInterval::Month,
            rules::BillingInterval::Year => BillingInterval::Year,
            rules::BillingInterval::Once => BillingInterval::Once,
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

impl FromFields for OpenBilling {
    fn read(fields: &mut Fields) -> Self {
        Self {
            sku_id: fields.text("skuId"),
        }
    }
}

/// The body of a page that takes no fields: whatever an object holds is ignored.
#[derive(Clone, Copy, Debug)]
pub struct NoFields;

impl FromFields for NoFields {
    fn read(_fields: &mut Fields) -> Self {
        Self
    }
}

/// What came of asking for a billing page: an address, or why there is none, by one sentence or by
/// the service's own problem.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum BillingPageResponse {
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

impl From<BillingPageOutcome<Map<String, Value>>> for BillingPageResponse {
    fn from(billing: BillingPageOutcome<Map<String, Value>>) -> Self {
        match billing {
            BillingPageOutcome::Url(url) => Self::Address {
                ok: true,
                url: url.into(),
            },
            BillingPageOutcome::Message(message) => Self::Message { ok: false, message },
            BillingPageOutcome::Problem(problem) => Self::Problem { ok: false, problem },
        }
    }
}
