//! Tasks: the only place that spawns, so that every task has a name, an error and an end.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use guildhall_domain::Timestamp;
use tokio::sync::watch;

/// The long-lived tasks of one server.
#[derive(Clone, Debug)]
pub struct Tasks {
    stop: Arc<watch::Sender<bool>>,
    /// A std mutex: held for single look-ups and never over an await.
    known: Arc<Mutex<BTreeMap<&'static str, TaskRecord>>>,
    running: Arc<watch::Sender<usize>>,
}

/// A task that runs, until it is dropped.
struct RunningGuard(Arc<watch::Sender<usize>>);

impl RunningGuard {
    fn begin(count: &Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(Arc::clone(count))
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// One task, as its supervisor knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// When it was started.
    pub started_at: Timestamp,
    /// Why it ended, when it did not end well.
    pub last_error: Option<String>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self {
            stop: Arc::new(watch::Sender::new(false)),
            known: Arc::default(),
            running: Arc::new(watch::Sender::new(0)),
        }
    }
}

impl Tasks {
    /// Turns true when the server stops.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Starts a task; a panic is logged, noted, and ends this task alone.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the supervisor everybody else asks"
    )]
    pub fn spawn(
        &self,
        name: &'static str,
        now: Timestamp,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        self.record(
            name,
            TaskRecord {
                started_at: now,
                last_error: None,
            },
        );
        let running = RunningGuard::begin(&self.running);
        let work = tokio::spawn(task);
        let tasks = self.clone();
        tokio::spawn(async move {
            let _running = running;
            if let Err(error) = work.await {
                tracing::error!(task = name, %error, "a task ended badly");
                tasks.record(
                    name,
                    TaskRecord {
                        started_at: now,
                        last_error: Some(error.to_string()),
                    },
                );
            }
        });
    }

    /// Runs short work that comes to its end also when nobody waits for it any more; answers what
    /// it came to, `None` for a panic. It is waited for at the end, and not listed.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the supervisor everybody else asks"
    )]
    pub async fn finish<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let running = RunningGuard::begin(&self.running);
        let work = tokio::spawn(async move {
            let _running = running;
            work.await
        });
        work.await.ok()
    }

    /// Every task ever started, by name.
    pub fn list(&self) -> BTreeMap<&'static str, TaskRecord> {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Asks every task to end.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until every task has ended, at most `grace`; answers whether all did.
    pub async fn ended(&self, grace: Duration) -> bool {
        let mut running = self.running.subscribe();
        tokio::time::timeout(grace, running.wait_for(|count| *count == 0))
            .await
            .is_ok()
    }

    fn record(&self, name: &'static str, task: TaskRecord) {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name, task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_nobody_waits_for_any_more_is_waited_for_at_the_end() {
        let tasks = Tasks::default();
        let (go, gone) = tokio::sync::oneshot::channel::<()>();
        let (tell, told) = tokio::sync::oneshot::channel();
        let work = async move {
            let _ = gone.await;
            let _ = tell.send(());
        };
        let mut waiting = Box::pin(tasks.finish(work));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        drop(waiting);
        assert!(!tasks.ended(Duration::ZERO).await);
        go.send(()).unwrap();
        assert!(tasks.ended(Duration::from_secs(10)).await);
        assert_eq!(told.await, Ok(()));
        assert_eq!(tasks.finish(async { panic!("oops") }).await, None::<()>);
    }

    #[tokio::test]
    async fn a_panic_ends_its_own_task_alone_and_is_remembered() {
        let tasks = Tasks::default();
        let now = Timestamp::from_millis(0);
        let mut stopping = tasks.stopping();
        tasks.spawn("steady", now, async move {
            // An error means that the supervisor is gone, which ends the task as well.
            let _ = stopping.wait_for(|stop| *stop).await;
        });
        tasks.spawn("clumsy", now, async { panic!("oops") });
        tasks.stop();
        assert!(tasks.ended(Duration::from_secs(10)).await);
        let list = tasks.list();
        assert_eq!(list["steady"].last_error, None);
        assert!(
            list["clumsy"]
                .last_error
                .as_ref()
                .is_some_and(|error| error.contains("oops"))
        );
    }
}
