//! Tool servers of agents: which there are, and adding, changing and removing them.
//! Reaching them is the gateway's; what needs a person first is decided by `domain` and asked
//! for by [`crate::approvals`].

mod actions;
mod observations;
mod preflight;
mod sealed_values;
mod server_test;
mod test_queues;

use std::path::PathBuf;

use guildhall_domain::{
    Fault, Refusal, Result, Timestamp,
    agents::{Agent, AgentState},
    approvals::is_person,
    callers::{Caller, ForAgent},
    errors::ResourceKind,
    ids::{AgentId, AuthorId},
    limits,
    mcp_servers::{
        ConnectionConfig, McpServer, ServerName,
        event_payloads::{self, Removed},
        project_servers::ProjectServers,
    },
    revisions::Revised,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx, agents,
    mcp_servers::{self as rows, McpServerRow},
};
use guildhall_world::{project_servers, seal::Seal};

pub(crate) use self::{
    observations::{
        ConfiguredServer, Observation, ObservationOutcome, ToolsOutcome, accept_or_ask_tools,
        apply_repin_decision,
    },
    preflight::session_of,
    test_queues::TestQueues,
};
use crate::{Hall, approvals, mcp_signins};

/// What a project names, and what of it the agent has.
#[derive(Clone, Debug)]
pub struct DiscoveredServers {
    /// In the order of their names.
    pub servers: Vec<DiscoveredServer>,
    /// What cannot be used, and why.
    pub warnings: Vec<String>,
}

/// One server that a project names.
#[derive(Clone, Debug)]
pub struct DiscoveredServer {
    /// Its name.
    pub name: ServerName,
    /// How it is reached, its values hidden.
    pub connection: ConnectionConfig,
    /// Whether the agent has an entry of this name.
    pub already_added: bool,
}

/// An entry after a deed, by its revision, and all entries of its agent.
pub type RevisedServers = Revised<Vec<McpServer>>;

impl Hall {
    /// The entries of an agent in the order they were added.
    ///
    /// # Errors
    /// `NotFound` for the agent.
    ///
    /// Source: contract 4.4.
    pub async fn mcp_servers(&self, by: &ForAgent) -> Result<ReadSnapshot<Vec<McpServer>>> {
        let (by, seal) = (*by, self.inner.seal.clone());
        self.store()
            .read(move |db| {
                agent(db, by.agent())?;
                all(db, &seal, by.agent(), by.caller())
            })
            .await
    }

    /// One entry.
    ///
    /// # Errors
    /// `NotFound` for agent or entry.
    pub async fn mcp_server(
        &self,
        by: &ForAgent,
        name: &str,
    ) -> Result<ReadSnapshot<Revised<McpServer>>> {
        let (by, seal, name) = (*by, self.inner.seal.clone(), parse_name(name));
        self.store()
            .read(move |db| {
                agent(db, by.agent())?;
                let kept = existing(db, &seal, by.agent(), name.as_ref())?;
                Ok(Revised {
                    rev: kept.server.rev,
                    value: redacted(kept.server, by.caller()),
                })
            })
            .await
    }

    /// What the `.mcp.json` of the agent's folder names.
    ///
    /// # Errors
    /// `NotFound` for the agent.
    ///
    /// Source: contract 4.4.
    pub async fn mcp_discovered(&self, by: &ForAgent) -> Result<ReadSnapshot<DiscoveredServers>> {
        let id = by.agent();
        let known = self
            .store()
            .read(move |db| Ok((agent(db, id)?, rows::of_agent(db, id)?)))
            .await?;
        let (agent, kept) = known.value;
        let ProjectServers { servers, warnings } = self.discovered(&agent).await?;
        let taken: Vec<String> = kept.iter().map(|it| it.server.name.folded()).collect();
        let offered = servers.into_iter().map(|found| DiscoveredServer {
            already_added: taken.contains(&found.name.folded()),
            name: found.name,
            connection: found.connection.redacted(),
        });
        Ok(ReadSnapshot {
            seq: known.seq,
            value: DiscoveredServers {
                servers: offered.collect(),
                warnings,
            },
        })
    }

    /// What the agent's folder names.
    async fn discovered(&self, agent: &Agent) -> Result<ProjectServers> {
        let folder = PathBuf::from(&agent.cwd);
        let data_dir = self.inner.data_dir.clone();
        self.with_files(move |_, _| {
            let shunned = data_dir.canonicalize().unwrap_or(data_dir);
            Ok(project_servers::read(&folder, &shunned))
        })
        .await
    }

    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|error| Fault::broken("looking at the files of a tool server", error))
    }
}

