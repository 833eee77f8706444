//! Connectors: services outside this computer whose operations people grant to agents, and
//! running them.
//! Source: contract 5 part A.

mod access;
mod catalog;
mod executions;
mod facts;
mod providers;
mod reviews;
mod running;
mod sending;
mod toolkits;
mod usage;

pub use self::{
    access::{Wish, Wished},
    catalog::CatalogPage,
    executions::Execute,
    facts::Accessible,
    providers::ProviderSeen,
    reviews::{Granted, Reviewed},
    usage::UsagePage,
};
pub(crate) use self::{providers::found, running::recover};
