//! Connectors: services outside this computer, what agents may run there, and running it.

mod access;
mod executions;
mod facts;
mod reviews;
mod running;
mod sending;
mod usage;

pub use access::{Wish, Wished};
pub use executions::Execute;
pub use facts::Accessible;
pub use reviews::{Granted, Reviewed};
pub(crate) use running::recover;
pub use usage::UsagePage;
