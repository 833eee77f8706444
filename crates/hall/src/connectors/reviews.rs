//! Reviews and grants: the owner looks at what a connection can do, and says who may do it.
//! Source: contract 5.5.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use guildhall_domain::{
    Fault, Refusal, Result, Timestamp,
    agents::Agent,
    callers::{Gate, Owner, OwnerInteractive},
    connectors::{
        ConnectorRefusal,
        connections::{Connection, ConnectionLifecycle, Readiness},
        event_payloads::GrantsChanged,
        operation_revisions::{OperationIdentity, OperationRevision},
        reviews::{GrantReview, GrantSelection, OperationGrant},
    },
    errors::ResourceKind,
    events::Event,
    ids::{AgentId, ConnectorConnectionId, OperationRevisionId, ReviewId, SessionId},
    limits::connectors::CONNECTOR_REVIEW_TTL_S,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx, agents,
    connectors::{grants, operation_revisions, operations, reviews, session_connections},
    sessions,
};

use super::{authorization, flow_transitions::ActorAndTime};
use crate::{Hall, approvals, callers, idempotency::IdempotentWrite};

/// Seconds a review stays after its time, so that who comes too late is told so: a day.
const KEPT_S: i64 = 24 * 3_600;

/// What the owner is shown.
#[derive(Clone, Debug)]
pub struct ConnectionReview {
    /// The review.
    pub id: ReviewId,
    /// The connection.
    pub connection: Connection,
    /// Whether it can be used.
    pub readiness: Readiness,
    /// What it can do, in the order in which it was first seen.
    pub operations: Vec<OperationRevision>,
    /// To whom it can be granted.
    pub agents: Vec<Agent>,
    /// What is granted now.
    pub granted: ConnectionGrants,
    /// Until when the review can be applied.
    pub expires_at: Timestamp,
}

/// What is granted with a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionGrants {
    /// To single agents, in the order they were registered.
    pub grants: Vec<(AgentId, Vec<OperationRevisionId>)>,
    /// To every agent.
    pub every_agent: Vec<OperationRevisionId>,
}

impl ConnectionGrants {
    fn of(grants: Vec<OperationGrant>) -> Self {
        let mut found = Self::default();
        for OperationGrant {
            agent_id,
            revision_id,
        } in grants
        {
            match (agent_id, found.grants.last_mut()) {
                (None, _) => found.every_agent.push(revision_id),
                (Some(agent), Some((last, revisions))) if agent == *last => {
                    revisions.push(revision_id);
                }
                (Some(agent), _) => found.grants.push((agent, vec![revision_id])),
            }
        }
        found
    }

