//! Tries: how often somebody may guess a password or setup code, by address and by account.
//! Only wrong guesses count: a try takes its places first and gives them back when it was right,
//! so that many guesses at one moment are not more than many in a row.
//!
//! An address with too many wrong guesses may be a proxy with everybody behind it. So whoever
//! guesses at an account is let in from there all the same if the guess is right, and a wrong guess
//! is told no more than that there were too many. The account's own bound stands for all addresses.

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
    /// What is said of a wrong guess where the address has made too many.
    too_many: Option<Refusal>,
}

impl Tries {
    /// Counts a guess at the setup code, which there is one of.
    ///
    /// # Errors
    /// [`Refusal::RateLimited`] with the seconds until the address may guess again; nothing is
    /// counted then.
    ///
    /// Source: contract 1.11, `LOGIN_TRIES`.
    pub(crate) fn at_setup_code(&self, from: IpAddr, now: Moment) -> Result<Try, Refusal> {
        let guess = self.take(vec![Place::of(from)], now);
        match guess.too_many {
            Some(too_many) => Err(too_many),
            None => Ok(guess),
        }
    }

    /// Counts a guess at an account's password.
    ///
    /// # Errors
    /// [`Refusal::RateLimited`] with the seconds until the account may be guessed at again; nothing
    /// is counted then.
    ///
    /// Source: contract 1.11, `LOGIN_TRIES`.
    pub(crate) fn at_account(
        &self,
        from: IpAddr,
        email: Email,
        now: Moment,
    ) -> Result<Try, Refusal> {
        let account = Place::Account(email);
        {
            let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
            may_try(wrong.get(&account), now)?;
        }
        Ok(self.take(vec![Place::of(from), account], now))
    }

    /// Counts a guess at each place that is not closed.
    fn take(&self, mut places: Vec<Place>, now: Moment) -> Try {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let mut too_many = None;
        places.retain(|place| {
            let closed = may_try(wrong.get(place), now).err();
            let is_open = closed.is_none();
            too_many = closed.or(too_many.take());
            is_open
        });
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
        Try {
            wrong: Arc::clone(&self.wrong),
            places,
            at: now,
            too_many,
        }
    }
}

impl Try {
    /// What is said of it: it was wrong.
    pub(crate) fn was_wrong(self) -> Refusal {
        self.too_many.unwrap_or(Refusal::InvalidCredentials)
    }

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
        Place::of(ip(text))
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn email(text: &str) -> Email {
        Email::read(text, &mut Check::new())
    }

    #[test]
    fn ten_wrong_guesses_in_a_quarter_of_an_hour_close_their_account_everywhere() {
        let tries = Tries::default();
        let aimed = |from: &str, second| tries.at_account(ip(from), email("a@b"), at(second));
        for n in 0..10 {
            // Each from another address: the account alone closes.
            aimed(&format!("192.0.2.{n}"), n).unwrap();
        }
        let refused = |guess: Result<Try, Refusal>| guess.unwrap_err();
        assert_eq!(refused(aimed("192.0.2.99", 10)), Refusal::RateLimited(890));
        assert!(
            !tries
                .wrong
                .lock()
                .unwrap()
                .contains_key(&address("192.0.2.99"))
        );
        let other = tries.at_account(ip("192.0.2.1"), email("c@d"), at(10));
        assert_eq!(other.unwrap().was_wrong(), Refusal::InvalidCredentials);
        assert!(
            aimed("192.0.2.99", 900).is_ok(),
            "the oldest no longer counts"
        );
        assert_eq!(refused(aimed("192.0.2.99", 900)), Refusal::RateLimited(1));
    }

    #[test]
    fn an_address_with_too_many_wrong_guesses_locks_nobody_out() {
        let tries = Tries::default();
        let from = |from: &str, account: &str, second| {
            tries.at_account(ip(from), email(account), at(second))
        };
        for n in 0..10 {
            from("192.0.2.200", &format!("{n}@b"), 0).unwrap();
        }
        for address in ["192.0.2.200", "::ffff:192.0.2.200"] {
            from(address, "right@b", 1).unwrap().was_right();
            let wrong = from(address, "wrong@b", 1).unwrap();
            assert_eq!(wrong.was_wrong(), Refusal::RateLimited(899));
        }
        let code = tries.at_setup_code(ip("192.0.2.200"), at(1));
        assert_eq!(code.unwrap_err(), Refusal::RateLimited(899));
        // Its accounts still close, and it opens when it was silent, not when others were.
        for _ in 0..8 {
            from("192.0.2.200", "wrong@b", 2).unwrap();
        }
        let closed = from("192.0.2.200", "wrong@b", 2).unwrap_err();
        assert_eq!(closed, Refusal::RateLimited(899));
        let later = from("192.0.2.200", "late@b", 900).unwrap();
        assert_eq!(later.was_wrong(), Refusal::InvalidCredentials);
    }

    #[test]
    fn right_guesses_cost_nothing_but_hold_their_place_until_they_are_right() {
        let tries = Tries::default();
        let take = |from: &str| tries.at_setup_code(ip(from), at(0));
        let at_once: Vec<Try> = (0..10).map(|_| take("2001:db8::1").unwrap()).collect();
        assert!(take("2001:db8::1").is_err());
        assert!(take("2001:db8::2").is_err(), "the same network");
        take("2001:db8:0:1::1").unwrap().was_right();
        at_once.into_iter().for_each(Try::was_right);
        for _ in 0..30 {
            take("2001:db8::1").unwrap().was_right();
        }
        assert!(tries.wrong.lock().unwrap().is_empty());
    }

    #[test]
    fn no_more_places_are_kept_than_may_be_and_a_flood_keeps_nobody_out() {
        let tries = Tries::default();
        let place = |n: usize| Place::Account(email(&format!("{n}@b")));
        for n in 0..limits::LOGIN_TRIES_KEPT_MAX {
            let first = i64::from(n > 0);
            tries.take(vec![place(n)], at(first));
        }
        let kept = || tries.wrong.lock().unwrap().len();
        // A flood keeps nobody out: the place guessed at longest ago is forgotten.
        tries.take(vec![Place::Account(email("more@b"))], at(1));
        assert_eq!(kept(), limits::LOGIN_TRIES_KEPT_MAX);
        assert!(!tries.wrong.lock().unwrap().contains_key(&place(0)));
        // What no longer counts goes first.
        tries.take(vec![Place::Account(email("late@b"))], at(901));
        assert_eq!(kept(), 1);
    }
}
