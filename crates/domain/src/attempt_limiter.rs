//! Attempts: how often somebody may guess a secret, such as a password or a code, by address and by
//! account.
//!
//! Only wrong guesses count. An attempt is counted before its guess is looked at and taken back
//! when the guess was right, so that many guesses at one moment are not more than many in a row.
//!
//! An address with too many wrong guesses may be a proxy with everybody behind it. So a guess at an
//! account is looked at whatever its address did, and counts if it is right; a wrong one is told
//! that there were too many. The account's own bound holds for all addresses.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{Error, Refusal, Timestamp, limits};

/// The network that counts as one address: an IPv4 address, or the /64 of an IPv6 address, all of
/// whose addresses one computer has.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// What a wrong guess counts against.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Target {
    /// The network it came from, see [`network_of`].
    Network(IpAddr),
    /// The account it was aimed at or made by, whether or not there is one.
    Account(String),
}

/// When wrong guesses were made, by target.
///
/// A std mutex: held for single look-ups.
type WrongGuesses = Arc<Mutex<HashMap<Target, Vec<Timestamp>>>>;

/// The wrong guesses of the last [`limits::LOGIN_TRIES_S`] seconds; a restart forgets them.
///
/// Each network and each account may make [`limits::LOGIN_TRIES`] of them. At most
/// [`limits::LOGIN_TRIES_KEPT_MAX`] targets are kept.
#[derive(Debug, Default)]
pub struct AttemptLimiter {
    wrong: WrongGuesses,
}

/// Somebody guessed too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyAttempts {
    /// Seconds until the next guess is looked at.
    pub retry_after_s: u64,
}

impl From<TooManyAttempts> for Refusal {
    fn from(too_many: TooManyAttempts) -> Self {
        Self::RateLimited(too_many.retry_after_s)
    }
}

impl From<TooManyAttempts> for Error {
    fn from(too_many: TooManyAttempts) -> Self {
        Refusal::from(too_many).into()
    }
}

/// An attempt, which counts as a wrong guess unless it succeeded.
#[derive(Debug)]
pub struct Attempt {
    wrong: WrongGuesses,
    targets: Vec<Target>,
    at: Timestamp,
    /// What a wrong guess is told where its network has made too many.
    too_many: Option<TooManyAttempts>,
}

impl AttemptLimiter {
    /// Counts a guess that is aimed at no account.
    ///
    /// # Errors
    /// [`TooManyAttempts`] when its network has made too many wrong guesses; nothing is counted
    /// then.
    pub fn at_address(&self, from: IpAddr, now: Timestamp) -> Result<Attempt, TooManyAttempts> {
        let attempt = self.count(vec![Target::Network(network_of(from))], now);
        match attempt.too_many {
            Some(too_many) => Err(too_many),
            None => Ok(attempt),
        }
    }

    /// Counts a guess that an account makes at something that is not an account's, such as a code.
    ///
    /// # Errors
    /// [`TooManyAttempts`] when the account or its network has made too many wrong guesses; nothing
    /// is counted then.
    pub fn by_account(
        &self,
        from: IpAddr,
        account: &str,
        now: Timestamp,
    ) -> Result<Attempt, TooManyAttempts> {
        let targets = vec![
            Target::Network(network_of(from)),
            Target::Account(account.to_owned()),
        ];
        {
            let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
            for target in &targets {
                may_guess(wrong.get(target), now)?;
            }
        }
        Ok(self.count(targets, now))
    }

    /// Counts a guess that is aimed at an account.
    ///
    /// # Errors
    /// [`TooManyAttempts`] when that account saw too many wrong guesses; nothing is counted then.
    pub fn at_account(
        &self,
        from: IpAddr,
        account: &str,
        now: Timestamp,
    ) -> Result<Attempt, TooManyAttempts> {
        let account = Target::Account(account.to_owned());
        {
            let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
            may_guess(wrong.get(&account), now)?;
        }
        Ok(self.count(vec![Target::Network(network_of(from)), account], now))
    }

    /// Counts a guess at each target that is not closed.
    fn count(&self, mut targets: Vec<Target>, now: Timestamp) -> Attempt {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let mut too_many = None;
        targets.retain(|target| {
            let closed = may_guess(wrong.get(target), now).err();
            let is_open = closed.is_none();
            too_many = closed.or(too_many.take());
            is_open
        });
        if wrong.len() + targets.len() > limits::LOGIN_TRIES_KEPT_MAX {
            wrong.retain(|_, times| times.iter().any(|at| counts(*at, now)));
        }
        // A flood of targets must not keep everybody out: what was guessed longest ago is forgotten.
        while wrong.len() + targets.len() > limits::LOGIN_TRIES_KEPT_MAX {
            let oldest = wrong
                .iter()
                .min_by_key(|(_, times)| times.last().copied())
                .map(|(target, _)| target.clone());
            match oldest {
                Some(oldest) => wrong.remove(&oldest),
                None => break,
            };
        }
        for target in &targets {
            let times = wrong.entry(target.clone()).or_default();
            times.retain(|at| counts(*at, now));
            times.push(now);
        }
        Attempt {
            wrong: Arc::clone(&self.wrong),
            targets,
            at: now,
            too_many,
        }
    }
}

impl Attempt {
    /// The guess was wrong; returns the error where its network has made too many of them.
    ///
    /// # Errors
    /// [`TooManyAttempts`], to be answered in place of what is said of a wrong guess.
    pub fn failed(self) -> Result<(), TooManyAttempts> {
        self.too_many.map_or(Ok(()), Err)
    }

