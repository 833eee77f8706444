//! The cloud: what an instance and the companion service say to each other, and what people are
//! shown of it here. Source: contract 5 parts B and C.

pub mod billing;
pub mod billing_pages;
pub mod heartbeats;
pub mod link;
pub mod offers;
pub mod problems;
