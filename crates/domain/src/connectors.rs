//! Connectors: services outside this computer whose operations people grant to agents, one
//! account and one operation at a time.
//! Pure: rows are `store::connectors`, packets are `world::connectors`, deeds `hall::connectors`.
//! Source: contract 5 part A.

pub mod auth_flows;
pub mod catalog;
pub mod classification;
pub mod connections;
pub mod event_payloads;
pub mod executions;
pub mod http_requests;
pub mod mcp_operations;
pub mod openapi;
pub mod operation_revisions;
pub mod operations;
pub mod providers;
pub mod refusals;
pub mod results;
pub mod retries;
pub mod reviews;
pub mod scripted_toolkit;
pub mod send_result;
pub mod toolkit_requests;
pub mod toolkits;
pub mod usage;

pub use refusals::ConnectorRefusal;
