//! What is told of the link and of billing pages: the payloads of their events. None holds a
//! code, a key or an address. Source: contract 5.11, "Events of part B".

use serde::{Deserialize, Serialize};

use super::{
    billing::BillingPage,
    link::{LinkState, RelinkOutcome},
};

/// The link moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkChanged {
    /// Where it is.
    pub state: LinkState,
    /// How the last flow ended, where a key was held all along.
    pub relink_outcome: Option<RelinkOutcome>,
    /// Whose the key is.
    pub account_label: Option<String>,
}

/// The service began to answer, or to be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatChanged {
    /// Whether it answered well.
    pub ok: bool,
}

/// What came of asking for a billing page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BillingOutcome {
    /// An address.
    Url,
    /// The service's own words.
    Problem,
    /// A sentence of ours.
    Message,
}

/// Somebody asked for a billing page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BillingOpened {
    /// Which.
    pub page: BillingPage,
    /// What came of it.
    pub outcome: BillingOutcome,
}
