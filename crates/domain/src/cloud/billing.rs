//! Billing pages: addresses that the cloud service gives out, and the words in which it or this
//! server says no. Source: spec, `POST /api/cloud/billing/{page}`; contract 5.11.

use serde::{Deserialize, Serialize};
use url::Url;

/// A page of the service where money is spoken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BillingPage {
    /// Where a plan is changed or ended, and invoices are.
    Portal,
    /// Where one offer is bought.
    Checkout,
    /// Where credits are bought.
    Topup,
}

impl BillingPage {
    /// Every page with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Portal, "portal"),
        (Self::Checkout, "checkout"),
        (Self::Topup, "topup"),
    ];

    /// The page of a word.
    pub fn parse(word: &str) -> Option<Self> {
        let mut known = Self::WORDS.into_iter();
        known
            .find(|(_, known)| *known == word)
            .map(|(page, _)| page)
    }

    /// What is said where the service has no such page for the account.
    pub const fn missing(self) -> &'static str {
        match self {
            Self::Portal => "This account has no plan yet, and so no page to manage one.",
            Self::Checkout => "The cloud service no longer has this offer. Reload the offers.",
            Self::Topup => "The cloud service sells no credits to this account.",
        }
    }
}

/// What is said where no service is set up.
pub const NOT_CONFIGURED: &str = "No cloud service is set up. Nothing here needs one.";
/// What is said where this instance is not linked.
pub const NOT_LINKED: &str = "This instance is not linked to an account of the cloud service.";
/// What is said where the service does not answer.
pub const UNREACHABLE: &str = "The cloud service could not be reached. Try again later.";
/// What is said where the service answers what is of no use.
pub const UNUSABLE: &str = "The cloud service answered with nothing that can be opened.";

/// What came of asking for a page. `P` is the service's own problem, as it wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BillingPageOutcome<P> {
    /// Open this in a browser.
    Url(Url),
    /// The service's own words.
    Problem(P),
    /// A sentence of ours.
    Message(&'static str),
}
