//! Retention: the chore that drops old events from the log, a batch at a time.

use std::time::Duration;

use guildhall_domain::{Error, Result, limits};
use guildhall_store::events;

use crate::Hall;

/// How often the chore looks.
const PERIOD: Duration = Duration::from_secs(10 * 60);

/// Starts the chore.
pub(crate) fn start(hall: &Hall) {
    let mut stopping = hall.tasks().stopping();
    let chore = hall.clone();
    hall.tasks()
        .spawn("event retention", hall.now(), async move {
            let mut period = tokio::time::interval(PERIOD);
            loop {
                tokio::select! {
                    _ = period.tick() => {}
                    _ = stopping.wait_for(|stop| *stop) => return,
                }
                if let Err(Error::Fault(fault)) = drop_due(&chore).await {
                    tracing::error!(error = ?fault, "old events could not be dropped");
                }
            }
        });
}

/// Drops everything that is due.
async fn drop_due(hall: &Hall) -> Result<()> {
    let before = hall.now().plus_seconds(-limits::EVENT_RETENTION_S);
    loop {
        let dropped = hall
            .store()
            .write(move |tx| {
                events::drop_oldest(
                    tx,
                    before,
                    limits::EVENT_RETENTION_MIN,
                    limits::EVENT_LOG_BYTES_MAX,
                    limits::EVENT_RETENTION_BATCH,
                )
            })
            .await?;
        if dropped < limits::EVENT_RETENTION_BATCH as usize {
            return Ok(());
        }
    }
}
