//! Connectors: services outside this computer whose operations people grant to agents.
//! Source: contract 5 part A.

mod catalog;
mod providers;
mod toolkits;

pub(crate) use self::providers::found;
pub use self::{catalog::CatalogPage, providers::ProviderSeen};
