//! Tries: how often somebody may guess a password or setup code, by address and by account.
//! Only wrong guesses count: a try takes its places first and gives them back when it was right,
//! so that many guesses at one moment are not more than many in a row.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

use guildhall_domain::{Moment, Refusal, accounts::Email, limits};

/// What a wrong guess counts against.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// Where it came from; of an IPv6 address the network, since one computer has them all.
    Address(IpAddr),
    /// The account it was aimed at, whether or not there is one.
    Account(Email),
}

impl Place {
    /// The place of an address.
    pub(crate) fn of(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

/// When wrong guesses were made, by place.
///
/// A std mutex: held for single look-ups and never over an await.
type Wrong = Arc<Mutex<HashMap<Place, Vec<Moment>>>>;

/// The wrong guesses of the last 15 minutes; a restart forgets them.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    wrong: Wrong,
}

/// A try that counts as wrong unless it is taken back.
#[derive(Debug)]
pub(crate) struct Try {
    wrong: Wrong,
    places: Vec<Place>,
    at: Moment,
}

impl Tries {
    /// Says whether a guess would be let in.
    ///
    /// # Errors
    /// [`Refusal::RateLimited`] with the seconds until it would.
    pub(crate) fn look(&self, place: &Place, now: Moment) -> Result<(), Refusal> {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        may_try(wrong.get(place), now)
    }

    /// Counts a guess at every place, if all let it in.
    ///
    /// # Errors
    /// [`Refusal::RateLimited`] with the seconds until they do; nothing is counted then.
    ///
    /// Source: contract 1.11, `LOGIN_TRIES`.
    pub(crate) fn take(&self, places: Vec<Place>, now: Moment) -> Result<Try, Refusal> {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        for place in &places {
            may_try(wrong.get(place), now)?;
        }
        if wrong.len() + places.len() > limits::LOGIN_TRIES_KEPT_MAX {
            wrong.retain(|_, times| times.iter().any(|at| counts(*at, now)));
        }
        // A flood of places must not keep everybody out: what was guessed longest ago is forgotten.
        while wrong.len() + places.len() > limits::LOGIN_TRIES_KEPT_MAX {
            let oldest = wrong
                .iter()
                .min_by_key(|(_, times)| times.last().copied())
                .map(|(place, _)| place.clone());
            match oldest {
                Some(oldest) => wrong.remove(&oldest),
                None => break,
            };
        }
        for place in &places {
            let times = wrong.entry(place.clone()).or_default();
            times.retain(|at| counts(*at, now));
            times.push(now);
        }
        Ok(Try {
            wrong: Arc::clone(&self.wrong),
            places,
            at: now,
        })
    }
}

impl Try {
    /// Takes the try back: it was right.
    pub(crate) fn was_right(self) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        for place in &self.places {
            if let Some(times) = wrong.get_mut(place) {
                if let Some(own) = times.iter().position(|at| *at == self.at) {
                    times.swap_remove(own);
                }
                if times.is_empty() {
                    wrong.remove(place);
                }
            }
        }
    }
}

fn counts(at: Moment, now: Moment) -> bool {
    now < at.plus_seconds(limits::LOGIN_TRIES_S)
}

fn may_try(times: Option<&Vec<Moment>>, now: Moment) -> Result<(), Refusal> {
    let mut counting: Vec<Moment> = times
        .into_iter()
        .flatten()
        .copied()
        .filter(|at| counts(*at, now))
        .collect();
    if counting.len() < limits::LOGIN_TRIES {
        return Ok(());
    }
    counting.sort_unstable();
    // One is let in again when the tenth newest no longer counts.
    let freed = counting[counting.len() - limits::LOGIN_TRIES].plus_seconds(limits::LOGIN_TRIES_S);
    let wait_ms = freed.as_millis() - now.as_millis();
    Err(Refusal::RateLimited(wait_ms.unsigned_abs().div_ceil(1_000)))
}

#[cfg(test)]
mod tests {
    use guildhall_domain::text::Check;

    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_millis(0).plus_seconds(seconds)
    }

    fn address(text: &str) -> Place {
        Place::of(text.parse().unwrap())
    }

    fn account(text: &str) -> Place {
        Place::Account(Email::read(text, &mut Check::new()))
    }

    #[test]
    fn ten_wrong_guesses_in_a_quarter_of_an_hour_close_their_address_and_account() {
        let tries = Tries::default();
        let aimed =
            |from: &str, second| tries.take(vec![address(from), account("a@b")], at(second));
        for n in 0..10 {
            // Each from another address: the account alone closes.
            aimed(&format!("192.0.2.{n}"), n).unwrap();
        }
        assert_eq!(
            aimed("192.0.2.99", 10).err(),
            Some(Refusal::RateLimited(890))
        );
        assert_eq!(
            tries.look(&address("192.0.2.99"), at(10)),
            Ok(()),
            "nothing was counted"
        );
        assert!(
            tries
                .take(vec![address("192.0.2.1"), account("c@d")], at(10))
                .is_ok()
        );
        assert!(
            aimed("192.0.2.99", 900).is_ok(),
            "the oldest no longer counts"
        );
        assert_eq!(
            aimed("192.0.2.99", 900).err(),
            Some(Refusal::RateLimited(1))
        );

        for n in 0..10 {
            let place = account(&format!("{n}@b"));
            tries
                .take(vec![address("192.0.2.200"), place], at(2_000))
                .unwrap();
        }
        let closed = tries.look(&address("192.0.2.200"), at(2_001));
        assert_eq!(closed, Err(Refusal::RateLimited(899)));
        assert_eq!(
            tries.look(&address("::ffff:192.0.2.200"), at(2_001)),
            closed
        );
    }

    #[test]
    fn right_guesses_cost_nothing_but_hold_their_place_until_they_are_right() {
        let tries = Tries::default();
        let take = || tries.take(vec![address("2001:db8::1")], at(0));
        let at_once: Vec<Try> = (0..10).map(|_| take().unwrap()).collect();
        assert!(take().is_err());
        assert!(
            tries.look(&address("2001:db8::2"), at(0)).is_err(),
            "the same network"
        );
        assert!(tries.look(&address("2001:db8:0:1::1"), at(0)).is_ok());
        at_once.into_iter().for_each(Try::was_right);
        for _ in 0..30 {
            take().unwrap().was_right();
        }
        assert!(tries.wrong.lock().unwrap().is_empty());
    }

    #[test]
    fn no_more_places_are_kept_than_may_be_and_a_flood_keeps_nobody_out() {
        let tries = Tries::default();
        let place = |n: usize| account(&format!("{n}@b"));
        for n in 0..limits::LOGIN_TRIES_KEPT_MAX {
            let first = i64::from(n > 0);
            tries.take(vec![place(n)], at(first)).unwrap();
        }
        let kept = || tries.wrong.lock().unwrap().len();
        // A flood keeps nobody out: the place guessed at longest ago is forgotten.
        assert!(tries.take(vec![account("more@b")], at(1)).is_ok());
        assert_eq!(kept(), limits::LOGIN_TRIES_KEPT_MAX);
        assert!(!tries.wrong.lock().unwrap().contains_key(&place(0)));
        // What no longer counts goes first.
        assert!(tries.take(vec![account("late@b")], at(901)).is_ok());
        assert_eq!(kept(), 1);
    }
}
