//! Noting: what using an entry shows of it, written with its events: the tools it has, that it
//! is not what was approved, that somebody has to sign in. Source: contract 4.4, "Status
//! transitions"; 4.6, "Change seen".

use guildhall_domain::{
    Result, Timestamp,
    agents::Agent,
    approvals::{Approval, Capability},
    ids::{AgentId, AuthorId},
    mcp_servers::{
        McpServer, PinDifference, ProgramFiles, ServerName, ServerTestResult, StatusTrigger,
        TestBlocker, event_payloads, next, repin, server_test,
    },
    mcp_signins::metadata::AuthChallenge,
    mcp_tools::{self, ToolDefinition},
};
use guildhall_store::{
    Tx, approvals as approval_rows,
    mcp_servers::{self as rows, McpServerRow},
};
use guildhall_world::digests::{ApprovalAction, ApprovalDigests};
use serde_json::Value;

use super::{actions::is_same, existing, parse_name, registered, write};
use crate::{
    Hall,
    approvals::{self, RepinRequest},
    mcp_signins::record_wider_scope,
};

/// An entry with its values, and whose it is.
#[derive(Clone, Debug)]
pub(crate) struct ConfiguredServer {
    pub(crate) agent: Agent,
    pub(crate) kept: McpServerRow,
}

/// What using an entry showed.
#[derive(Clone, Debug)]
pub(crate) enum Observation {
    /// Its program is not there.
    Missing,
    /// Its program is not the pinned one, or nobody has seen it.
    Program(ProgramFiles),
    /// These are its tools.
    Listed(Vec<ToolDefinition>),
    /// Somebody has to sign in, by this challenge.
    SignIn(Option<String>),
    /// The sign-in allows too little, by this challenge.
    WiderScope(String),
    /// It could not be reached as often as counts; why, for people.
    FailedOften(String),
    /// Its question to a person waits no longer.
    Lapsed,
}

/// What came of noting it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObservationOutcome {
    /// It may be used.
    Fine,
    /// It may not.
    Held(TestBlocker),
    /// It is another entry by now.
    Moved,
}

impl Hall {
    /// The entry of this name with its values.
    ///
    /// # Errors
    /// `NotFound` for agent or entry.
    pub(crate) async fn configured_server(
        &self,
        agent: AgentId,
        name: &str,
    ) -> Result<ConfiguredServer> {
        let (name, seal) = (parse_name(name), self.inner.seal.clone());
        let found = self.store().read(move |db| {
            let agent = registered(db, agent)?;
            let kept = existing(db, &seal, agent.id, name.as_ref())?;
            Ok(ConfiguredServer { agent, kept })
        });
        Ok(found.await?.value)
    }

    /// The entries of an agent that are switched on, in the order they were added.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub(crate) async fn enabled_servers(&self, agent: &Agent) -> Result<Vec<ConfiguredServer>> {
        let (agent, seal) = (agent.clone(), self.inner.seal.clone());
        let found = self.store().read(move |db| {
            let kept = rows::of_agent(db, agent.id)?.into_iter();
            Ok(kept
                .filter(|kept| kept.server.enabled)
                .map(|kept| ConfiguredServer {
                    kept: super::sealed_values::unseal(&seal, agent.id, kept),
                    agent: agent.clone(),
                })
                .collect())
        });
        Ok(found.await?.value)
    }

    /// Notes what using an entry showed, unless it is another one by now.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub(crate) async fn record_observation(
        &self,
        entry: &ConfiguredServer,
        learned: Observation,
    ) -> Result<ObservationOutcome> {
        let (entry, now) = (entry.clone(), self.now());
        let (seal, digests) = (self.inner.seal.clone(), self.inner.digests.clone());
        self.store()
            .write(move |tx| {
                let ConfiguredServer { agent, kept } = entry;
                let found = existing(tx, &seal, agent.id, Some(&kept.server.name));
                let Ok(standing) = found else {
                    return Ok(ObservationOutcome::Moved);
                };
                if !is_same(&standing, &kept) {
                    return Ok(ObservationOutcome::Moved);
                }
                let is_lapse = matches!(learned, Observation::Lapsed);
                if let Some(held) = TestBlocker::of(&standing.server).filter(|_| !is_lapse) {
                    return Ok(ObservationOutcome::Held(held));
                }
                let mut after = standing.clone();
                let name = kept.server.name.clone();
                let mut keep = None;
                let server = &mut after.server;
                let noted = match learned {
                    Observation::Missing => {
                        server_test::is_missing(server);
                        ObservationOutcome::Held(TestBlocker::CommandNotFound)
                    }
                    Observation::SignIn(challenge) => {
                        server_test::wants_sign_in(server, challenge.as_deref());
                        ObservationOutcome::Fine
                    }
                    Observation::WiderScope(challenge) => {
                        let scope = AuthChallenge::read(&challenge).scope;
                        record_wider_scope(tx, &seal, (agent.id, &name), &standing.server, scope)?;
                        server_test::wants_sign_in(server, Some(&challenge));
                        ObservationOutcome::Fine
                    }
                    Observation::FailedOften(why) => {
                        if let Some(status) =
                            next(server.status, StatusTrigger::FailedOften, server.facts())
                        {
                            server.status = status;
                            server.status_detail = Some(why);
                        }
                        ObservationOutcome::Fine
                    }
                    Observation::Program(program) => {
                        let differing = PinDifference::program(&server.pin, &program);
                        ask_repin(tx, &digests, &agent, server, &differing, now)?;
                        ObservationOutcome::Held(TestBlocker::PinChanged)
                    }
                    Observation::Listed(tools) => {
                        match accept_or_ask_tools(tx, &digests, &agent, server, tools, now)? {
                            ToolsOutcome::Over(tools) => {
                                keep = tools;
                                ObservationOutcome::Fine
                            }
                            ToolsOutcome::Asked => {
                                ObservationOutcome::Held(TestBlocker::NeedsApproval)
                            }
                        }
                    }
                    Observation::Lapsed => {
                        repeat_repin(tx, server, now)?;
                        ObservationOutcome::Held(TestBlocker::NeedsApproval)
                    }
                };
                if after.server != standing.server {
                    write(tx, &seal, agent.id, (&standing.server, after), (None, now))?;
                }
                if let Some(tools) = keep {
                    rows::set_tools(tx, agent.id, &name, &tools)?;
                }
                Ok(noted)
            })
            .await
    }
}

