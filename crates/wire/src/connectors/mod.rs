//! Connectors on the wire. Source: contract 5 part A.

pub mod executions;
pub mod reviews;
pub mod tools;
