//! Connectors: rows of provider instances, connections, grants and executions.

pub mod executions;
pub mod grants;
pub mod overrides;
pub mod reviews;
pub mod revisions;
