//! Credentials: what an agent's process and its sessions show to be known, minted as each begins
//! and gone with it. The process's token names the agent alone; a session's token names the
//! session too, and what is done with it belongs to the session's turn.

use std::collections::HashSet;

use guildhall_domain::{
    Refusal, Result, Timestamp,
    agent_tokens::{AgentToken, TokenOrigin},
    agents::AgentState,
    events::Event,
    ids::{AgentId, AgentTokenId, SessionId},
    sessions::SessionState,
};
use guildhall_store::{Tx, agent_tokens as rows, agents};
use guildhall_world::secret_tokens::{self as secrets, SecretToken};

use super::reload;
use crate::{Hall, agent_tokens};

impl Hall {
    /// Mints the token an agent's process is started with.
    ///
    /// # Errors
    /// [`Refusal::AgentRetired`].
    pub(super) async fn mint_process_token(
        &self,
        agent: AgentId,
    ) -> Result<(AgentTokenId, SecretToken)> {
        let (token, now) = (self.token_of("process", agent, None), self.now());
        let id = token.id;
        let secret = secrets::mint(secrets::AGENT_PREFIX)?;
        let digest = secret.digest();
        let minted = move |tx: &mut Tx<'_>| insert(tx, &token, &digest, now);
        self.store().write(minted).await?;
        Ok((id, secret))
    }

    /// Mints the token that a session's own tool server shows; the one before is revoked.
    ///
    /// # Errors
    /// [`Refusal::AgentRetired`], [`Refusal::SessionClosed`].
    pub(super) async fn mint_session_token(
        &self,
        agent: AgentId,
        session: SessionId,
    ) -> Result<SecretToken> {
        let (token, now) = (self.token_of("session", agent, Some(session)), self.now());
        let secret = secrets::mint(secrets::AGENT_PREFIX)?;
        let digest = secret.digest();
        let minted = move |tx: &mut Tx<'_>| {
            if reload(tx, session)?.state == SessionState::Closed {
                return Err(Refusal::SessionClosed.into());
            }
            revoke_of_session(tx, agent, session, now)?;
            insert(tx, &token, &digest, now)
        };
        self.store().write(minted).await?;
        Ok(secret)
    }

    /// Takes back the token of an agent's process that has ended, and those of the sessions that
    /// were opened in it, as soon as the store takes it.
    pub(super) async fn revoke_process_tokens(
        &self,
        agent: AgentId,
        token: AgentTokenId,
        sessions: HashSet<SessionId>,
    ) {
        let now = self.now();
        let revoked = self.write_until_accepted(move |tx| {
            agent_tokens::revoke(tx, None, agent, token, now)?;
            let mut sessions = sessions.iter();
            sessions.try_for_each(|session| revoke_of_session(tx, agent, *session, now))
        });
        if revoked.await.is_err() {
            tracing::warn!(%agent, "the tokens of a process could not be revoked");
        }
    }

    /// Takes the token of a session back that could not be opened.
    pub(super) async fn revoke_session_token(&self, agent: AgentId, session: SessionId) {
        let now = self.now();
        let revoked =
            self.write_until_accepted(move |tx| revoke_of_session(tx, agent, session, now));
        if revoked.await.is_err() {
            tracing::warn!(%session, "the token of a session could not be revoked");
        }
    }

    fn token_of(&self, label: &str, agent: AgentId, session: Option<SessionId>) -> AgentToken {
        AgentToken {
            id: Self::new_id(AgentTokenId::from_bytes),
            agent_id: agent,
            label: label.to_owned(),
            origin: TokenOrigin::Spawn,
            session_id: session,
            created_at: self.now(),
            last_used_at: None,
            revoked_at: None,
        }
    }
}

/// Revokes what was minted for a session.
pub(super) fn revoke_of_session(
    tx: &mut Tx<'_>,
    agent: AgentId,
    session: SessionId,
    now: Timestamp,
) -> Result<()> {
    let live = rows::spawned_of_session(tx, session)?;
    live.into_iter()
        .try_for_each(|token| agent_tokens::revoke(tx, None, agent, token, now))
}

fn insert(tx: &mut Tx<'_>, token: &AgentToken, digest: &[u8; 32], now: Timestamp) -> Result<()> {
    let known = agents::by_id(tx, token.agent_id)?;
    if known.is_none_or(|agent| agent.state == AgentState::Retired) {
        return Err(Refusal::AgentRetired.into());
    }
    rows::insert(tx, token, digest)?;
    let event = Event::AgentTokenCreated {
        agent_id: token.agent_id,
        token_id: token.id,
    };
    tx.append(now, None, &event).map(|_| ())
}
