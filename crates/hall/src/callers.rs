//! Callers: finding out who is calling, from the socket's user and the credentials shown.
//! A credential that was shown and failed never falls through to a weaker rule.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    agents::AgentState,
    callers::{AuthMode, Caller, Credential, Identity},
    ids::{AgentId, AgentTokenId},
};
use guildhall_store::{
    ReadTx, Tx,
    accounts::{self, CredentialHolder},
    agent_tokens, agents, api_keys, sign_ins,
};
use guildhall_world::{
    peer_lookup::{self, PeerOwner},
    secret_tokens as secrets,
};

use crate::{Hall, start::AuthState};

/// What is known of the socket a request came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerIdentity {
    /// This computer, and the server's own OS user, or nobody checks which user it is.
    OwnUser,
    /// This computer, and whoever it is may be an agent.
    InDoubt {
        /// Whether it is the server's own OS user.
        is_own_user: bool,
        /// Whether the cookie of a trusted browser settles it.
        can_be_settled: bool,
    },
    /// This computer, another OS user.
    OtherUser,
    /// A process of this agent's tree.
    Agent(AgentId),
    /// A process below the server that belongs to no agent.
    Stray,
    /// Whoever came to the listener for agents; with the agent whose process it is, if known.
    AgentListener(Option<AgentId>),
    /// This computer, but the kernel gave no answer about the socket.
    Unanswered,
    /// Another computer.
    Elsewhere,
}

impl PeerIdentity {
    /// Refuses agents, and whoever may be one.
    pub(crate) fn require_no_agent(self) -> Result<(), Refusal> {
        match self {
            Self::OwnUser | Self::OtherUser | Self::Elsewhere => Ok(()),
            Self::InDoubt { .. } => Err(Refusal::CallerInDoubt),
            Self::Unanswered => Err(Refusal::NotTheOwner),
            Self::Agent(_) | Self::Stray | Self::AgentListener(_) => {
                Err(Refusal::AgentIdentityUnverified)
            }
        }
    }

    /// What the kernel's `word` on a connection means for who may be behind it.
    pub fn of(word: PeerOwner) -> Self {
        match word {
            PeerOwner::Elsewhere => Self::Elsewhere,
            PeerOwner::Agent(agent) => Self::Agent(agent),
            // A page is nobody; only served folders are asked for by one at all.
            PeerOwner::Browser | PeerOwner::Stray => Self::Stray,
            PeerOwner::AgentListener(agent) => Self::AgentListener(agent),
            PeerOwner::User { uid, .. } if uid == peer_lookup::own_uid() => Self::OwnUser,
            PeerOwner::InDoubt {
                uid,
                can_be_settled,
            } => Self::InDoubt {
                is_own_user: uid == peer_lookup::own_uid(),
                can_be_settled,
            },
            PeerOwner::User { .. } => Self::OtherUser,
            PeerOwner::Unknown => Self::Unanswered,
            PeerOwner::NotAsked => Self::OwnUser,
        }
    }
}

/// A header that may hold a credential.
#[derive(Clone, PartialEq, Eq)]
pub enum CredentialHeader {
    /// Not there.
    Absent,
    /// There once, as text.
    Text(String),
    /// There, but empty, twice, or not text.
    Unreadable,
}

/// Everything a request shows of its caller; without `Debug`, because it holds secrets.
#[derive(Clone)]
pub struct RequestCredentials {
    /// The socket.
    pub peer: PeerIdentity,
    /// The header `X-Service-Agent`.
    pub service_agent: CredentialHeader,
    /// The header `Authorization`.
    pub authorization: CredentialHeader,
    /// What cookies of a sign-in hold, by their two names; those of the second count where none of
    /// the first is a sign-in's. Without meaning in mode `local`.
    pub cookies: [Vec<String>; 2],
    /// What cookies of a trusted browser hold; without meaning where nobody is in doubt.
    pub trusted: Vec<String>,
}

/// The agent credential of a request: absent, presented or unreadable, never two of them.
enum AgentCredential<'a> {
    Absent,
    Token(&'a str),
    Unverifiable,
}

