//! Connectors: services outside this computer whose operations people grant to agents, and
//! running them.
//! Source: contract 5 part A.

mod access;
mod accounts;
mod browser;
mod catalog;
mod connections;
mod credentials;
mod executions;
mod facts;
mod flows;
mod life;
mod moving;
mod polling;
mod providers;
mod reviews;
mod running;
mod secrets;
mod sending;
mod sessions;
mod starting;
mod stoppable;
mod targets;
mod toolkits;
mod usage;

pub use self::{
    access::{Wish, Wished},
    browser::{ConnectorPage, Finished},
    catalog::CatalogPage,
    connections::ConnectionSeen,
    credentials::Renewing,
    executions::Execute,
    flows::{Begun, FlowSeen},
    providers::ProviderSeen,
    reviews::{Granted, Reviewed},
    sessions::Reachable,
    usage::UsagePage,
};
pub(crate) use self::{
    life::{recover, start},
    providers::found,
};
