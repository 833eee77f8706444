//! The cloud: what an instance and the companion service say to each other, and what people are
//! shown of it here. Source: contract 5 parts B and C.

pub mod billing;
pub mod instances;
pub mod link;
pub mod offers;
pub mod pages;
pub mod problems;
