//! The clock: the only place that reads the wall clock.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use guildhall_domain::Moment;

/// Where "now" comes from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's wall clock.
    #[default]
    System,
    /// A clock tests set and move.
    Scripted(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `at` until it is moved.
    pub fn scripted(at: Moment) -> Self {
        Self::Scripted(Arc::new(AtomicI64::new(at.as_millis())))
    }

    /// This moment, in whole milliseconds.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock everybody else asks"
    )]
    pub fn now(&self) -> Moment {
        match self {
            Self::System => Moment::from_millis(jiff::Timestamp::now().as_millisecond()),
            Self::Scripted(at) => Moment::from_millis(at.load(Ordering::SeqCst)),
        }
    }

    /// Moves a scripted clock by `seconds`; the machine's own clock is not ours to move.
    pub fn advance(&self, seconds: i64) {
        if let Self::Scripted(at) = self {
            at.fetch_add(seconds * 1_000, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_says_when_it_is() {
        let scripted = Clock::scripted(Moment::from_millis(5));
        scripted.advance(2);
        assert_eq!(scripted.now(), Moment::from_millis(2_005));
        let system = Clock::System;
        assert!(
            system.now() > Moment::from_millis(1_767_225_600_000),
            "the year 2026 has begun"
        );
    }
}
