//! Watch: the task that hears of changed files and hands the news to whom they concern.

use guildhall_domain::{Error, Result};

use crate::Hall;

/// Starts it.
pub(crate) fn start(hall: &Hall) {
    let mut stopping = hall.tasks().stopping();
    let watch = hall.clone();
    hall.tasks().spawn("watch", hall.now(), async move {
        loop {
            // Both may be given up and waited for anew.
            let changed = tokio::select! {
                changed = watch.inner.watching.changed() => changed,
                _ = stopping.wait_for(|stop| *stop) => return,
            };
            watch.inner.commands.invalidate(&changed);
            for session in watch.inner.followed.changed(&changed) {
                log(watch.publish_tasks(session).await);
            }
        }
    });
}

fn log(outcome: Result<()>) {
    match outcome {
        Ok(()) | Err(Error::Refusal(_) | Error::Repeated(_)) => {}
        Err(Error::Fault(fault)) => {
            tracing::error!(error = ?fault, "changed tasks could not be told");
        }
    }
}
