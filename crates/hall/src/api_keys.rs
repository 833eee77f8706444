//! API keys: making, listing and revoking them, in both modes.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    api_keys::ApiKey,
    callers::{Gate, Human, Identity},
    errors::ResourceKind,
    events::Event,
    field_validation::FieldValidator,
    ids::{ApiKeyId, AuthorId},
    limits,
};
use guildhall_store::{ReadSnapshot, Tx, api_keys};
use guildhall_world::secret_tokens::{self as secrets, SecretToken};

use crate::{Hall, callers, idempotency::IdempotentWrite};

/// One page of keys.
#[derive(Clone, Debug)]
pub struct ApiKeysPage {
    /// The keys in the order they were made.
    pub keys: Vec<ApiKey>,
    /// Whether more follow.
    pub has_more: bool,
}

impl Hall {
    /// Makes a key that names the caller; its text is in this answer and nowhere else.
    ///
    /// # Errors
    /// [`Refusal::Validation`] on `label`, [`Refusal::TooManyKeys`].
    ///
    /// Source: contract 1.4, "Accounts, sessions, keys".
    pub async fn make_key(
        &self,
        by: &Human,
        label: &str,
        once: IdempotentWrite<ApiKey>,
    ) -> Result<(ApiKey, SecretToken)> {
        let label = label.trim().to_owned();
        let mut check = FieldValidator::new();
        let range = limits::KEY_LABEL_CHARS;
        check.chars("label", &label, *range.start(), *range.end());
        check.one_line("label", &label);
        check.finish()?;
        let (by, now) = (*by.caller(), self.now());
        let author_id = by.author;
        let key = ApiKey {
            id: Self::new_id(ApiKeyId::from_bytes),
            author_id,
            label,
            created_at: now,
            last_used_at: None,
        };
        let secret = secrets::mint(secrets::KEY_PREFIX)?;
        let digest = secret.digest();
        let key = self
            .store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                once.run(tx, now, |tx| {
                    if api_keys::count_of(tx, author_id)? >= limits::KEYS_PER_ACCOUNT_MAX {
                        return Err(Refusal::TooManyKeys.into());
                    }
                    api_keys::insert(tx, &key, &digest)?;
                    let key_id = key.id;
                    let event = Event::ApiKeyCreated { author_id, key_id };
                    tx.append(now, Some(author_id), &event)?;
                    Ok(key)
                })
            })
            .await?;
        Ok((key, secret))
    }

    /// The caller's keys in the order they were made; the owner sees everybody's.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn keys(
        &self,
        by: &Human,
        after: Option<ApiKeyId>,
        limit: u32,
    ) -> Result<ReadSnapshot<ApiKeysPage>> {
        let by = *by.caller();
        let of = (by.identity != Identity::Owner).then_some(by.author);
        self.store()
            .read(move |db| {
                let mut keys = api_keys::list(db, of, after, limit)?;
                let has_more = keys.len() > limit as usize;
                keys.truncate(limit as usize);
                Ok(ApiKeysPage { keys, has_more })
            })
            .await
    }

    /// Ends a key of the caller, or for the owner anybody's: the next request with it is
    /// refused, its streams end.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn revoke_key(&self, by: &Human, key_id: ApiKeyId) -> Result<()> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                let author_id = api_keys::by_id(tx, key_id)?
                    .map(|key| key.author_id)
                    .filter(|author| by.identity == Identity::Owner || *author == by.author)
                    .ok_or(Refusal::NotFound(ResourceKind::Key))?;
                revoke(tx, by.author, author_id, key_id, now)
            })
            .await
    }
}

/// Revokes a key of `author_id` and tells of it.
pub(crate) fn revoke(
    tx: &mut Tx<'_>,
    actor: AuthorId,
    author_id: AuthorId,
    key_id: ApiKeyId,
    now: Timestamp,
) -> Result<()> {
    api_keys::remove(tx, key_id)?;
    let event = Event::ApiKeyRevoked { author_id, key_id };
    tx.append(now, Some(actor), &event)?;
    Ok(())
}
