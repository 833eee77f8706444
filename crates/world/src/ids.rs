//! New ids: UUIDv7, so that they grow with time (RFC 9562).

use uuid::Uuid;

/// A new UUIDv7, to be wrapped in the id type of what it names.
#[expect(clippy::disallowed_methods, reason = "this is where ids come from")]
pub fn new() -> Uuid {
    Uuid::now_v7()
}
