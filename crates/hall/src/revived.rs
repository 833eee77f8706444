//! Revived credentials: what the last restore came to, and what the owner decides about each
//! credential that it makes count again. They are listed until each was decided.

use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    callers::{Caller, Credential, Gate, Owner, OwnerInteractive},
    errors::ResourceKind,
    events::Event,
    ids::{AccountId, AgentTokenId, ApiKeyId, SignInId},
    restores::{RevivedCredential, RevivedDecision, RevivedKind},
};
use guildhall_store::{
    Tx, accounts as account_rows, agent_tokens as token_rows, api_keys as key_rows, revived,
    sign_ins as sign_in_rows, trusted_browsers,
};
use guildhall_world::{data_dir::DataDir, restores::RestoreRecord};

use crate::{Hall, accounts, agent_tokens, api_keys};

impl Hall {
    /// What the last restore came to, with the credentials that wait for a decision; `None` before
    /// the first one.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn last_restore(&self, _by: &Owner) -> Result<Option<RestoreRecord>> {
        self.restore_record().await
    }

    /// Ends a revived credential again, or lets it count on; it is not listed any more then.
    /// Answers what is left.
    ///
    /// # Errors
    /// `NotFound` for what is not listed; [`Refusal::LaterPasswordMissing`].
    pub async fn decide_revived(
        &self,
        by: &OwnerInteractive,
        id: &str,
        decision: RevivedDecision,
    ) -> Result<RestoreRecord> {
        let _turn = self.inner.backups.deciding.lock().await;
        let missing = || Error::from(Refusal::NotFound(ResourceKind::RevivedCredential));
        let mut record = self.restore_record().await?.ok_or_else(missing)?;
        let waiting = record.revived.get_or_insert_default();
        let place = waiting.iter().position(|one| one.id == id);
        let credential = waiting.remove(place.ok_or_else(missing)?);
        if decision == RevivedDecision::Revoke {
            self.revoke_revived(*by.caller(), credential, &record)
                .await?;
        }
        let (data_dir, kept) = (self.inner.data_dir.clone(), record.clone());
        let written = tokio::task::spawn_blocking(move || kept.write(&data_dir)).await;
        written
            .map_err(std::io::Error::other)
            .flatten()
            .map_err(|error| Fault::broken("keeping what was decided", error))?;
        Ok(record)
    }

    async fn restore_record(&self) -> Result<Option<RestoreRecord>> {
        let data_dir = self.inner.data_dir.clone();
        let read = tokio::task::spawn_blocking(move || RestoreRecord::read(&data_dir)).await;
        let read = read.map_err(std::io::Error::other).flatten();
        Ok(read.map_err(|error| Fault::broken("reading what was restored", error))?)
    }

    /// What was ended meanwhile is left as it is.
    async fn revoke_revived(
        &self,
        by: Caller,
        credential: RevivedCredential,
        record: &RestoreRecord,
    ) -> Result<()> {
        let now = self.now();
        let later_password = match credential.kind {
            RevivedKind::Password => Some(later_password(&credential, record).await?),
            _ => None,
        };
        self.store()
            .write(move |tx| {
                crate::callers::require_live_credential(tx, &by, now)?;
                match later_password {
                    Some(password) => set_later_password(tx, &by, &credential, &password, now),
                    None => revoke(tx, &by, &credential, now),
                }
            })
            .await
    }
}

/// The hash of the password that the account had before the restore.
async fn later_password(credential: &RevivedCredential, record: &RestoreRecord) -> Result<String> {
    let account = AccountId::named(&credential.id);
    let earlier = record.later_passwords.get(&credential.id);
    let set_aside = earlier.or(record.set_aside.as_ref());
    let set_aside = DataDir::database_in(set_aside.ok_or(Refusal::LaterPasswordMissing)?);
    let read = move || match set_aside.exists() {
        true => revived::password_in(&set_aside, account),
        false => Ok(None),
    };
    let read = tokio::task::spawn_blocking(read).await;
    let password = read.map_err(|error| Fault::broken("reading the data set aside", error))??;
    Ok(password.ok_or(Refusal::LaterPasswordMissing)?)
}

/// The later password counts again, and every sign-in with the earlier one ends but the caller's.
fn set_later_password(
    tx: &mut Tx<'_>,
    by: &Caller,
    credential: &RevivedCredential,
    password: &str,
    now: Timestamp,
) -> Result<()> {
    let id = AccountId::named(&credential.id);
    let Some(known) = account_rows::by_id(tx, id)? else {
        return Ok(());
    };
    account_rows::set_password(tx, id, password)?;
    let kept = match by.credential {
        Credential::Cookie(sign_in) => Some(sign_in),
        Credential::Loopback
        | Credential::ApiKey(_)
        | Credential::LocalToken
        | Credential::AgentToken(_)
        | Credential::Process => None,
    };
    sign_in_rows::end_all(tx, id, kept)?;
    let author_id = known.account.author_id;
    tx.append(now, Some(by.author), &Event::PasswordChanged { author_id })?;
    Ok(())
}

fn revoke(
    tx: &mut Tx<'_>,
    by: &Caller,
    credential: &RevivedCredential,
    now: Timestamp,
) -> Result<()> {
    let (actor, id) = (by.author, credential.id.as_str());
    match credential.kind {
        RevivedKind::AgentToken => match token_rows::by_id(tx, AgentTokenId::named(id))? {
            Some(known) => {
                let token = known.token;
                agent_tokens::revoke(tx, Some(actor), token.agent_id, token.id, now)
            }
            None => Ok(()),
        },
        RevivedKind::ApiKey => match key_rows::by_id(tx, ApiKeyId::named(id))? {
            Some(key) => api_keys::revoke(tx, actor, key.author_id, key.id, now),
            None => Ok(()),
        },
        RevivedKind::SignIn => {
            let Some(sign_in) = sign_in_rows::by_id(tx, SignInId::named(id))? else {
                return Ok(());
            };
            let known = account_rows::by_id(tx, sign_in.account_id)?;
            sign_in_rows::end(tx, sign_in.id)?;
            if let Some(known) = known {
                let author_id = known.account.author_id;
                tx.append(now, Some(actor), &Event::SignedOut { author_id })?;
            }
            Ok(())
        }
        RevivedKind::Account => match accounts::remove(tx, actor, AccountId::named(id), now) {
            Err(Error::Refusal(Refusal::NotFound(ResourceKind::Account))) => Ok(()),
            removed => removed,
        },
        RevivedKind::TrustedBrowsers => trusted_browsers::forget_all(tx),
        // The caller has taken the later one for it.
        RevivedKind::Password => Ok(()),
    }
}
