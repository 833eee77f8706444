//! The clock of `#clock`: the one that every process of the machine reads alike.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the machine's monotonic clock.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = now.tv_sec.unsigned_abs();
    seconds * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