    /// How many grants that is.
    pub fn count(&self) -> u32 {
        let of_agents = self.grants.iter().map(|(_, revisions)| revisions.len());
        let count = of_agents.sum::<usize>() + self.every_agent.len();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

impl Hall {
    /// Lists what a connection can do, for the owner to grant from; the revisions of what was
    /// not seen before are written.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ConnectionNotFound`], [`ConnectorRefusal::Disconnected`], [`ConnectorRefusal::CatalogIncomplete`],
    /// [`ConnectorRefusal::ToolkitUnreachable`], [`ConnectorRefusal::OperationsUnsupported`].
    ///
    /// Source: contract 5.5.
    pub async fn review_connection(
        &self,
        by: &OwnerInteractive,
        id: ConnectorConnectionId,
        once: IdempotentWrite<ConnectionReview>,
    ) -> Result<ConnectionReview> {
        let caller = *by.caller();
        let (peek, now) = (once.replay_check(), self.now());
        self.store()
            .read(move |db| {
                peek.check(db, now)?;
                open_connection(db, id).map(|_| ())
            })
            .await?;
        self.relist_operations(id).await?;
        let now = self.now();
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &caller, now)?;
                once.run(tx, now, |tx| {
                    let (connection, provider) = open_connection(tx, id)?;
                    reviews::drop_over(tx, now.plus_seconds(-KEPT_S))?;
                    let operations = list_revisions(tx, &connection, now)?;
                    let review = GrantReview {
                        id: Hall::new_id(ReviewId::from_bytes),
                        connection_id: id,
                        provider_id: connection.provider_id,
                        toolkit: connection.toolkit.clone(),
                        generation: provider.generation,
                        shown: operations
                            .iter()
                            .map(|revision| (revision.id, revision.identity.clone()))
                            .collect(),
                        expires_at: now.plus_seconds(CONNECTOR_REVIEW_TTL_S),
                        applied_at: None,
                    };
                    reviews::insert(tx, &review)?;
                    Ok(ConnectionReview {
                        id: review.id,
                        readiness: Readiness::of(&connection, provider.unavailable.as_deref()),
                        connection,
                        operations,
                        agents: agents::list(tx, false)?,
                        granted: ConnectionGrants::of(grants::of_connection(tx, id)?),
                        expires_at: review.expires_at,
                    })
                })
            })
            .await
    }

    /// Puts `selection` in the place of all that was granted with the review's connection, and
    /// settles what agents asked for there.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ReviewNotFound`], [`ConnectorRefusal::Disconnected`], and those of
    /// [`GrantReview::may_apply`].
    ///
    /// Source: contract 5.5.
    pub async fn apply_review(
        &self,
        by: &OwnerInteractive,
        id: ReviewId,
        selection: GrantSelection,
        once: IdempotentWrite<ConnectionGrants>,
    ) -> Result<ConnectionGrants> {
        let (caller, now) = (*by.caller(), self.now());
        let digests = self.inner.digests.clone();
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &caller, now)?;
                once.run(tx, now, |tx| {
                    let review = reviews::by_id(tx, id)?.ok_or(ConnectorRefusal::ReviewNotFound)?;
                    let (connection, provider) = open_connection(tx, review.connection_id)?;
                    let listed = operations::identities(tx, review.provider_id, &review.toolkit)?;
                    let listed: BTreeSet<OperationIdentity> = listed.into_iter().collect();
                    let known = agents::list(tx, false)?.into_iter().map(|agent| agent.id);
                    let known: BTreeSet<AgentId> = known.collect();
                    review.may_apply(&selection, provider.generation, &listed, &known, now)?;
                    let before = grants::holders(tx, connection.id)?;
                    grants::replace(tx, connection.id, &selection)?;
                    reviews::apply(tx, id, now)?;
                    let granted = grants::of_connection(tx, connection.id)?;
                    append_grants_changed(tx, connection.id, before, (Some(caller.author), now))?;
                    let holders = grants::holders(tx, connection.id)?;
                    let settled = (holders.as_slice(), connection.toolkit.as_str());
                    approvals::resolve_access(tx, &digests, settled, &caller, now)?;
                    Ok(ConnectionGrants::of(granted))
                })
            })
            .await
    }

    /// What is granted with a connection.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ConnectionNotFound`].
    pub async fn connector_grants(
        &self,
        by: &Owner,
        id: ConnectorConnectionId,
    ) -> Result<ReadSnapshot<ConnectionGrants>> {
        let _ = by;
        self.store()
            .read(move |db| {
                authorization::connection(db, id)?.ok_or(ConnectorRefusal::ConnectionNotFound)?;
                Ok(ConnectionGrants::of(grants::of_connection(db, id)?))
            })
            .await
    }

    /// Says whether a session's agent may use a connection in it: it only narrows what is
    /// granted, and `None` takes back what was said.
    ///
    /// # Errors
    /// `NotFound` of the session, [`ConnectorRefusal::ConnectionNotFound`].
    ///
    /// Source: contract 5.5.
    pub async fn set_session_connection(
        &self,
        by: &OwnerInteractive,
        session: SessionId,
        connection: ConnectorConnectionId,
        on: Option<bool>,
    ) -> Result<()> {
        let (caller, now) = (*by.caller(), self.now());
        self.store()
            .write(move |tx| {
                callers::require_live_credential(tx, &caller, now)?;
                sessions::agent(tx, session)?.ok_or(Refusal::NotFound(ResourceKind::Session))?;
                authorization::connection(tx, connection)?
                    .ok_or(ConnectorRefusal::ConnectionNotFound)?;
                session_connections::set(tx, session, connection, on)?;
                let holders = grants::holders(tx, connection)?;
                append_grants_changed(tx, connection, holders, (Some(caller.author), now))
            })
            .await
    }
}

