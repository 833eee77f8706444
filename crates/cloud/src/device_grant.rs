//! The device grant (RFC 8628) as a machine: what a request with a device code is answered.
//! Pure: codes are minted in `minting`, rows are `store::devices`, words on the wire `oauth`.

use guildhall_domain::Timestamp;

/// How long a device code counts. Source: contract 5.13, `DEVICE_CODE_TTL`.
pub const DEVICE_CODE_TTL_S: i64 = 30 * 60;
/// How long a device waits between two requests. Source: contract 5.13, `INTERVAL`.
pub const DEVICE_INTERVAL_S: i64 = 5;
/// Letters of a user code: no vowels, so that no word is spelt by chance, and none that is easily
/// taken for another.
pub const USER_CODE_LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// Letters one user code has.
pub const USER_CODE_LEN: usize = 8;

/// How far a request of a device has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceGrantState<A> {
    /// Nobody has decided.
    Pending,
    /// Somebody said yes for this account; the key is not issued.
    Approved(A),
    /// Somebody said no.
    Denied,
    /// The key was issued, once and for all.
    Issued,
}

/// What the machine goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceGrant<A> {
    /// How far it has come.
    pub state: DeviceGrantState<A>,
    /// When its codes stop to count.
    pub expires_at: Timestamp,
    /// When it asked last for its key.
    pub polled_at: Option<Timestamp>,
}

/// What a device that asks for its key is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollResult<A> {
    /// Not yet.
    AuthorizationPending,
    /// Not yet, and it asks too often.
    SlowDown,
    /// The key, for this account; it is issued in the same transaction.
    Issue(A),
    /// No.
    AccessDenied,
    /// Too late.
    ExpiredToken,
    /// There is no such request any more.
    InvalidGrant,
}

/// What somebody who decides is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionOutcome {
    /// The word counts.
    Counts,
    /// It was decided before, or it is too late.
    Over,
}

impl<A: Copy> DeviceGrant<A> {
    /// What a request for the key is answered.
    ///
    /// A yes is answered at once, also to a device that asks too often: it has nothing left to
    /// ask for. An answer that is lost on its way is not given again.
    pub fn poll(&self, now: Timestamp) -> PollResult<A> {
        match self.state {
            DeviceGrantState::Issued => PollResult::InvalidGrant,
            DeviceGrantState::Denied => PollResult::AccessDenied,
            DeviceGrantState::Pending | DeviceGrantState::Approved(_) if now >= self.expires_at => {
                PollResult::ExpiredToken
            }
            DeviceGrantState::Approved(account) => PollResult::Issue(account),
            DeviceGrantState::Pending if self.is_hasty(now) => PollResult::SlowDown,
            DeviceGrantState::Pending => PollResult::AuthorizationPending,
        }
    }

    /// Whether a person's word still counts.
    pub fn decide(&self, now: Timestamp) -> DecisionOutcome {
        match self.state {
            DeviceGrantState::Pending if now < self.expires_at => DecisionOutcome::Counts,
            _ => DecisionOutcome::Over,
        }
    }

    fn is_hasty(&self, now: Timestamp) -> bool {
        self.polled_at
            .is_some_and(|polled_at| now < polled_at.plus_seconds(DEVICE_INTERVAL_S))
    }
}

/// A user code as it is kept: eight letters in capitals. `None` for what can be none.
///
/// People type hyphens, spaces and small letters as they like (RFC 8628 §6.1).
pub fn parse_user_code(raw: &str) -> Option<String> {
    let letters = raw.chars().filter(|c| !c.is_whitespace() && *c != '-');
    let code: String = letters
        .take(USER_CODE_LEN + 1)
        .map(|c| c.to_ascii_uppercase())
        .collect();
    let is_code =
        code.len() == USER_CODE_LEN && code.bytes().all(|byte| USER_CODE_LETTERS.contains(&byte));
    is_code.then_some(code)
}

