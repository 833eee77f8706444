//! Preflight: everything that is looked at before a person is asked. It starts no process and
//! sends no packet. Source: contract 4.4, rows 1 to 7; 4.5, the card; 4.6.

use std::{path::PathBuf, sync::Arc};

use guildhall_domain::{
    Fault, Result,
    agents::Agent,
    approvals::{ApprovalRequest, Capability},
    callers::{Caller, Credential},
    ids::SessionId,
    mcp_servers::{
        CardSubject, ConnectionConfig, ProgramFiles, ServerApprovalCard, ServerName,
        approval_card::{summary, why},
    },
};
use guildhall_store::{ReadTx, agent_tokens};
use guildhall_world::server_programs::{CommandSpec, ProgramStamps, ResolvedProgram};
use serde_json::{Value, json};

use crate::Hall;

/// A deed on an entry, before anybody is asked.
pub(super) struct GatedAction<'a> {
    /// What is to be done.
    pub(super) capability: Capability,
    /// How a list of questions begins to say it.
    pub(super) verb: &'static str,
    /// To which agent's entry.
    pub(super) agent: &'a Agent,
    /// Of which name.
    pub(super) name: &'a ServerName,
    /// The connection that is used afterwards, or that goes.
    pub(super) connection: &'a ConnectionConfig,
    /// What its program is now.
    pub(super) program: Option<&'a ProgramFiles>,
    /// The session that asks.
    pub(super) session: Option<SessionId>,
    /// What else was asked for, for the digest.
    pub(super) asked: Value,
    /// The entry it is about as it stands, for the digest; null for a new one.
    pub(super) standing: Value,
}

impl GatedAction<'_> {
    /// What a person is asked for.
    ///
    /// # Errors
    /// A fault when there is no card.
    pub(super) fn approval_request(self) -> Result<ApprovalRequest, Fault> {
        let place = CardSubject {
            agent: self.agent,
            name: self.name,
            program: self.program,
        };
        let card = serde_json::to_value(ServerApprovalCard::of(place, self.connection))
            .map_err(|error| Fault::broken("making a card", error))?;
        let mut pin = ProgramFiles::facts(self.program);
        pin["standing"] = self.standing;
        Ok(ApprovalRequest {
            capability: self.capability,
            agent_id: Some(self.agent.id),
            session_id: self.session,
            summary: summary(self.verb, self.agent, (self.name, self.connection)),
            card,
            why: why(self.connection, self.program),
            input: json!({
                "name": self.name,
                "connection": self.connection.to_plain_json(),
                "asked": self.asked,
            }),
            pin,
        })
    }
}

impl Hall {
    /// What the program of a connection is now; `None` for an address, and for a program that is
    /// not there.
    ///
    /// # Errors
    /// Faults alone.
    pub(crate) async fn program_of(
        &self,
        agent: &Agent,
        connection: &ConnectionConfig,
    ) -> Result<Option<ProgramFiles>, Fault> {
        let found = self.find_program(agent, connection).await?;
        Ok(found.map(|found| found.program))
    }

    /// The same with where it was found.
    ///
    /// # Errors
    /// Faults alone.
    pub(crate) async fn find_program(
        &self,
        agent: &Agent,
        connection: &ConnectionConfig,
    ) -> Result<Option<ResolvedProgram>, Fault> {
        let Some(stdio) = connection.stdio().cloned() else {
            return Ok(None);
        };
        let own = stdio.env.get("PATH").and_then(|value| value.reveal());
        let own = own.map(str::to_owned);
        let environment = self.environment_of(agent).into_iter();
        let agents = environment
            .filter_map(|(name, value)| (name == "PATH").then_some(value))
            .next();
        let cwd = PathBuf::from(&agent.cwd);
        let hashes = Arc::clone(&self.inner.hashes);
        self.run_blocking(move || {
            let paths: Vec<&str> = own.iter().chain(&agents).map(String::as_str).collect();
            hashes.resolve(CommandSpec {
                command: &stdio.command,
                args: &stdio.args,
                cwd: &cwd,
                paths: &paths,
            })
        })
        .await
    }

    /// Whether a program that was started is the one that was looked at right before: nothing
    /// holds a file in its place between the two. An address, without a sighting, always is.
    ///
    /// # Errors
    /// Faults alone.
    pub(crate) async fn is_checked_program(
        &self,
        agent: &Agent,
        connection: &ConnectionConfig,
        seen: Option<ProgramStamps>,
    ) -> Result<bool, Fault> {
        let Some(seen) = seen else {
            return Ok(true);
        };
        let found = self.find_program(agent, connection).await?;
        Ok(found.is_some_and(|found| found.sighting == seen))
    }
}

/// The session a caller asks from, when its token names one.
pub(crate) fn session_of(db: &ReadTx<'_>, by: &Caller) -> Result<Option<SessionId>> {
    let Credential::AgentToken(token) = by.credential else {
        return Ok(None);
    };
    let bearer = agent_tokens::by_id(db, token)?;
    Ok(bearer.and_then(|bearer| bearer.token.session_id))
}
