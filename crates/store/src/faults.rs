//! Faults of the engine: which of its errors means what to a caller.

use guildhall_domain::{Error, Fault, outcome::FaultKind};
use rusqlite::ErrorCode;

/// What the engine's `error` is, met while doing `during`.
pub(crate) fn fault(during: &'static str, error: rusqlite::Error) -> Fault {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => FaultKind::StorageFull,
        _ => FaultKind::Broken,
    };
    Fault::new(kind, during, error)
}

/// The same as a use case's outcome.
pub(crate) fn error(during: &'static str, error: rusqlite::Error) -> Error {
    Error::Fault(fault(during, error))
}