/// A connection that is not disconnected, with its instance.
fn open_connection(
    db: &ReadTx<'_>,
    id: ConnectorConnectionId,
) -> Result<(
    Connection,
    guildhall_domain::connectors::providers::Provider,
)> {
    let found = authorization::connection(db, id)?.ok_or(ConnectorRefusal::ConnectionNotFound)?;
    if found.0.lifecycle == ConnectionLifecycle::Disconnected {
        return Err(ConnectorRefusal::Disconnected.into());
    }
    Ok(found)
}

/// The revisions of what a connection's service lists now; those that are new are written.
fn list_revisions(
    tx: &mut Tx<'_>,
    connection: &Connection,
    now: Timestamp,
) -> Result<Vec<OperationRevision>> {
    let (provider, toolkit) = (connection.provider_id, &connection.toolkit);
    let listed = operations::identities(tx, provider, toolkit)?;
    let Some(first) = listed.first() else {
        return Err(ConnectorRefusal::OperationsUnsupported.into());
    };
    let known = operation_revisions::of_version(tx, provider, toolkit, &first.toolkit_version)?;
    let known = known
        .into_iter()
        .map(|revision| (revision.identity.clone(), revision));
    let mut known: BTreeMap<OperationIdentity, OperationRevision> = known.collect();
    let is_all_known = listed.iter().all(|identity| known.contains_key(identity));
    let mut operations = match is_all_known {
        true => HashMap::new(),
        false => {
            let found = operations::of_toolkit(tx, provider, toolkit)?;
            let named = found.into_iter().map(|it| (it.slug.clone(), it));
            named.collect::<HashMap<_, _>>()
        }
    };
    let mut shown = Vec::with_capacity(listed.len());
    for identity in listed {
        if let Some(revision) = known.remove(&identity) {
            shown.push(revision);
            continue;
        }
        let Some(operation) = operations.remove(&identity.operation_slug) else {
            return Err(Fault::broken("opening a review", "an operation has no row").into());
        };
        let revision = OperationRevision {
            id: Hall::new_id(OperationRevisionId::from_bytes),
            identity,
            title: operation.title,
            description: operation.description,
            input_schema: operation.input_schema,
            discovered_at: now,
        };
        operation_revisions::add(tx, &revision)?;
        shown.push(revision);
    }
    Ok(shown)
}

/// Takes away all that is granted with a connection, and tells those who held it.
pub(super) fn revoke_grants(
    tx: &mut Tx<'_>,
    connection: ConnectorConnectionId,
    doing: ActorAndTime,
) -> Result<()> {
    let holders = grants::holders(tx, connection)?;
    let count = grants::count_of(tx, connection)?;
    grants::drop_of(tx, connection)?;
    match count {
        0 => Ok(()),
        _ => append_grants_changed(tx, connection, holders, doing),
    }
}

/// Tells of what is granted with a connection now.
fn append_grants_changed(
    tx: &mut Tx<'_>,
    connection_id: ConnectorConnectionId,
    agents_before: Vec<AgentId>,
    (actor, now): ActorAndTime,
) -> Result<()> {
    let granted = grants::of_connection(tx, connection_id)?;
    let revisions: BTreeSet<_> = granted.iter().map(|grant| grant.revision_id).collect();
    let event = Event::ConnectorGrantsChanged(GrantsChanged {
        connection_id,
        agent_ids: grants::holders(tx, connection_id)?,
        revision_count: u32::try_from(revisions.len()).unwrap_or(u32::MAX),
        agents_before,
    });
    tx.append(now, actor, &event)?;
    Ok(())
}
