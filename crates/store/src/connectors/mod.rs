//! Connectors: what is kept of services outside this computer, and of the accounts there.
//! Secrets are kept sealed; sealing and opening them is `hall::connectors`.

pub mod connections;
pub mod flows;
pub mod operations;
pub mod providers;
pub mod toolkits;
