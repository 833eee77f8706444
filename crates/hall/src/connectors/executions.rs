//! Executions: what is checked before an operation is sent, in which order, and whose word it
//! needs. Sending it is [`super::execution_attempts`]. Source: contract 5.6.

use guildhall_domain::{
    Error, Refusal, Result,
    agents::Agent,
    approvals::{Capability, Wanted},
    callers::{Agent as ByAgent, Caller, Gate, Owner},
    connectors::{
        Refused,
        classification::Classification,
        event_payloads::Surface,
        executions::{Ask, Authority, Facts, approval_card, fitting, within_bounds},
        results::Executed,
    },
    idempotency::Claim,
    ids::SessionId,
};
use guildhall_store::{Rx, connectors::executions as rows};
use guildhall_world::connectors::argument_validation::problems;
use serde_json::{Value, json};

use super::{
    authorization::{self, Sessions},
    execution_attempts::Run,
};
use crate::{
    Hall,
    approvals::Presented,
    idempotency::{IDEMPOTENCY_TTL_S, Once},
};

/// What is asked to be run, and where.
#[derive(Clone, Debug)]
pub struct Execute {
    /// What.
    pub ask: Ask,
    /// Where it was asked for.
    pub surface: Surface,
    /// The class that the tool is for, where a tool asks.
    pub class: Option<Classification>,
}

/// What was found of an execution that is asked for.
struct Found {
    agent: Agent,
    facts: Facts,
    authority: Authority,
    sessions: Sessions,
    session: Option<SessionId>,
}

/// Whether it was asked for before.
enum Look {
    Before(Executed),
    Now(Box<Found>),
}

impl Hall {
    /// Runs one operation for an agent, as the owner or a program of the owner's.
    ///
    /// # Errors
    /// In the order of contract 5.6: [`Refusal::Validation`], `NotFound` of the agent,
    /// [`Refused::TargetNotFound`], [`Refused::RevisionMismatch`], [`Refused::NotExecutable`],
    /// [`Refused::GrantRequired`], [`Refused::ArgumentsInvalid`], those of [`Hall::permit`],
    /// [`Refused::AuthorityChanged`].
    ///
    /// Source: spec, "POST /api/connectors/cli/executions".
    pub async fn execute_connector(
        &self,
        by: &Owner,
        execute: Execute,
        presented: Presented,
        once: Once<Executed>,
    ) -> Result<Executed> {
        self.execute(*by.caller(), execute, presented, once).await
    }

    /// Runs one operation for the calling agent.
    ///
    /// # Errors
    /// Those of [`Hall::execute_connector`], and [`Refused::ClassMismatch`].
    ///
    /// Source: contract 5.8.
    pub async fn execute_connector_as(
        &self,
        by: &ByAgent,
        execute: Execute,
        presented: Presented,
    ) -> Result<Executed> {
        let once = Once::without_key();
        self.execute(*by.caller(), execute, presented, once).await
    }

    async fn execute(
        &self,
        by: Caller,
        execute: Execute,
        presented: Presented,
        once: Once<Executed>,
    ) -> Result<Executed> {
        within_bounds(&execute.ask.arguments)?;
        let once = once.sealed(&self.inner.seal, false);
        let (peek, claim, now) = (once.peek(), once.claim(), self.now());
        let (asked, class) = (execute.ask.clone(), execute.class);
        let look = self.store().read(move |db| {
            peek.check(db, now)?;
            if let Some(executed) = before(db, claim, now)? {
                return Ok(Look::Before(executed));
            }
            look(db, &by, &asked, class).map(|found| Look::Now(Box::new(found)))
        });
        let found = match look.await?.value {
            Look::Before(executed) => return self.again(executed, once).await,
            Look::Now(found) => *found,
        };
        let schema = &found.facts.revision.input_schema;
        let arguments = Value::Object(execute.ask.arguments.clone());
        fitting(problems(schema, &arguments))?;
        let listening = presented.listening.clone();
        let permit = match found.authority.classification() {
            Classification::Destructive => {
                let wanted = wanted(&found, &execute.ask);
                Some(self.permit(&by, wanted, presented).await?)
            }
            Classification::Read | Classification::Write => None,
        };
        let run = Run {
            by,
            execute,
            authority: found.authority,
            sessions: found.sessions,
            retry_policy: found.facts.revision.identity.retry_policy,
            permit,
            listening,
            claim,
        };
        self.run_connector(run, once).await
    }

    /// Answers a repeat of an execution that the end of the server cut: its key had no answer
    /// to keep, and gets one now.
    async fn again(&self, executed: Executed, once: Once<Executed>) -> Result<Executed> {
        let (peek, now) = (once.peek(), self.now());
        let kept = self
            .store()
            .write(move |tx| once.run(tx, now, |_| Ok(executed)));
        kept.await?;
        let answered = self.store().read(move |db| peek.check(db, now)).await;
        match answered {
            Err(repeated) => Err(repeated),
            // An answer that was kept a moment ago is there.
            Ok(_) => Err(Error::from(Refusal::IdempotencyInProgress)),
        }
    }
}

/// The execution that was asked for under this key before.
fn before(
    db: &Rx<'_>,
    claim: Option<Claim>,
    now: guildhall_domain::Moment,
) -> Result<Option<Executed>> {
    let Some(claim) = claim else {
        return Ok(None);
    };
    let not_before = now.plus_seconds(-IDEMPOTENCY_TTL_S);
    let Some(known) = rows::of_claim(db, &claim.id, not_before)? else {
        return Ok(None);
    };
    if known.fingerprint != claim.fingerprint {
        return Err(Refusal::IdempotencyKeyReused.into());
    }
    match known.executed {
        Some(executed) => Ok(Some(executed)),
        None => Err(Refusal::IdempotencyInProgress.into()),
    }
}

/// Everything that can be refused without asking a person.
fn look(db: &Rx<'_>, by: &Caller, ask: &Ask, class: Option<Classification>) -> Result<Found> {
    let agent = authorization::registered(db, ask.agent_id)?;
    let session = authorization::session_of(db, by)?;
    let sessions = match by.agent() {
        Some(_) => Sessions::Of(session),
        None => Sessions::None,
    };
    let facts = authorization::of(db, ask, sessions)?;
    let is_of_tool = class.is_none_or(|class| class == facts.revision.identity.classification);
    if !is_of_tool {
        return Err(Refused::ClassMismatch.into());
    }
    let authority = facts.authority()?;
    Ok(Found {
        agent,
        facts,
        authority,
        sessions,
        session,
    })
}

/// What a person is asked about a destructive operation.
fn wanted(found: &Found, ask: &Ask) -> Wanted {
    let Found {
        agent,
        facts,
        authority,
        session,
        ..
    } = found;
    Wanted {
        capability: Capability::ConnectorsExecute,
        agent_id: Some(agent.id),
        session_id: *session,
        summary: approval_card::summary(agent, facts),
        card: approval_card::of(agent, facts, &ask.arguments),
        why: vec![
            "The operation destroys, or nobody says what it does.".to_owned(),
            "Programs and agents need a person's word for it.".to_owned(),
        ],
        input: json!({
            "connectionId": ask.connection_id,
            "operationRevisionId": ask.revision_id,
            "arguments": ask.arguments,
        }),
        pin: authority.pin(),
    }
}