impl Hall {
    /// Says who is calling.
    ///
    /// # Errors
    /// [`Refusal::NotTheOwner`], [`Refusal::CallerInDoubt`], [`Refusal::AgentIdentityUnverified`],
    /// [`Refusal::AuthRequired`] or [`Refusal::SetupRequired`], each for "nobody".
    ///
    /// Source: contract 1.4, "Resolution".
    pub async fn caller(&self, approach: &RequestCredentials) -> Result<Caller> {
        let peer = self.trusted_peer(approach).await?;
        let holder = match peer {
            PeerIdentity::AgentListener(holder) => return self.by_token(approach, holder).await,
            PeerIdentity::Agent(agent) => Some(agent),
            PeerIdentity::Stray => return Err(Refusal::AgentIdentityUnverified.into()),
            PeerIdentity::Unanswered => return Err(Refusal::NotTheOwner.into()),
            PeerIdentity::InDoubt { .. } => return Err(Refusal::CallerInDoubt.into()),
            PeerIdentity::OwnUser | PeerIdentity::OtherUser | PeerIdentity::Elsewhere => None,
        };
        match (agent_credential(approach), holder) {
            (AgentCredential::Unverifiable, _) => {
                return Err(Refusal::AgentIdentityUnverified.into());
            }
            (AgentCredential::Token(token), None) => return self.agent(token).await,
            (AgentCredential::Token(_), Some(_)) => return self.by_token(approach, holder).await,
            (AgentCredential::Absent, Some(holder)) => return self.agent_by_process(holder).await,
            (AgentCredential::Absent, None) => {}
        }
        match &approach.authorization {
            CredentialHeader::Text(text) => return self.bearer(text, peer).await,
            CredentialHeader::Unreadable => return Err(Refusal::AuthRequired.into()),
            CredentialHeader::Absent => {}
        }
        match (&self.inner.door, peer) {
            (AuthState::Local { owner }, PeerIdentity::OwnUser) => Ok(Caller {
                identity: Identity::Owner,
                author: *owner,
                credential: Credential::Loopback,
                is_invited: false,
            }),
            (
                AuthState::Local { .. },
                PeerIdentity::OtherUser
                | PeerIdentity::Agent(_)
                | PeerIdentity::Stray
                | PeerIdentity::AgentListener(_)
                | PeerIdentity::InDoubt { .. }
                | PeerIdentity::Unanswered
                | PeerIdentity::Elsewhere,
            ) => Err(Refusal::NotTheOwner.into()),
            (AuthState::Login { .. }, _) => self.signed_in(&approach.cookies).await,
        }
    }

    /// The other end of the connection; a trusted browser is in no doubt.
    pub(crate) async fn trusted_peer(&self, approach: &RequestCredentials) -> Result<PeerIdentity> {
        match approach.peer {
            PeerIdentity::InDoubt {
                is_own_user,
                can_be_settled: true,
            } if self.is_trusted(&approach.trusted).await? => Ok(match is_own_user {
                true => PeerIdentity::OwnUser,
                false => PeerIdentity::OtherUser,
            }),
            peer => Ok(peer),
        }
    }

    /// The agent whose token is shown, and nobody else: neither a process nor another credential
    /// makes anybody known. The token of another agent than `holder` counts for nothing.
    async fn by_token(
        &self,
        approach: &RequestCredentials,
        holder: Option<AgentId>,
    ) -> Result<Caller> {
        let AgentCredential::Token(token) = agent_credential(approach) else {
            return Err(Refusal::AgentIdentityUnverified.into());
        };
        let caller = self.agent(token).await?;
        match (caller.agent(), holder) {
            (Some(agent), Some(holder)) if agent != holder => {
                Err(Refusal::AgentIdentityUnverified.into())
            }
            (Some(_), _) => Ok(caller),
            (None, _) => Err(Refusal::AgentIdentityUnverified.into()),
        }
    }