/// What became of tools that were listed.
pub(crate) enum ToolsOutcome {
    /// They count; those to be kept, where they are others than before.
    Over(Option<Vec<ToolDefinition>>),
    /// They are not the approved ones; the owner is asked.
    Asked,
}

/// Takes the tools over that an entry's server listed, or asks the owner where they are not those
/// that were approved.
pub(crate) fn accept_or_ask_tools(
    tx: &mut Tx<'_>,
    digests: &ApprovalDigests,
    agent: &Agent,
    server: &mut McpServer,
    tools: Vec<ToolDefinition>,
    now: Timestamp,
) -> Result<ToolsOutcome> {
    let approved = rows::tools(tx, agent.id, &server.name)?;
    if let Some(approved) = &approved
        && mcp_tools::compare(approved, &tools).needs_approval()
    {
        let differing = PinDifference::tools(approved, &tools)?;
        ask_repin(tx, digests, agent, server, &differing, now)?;
        return Ok(ToolsOutcome::Asked);
    }
    let mut seen = ServerTestResult {
        tools: Some(tools),
        ..ServerTestResult::default()
    };
    let keep = server_test::listed(server, &mut seen, approved.as_deref(), now)?;
    Ok(ToolsOutcome::Over(keep))
}

/// Asks the owner whether the entry may go on as it is now.
fn ask_repin(
    tx: &mut Tx<'_>,
    digests: &ApprovalDigests,
    agent: &Agent,
    server: &mut McpServer,
    differing: &PinDifference,
    now: Timestamp,
) -> Result<()> {
    let input = differing.input(server);
    let action = ApprovalAction {
        capability: Capability::McpRepin.as_str(),
        agent: Some(agent.id),
        input: &input,
        pin: &Value::Null,
    };
    let repin = RepinRequest {
        agent_id: agent.id,
        digest: digests.of(&action)?,
        summary: format!("{} of {}: {}", server.name, agent.name, differing.detail()),
        card: differing.card(agent, server)?,
        why: differing.why(),
    };
    let question = approvals::ask_repin(tx, repin, now)?;
    differing.hold_for_approval(server, question);
    Ok(())
}

/// Asks the same once more when nobody can answer the question any more.
fn repeat_repin(tx: &mut Tx<'_>, server: &mut McpServer, now: Timestamp) -> Result<()> {
    let Some(id) = server.approval_id else {
        return Ok(());
    };
    let Some(found) = approval_rows::by_id(tx, id)? else {
        return Ok(());
    };
    let (approval, Some(agent_id)) = (&found.approval, found.approval.agent_id) else {
        return Ok(());
    };
    if approval.must_be_pending(now).is_ok() {
        return Ok(());
    }
    let repin = RepinRequest {
        agent_id,
        digest: approval.digest.clone(),
        summary: approval.summary.clone(),
        card: approval.card.clone(),
        why: approval.why.clone(),
    };
    server.approval_id = Some(approvals::ask_repin(tx, repin, now)?);
    Ok(())
}

/// Does what the owner decided about an entry that asked again, in the transaction of the word.
///
/// # Errors
/// Faults.
///
/// Source: contract 4.5, kind `repin`.
pub(crate) fn apply_repin_decision(
    tx: &mut Tx<'_>,
    approval: &Approval,
    is_granted: bool,
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    let name = approval.card["name"].as_str().and_then(ServerName::parse);
    let Some((agent, name)) = approval.agent_id.zip(name) else {
        return Ok(());
    };
    let asked =
        rows::find(tx, agent, &name)?.filter(|kept| kept.server.approval_id == Some(approval.id));
    let Some(before) = asked else {
        return Ok(());
    };
    let mut after = before.clone();
    let mut keep = None;
    if is_granted {
        let approved = rows::tools(tx, agent, &name)?;
        keep = repin::granted(&mut after.server, &approval.card, approved, now)?;
    } else {
        repin::denied(&mut after.server);
    }
    // The values stay sealed as they are: nothing of the connection changes.
    rows::update(tx, agent, &after)?;
    if let Some(tools) = keep {
        rows::set_tools(tx, agent, &name, &tools)?;
    }
    append_status_changed(tx, agent, (&before.server, &after.server), by, now)
}

fn append_status_changed(
    tx: &mut Tx<'_>,
    agent: AgentId,
    (before, after): (&McpServer, &McpServer),
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    for event in event_payloads::of_change(agent, before, after, by) {
        tx.append(now, by, &event)?;
    }
    Ok(())
}
