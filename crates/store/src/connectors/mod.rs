//! Connectors: provider instances with their toolkits and operations.
//! Secrets are kept sealed; sealing and opening them is `hall::connectors`.

pub mod operations;
pub mod providers;
pub mod toolkits;
