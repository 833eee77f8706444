//! Deadlines: the chore that writes down which approvals are over, and drops old ones. What is
//! read shows the end of an approval at once; nothing that reads writes it.

use std::time::Duration;

use guildhall_domain::{Error, Result, Timestamp, approvals::ApprovalTrigger, limits};
use guildhall_store::{Tx, approvals};
use tokio::time::MissedTickBehavior;

use super::approval_rows;
use crate::Hall;

/// How often the chore looks. Source: contract 4.5.
const PERIOD: Duration = Duration::from_secs(60);

impl Hall {
    /// Writes the end of every approval whose time is over, and drops those that ended
    /// [`limits::APPROVAL_KEPT_AFTER_END_S`] ago, of all kinds.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    ///
    /// Source: contract 4.5, 4.10.
    pub async fn end_due_approvals(&self) -> Result<()> {
        let now = self.now();
        while self.store().write(move |tx| end_due(tx, now)).await? {
            self.inner.holds.wake_all();
        }
        self.inner.holds.wake_all();
        let before = now.plus_seconds(-limits::APPROVAL_KEPT_AFTER_END_S);
        let batch = limits::APPROVALS_BATCH;
        let drop_some = move |tx: &mut Tx<'_>| approvals::drop_over(tx, before, batch);
        while self.store().write(drop_some).await? == batch as usize {}
        Ok(())
    }
}

/// Ends a batch of what is due; answers whether there may be more.
fn end_due(tx: &mut Tx<'_>, now: Timestamp) -> Result<bool> {
    let due = approvals::expired(tx, now, limits::APPROVALS_BATCH)?;
    for approval in &due {
        approval_rows::apply(tx, approval, ApprovalTrigger::Expire, None, "", now)?;
    }
    Ok(due.len() >= limits::APPROVALS_BATCH as usize)
}

/// Starts the chore.
pub(crate) fn start(hall: &Hall) {
    let mut stopping = hall.tasks().stopping();
    let chore = hall.clone();
    hall.tasks().spawn("approvals", hall.now(), async move {
        let mut period = tokio::time::interval(PERIOD);
        period.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = period.tick() => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            if let Err(Error::Fault(fault)) = chore.end_due_approvals().await {
                tracing::error!(error = ?fault, "due approvals could not be ended");
            }
        }
    });
}
