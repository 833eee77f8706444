//! Connectors on the wire. Source: contract 5 part A.

pub mod connections;
pub mod executions;
pub mod flows;
pub mod reviews;
pub mod tools;
