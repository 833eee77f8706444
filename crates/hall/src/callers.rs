//! Callers: finding out who is calling, from the socket's user and the credentials shown.
//! A credential that was shown and failed never falls through to a weaker rule.

use guildhall_domain::{
    Moment, Refusal, Result,
    callers::{Caller, Credential, Identity},
    ids::TokenId,
};
use guildhall_store::{Rx, tokens};
use guildhall_world::{
    peers::{self, PeerWord},
    tokens as secrets,
};

use crate::Hall;

/// What is known of the socket a request came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// This computer, and the server's own OS user, or nobody checks which user it is.
    OwnUser,
    /// This computer, another OS user.
    OtherUser,
    /// This computer, but the kernel gave no answer about the socket.
    Unanswered,
    /// Another computer.
    Elsewhere,
}

impl Peer {
    /// What the kernel's `word` on a connection means for who may be behind it.
    pub fn of(is_loopback: bool, word: PeerWord) -> Self {
        match word {
            _ if !is_loopback => Self::Elsewhere,
            PeerWord::User { uid, .. } if uid == peers::own_uid() => Self::OwnUser,
            PeerWord::User { .. } => Self::OtherUser,
            PeerWord::Unknown => Self::Unanswered,
            PeerWord::NotAsked => Self::OwnUser,
        }
    }
}

/// A header that may hold a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Not there.
    Absent,
    /// There once, as text.
    Text(String),
    /// There, but empty, twice, or not text.
    Unreadable,
}

/// Everything a request shows of its caller.
#[derive(Clone, Debug)]
pub struct Approach {
    /// The socket.
    pub peer: Peer,
    /// The header `X-Service-Agent`.
    pub service_agent: Shown,
    /// The header `Authorization`.
    pub authorization: Shown,
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
    /// [`Refusal::NotTheOwner`], [`Refusal::AgentIdentityUnverified`] or
    /// [`Refusal::AuthRequired`], each for "nobody".
    ///
    /// Source: contract 1.4, "Resolution", mode `local`.
    pub async fn caller(&self, approach: &Approach) -> Result<Caller> {
        if approach.peer == Peer::Unanswered {
            return Err(Refusal::NotTheOwner.into());
        }
        match agent_credential(approach) {
            AgentCredential::Token(token) => return self.agent(token).await,
            AgentCredential::Unverifiable => return Err(Refusal::AgentIdentityUnverified.into()),
            AgentCredential::Absent => {}
        }
        if approach.authorization != Shown::Absent {
            return Err(Refusal::AuthRequired.into());
        }
        match approach.peer {
            Peer::OwnUser => Ok(self.owner()),
            Peer::OtherUser | Peer::Unanswered | Peer::Elsewhere => {
                Err(Refusal::NotTheOwner.into())
            }
        }
    }

    fn owner(&self) -> Caller {
        Caller {
            identity: Identity::Owner,
            author: self.inner.owner,
            credential: Credential::Loopback,
        }
    }

    async fn agent(&self, token: &str) -> Result<Caller> {
        let digest = secrets::digest(token);
        let found = self
            .store()
            .read(move |db| tokens::by_digest(db, &digest))
            .await?
            .value;
        let now = self.now();
        let bearer = found
            .filter(|bearer| bearer.registered && bearer.token.is_live(now))
            .ok_or(Refusal::AgentIdentityUnverified)?;
        let id = bearer.token.id;
        if bearer.token.wants_touch(now) {
            // A full disk or queue keeps nobody from reading: the use is noted next time.
            if let Err(error) = self
                .store()
                .write(move |tx| tokens::touch(tx, id, now))
                .await
            {
                tracing::warn!(?error, "a token's use could not be noted");
            }
        }
        Ok(Caller {
            identity: Identity::Agent(bearer.token.agent_id),
            author: bearer.author,
            credential: Credential::AgentToken(id),
        })
    }
}

/// Whether a caller's credential still counts at `now`.
pub(crate) fn still_counts(db: &Rx<'_>, caller: &Caller, now: Moment) -> Result<bool> {
    match caller.credential {
        Credential::Loopback => Ok(true),
        Credential::AgentToken(token) => token_counts(db, token, now),
    }
}

fn token_counts(db: &Rx<'_>, token: TokenId, now: Moment) -> Result<bool> {
    let found = tokens::by_id(db, token)?;
    Ok(found.is_some_and(|bearer| bearer.registered && bearer.token.is_live(now)))
}

/// The agent credential shown in either header; two that differ name nobody.
fn agent_credential(approach: &Approach) -> AgentCredential<'_> {
    let bearer = match &approach.authorization {
        Shown::Text(text) => bearer_token(text).filter(|token| token.starts_with(secrets::PREFIX)),
        Shown::Absent | Shown::Unreadable => None,
    };
    match (&approach.service_agent, bearer) {
        (Shown::Absent, None) => AgentCredential::Absent,
        (Shown::Absent, Some(token)) => AgentCredential::Token(token),
        (Shown::Text(header), None) => AgentCredential::Token(header),
        (Shown::Text(header), Some(token)) if header == token => AgentCredential::Token(token),
        (Shown::Text(_), Some(_)) | (Shown::Unreadable, _) => AgentCredential::Unverifiable,
    }
}

/// The token behind the scheme `Bearer`, whose name has no case (RFC 9110 §11.1).
pub fn bearer_token(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