    /// Whoever shows an API key or the token of the discovery file.
    async fn bearer(&self, authorization: &str, peer: PeerIdentity) -> Result<Caller> {
        let token = bearer_token(authorization).ok_or(Refusal::AuthRequired)?;
        let digest = secrets::digest(token);
        if token.starts_with(secrets::KEY_PREFIX) {
            return self.key(digest).await;
        }
        match self.inner.door {
            // Digests are compared, so that time tells nothing of the token.
            AuthState::Login { local_token, .. }
                if local_token == digest && peer == PeerIdentity::OwnUser =>
            {
                let owner = self.store().read(accounts::owner).await?.value;
                let caller =
                    owner.and_then(|owner| person(&owner, AuthMode::Login, Credential::LocalToken));
                Ok(caller.ok_or(Refusal::SetupRequired)?)
            }
            AuthState::Login { .. } | AuthState::Local { .. } => Err(Refusal::AuthRequired.into()),
        }
    }

    async fn key(&self, digest: [u8; 32]) -> Result<Caller> {
        let found = self
            .store()
            .read(move |db| api_keys::by_digest(db, &digest))
            .await?
            .value;
        let bearer = found.ok_or(Refusal::AuthRequired)?;
        let (id, now) = (bearer.key.id, self.now());
        let caller = person(&bearer.holder, self.mode(), Credential::ApiKey(id))
            .ok_or(Refusal::AuthRequired)?;
        if bearer.key.needs_last_used_update(now) {
            self.record_use(move |tx| api_keys::touch(tx, id, now))
                .await;
        }
        Ok(caller)
    }

    /// Whoever shows the cookie of a sign-in. Cookies of no sign-in beside it count for nothing;
    /// with those of two people under one name nobody knows who is meant.
    async fn signed_in(&self, cookies: &[Vec<String>; 2]) -> Result<Caller> {
        let digests_of = |values: &Vec<String>| -> Vec<_> {
            values.iter().map(|value| secrets::digest(value)).collect()
        };
        let digests = cookies.each_ref().map(digests_of);
        let now = self.now();
        let find = move |db: &ReadTx<'_>| {
            for digests in &digests {
                let mut found: Option<sign_ins::SignInWithHolder> = None;
                for digest in digests {
                    let bearer = sign_ins::by_digest(db, digest)?;
                    let Some(bearer) = bearer.filter(|bearer| bearer.sign_in.is_live(now)) else {
                        continue;
                    };
                    match &found {
                        None => found = Some(bearer),
                        Some(first) if first.holder.author == bearer.holder.author => {}
                        Some(_) => return Err(Refusal::AuthRequired.into()),
                    }
                }
                if let Some(bearer) = found {
                    return Ok(bearer);
                }
            }
            match accounts::exist(db)? {
                true => Err(Refusal::AuthRequired.into()),
                false => Err(Refusal::SetupRequired.into()),
            }
        };
        let sign_ins::SignInWithHolder { sign_in, holder } = self.store().read(find).await?.value;
        if sign_in.needs_last_used_update(now) {
            self.record_use(move |tx| sign_ins::touch(tx, sign_in.id, now))
                .await;
        }
        let cookie = Credential::Cookie(sign_in.id);
        Ok(person(&holder, AuthMode::Login, cookie).ok_or(Refusal::AuthRequired)?)
    }

    async fn agent(&self, token: &str) -> Result<Caller> {
        let digest = secrets::digest(token);
        let found = self
            .store()
            .read(move |db| agent_tokens::by_digest(db, &digest))
            .await?
            .value;
        let now = self.now();
        let bearer = found
            .filter(|bearer| bearer.registered && bearer.token.is_live(now))
            .ok_or(Refusal::AgentIdentityUnverified)?;
        let id = bearer.token.id;
        if bearer.token.needs_last_used_update(now) {
            self.record_use(move |tx| agent_tokens::touch(tx, id, now))
                .await;
        }
        Ok(Caller {
            identity: Identity::Agent(bearer.token.agent_id),
            author: bearer.author,
            credential: Credential::AgentToken(id),
            is_invited: false,
        })
    }

    /// The agent whose process made the connection, whatever it showed or left out.
    async fn agent_by_process(&self, agent: AgentId) -> Result<Caller> {
        let found = self
            .store()
            .read(move |db| agents::by_id(db, agent))
            .await?
            .value;
        let agent = found
            .filter(|agent| agent.state != AgentState::Retired)
            .ok_or(Refusal::AgentIdentityUnverified)?;
        Ok(Caller {
            identity: Identity::Agent(agent.id),
            author: agent.author_id,
            credential: Credential::Process,
            is_invited: false,
        })
    }

    /// Notes the use of a credential.
    async fn record_use(&self, touch: impl FnOnce(&mut Tx<'_>) -> Result<()> + Send + 'static) {
        // A full disk or queue keeps nobody from reading: the use is noted next time.
        if let Err(error) = self.store().write(touch).await {
            tracing::warn!(?error, "a credential's use could not be noted");
        }
    }
}