    /// The guess was right: the attempt is no longer counted.
    pub fn succeeded(self) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        for target in &self.targets {
            if let Some(times) = wrong.get_mut(target) {
                if let Some(own) = times.iter().position(|at| *at == self.at) {
                    times.swap_remove(own);
                }
                if times.is_empty() {
                    wrong.remove(target);
                }
            }
        }
    }
}

fn counts(at: Timestamp, now: Timestamp) -> bool {
    now < at.plus_seconds(limits::LOGIN_TRIES_S)
}

fn may_guess(times: Option<&Vec<Timestamp>>, now: Timestamp) -> Result<(), TooManyAttempts> {
    let mut counting: Vec<Timestamp> = times
        .into_iter()
        .flatten()
        .copied()
        .filter(|at| counts(*at, now))
        .collect();
    if counting.len() < limits::LOGIN_TRIES {
        return Ok(());
    }
    counting.sort_unstable();
    // The next guess is looked at when the tenth newest no longer counts.
    let freed = counting[counting.len() - limits::LOGIN_TRIES].plus_seconds(limits::LOGIN_TRIES_S);
    Err(TooManyAttempts {
        retry_after_s: now.seconds_until(freed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(0).plus_seconds(seconds)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn wait(retry_after_s: u64) -> TooManyAttempts {
        TooManyAttempts { retry_after_s }
    }

    #[test]
    fn ten_wrong_guesses_in_a_quarter_of_an_hour_close_their_account_everywhere() {
        let limiter = AttemptLimiter::default();
        let aimed = |from: &str, second| limiter.at_account(ip(from), "a@b", at(second));
        for n in 0..10 {
            // Each from another address: the account alone closes.
            aimed(&format!("192.0.2.{n}"), n).unwrap();
        }
        assert_eq!(aimed("192.0.2.99", 10).unwrap_err(), wait(890));
        let network = Target::Network(ip("192.0.2.99"));
        assert!(!limiter.wrong.lock().unwrap().contains_key(&network));
        let other = limiter.at_account(ip("192.0.2.1"), "c@d", at(10));
        assert_eq!(other.unwrap().failed(), Ok(()));
        assert!(
            aimed("192.0.2.99", 900).is_ok(),
            "the oldest no longer counts"
        );
        assert_eq!(aimed("192.0.2.99", 900).unwrap_err(), wait(1));
    }

    #[test]
    fn an_address_with_too_many_wrong_guesses_locks_nobody_out() {
        let limiter = AttemptLimiter::default();
        let from =
            |from: &str, account: &str, second| limiter.at_account(ip(from), account, at(second));
        for n in 0..10 {
            from("192.0.2.200", &format!("{n}@b"), 0).unwrap();
        }
        for address in ["192.0.2.200", "::ffff:192.0.2.200"] {
            from(address, "right@b", 1).unwrap().succeeded();
            let wrong = from(address, "wrong@b", 1).unwrap();
            assert_eq!(wrong.failed(), Err(wait(899)));
        }
        let aimed_at_nobody = limiter.at_address(ip("192.0.2.200"), at(1));
        assert_eq!(aimed_at_nobody.unwrap_err(), wait(899));
        // Its accounts still close, and it opens when it was silent, not when others were.
        for _ in 0..8 {
            from("192.0.2.200", "wrong@b", 2).unwrap();
        }
        let closed = from("192.0.2.200", "wrong@b", 2).unwrap_err();
        assert_eq!(closed, wait(899));
        let later = from("192.0.2.200", "late@b", 900).unwrap();
        assert_eq!(later.failed(), Ok(()));
    }

    #[test]
    fn guesses_of_accounts_close_their_network_too() {
        let limiter = AttemptLimiter::default();
        let by =
            |from: &str, account: &str, second| limiter.by_account(ip(from), account, at(second));
        for n in 0..10 {
            by("192.0.2.1", &format!("{n}"), 0).unwrap();
        }
        assert_eq!(by("192.0.2.1", "new", 1).unwrap_err(), wait(899));
        by("192.0.2.2", "new", 1).unwrap().succeeded();
        assert!(by("192.0.2.1", "new", 900).is_ok());
    }

    #[test]
    fn right_guesses_cost_nothing_but_are_counted_until_they_are_right() {
        let limiter = AttemptLimiter::default();
        let guess = |from: &str| limiter.at_address(ip(from), at(0));
        let at_once: Vec<Attempt> = (0..10).map(|_| guess("2001:db8::1").unwrap()).collect();
        assert!(guess("2001:db8::1").is_err());
        assert!(guess("2001:db8::2").is_err(), "the same network");
        guess("2001:db8:0:1::1").unwrap().succeeded();
        at_once.into_iter().for_each(Attempt::succeeded);
        for _ in 0..30 {
            guess("2001:db8::1").unwrap().succeeded();
        }
        assert!(limiter.wrong.lock().unwrap().is_empty());
    }

    #[test]
    fn no_more_targets_are_kept_than_may_be_and_a_flood_keeps_nobody_out() {
        let limiter = AttemptLimiter::default();
        let target = |n: usize| Target::Account(format!("{n}@b"));
        for n in 0..limits::LOGIN_TRIES_KEPT_MAX {
            let first = i64::from(n > 0);
            limiter.count(vec![target(n)], at(first));
        }
        let kept = || limiter.wrong.lock().unwrap().len();
        // The target guessed at longest ago is forgotten.
        limiter.count(vec![Target::Account("more@b".to_owned())], at(1));
        assert_eq!(kept(), limits::LOGIN_TRIES_KEPT_MAX);
        assert!(!limiter.wrong.lock().unwrap().contains_key(&target(0)));
        // What no longer counts goes first.
        limiter.count(vec![Target::Account("late@b".to_owned())], at(901));
        assert_eq!(kept(), 1);
    }
}
