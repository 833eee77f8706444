//! Sign-ins: what a cookie stands for, and how long.
//! Pure: the cookie's name and form are `http::cookies`, rows are `store::sign_ins`.

use crate::{
    Timestamp,
    ids::{AccountId, SignInId},
    limits,
};

/// A sign-in's row; what the cookie holds is never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// Its id.
    pub id: SignInId,
    /// Who signed in.
    pub account_id: AccountId,
    /// When.
    pub created_at: Timestamp,
    /// When it was last used, to five minutes.
    pub last_used_at: Timestamp,
}

impl SignIn {
    /// Whether the sign-in counts at `now`: used within 7 days and not older than 30.
    ///
    /// Source: contract 1.11, `SESSION_IDLE` and `SESSION_AGE`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.last_used_at.plus_seconds(limits::SESSION_IDLE_S)
            && now < self.created_at.plus_seconds(limits::SESSION_AGE_S)
    }

    /// Whether the use at `now` is due to be written.
    pub fn needs_last_used_update(&self, now: Timestamp) -> bool {
        now >= self.last_used_at.plus_seconds(limits::SESSION_TOUCH_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_lives_until_idle_or_old() {
        let day = 24 * 3_600;
        let born = Timestamp::from_millis(0);
        for (used_s, at_s, is_live, wants_touch) in [
            (0, 0, true, false),
            (0, 299, true, false),
            (0, 300, true, true),
            (0, 7 * day - 1, true, true),
            (0, 7 * day, false, true),
            (7 * day - 1, 14 * day - 2, true, true),
            (29 * day, 30 * day - 1, true, true),
            (29 * day, 30 * day, false, true),
        ] {
            let sign_in = SignIn {
                id: SignInId::from_bytes([1; 16]),
                account_id: AccountId::from_bytes([2; 16]),
                created_at: born,
                last_used_at: born.plus_seconds(used_s),
            };
            let at = born.plus_seconds(at_s);
            let found = (sign_in.is_live(at), sign_in.needs_last_used_update(at));
            assert_eq!(found, (is_live, wants_touch), "used {used_s}, at {at_s}");
        }
    }
}
