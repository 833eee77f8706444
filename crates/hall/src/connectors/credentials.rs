//! Credentials in use: fresh ones for each request, one renewal at a time for each connection,
//! and giving them back. Source: contract 5.4; 4.8, "refresh".

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use guildhall_domain::{
    Fault, Result, Timestamp,
    connectors::connections::{AccountStatus, ConnectionLifecycle},
    ids::ConnectorConnectionId,
    limits::OAUTH_REFRESH_EARLY_S,
};
use guildhall_store::connectors::connections as rows;
use guildhall_world::{connectors::AccountCredentials as Shown, oauth::RefreshError};

use super::{
    connections::{existing, write},
    secrets::{AccountSecrets, Credentials, GrantedTokens},
};
use crate::Hall;

/// What those wait for who want the token of one connection renewed.
type RenewalLock = Arc<tokio::sync::Mutex<()>>;

/// Which connections' tokens are being renewed now.
#[derive(Default)]
pub struct CredentialRenewals {
    /// A std mutex: held for single look-ups and never over an await.
    turns: Mutex<HashMap<ConnectorConnectionId, RenewalLock>>,
}

impl CredentialRenewals {
    fn lock_for(&self, id: ConnectorConnectionId) -> RenewalLock {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry(id).or_default())
    }
}

/// What is known of a connection's credentials.
enum StoredCredentials {
    /// They count for a while.
    Fresh(Credentials),
    /// The token ends soon, or did.
    Stale(Box<GrantedTokens>, Timestamp),
    /// Its place in life, or what is kept, allows no use.
    None,
}

impl Hall {
    /// The credentials that requests of a connection carry, fresh for a minute at least where
    /// they can be renewed; `None` when a person has to sign in first.
    ///
    /// A token that is refused for good makes the account `expired`; when nobody answers, the
    /// old one stays and is tried.
    ///
    /// # Errors
    /// `ConnectionNotFound`; faults, and `Overloaded`.
    pub async fn connector_credentials(&self, id: ConnectorConnectionId) -> Result<Option<Shown>> {
        let credentials = self.fresh_credentials(id).await?;
        Ok(credentials.as_ref().map(Credentials::for_request))
    }

    async fn fresh_credentials(&self, id: ConnectorConnectionId) -> Result<Option<Credentials>> {
        match self.stored_credentials(id).await? {
            StoredCredentials::None => return Ok(None),
            StoredCredentials::Fresh(credentials) => return Ok(Some(credentials)),
            StoredCredentials::Stale(..) => {}
        }
        let hall = self.clone();
        // A token that was replaced over there and not kept here would be lost, so that this
        // comes to its end also when nobody waits for it.
        let renewing = async move {
            let turn = hall.inner.renewing.lock_for(id);
            let _turn = turn.lock().await;
            match hall.stored_credentials(id).await? {
                StoredCredentials::None => Ok(None),
                StoredCredentials::Fresh(credentials) => Ok(Some(credentials)),
                StoredCredentials::Stale(granted, ends) => hall.renew(id, *granted, ends).await,
            }
        };
        let renewed = self.tasks().finish(renewing).await;
        let broken = || Fault::broken("renewing a token", "it ended badly");
        renewed.unwrap_or_else(|| Err(broken().into()))
    }

