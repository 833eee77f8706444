//! Agent tokens: how long one lives, and what is shown of it.
//! Pure: minting and digests are `world::secret_tokens`, rows are `store::agent_tokens`.

use crate::{
    Timestamp,
    ids::{AgentId, AgentTokenId, SessionId},
    limits,
};

/// Who made a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenOrigin {
    /// The server, for a process it started.
    Spawn,
    /// The owner.
    Person,
}

impl TokenOrigin {
    /// Every origin with its word.
    pub const WORDS: [(Self, &str); 2] = [(Self::Spawn, "spawn"), (Self::Person, "person")];
}

/// A token's row; the token itself is never stored. Source: contract 1.4, "Agent tokens".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentToken {
    /// Its id.
    pub id: AgentTokenId,
    /// Whom it names.
    pub agent_id: AgentId,
    /// 1..80 characters, for people.
    pub label: String,
    /// Who made it.
    pub origin: TokenOrigin,
    /// The session it names, for a session's token.
    pub session_id: Option<SessionId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to five minutes.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl AgentToken {
    /// When the token dies of disuse.
    pub fn idle_expires_at(&self) -> Timestamp {
        self.last_used_at
            .unwrap_or(self.created_at)
            .plus_seconds(limits::AGENT_TOKEN_IDLE_S)
            .min(self.expires_at())
    }

    /// When the token dies of age.
    pub fn expires_at(&self) -> Timestamp {
        self.created_at.plus_seconds(limits::AGENT_TOKEN_AGE_S)
    }

    /// Whether the token counts at `now`.
    ///
    /// A clock that stands before the token's own times never revives one: only revocation
    /// and the two deadlines decide.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && now < self.idle_expires_at() && now < self.expires_at()
    }

    /// Whether the use at `now` is due to be written.
    pub fn needs_last_used_update(&self, now: Timestamp) -> bool {
        self.last_used_at
            .is_none_or(|last| now >= last.plus_seconds(limits::AGENT_TOKEN_TOUCH_S))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_lives_until_revoked_idle_or_old() {
        let day = 24 * 3_600;
        let born = Timestamp::from_millis(0);
        let token = |last: Option<i64>, revoked: bool| AgentToken {
            id: AgentTokenId::from_bytes([1; 16]),
            agent_id: AgentId::from_bytes([2; 16]),
            label: "laptop".to_owned(),
            origin: TokenOrigin::Person,
            session_id: None,
            created_at: born,
            last_used_at: last.map(|s| born.plus_seconds(s)),
            revoked_at: revoked.then_some(born),
        };
        for (token, at_s, live) in [
            (token(None, false), 0, true),
            (token(None, true), 0, false),
            (token(None, false), 7 * day - 1, true),
            (token(None, false), 7 * day, false),
            (token(Some(7 * day - 1), false), 14 * day - 2, true),
            (token(Some(29 * day), false), 30 * day - 1, true),
            (token(Some(29 * day), false), 30 * day, false),
        ] {
            assert_eq!(
                token.is_live(born.plus_seconds(at_s)),
                live,
                "{token:?} at {at_s}"
            );
        }
        assert!(token(None, false).needs_last_used_update(born));
        assert!(!token(Some(0), false).needs_last_used_update(born.plus_seconds(299)));
        assert!(token(Some(0), false).needs_last_used_update(born.plus_seconds(300)));
    }
}
