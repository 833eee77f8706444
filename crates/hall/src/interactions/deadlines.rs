//! Deadlines: the chore that parks what nobody answers, refuses it when its time is over, and
//! lets grants lapse. What is read shows all of this already; the chore writes it down, tells
//! it, and gives the agent its no.

use std::time::Duration;

use guildhall_domain::{
    Error, Result, Timestamp,
    events::Event,
    interactions::{InteractionRecord, InteractionTrigger, response_to_refuse},
};
use guildhall_store::{Tx, interactions as ask_rows};
use tokio::time::MissedTickBehavior;

use super::lifecycle;
use crate::{Hall, sessions};

/// How often the chore looks while something has a deadline; it does not sleep until then,
/// because the wall clock may jump. An agent hears of a deadline within a second.
const PERIOD: Duration = Duration::from_millis(500);

impl Hall {
    /// Parks, refuses and lapses whatever is due; answers when the next row is.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    ///
    /// Source: contract 3.8.2.
    pub async fn end_due_interactions(&self) -> Result<Option<Timestamp>> {
        let now = self.now();
        match self.store().read(ask_rows::next_deadline).await?.value {
            None => return Ok(None),
            Some(next) if next > now => return Ok(Some(next)),
            Some(_) => {}
        }
        let (expired, next) = self
            .store()
            .write(move |tx| {
                let expired = end_due(tx, now)?;
                Ok((expired, ask_rows::next_deadline(tx)?))
            })
            .await?;
        for row in expired {
            self.answer_agent(row.session_id, row.id, response_to_refuse(&row.options));
        }
        Ok(next)
    }

    /// Settles at the start what the last server left: what is due ends, and all else waits
    /// without its agent.
    pub(crate) async fn recover_interactions(&self) -> Result<()> {
        let now = self.now();
        self.store()
            .write(move |tx| {
                end_due(tx, now)?;
                lifecycle::detach_every(tx, now)
            })
            .await
    }
}

/// Ends and parks what is due; answers the asks that ended without an answer.
fn end_due(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<InteractionRecord>> {
    let mut expired = ask_rows::expired(tx, now)?;
    for row in &mut expired {
        lifecycle::apply(tx, row, InteractionTrigger::Expire, None, now)?;
        sessions::append_counts_changed(tx, row.session_id, None, now)?;
    }
    for mut row in ask_rows::expired_grants(tx, now)? {
        lifecycle::apply(tx, &mut row, InteractionTrigger::Expire, None, now)?;
    }
    for whole in ask_rows::to_park(tx, now)? {
        let (mut standing, card) = (whole.standing, whole.card);
        ask_rows::park(tx, standing.id, now)?;
        standing.parked_at = Some(now);
        let interaction = standing.shown(card, None, now);
        tx.append(now, None, &Event::InteractionParked { interaction })?;
    }
    Ok(expired)
}

/// Starts the chore; it rests while nothing has a deadline and nothing happens.
pub(crate) fn start(hall: &Hall) {
    let mut stopping = hall.tasks().stopping();
    let chore = hall.clone();
    hall.tasks().spawn("interactions", hall.now(), async move {
        let mut head = chore.store().head();
        let mut period = tokio::time::interval(PERIOD);
        period.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let has_deadlines = match chore.end_due_interactions().await {
                Ok(next) => next.is_some(),
                Err(error) => {
                    if let Error::Fault(fault) = error {
                        tracing::error!(error = ?fault, "due interactions could not be ended");
                    }
                    true
                }
            };
            let wake = async {
                // An ask brings an event; others wake the chore once a period at most.
                if !has_deadlines && head.changed().await.is_err() {
                    // The store is gone, and with it everything to wait for.
                    std::future::pending::<()>().await;
                }
                period.tick().await;
            };
            tokio::select! {
                () = wake => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
        }
    });
}
