//! API keys: what a person's own programs show, in both modes.
//! Pure: minting and digests are `world::secret_tokens`, rows are `store::api_keys`.

use crate::{
    Timestamp,
    ids::{ApiKeyId, AuthorId},
    limits,
};

/// A key's row; the key itself is never stored. Source: contract 1.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id.
    pub id: ApiKeyId,
    /// Whom it names.
    pub author_id: AuthorId,
    /// 1..80 characters, for people.
    pub label: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to five minutes.
    pub last_used_at: Option<Timestamp>,
}

impl ApiKey {
    /// Whether the use at `now` is due to be written.
    pub fn needs_last_used_update(&self, now: Timestamp) -> bool {
        self.last_used_at
            .is_none_or(|last| now >= last.plus_seconds(limits::SESSION_TOUCH_S))
    }
}
