//! Approvals: a deed of a program or an agent waits for a person's yes, which is used once, in
//! the transaction of the deed.

mod permits;

pub use guildhall_domain::approvals::Wanted;
pub use permits::{Approved, Listening, Permit, Presented};
