//! Offers and billing pages, as people see them. Source: contract 5.11.

use guildhall_domain::cloud::{billing::Billing, offers as rules};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    offers::{Denomination, Interval, Offer},
    problems::CloudProblem,
};
use crate::fields::{Ask, Fields};

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
        let Some(offers) = offers else {
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

/// What came of asking for a billing page. Either an address, or why there is none: the service's
/// own problem or one sentence.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BillingAnswer {
    /// Whether there is an address.
    pub ok: bool,
    /// The address to open in a browser. No payment is made here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://billing.example/session/1")]
    pub url: Option<String>,
    /// One sentence that says why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'static str>,
    /// The service's own problem (RFC 9457), as it wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CloudProblem>)]
    pub problem: Option<Map<String, Value>>,
}

impl From<Billing<Map<String, Value>>> for BillingAnswer {
    fn from(billing: Billing<Map<String, Value>>) -> Self {
        let mut answer = Self {
            ok: false,
            url: None,
            message: None,
            problem: None,
        };
        match billing {
            Billing::Url(url) => {
                answer.ok = true;
                answer.url = Some(url.into());
            }
            Billing::Message(message) => answer.message = Some(message),
            Billing::Problem(problem) => answer.problem = Some(problem),
        }
        answer
    }
}
