//! Retention: the chore that drops old events from the log, answers kept for repeats, and what
//! ended long ago of tokens and executions, a batch at a time.

use std::time::Duration;

use guildhall_domain::{Error, Result, limits};
use guildhall_store::{agent_tokens, connectors::executions, events, files};

use crate::{Hall, idempotency};

/// How long events are kept. Source: contract 1.10, "Retention".
#[derive(Clone, Copy, Debug)]
pub struct EventRetention {
    /// Seconds an event is kept at least, unless the log outgrows `bytes_max`.
    pub age_s: i64,
    /// The newest events, kept whatever their age.
    pub newest: u64,
    /// Bytes the log never exceeds.
    pub bytes_max: u64,
}

impl Default for EventRetention {
    fn default() -> Self {
        Self {
            age_s: limits::EVENT_RETENTION_S,
            newest: limits::EVENT_RETENTION_MIN,
            bytes_max: limits::EVENT_LOG_BYTES_MAX,
        }
    }
}

/// How often the chore looks.
const PERIOD: Duration = Duration::from_secs(10 * 60);

/// Starts the chore.
pub(crate) fn start(hall: &Hall, retention: EventRetention) {
    let mut stopping = hall.tasks().stopping();
    let chore = hall.clone();
    hall.tasks().spawn("retention", hall.now(), async move {
        let mut period = tokio::time::interval(PERIOD);
        loop {
            tokio::select! {
                _ = period.tick() => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            if let Err(Error::Fault(fault)) = drop_due(&chore, retention).await {
                tracing::error!(error = ?fault, "what is old could not be dropped");
            }
        }
    });
}

/// Drops everything that is due.
async fn drop_due(hall: &Hall, retention: EventRetention) -> Result<()> {
    let now = hall.now();
    while hall
        .store()
        .write(move |tx| idempotency::drop_due(tx, now))
        .await?
    {}
    let forgotten = now.plus_seconds(-limits::LINEAGE_KEEP_S);
    hall.store()
        .write(move |tx| files::drop_old(tx, forgotten))
        .await?;
    let ago = |seconds: i64| now.plus_seconds(-seconds);
    let (of_sessions, others) = (ago(limits::SESSION_TOKEN_KEEP_S), ago(limits::TOKEN_KEEP_S));
    let is_more = |dropped: usize| dropped == limits::DROP_BATCH as usize;
    while is_more(
        hall.store()
            .write(move |tx| {
                agent_tokens::drop_revoked(tx, of_sessions, others, limits::DROP_BATCH)
            })
            .await?,
    ) {}
    while is_more(
        hall.store()
            .write(move |tx| {
                agent_tokens::drop_expired(tx, of_sessions, others, limits::DROP_BATCH)
            })
            .await?,
    ) {}
    let ended = ago(limits::EXECUTION_KEEP_S);
    while is_more(
        hall.store()
            .write(move |tx| executions::drop_ended(tx, ended, limits::DROP_BATCH))
            .await?,
    ) {}
    let before = ago(retention.age_s);
    loop {
        let dropped = hall
            .store()
            .write(move |tx| {
                events::drop_oldest(
                    tx,
                    before,
                    retention.newest,
                    retention.bytes_max,
                    limits::EVENT_RETENTION_BATCH,
                )
            })
            .await?;
        if dropped < limits::EVENT_RETENTION_BATCH as usize {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::callers::{Gate, Owner};

    use super::*;
    use crate::{
        approvals::permits_tests::hall_with_agent::{HallWithAgent, owner},
        idempotency::IdempotentWrite,
    };

    #[tokio::test]
    async fn tokens_that_expired_are_dropped_a_while_later() {
        let stage = HallWithAgent::set().await;
        let (hall, agent) = (&stage.hall, stage.id());
        let by = Owner::admit(owner(hall).await).unwrap();
        let label = "laptop".to_owned();
        let minted = hall.mint_token(&by, agent, label, IdempotentWrite::without_key());
        minted.await.unwrap();
        let kept_s = limits::AGENT_TOKEN_IDLE_S + limits::TOKEN_KEEP_S;
        for (pass_s, left) in [(kept_s, 1), (1, 0)] {
            stage.clock.advance(pass_s);
            drop_due(hall, EventRetention::default()).await.unwrap();
            assert_eq!(hall.tokens(&by, agent).await.unwrap().value.len(), left);
        }
    }
}
