//! The clock: the only place that reads the wall clock.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use guildhall_domain::Timestamp;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// Where "now" comes from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's wall clock.
    #[default]
    System,
    /// A clock tests set and move.
    Scripted(Arc<ScriptedTime>),
}

/// What a scripted clock says, and who waits for it.
#[derive(Debug)]
pub struct ScriptedTime {
    now_ms: watch::Sender<i64>,
    /// The moments that are waited for. A std mutex: never held over an await.
    awaited_ms: Mutex<Vec<i64>>,
}

/// Somebody who waits for a scripted clock, until it is dropped.
struct ScriptedWait<'a>(&'a ScriptedTime, i64);

impl ScriptedTime {
    fn awaited_instants(&self) -> MutexGuard<'_, Vec<i64>> {
        self.awaited_ms
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn wait(&self, wait: Duration) {
        let mut now_ms = self.now_ms.subscribe();
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        let until_ms = now_ms.borrow().saturating_add(wait_ms);
        self.awaited_instants().push(until_ms);
        let _waiting = ScriptedWait(self, until_ms);
        // It cannot close: what is moved is borrowed here.
        let _ = now_ms.wait_for(|now_ms| *now_ms >= until_ms).await;
    }
}

impl Drop for ScriptedWait<'_> {
    fn drop(&mut self) {
        let mut awaited = self.0.awaited_instants();
        if let Some(place) = awaited.iter().position(|at| *at == self.1) {
            awaited.swap_remove(place);
        }
    }
}

impl Clock {
    /// A clock that stands at `at` until it is moved.
    pub fn scripted(at: Timestamp) -> Self {
        Self::Scripted(Arc::new(ScriptedTime {
            now_ms: watch::Sender::new(at.as_millis()),
            awaited_ms: Mutex::default(),
        }))
    }

    /// This moment, in whole milliseconds.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock everybody else asks"
    )]
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp::from_millis(jiff::Timestamp::now().as_millisecond()),
            Self::Scripted(script) => Timestamp::from_millis(*script.now_ms.borrow()),
        }
    }

    /// Moves a scripted clock by `seconds`; the machine's own clock is not ours to move.
    pub fn advance(&self, seconds: i64) {
        if let Self::Scripted(script) = self {
            script
                .now_ms
                .send_modify(|now_ms| *now_ms += seconds * 1_000);
        }
    }

    /// Waits that long; on a scripted clock, until it was moved so far. Can be given up any time.
    pub async fn wait(&self, wait: Duration) {
        match self {
            Self::System => sleep_until(Instant::now() + wait).await,
            Self::Scripted(script) => script.wait(wait).await,
        }
    }

    /// The next moment that somebody waits for a scripted clock to reach.
    pub fn awaited_instants(&self) -> Option<Timestamp> {
        let Self::Scripted(script) = self else {
            return None;
        };
        let now_ms = *script.now_ms.borrow();
        let awaited = script.awaited_instants();
        let ahead = awaited.iter().copied().filter(|at| *at > now_ms);
        ahead.min().map(Timestamp::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_says_when_it_is() {
        let scripted = Clock::scripted(Timestamp::from_millis(5));
        scripted.advance(2);
        assert_eq!(scripted.now(), Timestamp::from_millis(2_005));
        let system = Clock::System;
        assert!(
            system.now() > Timestamp::from_millis(1_767_225_600_000),
            "the year 2026 has begun"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_when_its_clock_has_come_so_far() {
        let begun = Instant::now();
        Clock::System.wait(Duration::from_secs(3)).await;
        assert_eq!(begun.elapsed().as_secs(), 3);
        let scripted = Clock::scripted(Timestamp::from_millis(0));
        assert_eq!(scripted.awaited_instants(), None);
        let moving = async {
            assert_eq!(
                scripted.awaited_instants(),
                Some(Timestamp::from_millis(3_000))
            );
            scripted.advance(2);
            tokio::task::yield_now().await;
            assert_eq!(
                scripted.awaited_instants(),
                Some(Timestamp::from_millis(3_000))
            );
            scripted.advance(1);
            assert_eq!(scripted.awaited_instants(), None, "it was reached");
        };
        tokio::join!(scripted.wait(Duration::from_secs(3)), moving);
        let given_up = scripted.wait(Duration::from_secs(1));
        assert!(futures_util::FutureExt::now_or_never(given_up).is_none());
        assert_eq!(scripted.awaited_instants(), None);
    }
}
