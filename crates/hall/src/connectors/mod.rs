//! Connectors: services outside this computer whose operations people grant to agents.
//! Source: contract 5 part A.

mod accounts;
mod browser;
mod catalog;
mod connections;
mod credentials;
mod flows;
mod life;
mod moving;
mod polling;
mod providers;
mod secrets;
mod starting;
mod targets;
mod toolkits;

pub use self::{
    browser::{ConnectorPage, Finished, Leaving},
    catalog::CatalogPage,
    connections::ConnectionSeen,
    credentials::Renewing,
    flows::{Begun, FlowSeen},
    providers::ProviderSeen,
};
pub(crate) use self::{
    life::{recover, start},
    providers::found,
};
