//! Faults of the engine: which of its errors means what to a caller.

use guildhall_domain::{Fault, errors::FaultKind};
use rusqlite::ErrorCode;

/// What the engine's `error` is, met while doing `during`.
pub(crate) fn fault(during: &'static str, error: rusqlite::Error) -> Fault {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => FaultKind::StorageFull,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => FaultKind::StoreDamaged,
        Some(ErrorCode::SystemIoFailure) => FaultKind::StorageIo,
        _ => FaultKind::Broken,
    };
    Fault::new(kind, during, error)
}