    /// Notes that the service no longer takes the credentials of a connection.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn connector_credentials_refused(
        &self,
        id: ConnectorConnectionId,
        shown: &Shown,
    ) -> Result<()> {
        let used = match shown {
            Shown::None => return Ok(()),
            Shown::Key(secret) | Shown::Token(secret) => secret.clone(),
        };
        self.set_account_status(id, AccountStatus::Revoked, used)
            .await
    }

    async fn stored_credentials(&self, id: ConnectorConnectionId) -> Result<StoredCredentials> {
        let (seal, now) = (self.inner.seal.clone(), self.now());
        let seen = self
            .store()
            .read(move |db| {
                let kept = existing(db, id)?;
                let account = AccountSecrets::unseal(&seal, id, kept.credentials.as_deref());
                let is_usable = kept.connection.lifecycle != ConnectionLifecycle::Disconnected
                    && kept.connection.account_status == AccountStatus::Active;
                let early = now.plus_seconds(OAUTH_REFRESH_EARLY_S);
                Ok(
                    match (account.filter(|_| is_usable), kept.credentials_end) {
                        (None, _) => StoredCredentials::None,
                        (Some(account), Some(ends)) if ends <= early => match account.credentials {
                            Credentials::Granted(granted) => {
                                StoredCredentials::Stale(granted, ends)
                            }
                            other => StoredCredentials::Fresh(other),
                        },
                        (Some(account), _) => StoredCredentials::Fresh(account.credentials),
                    },
                )
            })
            .await?;
        Ok(seen.value)
    }

    async fn renew(
        &self,
        id: ConnectorConnectionId,
        granted: GrantedTokens,
        ends: Timestamp,
    ) -> Result<Option<Credentials>> {
        let used = Credentials::Granted(Box::new(granted.clone()));
        let Some(refresh) = granted.tokens.refresh.clone() else {
            if ends > self.now() {
                return Ok(Some(used));
            }
            self.set_account_status(id, AccountStatus::Expired, granted.tokens.access)
                .await?;
            return Ok(None);
        };
        let renewed = match self.connector_oauth_client(&granted.access).await? {
            Some(talk) => talk.refresh(&granted.access, &refresh).await,
            None => Err(RefreshError::Unreachable),
        };
        match renewed {
            Ok(tokens) => self.store_renewed(id, used, granted.rotated(tokens)).await,
            Err(RefreshError::Unreachable) => Ok(Some(used)),
            Err(RefreshError::Rejected) => {
                self.set_account_status(id, AccountStatus::Expired, granted.tokens.access)
                    .await?;
                Ok(None)
            }
        }
    }

    /// Keeps what a renewal brought, unless what it began with is not what stands any more:
    /// somebody disconnected, or signed in anew, meanwhile.
    async fn store_renewed(
        &self,
        id: ConnectorConnectionId,
        used: Credentials,
        renewed: GrantedTokens,
    ) -> Result<Option<Credentials>> {
        let (seal, now) = (self.inner.seal.clone(), self.now());
        let credentials = Credentials::Granted(Box::new(renewed));
        let new = credentials.clone();
        let stands = self
            .store()
            .write(move |tx| {
                let mut kept = existing(tx, id)?;
                let account = AccountSecrets::unseal(&seal, id, kept.credentials.as_deref());
                let Some(account) = account.filter(|it| it.credentials.secret() == used.secret())
                else {
                    return Ok(false);
                };
                kept.credentials_end = new.end(now);
                let account = AccountSecrets {
                    credentials: new,
                    ..account
                };
                kept.credentials = Some(account.seal(&seal, id)?);
                rows::update(tx, &kept)?;
                Ok(true)
            })
            .await?;
        if stands {
            return Ok(Some(credentials));
        }
        self.revoke_credentials_later(credentials);
        match self.stored_credentials(id).await? {
            StoredCredentials::None | StoredCredentials::Stale(..) => Ok(None),
            StoredCredentials::Fresh(credentials) => Ok(Some(credentials)),
        }
    }

    /// Notes what the service says of an account, if it still is of the secret that it said it of.
    async fn set_account_status(
        &self,
        id: ConnectorConnectionId,
        status: AccountStatus,
        used: String,
    ) -> Result<()> {
        let (seal, now) = (self.inner.seal.clone(), self.now());
        self.store()
            .write(move |tx| {
                let mut kept = existing(tx, id)?;
                let account = AccountSecrets::unseal(&seal, id, kept.credentials.as_deref());
                let stands = account.is_some_and(|it| it.credentials.secret() == Some(&used));
                if !stands || kept.connection.account_status == status {
                    return Ok(());
                }
                kept.connection.account_status = status;
                kept.connection.updated_at = now;
                write(tx, &kept, (None, now))
            })
            .await
    }

    /// Gives credentials back that are of no use here; answers whether that worked.
    pub(super) async fn revoke_credentials(&self, credentials: Credentials) -> bool {
        let Credentials::Granted(granted) = credentials else {
            return true;
        };
        let GrantedTokens { access, tokens } = *granted;
        let Ok(Some(talk)) = self.connector_oauth_client(&access).await else {
            return false;
        };
        let mut is_done = true;
        // A server that takes a refresh token back takes its access tokens with it.
        for token in tokens.refresh.iter().chain([&tokens.access]) {
            if let Err(why) = talk.revoke(&access, token).await {
                tracing::warn!(?why, "a token of a connector could not be given back");
                is_done = false;
            }
        }
        is_done
    }

    /// The same behind whatever is answered.
    pub(super) fn revoke_credentials_later(&self, credentials: Credentials) {
        if !credentials.can_be_returned() {
            return;
        }
        let hall = self.clone();
        let work = async move {
            hall.revoke_credentials(credentials).await;
        };
        self.tasks().spawn("connector revocation", self.now(), work);
    }
}

impl Credentials {
    /// What a request shows.
    pub(super) fn for_request(&self) -> Shown {
        match self {
            Self::None => Shown::None,
            Self::Key(key) => Shown::Key(key.clone()),
            Self::Granted(granted) => Shown::Token(granted.tokens.access.clone()),
        }
    }

    /// What of them is secret and stands in requests.
    fn secret(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Key(key) => Some(key),
            Self::Granted(granted) => Some(&granted.tokens.access),
        }
    }
}
