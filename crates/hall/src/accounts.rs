//! Accounts: the first one with the setup code, further ones by the owner, and their end.

use std::net::IpAddr;

use guildhall_domain::{
    Refusal, Result, Timestamp,
    accounts::{self as rules, Account, Email, RegistrationRequest, Role, ValidRegistration},
    authors::{Author, AuthorKind},
    callers::{AuthMode, Caller, Gate, Owner},
    errors::ResourceKind,
    events::Event,
    ids::{AccountId, AuthorId},
    limits,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx, accounts, api_keys as key_rows, authors, installation,
    members as member_rows, rooms, sign_ins as sign_in_rows,
};
use guildhall_world::{
    passwords,
    secret_tokens::{self as secrets, SecretToken},
    setup_code,
};

use crate::{
    Hall, callers,
    idempotency::IdempotentWrite,
    members,
    sign_ins::{self, StartedSignIn},
    start::AuthState,
};

/// One page of accounts.
#[derive(Clone, Debug)]
pub struct AccountsPage {
    /// The accounts in the order they were made.
    pub accounts: Vec<Account>,
    /// Whether more follow.
    pub has_more: bool,
}

impl Hall {
    /// Whether nobody can sign in before the first account is made; never in mode `local`.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn setup_required(&self) -> Result<bool> {
        match self.mode() {
            AuthMode::Local => Ok(false),
            AuthMode::Login => Ok(!self.store().read(accounts::exist).await?.value),
        }
    }

    /// The name of the author a caller writes as.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn name_of(&self, caller: &Caller) -> Result<String> {
        let id = caller.author;
        let author = self.store().read(move |db| authors::by_id(db, id)).await?;
        let name = author.value.map(|author| author.display_name);
        Ok(name.unwrap_or_default())
    }

    /// Makes the first account, which is the owner's, and signs it in.
    ///
    /// The owner's author of mode `local`, if there is one, becomes this account's.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], [`Refusal::AuthModeLocal`],
    /// [`Refusal::RegistrationClosed`], [`Refusal::RateLimited`], [`Refusal::SetupCodeWrong`],
    /// which counts as a try of `from`.
    ///
    /// Source: contract 1.4, "Accounts, sessions, keys".
    pub async fn register(&self, from: IpAddr, ask: RegistrationRequest) -> Result<StartedSignIn> {
        let ask = ask.check()?;
        let AuthState::Login { setup_code, .. } = self.inner.door else {
            return Err(Refusal::AuthModeLocal.into());
        };
        let code = setup_code.ok_or(Refusal::RegistrationClosed)?;
        if !self.setup_required().await? {
            return Err(Refusal::RegistrationClosed.into());
        }
        let now = self.now();
        let attempt = self.inner.attempts.at_address(from, now)?;
        // Digests are compared, so that time tells nothing of the code.
        if secrets::digest(&ask.setup_code) != code {
            return Err(Refusal::SetupCodeWrong.into());
        }
        attempt.succeeded();
        let password = self.inner.passwords.hash(ask.password.clone()).await?;
        let id = Self::new_id(AccountId::from_bytes);
        let new_author = Self::new_id(AuthorId::from_bytes);
        let session = sign_ins::NewSignIn::new(id, now)?;
        let kept = session.row();
        let account = self
            .store()
            .write(move |tx| {
                if accounts::exist(tx)? {
                    return Err(Refusal::RegistrationClosed.into());
                }
                let author = owners_author(tx, new_author, &ask, now)?;
                let account = insert_account(tx, author, id, ask.email, &password, false, now)?;
                sign_in_rows::insert(tx, &kept.sign_in, &kept.digest)?;
                Ok(account)
            })
            .await?;
        if let Err(error) = setup_code::remove(&self.inner.data_dir) {
            tracing::warn!(%error, "the file of the setup code, which is worthless now, stays");
        }
        Ok(StartedSignIn {
            account,
            cookie: session.cookie,
        })
    }

    /// The accounts in the order they were made.
    ///
    /// # Errors
    /// [`Refusal::AuthModeLocal`].
    pub async fn accounts(
        &self,
        _by: &Owner,
        after: Option<AccountId>,
        limit: u32,
    ) -> Result<ReadSnapshot<AccountsPage>> {
        self.require_accounts()?;
        self.store()
            .read(move |db| {
                let mut accounts = accounts::list(db, after, limit)?;
                let has_more = accounts.len() > limit as usize;
                accounts.truncate(limit as usize);
                Ok(AccountsPage { accounts, has_more })
            })
            .await
    }

    /// Makes an account for another person, with a password to be replaced at first use; its
    /// text is in this answer and nowhere else.
    ///
    /// # Errors
    /// In this order: [`Refusal::Validation`], [`Refusal::AuthModeLocal`],
    /// [`Refusal::EmailTaken`], [`Refusal::LimitReached`].
    pub async fn add_account(
        &self,
        by: &Owner,
        email: &str,
        display_name: &str,
        once: IdempotentWrite<Account>,
    ) -> Result<(Account, SecretToken)> {
        let (email, display_name) = rules::check_invitation(email, display_name)?;
        self.require_accounts()?;
        let (by, now) = (*by.caller(), self.now());
        let actor = by.author;
        let invitation = passwords::invite()?;
        let password = self.inner.passwords.hash(invitation.as_password()).await?;
        let id = Self::new_id(AccountId::from_bytes);
        let author = Self::new_id(AuthorId::from_bytes);
        let author = Author::new(author, AuthorKind::Human, display_name);
        let account = self
            .store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                once.run(tx, now, |tx| {
                    if accounts::by_email(tx, &email)?.is_some() {
                        return Err(Refusal::EmailTaken.into());
                    }
                    if accounts::count_all(tx)? >= limits::ACCOUNTS_MAX {
                        return Err(Refusal::LimitReached("accounts").into());
                    }
                    create_person_author(tx, actor, &author, now)?;
                    insert_account(tx, author, id, email, &password, true, now)
                })
            })
            .await?;
        Ok((account, invitation))
    }

    /// Removes another person's account: its sign-ins, keys and memberships end, its author is
    /// retired and its handle kept for it.
    ///
    /// # Errors
    /// [`Refusal::AuthModeLocal`], `NotFound`, [`Refusal::OwnerAccount`].
    pub async fn remove_account(&self, by: &Owner, id: AccountId) -> Result<()> {
        self.require_accounts()?;
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                remove(tx, by.author, id, now)
            })
            .await
    }

    /// Holds back whoever asks for accounts where there are none.
    ///
    /// # Errors
    /// [`Refusal::AuthModeLocal`].
    pub(crate) fn require_accounts(&self) -> Result<(), Refusal> {
        match self.mode() {
            AuthMode::Local => Err(Refusal::AuthModeLocal),
            AuthMode::Login => Ok(()),
        }
    }
}

