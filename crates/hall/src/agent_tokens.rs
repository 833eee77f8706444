//! Agent tokens: minting, listing and revoking them.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    agent_tokens::{AgentToken, TokenOrigin},
    agents::AgentState,
    callers::{Gate, Owner},
    errors::ResourceKind,
    events::Event,
    field_validation::FieldValidator,
    ids::{AgentId, AgentTokenId, AuthorId},
    limits,
};
use guildhall_store::{ReadSnapshot, ReadTx, Tx, agent_tokens, agents};
use guildhall_world::secret_tokens::{self as secrets, SecretToken};

use crate::{Hall, callers, idempotency::IdempotentWrite};

impl Hall {
    /// Mints a token that names an agent; its text is in this answer and nowhere else.
    ///
    /// # Errors
    /// [`Refusal::Validation`] on `label`, `NotFound` for an unknown or retired agent.
    pub async fn mint_token(
        &self,
        by: &Owner,
        agent: AgentId,
        label: String,
        once: IdempotentWrite<AgentToken>,
    ) -> Result<(AgentToken, SecretToken)> {
        let label = label.trim().to_owned();
        let mut check = FieldValidator::new();
        let range = limits::TOKEN_LABEL_CHARS;
        check.chars("label", &label, *range.start(), *range.end());
        check.one_line("label", &label);
        check.finish()?;
        let (by, now) = (*by.caller(), self.now());
        let token = AgentToken {
            id: Self::new_id(AgentTokenId::from_bytes),
            agent_id: agent,
            label,
            origin: TokenOrigin::Person,
            session_id: None,
            created_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        let secret = secrets::mint(secrets::AGENT_PREFIX)?;
        let digest = secret.digest();
        let token = self
            .store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                once.run(tx, now, |tx| {
                    require_agent(tx, agent, false)?;
                    agent_tokens::insert(tx, &token, &digest)?;
                    let event = Event::AgentTokenCreated {
                        agent_id: agent,
                        token_id: token.id,
                    };
                    tx.append(now, Some(by.author), &event)?;
                    Ok(token)
                })
            })
            .await?;
        Ok((token, secret))
    }

    /// The tokens of an agent, revoked ones too.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn tokens(
        &self,
        _by: &Owner,
        agent: AgentId,
    ) -> Result<ReadSnapshot<Vec<AgentToken>>> {
        self.store()
            .read(move |db| {
                require_agent(db, agent, true)?;
                agent_tokens::of_agent(db, agent)
            })
            .await
    }

    /// Revokes a token: the next request with it is refused, its streams end.
    ///
    /// # Errors
    /// `NotFound` for agent or token.
    pub async fn revoke_token(
        &self,
        by: &Owner,
        agent: AgentId,
        token: AgentTokenId,
    ) -> Result<()> {
        let (actor, now) = (by.caller().author, self.now());
        self.store()
            .write(move |tx| {
                require_agent(tx, agent, true)?;
                agent_tokens::by_id(tx, token)?
                    .filter(|bearer| bearer.token.agent_id == agent)
                    .ok_or(Refusal::NotFound(ResourceKind::Token))?;
                revoke(tx, Some(actor), agent, token, now)
            })
            .await
    }
}

/// Revokes a token and tells of it, unless it was revoked before.
pub(crate) fn revoke(
    tx: &mut Tx<'_>,
    actor: Option<AuthorId>,
    agent: AgentId,
    token: AgentTokenId,
    now: Timestamp,
) -> Result<()> {
    if agent_tokens::revoke(tx, token, now)? {
        let event = Event::AgentTokenRevoked {
            agent_id: agent,
            token_id: token,
        };
        tx.append(now, actor, &event)?;
    }
    Ok(())
}

/// Revokes, as the server starts, the tokens of processes that ended with the server before it.
pub(crate) fn recover(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    for (agent_id, token_id) in agent_tokens::revoke_spawned(tx, now)? {
        let event = Event::AgentTokenRevoked { agent_id, token_id };
        tx.append(now, None, &event)?;
    }
    Ok(())
}

fn require_agent(db: &ReadTx<'_>, id: AgentId, retired_too: bool) -> Result<()> {
    let known = agents::by_id(db, id)?
        .is_some_and(|agent| retired_too || agent.state != AgentState::Retired);
    if known {
        Ok(())
    } else {
        Err(Refusal::NotFound(ResourceKind::Agent).into())
    }
}
