//! Sign-ins: opening one with a password, ending it, and changing the password.

use std::net::IpAddr;

use guildhall_domain::{
    Fault, Refusal, Result, Timestamp,
    accounts::{Account, Email, Password},
    callers::{Arrived, Credential, Gate, SignedIn as ByCookie},
    events::Event,
    field_validation::FieldValidator,
    ids::{AccountId, SignInId},
    sign_ins::SignIn,
};
use guildhall_store::{accounts, api_keys as key_rows, sign_ins};
use guildhall_world::secret_tokens::{self as secrets, SecretToken};

use crate::{Hall, callers::RequestCredentials};

/// Somebody who just signed in; without `Debug`, because it holds a secret.
pub struct StartedSignIn {
    /// Who.
    pub account: Account,
    /// What the cookie holds.
    pub cookie: SecretToken,
}

/// A sign-in about to be kept.
pub(crate) struct NewSignIn {
    /// What the cookie holds.
    pub(crate) cookie: SecretToken,
    sign_in: SignIn,
}

/// What is kept of a sign-in.
#[derive(Clone, Copy)]
pub(crate) struct NewSignInRow {
    pub(crate) sign_in: SignIn,
    pub(crate) digest: [u8; 32],
}

impl NewSignIn {
    /// A new sign-in of an account.
    ///
    /// # Errors
    /// A fault when the machine gives no randomness.
    pub(crate) fn new(account_id: AccountId, now: Timestamp) -> Result<Self, Fault> {
        Ok(Self {
            cookie: secrets::mint(secrets::COOKIE_PREFIX)?,
            sign_in: SignIn {
                id: Hall::new_id(SignInId::from_bytes),
                account_id,
                created_at: now,
                last_used_at: now,
            },
        })
    }

    /// What is kept of it.
    pub(crate) fn row(&self) -> NewSignInRow {
        NewSignInRow {
            sign_in: self.sign_in,
            digest: self.cookie.digest(),
        }
    }
}

impl Hall {
    /// Says whether whoever asks may sign in or register at all: not a process of an agent, and
    /// nobody who may be one; and nobody where there are no accounts.
    ///
    /// # Errors
    /// Those of [`Hall::caller`] for such a connection, then [`Refusal::AuthModeLocal`].
    pub async fn require_may_sign_in(&self, approach: &RequestCredentials) -> Result<()> {
        self.trusted_peer(approach).await?.require_no_agent()?;
        Ok(self.require_accounts()?)
    }

    /// Opens a sign-in.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], [`Refusal::AuthModeLocal`],
    /// [`Refusal::RateLimited`], [`Refusal::InvalidCredentials`], which is the same, and takes
    /// as long, for an unknown address and a wrong password.
    ///
    /// Source: contract 1.4, "Accounts, sessions, keys".
    pub async fn sign_in(
        &self,
        from: IpAddr,
        email: &str,
        password: Password,
    ) -> Result<StartedSignIn> {
        let mut check = FieldValidator::new();
        let email = Email::read(email, &mut check);
        password.check_shown("password", &mut check);
        check.finish()?;
        self.require_accounts()?;
        let now = self.now();
        let attempt = self.inner.attempts.at_account(from, email.as_str(), now)?;
        let known = self
            .store()
            .read(move |db| accounts::by_email(db, &email))
            .await?
            .value;
        let stored = known.as_ref().map(|known| known.password.clone());
        let is_right = self.inner.passwords.verify(password, stored).await?;
        let Some(known) = known.filter(|_| is_right) else {
            attempt.failed()?;
            return Err(Refusal::InvalidCredentials.into());
        };
        attempt.succeeded();
        let session = NewSignIn::new(known.account.id, now)?;
        let kept = session.row();
        let account = self
            .store()
            .write(move |tx| {
                // Meanwhile the password may have changed, which ended every older sign-in.
                let still = accounts::by_id(tx, known.account.id)?
                    .filter(|still| still.password == known.password)
                    .ok_or(Refusal::InvalidCredentials)?;
                sign_ins::insert(tx, &kept.sign_in, &kept.digest)?;
                Ok(still.account)
            })
            .await?;
        Ok(StartedSignIn {
            account,
            cookie: session.cookie,
        })
    }

    /// Ends the caller's sign-in; its streams end. A key or local token has none to end.
    ///
    /// # Errors
    /// [`Refusal::AuthModeLocal`].
    pub async fn sign_out(&self, by: &Arrived) -> Result<()> {
        self.require_accounts()?;
        let (by, now) = (*by.caller(), self.now());
        let Credential::Cookie(id) = by.credential else {
            return Ok(());
        };
        self.store()
            .write(move |tx| {
                sign_ins::end(tx, id)?;
                let author_id = by.author;
                tx.append(now, Some(by.author), &Event::SignedOut { author_id })?;
                Ok(())
            })
            .await
    }

    /// Changes the caller's password; the other sign-ins and all keys of the account end, with
    /// their streams.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], [`Refusal::AuthModeLocal`],
    /// [`Refusal::RateLimited`], [`Refusal::InvalidCredentials`].
    pub async fn change_password(
        &self,
        by: &ByCookie,
        from: IpAddr,
        current: Password,
        next: Password,
    ) -> Result<()> {
        let mut check = FieldValidator::new();
        current.check_shown("current", &mut check);
        next.check_new("next", &mut check);
        if next == current {
            check.fail("next", "must be another one");
        }
        check.finish()?;
        self.require_accounts()?;
        let (by, now) = (*by.caller(), self.now());
        let known = self
            .store()
            .read(move |db| accounts::by_author(db, by.author))
            .await?
            .value;
        let known = known.ok_or(Refusal::InvalidCredentials)?;
        let email = known.account.email.clone();
        let attempt = self.inner.attempts.at_account(from, email.as_str(), now)?;
        let (id, stored) = (known.account.id, Some(known.password.clone()));
        if !self.inner.passwords.verify(current, stored).await? {
            attempt.failed()?;
            return Err(Refusal::InvalidCredentials.into());
        }
        attempt.succeeded();
        let password = self.inner.passwords.hash(next).await?;
        let kept = match by.credential {
            Credential::Cookie(sign_in) => Some(sign_in),
            Credential::Loopback
            | Credential::ApiKey(_)
            | Credential::LocalToken
            | Credential::AgentToken(_)
            | Credential::Process => None,
        };
        self.store()
            .write(move |tx| {
                accounts::by_id(tx, id)?
                    .filter(|still| still.password == known.password)
                    .ok_or(Refusal::InvalidCredentials)?;
                accounts::set_password(tx, id, &password)?;
                sign_ins::end_all(tx, id, kept)?;
                key_rows::remove_all(tx, by.author)?;
                let author_id = by.author;
                tx.append(now, Some(by.author), &Event::PasswordChanged { author_id })?;
                Ok(())
            })
            .await
    }
}
