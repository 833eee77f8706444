//! Tries: how often somebody may guess a password or a user code, by address and by account.
//! A restart forgets them; nothing here reads a clock.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use guildhall_domain::{Moment, limits};

use crate::peers::network;

/// What a wrong guess counts against.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The network it came from.
    Address(IpAddr),
    /// The account it was aimed at or made by, under whatever name.
    Account(String),
}

impl Place {
    /// The place of an address.
    pub fn of(address: IpAddr) -> Self {
        Self::Address(network(address))
    }
}

/// The wrong guesses of the last 15 minutes: [`limits::LOGIN_TRIES`] a place.
#[derive(Debug, Default)]
pub struct Tries {
    /// A std mutex: held for single look-ups and never over an await.
    wrong: Mutex<HashMap<Place, Vec<Moment>>>,
}

/// Somebody guessed too often; the seconds until the next guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOften(pub u64);

impl Tries {
    /// Counts a guess as wrong at every place, if all let it in.
    ///
    /// It is counted before it is looked at, so that many guesses at one moment are not more than
    /// many in a row; [`Tries::was_right`] takes it back.
    ///
    /// # Errors
    /// [`TooOften`] when one of them is closed; nothing is counted then.
    pub fn take(&self, places: &[Place], now: Moment) -> Result<(), TooOften> {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        for place in places {
            may_try(wrong.get(place).map_or(&[], Vec::as_slice), now)?;
        }
        if wrong.len() + places.len() > limits::LOGIN_TRIES_KEPT_MAX {
            wrong.retain(|_, times| times.iter().any(|at| counts(*at, now)));
        }
        // A flood of places must not keep everybody out: what was guessed longest ago goes.
        while wrong.len() + places.len() > limits::LOGIN_TRIES_KEPT_MAX {
            let oldest = wrong.iter().min_by_key(|(_, times)| times.last().copied());
            let Some(oldest) = oldest.map(|(place, _)| place.clone()) else {
                break;
            };
            wrong.remove(&oldest);
        }
        for place in places {
            let times = wrong.entry(place.clone()).or_default();
            times.retain(|at| counts(*at, now));
            times.push(now);
        }
        Ok(())
    }

    /// Takes a guess of `at` back: it was right.
    pub fn was_right(&self, places: &[Place], at: Moment) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        for place in places {
            if let Some(times) = wrong.get_mut(place) {
                if let Some(own) = times.iter().position(|time| *time == at) {
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

fn may_try(times: &[Moment], now: Moment) -> Result<(), TooOften> {
    let mut counting: Vec<Moment> = times
        .iter()
        .copied()
        .filter(|at| counts(*at, now))
        .collect();
    if counting.len() < limits::LOGIN_TRIES {
        return Ok(());
    }
    counting.sort_unstable();
    // One is let in again when the tenth newest no longer counts.
    let freed = counting[counting.len() - limits::LOGIN_TRIES].plus_seconds(limits::LOGIN_TRIES_S);
    Err(TooOften(now.seconds_until(freed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_millis(0).plus_seconds(seconds)
    }

    fn places(address: &str, account: &str) -> [Place; 2] {
        [
            Place::of(address.parse().unwrap()),
            Place::Account(account.to_owned()),
        ]
    }

    #[test]
    fn ten_wrong_guesses_in_a_quarter_of_an_hour_close_their_address_and_account() {
        let tries = Tries::default();
        for n in 0..10 {
            let from = format!("192.0.2.{n}");
            tries.take(&places(&from, "a@b"), at(n)).unwrap();
        }
        let other = places("192.0.2.99", "a@b");
        assert_eq!(tries.take(&other, at(10)), Err(TooOften(890)));
        assert_eq!(tries.take(&other[..1], at(10)), Ok(()), "none was counted");
        assert_eq!(tries.take(&other, at(900)), Ok(()), "the oldest is over");
        assert_eq!(tries.take(&other, at(900)), Err(TooOften(1)));
        for n in 0..10 {
            let aimed = places("2001:db8::1", &format!("{n}@b"));
            tries.take(&aimed, at(2_000)).unwrap();
        }
        let near = places("2001:db8::2", "new@b");
        assert_eq!(tries.take(&near, at(2_001)), Err(TooOften(899)));
        let far = places("2001:db8:0:1::2", "new@b");
        assert_eq!(tries.take(&far, at(2_001)), Ok(()));
    }

    #[test]
    fn right_guesses_cost_nothing() {
        let (tries, all) = (Tries::default(), places("192.0.2.1", "a@b"));
        for n in 0..30 {
            tries.take(&all, at(n)).unwrap();
            tries.was_right(&all, at(n));
        }
        assert!(tries.wrong.lock().unwrap().is_empty());
    }

    #[test]
    fn no_more_places_are_kept_than_may_be() {
        let tries = Tries::default();
        for n in 0..=limits::LOGIN_TRIES_KEPT_MAX {
            let place = Place::Account(format!("{n}@b"));
            tries.take(&[place], at(i64::from(n > 0))).unwrap();
        }
        let wrong = tries.wrong.lock().unwrap();
        assert_eq!(wrong.len(), limits::LOGIN_TRIES_KEPT_MAX);
        assert!(!wrong.contains_key(&Place::Account("0@b".to_owned())));
    }
}
