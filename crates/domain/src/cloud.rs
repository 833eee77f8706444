//! The link to a cloud service, its offers and billing pages: optional, and without it nothing
//! is ever sent.
//! Pure: the row is `store::cloud`, packets are `world::cloud_client`, deeds `hall::cloud`.
//! Source: contract 5 part B.

pub mod billing;
pub mod event_payloads;
pub mod link;
pub mod offers;
pub mod urls;

/// A no of the link and of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloudRefusal {
    /// No cloud service is set up.
    NotConfigured,
    /// The service did not answer.
    Unreachable,
    /// What it answered is of no use.
    AnswerInvalid,
    /// There is no such billing page.
    PageNotFound,
}
