//! Running: an attempt is noted before anything of it is sent, and how it ended when that is
//! known. What the end of the server cut is never sent again.
//! Source: contract 5.6, checks 9 and 10 and what stands below the results.

use std::time::Duration;

use guildhall_domain::{
    Fault, Result, Timestamp,
    approvals::Requester,
    callers::Caller,
    connectors::{
        classification::RetryPolicy,
        event_payloads::{ExecutionFinished, ExecutionStarted},
        executions::Authorization,
        results::{ExecutionOutcome, ExecutionResult},
        retries::{self, RetryDecision},
    },
    events::Event,
    idempotency::IdempotencyClaim,
    ids::LogicalOperationId,
    limits::connectors::{CONNECTOR_ATTEMPT_WAIT_S, CONNECTOR_EXECUTION_WAIT_S},
};
use guildhall_store::{
    Tx,
    connectors::executions::{self as rows, NewExecution},
};
use tokio::time::{Instant, timeout_at};

use super::{
    authorization::{self, SessionScope},
    executions::ExecutionRequest,
    sending::PreparedAttempt,
};
use crate::{
    Hall,
    approvals::{ClientPresence, Permit},
    callers,
    idempotency::{IDEMPOTENCY_TTL_S, IdempotentWrite},
};

/// An execution that may happen, as far as was seen.
pub(super) struct AuthorizedExecution {
    pub(super) by: Caller,
    pub(super) execute: ExecutionRequest,
    pub(super) authority: Authorization,
    pub(super) sessions: SessionScope,
    pub(super) retry_policy: RetryPolicy,
    pub(super) permit: Option<Permit>,
    pub(super) listening: ClientPresence,
    pub(super) claim: Option<IdempotencyClaim>,
}

impl Hall {
    /// Sends an operation, at most twice, and answers what came of it; comes to its end also when
    /// nobody waits for the answer any more.
    ///
    /// # Errors
    /// [`Refused::AuthorityChanged`] when what allowed it does no longer, and those of spending
    /// its permit: nothing was sent then.
    ///
    /// [`Refused::AuthorityChanged`]: guildhall_domain::connectors::Refused::AuthorityChanged
    pub(super) async fn run_connector(
        &self,
        run: AuthorizedExecution,
        once: IdempotentWrite<ExecutionResult>,
    ) -> Result<ExecutionResult> {
        let running = RunningExecution {
            hall: self.clone(),
            new: NewExecution {
                id: Hall::new_id(LogicalOperationId::from_bytes),
                agent_id: run.execute.ask.agent_id,
                connection_id: run.execute.ask.connection_id,
                revision_id: run.execute.ask.revision_id,
                surface: run.execute.surface,
                classification: run.authority.classification(),
                author_id: run.by.author,
                requester: Requester::of(&run.by),
                claim: run.claim,
            },
            run,
        };
        // Speaking with a service is a large state machine: it is moved about on the heap.
        let done = self.tasks().finish(Box::pin(running.run(once))).await;
        done.unwrap_or_else(|| {
            Err(Fault::broken("running an operation", "its task ended badly").into())
        })
    }
}

/// An execution on its way.
struct RunningExecution {
    hall: Hall,
    run: AuthorizedExecution,
    new: NewExecution,
}

impl RunningExecution {
    async fn run(mut self, once: IdempotentWrite<ExecutionResult>) -> Result<ExecutionResult> {
        let end = Instant::now() + Duration::from_secs(CONNECTOR_EXECUTION_WAIT_S);
        let first = self.begin(1).await?;
        if self.run.listening.has_ended() {
            // A repeat of what was never sent may send it.
            let free = IdempotentWrite::without_key();
            return self.close(1, ExecutionOutcome::Cancelled, free).await;
        }
        let (pause, outcome) = match self.attempt(first, 1, end).await {
            RetryDecision::Again(pause, outcome) => (pause, outcome),
            RetryDecision::End(outcome) => return self.close(1, outcome, once).await,
        };
        self.end_attempt(&outcome).await?;
        let again_at = Instant::now() + Duration::from_millis(pause);
        if again_at >= end || !self.waits_until(again_at).await {
            return self.close(1, outcome, once).await;
        }
        match self.begin(2).await {
            // What allowed the first attempt is gone: the first is what it came to.
            Err(_) => self.close(1, outcome, once).await,
            Ok(second) => {
                let (RetryDecision::End(outcome) | RetryDecision::Again(_, outcome)) =
                    self.attempt(second, 2, end).await;
                self.close(2, outcome, once).await
            }
        }
    }

