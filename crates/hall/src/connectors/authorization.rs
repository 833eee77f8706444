//! What decides whether an operation may be run, read at one moment; and what an agent can reach.

use std::collections::HashSet;

use guildhall_domain::{
    Refusal, Result,
    agents::{Agent, AgentState},
    callers::{Agent as ByAgent, Caller, Credential, Gate, Owner},
    connectors::{
        ConnectorRefusal,
        connections::{Connection, Readiness},
        executions::{AuthorizationFacts, OperationCall},
        operation_revisions::OperationRevision,
        providers::Provider,
        reviews::ConnectionAccess,
    },
    errors::ResourceKind,
    ids::{AgentId, ConnectorConnectionId, SessionId},
};
use guildhall_store::{
    ReadSnapshot, ReadTx, agent_tokens, agents,
    connectors::{
        connections, grants, operation_revisions, operations, providers, session_connections,
    },
};

use crate::Hall;

/// Which sessions' word on a connection counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionScope {
    /// No session's: a person or a program asks.
    None,
    /// That of the session that asks, or, where none is named, of any live one of the agent.
    Of(Option<SessionId>),
}

impl Hall {
    /// The connections with which an agent may run something, in the order they were made.
    ///
    /// # Errors
    /// `NotFound`.
    ///
    /// Source: contract 5.5.
    pub async fn connector_accessible(
        &self,
        by: &Owner,
        agent: AgentId,
    ) -> Result<ReadSnapshot<Vec<ConnectionAccess>>> {
        let _ = by;
        self.store()
            .read(move |db| {
                registered(db, agent)?;
                grants::accessible(db, agent)
            })
            .await
    }

    /// What an agent may run with a connection, in the order of discovery.
    ///
    /// # Errors
    /// `NotFound` of the agent.
    ///
    /// Source: contract 5.5.
    pub async fn connector_accessible_operations(
        &self,
        by: &Owner,
        agent: AgentId,
        connection: ConnectorConnectionId,
    ) -> Result<ReadSnapshot<Vec<OperationRevision>>> {
        let _ = by;
        self.store()
            .read(move |db| {
                registered(db, agent)?;
                grants::operations(db, agent, connection)
            })
            .await
    }

    /// The connections with which the calling agent may run something, without those that a
    /// session turned off.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    ///
    /// Source: contract 5.8.
    pub async fn connectors_of_agent(&self, by: &ByAgent) -> Result<Vec<ConnectionAccess>> {
        let caller = *by.caller();
        let seen = self.store().read(move |db| {
            let (agent, off) = narrowed_by_session(db, &caller)?;
            let mut found = grants::accessible(db, agent)?;
            found.retain(|one| !off.contains(&one.connection_id));
            Ok(found)
        });
        Ok(seen.await?.value)
    }

    /// What the calling agent may run with a connection; nothing where a session turned it off.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    ///
    /// Source: contract 5.8.
    pub async fn connector_operations_of_agent(
        &self,
        by: &ByAgent,
        connection: ConnectorConnectionId,
    ) -> Result<Vec<OperationRevision>> {
        let caller = *by.caller();
        let seen = self.store().read(move |db| {
            let (agent, off) = narrowed_by_session(db, &caller)?;
            match off.contains(&connection) {
                true => Ok(Vec::new()),
                false => grants::operations(db, agent, connection),
            }
        });
        Ok(seen.await?.value)
    }
}

/// The agent that asks, and what is turned off for it.
fn narrowed_by_session(
    db: &ReadTx<'_>,
    by: &Caller,
) -> Result<(AgentId, HashSet<ConnectorConnectionId>)> {
    let agent = by.agent().ok_or(Refusal::AgentTokenRequired)?;
    let sessions = SessionScope::Of(session_of(db, by)?);
    Ok((agent, turned_off(db, agent, sessions)?))
}

/// The agent, if it is on the registry.
pub(super) fn registered(db: &ReadTx<'_>, id: AgentId) -> Result<Agent> {
    let known = agents::by_id(db, id)?.filter(|agent| agent.state != AgentState::Retired);
    Ok(known.ok_or(Refusal::NotFound(ResourceKind::Agent))?)
}

/// The session that a caller's token names.
pub(super) fn session_of(db: &ReadTx<'_>, by: &Caller) -> Result<Option<SessionId>> {
    let Credential::AgentToken(token) = by.credential else {
        return Ok(None);
    };
    Ok(agent_tokens::by_id(db, token)?.and_then(|bearer| bearer.token.session_id))
}

/// A connection with its instance.
pub(super) fn connection(
    db: &ReadTx<'_>,
    id: ConnectorConnectionId,
) -> Result<Option<(Connection, Provider)>> {
    let Some(kept) = connections::find(db, id)? else {
        return Ok(None);
    };
    let provider = providers::find(db, kept.connection.provider_id)?;
    Ok(provider.map(|provider| (kept.connection, provider)))
}

/// What decides on `ask` now.
///
/// # Errors
/// `NotFound` of the agent, [`ConnectorRefusal::TargetNotFound`].
pub(super) fn read(
    db: &ReadTx<'_>,
    ask: &OperationCall,
    sessions: SessionScope,
) -> Result<AuthorizationFacts> {
    let (connection, provider) =
        connection(db, ask.connection_id)?.ok_or(ConnectorRefusal::TargetNotFound)?;
    let revision =
        operation_revisions::by_id(db, ask.revision_id)?.ok_or(ConnectorRefusal::TargetNotFound)?;
    let (provider_id, toolkit) = (connection.provider_id, &connection.toolkit);
    let slug = &revision.identity.operation_slug;
    let listed = operations::identity_of(db, provider_id, toolkit, slug)?;
    let is_granted = grants::is_granted(db, ask.connection_id, ask.agent_id, ask.revision_id)?;
    Ok(AuthorizationFacts {
        readiness: Readiness::of(&connection, provider.unavailable.as_deref()),
        generation: provider.generation,
        listed,
        is_granted,
        is_turned_off: turned_off(db, ask.agent_id, sessions)?.contains(&ask.connection_id),
        connection,
        revision,
    })
}

fn turned_off(
    db: &ReadTx<'_>,
    agent: AgentId,
    sessions: SessionScope,
) -> Result<HashSet<ConnectorConnectionId>> {
    match sessions {
        SessionScope::None => Ok(HashSet::new()),
        SessionScope::Of(session) => session_connections::turned_off(db, agent, session),
    }
}