/// Removes every entry of an agent that is taken off the registry, with their secrets.
pub(crate) fn remove_all(
    tx: &mut Tx<'_>,
    agent: AgentId,
    actor: AuthorId,
    now: Timestamp,
) -> Result<()> {
    for kept in rows::of_agent(tx, agent)? {
        remove(tx, agent, &kept.server, actor, now)?;
    }
    Ok(())
}

/// Removes an entry and tells of it.
fn remove(
    tx: &mut Tx<'_>,
    agent_id: AgentId,
    server: &McpServer,
    by: AuthorId,
    now: Timestamp,
) -> Result<()> {
    if let Some(question) = server.approval_id {
        approvals::withdraw(tx, question, Some(by), now)?;
    }
    mcp_signins::forget(tx, agent_id, server, now)?;
    rows::remove(tx, agent_id, &server.name)?;
    let name = server.name.clone();
    let event = guildhall_domain::events::Event::McpServerRemoved(Removed { agent_id, name, by });
    tx.append(now, Some(by), &event)?;
    Ok(())
}

/// Writes what became of an entry, if anything, and tells of it; `by` is `None` for the server.
pub(crate) fn write(
    tx: &mut Tx<'_>,
    seal: &Seal,
    agent: AgentId,
    (before, after): (&McpServer, McpServerRow),
    (by, now): (Option<AuthorId>, Timestamp),
) -> Result<()> {
    let sealed = match before.connection == after.server.connection {
        true => after.sealed.clone(),
        false => sealed_values::seal(seal, agent, &after.server)?,
    };
    if let Some(question) = before
        .approval_id
        .filter(|_| after.server.approval_id.is_none())
    {
        approvals::withdraw(tx, question, by, now)?;
    }
    let is_other = before.connection != after.server.connection;
    if is_other && !after.server.connection.shares_sign_in(&before.connection) {
        mcp_signins::forget(tx, agent, before, now)?;
    }
    let kept = McpServerRow { sealed, ..after };
    rows::update(tx, agent, &kept)?;
    for event in event_payloads::of_change(agent, before, &kept.server, by) {
        tx.append(now, by, &event)?;
    }
    Ok(())
}

/// The name of an entry as an address has it; a text that is none names nothing.
pub(crate) fn parse_name(text: &str) -> Option<ServerName> {
    ServerName::parse(text)
}

fn agent(db: &ReadTx<'_>, id: AgentId) -> Result<Agent> {
    Ok(agents::by_id(db, id)?.ok_or(Refusal::NotFound(ResourceKind::Agent))?)
}

/// The agent, if it is on the registry: to others nothing is added.
pub(crate) fn registered(db: &ReadTx<'_>, id: AgentId) -> Result<Agent> {
    let known = agents::by_id(db, id)?.filter(|agent| agent.state != AgentState::Retired);
    Ok(known.ok_or(Refusal::NotFound(ResourceKind::Agent))?)
}

/// The entry of this name with its values.
pub(crate) fn existing(
    db: &ReadTx<'_>,
    seal: &Seal,
    agent: AgentId,
    name: Option<&ServerName>,
) -> Result<McpServerRow> {
    let missing = Refusal::NotFound(ResourceKind::McpServer);
    let name = name.ok_or_else(|| missing.clone())?;
    let kept = rows::find(db, agent, name)?.ok_or(missing)?;
    Ok(sealed_values::unseal(seal, agent, kept))
}

/// Holds back an entry that there is no room or name for. Source: contract 4.4, row 7.
fn require_capacity(db: &ReadTx<'_>, agent: AgentId, name: &ServerName) -> Result<()> {
    if rows::find(db, agent, name)?.is_some() {
        return Err(Refusal::DuplicateName.into());
    }
    if rows::count(db, agent)? >= limits::MCP_SERVERS_PER_AGENT_MAX as u64 {
        return Err(Refusal::TooManyServers.into());
    }
    Ok(())
}

/// All entries of an agent as `by` is shown them.
fn all(db: &ReadTx<'_>, seal: &Seal, agent: AgentId, by: &Caller) -> Result<Vec<McpServer>> {
    let kept = rows::of_agent(db, agent)?.into_iter();
    Ok(kept
        .map(|kept| redacted(sealed_values::unseal(seal, agent, kept).server, by))
        .collect())
}

/// An entry as `by` is shown it: values only to the owner at a screen. Source: contract 4.3.
fn redacted(server: McpServer, by: &Caller) -> McpServer {
    let server = server.with_lost_values();
    if is_person(by) {
        server
    } else {
        server.redacted()
    }
}