/// A user code as people are shown it, `BCDF-GHJK`.
pub fn format_user_code(code: &str) -> String {
    match code.split_at_checked(USER_CODE_LEN / 2) {
        Some((first, second)) => format!("{first}-{second}"),
        None => code.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(0).plus_seconds(seconds)
    }

    fn device(state: DeviceGrantState<u8>, polled_at: Option<Timestamp>) -> DeviceGrant<u8> {
        DeviceGrant {
            state,
            expires_at: at(DEVICE_CODE_TTL_S),
            polled_at,
        }
    }

    #[test]
    fn every_state_has_its_answer_before_and_after_the_end() {
        let end = DEVICE_CODE_TTL_S;
        for (state, early, late) in [
            (
                DeviceGrantState::Pending,
                PollResult::AuthorizationPending,
                PollResult::ExpiredToken,
            ),
            (
                DeviceGrantState::Approved(7),
                PollResult::Issue(7),
                PollResult::ExpiredToken,
            ),
            (
                DeviceGrantState::Denied,
                PollResult::AccessDenied,
                PollResult::AccessDenied,
            ),
            (
                DeviceGrantState::Issued,
                PollResult::InvalidGrant,
                PollResult::InvalidGrant,
            ),
        ] {
            assert_eq!(device(state, None).poll(at(end - 1)), early, "{state:?}");
            assert_eq!(device(state, None).poll(at(end)), late, "{state:?}");
        }
    }

    #[test]
    fn a_device_that_asks_too_often_is_told_so_unless_there_is_something_to_say() {
        let hasty = |state| device(state, Some(at(10))).poll(at(14));
        assert_eq!(hasty(DeviceGrantState::Pending), PollResult::SlowDown);
        assert_eq!(hasty(DeviceGrantState::Approved(7)), PollResult::Issue(7));
        assert_eq!(hasty(DeviceGrantState::Denied), PollResult::AccessDenied);
        let patient = device(DeviceGrantState::Pending, Some(at(10))).poll(at(15));
        assert_eq!(patient, PollResult::AuthorizationPending);
    }

    #[test]
    fn only_an_open_request_can_be_decided() {
        let word = |state, second| device(state, None).decide(at(second));
        assert_eq!(word(DeviceGrantState::Pending, 0), DecisionOutcome::Counts);
        assert_eq!(
            word(DeviceGrantState::Pending, DEVICE_CODE_TTL_S),
            DecisionOutcome::Over
        );
        for state in [
            DeviceGrantState::Approved(7),
            DeviceGrantState::Denied,
            DeviceGrantState::Issued,
        ] {
            assert_eq!(word(state, 0), DecisionOutcome::Over, "{state:?}");
        }
    }

    #[test]
    fn what_can_be_no_user_code_is_none() {
        for raw in [
            "",
            "BCDF-GHJ",
            "BCDF-GHJKL",
            "ABCD-EFGH",
            "BCDF-GHJ1",
            "ＢCDFGHJK",
        ] {
            assert_eq!(parse_user_code(raw), None, "{raw}");
        }
    }

    proptest! {
        /// However the machine is driven, a key is issued once at most.
        #[test]
        fn a_key_is_issued_once_at_most(
            steps in proptest::collection::vec((0_u8..4, 0_i64..400), 1..60),
        ) {
            let (mut device, mut now, mut issued) = (device(DeviceGrantState::Pending, None), 0, 0);
            for (step, wait) in steps {
                now += wait;
                match step {
                    0 if device.decide(at(now)) == DecisionOutcome::Counts => {
                        device.state = DeviceGrantState::Approved(7);
                    }
                    1 if device.decide(at(now)) == DecisionOutcome::Counts => device.state = DeviceGrantState::Denied,
                    0 | 1 => {}
                    _ => {
                        if let PollResult::Issue(_) = device.poll(at(now)) {
                            issued += 1;
                            device.state = DeviceGrantState::Issued;
                        }
                        device.polled_at = Some(at(now));
                    }
                }
            }
            prop_assert!(issued <= 1);
        }

        #[test]
        fn a_user_code_is_read_however_it_is_typed(
            code in "[BCDFGHJKLMNPQRSTVWXZ]{8}",
            small in any::<bool>(),
            gap in "[ -]{0,3}",
        ) {
            prop_assert_eq!(parse_user_code(&format_user_code(&code)), Some(code.clone()));
            let typed = format!("{}{gap}{} ", &code[..3], &code[3..]);
            let typed = if small { typed.to_lowercase() } else { typed };
            prop_assert_eq!(parse_user_code(&typed), Some(code));
        }
    }
}
