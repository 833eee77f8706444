//! Futures of the turn loop's `select!` that may have nothing to wait for.

use std::{pin::Pin, task::Poll};

use tokio::{sync::watch, time::Instant};

use super::DriverSignals;

/// Polls what there is; never ready while there is nothing.
pub(super) fn poll_some<T>(
    future: &mut Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    cx: &mut std::task::Context<'_>,
) -> Poll<T> {
    match future {
        Some(future) => future.as_mut().poll(cx),
        None => Poll::Pending,
    }
}

/// Waits for a moment that may be none.
pub(super) async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Waits until mode, model or effort may be others.
pub(super) async fn is_changed(wants: &watch::Receiver<DriverSignals>, seen: u64) {
    let mut wants = wants.clone();
    if wants.wait_for(|wants| wants.changes > seen).await.is_err() {
        std::future::pending::<()>().await;
    }
}
