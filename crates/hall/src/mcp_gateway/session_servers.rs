//! Sets: the servers that a session's agent is handed, and whether it has them already.
//! Source: contract 4.4, "At the start of each turn".

use guildhall_domain::{
    Result,
    agents::Agent,
    ids::SessionId,
    mcp_servers::{ServerName, ServerStatus},
};

use super::{
    ServerRequestTarget,
    mcp_connections::{ClientLoss, ServerKey, ServerVersion},
};
use crate::{Hall, mcp_servers::ConfiguredServer};

/// The servers that a session was handed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerSet(Vec<(ServerName, ServerVersion)>);

impl ServerSet {
    /// Their names, in the order they were added.
    pub(crate) fn names(&self) -> impl Iterator<Item = &ServerName> {
        self.0.iter().map(|(name, _)| name)
    }
}

/// What a session is to have from its next turn on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NextServerSet {
    /// The servers.
    pub(crate) set: ServerSet,
    /// Whether the client of one that it has is of no use any more, and a new one would be.
    pub(crate) is_stale: bool,
}

impl Hall {
    /// The servers that the agent of a session can use now. What failed is tried again, beside
    /// the turn.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub(crate) async fn next_server_set(
        &self,
        agent: &Agent,
        session: SessionId,
    ) -> Result<NextServerSet> {
        let gateways = &self.inner.gateways;
        gateways.reset_failures(agent.id);
        let mut over = NextServerSet::default();
        for entry in self.enabled_servers(agent).await? {
            let server = &entry.kept.server;
            let lost = gateways.client_loss(&ServerKey::of(&entry), session);
            match (server.status, lost) {
                (ServerStatus::Ready, Some(ClientLoss::Regainable)) => over.is_stale = true,
                // Handing it over once more would only fail again, and cost what the agent
                // remembers where it cannot take a session up.
                (
                    ServerStatus::Ready
                    | ServerStatus::Unknown
                    | ServerStatus::Failing
                    | ServerStatus::CommandMissing,
                    Some(_),
                ) => self.retry_connection(&entry, session),
                (
                    ServerStatus::Ready
                    | ServerStatus::Unknown
                    | ServerStatus::Failing
                    | ServerStatus::CommandMissing,
                    None,
                ) => {}
                // Until a person did something it would only be refused.
                (
                    ServerStatus::NeedsSignIn
                    | ServerStatus::NeedsApproval
                    | ServerStatus::Disabled,
                    _,
                ) => continue,
            }
            over.set
                .0
                .push((server.name.clone(), ServerVersion::of(&entry)));
        }
        Ok(over)
    }

    /// Notes that a session is handed its servers anew: said before it is, because some clients
    /// greet them meanwhile, and what becomes of that counts.
    pub(crate) fn record_servers_handed(&self, session: SessionId) {
        self.inner.gateways.reset_client(session);
    }

    /// Reaches a server whose client gave up on it; when it is there, the next turn has it.
    fn retry_connection(&self, entry: &ConfiguredServer, session: SessionId) {
        let visit = ServerRequestTarget {
            entry: entry.clone(),
            session,
        };
        let hall = self.clone();
        self.tasks()
            .spawn("tool server again", self.now(), async move {
                // What comes of it is noted in the entry.
                let _ = hall.open_connection(&visit).await;
            });
    }
}
