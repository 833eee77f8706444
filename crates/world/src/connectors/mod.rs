//! Connectors: reaching services outside this computer.

pub mod arguments;
