//! Connectors: provider instances with their toolkits and operations, connections, grants and
//! executions. Secrets are kept sealed; sealing and opening them is `hall::connectors`.

pub mod connections;
pub mod executions;
pub mod flows;
pub mod grants;
pub mod operations;
pub mod overrides;
pub mod providers;
pub mod reviews;
pub mod revisions;
pub mod toolkits;
