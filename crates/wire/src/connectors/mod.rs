//! Connectors on the wire. Source: contract 5 part A.

pub mod auth_flows;
pub mod catalog;
pub mod connections;
pub mod executions;
pub mod providers;
pub mod reviews;
pub mod toolkits;
pub mod tools;
