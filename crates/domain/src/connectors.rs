//! Connectors: services outside this computer whose operations people grant to agents, one
//! account and one operation at a time.
//! Pure: rows are `store::connectors`, packets are `world::connectors`, deeds `hall::connectors`.
//! Source: contract 5 part A.

pub mod attempts;
pub mod catalog;
pub mod classification;
pub mod connections;
pub mod executions;
pub mod flows;
pub mod openapi;
pub mod operations;
pub mod providers;
pub mod refused;
pub mod rehearsal;
pub mod requests;
pub mod results;
pub mod reviews;
pub mod revisions;
pub mod sent;
pub mod told;
pub mod toolkit_bodies;
pub mod toolkits;
pub mod tools;
pub mod usage;

pub use refused::Refused;