    /// Notes that an attempt is about to be sent, if it still may be; answers with what.
    async fn begin(&mut self, attempt: u8) -> Result<PreparedAttempt> {
        let ask = self.run.execute.ask.clone();
        let sending = self.hall.prepare_attempt(&ask).await?;
        let (by, sessions, new) = (self.run.by, self.run.sessions, self.new.clone());
        let (authority, permit) = (self.run.authority.clone(), self.run.permit.take());
        let now = self.hall.now();
        let noted = self.hall.store().write(move |tx| {
            callers::require_live_credential(tx, &by, now)?;
            authorization::registered(tx, ask.agent_id)?;
            authority.still_holds(&authorization::read(tx, &ask, sessions)?)?;
            if let Some(permit) = permit {
                permit.spend(tx, now)?;
            }
            if attempt == 1 {
                insert(tx, &new, now)?;
            }
            rows::begin(tx, &new, attempt, now)?;
            let event = Event::ConnectorExecutionStarted(ExecutionStarted {
                logical_operation_id: new.id,
                agent_id: new.agent_id,
                connection_id: new.connection_id,
                operation_revision_id: new.revision_id,
                surface: new.surface,
                attempt,
            });
            tx.append(now, Some(by.author), &event)?;
            Ok(())
        });
        noted.await.map(|()| sending)
    }

    /// Sends an attempt that is noted.
    async fn attempt(&self, sending: PreparedAttempt, number: u8, end: Instant) -> RetryDecision {
        let most = Duration::from_secs(CONNECTOR_ATTEMPT_WAIT_S);
        let within = most.min(end.saturating_duration_since(Instant::now()));
        let arguments = &self.run.execute.ask.arguments;
        let named = (self.new.connection_id, self.new.id);
        let sent = self
            .hall
            .send_operation(sending, arguments, named, within)
            .await;
        retries::next(sent, number, self.new.classification, self.run.retry_policy)
    }

    /// Waits; says no when the server stops meanwhile.
    async fn waits_until(&self, moment: Instant) -> bool {
        let mut stopping = self.hall.tasks().stopping();
        let stopped = timeout_at(moment, stopping.wait_for(|stop| *stop)).await;
        stopped.is_err()
    }

    /// Notes what the first attempt came to, before it is tried again.
    async fn end_attempt(&self, outcome: &ExecutionOutcome) -> Result<()> {
        let (id, outcome, now) = (self.new.id, outcome.clone(), self.hall.now());
        let noted = self
            .hall
            .store()
            .write(move |tx| rows::end_attempt(tx, id, 1, &outcome, now));
        noted.await
    }

    /// Notes what the execution came to after so many attempts.
    async fn close(
        self,
        attempts: u8,
        outcome: ExecutionOutcome,
        once: IdempotentWrite<ExecutionResult>,
    ) -> Result<ExecutionResult> {
        let (new, now) = (self.new, self.hall.now());
        let closed = self.hall.store().write(move |tx| {
            once.run(tx, now, |tx| {
                rows::end_attempt(tx, new.id, attempts, &outcome, now)?;
                end(tx, &new, attempts, &outcome, now)?;
                Ok(ExecutionResult {
                    id: new.id,
                    attempt_count: attempts,
                    outcome,
                })
            })
        });
        closed.await
    }
}

/// Notes an execution; a key that was used longer ago than keys count is free again.
fn insert(tx: &mut Tx<'_>, new: &NewExecution, now: Timestamp) -> Result<()> {
    if let Some(claim) = &new.claim {
        let before = now.plus_seconds(-IDEMPOTENCY_TTL_S);
        rows::free_claim(tx, &claim.id, before)?;
    }
    rows::insert(tx, new, now)
}

/// Notes what an execution came to, and tells.
fn end(
    tx: &mut Tx<'_>,
    new: &NewExecution,
    attempt_count: u8,
    outcome: &ExecutionOutcome,
    now: Timestamp,
) -> Result<()> {
    rows::end(tx, new.id, outcome, now)?;
    let event = Event::ConnectorExecutionFinished(ExecutionFinished {
        logical_operation_id: new.id,
        agent_id: new.agent_id,
        connection_id: new.connection_id,
        operation_revision_id: new.revision_id,
        surface: new.surface,
        attempt: attempt_count,
        status: outcome.status(),
        code: outcome.code().map(str::to_owned),
        attempt_count,
    });
    tx.append(now, Some(new.author_id), &event)?;
    Ok(())
}

/// Ends what was under way when the server stopped: whether it was sent nobody knows, so that it
/// never is again.
///
/// # Errors
/// Faults.
///
/// Source: contract 5.6, "after a crash".
pub(crate) fn recover(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    for open in rows::open(tx)? {
        let outcome = match open.last {
            // It waited for its second attempt.
            Some((status, code)) => {
                let message = "The server stopped before it was tried again.".to_owned();
                ExecutionOutcome::from_stored(status, code, Some(message))
            }
            None => ExecutionOutcome::interrupted(open.new.classification),
        };
        rows::end_attempt(tx, open.new.id, open.attempt_count, &outcome, now)?;
        end(tx, &open.new, open.attempt_count, &outcome, now)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "execution_attempts_tests.rs"]
mod tests;