/// The person behind a credential; `None` when it stands for nobody in this mode: a person
/// without account in mode `login`, anybody but the owner in mode `local`.
fn person(holder: &CredentialHolder, mode: AuthMode, credential: Credential) -> Option<Caller> {
    let identity = match (mode, holder.is_owner, holder.account) {
        (AuthMode::Local, true, _) | (AuthMode::Login, true, Some(_)) => Identity::Owner,
        (AuthMode::Login, false, Some(account)) => Identity::Person(account),
        (AuthMode::Local, false, _) | (AuthMode::Login, _, None) => return None,
    };
    Some(Caller {
        identity,
        author: holder.author,
        credential,
        is_invited: mode == AuthMode::Login && holder.is_invited,
    })
}

/// Whether a caller's credential still counts at `now`.
pub(crate) fn is_live(db: &ReadTx<'_>, caller: &Caller, now: Timestamp) -> Result<bool> {
    match caller.credential {
        Credential::Loopback | Credential::LocalToken => Ok(true),
        Credential::Cookie(id) => {
            Ok(sign_ins::by_id(db, id)?.is_some_and(|sign_in| sign_in.is_live(now)))
        }
        Credential::ApiKey(id) => Ok(api_keys::by_id(db, id)?.is_some()),
        Credential::AgentToken(token) => is_token_live(db, token, now),
        Credential::Process => match caller.agent() {
            Some(agent) => {
                Ok(agents::by_id(db, agent)?.is_some_and(|it| it.state != AgentState::Retired))
            }
            None => Ok(false),
        },
    }
}

/// Holds back a change whose caller's credential ended while the request was on its way: what
/// makes new credentials, or changes who may do what, must not outlive the one it rests on.
///
/// # Errors
/// [`Refusal::AgentIdentityUnverified`] for an agent, else [`Refusal::AuthRequired`].
pub(crate) fn require_live_credential(
    db: &ReadTx<'_>,
    caller: &Caller,
    now: Timestamp,
) -> Result<()> {
    if is_live(db, caller, now)? {
        return Ok(());
    }
    Err(match caller.agent() {
        Some(_) => Refusal::AgentIdentityUnverified,
        None => Refusal::AuthRequired,
    }
    .into())
}

fn is_token_live(db: &ReadTx<'_>, token: AgentTokenId, now: Timestamp) -> Result<bool> {
    let found = agent_tokens::by_id(db, token)?;
    Ok(found.is_some_and(|bearer| bearer.registered && bearer.token.is_live(now)))
}

/// The agent credential shown in either header; two that differ name nobody.
fn agent_credential(approach: &RequestCredentials) -> AgentCredential<'_> {
    let bearer = match &approach.authorization {
        CredentialHeader::Text(text) => {
            bearer_token(text).filter(|token| token.starts_with(secrets::AGENT_PREFIX))
        }
        CredentialHeader::Absent | CredentialHeader::Unreadable => None,
    };
    match (&approach.service_agent, bearer) {
        (CredentialHeader::Absent, None) => AgentCredential::Absent,
        (CredentialHeader::Absent, Some(token)) => AgentCredential::Token(token),
        (CredentialHeader::Text(header), None) => AgentCredential::Token(header),
        (CredentialHeader::Text(header), Some(token)) if header == token => {
            AgentCredential::Token(token)
        }
        (CredentialHeader::Text(_), Some(_)) | (CredentialHeader::Unreadable, _) => {
            AgentCredential::Unverifiable
        }
    }
}

/// The token behind the scheme `SignInWithHolder`, whose name has no case (RFC 9110 §11.1).
pub fn bearer_token(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
