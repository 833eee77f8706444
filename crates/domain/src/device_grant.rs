//! The device grant (RFC 8628): how often a service is asked whether a person has typed the code.

use serde::{Deserialize, Serialize};

/// Seconds between two polls, unless the service says otherwise, and by how many more
/// `slow_down` puts them apart. Source: RFC 8628 §3.2 and §3.5.
pub const POLL_S: i64 = 5;
/// Seconds between two polls at most, while nobody answers. Source: contract 5.13.
pub const POLL_S_MAX: i64 = 60;
/// Seconds between two polls at most, whatever the service says: no code counts that long.
const INTERVAL_S_MAX: i64 = 24 * 3_600;

/// How often a service is asked. Source: RFC 8628 §3.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PollingPace {
    /// Seconds between two polls, as the service wants it.
    pub interval_s: i64,
    /// Seconds until the next one: more, while nobody answers.
    pub wait_s: i64,
}

/// What a poll came to, as far as it decides on the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PollStatus {
    /// The person has not decided.
    Waiting,
    /// The same, and polls come too often.
    TooOften,
    /// Nobody answered well; holds the seconds the service wants to be left alone.
    Nobody(Option<i64>),
}

impl PollingPace {
    /// The pace at first; `interval_s` is what the service said.
    pub fn new(interval_s: Option<i64>) -> Self {
        let interval_s = interval_s.unwrap_or(POLL_S).clamp(1, INTERVAL_S_MAX);
        Self {
            interval_s,
            wait_s: interval_s,
        }
    }

    /// The pace after a poll. A service that wants more than a minute between two polls gets it.
    #[must_use]
    pub fn after(self, polled: PollStatus) -> Self {
        let slower_s = self.interval_s.saturating_add(POLL_S).min(INTERVAL_S_MAX);
        match polled {
            PollStatus::Waiting => Self {
                wait_s: self.interval_s,
                ..self
            },
            PollStatus::TooOften => Self {
                interval_s: slower_s,
                wait_s: slower_s,
            },
            PollStatus::Nobody(wanted_s) => {
                let most_s = POLL_S_MAX.max(self.interval_s);
                let doubled_s = self.wait_s.saturating_mul(2).min(most_s);
                Self {
                    wait_s: doubled_s.max(wanted_s.unwrap_or(0).min(INTERVAL_S_MAX)),
                    ..self
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pace_is_what_the_service_said_and_at_least_a_second() {
        for (said, want_s) in [
            (None, 5),
            (Some(0), 1),
            (Some(-3), 1),
            (Some(7), 7),
            (Some(90), 90),
        ] {
            let pace = PollingPace::new(said);
            assert_eq!((pace.interval_s, pace.wait_s), (want_s, want_s), "{said:?}");
        }
    }

    #[test]
    fn slow_down_counts_for_good_and_silence_until_the_next_answer() {
        let pace = PollingPace::new(Some(5)).after(PollStatus::TooOften);
        assert_eq!((pace.interval_s, pace.wait_s), (10, 10));
        let mut lost = pace;
        for want_s in [20, 40, 60, 60] {
            lost = lost.after(PollStatus::Nobody(None));
            assert_eq!((lost.interval_s, lost.wait_s), (10, want_s));
        }
        assert_eq!(lost.after(PollStatus::Waiting), pace);
        assert_eq!(lost.after(PollStatus::Nobody(Some(300))).wait_s, 300);
    }
}
