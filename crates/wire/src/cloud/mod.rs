//! What the companion service and an instance say to each other. Source: contract 5.11, part C.

pub mod billing;
pub mod instances;
pub mod offers;
pub mod problems;
