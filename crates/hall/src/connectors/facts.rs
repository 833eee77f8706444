//! What decides whether an operation may be run, read at one moment; and what an agent can reach.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use guildhall_domain::{
    Refusal, Result,
    agents::{Agent, AgentState},
    callers::{Agent as ByAgent, Caller, Credential, Gate, Owner},
    connectors::{
        Refused,
        connections::{Connection, Lifecycle, Readiness},
        executions::{Ask, Facts},
        operations::Operation,
        providers::Provider,
        revisions::{Identity, Revision},
        toolkits::Slug,
    },
    ids::{AgentId, ConnectorConnectionId, ProviderId, SessionId},
    outcome::Thing,
};
use guildhall_store::{
    Rx, Seen, agents,
    connectors::{connections, grants, operations, overrides, providers, revisions, toolkits},
    tokens,
};

use crate::Hall;

/// A connection that an agent can reach, with what it may run there.
#[derive(Clone, Debug)]
pub struct Accessible {
    /// The connection.
    pub connection: Connection,
    /// What it may run, as it is listed now.
    pub operations: Vec<Revision>,
}

/// Which sessions' word on a connection counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sessions {
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
    ) -> Result<Seen<Vec<Accessible>>> {
        let _ = by;
        self.store()
            .read(move |db| {
                registered(db, agent)?;
                accessible(db, agent, Sessions::None)
            })
            .await
    }

    /// What the calling agent may run, and with what.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    ///
    /// Source: contract 5.8.
    pub async fn connectors_of_agent(&self, by: &ByAgent) -> Result<Vec<Accessible>> {
        let caller = *by.caller();
        let seen = self.store().read(move |db| {
            let agent = caller.agent().ok_or(Refusal::AgentTokenRequired)?;
            let sessions = Sessions::Of(session_of(db, &caller)?);
            accessible(db, agent, sessions)
        });
        Ok(seen.await?.value)
    }
}

/// The agent, if it is on the registry.
pub(super) fn registered(db: &Rx<'_>, id: AgentId) -> Result<Agent> {
    let known = agents::by_id(db, id)?.filter(|agent| agent.state != AgentState::Retired);
    Ok(known.ok_or(Refusal::NotFound(Thing::Agent))?)
}

/// The session that a caller's token names.
pub(super) fn session_of(db: &Rx<'_>, by: &Caller) -> Result<Option<SessionId>> {
    let Credential::AgentToken(token) = by.credential else {
        return Ok(None);
    };
    Ok(tokens::by_id(db, token)?.and_then(|bearer| bearer.token.session_id))
}

/// A connection with its instance.
pub(super) fn connection(
    db: &Rx<'_>,
    id: ConnectorConnectionId,
) -> Result<Option<(Connection, Provider)>> {
    let Some(kept) = connections::find(db, id)? else {
        return Ok(None);
    };
    let provider = providers::find(db, kept.connection.provider_id)?;
    Ok(provider.map(|provider| (kept.connection, provider)))
}

/// What a service lists now.
pub(super) fn listed(
    db: &Rx<'_>,
    provider: ProviderId,
    toolkit: &Slug,
) -> Result<Vec<(Identity, Operation)>> {
    let Some(version) = toolkits::find(db, provider, toolkit)?.map(|found| found.version) else {
        return Ok(Vec::new());
    };
    let listed = operations::of_toolkit(db, provider, toolkit)?;
    let named = listed.into_iter().map(|operation| {
        let identity = Identity::of(provider, toolkit, &version, &operation)?;
        Ok((identity, operation))
    });
    named.collect()
}

/// What decides on `ask` now.
///
/// # Errors
/// `NotFound` of the agent, [`Refused::TargetNotFound`].
pub(super) fn of(db: &Rx<'_>, ask: &Ask, sessions: Sessions) -> Result<Facts> {
    let (connection, provider) =
        connection(db, ask.connection_id)?.ok_or(Refused::TargetNotFound)?;
    let revision = revisions::by_id(db, ask.revision_id)?.ok_or(Refused::TargetNotFound)?;
    let (provider_id, toolkit) = (connection.provider_id, &connection.toolkit);
    let slug = &revision.identity.operation_slug;
    let version = toolkits::find(db, provider_id, toolkit)?.map(|found| found.version);
    let operation = operations::find(db, provider_id, toolkit, slug)?;
    let listed = match version.zip(operation) {
        None => None,
        Some((version, operation)) => {
            Some(Identity::of(provider_id, toolkit, &version, &operation)?)
        }
    };
    let is_granted = grants::is_granted(db, ask.connection_id, ask.agent_id, ask.revision_id)?;
    Ok(Facts {
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
    db: &Rx<'_>,
    agent: AgentId,
    sessions: Sessions,
) -> Result<std::collections::HashSet<ConnectorConnectionId>> {
    match sessions {
        Sessions::None => Ok(std::collections::HashSet::new()),
        Sessions::Of(session) => overrides::turned_off(db, agent, session),
    }
}

/// What an agent may run as it is listed now, by connection; nothing of connections that are
/// disconnected or turned off.
pub(super) fn accessible(
    db: &Rx<'_>,
    agent: AgentId,
    sessions: Sessions,
) -> Result<Vec<Accessible>> {
    let off = turned_off(db, agent, sessions)?;
    let mut granted: HashMap<ConnectorConnectionId, Vec<Revision>> = HashMap::new();
    for (connection, revision) in grants::of_agent(db, agent)? {
        granted.entry(connection).or_default().push(revision);
    }
    let mut lists: BTreeMap<(ProviderId, Slug), BTreeSet<Identity>> = BTreeMap::new();
    let mut found = Vec::new();
    for connection in connections::all(db)? {
        let is_open = connection.lifecycle != Lifecycle::Disconnected;
        let Some(mut revisions) = granted
            .remove(&connection.id)
            .filter(|_| is_open && !off.contains(&connection.id))
        else {
            continue;
        };
        let service = (connection.provider_id, connection.toolkit.clone());
        let list = match lists.entry(service) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let listed = listed(db, connection.provider_id, &connection.toolkit)?;
                place.insert(listed.into_iter().map(|(identity, _)| identity).collect())
            }
        };
        revisions.retain(|revision| list.contains(&revision.identity));
        if !revisions.is_empty() {
            found.push(Accessible {
                connection,
                operations: revisions,
            });
        }
    }
    Ok(found)
}
