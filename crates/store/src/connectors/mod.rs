//! Connectors: provider instances with their toolkits and operations, connections, grants and
//! executions. Secrets are kept sealed; sealing and opening them is `hall::connectors`.

pub mod auth_flows;
pub mod connections;
pub mod executions;
pub mod grants;
pub mod operation_revisions;
pub mod operations;
pub mod providers;
pub mod reviews;
pub mod session_connections;
pub mod toolkits;
