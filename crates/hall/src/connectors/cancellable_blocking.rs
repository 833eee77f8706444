//! Long work on a blocking thread that ends when nobody waits for it any more.
//! What the work does, and how often it looks at its signal, is its own.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use guildhall_domain::{Fault, Refusal, Result};
use tokio::sync::watch;

/// Tells the work to stop, when it is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work`, whose signal turns true when this future is dropped or the server stops.
///
/// # Errors
/// [`Refusal::ShuttingDown`] when the server stops first; a fault when the work panics.
pub(super) async fn run<T: Send + 'static>(
    mut stopping: watch::Receiver<bool>,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> Result<T> {
    let guard = StopOnDrop(Arc::default());
    let signal = Arc::clone(&guard.0);
    tokio::select! {
        // The first branch: what stops is not begun.
        biased;
        _ = stopping.wait_for(|stop| *stop) => Err(Refusal::ShuttingDown.into()),
        done = tokio::task::spawn_blocking(move || work(&signal)) => {
            Ok(done.map_err(|error| Fault::broken("reading a connector's document", error))?)
        }
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::Error;
    use tokio::sync::oneshot;

    use super::*;

    /// Work that runs until it is told to stop, and tells of its start and end.
    fn endless() -> (
        impl FnOnce(&AtomicBool) + Send + 'static,
        oneshot::Receiver<()>,
        oneshot::Receiver<()>,
    ) {
        let (started_tx, started) = oneshot::channel();
        let (ended_tx, ended) = oneshot::channel();
        let work = move |stop: &AtomicBool| {
            started_tx.send(()).unwrap();
            while !stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            ended_tx.send(()).unwrap();
        };
        (work, started, ended)
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_ends() {
        let (_stop, stopping) = watch::channel(false);
        let (work, started, ended) = endless();
        tokio::select! {
            _ = run(stopping, work) => panic!("it has no end of its own"),
            started = started => started.unwrap(),
        }
        ended.await.unwrap();
    }

    #[tokio::test]
    async fn work_ends_when_the_server_stops() {
        let (stop, stopping) = watch::channel(false);
        let (work, started, ended) = endless();
        let stop_it = async {
            started.await.unwrap();
            stop.send(true).unwrap();
        };
        let (done, ()) = tokio::join!(run(stopping, work), stop_it);
        assert!(matches!(done, Err(Error::Refusal(Refusal::ShuttingDown))));
        ended.await.unwrap();
    }
}
