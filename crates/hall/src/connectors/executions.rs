//! Executions: what is checked before an operation is sent, in which order, and whose word it
//! needs. Sending it is [`super::execution_attempts`]. Source: contract 5.6.

use guildhall_domain::{
    Error, Refusal, Result,
    agents::Agent,
    approvals::{ApprovalRequest, Capability},
    callers::{Agent as ByAgent, Caller, Gate, Owner},
    connectors::{
        ConnectorRefusal,
        classification::Classification,
        event_payloads::ExecutionSurface,
        executions::{
            Authorization, AuthorizationFacts, OperationCall, approval_card, check_arguments,
            within_bounds,
        },
        results::ExecutionResult,
    },
    idempotency::IdempotencyClaim,
    ids::SessionId,
};
use guildhall_store::{ReadTx, connectors::executions as rows};
use guildhall_world::connectors::argument_validation::problems;
use serde_json::{Value, json};

use super::{
    authorization::{self, SessionScope},
    execution_attempts::AuthorizedExecution,
};
use crate::{
    Hall,
    approvals::PresentedApproval,
    idempotency::{IDEMPOTENCY_TTL_S, IdempotentWrite},
};

/// What is asked to be run, and where.
#[derive(Clone, Debug)]
pub struct ExecutionRequest {
    /// What.
    pub ask: OperationCall,
    /// Where it was asked for.
    pub surface: ExecutionSurface,
    /// The class that the tool is for, where a tool asks.
    pub class: Option<Classification>,
}

/// What was found of an execution that is asked for.
struct CheckedExecution {
    agent: Agent,
    facts: AuthorizationFacts,
    authority: Authorization,
    sessions: SessionScope,
    session: Option<SessionId>,
}

/// Whether it was asked for before.
enum ExecutionLookup {
    Before(ExecutionResult),
    Now(Box<CheckedExecution>),
}

impl Hall {
    /// Runs one operation for an agent, as the owner or a program of the owner's.
    ///
    /// # Errors
    /// In the order of contract 5.6: [`Refusal::Validation`], `NotFound` of the agent,
    /// [`ConnectorRefusal::TargetNotFound`], [`ConnectorRefusal::RevisionMismatch`], [`ConnectorRefusal::NotExecutable`],
    /// [`ConnectorRefusal::GrantRequired`], [`ConnectorRefusal::ArgumentsInvalid`], those of [`Hall::permit`],
    /// [`ConnectorRefusal::AuthorityChanged`].
    ///
    /// Source: spec, "POST /api/connectors/cli/executions".
    pub async fn execute_connector(
        &self,
        by: &Owner,
        execute: ExecutionRequest,
        presented: PresentedApproval,
        once: IdempotentWrite<ExecutionResult>,
    ) -> Result<ExecutionResult> {
        self.execute(*by.caller(), execute, presented, once).await
    }

    /// Runs one operation for the calling agent.
    ///
    /// # Errors
    /// Those of [`Hall::execute_connector`], and [`ConnectorRefusal::ClassMismatch`].
    ///
    /// Source: contract 5.8.
    pub async fn execute_connector_as(
        &self,
        by: &ByAgent,
        execute: ExecutionRequest,
        presented: PresentedApproval,
    ) -> Result<ExecutionResult> {
        let once = IdempotentWrite::without_key();
        self.execute(*by.caller(), execute, presented, once).await
    }

    async fn execute(
        &self,
        by: Caller,
        execute: ExecutionRequest,
        presented: PresentedApproval,
        once: IdempotentWrite<ExecutionResult>,
    ) -> Result<ExecutionResult> {
        within_bounds(&execute.ask.arguments)?;
        let once = once.sealed(&self.inner.seal, false);
        let (peek, claim, now) = (once.replay_check(), once.claim(), self.now());
        let (asked, class) = (execute.ask.clone(), execute.class);
        let look = self.store().read(move |db| {
            peek.check(db, now)?;
            if let Some(executed) = earlier_execution(db, claim, now)? {
                return Ok(ExecutionLookup::Before(executed));
            }
            check_execution(db, &by, &asked, class)
                .map(|found| ExecutionLookup::Now(Box::new(found)))
        });
        let found = match look.await?.value {
            ExecutionLookup::Before(executed) => return self.answer_repeat(executed, once).await,
            ExecutionLookup::Now(found) => *found,
        };
        let schema = &found.facts.revision.input_schema;
        let arguments = Value::Object(execute.ask.arguments.clone());
        check_arguments(problems(schema, &arguments))?;
        let listening = presented.listening.clone();
        let permit = match found.authority.classification() {
            Classification::Destructive => {
                let wanted = approval_request(&found, &execute.ask);
                Some(self.permit(&by, wanted, presented).await?)
            }
            Classification::Read | Classification::Write => None,
        };
        let run = AuthorizedExecution {
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
    async fn answer_repeat(
        &self,
        executed: ExecutionResult,
        once: IdempotentWrite<ExecutionResult>,
    ) -> Result<ExecutionResult> {
        let (peek, now) = (once.replay_check(), self.now());
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
fn earlier_execution(
    db: &ReadTx<'_>,
    claim: Option<IdempotencyClaim>,
    now: guildhall_domain::Timestamp,
) -> Result<Option<ExecutionResult>> {
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
fn check_execution(
    db: &ReadTx<'_>,
    by: &Caller,
    ask: &OperationCall,
    class: Option<Classification>,
) -> Result<CheckedExecution> {
    let agent = authorization::registered(db, ask.agent_id)?;
    let session = authorization::session_of(db, by)?;
    let sessions = match by.agent() {
        Some(_) => SessionScope::Of(session),
        None => SessionScope::None,
    };
    let facts = authorization::read(db, ask, sessions)?;
    let is_of_tool = class.is_none_or(|class| class == facts.revision.identity.classification);
    if !is_of_tool {
        return Err(ConnectorRefusal::ClassMismatch.into());
    }
    let authority = facts.authorize()?;
    Ok(CheckedExecution {
        agent,
        facts,
        authority,
        sessions,
        session,
    })
}

/// What a person is asked about a destructive operation.
fn approval_request(found: &CheckedExecution, ask: &OperationCall) -> ApprovalRequest {
    let CheckedExecution {
        agent,
        facts,
        authority,
        session,
        ..
    } = found;
    ApprovalRequest {
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
