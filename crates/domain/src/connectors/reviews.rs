//! Reviews: what a connection can do, listed once for the owner, who grants from the list.
//! Source: contract 5.5.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    operation_revisions::OperationIdentity, refusals::ConnectorRefusal, toolkits::ToolkitSlug,
};
use crate::{
    Timestamp,
    ids::{AgentId, ConnectorConnectionId, OperationRevisionId, ProviderId, ReviewId},
};

/// A review as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantReview {
    /// Its id.
    pub id: ReviewId,
    /// The connection.
    pub connection_id: ConnectorConnectionId,
    /// Its instance.
    pub provider_id: ProviderId,
    /// Its service.
    pub toolkit: ToolkitSlug,
    /// The generation of the instance when it was listed.
    pub generation: u64,
    /// Every revision that was shown.
    pub shown: BTreeMap<OperationRevisionId, OperationIdentity>,
    /// Until when it can be applied.
    pub expires_at: Timestamp,
    /// When it was applied.
    pub applied_at: Option<Timestamp>,
}

/// What an owner grants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantSelection {
    /// To single agents.
    pub grants: BTreeMap<AgentId, BTreeSet<OperationRevisionId>>,
    /// To every agent there is and will be.
    pub every_agent: BTreeSet<OperationRevisionId>,
}

impl GrantReview {
    /// Says whether `selection` can be applied at `now`, when the instance has this `generation`,
    /// the service lists `listed`, and `agents` are registered.
    ///
    /// # Errors
    /// [`ConnectorRefusal::ReviewStale`], [`ConnectorRefusal::ReviewExpired`], [`ConnectorRefusal::InvalidSelection`].
    pub fn may_apply(
        &self,
        selection: &GrantSelection,
        generation: u64,
        listed: &BTreeSet<OperationIdentity>,
        agents: &BTreeSet<AgentId>,
        now: Timestamp,
    ) -> Result<(), ConnectorRefusal> {
        if self.applied_at.is_some() {
            return Err(ConnectorRefusal::ReviewStale);
        }
        if now >= self.expires_at {
            return Err(ConnectorRefusal::ReviewExpired);
        }
        let was_listed: BTreeSet<&OperationIdentity> = self.shown.values().collect();
        if generation != self.generation || was_listed != listed.iter().collect() {
            return Err(ConnectorRefusal::ReviewStale);
        }
        let mut granted = selection.grants.values().flatten();
        let is_shown = |id: &OperationRevisionId| self.shown.contains_key(id);
        let is_valid = granted.all(is_shown)
            && selection.every_agent.iter().all(is_shown)
            && selection.grants.keys().all(|agent| agents.contains(agent));
        if is_valid {
            Ok(())
        } else {
            Err(ConnectorRefusal::InvalidSelection)
        }
    }
}

impl GrantSelection {
    /// The agents that are granted something each by itself.
    pub fn agents(&self) -> impl Iterator<Item = AgentId> {
        let granted = self
            .grants
            .iter()
            .filter(|(_, revisions)| !revisions.is_empty());
        granted.map(|(agent, _)| *agent)
    }

    /// How many revisions are granted to anybody.
    pub fn revision_count(&self) -> usize {
        let granted = self.grants.values().flatten().chain(&self.every_agent);
        granted.collect::<BTreeSet<_>>().len()
    }
}

/// What stands of one grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationGrant {
    /// To whom; `None` for every agent.
    pub agent_id: Option<AgentId>,
    /// Which revision.
    pub revision_id: OperationRevisionId,
}

/// A connection with which an agent may run something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionAccess {
    /// The connection.
    pub connection_id: ConnectorConnectionId,
    /// The service.
    pub toolkit: ToolkitSlug,
    /// What people call the connection.
    pub label: String,
    /// How many operations it may run there, as they are listed now.
    pub operation_count: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connectors::{
        classification::Classification,
        operation_revisions::tests::{identity, operation},
    };

    const NOW: Timestamp = Timestamp::from_millis(1_000);

    fn revision(byte: u8) -> OperationRevisionId {
        OperationRevisionId::from_bytes([byte; 16])
    }

    fn review() -> GrantReview {
        let identity = identity(&operation());
        GrantReview {
            id: ReviewId::from_bytes([1; 16]),
            connection_id: ConnectorConnectionId::from_bytes([2; 16]),
            provider_id: identity.provider_id,
            toolkit: identity.toolkit.clone(),
            generation: 3,
            shown: BTreeMap::from([(revision(1), identity)]),
            expires_at: Timestamp::from_millis(2_000),
            applied_at: None,
        }
    }

    fn agent(byte: u8) -> AgentId {
        AgentId::from_bytes([byte; 16])
    }

    fn selection(to: u8, what: u8, every: Option<u8>) -> GrantSelection {
        GrantSelection {
            grants: BTreeMap::from([(agent(to), BTreeSet::from([revision(what)]))]),
            every_agent: every.map(revision).into_iter().collect(),
        }
    }

    #[test]
    fn a_review_is_applied_once_in_time_and_to_what_it_shows() {
        let applied = GrantReview {
            applied_at: Some(NOW),
            ..review()
        };
        let late = Timestamp::from_millis(2_000);
        let raised = identity(&crate::connectors::operations::Operation {
            classification: Classification::Destructive,
            ..operation()
        });
        let same = BTreeSet::from([identity(&operation())]);
        let more = BTreeSet::from([identity(&operation()), raised.clone()]);
        let other = BTreeSet::from([raised]);
        let (fits, nothing) = (selection(7, 1, Some(1)), GrantSelection::default());
        let stale = Err(ConnectorRefusal::ReviewStale);
        let wrong = Err(ConnectorRefusal::InvalidSelection);
        for (review, selection, generation, listed, now, expected) in [
            (review(), &fits, 3, &same, NOW, Ok(())),
            (review(), &nothing, 3, &same, NOW, Ok(())),
            (applied.clone(), &fits, 3, &same, NOW, stale.clone()),
            (applied, &fits, 3, &same, late, stale.clone()),
            (
                review(),
                &fits,
                3,
                &same,
                late,
                Err(ConnectorRefusal::ReviewExpired),
            ),
            (review(), &fits, 4, &same, NOW, stale.clone()),
            (review(), &fits, 3, &more, NOW, stale.clone()),
            (review(), &fits, 3, &other, NOW, stale),
            (
                review(),
                &selection(8, 1, None),
                3,
                &same,
                NOW,
                wrong.clone(),
            ),
            (
                review(),
                &selection(7, 2, None),
                3,
                &same,
                NOW,
                wrong.clone(),
            ),
            (review(), &selection(7, 1, Some(2)), 3, &same, NOW, wrong),
        ] {
            let agents = BTreeSet::from([agent(7)]);
            let found = review.may_apply(selection, generation, listed, &agents, now);
            assert_eq!(found, expected, "{selection:?} {generation} {listed:?}");
        }
    }

    #[test]
    fn an_agent_that_is_granted_nothing_holds_nothing() {
        let mut selection = selection(7, 1, Some(1));
        selection.grants.insert(agent(8), BTreeSet::new());
        assert_eq!(selection.agents().collect::<Vec<_>>(), [agent(7)]);
        assert_eq!(selection.revision_count(), 1);
    }
}