/// The owner's author under its new name: the one of mode `local`, or a new one.
fn owners_author(
    tx: &mut Tx<'_>,
    new: AuthorId,
    ask: &ValidRegistration,
    now: Timestamp,
) -> Result<Author> {
    let known = match installation::owner(tx)? {
        Some(owner) => authors::by_id(tx, owner)?,
        None => None,
    };
    let Some(before) = known else {
        let author = Author::new(new, AuthorKind::Human, ask.display_name.clone());
        installation::set_owner(tx, author.id)?;
        create_person_author(tx, author.id, &author, now)?;
        return Ok(author);
    };
    let author = Author {
        display_name: ask.display_name.clone(),
        ..before.clone()
    };
    if author != before {
        authors::update(tx, &author)?;
        crate::authors::append_renamed_events(tx, now, author.id, &author)?;
    }
    Ok(author)
}

/// Makes a person's author, a member of `team`.
fn create_person_author(
    tx: &mut Tx<'_>,
    actor: AuthorId,
    author: &Author,
    now: Timestamp,
) -> Result<()> {
    authors::insert(tx, author)?;
    let event = Event::AuthorUpdated {
        author: author.clone(),
    };
    tx.append(now, Some(actor), &event)?;
    let team = rooms::team(tx)?;
    members::join(tx, Some(actor), team, author, None, now)?;
    Ok(())
}

/// Makes the account of an author that exists, and tells of it.
fn insert_account(
    tx: &mut Tx<'_>,
    author: Author,
    id: AccountId,
    email: Email,
    password: &str,
    is_invited: bool,
    now: Timestamp,
) -> Result<Account> {
    let is_owner = installation::owner(tx)? == Some(author.id);
    let account = Account {
        id,
        email,
        display_name: author.display_name,
        role: if is_owner { Role::Owner } else { Role::Person },
        author_id: author.id,
        created_at: now,
    };
    accounts::insert(tx, &account, password, is_invited)?;
    let actor = installation::owner(tx)?;
    tx.append(now, actor, &Event::AccountCreated { account_id: id })?;
    Ok(account)
}

/// Removes the account of a person who is not the owner, with everything that speaks for it.
pub(crate) fn remove(
    tx: &mut Tx<'_>,
    actor: AuthorId,
    id: AccountId,
    now: Timestamp,
) -> Result<()> {
    let Account {
        role, author_id, ..
    } = existing(tx, id)?;
    if role == Role::Owner {
        return Err(Refusal::OwnerAccount.into());
    }
    key_rows::remove_all(tx, author_id)?;
    sign_in_rows::end_all(tx, id, None)?;
    accounts::remove(tx, id)?;
    for room in member_rows::rooms_of(tx, author_id)? {
        members::leave(tx, Some(actor), room, author_id, now)?;
    }
    crate::authors::retire(tx, actor, author_id, now)?;
    tx.append(now, Some(actor), &Event::AccountRemoved { account_id: id })?;
    Ok(())
}

fn existing(db: &ReadTx<'_>, id: AccountId) -> Result<Account> {
    let known = accounts::by_id(db, id)?.ok_or(Refusal::NotFound(ResourceKind::Account))?;
    Ok(known.account)
}
