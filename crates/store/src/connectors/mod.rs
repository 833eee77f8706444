//! Connectors: what is kept of services outside this computer, and of the accounts there.

pub mod connections;
pub mod flows;
