//! Connectors on the wire. Source: contract 5 part A.

pub mod catalog;
pub mod connections;
pub mod executions;
pub mod flows;
pub mod providers;
pub mod reviews;
pub mod toolkits;
pub mod tools;
